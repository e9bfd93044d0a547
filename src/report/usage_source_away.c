/*
 * A usage source that cannot be read at all stops all applying at once. One metric, one log line and one condition of
 * the profiles report it.
 */
#include <stdio.h>

#include "report_private.h"

const struct usage_source_state *report_usage_source(const struct report *report)
{
        return &report->source;
}

static void usage_source_away(struct report *report, const char *error)
{
        struct usage_source_state *s = &report->source;
        snprintf(s->error, sizeof s->error, "%s", error);
        if (!s->away)
                s->since_ms = loop_now(report->loop).wall.ms;
        s->away = true;
}

void report_usage_away(struct report *report, const char *error, const struct err *err)
{
        usage_source_away(report, error);
        /* the log has reported failing watches of the same server */
        if (report->source.told || report_outage_told(report, err))
                return;
        report->source.told = true;
        log_warn("usage cannot be read: nothing is applied until it can", KV("error", report->source.error),
                 KV_INT("cycle", report->cycle));
}

void report_usage_back(struct report *report)
{
        struct usage_source_state *s = &report->source;
        if (!s->away)
                return;
        int64_t seconds = (loop_now(report->loop).wall.ms - s->since_ms) / SECOND_MS;
        s->away = false;
        s->error[0] = '\0';
        if (s->told)
                log_info("usage can be read again", KV_INT("seconds_away", seconds), KV_INT("cycle", report->cycle));
        s->told = false;
}

void report_usage_unasked(struct report *report)
{
        struct usage_source_state *s = &report->source;
        if (s->told)
                log_info("usage is not read: no workload has a profile", KV_INT("cycle", report->cycle));
        s->away = s->told = s->partial = false;
        s->error[0] = '\0';
}

void report_usage_partial(struct report *report, int64_t pods, const struct err *err)
{
        struct usage_source_state *s = &report->source;
        bool partial = err->code != 0;
        if (partial && !s->partial)
                log_warn("usage was read only in part: the other pods get no samples until all usage is read again",
                         KV_INT("pods", pods), KV("error", err->text), KV_INT("cycle", report->cycle));
        s->partial = partial;
}

void report_usage_stands(struct report *report, const char *error)
{
        if (error && !report->source.away)
                usage_source_away(report, error);
        report->source.away = error != NULL;
}
