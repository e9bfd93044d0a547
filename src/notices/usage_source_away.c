/*
 * Reports whether the usage source can be read. If it cannot be read at all, halflife applies nothing, and one metric,
 * one log line and one condition of the profiles report that.
 */
#include <stdio.h>

#include "notices_private.h"

const struct usage_source_state *notice_usage_source(const struct notices *notices)
{
        return &notices->source;
}

static void usage_source_away(struct notices *notices, const char *error)
{
        struct usage_source_state *s = &notices->source;
        snprintf(s->error, sizeof s->error, "%s", error);
        if (!s->away)
                s->since_ms = loop_now(notices->loop).wall.ms;
        s->away = true;
}

void notice_usage_away(struct notices *notices, const char *error, const struct err *err)
{
        usage_source_away(notices, error);
        /* Log nothing if the log has reported this failure, or failing watches of the same server. */
        if (notices->source.told || notice_outage_told(notices, err))
                return;
        notices->source.told = true;
        log_warn("usage cannot be read: nothing is applied until it can", KV("error", notices->source.error),
                 KV_INT("cycle", notices->cycle));
}

void notice_usage_back(struct notices *notices)
{
        struct usage_source_state *s = &notices->source;
        if (!s->away)
                return;
        int64_t seconds = (loop_now(notices->loop).wall.ms - s->since_ms) / SECOND_MS;
        s->away = false;
        s->error[0] = '\0';
        if (s->told)
                log_info("usage can be read again", KV_INT("seconds_away", seconds), KV_INT("cycle", notices->cycle));
        s->told = false;
}

void notice_usage_unasked(struct notices *notices)
{
        struct usage_source_state *s = &notices->source;
        if (s->told)
                log_info("usage is not read: no workload has a profile", KV_INT("cycle", notices->cycle));
        s->away = s->told = s->partial = false;
        s->error[0] = '\0';
}

void notice_usage_partial(struct notices *notices, int64_t pods, const struct err *err)
{
        struct usage_source_state *s = &notices->source;
        bool partial = err->code != 0;
        if (partial && !s->partial)
                log_warn("usage was read only in part: the other pods get no samples until all usage is read again",
                         KV_INT("pods", pods), KV("error", err->text), KV_INT("cycle", notices->cycle));
        s->partial = partial;
}

void notice_usage_stands(struct notices *notices, const char *error)
{
        if (error && !notices->source.away)
                usage_source_away(notices, error);
        notices->source.away = error != NULL;
}
