/* Prints the lines, labels and quantities of an explanation. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/amount.h"
#include "explain_private.h"
#include "plot.h"

enum { INDENT = 2, LABEL = 13 };

char *page_text(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));
        return terminal_tame(mem_string(text ? text : ""));
}

static struct amount explain_page_amount_at(const json_t *object, const char *key, enum resource r)
{
        struct amount a = {0};
        (void)amount_parse(text_of(json_string_value(json_object_get(object, key))), r, &a);
        return a;
}

char *page_quantity(const json_t *object, const char *key, enum resource r)
{
        struct amount a = explain_page_amount_at(object, key, r);
        if (!a.set)
                return NULL;
        if (r == MEMORY && a.value >= 1 << 20 && a.value % (1 << 20) != 0)
                return mem_printf("%.1fMi", (double)a.value / (1 << 20));
        return page_text(object, key);
}

double page_value(const json_t *object, const char *key, enum resource r)
{
        struct amount a = explain_page_amount_at(object, key, r);
        return !a.set ? -1 : r == CPU ? (double)a.value / 1000 : (double)a.value;
}

static void print_change(const struct page *p, const json_t *number, enum resource r)
{
        double original = page_value(number, "original", r), target = page_value(number, "target", r);
        AUTO(mem_free) char *from = page_quantity(number, "original", r);
        AUTO(mem_free) char *to = page_quantity(number, "target", r);
        AUTO(mem_free) char *model = page_quantity(number, "model", r);
        AUTO(mem_free) char *reason = page_text(number, "reason");
        if (from && to && original != target)
                fprintf(p->to, "  %s %s %s%s%s", from, p->t->utf8 ? "→" : "->", paint_text(p->t, PAINT_TARGET), to,
                        paint_text(p->t, PAINT_NONE));
        else if (to)
                fprintf(p->to, "  %s%s", from ? "stays at " : "wants ", to);
        else if (model)
                fprintf(p->to, "  model %s", model);
        if (*reason)
                fprintf(p->to, "  %s", reason);
        if (original > target && target >= 0)
                fprintf(p->to, ", %.0f %% less", 100 * (original - target) / original);
}

void page_head(const struct page *p, const char *container, const json_t *number, enum resource r)
{
        fprintf(p->to, "\n%s  %s", container, r == CPU ? "cpu" : "memory");
        print_change(p, number, r);
        fputs("\n\n", p->to);
}

void page_line(const struct page *p, const char *label, const char *words)
{
        fprintf(p->to, "%*s%s%-*s%s", INDENT, "", paint_text(p->t, PAINT_DIM), LABEL, label,
                paint_text(p->t, PAINT_NONE));
        terminal_wrap(p->to, words, INDENT + LABEL, p->t->columns);
}

void page_printf(const struct page *p, const char *label, const char *fmt, ...)
{
        char *words = NULL;
        va_list args;
        va_start(args, fmt);
        int len = vasprintf(&words, fmt, args);
        va_end(args);
        page_line(p, label, len >= 0 ? terminal_tame(words) : "");
        free(words);
}

void page_limit(const struct page *p, const json_t *limit, enum resource r)
{
        AUTO(mem_free)
        char *current = page_quantity(limit, "current", r), *advised = page_quantity(limit, "advised", r);
        AUTO(mem_free) char *needed = page_quantity(limit, "needed", r);
        AUTO(mem_free) char *reason = page_text(limit, "reason"), *time = page_text(limit, "time");
        if (!current || !advised)
                return;
        if (needed)
                page_printf(p, "limit", "%s: the kill at %s asks for %s: raise the limit by hand from %s to %s", reason,
                            time, needed, current, advised);
        else
                page_printf(p, "limit", "%s in %lld %% of its periods: raise the limit by hand from %s to %s", reason,
                            (long long)json_integer_value(json_object_get(limit, "throttledPercent")), current,
                            advised);
}
