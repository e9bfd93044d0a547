/*
 * Writes that are refused: one line for one cause, however many objects it meets, and later how many there were. The
 * condition of each object goes on telling its own.
 */
#include <stdio.h>
#include <string.h>

#include "error_causes.h"
#include "report_private.h"

enum {
        OVER_MS = 11 * MINUTE_MS, /* longer than any back-off: nobody was refused for that any more */
        AGAIN_MS = HOUR_MS,
        PASSING_MS = 5000, /* what ends by itself so soon is not told */
};

static void tell_count(const struct refusal *r, bool over)
{
        log_write(over ? LOG_INFO : LOG_WARN,
                  over ? "writes are not refused for this any more" : "writes go on being refused",
                  (const struct kv[]){KV_INT("refused", r->count), KV("error", r->text)}, 2);
}

static struct refusal *place_for(struct report *report)
{
        struct refusal *oldest = &report->refusal[0];
        for (int i = 0; i < REFUSALS_MAX; i++) {
                if (report->refusal[i].count == 0)
                        return &report->refusal[i];
                if (report->refusal[i].last.ns < oldest->last.ns)
                        oldest = &report->refusal[i];
        }
        return oldest;
}

static struct refusal *refusal_find(struct report *report, uint64_t cause, const struct err *err, struct mono now)
{
        for (int i = 0; i < REFUSALS_MAX; i++)
                if (report->refusal[i].count > 0 && report->refusal[i].cause == cause)
                        return &report->refusal[i];
        struct refusal *r = place_for(report);
        *r = (struct refusal){.cause = cause, .first = now, .told = now};
        snprintf(r->text, sizeof r->text, "%s", cause_text(err->text));
        return r;
}

static const char *refusal_known(const char *name)
{
        return name ? name : "";
}

void report_refusal(struct report *report, const struct refused *what, const struct err *err)
{
        struct mono now = loop_now(report->loop).mono;
        if (err->code == ERR_STALE || err->code == ERR_NOTFOUND || cause_is_going_namespace(err) ||
            !may_write(report->leadership))
                return; /* read again, or going, or not ours to write any more: nothing anyone has to know */
        const char *const subject[] = {refusal_known(what->ns), refusal_known(what->name),
                                       refusal_known(what->recommendation), NULL};
        struct refusal *r = refusal_find(report, cause_digest(err, subject), err, now);
        bool passing = err->code == ERR_RETRY && (now.ns - r->first.ns) / 1000000 < PASSING_MS;
        r->count++;
        r->last = now;
        if (r->said || passing ||
            report_outage_told(report, err)) /* the last: the log has told of this server already */
                return;
        r->said = true;
        log_warn("write refused, will try again; more of this are only counted", KV("namespace", what->ns),
                 KV("kind", what->kind), KV("name", what->name), KV("code", err_name(err->code)), KV("error", r->text),
                 KV("cure", cause_cure(err)), KV_INT("cycle", report->cycle));
}

void refusal_tick(struct report *report)
{
        struct mono now = loop_now(report->loop).mono;
        for (int i = 0; i < REFUSALS_MAX; i++) {
                struct refusal *r = &report->refusal[i];
                bool over = (now.ns - r->last.ns) / 1000000 >= OVER_MS;
                if (r->count == 0 || (!over && (now.ns - r->told.ns) / 1000000 < AGAIN_MS))
                        continue;
                if (r->said && r->count > 1)
                        tell_count(r, over);
                r->told = now;
                if (over)
                        r->count = 0;
        }
}
