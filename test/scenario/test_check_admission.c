/* What halflife check --try-admission says: halflife was asked, or not, or it could not be tried. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>
#include <jansson.h>

#include "../support/halflife.h"
#include "../support/tmp.h"
#include "base/mem.h"

/* Admission as the API server calls it for namespace "asked". */
static char *admit(void *arg, const char *kind, const char *object)
{
        (void)arg;
        json_t *o = json_loads(object, 0, NULL), *meta = json_object_get(o, "metadata");
        const char *ns = json_string_value(json_object_get(meta, "namespace"));
        char *changed = NULL;
        if (strcmp(kind, "Pod") == 0 && ns && strcmp(ns, "asked") == 0) {
                json_object_set_new(json_object_get(meta, "annotations"), "halflife.dev/probe",
                                    json_string("answered"));
                changed = json_dumps(o, JSON_COMPACT);
        }
        json_decref(o);
        return changed;
}

static void add_namespace(struct fake *f, const char *name)
{
        AUTO(mem_free)
        char *ns = mem_printf("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", name);
        fake_put(f, "kubectl", ns);
}

static void test_what_check_says(void **state)
{
        (void)state;
        static const struct {
                const char *ns, *line, *hint;
                int code;
        } row[] = {
                {"asked", "ok    the API server asked halflife about a pod in namespace asked", "", 0},
                {"not-asked", "FAIL  the API server did not ask halflife about a pod in namespace not-asked",
                 "is there a MutatingWebhookConfiguration of halflife", 1},
                {"forbidden", "FAIL  admission was not tried in namespace forbidden",
                 "this needs permission to create pods there", 1},
                {"nowhere", "FAIL  admission was not tried in namespace nowhere", "does the namespace exist?", 1},
        };
        struct fake *f = fake_new(&(struct fake_options){0});
        AUTO(mem_free) char *config = tmp_path("admitting"), *database = tmp_path("admitting.db");
        assert_true(fake_load(f, "crds") && fake_write_kubeconfig(f, config));
        add_namespace(f, "asked");
        add_namespace(f, "not-asked");
        add_namespace(f, "forbidden");
        fake_deny(f, &(struct fake_rule){.verb = "create", .resource = "pods", .ns = "forbidden"});
        fake_set_admission(f, admit, NULL);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free)
                char *out = HALFLIFE_RUN(row[i].code, "check", "--kubeconfig", config, "--database", database,
                                         "--try-admission", row[i].ns);
                AUTO(mem_free) char *pods = mem_printf("/api/v1/namespaces/%s/pods", row[i].ns);
                if (!strstr(out, row[i].line) || !strstr(out, row[i].hint) || fake_objects(f, pods) != 0)
                        fail_msg("row %zu: no '%s' with '%s':\n%s", i, row[i].line, row[i].hint, out);
        }
        mem_free(HALFLIFE_RUN(2, "check", "--try-admission", "No Name"));
        fake_free(f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_check_says)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
