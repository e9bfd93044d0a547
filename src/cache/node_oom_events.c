/*
 * Nodes that were short of memory, as their Events tell (SystemOOM of the kubelet, OOMKilling of the node problem
 * detector). They name no pod, so they count no kill: they only say that it need not have been a limit. Those of nodes
 * lie in namespace default; whoever may write Events elsewhere says nothing of a node.
 */
#include "cache/cache.h"

enum {
        ABOUT_MS = 5 * MINUTE_MS,
        NODES_MAX = 4096, /* whoever may write Events there names them */
};

struct shortage {
        char *node;
        int64_t at_ms;    /* the newest that is no later than any clock says; 0: none */
        int64_t ahead_ms; /* the last told of those that are: a node's clock that is ahead tells of its kills, too */
};

static void forget(struct world *w, struct shortage *s)
{
        map_drop(&w->shortages, text_of(s->node));
        mem_free(s->node);
        mem_free(s);
}

/* It is of long ago, or of no node that was listed or has a pod. Those lists may come after the Events': until there is
 * no room left, who is not known stays. */
static bool may_go(const struct world *w, const struct shortage *s, struct wall latest)
{
        return latest.ms - s->at_ms > DAY_MS || !map_get(&w->nodes, text_of(s->node));
}

/* NULL: more nodes were short within a day than are kept. */
static struct shortage *shortage_get(struct world *w, struct text node, struct wall latest)
{
        struct shortage *s = map_get(&w->shortages, node), *old;
        for (size_t at = 0; !s && w->shortages.count >= NODES_MAX && (old = map_each(&w->shortages, &at));)
                if (may_go(w, old, latest))
                        forget(w, old);
        if (s || w->shortages.count >= NODES_MAX)
                return s;
        s = MEM_NEW(struct shortage);
        s->node = mem_string_n(node.p, node.len);
        map_put(&w->shortages, text_of(s->node), s);
        return s;
}

static bool tells_of_node(const struct event_view *e)
{
        return text_is(e->meta.ns, "default") && text_is(e->kind, "Node") && e->at.ms && e->name.len &&
               e->name.len <= VIEW_NAME && (text_is(e->reason, "SystemOOM") || text_is(e->reason, "OOMKilling"));
}

/* One of years ahead must not hide those that follow. */
static void shortage_note(struct shortage *s, struct wall at, struct wall latest)
{
        if (at.ms > latest.ms)
                s->ahead_ms = at.ms;
        else if (at.ms > s->at_ms)
                s->at_ms = at.ms;
}

int shortage_upsert(struct world *w, struct wall latest, struct text json, uint32_t epoch, struct err *err)
{
        struct event_view e;
        (void)epoch;
        int rc = decode_event(json, &w->scratch, &e, err);
        struct shortage *s = rc == 0 && tells_of_node(&e) ? shortage_get(w, e.name, latest) : NULL;
        if (s)
                shortage_note(s, e.at, latest);
        arena_reset(&w->scratch);
        return rc;
}

void shortage_remove(struct world *w, struct text json)
{
        (void)w, (void)json;
}

void shortage_swept(struct world *w, uint32_t epoch)
{
        (void)w, (void)epoch;
}

static bool is_about(int64_t told_ms, struct wall at)
{
        return told_ms && told_ms - at.ms <= ABOUT_MS && at.ms - told_ms <= ABOUT_MS;
}

bool shortage_of(const struct world *w, const struct pod *p, struct wall at)
{
        const struct shortage *s = p->node ? map_get(&w->shortages, text_of(p->node->name)) : NULL;
        return s && (is_about(s->at_ms, at) || is_about(s->ahead_ms, at));
}

void shortages_release(struct world *w)
{
        struct shortage *s;
        for (size_t at = 0; (s = map_each(&w->shortages, &at));)
                forget(w, s);
        map_release(&w->shortages);
}
