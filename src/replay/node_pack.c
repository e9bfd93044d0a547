#include "replay/node_pack.h"

#include <math.h>
#include <stdlib.h>

enum { WEEK_MS = 7 * DAY_MS, HELD_SLOTS = 2 };

/* --- scores --- */

double node_score_nodes(const struct node_score *s)
{
        return s->days ? (double)s->nodes / (double)s->days : 0;
}

double node_score_contended(const struct node_score *s)
{
        return s->slots ? (double)s->contended / (double)s->slots : 0;
}

double node_score_exhaustions(const struct node_score *s)
{
        double weeks = (double)s->slots * NODE_SLOT_MS / WEEK_MS;
        return weeks > 0 ? (double)s->exhaustions / weeks : 0;
}

/* --- the entities of a draw --- */

static bool fits_node(const struct replay_entity *e, const struct node_size *size)
{
        return (double)e->load.most[CPU] <= size->of[CPU] && (double)e->load.most[MEMORY] <= size->of[MEMORY];
}

struct node_pods node_pack_pods(const struct replay *r, const struct node_size *size)
{
        struct node_pods n = {0};
        for (size_t i = 0; i < r->entities; i++)
                if (r->entity[i]->load.days > 0)
                        fits_node(r->entity[i], size) ? n.fit++ : n.large++;
        return n;
}

static const struct replay_owner *owner_of(const struct replay *r, const struct replay_entity *e)
{
        return r->owners ? map_get(r->owners, text_of(e->name)) : NULL;
}

bool node_pack_has_owners(const struct replay *r, const struct node_size *size)
{
        for (size_t i = 0; i < r->entities; i++)
                if (r->entity[i]->load.days > 0 && fits_node(r->entity[i], size) && !owner_of(r, r->entity[i]))
                        return false;
        return node_pack_pods(r, size).fit > 0;
}

/* An entity of a draw. The draw's number decides the order of the entities. */
struct drawn {
        const struct replay_entity *entity;
        uint64_t lot;
        size_t today; /* index of the next day that may be packed */
};

/* Returns a number that looks random, but depends on the two arguments alone (the finalizer of splitmix64). */
static uint64_t lot_of(uint64_t draw, uint64_t entity)
{
        uint64_t x = draw * UINT64_C(0x9e3779b97f4a7c15) + entity + 1;
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

static int drawn_order(const void *a, const void *b)
{
        const struct drawn *x = a, *y = b;
        return x->lot < y->lot ? -1 : x->lot > y->lot;
}

static struct drawn *draw_entities(const struct replay *r, const struct node_question *q, size_t *ret_count)
{
        struct drawn *all = mem_new_array(r->entities + 1, sizeof *all);
        size_t n = 0;
        for (size_t i = 0; i < r->entities; i++)
                if (r->entity[i]->load.days > 0 && fits_node(r->entity[i], &q->size))
                        all[n++] = (struct drawn){.entity = r->entity[i], .lot = lot_of((uint64_t)q->draw, i)};
        qsort(all, n, sizeof *all, drawn_order);
        *ret_count = q->draw > 0 ? (n + 1) / 2 : n;
        return all;
}

/* --- one day's pods --- */

struct node_pod {
        const struct node_slot *slot; /* the pod's slots of the day, up to `end` */
        const struct node_slot *end;
        double ask[RESOURCES], share; /* share: the larger of its two shares of a node */
        uint64_t lot;
        size_t node;
};

/* Set `ask` to the pod's highest usage of the day. */
static void ask_as_used(const struct node_pod *pod, double ask[static RESOURCES])
{
        for (const struct node_slot *s = pod->slot; s < pod->end; s++)
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if ((double)s->of[r] > ask[r])
                                ask[r] = (double)s->of[r];
}

static void pod_ask(const struct replay *r, const struct node_question *q, const struct replay_entity *e, size_t day,
                    struct node_pod *pod)
{
        const struct replay_owner *owner = q->asker == NODE_BY_OWNER ? owner_of(r, e) : NULL;
        if (owner)
                memcpy(pod->ask, owner->of, sizeof pod->ask);
        if (q->asker == NODE_CLAIRVOYANT)
                ask_as_used(pod, pod->ask);
        if (q->asker == NODE_BY_POLICY)
                memcpy(pod->ask, replay_ask(r, e, day, q->policy, q->way), sizeof pod->ask);
        for (enum resource n = CPU; n < RESOURCES; n++) {
                if (pod->ask[n] > q->size.of[n])
                        pod->ask[n] = q->size.of[n];
                pod->share = fmax(pod->share, pod->ask[n] / q->size.of[n]);
        }
}

static size_t pods_of_day(const struct replay *r, const struct node_question *q, struct drawn *drawn, size_t count,
                          uint32_t day, struct node_pod *ret)
{
        size_t pods = 0;
        for (size_t i = 0; i < count; i++) {
                const struct node_load *l = &drawn[i].entity->load;
                size_t at = drawn[i].today;
                if (at == l->days || l->day[at].day != day)
                        continue;
                drawn[i].today++;
                if (!l->day[at].is_asked)
                        continue;
                size_t end = at + 1 < l->days ? l->day[at + 1].first : l->slots;
                ret[pods] = (struct node_pod){
                        .slot = l->slot + l->day[at].first, .end = l->slot + end, .lot = drawn[i].lot};
                pod_ask(r, q, drawn[i].entity, at, &ret[pods++]);
        }
        return pods;
}

/* --- packing --- */

static int share_order(const void *a, const void *b)
{
        const struct node_pod *x = a, *y = b;
        if (x->share > y->share || x->share < y->share)
                return x->share > y->share ? -1 : 1;
        return x->lot < y->lot ? -1 : x->lot > y->lot;
}

static int node_order(const void *a, const void *b)
{
        const struct node_pod *x = a, *y = b;
        return x->node < y->node ? -1 : x->node > y->node;
}

/* Pack pods by first fit decreasing. A node has room up to 1e-9 of its size more, as sums are rounded. Returns the
 * number of nodes. */
static size_t pack_pods(struct node_pod *pod, size_t pods, const struct node_size *size)
{
        struct node_size *left = mem_new_array(pods + 1, sizeof *left);
        size_t nodes = 0;
        qsort(pod, pods, sizeof *pod, share_order);
        for (size_t i = 0; i < pods; i++) {
                size_t n = 0;
                while (n < nodes && (pod[i].ask[CPU] > left[n].of[CPU] + size->of[CPU] * 1e-9 ||
                                     pod[i].ask[MEMORY] > left[n].of[MEMORY] + size->of[MEMORY] * 1e-9))
                        n++;
                if (n == nodes)
                        left[nodes++] = *size;
                for (enum resource r = CPU; r < RESOURCES; r++)
                        left[n].of[r] -= pod[i].ask[r];
                pod[i].node = n;
        }
        mem_free(left);
        return nodes;
}

/* --- usage of nodes --- */

struct node_use {
        double of[RESOURCES];
        bool ran;
};

static void use_slot(struct node_use *use, const struct node_slot *s)
{
        for (enum resource r = CPU; r < RESOURCES; r++)
                use->of[r] += (double)s->of[r];
        use->ran = true;
}

/* Add a pod's usage to the day of its node. A slot's usage also counts in the next slot if that one has no rows. */
static void use_pod(struct node_use use[static NODE_SLOTS_A_DAY], const struct node_pod *pod)
{
        for (const struct node_slot *s = pod->slot; s < pod->end; s++) {
                uint32_t at = s->at % NODE_SLOTS_A_DAY, next = s + 1 < pod->end ? s[1].at - s->at : 1;
                for (uint32_t held = 0; held < HELD_SLOTS && held < next; held++)
                        use_slot(&use[at + held], s);
        }
}

static void score_node(const struct node_use use[static NODE_SLOTS_A_DAY], const struct node_size *size,
                       struct node_score *s)
{
        bool exhausted = false;
        for (int i = 0; i < NODE_SLOTS_A_DAY; i++) {
                bool exhausts = use[i].of[MEMORY] > size->of[MEMORY];
                s->slots += use[i].ran;
                s->contended += use[i].of[CPU] > size->of[CPU];
                s->exhaustions += exhausts && !exhausted;
                exhausted = exhausts;
        }
}

static void score_day(struct node_pod *pod, size_t pods, const struct node_size *size, struct node_score *s)
{
        struct node_use use[NODE_SLOTS_A_DAY];
        if (pods == 0)
                return;
        s->nodes += (int64_t)pack_pods(pod, pods, size);
        s->days++;
        qsort(pod, pods, sizeof *pod, node_order);
        for (size_t i = 0; i < pods;) {
                size_t node = pod[i].node;
                memset(use, 0, sizeof use);
                for (; i < pods && pod[i].node == node; i++)
                        use_pod(use, &pod[i]);
                score_node(use, size, s);
        }
}

/* The earliest day that is still to be packed for any entity; UINT32_MAX: no day is left. */
static uint32_t next_day(const struct drawn *drawn, size_t count)
{
        uint32_t day = UINT32_MAX;
        for (size_t i = 0; i < count; i++) {
                const struct node_load *l = &drawn[i].entity->load;
                if (drawn[i].today < l->days && l->day[drawn[i].today].day < day)
                        day = l->day[drawn[i].today].day;
        }
        return day;
}

void node_pack(const struct replay *r, const struct node_question *q, struct node_score *ret)
{
        size_t count;
        AUTO(mem_free) struct drawn *drawn = draw_entities(r, q, &count);
        AUTO(mem_free) struct node_pod *pod = mem_new_array(count + 1, sizeof *pod);
        *ret = (struct node_score){0};
        for (uint32_t day; (day = next_day(drawn, count)) != UINT32_MAX;)
                score_day(pod, pods_of_day(r, q, drawn, count, day, pod), &q->size, ret);
}
