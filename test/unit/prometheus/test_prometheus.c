/* Fetches against a Prometheus that does what a script says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/tmp.h"
#include "../net/peer.h"
#include "prometheus/prometheus.h"

#define SERIES(ns, pod, container, values)                                                                             \
        "{\"metric\":{\"namespace\":\"" ns "\",\"pod\":\"" pod "\",\"container\":\"" container                         \
        "\"},\"values\":[" values "]}"
/* Of pod p in namespace n, container c. */
#define CGROUP(id, values)                                                                                             \
        "{\"metric\":{\"namespace\":\"n\",\"pod\":\"p\",\"container\":\"c\",\"id\":\"" id "\"},\"values\":[" values "]}"
#define POD            "/kubepods/pod8e0b0b0e-7c1d-4f6a-9b3e-0123456789ab/"
#define OTHER          "/kubepods/pod8e0b0b0e-7c1d-4f6a-9b3e-0123456789ac/"
#define MATRIX(series) "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[" series "]}}"

/* What the server says to each query. */
struct script {
        int status;
        const char *headers, *cpu, *memory;
        _Atomic bool silent; /* answers nothing */
        char seen[2][1024];  /* heads of the requests */
};

static bool is_cpu(const struct conn *c)
{
        return conn_asks(c, "container_cpu_usage_seconds_total");
}

static bool answer(struct conn *c, void *arg)
{
        struct script *s = arg;
        snprintf(s->seen[is_cpu(c)], sizeof s->seen[0], "%.1000s", c->request);
        if (s->silent)
                return conn_wait_gone(c, 10000) && false;
        return conn_answer(c, s->status, s->headers, is_cpu(c) ? s->cpu : s->memory);
}

struct cache {
        struct loop *loop;
        struct peer *peer;
        struct prometheus *prometheus;
        char text[1024]; /* of the answer */
        struct err err;
        bool partial;
        size_t series;
        int64_t retry_after_ms;
        uint64_t refused;
        int done;
};

static void begin(struct cache *w, struct script *s, struct prometheus_options o)
{
        struct err err = {0};
        *w = (struct cache){.loop = loop_new(), .peer = peer_start(answer, s, NULL)};
        o.url = w->peer->url;
        o.user_agent = "halflife/test";
        o.queries = 2;
        o.rate_window_ms = 120000;
        assert_int_equal(prometheus_new(w->loop, &o, &w->prometheus, &err), 0);
}

static void end(struct cache *w)
{
        prometheus_free(w->prometheus);
        loop_free(w->loop);
        peer_stop(w->peer);
}

static void on_answer(void *arg, const struct prometheus_answer *a)
{
        struct cache *w = arg;
        size_t at = 0;
        w->done++;
        w->err = a->err;
        w->partial = a->partial;
        w->series = a->series_count;
        w->refused = a->refused;
        w->retry_after_ms = a->retry_after_ms;
        for (size_t i = 0; i < a->points; i++) {
                const struct prometheus_point *p = &a->point[i];
                const struct prometheus_series *s = &a->series[p->series];
                at += (size_t)snprintf(w->text + at, sizeof w->text - at, "%lld %.*s/%.*s/%.*s", (long long)p->at.ms,
                                       TEXT_ARG(s->ns), TEXT_ARG(s->pod), TEXT_ARG(s->container));
                if (p->has[CPU])
                        at += (size_t)snprintf(w->text + at, sizeof w->text - at, " cpu=%g", p->value[CPU]);
                if (p->has[MEMORY])
                        at += (size_t)snprintf(w->text + at, sizeof w->text - at, " memory=%g", p->value[MEMORY]);
                at += (size_t)snprintf(w->text + at, sizeof w->text - at, "%s\n", p->doubtful ? " doubtful" : "");
        }
}

static struct prometheus_slice slice(size_t most)
{
        return (struct prometheus_slice){
                .from = {60000}, .to = {120000}, .step_ms = 60000, .deadline_ms = 5000, .points_most = most};
}

static void fetch(struct cache *w, size_t most)
{
        struct prometheus_slice s = slice(most);
        w->done = 0;
        w->text[0] = '\0';
        prometheus_fetch(w->prometheus, &s, on_answer, w);
        assert_int_equal(w->done, 0);
        while (!w->done)
                loop_turn(w->loop, 1000);
        assert_int_equal(w->done, 1);
}

static void both_resources_become_points_in_order(void **state)
{
        (void)state;
        struct cache w;
        struct script s = {.status = 200,
                           .cpu = MATRIX(SERIES("b", "p", "c", "[60,\"0.25\"],[120,\"0.5\"]") "," SERIES(
                                   "a", "z", "c", "[120,\"2\"]")),
                           .memory = MATRIX(SERIES("a", "z", "c", "[60,\"10\"],[120,\"20\"]") "," SERIES(
                                   "a", "a", "c", "[120,\"NaN\"],[60,\"5\"]"))};
        begin(&w, &s, (struct prometheus_options){0});
        fetch(&w, 100);
        assert_int_equal(w.err.code, 0);
        assert_string_equal(w.text, "60000 a/a/c memory=5\n"
                                    "60000 a/z/c memory=10\n"
                                    "60000 b/p/c cpu=0.25\n"
                                    "120000 a/z/c cpu=2 memory=20\n"
                                    "120000 b/p/c cpu=0.5\n");
        assert_int_equal(w.refused, 1);
        assert_non_null(strstr(s.seen[1], "POST /api/v1/query_range "));
        assert_non_null(strstr(s.seen[1], "&start=60.000&end=120.000&step=60"));
        end(&w);
}

/* The cgroups of a container are one series, in whatever order they come; each time is judged by itself. */
static void a_container_is_one_series(void **state)
{
        (void)state;
        struct cache w;
        struct script s = {
                .status = 200,
                .cpu = MATRIX(
                        CGROUP(POD "a/container", "[60,\"0.5\"]") "," SERIES("n", "o", "c", "[60,\"3\"]") "," CGROUP(
                                OTHER "a", "[120,\"0.25\"]") "," CGROUP(POD "a", "[60,\"0.75\"],[120,\"1\"]")),
                .memory = MATRIX(CGROUP(POD "a", "[60,\"9\"],[120,\"7\"]") "," CGROUP(POD "a/container",
                                                                                      "[60,\"8\"],[120,\"6\"]"))};
        begin(&w, &s, (struct prometheus_options){0});
        fetch(&w, 100);
        assert_int_equal(w.err.code, 0);
        assert_int_equal(w.series, 2);
        assert_string_equal(w.text, "60000 n/o/c cpu=3\n"
                                    "60000 n/p/c cpu=0.5 memory=8\n"
                                    "120000 n/p/c cpu=1 memory=6 doubtful\n");
        end(&w);
}

static void nothing_is_an_answer_too(void **state)
{
        (void)state;
        struct cache w;
        struct script s = {.status = 200, .cpu = MATRIX(""), .memory = MATRIX("")};
        begin(&w, &s, (struct prometheus_options){0});
        fetch(&w, 100);
        assert_int_equal(w.err.code, 0);
        assert_string_equal(w.text, "");
        end(&w);
}

/* One step after the slice is a store that rounds; later is no answer to the question. */
static void points_are_not_later_than_the_slice(void **state)
{
        (void)state;
        struct cache w;
        struct script s = {.status = 200,
                           .cpu = MATRIX(SERIES("n", "p", "c",
                                                "[-1,\"1\"],[0,\"2\"],[180,\"3\"],[181,\"4\"],[253402300799,\"5\"]")),
                           .memory = MATRIX("")};
        begin(&w, &s, (struct prometheus_options){0});
        fetch(&w, 100);
        assert_int_equal(w.err.code, 0);
        assert_string_equal(w.text, "0 n/p/c cpu=2\n180000 n/p/c cpu=3\n");
        assert_int_equal(w.refused, 3);
        end(&w);
}

/* Series without a point are not kept, so that the bound on points bounds them too. */
static void series_without_points_are_none(void **state)
{
        (void)state;
        struct cache w;
        struct script s = {.status = 200,
                           .cpu = MATRIX(SERIES("n", "a", "c", "") "," SERIES("n", "b", "c", "[60,\"NaN\"]") "," SERIES(
                                   "n", "p", "c", "[60,\"1\"]")),
                           .memory = MATRIX(SERIES("n", "z", "c", ""))};
        begin(&w, &s, (struct prometheus_options){0});
        fetch(&w, 100);
        assert_int_equal(w.err.code, 0);
        assert_string_equal(w.text, "60000 n/p/c cpu=1\n");
        assert_int_equal(w.series, 1);
        end(&w);
}

/* An error whose body does not end: its first bytes are quoted, and the rest is not waited for. */
static bool refuse_for_ever(struct conn *c, void *arg)
{
        static const char blanks[4096] = "";
        (void)arg;
        bool ok = conn_say(c, "HTTP/1.1 503 No\r\nRetry-After: 7\r\n\r\n{\"error\": \"too busy\"}");
        while (ok)
                ok = conn_send(c, blanks, sizeof blanks);
        return false;
}

static void an_endless_refusal_is_cut(void **state)
{
        (void)state;
        struct cache w = {.loop = loop_new(), .peer = peer_start(refuse_for_ever, NULL, NULL)};
        struct err err = {0};
        assert_int_equal(prometheus_new(w.loop, &(struct prometheus_options){.url = w.peer->url, .queries = 2},
                                        &w.prometheus, &err),
                         0);
        int64_t begun = mono_read().ns;
        fetch(&w, 9);
        assert_true(mono_read().ns - begun < 4 * INT64_C(1000000000)); /* the deadline is 5 s */
        assert_int_equal(w.err.code, ERR_RETRY);
        assert_non_null(strstr(w.err.text, "HTTP 503: {\"error\": \"too busy\"}"));
        assert_int_equal(w.retry_after_ms, 7000);
        end(&w);
}

static void what_is_no_answer_says_why(void **state)
{
        (void)state;
        static const struct {
                int status;
                const char *headers, *body;
                size_t most;
                int code;
                const char *says;
        } row[] = {
                {302, "Location: http://elsewhere/\r\n", "", 9, ERR_INVALID, "another address, which is not followed"},
                {400, NULL, "{\"status\":\"error\",\"error\":\"exceeded maximum resolution\"}", 9, ERR_INVALID,
                 "exceeded"},
                {401, NULL, "Unauthorized", 9, ERR_DENIED, "credentials"},
                {403, NULL, "", 9, ERR_DENIED, "credentials"},
                {404, NULL, "404 page not found", 9, ERR_INVALID, "path"},
                {422, NULL, "{\"error\":\"query processing would load too many samples into memory\"}", 9, ERR_TOOBIG,
                 "too many samples"},
                {503, "Retry-After: 7\r\n", "busy", 9, ERR_RETRY, "busy"},
                {500, NULL, "", 9, ERR_RETRY, "HTTP 500"},
                {200, NULL, "<html>", 9, ERR_INVALID, "JSON"},
                {200, NULL, "{\"status\":\"success\"}", 9, ERR_INVALID, "result"},
                {200, NULL, "{\"data\":{\"result\":[]", 9, ERR_RETRY, "cut"},
                {200, NULL, "{\"data\":{\"result\":[]},\"warnings\":[\"a store is away\"]}", 9, ERR_RETRY,
                 "says 'a store is away'"},
                {200, NULL, "{\"isPartial\":true,\"data\":{\"result\":[]}}", 9, ERR_RETRY, "says 'isPartial: true'"},
                {200, NULL, MATRIX(SERIES("n", "p", "c", "[60,\"1\"],[120,\"1\"]")), 1, ERR_TOOBIG, "more points"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                struct script s = {
                        .status = row[i].status, .headers = row[i].headers, .cpu = row[i].body, .memory = row[i].body};
                begin(&w, &s, (struct prometheus_options){0});
                fetch(&w, row[i].most);
                if (w.err.code != row[i].code || !strstr(w.err.text, row[i].says))
                        print_error("row %zu: %d '%s'\n", i, w.err.code, w.err.text);
                assert_int_equal(w.err.code, row[i].code);
                assert_non_null(strstr(w.err.text, row[i].says));
                assert_int_not_equal(w.err.text[strlen(w.err.text) - 1], ' '); /* no colon before an empty body */
                assert_int_equal(w.retry_after_ms, row[i].status == 503 ? 7000 : -1);
                assert_int_equal(w.partial, strstr(row[i].says, "says '") != NULL);
                assert_string_equal(w.text, "");
                end(&w);
        }
}

/* One resource whole and the other in part: nothing of either counts, whichever comes first. */
static void half_an_answer_is_none(void **state)
{
        (void)state;
        static const char whole[] = MATRIX(SERIES("n", "p", "c", "[60,\"1\"],[120,\"1\"]")),
                          part[] = "{\"status\":\"success\",\"isPartial\":true,\"data\":{\"result\":[" SERIES(
                                  "n", "p", "c", "[60,\"1\"]") "]}}";
        for (int i = 0; i < 2; i++) {
                struct cache w;
                struct script s = {.status = 200, .cpu = i ? part : whole, .memory = i ? whole : part};
                begin(&w, &s, (struct prometheus_options){0});
                fetch(&w, 9);
                assert_int_equal(w.err.code, ERR_RETRY);
                assert_true(w.partial);
                assert_string_equal(w.text, "");
                end(&w);
        }
}

static void credentials_are_read_afresh(void **state)
{
        (void)state;
        struct cache w;
        struct script s = {.status = 200, .cpu = MATRIX(""), .memory = MATRIX("")};
        char *token = tmp_file("token", "first\n");
        begin(&w, &s, (struct prometheus_options){.bearer_file = token});
        fetch(&w, 9);
        assert_non_null(strstr(s.seen[0], "Authorization: Bearer first\r\n"));
        mem_free(tmp_file("token", "second"));
        fetch(&w, 9);
        assert_non_null(strstr(s.seen[0], "Authorization: Bearer second\r\n"));
        mem_free(tmp_file("token", ""));
        int asked = w.peer->requests;
        fetch(&w, 9);
        assert_int_equal(w.err.code, ERR_INVALID);
        assert_non_null(strstr(w.err.text, "is empty"));
        unlink(token);
        fetch(&w, 9);
        assert_int_equal(w.err.code, ERR_NOTFOUND);
        assert_int_equal(w.peer->requests, asked);
        mem_free(tmp_file("token", "third"));
        fetch(&w, 9);
        assert_int_equal(w.err.code, 0);
        assert_non_null(strstr(s.seen[1], "Authorization: Bearer third\r\n"));
        end(&w);
        mem_free(token);
}

/* Two begin before the loop has told the first that there are none. */
static void without_credentials_nobody_asks(void **state)
{
        (void)state;
        struct cache w;
        struct script s = {.status = 200, .cpu = MATRIX(""), .memory = MATRIX("")};
        char *token = tmp_file("none", "");
        begin(&w, &s, (struct prometheus_options){.bearer_file = token});
        const struct prometheus_slice slice = {.ns = "a", .step_ms = 60000, .deadline_ms = 5000, .points_most = 9};
        (void)prometheus_fetch(w.prometheus, &slice, on_answer, &w);
        (void)prometheus_fetch(w.prometheus, &slice, on_answer, &w);
        while (w.done < 2) {
                loop_turn(w.loop, 1000);
                assert_true(w.done == 0 || w.err.code == ERR_INVALID);
        }
        assert_int_equal(w.peer->requests, 0);
        end(&w);
        mem_free(token);
}

static void users_have_passwords(void **state)
{
        (void)state;
        struct cache w;
        struct script s = {.status = 200, .cpu = MATRIX(""), .memory = MATRIX("")};
        char *password = tmp_file("password", "cret\r\n");
        begin(&w, &s, (struct prometheus_options){.user = "se", .password_file = password});
        fetch(&w, 9);
        assert_non_null(strstr(s.seen[1], "Authorization: Basic c2U6Y3JldA==\r\n"));
        end(&w);
        mem_free(password);
}

static void a_gateway_gets_its_headers(void **state)
{
        (void)state;
        struct cache w;
        struct script s = {.status = 200, .cpu = MATRIX(""), .memory = MATRIX("")};
        char *headers = tmp_file("headers", "X-Scope-OrgID: shop|web\r\n\nx-request-owner:halflife \t\n");
        begin(&w, &s, (struct prometheus_options){.headers_file = headers});
        fetch(&w, 9);
        assert_int_equal(w.err.code, 0);
        for (int i = 0; i < 2; i++) {
                assert_non_null(strstr(s.seen[i], "\r\nX-Scope-OrgID: shop|web\r\n"));
                assert_non_null(strstr(s.seen[i], "\r\nx-request-owner: halflife\r\n"));
        }
        mem_free(tmp_file("headers", "Authorization: Custom abc")); /* it is read again */
        fetch(&w, 9);
        assert_non_null(strstr(s.seen[0], "\r\nAuthorization: Custom abc\r\n"));
        assert_null(strstr(s.seen[0], "X-Scope-OrgID"));
        int asked = w.peer->requests;
        mem_free(tmp_file("headers", "Thanos-Tenant: a\nno header\n"));
        fetch(&w, 9);
        assert_int_equal(w.err.code, ERR_INVALID);
        assert_non_null(strstr(w.err.text, "credentials for Prometheus: '"));
        assert_non_null(strstr(w.err.text, "line 2"));
        assert_int_equal(w.peer->requests, asked);
        end(&w);
        mem_free(headers);
}

static void one_that_is_gone_is_told(void **state)
{
        (void)state;
        struct cache w;
        struct err err = {0};
        char dead[64];
        int held = dead_url(dead);
        w = (struct cache){.loop = loop_new()};
        struct prometheus_options o = {
                .url = dead, .user_agent = "halflife/test", .queries = 1, .rate_window_ms = 60000};
        assert_int_equal(prometheus_new(w.loop, &o, &w.prometheus, &err), 0);
        fetch(&w, 9);
        assert_int_equal(w.err.code, ERR_RETRY);
        prometheus_free(w.prometheus);
        loop_free(w.loop);
        close(held);
}

static void a_fetch_can_be_given_up(void **state)
{
        (void)state;
        struct cache w;
        struct script s = {.status = 200, .silent = true};
        begin(&w, &s, (struct prometheus_options){0});
        struct prometheus_slice sl = slice(9);
        struct prometheus_fetch *f = prometheus_fetch(w.prometheus, &sl, on_answer, &w);
        while (w.peer->requests == 0)
                loop_turn(w.loop, 10);
        prometheus_cancel(f);
        loop_turn(w.loop, 0);
        assert_int_equal(w.done, 0);
        end(&w);
}

/* Answers where the query is whole, with each of its selectors. */
static bool answer_whole(struct conn *c, void *arg)
{
        const char *matchers = arg, *first = strstr(c->request, matchers);
        bool whole = first && strstr(first + strlen(matchers), matchers) && conn_asks(c, "%20%3E%3D%200.125&start=");
        return conn_answer(c, whole ? 200 : 400, NULL, whole ? MATRIX("") : "{\"error\":\"not whole\"}");
}

static void the_longest_matchers_are_in_the_query(void **state)
{
        (void)state;
        char matchers[4097];
        struct err err = {0};
        snprintf(matchers, sizeof matchers, "cluster=\"%04086d\"", 0);
        assert_int_equal(strlen(matchers), 4096);
        char *digits = strchr(matchers, '0');
        AUTO(mem_free) char *escaped = mem_string_n(digits, strlen(digits) - 1);
        struct cache w = {.loop = loop_new(), .peer = peer_start(answer_whole, escaped, NULL)};
        const struct prometheus_options o = {.url = w.peer->url,
                                             .user_agent = "halflife/test",
                                             .matchers = matchers,
                                             .queries = 2,
                                             .rate_window_ms = 120000};
        assert_int_equal(prometheus_new(w.loop, &o, &w.prometheus, &err), 0);
        struct prometheus_slice s = slice(9);
        s.of = PROMETHEUS_THROTTLING;
        prometheus_fetch(w.prometheus, &s, on_answer, &w);
        while (!w.done)
                loop_turn(w.loop, 1000);
        if (w.err.code != 0)
                fail_msg("%s", w.err.text);
        end(&w);
}

static void settings_that_cannot_work_are_refused(void **state)
{
        (void)state;
        static const struct {
                struct prometheus_options o;
                const char *says;
        } row[] = {
                {{.url = "prometheus:9090"}, "http://"},
                {{.url = "https://u:cret@a/prom"}, "holds a user: give"},
                {{.url = "https://a/prom?x=1"}, "has a query: leave out what begins with '?'"},
                {{.url = "http://a", .cert_file = "c"}, "both files"},
                {{.url = "http://a", .key_file = "k"}, "both files"},
                {{.url = "http://a", .bearer_file = "t", .user = "u"}, "not both"},
                {{.url = "http://a", .password_file = "p"}, "needs a user"},
                {{.url = "http://a", .matchers = "} or up{"}, "matchers"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct prometheus *p = NULL;
                struct err err = {0};
                assert_int_equal(prometheus_new(NULL, &row[i].o, &p, &err), ERR_INVALID);
                if (!strstr(err.text, row[i].says))
                        print_error("row %zu: %s\n", i, err.text);
                assert_non_null(strstr(err.text, row[i].says));
                assert_null(p);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(both_resources_become_points_in_order),
                cmocka_unit_test(a_container_is_one_series),
                cmocka_unit_test(nothing_is_an_answer_too),
                cmocka_unit_test(points_are_not_later_than_the_slice),
                cmocka_unit_test(series_without_points_are_none),
                cmocka_unit_test(an_endless_refusal_is_cut),
                cmocka_unit_test(what_is_no_answer_says_why),
                cmocka_unit_test(half_an_answer_is_none),
                cmocka_unit_test(credentials_are_read_afresh),
                cmocka_unit_test(without_credentials_nobody_asks),
                cmocka_unit_test(users_have_passwords),
                cmocka_unit_test(a_gateway_gets_its_headers),
                cmocka_unit_test(one_that_is_gone_is_told),
                cmocka_unit_test(a_fetch_can_be_given_up),
                cmocka_unit_test(the_longest_matchers_are_in_the_query),
                cmocka_unit_test(settings_that_cannot_work_are_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
