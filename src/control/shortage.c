/*
 * Nodes that were short of memory, as their Events tell (SystemOOM of the kubelet, OOMKilling of the node problem
 * detector). They name no pod, so they count no kill: they only say that it need not have been a limit. Those of nodes
 * lie in namespace default; whoever may write Events elsewhere says nothing of a node.
 */
#include "world.h"

enum {
        ABOUT_MS = 5 * MINUTE_MS,
        NODES_MAX = 4096, /* whoever may write Events there names them */
};

struct shortage {
        char *node;
        int64_t at_ms; /* the newest */
};

static void forget(struct world *w, struct shortage *s)
{
        map_drop(&w->shortages, text_of(s->node));
        mem_free(s->node);
        mem_free(s);
}

/* NULL: more nodes were short within a day than are kept. */
static struct shortage *shortage_get(struct world *w, struct text node, struct wall now)
{
        struct shortage *s = map_get(&w->shortages, node), *old;
        for (size_t at = 0; !s && w->shortages.count >= NODES_MAX && (old = map_each(&w->shortages, &at));)
                if (now.ms - old->at_ms > DAY_MS)
                        forget(w, old);
        if (s || w->shortages.count >= NODES_MAX)
                return s;
        s = MEM_NEW(struct shortage);
        s->node = mem_string_n(node.p, node.len);
        map_put(&w->shortages, text_of(s->node), s);
        return s;
}

int shortage_upsert(struct world *w, struct text json, uint32_t epoch, struct err *err)
{
        struct event_view e;
        (void)epoch;
        int rc = decode_event(json, &w->scratch, &e, err);
        bool tells = rc == 0 && text_is(e.meta.ns, "default") && text_is(e.kind, "Node") && e.name.len && e.at.ms &&
                     (text_is(e.reason, "SystemOOM") || text_is(e.reason, "OOMKilling"));
        struct shortage *s = tells ? shortage_get(w, e.name, e.at) : NULL;
        if (s && e.at.ms > s->at_ms)
                s->at_ms = e.at.ms;
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

bool shortage_of(const struct world *w, const struct pod *p, struct wall at)
{
        const struct shortage *s = p->node ? map_get(&w->shortages, text_of(p->node->name)) : NULL;
        return s && s->at_ms - at.ms <= ABOUT_MS && at.ms - s->at_ms <= ABOUT_MS;
}

void shortages_release(struct world *w)
{
        struct shortage *s;
        for (size_t at = 0; (s = map_each(&w->shortages, &at));)
                forget(w, s);
        map_release(&w->shortages);
}
