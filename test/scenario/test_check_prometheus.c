/* What halflife check says of a Prometheus that answers, and of one that answers only in part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after its needs */
#include <cmocka.h>

#include "../support/halflife.h"
#include "../support/tmp.h"
#include "../unit/net/peer.h"

#define CGROUP(pod)                                                                                                    \
        "{\"metric\":{\"namespace\":\"n\",\"pod\":\"p\",\"container\":\"c\",\"id\":\"/kubepods/pod" pod                \
        "/a\"},\"values\":[[60,\"1\"]]}"
#define APP "{\"metric\":{\"namespace\":\"n\",\"pod\":\"p\",\"container\":\"c\"},\"values\":[[60,\"1\"]]}"

static const char *said; /* in answer to each query */

static bool answer(struct conn *c, void *arg)
{
        (void)arg;
        return conn_answer(c, 200, NULL, said);
}

static void test_what_check_says(void **state)
{
        (void)state;
        static const struct {
                const char *answer, *line, *hint;
                int code;
        } row[] = {
                {"{\"data\":{\"result\":[" APP "]}}", "ok    Prometheus ", "usage of 1 container", 0},
                {"{\"data\":{\"result\":[" CGROUP("8e0b0b0e-7c1d-4f6a-9b3e-0123456789ab") "," CGROUP(
                         "8e0b0b0e-7c1d-4f6a-9b3e-0123456789ac") "]}}",
                 "mixes the usage of several pods with the same names, for 1 of 1 containers",
                 "choose one with --prometheus-matchers", 0},
                {"{\"data\":{\"result\":[]}}", "warn  Prometheus ", "are --prometheus-names", 0},
                {"{\"data\":{\"result\":[" APP "]},\"infos\":[\"PromQL info: x\"]}", "ok    Prometheus ",
                 "usage of 1 container", 0},
                {"{\"data\":{\"result\":[" APP "]},\"isPartial\":true}", "the store says 'isPartial: true'",
                 "are all stores behind it up?", 1},
                {"{\"data\":{\"result\":[" APP "]},\"warnings\":[\"store-7 is away\"]}",
                 "the store says 'store-7 is away'", "are all stores behind it up?", 1},
        };
        struct fake *f = fake_new(&(struct fake_options){0});
        struct peer *p = peer_start(answer, NULL, NULL);
        AUTO(mem_free) char *config = tmp_path("checked"), *database = tmp_path("checked.db");
        assert_true(fake_load(f, "crds") && fake_write_kubeconfig(f, config));
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                said = row[i].answer;
                AUTO(mem_free)
                char *out = HALFLIFE_RUN(row[i].code, "check", "--kubeconfig", config, "--database", database,
                                         "--prometheus-url", p->url);
                if (!strstr(out, row[i].line) || !strstr(out, row[i].hint))
                        fail_msg("row %zu: no '%s' with '%s':\n%s", i, row[i].line, row[i].hint, out);
        }
        peer_stop(p);
        fake_free(f);
}

/* A cluster without metrics-server, whose usage comes from Prometheus, lacks nothing. */
static void test_without_metrics_server(void **state)
{
        (void)state;
        struct fake *f = fake_new(&(struct fake_options){0});
        struct peer *p = peer_start(answer, NULL, NULL);
        AUTO(mem_free) char *config = tmp_path("without"), *database = tmp_path("without.db");
        assert_true(fake_load(f, "crds") && fake_write_kubeconfig(f, config));
        fake_set_metrics(f, &(struct fake_metrics){.mode = FAKE_METRICS_MISSING});
        said = "{\"data\":{\"result\":[" APP "]}}";
        AUTO(mem_free)
        char *out = HALFLIFE_RUN(0, "check", "--kubeconfig", config, "--database", database, "--prometheus-url", p->url,
                                 "--usage-source", "prometheus");
        assert_non_null(strstr(out, "usage of 1 container"));
        assert_null(strstr(out, "metrics-server"));
        peer_stop(p);
        fake_free(f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_check_says),
                cmocka_unit_test(test_without_metrics_server),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
