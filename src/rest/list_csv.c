#include "list_csv.h"

#include "base/clock.h"
#include "core/kind.h"

enum { CSV_BYTES = 24 << 20, CORE_MILLIS = 1000 };

/* Whether a spreadsheet would take the cell for a formula by its first character; quotes do not prevent that. */
static bool list_csv_is_formula(const char *text)
{
        return *text && strchr("=+-@\t\r\n|%", *text);
}

void list_csv_text(struct buf *b, const char *text)
{
        (void)buf_add_text(b, list_csv_is_formula(text) ? "\"'" : "\"");
        for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
                (void)buf_add(b, text, (size_t)(quote - text));
                (void)buf_add_text(b, "\"\"");
        }
        (void)buf_add_text(b, text);
        (void)buf_add_text(b, "\"");
}

void list_csv_amount(struct buf *b, enum resource r, int64_t value)
{
        if (value >= 0 && r == CPU)
                (void)buf_printf(b, ",%lld.%03lld", (long long)(value / CORE_MILLIS), (long long)(value % CORE_MILLIS));
        else if (value >= 0)
                (void)buf_printf(b, ",%lld", (long long)value);
        else
                (void)buf_add_text(b, ",");
}

static void list_csv_time(struct buf *b, int64_t ms)
{
        char text[WALL_TEXT_MAX];
        (void)buf_printf(b, ",%s", ms > 0 ? wall_print((struct wall){ms}, text) : "");
}

static const char *list_csv_why(const struct snapshot_target *t)
{
        for (uint16_t i = 0; i < t->conditions; i++)
                if (strcmp(t->condition[i].type, "Applied") == 0)
                        return t->condition[i].reason;
        return "";
}

static void list_csv_row(struct buf *b, const struct snapshot_target *t)
{
        struct status_numbers pod[RESOURCES];
        const char *const texts[] = {t->ns,
                                     t->kind,
                                     t->name,
                                     state_name((enum state)t->state),
                                     t->mode < APPLY_MODES ? apply_mode_name((enum apply_mode)t->mode) : "",
                                     t->profile ? t->profile->name : "",
                                     list_csv_why(t)};
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
                if (i)
                        (void)buf_add_text(b, ",");
                list_csv_text(b, texts[i]);
        }
        status_pod_numbers(t->container, t->containers, pod);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                list_csv_amount(b, r, pod[r].original);
                list_csv_amount(b, r, pod[r].current);
                list_csv_amount(b, r, pod[r].target);
                list_csv_amount(b, r, t->saving[r]);
        }
        list_csv_time(b, t->applied_ms);
        list_csv_time(b, t->last_ms);
        (void)buf_add_text(b, "\r\n");
}

void list_csv_end(struct answer *ret, const char *disposition)
{
        ret->type = "text/csv; charset=utf-8";
        answer_header(ret, "Content-Disposition", disposition);
        answer_header(ret, "X-Content-Type-Options", "nosniff");
}

void list_csv_answer(struct ask *k, const struct snapshot_target *const *target, size_t count)
{
        struct buf *b = &k->ret->body;
        answer_begin(k->ret);
        (void)buf_add_text(b, "namespace,kind,name,state,mode,profile,applied_reason,cpu_original_cores,"
                              "cpu_current_cores,cpu_target_cores,cpu_saving_cores,memory_original_bytes,"
                              "memory_current_bytes,memory_target_bytes,memory_saving_bytes,applied_time,"
                              "last_sample_time\r\n");
        for (size_t i = 0; i < count; i++) {
                if (b->len > CSV_BYTES) {
                        answer_problem(k->ret, PROBLEM_TOO_LARGE,
                                       "the CSV of %zu workloads is larger than 24 MiB: ask for a namespace, or with "
                                       "labelSelector",
                                       count);
                        return;
                }
                list_csv_row(b, target[i]);
        }
        list_csv_end(k->ret, "attachment; filename=\"halflife-workloads.csv\"");
}
