/*
 * The queue of writes: targets that need one, a few at a time. Each is decided afresh when its turn comes, because what
 * queued it may be long past; a write that fails is tried again with back-off, as a new decision.
 */
#include "controller_private.h"

void work_add(struct controller *c, struct target *t)
{
        if (t->failures == 0)                /* else it waits for its back-off */
                (void)queue_add(c->work, t); /* full: the next cycle finds it again */
}

/* A Recommendation whose target has lost workload or profile: gone at once without a profile, with its workload after
 * the retention time. */
bool work_delete_due(const struct controller *c, const struct target *t)
{
        if (!t->published || !t->published->known)
                return false;
        if (t->workload)
                return !t->profile && !profile_unread(&c->cache, t);
        return t->gone_ms && target_is_seen(&c->cache, t) &&
               clock_skew_earlier(c->skew) - t->gone_ms >= c->options.live.retention_ms;
}

/* Until its autoscalers' own targets are back it is seen to. */
static bool is_retuned(const struct workload *wl)
{
        const struct autoscaler *s = wl->autoscaler;
        while (s && !s->records)
                s = s->next;
        return s;
}

static bool start_write(struct controller *c, struct target *t)
{
        struct plan plan;
        if (namespace_going(&c->cache, t->ns))
                return false; /* all in it goes with it, and nothing new is let in */
        if (t->workload && (t->profile || t->published)) {
                decide(c, t, &plan);
                if (plan.apply && in_place(t)) {
                        resize_set(c, &plan);
                        decide(c, t, &plan);
                }
                if (t->profile || plan.orphaned || plan_retunes(&plan)) {
                        bool told = t->profile || plan.orphaned;
                        if (told && publish_needs(&plan, c->options.live.status_ms) != PUBLISH_NOTHING)
                                publish_status(c, &plan);
                        else if (plan_retunes(&plan))
                                retune_plan(c, &plan); /* a target that falls does so before a request rises */
                        else if (plan.apply)
                                apply_plan(c, &plan);
                        else if (plan.resize.next)
                                resize_pod(c, &plan);
                        else
                                return false;
                        return true;
                }
        }
        if (!work_delete_due(c, t) || (t->workload && is_retuned(t->workload)))
                return false;
        publish_delete(c, t);
        return true;
}

void work_pump(struct controller *c)
{
        struct target *t;
        struct now now = loop_now(c->loop);
        while (may_write(c->leadership) && leadership_writes(c->leadership) < WRITES_AT_ONCE &&
               (t = queue_take(c->work, now.mono))) {
                t->busy = true;
                leadership_write_begun(c->leadership);
                if (!start_write(c, t)) {
                        t->busy = false;
                        t->failures = 0;
                        leadership_write_ended(c->leadership);
                        queue_done(c->work, t);
                }
                arena_reset(&c->plans);
        }
}

void work_done(struct controller *c, struct target *t, const struct err *err, int64_t retry_after_ms)
{
        struct now now = loop_now(c->loop);
        t->busy = false;
        leadership_write_ended(c->leadership);
        if (err->code == 0) {
                t->failures = 0;
                queue_done(c->work, t);
                queue_add(c->work, t); /* once more: a patch wants its status told, a status may free a patch */
        } else if (err->code == ERR_NOTFOUND) {
                t->failures = 0;
                queue_done(c->work, t); /* the object or its namespace is going: the watch will tell */
        } else {
                t->failures++;
                report_refusal(c->report, &(struct refused){t->kind, t->ns, t->name, t->recommendation}, err);
                queue_retry(c->work, t, now.mono, retry_after_ms > 0 ? retry_after_ms : 0);
        }
        work_pump(c);
}
