/* Which workloads an autoscaler counts beside its own. The HPA controller takes the selector in the scale subresource
 * of the workload that it scales, and counts all pods of the namespace that the selector matches, no matter which
 * workload made them. */
#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"

/* A row of the index of workloads by their pods' labels: one for each label, one for the namespace alone, one if labels
 * were cut (cut_digest). */
struct counted {
        uint64_t digest; /* digest of the namespace and the label */
        struct workload *of;
};

struct counted_index {
        struct counted *row;
        size_t rows;
};

static uint64_t ns_digest(const char *ns)
{
        return digest_bytes(0, ns, strlen(ns) + 1);
}

static uint64_t label_digest(const char *ns, struct text key, struct text value)
{
        return digest_bytes(digest_bytes(ns_digest(ns), key.p, key.len), value.p, value.len);
}

static struct labels labels_of_pods(const struct workload *wl, struct arena *a)
{
        return label_roles_of_pods(&wl->labels, &wl->roles, &workload_more(wl)->roles, a);
}

/* Whether a workload has pods that an autoscaler may count. In a chain of owners only the topmost workload with a
 * template counts. A Job does not count: it ends soon, so it would hold changes back only for a moment. */
static bool counts_has_pods(const struct workload *wl)
{
        bool once = (wl->kind->flags & KIND_TO_COMPLETION) && !(wl->kind->flags & KIND_BY_RUNS);
        return !once && !workload_is_link(wl) && !workload_more(wl)->suspended && workload_replicas(wl) > 0 &&
               !(wl->owner && wl->owner->containers);
}

static bool is_above(const struct workload *above, const struct workload *wl)
{
        while (wl && wl != above)
                wl = wl->owner;
        return wl != NULL;
}

static int counted_index_order(const void *x, const void *y)
{
        const struct counted *a = x, *b = y;
        return a->digest < b->digest ? -1 : a->digest > b->digest;
}

/* A workload with more labels than halflife keeps may have any label. The index has one digest for all such workloads
 * of a namespace. */
static uint64_t cut_digest(const char *ns)
{
        return label_digest(ns, TEXT(""), TEXT("cut"));
}

static bool is_cut(const struct workload *wl)
{
        return workload_more(wl)->roles.labels_cut;
}

static void counted_index_add(struct counted_index *to, struct workload *wl, struct arena *a)
{
        struct labels labels = labels_of_pods(wl, a);
        to->row = mem_resize(to->row, to->rows + labels.count + 2, sizeof *to->row);
        to->row[to->rows++] = (struct counted){ns_digest(wl->ns), wl};
        if (is_cut(wl))
                to->row[to->rows++] = (struct counted){cut_digest(wl->ns), wl};
        for (size_t i = 0; i < labels.count; i++)
                to->row[to->rows++] =
                        (struct counted){label_digest(wl->ns, labels.pair[i].key, labels.pair[i].value), wl};
}

/* The index of all workloads in namespaces that are counted anew and have an autoscaler by utilization. */
static struct counted_index counted_index_make(struct cache *w)
{
        struct counted_index to = {0};
        const struct ns *ns = NULL;
        struct workload *wl;
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));) {
                ns = ns && ns->name == wl->ns ? ns : ns_find(w, wl->ns);
                if (!ns->recount)
                        continue;
                if (wl->more)
                        memset(wl->more->counted_by, 0, sizeof wl->more->counted_by);
                if (ns->scales && counts_has_pods(wl))
                        counted_index_add(&to, wl, &w->scratch);
        }
        if (to.rows)
                qsort(to.row, to.rows, sizeof *to.row, counted_index_order);
        return to;
}

/* The place of the first row whose digest is at least `digest`. */
static size_t counted_index_from(const struct counted_index *all, uint64_t digest)
{
        size_t low = 0, high = all->rows;
        while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (all->row[middle].digest < digest)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* The rows whose digest is `digest`; they stay the index' own. */
static struct counted_index counted_index_with(const struct counted_index *all, uint64_t digest)
{
        size_t from = counted_index_from(all, digest);
        size_t end = digest == UINT64_MAX ? all->rows : counted_index_from(all, digest + 1);
        return (struct counted_index){all->row + from, end - from};
}

/* The rows to compare with the selector: those of the rarest label that it asks for. No other row can match. */
static struct counted_index counted_index_few(const struct counted_index *all, const char *ns, const struct selector *s)
{
        struct counted_index few = counted_index_with(all, ns_digest(ns));
        for (size_t i = 0; i < s->count; i++) {
                const struct requirement *r = &s->of[i];
                if (r->op != OP_IN || r->values != 1)
                        continue;
                struct counted_index with =
                        counted_index_with(all, label_digest(ns, text_of(r->key), text_of(r->value[0])));
                if (with.rows < few.rows)
                        few = with;
        }
        return few;
}

/* --- bounds on the comparisons for one namespace's autoscalers --- */

/* The comparisons of texts that one namespace's autoscalers have left, which they use in the order of their keys. */
struct count_share {
        const char *ns;
        int64_t left; /* below 0: an autoscaler needed more than was left, and the later ones are not compared */
        bool noted[RESOURCES]; /* an autoscaler that is not compared was noted on all workloads, for this resource */
};

static struct selector *selector_of_workload(const struct workload *wl, struct arena *a)
{
        return wl ? label_roles_selector(&wl->labels, &wl->roles, &workload_more(wl)->roles, a) : NULL;
}

static int64_t selector_bytes(const struct workload *wl)
{
        const char *text = wl ? workload_more(wl)->roles.selector : NULL;
        return text ? (int64_t)strlen(text) : 0;
}

static bool selector_is_unread(const struct workload *wl)
{
        return wl && workload_more(wl)->roles.selector_unread;
}

/* The selector of the scaled workload, or else of the workload whose template that one runs. NULL: there is none, it is
 * too long (*ret_unread), or the share is used up. */
static struct selector *scale_selector(struct cache *w, const struct autoscaler *s, struct count_share *share,
                                       bool *ret_unread)
{
        const struct workload *scaled = workload_find(w, s->target_group, s->target_kind, s->ns, s->target_name);
        share->left -= selector_bytes(scaled) + selector_bytes(s->workload);
        if (share->left < 0)
                return NULL;
        struct selector *own = selector_of_workload(scaled, &w->scratch);
        *ret_unread = selector_is_unread(scaled) || (!own && selector_is_unread(s->workload));
        return own || *ret_unread ? own : selector_of_workload(s->workload, &w->scratch);
}

static bool selector_is_short(const struct workload *wl)
{
        return workload_more(wl)->roles.selector ? selector_bytes(wl) <= AUTOSCALER_SELECTOR_BYTES
                                                 : wl->labels.count <= AUTOSCALER_SELECTOR_LABELS;
}

const struct selector *autoscaler_selector(const struct cache *w, const struct autoscaler *s, struct arena *a,
                                           bool *ret_unread)
{
        const struct workload *of[] = {workload_find(w, s->target_group, s->target_kind, s->ns, s->target_name),
                                       s->workload};
        const struct selector *asks = NULL;
        *ret_unread = false;
        for (size_t i = 0; i < sizeof of / sizeof of[0] && !asks && !*ret_unread; i++) {
                if (!of[i])
                        continue;
                *ret_unread = selector_is_unread(of[i]) || !selector_is_short(of[i]);
                asks = *ret_unread ? NULL : selector_of_workload(of[i], a);
        }
        return asks;
}

/* Note on a workload that an autoscaler counts its pods. For each resource the workload keeps the first by key. */
static void counted_note(const struct autoscaler *s, struct workload *of)
{
        for (enum resource r = CPU; r < RESOURCES; r++) {
                if (!autoscaler_utilizes(s, r))
                        continue;
                const struct autoscaler **by = &workload_more_made(of)->counted_by[r];
                if (!*by || strcmp(s->key, (*by)->key) < 0)
                        *by = s;
        }
}

/* The most comparisons of texts that matching the selector with so many labels takes. */
static int64_t selector_cost(const struct selector *s, size_t labels)
{
        int64_t cost = 1;
        for (size_t i = 0; i < s->count; i++)
                cost += (int64_t)(s->of[i].values + labels);
        return cost;
}

static bool counts_other(struct cache *w, const struct autoscaler *s, const struct selector *asks,
                         const struct workload *of, struct count_share *share)
{
        if (of->ns != s->ns || is_above(of, s->workload) || is_above(s->workload, of))
                return false;
        struct labels labels = labels_of_pods(of, &w->scratch);
        share->left -= selector_cost(asks, labels.count);
        if (share->left < 0)
                return false;
        return is_cut(of) ? selector_may_match(asks, labels.pair, labels.count)
                          : selector_match(asks, labels.pair, labels.count);
}

/* Note an autoscaler that is not compared on all workloads of its namespace: it may count any. A workload keeps only
 * the first by key, so later ones need no note. */
static void autoscaler_count_all(struct autoscaler *s, enum counting why, const struct counted_index *all,
                                 struct count_share *share)
{
        bool news = false;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                news |= autoscaler_utilizes(s, r) && !share->noted[r];
                share->noted[r] |= autoscaler_utilizes(s, r);
        }
        struct counted_index every = counted_index_with(all, ns_digest(s->ns));
        for (size_t i = 0; news && i < every.rows; i++)
                if (every.row[i].of->ns == s->ns)
                        counted_note(s, every.row[i].of);
        s->others = 1;
        s->counting = why;
}

/* The other workloads, among some rows of the index, whose pods an autoscaler counts. */
struct counted_others {
        const struct workload *first;
        uint32_t count;
};

static void counted_others_find(struct cache *w, const struct autoscaler *s, const struct selector *asks,
                                struct counted_index rows, bool cut, struct count_share *share,
                                struct counted_others *ret)
{
        for (size_t i = 0; i < rows.rows && share->left >= 0; i++) {
                struct workload *of = rows.row[i].of;
                if (is_cut(of) != cut || !counts_other(w, s, asks, of, share))
                        continue;
                ret->count++;
                counted_note(s, of);
                if (!ret->first || strcmp(of->key, ret->first->key) < 0)
                        ret->first = of; /* first by key, so that messages name the same workload after a restart */
        }
}

static void autoscaler_count_few(struct cache *w, struct autoscaler *s, const struct counted_index *all,
                                 struct count_share *share)
{
        bool unread = false;
        const struct selector *asks = scale_selector(w, s, share, &unread);
        struct counted_others sure = {0}, cut = {0};
        if (unread && share->left >= 0) {
                autoscaler_count_all(s, COUNTS_UNREAD, all, share);
                return;
        }
        if (!asks)
                return;
        counted_others_find(w, s, asks, counted_index_few(all, s->ns, asks), false, share, &sure);
        counted_others_find(w, s, asks, counted_index_with(all, cut_digest(s->ns)), true, share, &cut);
        const struct counted_others *told = sure.count ? &sure : &cut;
        s->others = told->count;
        s->counting = told == &cut && cut.count ? COUNTS_PERHAPS : COUNTS_SURELY;
        if (told->first && share->left >= 0)
                s->other = mem_printf("%s '%s'", told->first->kind->kind, told->first->name);
}

static void autoscaler_count(struct cache *w, struct autoscaler *s, const struct counted_index *all,
                             struct count_share *share)
{
        if (share->ns != s->ns)
                *share = (struct count_share){.ns = s->ns, .left = AUTOSCALER_COMPARES_NAMESPACE};
        if (share->left >= 0)
                autoscaler_count_few(w, s, all, share);
        if (share->left < 0)
                autoscaler_count_all(s, COUNTS_ANY, all, share);
        arena_reset(&w->scratch); /* frees this selector before the next one, as both may be long */
}

static bool counts_due(const struct cache *w)
{
        const struct ns *ns;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                if (ns->recount)
                        return true;
        return false;
}

static bool scales_by_utilization(const struct autoscaler *s)
{
        return s->workload && (autoscaler_utilizes(s, CPU) || autoscaler_utilizes(s, MEMORY));
}

static void counts_clear(struct cache *w)
{
        struct ns *ns;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                ns->recount = ns->scales = false;
}

static int autoscaler_order(const void *a, const void *b)
{
        return strcmp((*(struct autoscaler *const *)a)->key, (*(struct autoscaler *const *)b)->key);
}

/* Reset the counts of all autoscalers in namespaces that are counted anew. Lists those that scale by utilization, by
 * key, so that a namespace's are neighbours, and returns their number. The caller frees *ret. */
static size_t autoscalers_to_count(struct cache *w, struct autoscaler ***ret)
{
        struct autoscaler *s, **due = NULL;
        size_t count = 0;
        for (size_t at = 0; (s = map_each(&w->autoscalers, &at));) {
                struct ns *ns = ns_get(w, text_of(s->ns));
                if (!ns->recount)
                        continue;
                mem_free(s->other);
                s->other = NULL;
                s->others = 0;
                s->counting = COUNTS_SURELY;
                if (!scales_by_utilization(s))
                        continue;
                ns->scales = true;
                due = due ? due : mem_new_array(w->autoscalers.count, sizeof(struct autoscaler *));
                due[count++] = s;
        }
        if (due)
                qsort(due, count, sizeof *due, autoscaler_order);
        *ret = due;
        return count;
}

void autoscaler_counts_settle(struct cache *w)
{
        struct autoscaler **due;
        struct count_share share = {0};
        if (!counts_due(w))
                return;
        size_t count = autoscalers_to_count(w, &due);
        struct counted_index all = counted_index_make(w);
        for (size_t i = 0; all.rows && i < count; i++)
                autoscaler_count(w, due[i], &all, &share);
        mem_free(due);
        mem_free(all.row);
        arena_reset(&w->scratch);
        counts_clear(w);
}
