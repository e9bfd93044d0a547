/*
 * The queue of writes: targets that need one, a few at a time. Each is decided afresh when its turn comes, because what
 * queued it may be long past; a write that fails is tried again with back-off, as a new decision.
 */
#include "applier_private.h"

void work_add(struct applier *applier, struct target *t)
{
        if (t->failures == 0)                      /* else it waits for its back-off */
                (void)queue_add(applier->work, t); /* full: the next cycle finds it again */
}

void work_consider(struct applier *applier, const struct plan *p)
{
        struct target *t = p->target;
        if (!t->busy && (p->apply || plan_retunes(p) || p->resize.next ||
                         publish_needs(p, applier->live->status_ms) != PUBLISH_NOTHING))
                work_add(applier, t);
}

void work_forget(struct applier *applier, struct target *t)
{
        queue_forget(applier->work, t);
}

size_t work_waiting(const struct applier *applier)
{
        return queue_count(applier->work);
}

/* A Recommendation whose target has lost workload or profile: gone at once without a profile, with its workload after
 * the retention time. */
bool work_delete_due(const struct applier *applier, const struct target *t)
{
        if (!t->published || !t->published->known)
                return false;
        if (t->workload)
                return !t->profile && !profile_unread(applier->cache, t);
        return t->gone_ms && target_is_seen(applier->cache, t) &&
               clock_skew_earlier(applier->skew) - t->gone_ms >= applier->live->retention_ms;
}

/* Until its autoscalers' own targets are back it is seen to. */
static bool is_retuned(const struct workload *wl)
{
        const struct autoscaler *s = wl->autoscaler;
        while (s && !s->records)
                s = s->next;
        return s;
}

static bool start_write(struct applier *applier, struct target *t)
{
        struct plan plan;
        if (namespace_going(applier->cache, t->ns))
                return false; /* all in it goes with it, and nothing new is let in */
        if (t->workload && (t->profile || t->published)) {
                decide(applier, t, &plan);
                if (plan.apply && in_place(t)) {
                        resize_set(applier, &plan);
                        decide(applier, t, &plan);
                }
                if (t->profile || plan.orphaned || plan_retunes(&plan)) {
                        bool told = t->profile || plan.orphaned;
                        if (told && publish_needs(&plan, applier->live->status_ms) != PUBLISH_NOTHING)
                                publish_status(applier, &plan);
                        else if (plan_retunes(&plan))
                                retune_plan(applier, &plan); /* a target that falls does so before a request rises */
                        else if (plan.apply)
                                apply_plan(applier, &plan);
                        else if (plan.resize.next)
                                resize_pod(applier, &plan);
                        else
                                return false;
                        return true;
                }
        }
        if (!work_delete_due(applier, t) || (t->workload && is_retuned(t->workload)))
                return false;
        publish_delete(applier, t);
        return true;
}

void work_pump(struct applier *applier)
{
        struct target *t;
        struct now now = loop_now(applier->loop);
        while (may_write(applier->leadership) && leadership_writes(applier->leadership) < WRITES_AT_ONCE &&
               (t = queue_take(applier->work, now.mono))) {
                target_set_busy(t, true);
                leadership_write_begun(applier->leadership);
                if (!start_write(applier, t)) {
                        target_set_busy(t, false);
                        target_write_ended(t, false);
                        leadership_write_ended(applier->leadership);
                        queue_done(applier->work, t);
                }
                arena_reset(&applier->plans);
        }
}

void work_done(struct applier *applier, struct target *t, const struct err *err, int64_t retry_after_ms)
{
        struct now now = loop_now(applier->loop);
        target_set_busy(t, false);
        leadership_write_ended(applier->leadership);
        if (err->code == 0) {
                target_write_ended(t, false);
                queue_done(applier->work, t);
                queue_add(applier->work, t); /* once more: a patch wants its status told, a status may free a patch */
        } else if (err->code == ERR_NOTFOUND) {
                target_write_ended(t, false);
                queue_done(applier->work, t); /* the object or its namespace is going: the watch will tell */
        } else {
                target_write_ended(t, true);
                report_refusal(applier->report, &(struct refused){t->kind, t->ns, t->name, t->recommendation}, err);
                queue_retry(applier->work, t, now.mono, retry_after_ms > 0 ? retry_after_ms : 0);
        }
        work_pump(applier);
}
