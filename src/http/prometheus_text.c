#include "http/prometheus_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static const char *const type_name[] = {"counter", "gauge", "histogram"};

int metric_family(struct buf *out, const struct metric *m)
{
        return buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, type_name[m->type]);
}

/* Write 15 digits, or 17 where 15 would not read back as the same number. */
static void metric_print_number(double value, char out[static 32])
{
        snprintf(out, 32, "%.15g", value);
        if (strtod(out, NULL) != value)
                snprintf(out, 32, "%.17g", value);
}

int metric_sample(struct buf *out, const struct metric *m, const char *labels, double value)
{
        bool any = labels && *labels;
        char number[32];
        metric_print_number(value, number);
        return buf_printf(out, "%s%s%s%s %s\n", m->name, any ? "{" : "", any ? labels : "", any ? "}" : "", number);
}

int metric_seconds_sample(struct buf *out, const struct metric *m, const char *labels, const struct metric_seconds *s)
{
        const char *comma = labels && *labels ? "," : "", *rest = labels ? labels : "";
        uint64_t running = 0;
        int rc = 0;
        for (int i = 0; i < METRIC_BOUNDS && rc == 0; i++) {
                running += s->count[i];
                rc = buf_printf(out, "%s_bucket{%s%sle=\"%g\"} %llu\n", m->name, rest, comma, metric_bounds[i],
                                (unsigned long long)running);
        }
        running += s->count[METRIC_BOUNDS];
        if (rc == 0)
                rc = buf_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", m->name, rest, comma,
                                (unsigned long long)running);
        char sum[32];
        metric_print_number(s->sum, sum);
        const char *open = *rest ? "{" : "", *close = *rest ? "}" : "";
        if (rc == 0)
                rc = buf_printf(out, "%s_sum%s%s%s %s\n%s_count%s%s%s %llu\n", m->name, open, rest, close, sum, m->name,
                                open, rest, close, (unsigned long long)running);
        return rc;
}

/* Cut the value between whole characters: Prometheus drops a whole scrape for one byte that is not UTF-8. */
char *metric_label(const char *key, const char *value, char *out, size_t size)
{
        enum { VALUE_MAX = 128, QUOTE_AND_NUL = 2 };
        size_t at = (size_t)snprintf(out, size, "%s=\"", key), len = utf8_cut(value, strlen(value), VALUE_MAX);
        for (size_t n = 0, step; n < len; n += step) {
                char c = value[n];
                bool escaped = c == '\\' || c == '"' || c == '\n';
                size_t whole = utf8_length(value + n, len - n);
                step = whole ? whole : 1;
                if (at + escaped + step + QUOTE_AND_NUL > size)
                        break;
                if (escaped)
                        out[at++] = '\\';
                memcpy(out + at, c == '\n' ? "n" : whole ? value + n : "?", step);
                at += step;
        }
        snprintf(out + at, size - at, "\"");
        return out;
}
