/*
 * halflife report: what pods asked for, had in force and used over a stretch of time, as a running halflife booked it.
 */
#include <stdio.h>
#include <string.h>

#include "api_client.h"
#include "base/buf.h"
#include "cli/session.h"
#include "commands.h"
#include "core/kind.h"
#include "scan_print.h"
#include "table.h"
#include "terminal.h"

struct reporting {
        struct session_options where;
        struct api_client_options from;
        enum { REPORT_TABLE, REPORT_CSV, REPORT_MD, REPORT_JSON } output;
        const char *since, *by, *ns; /* the options' values; NULL: not given */
        json_t *answer;
};

/* --- asking halflife --- */

static int reporting_ask(struct reporting *n, struct err *err)
{
        AUTO(buf_release) struct buf path;
        buf_init(&path, 4 << 10);
        if (n->ns)
                buf_printf(&path, "/api/v1/namespaces/%s/report", n->ns);
        else
                buf_add_text(&path, "/api/v1/report");
        api_client_add_parameter(&path, "since", n->since);
        api_client_add_parameter(&path, "by", n->by);
        const struct api_client_question q = {
                .where = &n->where,
                .from = &n->from,
                .path_query = path.data,
                .may = "list recommendations, of all namespaces or with -n",
                .keeps_refusals = true,
        };
        n->answer = api_client_ask(&q, err);
        return n->answer ? 0 : err->code;
}

/* --- numbers of the answer --- */

static double reporting_flow(const json_t *of, enum resource r, const char *flow)
{
        return json_number_value(json_object_get(json_object_get(of, resource_name(r)), flow));
}

static double reporting_saved(const json_t *of, enum resource r)
{
        return reporting_flow(of, r, "asked") - reporting_flow(of, r, "inForce");
}

static double reporting_number(const json_t *of, const char *key)
{
        return json_number_value(json_object_get(of, key));
}

static char *reporting_share(double part, double whole)
{
        return whole > 0 ? mem_printf("%.0f%%", part / whole * 100) : mem_string("-");
}

/* The mean request of a pod, in cores or GiB; "-" without pods. */
static char *reporting_mean(const json_t *of, enum resource r, const char *flow)
{
        double seconds = reporting_number(of, "podSeconds");
        return seconds > 0 ? mem_printf("%.3g", reporting_flow(of, r, flow) / seconds) : mem_string("-");
}

static char *reporting_hours(double seconds)
{
        return mem_printf("%.1f", seconds / 3600);
}

static const char *reporting_text(const json_t *of, const char *key)
{
        const char *text = json_string_value(json_object_get(of, key));
        return text ? text : "";
}

/* --- money --- */

static const char *reporting_currency(const struct reporting *n)
{
        return reporting_text(json_object_get(n->answer, "prices"), "currency");
}

static double reporting_money(const json_t *of, const char *flow)
{
        return json_number_value(json_object_get(json_object_get(of, "money"), flow));
}

static char *reporting_money_saved(const json_t *of)
{
        if (!json_object_get(of, "money"))
                return mem_string("-");
        return mem_printf("%.2f", reporting_money(of, "asked") - reporting_money(of, "inForce"));
}

/* --- tables --- */

enum { REPORT_COLUMNS = 13, SERIES_COLUMNS = 8, REPORT_EVENTS = 3 };
static const char *const events[REPORT_EVENTS] = {"changes", "guards", "kills"};

static void reporting_add_events(struct table *t, const json_t *of)
{
        for (int i = 0; i < REPORT_EVENTS; i++)
                table_add(t, mem_printf("%lld", (long long)json_integer_value(json_object_get(of, events[i]))));
}

static void reporting_fill_row(const struct reporting *n, struct table *t, const json_t *of, const char *name)
{
        table_add(t, terminal_tame(mem_string(name)));
        table_add(t, mem_printf("%.1f", reporting_number(of, "pods")));
        for (enum resource r = CPU; r < RESOURCES; r++) {
                table_add(t, reporting_mean(of, r, "asked"));
                table_add(t, reporting_mean(of, r, "inForce"));
                table_add(t, reporting_hours(reporting_saved(of, r)));
                table_add(t, reporting_share(reporting_flow(of, r, "used"), reporting_flow(of, r, "inForce")));
        }
        reporting_add_events(t, of);
        if (json_object_get(n->answer, "prices"))
                table_add(t, reporting_money_saved(of));
}

/* Columns BEFORE and AFTER have a pod's mean request, in cores and GiB; SAVED has core-hours and GiB-hours; the last
 * has money. */
static void reporting_fill_rows(struct table *t, const struct reporting *n)
{
        static const char *const titles[REPORT_COLUMNS] = {
                "NAME",         "PODS",         "CPU-BEFORE",  "CPU-AFTER", "CPU-SAVED", "CPU-USED", "MEMORY-BEFORE",
                "MEMORY-AFTER", "MEMORY-SAVED", "MEMORY-USED", "CHANGES",   "GUARDS",    "KILLS"};
        const json_t *rows = json_object_get(n->answer, "rows");
        const json_t *weeks = json_object_get(n->answer, "weeks");
        bool money = json_object_get(n->answer, "prices") != NULL;
        table_init(t, REPORT_COLUMNS + money);
        for (int i = 0; i < REPORT_COLUMNS; i++)
                table_add(t, mem_string(titles[i]));
        if (money)
                table_add(t, terminal_tame(mem_printf("%s-SAVED", reporting_currency(n))));
        for (size_t i = 0; i < json_array_size(rows); i++) {
                const json_t *row = json_array_get(rows, i);
                const char *name = reporting_text(row, "name");
                reporting_fill_row(n, t, row, *name ? name : "(none)");
        }
        reporting_fill_row(n, t, json_object_get(n->answer, "total"), "(total)");
        if (weeks) {
                reporting_fill_row(n, t, json_object_get(weeks, "first"), "(first week)");
                reporting_fill_row(n, t, json_object_get(weeks, "last"), "(last week)");
        }
}

static void reporting_fill_series(struct table *t, const struct reporting *n)
{
        static const char *const titles[SERIES_COLUMNS] = {"TIME",        "CPU-PACKED", "CPU-USED", "MEMORY-PACKED",
                                                           "MEMORY-USED", "CHANGES",    "GUARDS",   "KILLS"};
        const json_t *series = json_object_get(n->answer, "series");
        table_init(t, SERIES_COLUMNS);
        for (int i = 0; i < SERIES_COLUMNS; i++)
                table_add(t, mem_string(titles[i]));
        for (size_t i = 0; i < json_array_size(series); i++) {
                const json_t *of = json_array_get(series, i);
                table_add(t, terminal_tame(mem_string(reporting_text(of, "time"))));
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        double in_force = reporting_flow(of, r, "inForce");
                        table_add(t, reporting_share(in_force, reporting_flow(of, r, "allocatable")));
                        table_add(t, reporting_share(reporting_flow(of, r, "used"), in_force));
                }
                reporting_add_events(t, of);
        }
}

static void reporting_print_md(const struct table *t)
{
        for (int i = 0; i < t->cells; i++) {
                AUTO(mem_free) char *cell = scan_md_cell(t->cell[i]);
                bool last = (i + 1) % t->columns == 0;
                printf("| %s%s", cell, last ? " |\n" : " ");
                for (int c = 0; i + 1 == t->columns && c < t->columns; c++)
                        printf("|---%s", c + 1 == t->columns ? "|\n" : "");
        }
}

static void reporting_print_table(const struct reporting *n, struct table *t)
{
        if (n->output == REPORT_MD)
                reporting_print_md(t);
        else
                table_print(stdout, t);
        printf("\n");
        table_release(t);
}

static void reporting_print_weeks(const json_t *allocatable)
{
        const json_t *first = json_object_get(allocatable, "firstWeek"),
                     *last = json_object_get(allocatable, "lastWeek");
        if (!first || !last)
                return;
        printf("Nodes had %.1f core-hours and %.1f GiB-hours a day in the first week, and %.1f and %.1f in the last; "
               "what "
               "made the difference is not known.\n",
               reporting_number(first, "cpu") / 3600, reporting_number(first, "memory") / 3600,
               reporting_number(last, "cpu") / 3600, reporting_number(last, "memory") / 3600);
}

static void reporting_print_cost(const json_t *total, const char *from, const char *currency)
{
        printf("At the prices of now (%s): asked for %s %.2f, in force %.2f, used %.2f", from, currency,
               reporting_money(total, "asked"), reporting_money(total, "inForce"), reporting_money(total, "used"));
        if (json_object_get(json_object_get(total, "money"), "allocatable"))
                printf(", nodes %.2f", reporting_money(total, "allocatable"));
        printf(". A bill falls where nodes go, not where requests do.\n");
}

/* Print what the money in the report covers, and which requests have no price. */
static void reporting_print_money(const struct reporting *n, const json_t *total)
{
        const json_t *prices = json_object_get(n->answer, "prices"), *unpriced = json_object_get(prices, "unpriced");
        if (!prices)
                return;
        AUTO(mem_free) char *currency = terminal_tame(mem_string(reporting_currency(n)));
        bool asked = strcmp(reporting_text(prices, "from"), "opencost") == 0;
        if (json_object_get(total, "money"))
                reporting_print_cost(total, asked ? "OpenCost's" : "setting prices", currency);
        if (unpriced)
                printf("Not priced: %.1f core-hours and %.1f GiB-hours asked for in pools without a price.\n",
                       reporting_number(unpriced, "cpu") / 3600, reporting_number(unpriced, "memory") / 3600);
}

static void reporting_print_sentences(const struct reporting *n)
{
        const json_t *workloads = json_object_get(n->answer, "workloads"), *total = json_object_get(n->answer, "total"),
                     *possible = json_object_get(n->answer, "possible");
        double away = reporting_number(n->answer, "notBooked");
        AUTO(mem_free) char *since = terminal_tame(mem_string(reporting_text(n->answer, "since")));
        AUTO(mem_free) char *until = terminal_tame(mem_string(reporting_text(n->answer, "until")));
        printf("From %s to %s. A profile selects %lld of %lld workloads.\n", since, until,
               (long long)json_integer_value(json_object_get(workloads, "managed")),
               (long long)json_integer_value(json_object_get(workloads, "all")));
        printf("Saved: %.1f core-hours and %.1f GiB-hours of what was asked for. Today's targets would save %.3g cores "
               "and "
               "%.3g GiB.\n",
               reporting_saved(total, CPU) / 3600, reporting_saved(total, MEMORY) / 3600,
               reporting_number(possible, "cpu"), reporting_number(possible, "memory"));
        reporting_print_money(n, total);
        reporting_print_weeks(json_object_get(n->answer, "allocatable"));
        if (away >= 60)
                printf("%.0f minutes were not booked: halflife was away.\n", away / 60);
        printf("\n");
}

static void reporting_print(const struct reporting *n)
{
        struct table t;
        reporting_print_sentences(n);
        reporting_fill_rows(&t, n);
        reporting_print_table(n, &t);
        reporting_fill_series(&t, n);
        reporting_print_table(n, &t);
}

static void reporting_print_csv(const struct reporting *n)
{
        static const char *const flow[] = {"asked", "inForce", "used"};
        const json_t *rows = json_object_get(n->answer, "rows");
        bool money = json_object_get(n->answer, "prices") != NULL;
        AUTO(mem_free) char *currency = terminal_tame(mem_string(reporting_currency(n)));
        printf("name,pod_seconds,cpu_asked_core_seconds,cpu_in_force_core_seconds,cpu_used_core_seconds,"
               "memory_asked_gib_seconds,memory_in_force_gib_seconds,memory_used_gib_seconds,changes,guards,kills%"
               "s\r\n",
               money ? ",currency,money_asked,money_in_force,money_used" : "");
        for (size_t i = 0; i < json_array_size(rows); i++) {
                const json_t *of = json_array_get(rows, i);
                AUTO(mem_free) char *name = terminal_tame(mem_string(reporting_text(of, "name")));
                AUTO(mem_free) char *cell = scan_csv_cell(name);
                printf("%s,%.3f", cell, reporting_number(of, "podSeconds"));
                for (enum resource r = CPU; r < RESOURCES; r++)
                        for (int f = 0; f < 3; f++)
                                printf(",%.3f", reporting_flow(of, r, flow[f]));
                for (int e = 0; e < REPORT_EVENTS; e++)
                        printf(",%.0f", reporting_number(of, events[e]));
                if (money && json_object_get(of, "money"))
                        printf(",%s,%.6f,%.6f,%.6f", currency, reporting_money(of, "asked"),
                               reporting_money(of, "inForce"), reporting_money(of, "used"));
                else if (money)
                        printf(",,,,");
                printf("\r\n");
        }
}

/* --- the command --- */

static int reporting_check(void *state, const struct command_line *line, struct err *err)
{
        struct reporting *n = state;
        if (line->words.count)
                return err_set(err, ERR_INVALID, "takes no argument, so not '%s'; --by and --since choose",
                               line->words.word[0]);
        return n->from.server ? api_client_check(n->from.server, err) : 0;
}

static int reporting_run(void *state, struct err *err)
{
        struct reporting *n = state;
        int rc = reporting_ask(n, err);
        if (rc < 0)
                return rc;
        if (!json_is_array(json_object_get(n->answer, "series")))
                return err_set(err, ERR_INVALID, "the server's answer has no series: is it an older halflife?");
        if (n->output == REPORT_JSON) {
                json_dumpf(n->answer, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
                printf("\n");
        } else if (n->output == REPORT_CSV) {
                reporting_print_csv(n);
        } else {
                reporting_print(n);
        }
        return EXIT_DONE;
}

static void reporting_end(void *state)
{
        struct reporting *n = state;
        json_decref(n->answer);
}

/* clang-format off */
static const struct option_spec options[] = {
        {.name = "since", .value = "TIME", OPTION_IN(struct reporting, since),
         .help = "how far back, from 1h to 400d; up to 48h by hour, else by day (default 30d)"},
        {.name = "by", .value = "WHAT", OPTION_IN(struct reporting, by),
         .help = "rows by namespace, profile, pool, label:KEY or cluster (default namespace)"},
        {.name = "namespace", .letter = 'n', .value = "NAME", .shape = OPTION_NAMESPACE,
         OPTION_IN(struct reporting, ns),
         .help = "only this namespace; for users who may list recommendations only there"},
        {.name = "output", .letter = 'o', .value = "FORMAT", .choices = "table|csv|md|json",
         OPTION_IN(struct reporting, output),
         .help = "table, csv, md or json (default table)"},
        REMOTE_ADDRESS_OPTIONS(struct reporting, from),
        SESSION_OPTIONS(struct reporting, where),
};
/* clang-format on */

const struct command command_report = {
        .name = "report",
        .help = "tell what pods asked for, had in force and used over time, and what was saved",
        .words = TAKES_NOTHING,
        .usage = {"[option]..."},
        .intro = "Tells what pods asked for before and after changes, what was saved, and how much of it was used, as "
                 "a\n"
                 "running halflife booked it. Asks that halflife, as a user who may list recommendations. Of the\n"
                 "columns, BEFORE and AFTER are a pod's mean request in cores and GiB, SAVED is core-hours and\n"
                 "GiB-hours, USED is the share of what is in force, PACKED that of what nodes have for pods. Money is\n"
                 "told where the setting prices gives it.\n",
        COMMAND_OPTIONS(options),
        .size = sizeof(struct reporting),
        .check = reporting_check,
        .run = reporting_run,
        .release = reporting_end,
};
