/*
 * Reports refused writes. The log has one line for each cause, however many objects it concerns, and later a line with
 * the number of refused writes. The condition of each object still reports its own refusal.
 */
#include <stdio.h>
#include <string.h>

#include "error_causes.h"
#include "notices_private.h"

enum {
        OVER_MS = 11 * MINUTE_MS, /* longer than any back-off: a cause without a refusal in this time is gone */
        AGAIN_MS = HOUR_MS,
        PASSING_MS = 5000, /* a cause that ends by itself within this time is not logged */
};

static void tell_count(const struct refusal *r, bool over)
{
        log_write(over ? LOG_INFO : LOG_WARN,
                  over ? "writes are no longer refused for this reason" : "writes are still refused",
                  (const struct kv[]){KV_INT("refused", r->count), KV("error", r->text)}, 2);
}

static struct refusal *place_for(struct notices *notices)
{
        struct refusal *oldest = &notices->refusal[0];
        for (int i = 0; i < REFUSALS_MAX; i++) {
                if (notices->refusal[i].count == 0)
                        return &notices->refusal[i];
                if (notices->refusal[i].last.ns < oldest->last.ns)
                        oldest = &notices->refusal[i];
        }
        return oldest;
}

static struct refusal *refusal_find(struct notices *notices, uint64_t cause, const struct err *err, struct mono now)
{
        for (int i = 0; i < REFUSALS_MAX; i++)
                if (notices->refusal[i].count > 0 && notices->refusal[i].cause == cause)
                        return &notices->refusal[i];
        struct refusal *r = place_for(notices);
        *r = (struct refusal){.cause = cause, .first = now, .told = now};
        snprintf(r->text, sizeof r->text, "%s", cause_text(err->text));
        return r;
}

static const char *refusal_known(const char *name)
{
        return name ? name : "";
}

void notice_refusal(struct notices *notices, const struct refused *what, const struct err *err)
{
        struct mono now = loop_now(notices->loop).mono;
        if (err->code == ERR_STALE || err->code == ERR_NOTFOUND || cause_is_going_namespace(err) ||
            !may_write(notices->leadership))
                return; /* nobody must act: the object changed, is gone or goes with its namespace, or another leads */
        const char *const subject[] = {refusal_known(what->ns), refusal_known(what->name),
                                       refusal_known(what->recommendation), NULL};
        struct refusal *r = refusal_find(notices, cause_digest(err, subject), err, now);
        bool passing = err->code == ERR_RETRY && (now.ns - r->first.ns) / 1000000 < PASSING_MS;
        r->count++;
        r->last = now;
        if (r->said || passing ||
            notice_outage_told(notices, err)) /* the log has reported watches that fail by the same cause */
                return;
        r->said = true;
        log_warn("write refused, will try again; more for this reason are only counted", KV("namespace", what->ns),
                 KV("kind", what->kind), KV("name", what->name), KV("code", err_name(err->code)), KV("error", r->text),
                 KV("cure", cause_cure(err)), KV_INT("cycle", notices->cycle));
}

void refusal_tick(struct notices *notices)
{
        struct mono now = loop_now(notices->loop).mono;
        for (int i = 0; i < REFUSALS_MAX; i++) {
                struct refusal *r = &notices->refusal[i];
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
