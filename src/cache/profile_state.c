/*
 * Writes to a profile by other modules.
 */
#include <string.h>

#include "cache/cache.h"
#include "core/quantity.h"

/* --- a profile's targets, counted by a pass --- */

void profile_count_begin(struct profile *p)
{
        p->next_ready = p->next_applied = 0;
        memset(p->next_saving, 0, sizeof p->next_saving);
}

void profile_count(struct profile *p, bool ready, bool applied)
{
        p->next_ready += ready;
        p->next_applied += applied;
}

void profile_count_saving(struct profile *p, enum resource r, int64_t saving)
{
        p->next_saving[r] = add_saturated(p->next_saving[r], saving);
}

void profile_count_end(struct profile *p)
{
        p->ready = p->next_ready;
        p->applied = p->next_applied;
        memcpy(p->saving, p->next_saving, sizeof p->saving);
}

void profile_set_shown(struct profile *p, const struct snapshot_profile *shown)
{
        p->shown = shown;
}

/* --- a profile's canaries --- */

void profile_canary_begin(struct profile *p)
{
        struct canary_group *g;
        for (size_t at = 0; (g = map_each(&p->canary_groups, &at));)
                mem_free(g);
        map_release(&p->canary_groups);
        p->canary = (struct canary_tally){0};
        p->canary_closed = false;
}

struct canary_group *profile_canary_group(struct profile *p, const char *ns)
{
        struct canary_group *g = map_get(&p->canary_groups, text_of(ns));
        if (!g) {
                g = MEM_NEW(struct canary_group);
                g->ns = ns;
                map_put(&p->canary_groups, text_of(ns), g);
        }
        return g;
}

void profile_canary_end(struct profile *p, bool closed)
{
        const struct canary_group *g;
        for (size_t at = 0; (g = map_each(&p->canary_groups, &at));)
                canary_tally_add(&p->canary, &g->tally);
        p->canary_closed = closed;
}

/* --- a profile's status --- */

static void condition_turn(bool now, bool *was, int64_t *since_ms, int64_t at_ms)
{
        if (now == *was && *since_ms)
                return;
        *was = now;
        *since_ms = at_ms;
}

void profile_set_conditions(struct profile *p, bool ready, bool degraded, struct wall at)
{
        condition_turn(ready, &p->was_ready, &p->ready_since_ms, at.ms);
        condition_turn(degraded, &p->was_degraded, &p->degraded_since_ms, at.ms);
}

void profile_set_busy(struct profile *p, bool busy)
{
        p->busy = busy;
}

void profile_written(struct profile *p, uint64_t digest, uint64_t facts, struct wall at)
{
        p->refused = false;
        p->written = digest;
        p->written_facts = facts;
        p->written_ms = at.ms;
        memcpy(p->saving_written, p->saving, sizeof p->saving);
}

void profile_set_written_facts(struct profile *p, uint64_t facts)
{
        p->written_facts = facts;
}

void profile_write_refused(struct profile *p, int64_t retry_ms)
{
        p->retry_ms = retry_ms;
        p->refused = true;
}

void profile_forget_written(struct profile *p)
{
        p->written = p->written_facts = 0;
}
