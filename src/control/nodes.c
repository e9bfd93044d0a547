/*
 * Nodes: what each has for pods, and whether its kubelet is heard of. Without the rule to watch them neither is known.
 */
#include "world.h"

static bool is_kept(const struct node *n)
{
        return n->known || n->pods > 0;
}

static void forget(struct world *w, struct node *n)
{
        if (is_kept(n))
                return;
        map_drop(&w->nodes, text_of(n->name));
        intern_drop(w->names, n->name);
        mem_free(n);
}

static struct node *node_get(struct world *w, struct text name)
{
        struct node *n = map_get(&w->nodes, name);
        if (n)
                return n;
        n = MEM_NEW(struct node);
        n->name = intern_text(w->names, name);
        map_put(&w->nodes, text_of(n->name), n);
        return n;
}

struct node *node_take(struct world *w, struct text name)
{
        struct node *n = node_get(w, name);
        n->pods++;
        return n;
}

void node_give(struct world *w, struct node *n)
{
        if (!n)
                return;
        n->pods--;
        forget(w, n);
}

static void node_unknown(struct world *w, struct node *n)
{
        n->known = n->away = false;
        n->turned_ms = 0;
        n->allocatable = (struct amount){0};
        forget(w, n);
}

int node_upsert(struct world *w, struct text json, uint32_t epoch, struct err *err)
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

void node_remove(struct world *w, struct text json)
{
        struct node_view v;
        if (decode_node(json, &w->scratch, &v, NULL) == 0) {
                struct node *n = map_get(&w->nodes, v.meta.name);
                if (n)
                        node_unknown(w, n);
        }
        arena_reset(&w->scratch);
}

void node_swept(struct world *w, uint32_t epoch)
{
        struct node *n;
        for (size_t at = 0; (n = map_each(&w->nodes, &at));)
                if (n->known && n->epoch != epoch)
                        node_unknown(w, n);
}

/* By its last sample, where that is of then; what is too young to have one counts as what it asks for. */
static int64_t used_then(const struct pod *p, const struct pod_container *c, struct wall at, int64_t fresh_ms)
{
        int64_t used = pod_memory_before(c, at, fresh_ms);
        if (used >= 0)
                return used;
        return at.ms - p->started_ms <= fresh_ms ? pod_request(c, MEMORY).value : -1;
}

int64_t node_others_used(const struct world *w, const struct pod *p, const struct pod_container *but, struct wall at,
                         int64_t fresh_ms)
{
        int64_t sum = 0;
        for (size_t i = 0; i < w->ordered; i++) {
                const struct pod *other = w->order[i];
                if (other->node != p->node || !other->running || other->started_ms > at.ms)
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

void nodes_release(struct world *w)
{
        struct node *n;
        for (size_t at = 0; (n = map_each(&w->nodes, &at));)
                node_unknown(w, n);
        map_release(&w->nodes);
}
