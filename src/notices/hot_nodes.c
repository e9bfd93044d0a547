/*
 * Emits Events on nodes that become hot. The Events name no workload, because people who may read the Events of nodes
 * need not know of workloads.
 */
#include "notices_private.h"

static void hot_nodes_tell(struct notices *notices, const struct node *n, enum resource r, int percent, struct wall now)
{
        struct node_load load;
        char capacity[QUANTITY_TEXT_MAX];
        node_ring_load(&n->facts->ring, n->facts->capacity, now, &load);
        AUTO(mem_free)
        char *note = mem_printf(
                "%d of the last %d one-minute samples of %s are above %d %% of the node's %s (mean %d %%); "
                "halflife nodes shows which workloads use more than they request",
                node_ring_above(&n->facts->ring, r, n->facts->capacity[r], percent, now), load.samples,
                resource_name(r), percent, amount_print(r, n->facts->capacity[r], capacity), load.mean[r] / 10);
        /* kubectl describe node looks for Events by the node's name in place of its UID, as kubelets write them. */
        const struct event e = {.api_version = "v1",
                                .kind = "Node",
                                .ns = "",
                                .name = n->name,
                                .uid = n->name,
                                .warning = true,
                                .reason = "HotNode",
                                .action = "Observe",
                                .note = note};
        if (may_write(notices->leadership))
                event_emit(notices->events, &e, loop_now(notices->loop));
}

/* Find the hot nodes. In the first cycle, emit no Event: a node that is hot by then was most likely hot before
 * halflife's restart, and has its Event. */
int64_t notice_hot_nodes(struct notices *notices, const struct cache *w, int percent)
{
        struct wall now = loop_now(notices->loop).wall;
        const struct node *n;
        int64_t hot = 0;
        for (size_t at = 0; (n = map_each(&w->nodes.by_name, &at));) {
                if (!n->facts)
                        continue;
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (node_facts_judge(n->facts, r, percent, now) && notices->cycle_ended)
                                hot_nodes_tell(notices, n, r, percent, now);
                hot += n->facts->hot_since_ms[CPU] || n->facts->hot_since_ms[MEMORY];
        }
        return hot;
}
