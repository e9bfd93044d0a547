#include "scan_print.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/yaml.h"
#include "table.h"

enum { CELL_BYTES = 64 << 10 };

/* --- cells --- */

static char *scan_amount(enum resource r, struct amount a)
{
        char text[QUANTITY_TEXT_MAX];
        return mem_string(a.set ? amount_print(r, a.value, text) : "-");
}

static char *scan_change(enum resource r, struct amount from, struct amount to, const char *arrow)
{
        AUTO(mem_free) char *now = scan_amount(r, from), *then = scan_amount(r, to);
        return mem_printf("%s %s %s", now, arrow, then);
}

static char *scan_both(struct amount cpu, struct amount memory)
{
        AUTO(mem_free) char *a = scan_amount(CPU, cpu), *b = scan_amount(MEMORY, memory);
        return mem_printf("%s / %s", a, b);
}

/* An amount of many pods, with one decimal where it is large; "-" where there is none. */
static char *scan_sum(enum resource r, int64_t value)
{
        static const struct {
                int64_t one;
                const char *unit;
        } large[RESOURCES] = {[CPU] = {1000, ""}, [MEMORY] = {1 << 30, "Gi"}};
        if (value < large[r].one || value % large[r].one == 0)
                return scan_amount(r, (struct amount){value > 0, value});
        return mem_printf("%.1f%s", (double)value / (double)large[r].one, large[r].unit);
}

static char *scan_sums(const int64_t sum[static RESOURCES])
{
        AUTO(mem_free) char *cpu = scan_sum(CPU, sum[CPU]), *memory = scan_sum(MEMORY, sum[MEMORY]);
        return mem_printf("%s / %s", cpu, memory);
}

static const char *scan_why(const struct scan_report *r, const struct scan_row *row, enum resource q)
{
        return r->once && q == MEMORY ? "" : reason_name(row->why[q]);
}

static char *scan_why_both(const struct scan_report *r, const struct scan_row *row)
{
        const char *cpu = scan_why(r, row, CPU), *memory = scan_why(r, row, MEMORY);
        if (!*memory || strcmp(cpu, memory) == 0)
                return mem_string(cpu);
        return mem_printf("%s / %s", cpu, memory);
}

static char *scan_confidence(const struct scan_report *r, const struct scan_row *row)
{
        return r->once ? mem_string("now") : mem_printf("%d%%", row->confidence_percent);
}

char *scan_csv_cell(const char *text)
{
        struct buf out;
        bool quoted = text[strcspn(text, ",\"\r\n")] != '\0';
        buf_init(&out, CELL_BYTES);
        if (quoted)
                (void)buf_add_text(&out, "\"");
        if (*text && strchr("=+-@\t\r", *text))
                (void)buf_add_text(&out, "'");
        for (; *text; text++)
                (void)buf_add_text(&out, *text == '"' ? "\"\"" : (char[]){*text, '\0'});
        if (quoted)
                (void)buf_add_text(&out, "\"");
        char *cell = buf_steal(&out);
        return cell ? cell : mem_string("");
}

char *scan_md_cell(const char *text)
{
        struct buf out;
        buf_init(&out, CELL_BYTES);
        for (; *text; text++) {
                if (strchr("|\\<*_`", *text))
                        (void)buf_add_text(&out, "\\");
                (void)buf_add_text(&out, *text == '\n' ? " " : (char[]){*text, '\0'});
        }
        char *cell = buf_steal(&out);
        return cell ? cell : mem_string("");
}

/* --- columns of the table --- */

struct scan_printing {
        const struct scan_report *report;
        const struct scan_heading *heading;
        const char *arrow;
        bool wide;
};

typedef char *scan_cell(const struct scan_printing *p, const struct scan_row *row);

static char *scan_cell_namespace(const struct scan_printing *p, const struct scan_row *row)
{
        (void)p;
        return mem_string(row->ns);
}

static char *scan_cell_workload(const struct scan_printing *p, const struct scan_row *row)
{
        (void)p;
        return mem_string(row->workload);
}

static char *scan_cell_container(const struct scan_printing *p, const struct scan_row *row)
{
        (void)p;
        return mem_string(row->container);
}

static char *scan_cell_pods(const struct scan_printing *p, const struct scan_row *row)
{
        (void)p;
        return mem_printf("%lld", (long long)row->replicas);
}

static char *scan_cell_cpu(const struct scan_printing *p, const struct scan_row *row)
{
        return scan_change(CPU, row->now[CPU], row->then[CPU], p->arrow);
}

static char *scan_cell_memory(const struct scan_printing *p, const struct scan_row *row)
{
        return p->report->once ? scan_amount(MEMORY, row->now[MEMORY])
                               : scan_change(MEMORY, row->now[MEMORY], row->then[MEMORY], p->arrow);
}

static char *scan_cell_used(const struct scan_printing *p, const struct scan_row *row)
{
        (void)p;
        return scan_both(row->used[CPU], row->used[MEMORY]);
}

static char *scan_cell_bounds(const struct scan_printing *p, const struct scan_row *row)
{
        (void)p;
        AUTO(mem_free) char *lower = scan_amount(CPU, row->lower[CPU]), *upper = scan_amount(CPU, row->upper[CPU]);
        return mem_printf("%s..%s", lower, upper);
}

static char *scan_cell_saving(const struct scan_printing *p, const struct scan_row *row)
{
        (void)p;
        return scan_sums(row->saving);
}

static char *scan_cell_confidence(const struct scan_printing *p, const struct scan_row *row)
{
        return scan_confidence(p->report, row);
}

static char *scan_cell_samples(const struct scan_printing *p, const struct scan_row *row)
{
        (void)p;
        return mem_printf("%lld", (long long)row->samples);
}

static char *scan_cell_profile(const struct scan_printing *p, const struct scan_row *row)
{
        (void)p;
        return mem_string(row->profile);
}

static char *scan_cell_why(const struct scan_printing *p, const struct scan_row *row)
{
        return scan_why_both(p->report, row);
}

enum scan_column { SCAN_ALWAYS, SCAN_IF_WIDE, SCAN_IF_NAMESPACES };

static const struct {
        const char *title;
        scan_cell *cell;
        enum scan_column shown;
} scan_columns[] = {
        {"NAMESPACE", scan_cell_namespace, SCAN_IF_NAMESPACES},
        {"WORKLOAD", scan_cell_workload, SCAN_ALWAYS},
        {"CONTAINER", scan_cell_container, SCAN_ALWAYS},
        {"PODS", scan_cell_pods, SCAN_IF_WIDE},
        {"CPU", scan_cell_cpu, SCAN_ALWAYS},
        {"MEMORY", scan_cell_memory, SCAN_ALWAYS},
        {"USED", scan_cell_used, SCAN_ALWAYS},
        {"CPU-BOUNDS", scan_cell_bounds, SCAN_IF_WIDE},
        {"SAVING", scan_cell_saving, SCAN_ALWAYS},
        {"CONFIDENCE", scan_cell_confidence, SCAN_ALWAYS},
        {"SAMPLES", scan_cell_samples, SCAN_IF_WIDE},
        {"PROFILE", scan_cell_profile, SCAN_IF_WIDE},
        {"WHY", scan_cell_why, SCAN_ALWAYS},
};
enum { SCAN_COLUMNS = sizeof scan_columns / sizeof scan_columns[0] };

static bool scan_column_shown(const struct scan_printing *p, int column)
{
        switch (scan_columns[column].shown) {
        case SCAN_ALWAYS:
                return true;
        case SCAN_IF_WIDE:
                return p->wide;
        case SCAN_IF_NAMESPACES:
                return p->heading->namespaces;
        }
        return false;
}

static void scan_table_fill(const struct scan_printing *p, struct table *t)
{
        int columns = 0;
        for (int c = 0; c < SCAN_COLUMNS; c++)
                columns += scan_column_shown(p, c);
        table_init(t, columns);
        for (int c = 0; c < SCAN_COLUMNS; c++)
                if (scan_column_shown(p, c))
                        table_add(t, mem_string(scan_columns[c].title));
        for (size_t i = 0; i < p->report->rows; i++)
                for (int c = 0; c < SCAN_COLUMNS; c++)
                        if (scan_column_shown(p, c))
                                table_add(t, scan_columns[c].cell(p, &p->report->row[i]));
}

static void scan_total_fill(const struct scan_printing *p, const struct scan_total *of, struct table *t)
{
        table_add(t, mem_string(of->ns ? of->ns : "all"));
        table_add(t, mem_printf("%lld", (long long)of->workloads));
        for (enum resource r = CPU; r < RESOURCES; r++) {
                AUTO(mem_free) char *now = scan_sum(r, of->now[r]), *then = scan_sum(r, of->now[r] - of->saving[r]);
                bool judged = !p->report->once || r == CPU;
                table_add(t, judged ? mem_printf("%s %s %s", now, p->arrow, then) : mem_string(now));
        }
        table_add(t, scan_sums(of->saving));
        table_add(t, scan_sums(of->held));
}

static void scan_totals_fill(const struct scan_printing *p, struct table *t)
{
        static const char *const titles[] = {"NAMESPACE", "WORKLOADS", "CPU", "MEMORY", "SAVING", "HELD-BACK"};
        enum { TITLES = sizeof titles / sizeof titles[0] };
        table_init(t, TITLES);
        for (int c = 0; c < TITLES; c++)
                table_add(t, mem_string(titles[c]));
        for (size_t i = 0; i < p->report->totals; i++)
                scan_total_fill(p, &p->report->total[i], t);
        if (p->report->totals != 1)
                scan_total_fill(p, &p->report->all, t);
}

/* --- colours --- */

/* Whether `less` is at least the nth part of `now`, rounded up. */
static bool scan_is_part(int64_t less, int64_t now, int64_t nth)
{
        return less > 0 && less >= now / nth + (now % nth != 0);
}

/* A row's colour. Magenta: the container uses more than it requests. Red, yellow: half, four fifths of the request
 * would do. NULL: no colour. */
static const char *scan_colour(const struct scan_row *row)
{
        int most = 0;
        if (row->lacks[CPU] || row->lacks[MEMORY])
                return "\033[35m";
        for (enum resource r = CPU; r < RESOURCES; r++) {
                int64_t now = row->now[r].value, less = now - row->then[r].value;
                if (!row->now[r].set || !row->then[r].set || row->held[r])
                        continue;
                if (scan_is_part(less, now, 2))
                        most = 2;
                else if (scan_is_part(less, now, 5) && most < 1)
                        most = 1;
        }
        return most == 2 ? "\033[31m" : most == 1 ? "\033[33m" : NULL;
}

static const char *scan_paint(const void *arg, int line)
{
        const struct scan_report *r = arg;
        return line > 0 ? scan_colour(&r->row[line - 1]) : NULL;
}

/* --- the formats --- */

static void scan_print_table(FILE *to, const struct scan_printing *p, const struct terminal *t)
{
        struct table table;
        fprintf(to, "%s\n\n", p->heading->worth);
        scan_table_fill(p, &table);
        table_print_painted(to, &table, t->colour ? scan_paint : NULL, p->report);
        table_release(&table);
        fputc('\n', to);
        scan_totals_fill(p, &table);
        table_print(to, &table);
        table_release(&table);
        fprintf(to, "\nnext: %s\n", p->heading->next);
}

static void scan_print_md_table(FILE *to, const struct table *t)
{
        for (int i = 0; i < t->cells; i++) {
                AUTO(mem_free) char *cell = scan_md_cell(t->cell[i]);
                fprintf(to, "| %s %s", cell, (i + 1) % t->columns ? "" : "|\n");
                for (int c = 0; i + 1 == t->columns && c < t->columns; c++)
                        fprintf(to, "|---%s", c + 1 < t->columns ? "" : "|\n");
        }
}

static void scan_print_md(FILE *to, const struct scan_printing *p)
{
        struct table table;
        fprintf(to, "%s\n\n", p->heading->worth);
        scan_table_fill(p, &table);
        scan_print_md_table(to, &table);
        table_release(&table);
        fputc('\n', to);
        scan_totals_fill(p, &table);
        scan_print_md_table(to, &table);
        table_release(&table);
}

static void scan_csv_add(FILE *to, const char *text, const char *end)
{
        AUTO(mem_free) char *tamed = terminal_tame(mem_string(text));
        AUTO(mem_free) char *cell = scan_csv_cell(tamed);
        fprintf(to, "%s%s", cell, end);
}

static void scan_csv_add_amount(FILE *to, struct amount a)
{
        if (a.set)
                fprintf(to, "%lld", (long long)a.value);
        fputc(',', to);
}

static void scan_print_csv(FILE *to, const struct scan_printing *p)
{
        fputs("namespace,workload,container,pods,cpu_now_m,cpu_then_m,cpu_used_m,cpu_saving_m,cpu_why,memory_now_bytes,"
              "memory_then_bytes,memory_used_bytes,memory_saving_bytes,memory_why,confidence,state,samples\n",
              to);
        for (size_t i = 0; i < p->report->rows; i++) {
                const struct scan_row *row = &p->report->row[i];
                AUTO(mem_free) char *confidence = scan_confidence(p->report, row);
                scan_csv_add(to, row->ns, ",");
                scan_csv_add(to, row->workload, ",");
                scan_csv_add(to, row->container, ",");
                fprintf(to, "%lld,", (long long)row->replicas);
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        bool judged = !p->report->once || r == CPU;
                        scan_csv_add_amount(to, row->now[r]);
                        scan_csv_add_amount(to, judged ? row->then[r] : (struct amount){0});
                        scan_csv_add_amount(to, row->used[r]);
                        scan_csv_add_amount(to, (struct amount){judged, row->saving[r]});
                        scan_csv_add(to, scan_why(p->report, row, r), ",");
                }
                scan_csv_add(to, confidence, ",");
                scan_csv_add(to, row->state, ",");
                fprintf(to, "%lld\n", (long long)row->samples);
        }
}

static void scan_json_set(json_t *to, const char *key, enum resource r, struct amount a)
{
        char text[QUANTITY_TEXT_MAX];
        if (a.set)
                json_object_set_new(to, key, json_string(amount_print(r, a.value, text)));
}

static json_t *scan_json_resource(const struct scan_report *report, const struct scan_row *row, enum resource r)
{
        json_t *o = json_object();
        scan_json_set(o, "now", r, row->now[r]);
        scan_json_set(o, "used", r, row->used[r]);
        if (report->once && r == MEMORY)
                return o;
        scan_json_set(o, "then", r, row->then[r]);
        scan_json_set(o, "saving", r, (struct amount){true, row->saving[r]});
        json_object_set_new(o, "why", json_string(reason_name(row->why[r])));
        json_object_set_new(o, "held", json_boolean(row->held[r]));
        return o;
}

static json_t *scan_json_row(const struct scan_report *report, const struct scan_row *row)
{
        json_t *o = json_pack("{s:s, s:s, s:s, s:I, s:s, s:I}", "namespace", row->ns, "workload", row->workload,
                              "container", row->container, "pods", (json_int_t)row->replicas, "state", row->state,
                              "samples", (json_int_t)row->samples);
        if (report->once)
                json_object_set_new(o, "confidence", json_string("now"));
        else
                json_object_set_new(o, "confidencePercent", json_integer(row->confidence_percent));
        for (enum resource r = CPU; r < RESOURCES; r++)
                json_object_set_new(o, resource_name(r), scan_json_resource(report, row, r));
        return o;
}

static json_t *scan_json_total(const struct scan_report *report, const struct scan_total *t)
{
        json_t *o = json_object();
        if (t->ns)
                json_object_set_new(o, "namespace", json_string(t->ns));
        json_object_set_new(o, "workloads", json_integer(t->workloads));
        for (enum resource r = CPU; r < RESOURCES; r++) {
                json_t *of = json_object();
                scan_json_set(of, "now", r, (struct amount){true, t->now[r]});
                scan_json_set(of, "saving", r, (struct amount){!report->once || r == CPU, t->saving[r]});
                scan_json_set(of, "heldBack", r, (struct amount){!report->once || r == CPU, t->held[r]});
                json_object_set_new(o, resource_name(r), of);
        }
        return o;
}

static void scan_print_json(FILE *to, const struct scan_printing *p)
{
        const struct scan_report *r = p->report;
        json_t *rows = json_array(), *totals = json_array();
        for (size_t i = 0; i < r->rows; i++)
                json_array_append_new(rows, scan_json_row(r, &r->row[i]));
        for (size_t i = 0; i < r->totals; i++)
                json_array_append_new(totals, scan_json_total(r, &r->total[i]));
        AUTO(json_decref)
        json_t *all = json_pack("{s:s, s:s, s:O?, s:o, s:o, s:o}", "source", p->heading->source, "worth",
                                p->heading->worth, "notes", p->heading->notes, "containers", rows, "namespaces", totals,
                                "all", scan_json_total(r, &r->all));
        json_dumpf(all, to, JSON_INDENT(2) | JSON_ENSURE_ASCII);
        fputc('\n', to);
}

void scan_print(FILE *to, const struct scan_report *r, enum scan_format f, const struct scan_heading *h,
                const struct terminal *t)
{
        const struct scan_printing p = {
                .report = r, .heading = h, .arrow = t->utf8 ? "→" : "->", .wide = f == SCAN_WIDE};
        switch (f) {
        case SCAN_TABLE:
        case SCAN_WIDE:
                scan_print_table(to, &p, t);
                break;
        case SCAN_CSV:
                scan_print_csv(to, &p);
                break;
        case SCAN_MD:
                scan_print_md(to, &p);
                break;
        case SCAN_JSON:
                scan_print_json(to, &p);
                break;
        }
}
