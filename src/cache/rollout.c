/*
 * How far a workload's rollout is, and what keeps it from taking another change.
 */
#include <string.h>

#include "cache/cache.h"
#include "core/rollout.h"

static bool rollout_is_phased(const struct workload *wl)
{
        return (wl->kind->flags & KIND_PHASED) && workload_more(wl)->phase;
}

/* Of its own, whoever stands in for it. */
static bool own_done(const struct workload *wl)
{
        if (wl->kind->flags & KIND_BY_RUNS)
                return true; /* a CronJob's next run starts no rollout */
        const struct rollout r = {
                .generation = wl->generation,
                .observed = wl->observed_generation,
                .wanted = wl->replicas,
                .pods = wl->status_replicas,
                .updated = wl->updated,
                .available = wl->available,
                .told = kind_find(text_of(wl->kind->group), text_of(wl->kind->kind)) != NULL,
                .phased = rollout_is_phased(wl),
                .healthy = rollout_is_phased(wl) && strcmp(workload_more(wl)->phase, "Healthy") == 0,
        };
        return rollout_is_done(&r);
}

bool rollout_done(const struct workload *wl)
{
        return own_done(wl) && !workload_more(wl)->stand_in.under_way;
}

/* Of its own; but for the steps that wait for a person. */
static const char *own_blocked(const struct workload *wl)
{
        if (wl->kind->flags & KIND_BY_RUNS)
                return NULL;
        if (wl->paused || (rollout_is_phased(wl) && strcmp(workload_more(wl)->phase, "Paused") == 0))
                return "the rollout is paused";
        if (wl->on_delete)
                return "its strategy is OnDelete: pods would change only as they are deleted";
        if (wl->recreate)
                return "its strategy is Recreate: all pods would go at once";
        if (wl->partition > 0)
                return "its rollout stops at a partition";
        if (wl->deadline_exceeded)
                return "its last rollout is past its deadline";
        if (rollout_is_phased(wl) && strcmp(workload_more(wl)->phase, "Degraded") == 0)
                return "its last rollout failed or was aborted: its phase is Degraded";
        return own_done(wl) ? NULL : "a rollout is under way";
}

/* One that is scaled to 0 and whose template others run rolls nothing out by itself. */
static bool rollout_is_idle(const struct workload *wl)
{
        return workload_more(wl)->stand_in.kind && wl->replicas == 0;
}

const char *rollout_blocked(const struct workload *wl, bool named)
{
        const char *own = rollout_is_idle(wl) ? NULL : own_blocked(wl);
        const char *why = own ? own : workload_more(wl)->stand_in.blocked;
        if (why)
                return why;
        bool stops = wl->needs_person || workload_more(wl)->stand_in.needs_person;
        return stops && !named
                       ? "its rollout would stop until a person goes on: name its kind in the profile's targets "
                         "to have it patched all the same"
                       : NULL;
}

void rollout_stand_in(struct workload *of, const struct workload *by)
{
        struct stand_in *s = &workload_more_made(of)->stand_in;
        int64_t observed = workload_more(by)->observed_referred;
        bool follows = observed == 0 || observed >= of->generation;
        const char *blocked = own_blocked(by);
        s->kind = by->kind;
        s->replicas = s->replicas > INT64_MAX - by->replicas ? INT64_MAX : s->replicas + by->replicas;
        s->under_way |= !own_done(by) || !follows;
        s->needs_person |= by->needs_person;
        if (!blocked && !follows)
                blocked = "a rollout is under way";
        if (!s->blocked)
                s->blocked = blocked;
}
