/*
 * Writes to a history by other modules.
 */
#include <string.h>

#include "cache/cache.h"

void history_set_cpu_weight(struct history *h, double cores)
{
        h->cpu_weight = cores;
}

void history_set_original(struct history *h, const struct amount *original)
{
        h->original = mem_resize(h->original, original ? RESOURCES : 0, sizeof *h->original);
        if (original)
                memcpy(h->original, original, RESOURCES * sizeof *h->original);
}

void history_ran(struct history *h, int64_t started_ms)
{
        h->usage.last_run_ms = started_ms;
        h->usage.runs++;
}

/* --- what the container needs while it starts --- */

void history_ignore_first(struct history *h, const struct resource_policy policy[static RESOURCES])
{
        struct usage_starts *starts = h->usage.starts;
        h->ignores_first = policy[CPU].ignore_first_ms > 0 || policy[MEMORY].ignore_first_ms > 0;
        for (enum resource r = CPU; starts && r < RESOURCES; r++)
                if (policy[r].ignore_first_ms == 0 && starts->of[r].at_ms > 0) {
                        usage_starts_forget(starts, r);
                        h->target->apply_state_dirty = true;
                }
        if (!starts || !usage_starts_empty(starts))
                return;
        mem_free(starts); /* also forgets live_since_ms: a back-fill may then load starts again */
        h->usage.starts = NULL;
        h->target->apply_state_dirty = true;
}

void history_take_starts(struct history *h, const struct usage_starts *starts, int64_t since_ms)
{
        if (!h->usage.starts)
                h->usage.starts = MEM_NEW(struct usage_starts);
        *h->usage.starts = *starts;
        h->usage.starts->live_since_ms = since_ms > 0 ? since_ms : 0;
}

void history_start_sampled(struct history *h, struct wall at)
{
        int64_t *since_ms = &h->usage.starts->live_since_ms;
        if (*since_ms == 0 || at.ms < *since_ms)
                *since_ms = at.ms;
        target_record_changed(h->target);
}

int64_t history_live_since(const struct history *h)
{
        int64_t steady = h->usage.first_ms, starts = h->usage.starts ? h->usage.starts->live_since_ms : 0;
        return steady == 0 || (starts > 0 && starts < steady) ? starts : steady;
}

void history_pull_back_starts(struct history *h, struct wall at)
{
        usage_pull_back_starts(&h->usage, at);
        if (h->usage.starts->live_since_ms > at.ms)
                h->usage.starts->live_since_ms = at.ms;
        h->dirty = true;
        target_record_changed(h->target);
}

/* --- moving histories to another target --- */

struct history *history_detach(struct target *t)
{
        struct history *h = t->histories;
        if (!h)
                return NULL;
        t->histories = h->next;
        mem_free(h->watermark); /* these watermarks are of the old target's pods */
        h->watermark = NULL;
        h->watermarks = 0;
        return h;
}

void history_attach(struct target *t, struct history *h)
{
        struct history **last = &t->histories;
        while (*last)
                last = &(*last)->next;
        h->next = NULL;
        h->target = t;
        h->dirty = true;
        *last = h;
}
