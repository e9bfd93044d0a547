/*
 * The progress of a workload's rollout, and what keeps a workload from rolling out another change.
 */
#include "cache/cache.h"

/* The workload's own rollout, without Rollouts that refer to it. */
static struct rollout rollout_of(const struct workload *wl)
{
        return (struct rollout){
                .generation = wl->generation,
                .observed = wl->observed_generation,
                .wanted = wl->replicas,
                .pods = wl->status_replicas,
                .updated = wl->updated,
                .available = wl->available,
                .told = kind_find(text_of(wl->kind->group), text_of(wl->kind->kind)) != NULL,
                .none = wl->kind->flags & KIND_BY_RUNS,
                .phase = workload_more(wl)->phase,
                .paused = wl->paused,
                .on_delete = wl->on_delete,
                .recreate = wl->recreate,
                .late = wl->deadline_exceeded,
                .partition = wl->partition,
        };
}

bool rollout_done(const struct workload *wl)
{
        const struct rollout r = rollout_of(wl);
        return rollout_is_done(&r) && !workload_more(wl)->rollout_ref.under_way;
}

uint64_t rollout_progress(const struct workload *wl)
{
        const struct workload_more *more = workload_more(wl);
        const int64_t figure[] = {
                wl->generation, wl->observed_generation, wl->replicas, wl->status_replicas,
                wl->updated,    wl->available,           more->phase,  (int64_t)more->rollout_ref.progress};
        return digest_bytes(0, figure, sizeof figure);
}

/* Why the rollout blocks a change; NULL: it does not. rollout_blocked judges a step that waits for a person. */
static const char *rollout_block_text(const struct rollout *r)
{
        static const char *const text[ROLLOUT_BLOCKS] = {
                [ROLLOUT_PAUSED] = "the rollout is paused",
                [ROLLOUT_ON_DELETE] = "its strategy is OnDelete: pods would change only as they are deleted",
                [ROLLOUT_RECREATE] = "its strategy is Recreate: all pods would stop at once",
                [ROLLOUT_PARTITION] = "its rollout stops at a partition",
                [ROLLOUT_LATE] = "its last rollout is past its deadline",
                [ROLLOUT_DEGRADED] = "its last rollout failed or was aborted: its phase is Degraded",
                [ROLLOUT_UNDER_WAY] = "a rollout is under way",
        };
        return text[rollout_block(r)];
}

/* Has the workload nothing to roll out itself? Yes if it is scaled to 0 and Rollouts run its template. */
static bool rollout_is_idle(const struct workload *wl)
{
        return workload_more(wl)->rollout_ref.kind && wl->replicas == 0;
}

const char *rollout_blocked(const struct workload *wl, bool named)
{
        const struct rollout r = rollout_of(wl);
        const char *own = rollout_is_idle(wl) ? NULL : rollout_block_text(&r);
        const char *why = own ? own : workload_more(wl)->rollout_ref.blocked;
        if (why)
                return why;
        bool stops = wl->needs_person || workload_more(wl)->rollout_ref.needs_person;
        return stops && !named ? "its rollout would stop until a person continues it: name its kind in the profile's "
                                 "targets to change it all the same"
                               : NULL;
}

void rollout_ref_of(struct workload *of, const struct workload *by)
{
        struct rollout_ref *s = &workload_more_made(of)->rollout_ref;
        int64_t observed = workload_more(by)->observed_referred;
        bool follows = observed == 0 || observed >= of->generation;
        const struct rollout r = rollout_of(by);
        const char *blocked = rollout_block_text(&r);
        s->progress += rollout_progress(by); /* a sum, because Rollouts come in any order */
        s->kind = by->kind;
        s->replicas = s->replicas > INT64_MAX - by->replicas ? INT64_MAX : s->replicas + by->replicas;
        s->under_way |= !rollout_is_done(&r) || !follows;
        s->needs_person |= by->needs_person;
        if (!blocked && !follows)
                blocked = "a rollout is under way";
        if (!s->blocked)
                s->blocked = blocked;
}
