/* The report of halflife scan: order, sums, and cells that no spreadsheet executes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "base/mem.h"
#include "cli/scan_print.h"

static void test_csv_cells(void **state)
{
        (void)state;
        static const struct {
                const char *in, *want;
        } row[] = {
                {"web", "web"},
                {"", ""},
                {"=1+1", "'=1+1"},
                {"+1", "'+1"},
                {"-1", "'-1"},
                {"@SUM(A1)", "'@SUM(A1)"},
                {"\tx", "'\tx"},
                {"\rx", "\"'\rx\""},
                {"a=b", "a=b"},
                {"a,b", "\"a,b\""},
                {"say \"x\"", "\"say \"\"x\"\"\""},
                {"=\"x\"", "\"'=\"\"x\"\"\""},
                {"a\nb", "\"a\nb\""},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *cell = scan_csv_cell(row[i].in);
                if (strcmp(cell, row[i].want) != 0)
                        fail_msg("'%s' became '%s', not '%s'", row[i].in, cell, row[i].want);
        }
}

static void test_md_cells(void **state)
{
        (void)state;
        static const struct {
                const char *in, *want;
        } row[] = {{"web", "web"}, {"a|b", "a\\|b"}, {"<b>", "\\<b>"}, {"a\nb", "a b"}, {"*_`\\", "\\*\\_\\`\\\\"}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *cell = scan_md_cell(row[i].in);
                assert_string_equal(cell, row[i].want);
        }
}

/* --- reports --- */

enum { GI = 1 << 30 };

struct given {
        const char *ns, *workload, *container;
        int64_t pods, now[RESOURCES], then[RESOURCES];
        enum reason why[RESOURCES];
        bool held[RESOURCES], lacks;
};

static const struct given given[] = {
        {"shop", "deployment/a", "app", 2, {1000, GI}, {900, GI}, {REASON_LOWERED, REASON_AT_ORIGINAL}, {0}, false},
        {"shop", "deployment/b", "app", 4, {2000, GI}, {500, GI / 2}, {REASON_LOWERED, REASON_LOWERED}, {0}, false},
        {"shop", "deployment/b", "log", 4, {100, GI}, {100, GI}, {REASON_AT_ORIGINAL, REASON_AT_ORIGINAL}, {0}, true},
        {"bank", "cronjob/c", "app", 1, {9000, GI}, {100, GI}, {REASON_HPA_HOLD, REASON_AT_ORIGINAL}, {true}, false},
        {"bank", "job/d", "app", 1, {0, 0}, {0, 0}, {REASON_NO_ORIGINAL, REASON_NO_ORIGINAL}, {0}, false},
};

static struct scan_report notices_new(bool once)
{
        struct scan_report r = {.once = once};
        r.row = mem_new_array(sizeof given / sizeof given[0], sizeof *r.row);
        for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
                const struct given *g = &given[i];
                struct scan_row *row = &r.row[r.rows++];
                *row = (struct scan_row){.ns = mem_string(g->ns),
                                         .workload = mem_string(g->workload),
                                         .container = mem_string(g->container),
                                         .profile = mem_string("default"),
                                         .state = "Ready",
                                         .replicas = g->pods,
                                         .confidence_percent = 80};
                for (enum resource q = CPU; q < RESOURCES; q++) {
                        row->now[q] = row->then[q] = (struct amount){g->now[q] > 0, g->now[q]};
                        row->then[q].value = g->then[q];
                        row->saving[q] = (g->now[q] - g->then[q]) * g->pods;
                        row->why[q] = g->why[q];
                        row->held[q] = g->held[q];
                        row->lacks[q] = g->lacks && q == CPU;
                }
        }
        scan_report_finish(&r);
        return r;
}

static void test_order_and_sums(void **state)
{
        (void)state;
        static const char *const order[] = {"deployment/b", "deployment/a", "cronjob/c", "job/d", "deployment/b"};
        struct scan_report r = notices_new(false);
        for (size_t i = 0; i < r.rows; i++)
                assert_string_equal(r.row[i].workload, order[i]);
        assert_int_equal(r.totals, 2);
        assert_string_equal(r.total[0].ns, "bank");
        assert_int_equal(r.total[0].workloads, 2);
        assert_int_equal(r.total[0].now[CPU], 9000);
        assert_int_equal(r.total[0].saving[CPU], 0);
        assert_int_equal(r.total[0].held[CPU], 8900);
        assert_int_equal(r.total[1].workloads, 2);
        assert_int_equal(r.total[1].saving[CPU], 6200);
        assert_int_equal(r.total[1].saving[MEMORY], 2 * (int64_t)GI);
        assert_int_equal(r.all.workloads, 4);
        assert_int_equal(r.all.now[CPU], 19400);
        scan_report_release(&r);
}

/* 6.2 of 19.4 cores, 2 of 11 Gi: what a gate holds back does not count. */
static void test_exceeds(void **state)
{
        (void)state;
        static const struct {
                int percent;
                bool want[RESOURCES];
        } row[] = {{0, {true, true}},   {18, {true, true}},   {19, {true, false}},
                   {31, {true, false}}, {32, {false, false}}, {100, {false, false}}};
        struct scan_report r = notices_new(false), none = {0};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                for (enum resource q = CPU; q < RESOURCES; q++)
                        assert_int_equal(scan_report_exceeds(&r, q, row[i].percent), row[i].want[q]);
        for (enum resource q = CPU; q < RESOURCES; q++)
                assert_false(scan_report_exceeds(&none, q, 0));
        scan_report_release(&r);
}

static char *printed(const struct scan_report *r, enum scan_format f, const struct terminal *t)
{
        const struct scan_heading heading = {.source = "s", .worth = "worth", .next = "next step", .namespaces = true};
        char *text = NULL;
        size_t len = 0;
        FILE *to = open_memstream(&text, &len);
        assert_non_null(to);
        scan_print(to, r, f, &heading, t);
        fclose(to);
        return text;
}

static void test_formats(void **state)
{
        (void)state;
        static const struct terminal plain = {0}, wide = {.utf8 = true}, coloured = {.colour = true};
        static const struct {
                bool once;
                enum scan_format format;
                const struct terminal *terminal;
                const char *want, *absent;
        } row[] = {
                {false, SCAN_TABLE, &plain, "worth\n\nNAMESPACE ", "\033"},
                {false, SCAN_TABLE, &plain, "2 -> 500m", "→"},
                {false, SCAN_TABLE, &wide, "2 → 500m", "->"},
                {false, SCAN_TABLE, &plain, "1Gi -> 512Mi", NULL},
                {false, SCAN_TABLE, &plain, "6 / 2Gi", NULL},
                {false, SCAN_TABLE, &plain, "Lowered / AtOriginal\n", NULL},
                {false, SCAN_TABLE, &plain, "\nnext: next step\n", NULL},
                {false, SCAN_TABLE, &plain, "bank        2           9 -> 9         1Gi -> 1Gi", NULL},
                {false, SCAN_TABLE, &plain, "8.9 / -\n", NULL},
                {false, SCAN_TABLE, &plain, "80%", "now"},
                {true, SCAN_TABLE, &plain, "now ", "512Mi"}, /* of memory nothing is promised */
                {true, SCAN_TABLE, &plain, "Lowered\n", "AtOriginal\nx"},
                {false, SCAN_TABLE, &coloured, "\033[31mshop        deployment/b", NULL}, /* half and more */
                {false, SCAN_TABLE, &coloured, "\033[35mshop        deployment/b   log",
                 NULL},                                                          /* asks for too little */
                {false, SCAN_TABLE, &coloured, "\nbank        cronjob/c", NULL}, /* out of reach */
                {false, SCAN_WIDE, &plain, "PODS ", NULL},
                {false, SCAN_CSV, &plain, "shop,deployment/b,app,4,2000,500,,6000,Lowered,1073741824,536870912,,",
                 "worth"},
                {true, SCAN_CSV, &plain, "shop,deployment/b,app,4,2000,500,,6000,Lowered,1073741824,,,,,now", NULL},
                {false, SCAN_MD, &plain, "| NAMESPACE | WORKLOAD |", "next"},
                {false, SCAN_MD, &plain, "|---|---|", NULL},
                {false, SCAN_JSON, &plain, "\"confidencePercent\": 80", "\"now\": \"now\""},
                {true, SCAN_JSON, &plain, "\"confidence\": \"now\"", "\"then\": \"512Mi\""},
                {false, SCAN_JSON, &plain, "\"heldBack\": \"8900m\"", NULL},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scan_report r = notices_new(row[i].once);
                char *text = printed(&r, row[i].format, row[i].terminal);
                if (!strstr(text, row[i].want) || (row[i].absent && strstr(text, row[i].absent)))
                        fail_msg("row %zu: no '%s', or '%s', in\n%s", i, row[i].want,
                                 row[i].absent ? row[i].absent : "", text);
                free(text);
                scan_report_release(&r);
        }
}

/* A row is red from a half on, and yellow from a fifth on: 49.5 % is not a half. */
static void test_colours(void **state)
{
        (void)state;
        static const struct {
                int64_t now, then;
                const char *colour; /* "": none */
        } row[] = {{100, 50, "\033[31m"},
                   {101, 51, "\033[33m"},
                   {101, 50, "\033[31m"},
                   {3, 2, "\033[33m"},
                   {3, 1, "\033[31m"},
                   {100, 80, "\033[33m"},
                   {104, 84, ""},
                   {104, 83, "\033[33m"},
                   {4, 4, ""},
                   {1, 1, ""},
                   {100, 120, ""}};
        static const struct terminal coloured = {.colour = true};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scan_report r = notices_new(false);
                struct scan_row *of = &r.row[0];
                char want[64];
                for (enum resource q = CPU; q < RESOURCES; q++)
                        of->now[q] = of->then[q] = (struct amount){true, GI};
                of->now[CPU].value = row[i].now;
                of->then[CPU].value = row[i].then;
                snprintf(want, sizeof want, "\n%sshop        deployment/b", row[i].colour);
                char *text = printed(&r, SCAN_TABLE, &coloured);
                if (!strstr(text, want))
                        fail_msg("%lld to %lld:\n%s", (long long)row[i].now, (long long)row[i].then, text);
                free(text);
                scan_report_release(&r);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_csv_cells),      cmocka_unit_test(test_md_cells),
                cmocka_unit_test(test_order_and_sums), cmocka_unit_test(test_exceeds),
                cmocka_unit_test(test_formats),        cmocka_unit_test(test_colours),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
