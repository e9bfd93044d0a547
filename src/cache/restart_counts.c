/*
 * Restart counts that fall. A kubelet computes restartCount from the container runtime's records, so the count falls
 * when these are lost, as when a node comes back. Kills are numbered by this count: after a fall, new kills would have
 * numbers that were counted already. So halflife continues the count from its last value.
 */
#include "cache/cache.h"

/* The continued restart count after a fall: one more if the status has an end newer than any known, else the same. Ends
 * that no status showed are unknown. */
static int64_t restarts_going_on(const struct pod_ends *e, const struct container_status_view *s)
{
        return (int64_t)e->reported + e->base + (s->last.at.ms / SECOND_MS > e->end_s);
}

static void restart_count_continue(struct pod_ends *e, struct container_status_view *s)
{
        bool fell = s->restarts < e->reported;
        bool came_back = e->base > 0 && s->restarts >= e->fell_from && s->restarts > (int64_t)e->reported + 1;
        if (fell)
                e->fell_from = e->reported;
        if (fell || came_back) {
                int64_t by = restarts_going_on(e, s) - s->restarts;
                e->base = by > 0 ? (uint32_t)by : 0;
        }
        s->restarts += e->base;
}

void restart_counts_continue(struct pod *p, struct pod_view *v)
{
        for (int k = 0; k < v->statuses; k++)
                for (int i = 0; i < p->containers; i++)
                        if (p->container[i].ends && text_is(v->status[k].name, p->container[i].name))
                                restart_count_continue(p->container[i].ends, &v->status[k]);
}

void restart_count_keep(struct pod_ends *e, const struct container_status_view *s)
{
        int64_t end_ms = s->now.at.ms > s->last.at.ms ? s->now.at.ms : s->last.at.ms;
        e->reported = (uint32_t)(s->restarts - e->base);
        if (end_ms / SECOND_MS > e->end_s)
                e->end_s = (uint32_t)(end_ms / SECOND_MS);
}

void pod_kills_continue(struct pod_container *c, int64_t by)
{
        for (int i = 0; c->kills && i < c->kills->count; i++) {
                c->kills->kill[i].number += by;
                c->kills->kill[i].told_before += by;
        }
        c->ends->base += (uint32_t)by;
        c->ends->restarts += (uint32_t)by;
        c->ends->told += by;
}
