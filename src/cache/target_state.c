/*
 * Writes to a target by other modules.
 */
#include <string.h>

#include "cache/apply_state.h"
#include "cache/cache.h"
#include "cache/oom_kill.h"

/* --- progress of writes, rollouts and resizes --- */

void target_set_busy(struct target *t, bool busy)
{
        t->busy = busy;
}

void target_write_ended(struct target *t, bool failed)
{
        t->failures = failed ? t->failures + 1 : 0;
}

void target_set_rolling(struct target *t, bool rolling)
{
        t->rolling = rolling;
}

void target_set_resizing(struct target *t, bool resizing)
{
        t->resizing = resizing;
}

void target_set_canary(struct target *t, bool canary, bool waits)
{
        t->canary = canary;
        t->waits = waits;
}

void target_set_due(struct target *t, bool due)
{
        t->due = due;
}

void target_set_deploys(struct target *t, bool deploys, struct wall now)
{
        if (!deploys)
                t->deploys_ms = 0;
        else if (!t->deploys_ms)
                t->deploys_ms = now.ms;
}

void target_set_gone(struct target *t, int64_t at_ms)
{
        t->gone_ms = at_ms;
}

void target_set_backfilled(struct target *t)
{
        t->backfilled = t->apply_state_dirty = true;
}

void target_record_changed(struct target *t)
{
        t->apply_state_dirty = true;
}

bool target_starts_dropped(struct target *t, bool dropped)
{
        bool first = dropped && !t->starts_dropped;
        t->starts_dropped = dropped;
        return first;
}

bool target_set_denied(struct target *t, const char *why)
{
        if (why && t->denied && strcmp(t->denied, why) == 0)
                return false;
        mem_free(t->denied);
        t->denied = mem_string(why);
        return true;
}

/* --- Recommendation and histories --- */

void target_set_published(struct target *t, struct published *p, uint64_t labels)
{
        t->published = p;
        p->target = t;
        p->labels_written = labels;
}

void target_status_written(struct target *t, struct wall at)
{
        t->status_ms = at.ms;
}

void target_admission_told(struct target *t, uint64_t digest)
{
        t->admitted_digest = digest;
}

void target_template_compared(struct target *t)
{
        t->apply_state_generation = t->workload->generation;
}

void target_killed(struct cache *w, struct target *t, const struct oom_kill *k)
{
        if (k->at.ms > t->kill_ms)
                t->kill_ms = k->at.ms;
        if (k->limit > 0)
                limit_harms_kill(w, t, k);
}

/* --- apply state --- */

void apply_state_changed(struct target *t, struct wall at, uint64_t digest)
{
        t->apply_state.changed_ms = at.ms;
        t->apply_state.digest = digest;
}

void apply_state_passed(struct target *t, int64_t since_ms)
{
        t->apply_state.passed_ms = since_ms;
}

void apply_state_followed(struct target *t, struct wall at)
{
        t->apply_state.followed_ms = at.ms;
}

void apply_state_contest(struct target *t, struct wall now, char *what)
{
        struct apply_state *d = &t->apply_state;
        d->contest_step_ms = d->contest_step_ms ? apply_state_step_bound(d->contest_step_ms * 2) : DAY_MS;
        d->contested_ms = now.ms + d->contest_step_ms;
        d->resets = 0;
        mem_free(d->contest);
        d->contest = what;
}

void apply_state_reset(struct target *t, struct wall at, bool counts)
{
        struct apply_state *d = &t->apply_state;
        d->reset_seen_ms = at.ms;
        d->resets = counts ? d->resets + 1 : 0;
        if (!counts)
                d->contest_step_ms = 0;
}
