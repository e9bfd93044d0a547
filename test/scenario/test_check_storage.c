/* What halflife check says of the controller's volume claim and of StorageClasses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../support/halflife.h"
#include "../support/tmp.h"
#include "base/mem.h"

#define CLAIM   "/api/v1/namespaces/default/persistentvolumeclaims/halflife"
#define CLASSES "/apis/storage.k8s.io/v1/storageclasses"
#define BOUND   "{\"spec\":{\"storageClassName\":\"fast\"},\"status\":{\"phase\":\"Bound\"}}"
#define PENDING "{\"spec\":{},\"status\":{\"phase\":\"Pending\"}}"
#define NAMED   "{\"spec\":{\"storageClassName\":\"fast\"},\"status\":{\"phase\":\"Pending\"}}"
#define NO_SUCH "{\"kind\":\"Status\",\"code\":404}"
#define NONE    "{\"items\":[{\"metadata\":{\"name\":\"slow\"}}]}"
#define DEFAULT                                                                                                        \
        "{\"items\":[{\"metadata\":{\"name\":\"fast\",\"annotations\":{\"storageclass.kubernetes.io/"                  \
        "is-default-class\":\"true\"}}}]}"

static void answer(struct fake *f, const char *path, const char *body)
{
        int status = strcmp(body, NO_SUCH) == 0 ? 404 : *body ? 200 : 403;
        fake_fault(f, &(struct fake_fault){.path = path, .status = status, .body = body});
}

static void test_what_check_says(void **state)
{
        (void)state;
        static const struct {
                const char *claim, *classes; /* "": forbidden; classes NULL: not asked for */
                const char *line;            /* NULL: none about storage */
                int code;
        } row[] = {
                {BOUND, NULL, "ok    volume claim 'default/halflife' is Bound", 0},
                {PENDING, NONE, "FAIL  volume claim 'halflife' waits, as there is no default StorageClass", 1},
                {PENDING, DEFAULT, "warn  volume claim 'default/halflife' is Pending", 0},
                {NAMED, NULL, "warn  volume claim 'default/halflife' is Pending", 0},
                {NO_SUCH, NONE, "warn  there is no default StorageClass", 0},
                {NO_SUCH, DEFAULT, NULL, 0},
                {NO_SUCH, "", NULL, 0},
                {"", NULL, NULL, 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct fake *f = fake_new(&(struct fake_options){0});
                AUTO(mem_free) char *config = tmp_path("stored"), *database = tmp_path("stored.db");
                assert_true(fake_load(f, "crds") && fake_write_kubeconfig(f, config));
                answer(f, CLAIM, row[i].claim);
                if (row[i].classes)
                        answer(f, CLASSES, row[i].classes);
                AUTO(mem_free)
                char *out = HALFLIFE_RUN(row[i].code, "check", "--kubeconfig", config, "--database", database);
                if (row[i].line ? !strstr(out, row[i].line)
                                : strstr(out, "volume claim") || strstr(out, "StorageClass"))
                        fail_msg("row %zu: no '%s':\n%s", i, row[i].line ? row[i].line : "silence", out);
                fake_free(f);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_check_says)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
