/*
 * The queue of targets that need a write. A few are written at a time, and namespaces take turns. A namespace has at
 * most as many writes under way as it leaves to others, or all but one while no other namespace waits. So a namespace
 * whose webhook is slow does not hold up all. A target is decided again when its turn comes, because the reason why it
 * was queued may be past. A failed write is tried again after a back-off, with a new decision.
 */
#include "applier_private.h"

void work_add(struct applier *applier, struct target *t)
{
        if (t->failures == 0)                      /* a target whose last write failed waits for its back-off */
                (void)queue_add(applier->work, t); /* if the queue is full, the next cycle adds the target */
}

void work_consider(struct applier *applier, const struct plan *p)
{
        struct target *t = p->target;
        if (!t->busy && (p->apply || plan_retunes(p) || p->resize.next || publish_needs(applier, p) != PUBLISH_NOTHING))
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

/* A Recommendation is deleted at once if no profile selects its workload. If the workload is gone, it is deleted when
 * the target is over. */
bool work_delete_due(const struct applier *applier, const struct target *t)
{
        if (!t->published || !t->published->known)
                return false;
        if (t->workload)
                return !t->profile && !profile_unread(applier->cache, t);
        return target_is_seen(applier->cache, t) &&
               target_is_over(t, clock_skew_earlier(applier->skew), applier->live->retention_ms);
}

/* Whether an autoscaler of the workload still has utilization targets that halflife changed. Until they are put back,
 * the Recommendation stays. */
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
                return false; /* the server deletes all in the namespace and accepts nothing new */
        if (t->workload && (t->profile || t->published)) {
                applier_decide(applier, t, &plan);
                if (plan.apply && in_place(t)) {
                        resize_set(applier, &plan);
                        applier_decide(applier, t, &plan);
                }
                if (t->profile || plan.orphaned || plan_retunes(&plan)) {
                        bool told = t->profile || plan.orphaned;
                        if (told && publish_needs(applier, &plan) != PUBLISH_NOTHING)
                                publish_status(applier, &plan);
                        else if (plan_retunes(&plan))
                                /* Write the autoscaler before the template: its utilization target must fall before the
                                 * request rises. */
                                retune_plan(applier, &plan);
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

/* How many writes may be under way: no more than API requests at once. Otherwise one namespace's share of the queue's
 * places (base/queue.h) could take every API request. */
static int writes_at_once(const struct applier *applier)
{
        int requests = applier->live->api_concurrency;
        return requests < WRITES_AT_ONCE ? requests : WRITES_AT_ONCE;
}

void work_pump(struct applier *applier)
{
        struct target *t;
        struct now now = loop_now(applier->loop);
        int most = writes_at_once(applier);
        queue_set_places(applier->work, (size_t)most);
        while (may_write(applier->leadership) && applier->writing < most && (t = queue_take(applier->work, now.mono))) {
                target_set_busy(t, true);
                leadership_write_begun(applier->leadership);
                applier->writing++;
                if (!start_write(applier, t)) {
                        target_set_busy(t, false);
                        target_write_ended(t, false);
                        leadership_write_ended(applier->leadership);
                        applier->writing--;
                        queue_done(applier->work, t);
                }
                arena_reset(&applier->plans);
        }
}

bool work_contested(struct applier *applier, struct target *t, const struct err *err)
{
        if (!conflict_refused(applier->safety, t, err))
                return false;
        notice_event(applier->notices, t, true, "Contested", t->apply_state.contest);
        return true;
}

void work_done(struct applier *applier, struct target *t, const struct err *err, int64_t retry_after_ms)
{
        struct now now = loop_now(applier->loop);
        target_set_busy(t, false);
        leadership_write_ended(applier->leadership);
        applier->writing--;
        if (err->code == 0) {
                target_write_ended(t, false);
                queue_done(applier->work, t);
                queue_add(applier->work, t); /* t may need another write: a patch makes its status due */
        } else if (err->code == ERR_NOTFOUND) {
                target_write_ended(t, false);
                queue_done(applier->work, t); /* the object is gone or being deleted; the watch will report that */
        } else {
                target_write_ended(t, true);
                notice_refusal(applier->notices, &(struct refused){t->kind, t->ns, t->name, t->recommendation}, err);
                queue_retry(applier->work, t, now.mono, retry_after_ms > 0 ? retry_after_ms : 0);
        }
        work_pump(applier);
}
