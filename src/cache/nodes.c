/*
 * Nodes: what each has for pods, and whether its kubelet is heard of. Without the rule to watch them neither is known.
 */
#include "cache/cache.h"

static bool node_is_kept(const struct node *n)
{
        return n->known || n->first;
}

static void node_forget(struct cache *w, struct node *n)
{
        if (node_is_kept(n))
                return;
        map_drop(&w->nodes, text_of(n->name));
        intern_drop(w->names, n->name);
        mem_free(n);
}

static struct node *node_get(struct cache *w, struct text name)
{
        struct node *n = map_get(&w->nodes, name);
        if (n)
                return n;
        n = MEM_NEW(struct node);
        n->name = intern_text(w->names, name);
        map_put(&w->nodes, text_of(n->name), n);
        return n;
}

void node_take(struct cache *w, struct pod *p, struct text name)
{
        struct node *n = node_get(w, name);
        p->node = n;
        p->next_on_node = n->first;
        p->on_node = &n->first;
        if (n->first)
                n->first->on_node = &p->next_on_node;
        n->first = p;
}

void node_give(struct cache *w, struct pod *p)
{
        if (!p->node)
                return;
        *p->on_node = p->next_on_node;
        if (p->next_on_node)
                p->next_on_node->on_node = p->on_node;
        node_forget(w, p->node);
}

/* Its pods are there for a minute or more after it: nobody hears of them. */
static void node_unknown(struct cache *w, struct node *n)
{
        n->away = n->known && n->first;
        n->known = false;
        n->turned_ms = 0;
        n->allocatable = (struct amount){0};
        node_forget(w, n);
}

int node_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err)
{
        struct node_view v;
        int rc = decode_node(json, &w->scratch, &v, err);
        if (rc == 0) {
                struct node *n = node_get(w, v.meta.name);
                n->known = true;
                n->epoch = epoch;
                n->away = v.tells && !v.ready;
                n->turned_ms = v.turned.ms;
                n->allocatable = v.allocatable;
        }
        arena_reset(&w->scratch);
        return rc;
}

void node_remove(struct cache *w, struct text json)
{
        struct node_view v;
        if (decode_node(json, &w->scratch, &v, NULL) == 0) {
                struct node *n = map_get(&w->nodes, v.meta.name);
                if (n)
                        node_unknown(w, n);
        }
        arena_reset(&w->scratch);
}

void node_swept(struct cache *w, uint32_t epoch)
{
        struct node *n;
        for (size_t at = 0; (n = map_each(&w->nodes, &at));)
                if (n->known && n->epoch != epoch)
                        node_unknown(w, n);
}

/* Did its process begin so late that there is no sample of it? */
static bool is_young(const struct pod *p, const struct pod_container *c, struct wall at, int64_t fresh_ms)
{
        int64_t began_ms = (int64_t)pod_ended(c).began_s * SECOND_MS;
        return at.ms - (began_ms > pod_started_ms(p) ? began_ms : pod_started_ms(p)) <= fresh_ms;
}

/* metrics-server leaves out a pod for as long as one of its containers is down, and until that is measured again. */
static bool is_left_out(const struct pod *p, struct wall at, int64_t fresh_ms)
{
        for (int i = 0; i < p->containers; i++) {
                const struct pod_container *c = &p->container[i];
                if (c->role != ROLE_INIT && (pod_ended(c).stopped_s || is_young(p, c, at, fresh_ms)))
                        return true;
        }
        return false;
}

/* By its last sample, where that is of then, or none can have come since; what is too young to have one counts as what
 * it asks for. What had stopped by then used nothing; what stopped then, by the same shortage perhaps, counts. */
static int64_t used_then(const struct pod *p, const struct pod_container *c, struct wall at, int64_t fresh_ms)
{
        enum { SLACK_MS = 5 * SECOND_MS }; /* those of one shortage stop within it */
        enum { UNTOLD = 1 };
        int64_t used = pod_memory_before(c, at, fresh_ms);
        uint32_t stopped_s = pod_ended(c).stopped_s;
        if (stopped_s > UNTOLD && (int64_t)stopped_s * SECOND_MS + SLACK_MS < at.ms)
                return 0;
        if (used >= 0 || stopped_s == UNTOLD || p->finished) /* one that was not let in has no status of containers */
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
        for (const struct pod *other = n->first; other; other = other->next_on_node) {
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
        for (size_t at = 0; (n = map_each(&w->nodes, &at));)
                node_unknown(w, n);
        map_release(&w->nodes);
}
