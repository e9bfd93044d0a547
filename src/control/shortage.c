/*
 * Nodes that were short of memory, as their Events tell (SystemOOM of the kubelet, OOMKilling of the node problem
 * detector). They name no pod, so they count no kill: they only say that it need not have been a limit.
 */
#include "world.h"

enum { ABOUT_MS = 5 * MINUTE_MS };

struct shortage {
        char *node;
        int64_t at_ms; /* the newest */
};

int shortage_upsert(struct world *w, struct text json, uint32_t epoch, struct err *err)
{
        struct node_event_view e;
        (void)epoch;
        int rc = decode_node_event(json, &w->scratch, &e, err);
        bool tells =
                rc == 0 && e.node.len && e.at.ms && (text_is(e.reason, "SystemOOM") || text_is(e.reason, "OOMKilling"));
        if (tells) {
                struct shortage *s = map_get(&w->shortages, e.node);
                if (!s) {
                        s = MEM_NEW(struct shortage);
                        s->node = mem_string_n(e.node.p, e.node.len);
                        map_put(&w->shortages, text_of(s->node), s);
                }
                if (e.at.ms > s->at_ms)
                        s->at_ms = e.at.ms;
        }
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
        const struct shortage *s = p->node ? map_get(&w->shortages, text_of(p->node)) : NULL;
        return s && s->at_ms - at.ms <= ABOUT_MS && at.ms - s->at_ms <= ABOUT_MS;
}

void shortages_release(struct world *w)
{
        struct shortage *s;
        for (size_t at = 0; (s = map_each(&w->shortages, &at));) {
                map_drop(&w->shortages, text_of(s->node));
                mem_free(s->node);
                mem_free(s);
        }
        map_release(&w->shortages);
}
