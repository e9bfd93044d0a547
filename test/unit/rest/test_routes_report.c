/* Reports of the ledger: what is asked of it, and the answers, each held against openapi.yaml. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../support/openapi.h"
#include "base/yaml.h"
#include "routes_fixture.h"

static json_t *described;

static json_t *ask(struct fixture *f, const char *url)
{
        struct err err;
        const char *body = fixture_get(f, url);
        json_t *json = f->got.body.len ? json_loads(body, JSON_REJECT_DUPLICATES, NULL) : NULL;
        if (!json)
                fail_msg("%s: %u %s", url, f->got.status, body);
        if (openapi_check(described, "/api/v1/report", "get", f->got.status, f->got.type, json, &err) < 0)
                fail_msg("%s: %s\n%s", url, err.text, body);
        return json;
}

static double number(const json_t *json, const char *path)
{
        char copy[128], *save = NULL;
        snprintf(copy, sizeof copy, "%s", path);
        for (char *part = strtok_r(copy, ".", &save); part; part = strtok_r(NULL, ".", &save))
                json = json_is_array(json) ? json_array_get(json, (size_t)atoi(part)) : json_object_get(json, part);
        return json_is_number(json) ? json_number_value(json) : -1;
}

/* --- what is asked --- */

static void test_asked(void **state)
{
        static const struct {
                const char *query, *problem; /* NULL: it is good */
                enum ledger_axis axis;
                enum ledger_span span;
                int64_t hours;
        } row[] = {
                {"", NULL, LEDGER_NAMESPACE, LEDGER_DAY, 30 * 24},
                {"?since=1h", NULL, LEDGER_NAMESPACE, LEDGER_HOUR, 1},
                {"?since=48h&by=profile", NULL, LEDGER_PROFILE, LEDGER_HOUR, 48},
                {"?since=2d", NULL, LEDGER_NAMESPACE, LEDGER_HOUR, 48},
                {"?since=49h&by=pool", NULL, LEDGER_POOL, LEDGER_DAY, 49},
                {"?since=400d&by=cluster", NULL, LEDGER_POOL, LEDGER_DAY, 9600},
                {"?since=59m", "since '59m' is no time from 1h to 400d", 0, 0, 0},
                {"?since=0d", "since '0d'", 0, 0, 0},
                {"?since=401d", "since '401d'", 0, 0, 0},
                {"?since=9601h", "since '9601h'", 0, 0, 0},
                {"?since=-3d", "since '-3d'", 0, 0, 0},
                {"?since=%201d", "since ' 1d'", 0, 0, 0},
                {"?since=99999999999999999999d", "no time from", 0, 0, 0},
                {"?since=d", "no time from", 0, 0, 0},
                {"?since=1.5d", "no time from", 0, 0, 0},
                {"?since=30", "no time from", 0, 0, 0},
                {"?by=label:team", NULL, LEDGER_LABEL, LEDGER_DAY, 30 * 24},
                {"?by=label:owner", "no accounts are kept by label 'owner', but by label:team", 0, 0, 0},
                {"?by=label:", "by 'label:' is neither cluster", 0, 0, 0},
                {"?by=label", "by 'label' is neither cluster", 0, 0, 0},
                {"?by=workload", "by 'workload' is neither cluster", 0, 0, 0},
                {"?state=Ready", "no parameter", 0, 0, 0},
        };
        struct fixture f;
        (void)state;
        fixture_init(&f);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char url[128];
                snprintf(url, sizeof url, "/api/v1/report%s", row[i].query);
                json_decref(ask(&f, url));
                const struct ledger_ask *asked = f.route.ledger;
                if (row[i].problem ? f.got.status != 400 || !strstr(f.got.body.data, row[i].problem)
                                   : f.got.status != 200 || asked->axis != row[i].axis || asked->span != row[i].span ||
                                             asked->since_ms != row[i].hours * HOUR_MS || asked->ns[0])
                        fail_msg("%s: %u %.200s", url, f.got.status, f.got.body.data);
        }
        f.no_learner = true;
        json_decref(ask(&f, "/api/v1/report"));
        assert_int_equal(f.got.status, 503);
        fixture_release(&f);
}

/* --- what is answered --- */

static void assert_number(const json_t *json, const char *path, double want)
{
        double got = number(json, path), apart = want / 1e12;
        if (want < 0 ? got != want : got < want - apart || got > want + apart)
                fail_msg("%s is %.9g, not %.9g", path, got, want);
}

static void test_answer(void **state)
{
        struct fixture f;
        (void)state;
        fixture_init(&f);
        json_t *json AUTO(json_decref) = ask(&f, "/api/v1/report?since=30d");
        /* nineteen days and a half, of which 360 s were not booked */
        assert_string_equal(json_string_value(json_object_get(json, "until")), "2024-10-04T12:00:00Z");
        assert_string_equal(json_string_value(json_object_get(json, "since")), "2024-09-04T00:00:00Z");
        assert_number(json, "workloads.managed", 3);
        assert_number(json, "workloads.all", 5);
        assert_int_equal(json_array_size(json_object_get(json, "rows")), 2);
        assert_string_equal(
                json_string_value(json_object_get(json_array_get(json_object_get(json, "rows"), 0), "name")), "shop");
        assert_number(json, "rows.0.cpu.asked", 19.5 * 86400 * 2);
        assert_number(json, "rows.0.cpu.inForce", 19.5 * 86400);
        assert_number(json, "rows.1.memory.used", 19.5 * 86400 / 4);
        assert_number(json, "rows.0.cpu.allocatable", -1);
        assert_number(json, "rows.0.changes", 20);
        assert_number(json, "total.podSeconds", 19.5 * 86400 * 3);
        assert_number(json, "total.pods", 3.001);
        assert_number(json, "total.cpu.used", 19.5 * 86400 * 0.75);
        assert_number(json, "allocatable.cpu", 19.5 * 86400 * 4);
        assert_number(json, "allocatable.firstWeek.cpu", 86400 * 4);
        assert_number(json, "allocatable.lastWeek.memory", 86400 * 16);
        assert_int_equal(json_array_size(json_object_get(json, "series")), 20);
        assert_number(json, "series.0.seconds", 86400);
        assert_number(json, "series.19.seconds", 43200);
        assert_number(json, "series.19.cpu.inForce", 43200 * 1.5);
        assert_number(json, "series.19.cpu.allocatable", 43200 * 4);
        assert_number(json, "notBooked", 360);
        /* of 21 containers that ask for 2 cores each, and whose target is 454m */
        assert_number(json, "possible.cpu", 32.466);
        assert_number(json, "possible.memory", 0);
        fixture_release(&f);
}

static void test_other_axes(void **state)
{
        struct fixture f;
        (void)state;
        fixture_init(&f);
        json_t *all AUTO(json_decref) = ask(&f, "/api/v1/report"),
                    *cluster AUTO(json_decref) = ask(&f, "/api/v1/report?by=cluster"),
                    *pool AUTO(json_decref) = ask(&f, "/api/v1/report?by=pool"),
                    *profile AUTO(json_decref) = ask(&f, "/api/v1/report?by=profile"),
                    *hours AUTO(json_decref) = ask(&f, "/api/v1/report?since=4h");
        json_t *one[] = {cluster, pool};
        for (int i = 0; i < 2; i++) {
                assert_true(json_equal(json_object_get(one[i], "series"), json_object_get(all, "series")));
                assert_int_equal(json_array_size(json_object_get(one[i], "rows")), 1);
                assert_number(one[i], "rows.0.cpu.asked", number(all, "total.cpu.asked"));
        }
        assert_true(json_equal(json_object_get(cluster, "total"), json_object_get(all, "total")));
        assert_number(pool, "rows.0.cpu.allocatable", number(all, "allocatable.cpu"));
        assert_int_equal(json_array_size(json_object_get(profile, "rows")), 2); /* the second: without a profile */
        assert_number(profile, "rows.1.cpu.asked", 19.5 * 86400);
        assert_int_equal(json_array_size(json_object_get(hours, "series")), 5);
        assert_number(hours, "series.0.seconds", 3600);
        assert_number(hours, "allocatable.firstWeek.cpu", -1);
        fixture_release(&f);
}

static void test_label(void **state)
{
        struct fixture f;
        (void)state;
        fixture_init(&f);
        json_t *all AUTO(json_decref) = ask(&f, "/api/v1/report"),
                    *label AUTO(json_decref) = ask(&f, "/api/v1/report?by=label:team");
        assert_string_equal(json_string_value(json_object_get(label, "by")), "label:team");
        assert_string_equal(
                json_string_value(json_object_get(json_array_get(json_object_get(label, "rows"), 0), "name")), "pay");
        assert_true(json_equal(json_object_get(label, "total"), json_object_get(all, "total")));
        assert_true(json_equal(json_object_get(label, "series"), json_object_get(all, "series")));
        char url[512];
        snprintf(url, sizeof url, "/api/v1/report?by=label:%0*d", LEDGER_LABEL_MAX, 1);
        json_decref(ask(&f, url));
        assert_int_equal(f.got.status, 400);
        fixture_release(&f);
}

/* The first week and the last, of twenty days, the last of which is not over. */
static void test_weeks(void **state)
{
        struct fixture f;
        (void)state;
        fixture_init(&f);
        json_t *all AUTO(json_decref) = ask(&f, "/api/v1/report"),
                    *shop AUTO(json_decref) = ask(&f, "/api/v1/namespaces/shop/report"),
                    *hours AUTO(json_decref) = ask(&f, "/api/v1/report?since=4h");
        assert_number(all, "weeks.first.cpu.asked", 7 * 86400 * 3);
        assert_number(all, "weeks.last.cpu.inForce", 7 * 86400 * 1.5);
        assert_number(all, "weeks.first.changes", 7);
        assert_number(all, "weeks.first.pods", 3);
        assert_number(all, "weeks.first.kills", 0);
        assert_number(all, "series.3.changes", 1);
        assert_number(shop, "weeks.last.podSeconds", 7 * 86400 * 2);
        assert_null(json_object_get(hours, "weeks"));
        fixture_release(&f);
}

/* Money is told of pools and their total, of other rows where all pools cost the same, and of nothing without prices.
 */
static void test_money(void **state)
{
        static const double SECONDS = 19.5 * 86400;
        struct fixture f;
        (void)state;
        fixture_init(&f);
        json_t *none AUTO(json_decref) = ask(&f, "/api/v1/report?by=pool");
        assert_null(strstr(f.got.body.data, "money"));
        assert_null(json_object_get(none, "prices"));
        f.prices = "EUR, spot=0.036/0, other=7/7";
        json_t *pool AUTO(json_decref) = ask(&f, "/api/v1/report?by=pool"),
                     *rows AUTO(json_decref) = ask(&f, "/api/v1/report"),
                     *cluster AUTO(json_decref) = ask(&f, "/api/v1/report?by=cluster");
        assert_number(pool, "rows.0.money.asked", SECONDS * 3 * 0.036 / 3600);
        assert_number(pool, "rows.0.money.allocatable", SECONDS * 4 * 0.036 / 3600);
        assert_number(pool, "total.money.inForce", SECONDS * 1.5 * 0.036 / 3600);
        assert_number(pool, "prices.pools.0.cpu", 0.036);
        assert_number(rows, "rows.0.money.asked", -1);
        assert_number(rows, "total.money.asked", number(pool, "total.money.asked"));
        assert_number(rows, "total.money.allocatable", number(pool, "total.money.allocatable"));
        assert_number(cluster, "rows.0.money.used", number(pool, "total.money.used"));
        assert_number(rows, "prices.unpriced.cpu", -1);
        json_t *shop AUTO(json_decref) = ask(&f, "/api/v1/namespaces/shop/report");
        assert_int_equal(f.got.status, 200);
        assert_null(json_object_get(shop, "prices")); /* of pools it is told nothing */
        assert_null(strstr(f.got.body.data, "spot"));
        f.prices = "EUR, other=7/7";
        json_t *unpriced AUTO(json_decref) = ask(&f, "/api/v1/report");
        assert_number(unpriced, "prices.unpriced.cpu", SECONDS * 3);
        assert_null(json_object_get(json_object_get(unpriced, "total"), "money"));
        f.prices = "EUR, *=0.036/0.0036";
        json_t *one AUTO(json_decref) = ask(&f, "/api/v1/report"),
                    *here AUTO(json_decref) = ask(&f, "/api/v1/namespaces/shop/report");
        assert_number(one, "rows.0.money.asked", SECONDS * (2 * 0.036 + 4 * 0.0036) / 3600);
        assert_number(one, "rows.0.money.allocatable", -1);
        assert_number(one, "total.money.allocatable", SECONDS * (4 * 0.036 + 16 * 0.0036) / 3600);
        assert_number(here, "total.money.asked", number(one, "rows.0.money.asked"));
        assert_number(here, "total.money.allocatable", -1);
        fixture_release(&f);
}

/* Whoever sees one namespace is told nothing of others, or of nodes. */
static void test_one_namespace(void **state)
{
        struct fixture f;
        (void)state;
        fixture_init(&f);
        json_t *json AUTO(json_decref) = ask(&f, "/api/v1/namespaces/bank/report");
        assert_int_equal(f.got.status, 200);
        assert_int_equal(json_array_size(json_object_get(json, "rows")), 1);
        assert_number(json, "rows.0.cpu.asked", 19.5 * 86400);
        assert_number(json, "total.cpu.asked", 19.5 * 86400);
        assert_number(json, "notBooked", 360);
        assert_null(json_object_get(json, "allocatable"));
        assert_null(strstr(f.got.body.data, "allocatable"));
        assert_null(strstr(f.got.body.data, "shop"));
        json_t *by AUTO(json_decref) = ask(&f, "/api/v1/namespaces/bank/report?by=cluster");
        assert_number(by, "rows.0.cpu.asked", 19.5 * 86400);
        json_decref(ask(&f, "/api/v1/namespaces/bank/report?by=profile"));
        assert_non_null(strstr(f.got.body.data, "ask /api/v1/report"));
        json_t *none AUTO(json_decref) = ask(&f, "/api/v1/namespaces/none/report");
        assert_int_equal(json_array_size(json_object_get(none, "rows")), 0);
        assert_number(none, "total.cpu.asked", 0);
        fixture_release(&f);
}

/* Of 1 200 namespaces the 1 000 that saved most are rows, and the rest is one. */
static void test_many_rows(void **state)
{
        enum { NAMESPACES = 1200, ROWS = 1000 };
        struct fixture f;
        (void)state;
        fixture_init(&f);
        struct request r = {.method = TEXT("GET"), .path = TEXT("/api/v1/report"), .query = TEXT("")};
        assert_int_equal(route_match(&r, f.view, &f.arena, &f.route, &f.got), 0);
        struct ledger_report *report = ledger_report_new(f.route.ledger, DAY_MS);
        for (int i = 0; i < NAMESPACES; i++) {
                char name[16];
                struct ledger_sum sum = {.pod_ms = 1000};
                snprintf(name, sizeof name, "ns-%04d", i);
                sum.of[LEDGER_ASKED][CPU] = (unsigned __int128)(i + 1) * 1000000;
                ledger_report_add(report, 0, text_of(name), &sum);
        }
        ledger_report_add(report, 0, TEXT(LEDGER_OTHERS),
                          &(struct ledger_sum){.pod_ms = 1000, .of = {[LEDGER_ASKED] = {7000000}}});
        route_report(&f.route, &r, f.view, report, &f.arena, &f.got);
        ledger_report_free(report);
        json_t *json AUTO(json_decref) = json_loads(f.got.body.data, 0, NULL), *rows = json_object_get(json, "rows");
        assert_int_equal(json_array_size(rows), ROWS + 1);
        assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "name")), "ns-1199");
        assert_string_equal(json_string_value(json_object_get(json_array_get(rows, ROWS), "name")), LEDGER_OTHERS);
        assert_number(json, "rows.1000.cpu.asked", 200 * 201 / 2 + 7);
        assert_number(json, "total.cpu.asked", NAMESPACES * (NAMESPACES + 1) / 2 + 7);
        fixture_release(&f);
}

static int begin(void **state)
{
        struct fixture f;
        struct err err;
        (void)state;
        fixture_init(&f);
        const char *text = fixture_get(&f, "/openapi.yaml");
        described = yaml_read(text, f.got.body.len, &err);
        fixture_release(&f);
        return described ? 0 : -1;
}

static int end(void **state)
{
        (void)state;
        json_decref(described);
        return 0;
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_asked),      cmocka_unit_test(test_answer),
                cmocka_unit_test(test_other_axes), cmocka_unit_test(test_one_namespace),
                cmocka_unit_test(test_many_rows),  cmocka_unit_test(test_label),
                cmocka_unit_test(test_weeks),      cmocka_unit_test(test_money),
        };
        return cmocka_run_group_tests_name("routes_report", tests, begin, end);
}
