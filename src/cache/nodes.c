/*
 * Nodes: what each node has for pods, and whether its kubelet is away. Without permission to watch nodes, halflife
 * knows neither.
 */
#include "cache/cache.h"

static bool node_is_kept(const struct node *n)
{
        return n->known || n->facts || !LIST_EMPTY(&n->pods);
}

static void node_forget(struct cache *w, struct node *n)
{
        if (node_is_kept(n))
                return;
        map_drop(&w->nodes.by_name, text_of(n->name));
        intern_drop(w->names, n->name);
        mem_free(n);
}

struct node *node_get(struct cache *w, struct text name)
{
        struct node *n = map_get(&w->nodes.by_name, name);
        if (n)
                return n;
        n = MEM_NEW(struct node);
        n->name = intern_text(w->names, name);
        map_put(&w->nodes.by_name, text_of(n->name), n);
        return n;
}

void node_take(struct cache *w, struct pod *p, struct text name)
{
        struct node *n = node_get(w, name);
        p->node = n;
        LIST_INSERT_HEAD(&n->pods, p, on_node);
}

void node_give(struct cache *w, struct pod *p)
{
        if (!p->node)
                return;
        LIST_REMOVE(p, on_node);
        node_forget(w, p->node);
}

/* A node was deleted. Its pods stay for a minute or more; as no kubelet reports about them, the node counts as away. */
static void node_unknown(struct cache *w, struct node *n)
{
        n->away = n->known && !LIST_EMPTY(&n->pods);
        n->known = false;
        n->turned_ms = 0;
        n->allocatable[CPU] = n->allocatable[MEMORY] = (struct amount){0};
        node_facts_free(w, n);
        node_forget(w, n);
}

int node_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err)
{
        struct node_view v;
        int rc = decode_node(json, &w->scratch, &v, err);
        if (rc == 0) {
                struct node *n = node_get(w, v.meta.name);
                w->changed |= !n->known && w->nodes.targets;
                n->known = true;
                n->epoch = epoch;
                n->away = v.tells && !v.ready;
                n->turned_ms = v.turned.ms;
                n->allocatable[CPU] = v.allocatable[CPU];
                n->allocatable[MEMORY] = v.allocatable[MEMORY];
                node_facts_read(w, n, &v);
        }
        arena_reset(&w->scratch);
        return rc;
}

void node_remove(struct cache *w, struct text json)
{
        struct node_view v;
        if (decode_node(json, &w->scratch, &v, NULL) == 0) {
                struct node *n = map_get(&w->nodes.by_name, v.meta.name);
                if (n)
                        node_unknown(w, n);
        }
        arena_reset(&w->scratch);
}

/* Facts that came from the database, about nodes that the list lacks, are dropped as well. */
void node_swept(struct cache *w, uint32_t epoch)
{
        struct node *n;
        for (size_t at = 0; (n = map_each(&w->nodes.by_name, &at));)
                if (n->known ? n->epoch != epoch : n->facts != NULL)
                        node_unknown(w, n);
}

/* Did the container's process begin so short before `at` that it may have no sample yet? */
static bool is_young(const struct pod *p, const struct pod_container *c, struct wall at, int64_t fresh_ms)
{
        int64_t began_ms = (int64_t)pod_ended(c).began_s * SECOND_MS;
        return at.ms - (began_ms > pod_started_ms(p) ? began_ms : pod_started_ms(p)) <= fresh_ms;
}

/* Does metrics-server leave out the pod? Yes while a container is down, and until a started one has a sample. */
static bool is_left_out(const struct pod *p, struct wall at, int64_t fresh_ms)
{
        for (int i = 0; i < p->containers; i++) {
                const struct pod_container *c = &p->container[i];
                if (c->role != ROLE_INIT && (pod_ended(c).stopped_s || is_young(p, c, at, fresh_ms)))
                        return true;
        }
        return false;
}

/* The memory a container used at the time `at`, in bytes; -1: not known. The last sample counts if it is fresh, or if
 * no newer one could come. A container too young for a sample counts with its request. A container that had stopped
 * before `at` used nothing, but one that stopped at that time counts: the same shortage may have killed it. */
static int64_t used_then(const struct pod *p, const struct pod_container *c, struct wall at, int64_t fresh_ms)
{
        enum { SLACK_MS = 5 * SECOND_MS }; /* containers killed by one shortage stop within this time */
        enum { UNTOLD = 1 };
        int64_t used = pod_memory_before(c, at, fresh_ms);
        uint32_t stopped_s = pod_ended(c).stopped_s;
        if (stopped_s > UNTOLD && (int64_t)stopped_s * SECOND_MS + SLACK_MS < at.ms)
                return 0;
        /* a pod that the kubelet did not admit has no container status */
        if (used >= 0 || stopped_s == UNTOLD || p->finished)
                return used > 0 ? used : 0;
        if (is_young(p, c, at, fresh_ms))
                return pod_request(c, MEMORY).value;
        if (!stopped_s && is_left_out(p, at, fresh_ms))
                return c->sampled_s ? c->last_memory : pod_request(c, MEMORY).value;
        return -1;
}

int64_t node_others_used(const struct node *n, const struct pod_container *but, struct wall at, int64_t fresh_ms)
{
        int64_t sum = 0;
        const struct pod *other;
        LIST_FOREACH (other, &n->pods, on_node) {
                if (!pod_started_ms(other) || pod_started_ms(other) > at.ms)
                        continue;
                for (int k = 0; k < other->containers; k++) {
                        const struct pod_container *c = &other->container[k];
                        int64_t used = c == but || c->role == ROLE_INIT ? 0 : used_then(other, c, at, fresh_ms);
                        if (used < 0)
                                return -1;
                        sum = add_saturated(sum, used);
                }
        }
        return sum;
}

void nodes_release(struct cache *w)
{
        struct node *n;
        for (size_t at = 0; (n = map_each(&w->nodes.by_name, &at));)
                node_unknown(w, n);
        map_release(&w->nodes.by_name);
}
