/*
 * Usage as it comes over the wire: in order, dated, and as much of it as there is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../support/api.h"
#include "base/mem.h"
#include "kube/pod_metrics.h"

enum { PODS = 2000 };

struct polled {
        struct api api;
        int64_t pods, cpu, memory;
        char last[600];
        struct wall date;
        bool done;
        struct metrics_result result;
};

static void on_each(void *arg, const struct pod_metrics_view *m, struct wall date)
{
        struct polled *p = arg;
        char key[600];
        snprintf(key, sizeof key, "%.*s/%.*s", TEXT_ARG(m->ns), TEXT_ARG(m->name));
        if (strcmp(p->last, key) >= 0)
                fail_msg("'%s' after '%s'", key, p->last);
        memcpy(p->last, key, sizeof key);
        p->pods++;
        p->date = date;
        for (int i = 0; i < m->containers; i++) {
                p->cpu += m->container[i].has[CPU];
                p->memory += m->container[i].has[MEMORY];
        }
}

static void on_done(void *arg, const struct metrics_result *r)
{
        struct polled *p = arg;
        assert_false(p->done);
        p->done = true;
        p->result = *r;
}

static bool is_done(void *arg)
{
        struct polled *p = arg;
        return p->done;
}

static void poll_ns(struct polled *p, const char *ns)
{
        p->done = false;
        p->pods = p->cpu = p->memory = 0;
        p->last[0] = '\0';
        assert_non_null(metrics_poll(p->api.client, ns, 60000, on_each, on_done, p));
        assert_true(api_until(&p->api, is_done, p));
        assert_int_equal(p->result.pods, p->pods);
}

static void begin(struct polled *p)
{
        *p = (struct polled){.done = false};
        api_begin(&p->api, &(struct fake_options){.seed = 1});
        fake_world_size(p->api.fake, PODS);
}

static void everything_in_order_and_dated(void **state)
{
        (void)state;
        struct polled p;
        begin(&p);
        poll_ns(&p, NULL);
        assert_int_equal(p.result.err.code, 0);
        assert_true(p.result.whole && !p.result.absent && p.result.refused == 0);
        assert_int_equal(p.pods, PODS);
        assert_int_equal(p.cpu, PODS);
        assert_int_equal(p.memory, PODS);
        assert_true(p.date.ms > 0 && p.date.ms == p.result.date.ms);
        assert_string_equal(fake_last(p.api.fake, "list", "/apis/metrics.k8s.io")->path,
                            "/apis/metrics.k8s.io/v1beta1/pods");
        poll_ns(&p, "nowhere");
        assert_true(p.result.whole && p.pods == 0);
        api_end(&p.api);
}

static void serve_versions(struct polled *p, const char *versions)
{
        fake_set_metrics(p->api.fake, &(struct fake_metrics){.versions = versions});
}

/* Poll, and check which version was read and what became of it. */
static void expect_version(struct polled *p, const char *what, const char *version, int code)
{
        AUTO(mem_free) char *path = mem_printf("/apis/metrics.k8s.io/%s/pods", version);
        fake_count_reset(p->api.fake);
        poll_ns(p, NULL);
        const struct fake_request *last = fake_last(p->api.fake, "list", "/apis/metrics.k8s.io/");
        if (!last || strcmp(last->path, path) != 0 || strcmp(p->result.version, version) != 0 ||
            p->result.err.code != code || p->result.absent != (code == ERR_NOTFOUND))
                fail_msg("%s: %s, %s, %d %s, %s", what, last ? last->path : "nothing read", p->result.version,
                         p->result.err.code, p->result.err.text, p->result.absent ? "absent" : "there");
        assert_int_equal(p->pods, code ? 0 : PODS);
}

static void the_best_version_is_read(void **state)
{
        (void)state;
        static const struct {
                const char *served, *version;
                int code;
        } row[] = {
                {"v1beta1", "v1beta1", 0},
                {"v1", "v1", 0},
                {"v1 v1beta1", "v1", 0},
                {"v1beta1 v1", "v1", 0},
                {"-v1 v1beta1", "v1beta1", 0},
                {"-v1beta1 v1", "v1", 0},
                {"-v1", "v1", ERR_RETRY},
                {"-v1 -v1beta1", "v1", ERR_RETRY},
                {"-v1beta1", "v1beta1", ERR_RETRY},
                {"v2", "v1beta1", ERR_NOTFOUND},
                {"v2 v1beta1", "v1beta1", 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct polled p;
                begin(&p);
                serve_versions(&p, row[i].served);
                expect_version(&p, row[i].served, row[i].version, row[i].code);
                assert_string_equal(metrics_version_wait(p.api.client), row[i].version);
                api_end(&p.api);
        }
}

/* One client, while metrics-server is replaced. What discovery said stands for minutes. */
static void a_version_comes_and_goes(void **state)
{
        (void)state;
        static const struct {
                const char *served, *version;
                int code;
                size_t asked; /* how often discovery was */
        } row[] = {
                {"v1beta1", "v1beta1", 0, 1},
                {"v1beta1", "v1beta1", 0, 0},
                {"v1 v1beta1", "v1beta1", 0, 0},     /* seen when discovery is asked next */
                {"v1", "v1", 0, 1},                  /* the path was gone: in the same poll */
                {"-v1 v1beta1", "v1", ERR_RETRY, 0}, /* it may be back at once */
                {"-v1 v1beta1", "v1beta1", 0, 1},    /* it was not */
        };
        struct polled p;
        begin(&p);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                serve_versions(&p, row[i].served);
                expect_version(&p, row[i].served, row[i].version, row[i].code);
                size_t asked = 0;
                asked = fake_count(p.api.fake, NULL, "/apis") - fake_count(p.api.fake, NULL, "/apis/");
                if (asked != row[i].asked)
                        fail_msg("row %zu: discovery was asked %zu times", i, asked);
        }
        api_end(&p.api);
}

/* Without an answer of discovery v1beta1 is read, within the deadline; that it is not there says nothing of v1. */
static void discovery_that_does_not_answer(void **state)
{
        (void)state;
        static const struct {
                struct fake_fault fault;
                const char *served;
                int code;
        } row[] = {
                {{.path = "/apis", .status = 403}, "v1beta1", 0},
                {{.path = "/apis", .status = 403}, "v1", ERR_NOTFOUND},
                {{.path = "/apis", .delay_ms = 45000}, "v1beta1", 0},
                {{.path = "/apis", .delay_ms = 45000}, "v1", ERR_NOTFOUND},
                {{.path = "/apis", .status = 200, .body = "{}"}, "v1beta1", 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct polled p;
                begin(&p);
                serve_versions(&p, row[i].served);
                fake_fault(p.api.fake, &row[i].fault);
                struct mono from = mono_read();
                poll_ns(&p, NULL);
                if (p.result.err.code != row[i].code || p.result.absent || strcmp(p.result.version, "v1beta1") != 0 ||
                    (mono_read().ns - from.ns) / 1000000 > 60000)
                        fail_msg("row %zu: %d %s, %s", i, p.result.err.code, p.result.err.text, p.result.version);
                api_end(&p.api);
        }
}

static void what_came_before_a_cut_counts(void **state)
{
        (void)state;
        struct polled p;
        begin(&p);
        fake_fault(p.api.fake,
                   &(struct fake_fault){
                           .path = "/apis/metrics.k8s.io", .times = FAKE_ALWAYS, .cut = true, .cut_after = 100000});
        poll_ns(&p, NULL);
        assert_int_equal(p.result.err.code, ERR_RETRY);
        assert_non_null(strstr(p.result.err.text, "read usage from metrics.k8s.io: "));
        assert_false(p.result.whole);
        assert_in_range(p.pods, 100, PODS - 1);
        api_end(&p.api);
}

static void away_or_absent(void **state)
{
        (void)state;
        struct polled p;
        begin(&p);
        fake_set_metrics(p.api.fake, &(struct fake_metrics){.mode = FAKE_METRICS_MISSING});
        poll_ns(&p, NULL);
        assert_true(p.result.absent && !p.result.whole);
        assert_int_equal(p.result.err.code, ERR_NOTFOUND);
        fake_set_metrics(p.api.fake, &(struct fake_metrics){.mode = FAKE_METRICS_UNAVAILABLE});
        poll_ns(&p, NULL);
        assert_true(!p.result.absent && !p.result.whole);
        assert_int_equal(p.result.err.code, ERR_RETRY);
        api_end(&p.api);
}

#define ITEM(name, cpu)                                                                                                \
        "{\"metadata\":{\"name\":\"" name                                                                              \
        "\",\"namespace\":\"n\"},\"timestamp\":\"2026-11-21T11:54:02Z\",\"containers\":[{\"name\":"                    \
        "\"c\",\"usage\":{\"cpu\":\"" cpu "\"}}]}"

#define NAMELESS "{\"metadata\":{\"namespace\":\"n\"},\"timestamp\":\"2026-11-21T11:54:02Z\"}"
#define UNDATED  "{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"},\"timestamp\":\"noon\"}"

static void bad_answers(void **state)
{
        (void)state;
        static const struct {
                const char *body;
                int64_t pods, refused;
                bool whole;
                int code;
        } row[] = {
                {"{\"metadata\":{},\"items\":[" ITEM("a", "1") "," ITEM("b", "NaN") "," UNDATED "," ITEM("d", "2") "]}",
                 4, 0, true, 0},
                {"{\"metadata\":{},\"items\":[" ITEM("a", "1") "," NAMELESS "]}", 1, 1, true, 0},
                {"{\"metadata\":{},\"items\":null}", 0, 0, true, 0},
                {"{\"metadata\":{},\"items\":[" ITEM("a", "1") ",", 1, 0, false, ERR_RETRY},
                {"<html>", 0, 0, false, ERR_INVALID},
                {"", 0, 0, false, ERR_RETRY},
                {"{\"items\":[" ITEM("a", "1") "]} and more", 1, 0, false, ERR_INVALID},
        };
        struct polled p;
        begin(&p);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                fake_fault(p.api.fake,
                           &(struct fake_fault){.path = "/apis/metrics.k8s.io", .status = 200, .body = row[i].body});
                poll_ns(&p, NULL);
                if (p.pods != row[i].pods || p.result.refused != row[i].refused || p.result.whole != row[i].whole ||
                    p.result.err.code != row[i].code)
                        fail_msg("%s: %lld pods, %lld refused, %s, %d %s", row[i].body, (long long)p.pods,
                                 (long long)p.result.refused, p.result.whole ? "whole" : "cut", p.result.err.code,
                                 p.result.err.text);
                fake_faults_clear(p.api.fake);
        }
        api_end(&p.api);
}

static void given_up_at_any_time(void **state)
{
        (void)state;
        struct polled p;
        begin(&p);
        for (int ms = 0; ms < 40; ms += 4) {
                p.last[0] = '\0';
                p.done = false;
                struct metrics_poll *poll = metrics_poll(p.api.client, NULL, 60000, on_each, on_done, &p);
                struct mono from = mono_read();
                while (!p.done && (mono_read().ns - from.ns) / 1000000 < ms)
                        loop_turn(p.api.loop, 1);
                if (!p.done)
                        metrics_cancel(poll);
                p.done = false;
                api_turn(&p.api, 5);
                assert_false(p.done);
        }
        api_end(&p.api);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(everything_in_order_and_dated),
                cmocka_unit_test(the_best_version_is_read),
                cmocka_unit_test(a_version_comes_and_goes),
                cmocka_unit_test(discovery_that_does_not_answer),
                cmocka_unit_test(what_came_before_a_cut_counts),
                cmocka_unit_test(away_or_absent),
                cmocka_unit_test(bad_answers),
                cmocka_unit_test(given_up_at_any_time),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
