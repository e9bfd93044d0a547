#include "cache/node_target.h"

#include <string.h>

#include "base/log.h"
#include "cache/pod_namespace_targets.h"
#include "snapshot/snapshot.h"

const struct node *node_of_target(const struct cache *w, const struct target *t)
{
        const struct node *n = t->dimension == DIMENSION_NODE ? map_get(&w->nodes.by_name, text_of(t->name)) : NULL;
        return n && n->facts && n->facts->whole && n->facts->whole->target == t ? n : NULL;
}

static void node_target_drop(struct node_facts *f)
{
        mem_free(f->whole);
        f->whole = NULL;
}

/* --- choosing the profile of a node --- */

static struct profile *node_target_profile(struct cache *w, const struct node *n, const struct label_pair *label,
                                           size_t labels)
{
        const struct profile_subject s = {.ns = TEXT(""),
                                          .dimension = DIMENSION_NODE,
                                          .kind = text_of(kind_of_dimension[DIMENSION_NODE].kind),
                                          .by_default = true,
                                          .label = label,
                                          .labels = labels};
        return n->known && n->facts && !n->facts->labels_cut ? profile_choose(w, &s, NULL) : NULL;
}

static void node_target_settle(struct cache *w, const struct node *n)
{
        struct label_pair label[VIEW_LABELS_MAX];
        size_t labels = n->facts && n->facts->texts
                                ? snapshot_unpack_labels(n->facts->texts, n->facts->labels_size, label, VIEW_LABELS_MAX)
                                : 0;
        struct profile *by = node_target_profile(w, n, label, labels);
        struct target *t = dimension_chosen(w, w->own_ns, DIMENSION_NODE, n->name, by);
        if (n->facts && !by)
                node_target_drop(n->facts);
        if (!t || !n->known || !n->facts)
                return;
        struct workload *wl = dimension_synthetic(w, t);
        (void)labels_keep(&w->label_sets, &wl->labels, label, labels);
        wl->roles.own = (uint32_t)labels;
        if (by && !n->facts->whole)
                n->facts->whole = MEM_NEW(struct node_target);
        if (by)
                n->facts->whole->target = t;
}

void node_targets_settle(struct cache *w)
{
        const struct profile *p;
        const struct node *n;
        w->nodes.targets = w->others[DIMENSION_NODE] > 0;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));)
                w->nodes.targets |= p->valid && p->spec->dimension == DIMENSION_NODE;
        for (size_t at = 0; w->nodes.targets && w->own_ns && (n = map_each(&w->nodes.by_name, &at));)
                node_target_settle(w, n);
}

/* --- the size of the machine --- */

bool node_size_differs(const int64_t a[static RESOURCES], const int64_t b[static RESOURCES])
{
        enum { APART = 20 };
        for (enum resource r = CPU; r < RESOURCES; r++) {
                int64_t most = a[r] > b[r] ? a[r] : b[r], least = a[r] > b[r] ? b[r] : a[r];
                if (a[r] > 0 && b[r] > 0 && most - least > most / APART)
                        return true;
        }
        return false;
}

/* Set the machine's size to that in the Recommendation, because the node may have been replaced while halflife was
 * down. */
static void node_target_recall(struct node_target *nt, const int64_t capacity[static RESOURCES])
{
        const struct published *p = nt->target->published;
        const struct status_node *was = p ? p->status.node : NULL;
        for (enum resource r = CPU; r < RESOURCES; r++)
                nt->size[r] = was && was[r].capacity > 0 ? was[r].capacity : capacity[r];
}

/* Learn anew what a node's pods use. An empty history replaces the old one, and overwrites the stored one. */
static void node_target_restart(struct cache *w, struct target *t, const char *name)
{
        struct history *h;
        bool ignore;
        if (!t->profile || !history_find(t, w->whole))
                return;
        while ((h = history_detach(t)))
                history_free(w, h);
        history_learned(history_get(t, w->whole, profile_spec_container(t->profile->spec, text_of(w->whole), &ignore)));
        log_info("a node came back with another size: what its pods use is learned anew", KV("node", name));
}

void node_targets_link(struct cache *w)
{
        const struct node *n;
        for (size_t at = 0; w->nodes.targets && (n = map_each(&w->nodes.by_name, &at));) {
                struct node_target *nt = n->facts ? n->facts->whole : NULL;
                if (!nt || n->facts->capacity[CPU] <= 0 || n->facts->capacity[MEMORY] <= 0)
                        continue;
                if (nt->size[CPU] == 0)
                        node_target_recall(nt, n->facts->capacity);
                if (node_size_differs(nt->size, n->facts->capacity))
                        node_target_restart(w, nt->target, n->name);
                memcpy(nt->size, n->facts->capacity, sizeof nt->size);
        }
}
