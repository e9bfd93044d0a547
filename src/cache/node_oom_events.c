/* Nodes that were short of memory, by the kubelet's Events SystemOOM. The Events name no pod, so they count as no kill;
 * they only show that a kill may have another cause than a limit. An Event counts only if the node's own kubelet
 * reported it, and in namespace default, where Events about nodes are: more people may write Events in other
 * namespaces. */
#include "cache/cache.h"

enum {
        ABOUT_MS = 5 * MINUTE_MS,
        NODES_MAX = 4096, /* a bound, because whoever may write Events in namespace default can name any node */
};

struct node_oom_event {
        char *node;
        int64_t at_ms;    /* the newest Event that is not ahead of the clocks; 0: none */
        int64_t ahead_ms; /* the last Event ahead of the clocks: such a node's clock dates its kills ahead as well */
};

static void node_oom_event_forget(struct cache *w, struct node_oom_event *s)
{
        map_drop(&w->node_oom_events, text_of(s->node));
        mem_free(s->node);
        mem_free(s);
}

/* May an entry be dropped where no room is left? Yes if it is older than a day, or about an unknown node, which may yet
 * be listed. */
static bool may_go(const struct cache *w, const struct node_oom_event *s, struct wall latest)
{
        return latest.ms - s->at_ms > DAY_MS || !map_get(&w->nodes.by_name, text_of(s->node));
}

/* The entry of a node, made where there is none. NULL: no room, as NODES_MAX nodes were short of memory within a day.
 */
static struct node_oom_event *node_oom_event_get(struct cache *w, struct text node, struct wall latest)
{
        struct node_oom_event *s = map_get(&w->node_oom_events, node), *old;
        for (size_t at = 0; !s && w->node_oom_events.count >= NODES_MAX && (old = map_each(&w->node_oom_events, &at));)
                if (may_go(w, old, latest))
                        node_oom_event_forget(w, old);
        if (s || w->node_oom_events.count >= NODES_MAX)
                return s;
        s = MEM_NEW(struct node_oom_event);
        s->node = mem_string_n(node.p, node.len);
        map_put(&w->node_oom_events, text_of(s->node), s);
        return s;
}

static bool tells_of_node(const struct event_view *e)
{
        return text_is(e->meta.ns, "default") && text_is(e->kind, "Node") && text_is(e->reason, "SystemOOM") &&
               text_is(e->reporter, "kubelet") && text_equal(e->reporter_host, e->name) && e->at.ms && e->name.len &&
               e->name.len <= VIEW_NAME;
}

/* Note the time of an Event. Times ahead of the clocks are kept apart: one years ahead must not hide later Events. */
static void node_oom_event_note(struct node_oom_event *s, struct wall at, struct wall latest)
{
        if (at.ms > latest.ms)
                s->ahead_ms = at.ms;
        else if (at.ms > s->at_ms)
                s->at_ms = at.ms;
}

int node_oom_event_upsert(struct cache *w, struct wall latest, struct text json, uint32_t epoch, struct err *err)
{
        struct event_view e;
        (void)epoch;
        int rc = decode_event(json, &w->scratch, &e, err);
        struct node_oom_event *s = rc == 0 && tells_of_node(&e) ? node_oom_event_get(w, e.name, latest) : NULL;
        if (s)
                node_oom_event_note(s, e.at, latest);
        arena_reset(&w->scratch);
        return rc;
}

void node_oom_event_remove(struct cache *w, struct text json)
{
        (void)w, (void)json;
}

void node_oom_event_swept(struct cache *w, uint32_t epoch)
{
        (void)w, (void)epoch;
}

static bool is_about(int64_t told_ms, struct wall at)
{
        return told_ms && told_ms - at.ms <= ABOUT_MS && at.ms - told_ms <= ABOUT_MS;
}

bool node_oom_event_of(const struct cache *w, const struct pod *p, struct wall at)
{
        const struct node_oom_event *s = p->node ? map_get(&w->node_oom_events, text_of(p->node->name)) : NULL;
        return s && (is_about(s->at_ms, at) || is_about(s->ahead_ms, at));
}

void node_oom_events_release(struct cache *w)
{
        struct node_oom_event *s;
        for (size_t at = 0; (s = map_each(&w->node_oom_events, &at));)
                node_oom_event_forget(w, s);
        map_release(&w->node_oom_events);
}
