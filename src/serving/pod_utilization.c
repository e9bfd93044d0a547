#include "serving/pod_utilization.h"

#include <stdio.h>

/* --- one pod --- */

/* Whether a pod gets a value. A pod whose labels or containers were cut gets none, because selectors or sums would be
 * wrong; its autoscaler takes it for a pod without a sample. */
static bool utilization_is_asked_for(const struct pod *p)
{
        return !p->gone && p->running && !p->labels_cut && !p->containers_cut && p->target && p->target->profile &&
               p->target->profile->spec->apply.hpa == HPA_LIMIT_BASIS;
}

static bool any_basis(const struct cache *w)
{
        const struct profile *p;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));)
                if (p->spec->apply.hpa == HPA_LIMIT_BASIS)
                        return true;
        return false;
}

struct originals {
        const struct pod *pod;
        struct basis_container *to;
};

/* Take one container's original requests (else limits) from the annotation record of the pod. */
static int take_original(void *arg, const struct recorded *r)
{
        const struct originals *o = arg;
        for (int i = 0; i < o->pod->containers; i++)
                for (int k = 0; text_is(r->container, o->pod->container[i].name) && k < RESOURCES; k++)
                        o->to[i].original[k] = r->request[k].set ? r->request[k] : r->limit[k];
        return 0;
}

/* Take the container's sample, if that is as new as the newest sample of the pod; else the container has none. */
static void take_sample(const struct pod_container *pc, int64_t cpu, int64_t at_ms, struct basis_container *to)
{
        bool here = cpu >= 0 && pc->watermark.last_ms == at_ms;
        to->sampled[CPU] = here;
        to->used[CPU] = here ? cpu : 0;
        to->sampled[MEMORY] = here && pc->last_memory > 0;
        to->used[MEMORY] = pc->last_memory;
}

static int64_t sampled_at(const struct pod *p)
{
        int64_t newest = 0;
        for (int i = 0; i < p->containers; i++)
                if (p->container[i].role != ROLE_INIT && p->container[i].watermark.last_ms > newest)
                        newest = p->container[i].watermark.last_ms;
        return newest;
}

/* Collect the usage, limits and originals of the pod's containers. false: the pod's annotation record is broken, so the
 * originals are unknown. */
static bool utilization_measure(struct arena *a, const struct pod *p, int64_t at_ms, struct basis_container *c)
{
        struct err ignored;
        for (int i = 0; i < p->containers; i++) {
                const struct pod_container *pc = &p->container[i];
                c[i] = (struct basis_container){.role = pc->role};
                take_sample(pc, p->told->cpu[i], at_ms, &c[i]);
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        c[i].limit[r] = pod_limit(pc, r);
                        c[i].original[r] = pod_request(pc, r).set ? pod_request(pc, r) : c[i].limit[r];
                }
        }
        struct originals o = {p, c};
        return p->basis != BASIS_IS_ORIGINAL || !p->original ||
               record_read(text_of(p->original), a, take_original, &o, &ignored) == 0;
}

/* Whether the API server accepts the name; such a name goes into a label unescaped. */
static bool utilization_is_name(const char *s)
{
        return *s && strlen(s) <= VIEW_NAME && s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-.")] == '\0';
}

static bool show_pod(struct cache *w, struct pod *p, int64_t since_ms, struct snapshot *v, struct snapshot_pod *to)
{
        struct basis_container c[VIEW_CONTAINERS];
        int64_t at_ms = sampled_at(p);
        const struct pod_told *told = pod_tell(p); /* where p->told is new, it has usage from the next sample on */
        if (!utilization_is_name(p->ns) || !utilization_is_name(p->name) || at_ms < since_ms ||
            !utilization_measure(&w->scratch, p, at_ms, c))
                return false;
        bool any = false;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct amount u = basis_utilization(c, (size_t)p->containers, r, (enum basis)p->basis);
                to->utilization[r] = status_amount_of(u);
                any |= u.set;
        }
        if (!any)
                return false;
        to->ns = snapshot_name(v, p->ns);
        to->name = arena_text(&v->arena, text_of(p->name));
        to->labels = snapshot_labels(v, told->labels.pair, told->labels.count, &to->labels_size);
        to->at_ms = at_ms;
        return true;
}

void snapshot_add_utilization(struct cache *w, struct wall now, int64_t fresh_ms, struct snapshot *v)
{
        size_t count = 0;
        if (!any_basis(w))
                return;
        for (size_t i = 0; i < w->ordered; i++)
                count += utilization_is_asked_for(w->order[i]);
        if (!count)
                return;
        struct snapshot_pod *to = arena_new(&v->arena, count * sizeof *to);
        v->pod = to;
        for (size_t i = 0; i < w->ordered; i++) {
                struct pod *p = w->order[i];
                if (utilization_is_asked_for(p) && show_pod(w, p, now.ms - fresh_ms, v, &to[v->pods]))
                        v->pods++;
                arena_reset(&w->scratch);
        }
}

/* --- as series --- */

/* The labels are not called namespace and pod, because Prometheus gives these names to the scraped target. Values are
 * not cut, unlike those of metric_label: a cut name could be another pod's. */
static const char *labels_of(const struct snapshot_pod *p, char *out, size_t size)
{
        snprintf(out, size, "pod_namespace=\"%s\",pod_name=\"%s\"", p->ns, p->name);
        return out;
}

/* How many pods have series if each namespace gets at most `share` series. The pods are sorted by namespace. */
static size_t utilization_series_at(const struct snapshot *v, size_t share)
{
        size_t all = 0, own = 0;
        for (size_t i = 0; i < v->pods; i++) {
                own = i > 0 && v->pod[i].ns == v->pod[i - 1].ns ? own + 1 : 1;
                all += own <= share;
        }
        return all;
}

/* The number of series that each namespace may have, so that all namespaces together stay within
 * UTILIZATION_SERIES_PODS. */
static size_t utilization_share(const struct snapshot *v)
{
        size_t low = 1, high = UTILIZATION_SERIES_PODS;
        if (v->pods <= UTILIZATION_SERIES_PODS)
                return high;
        while (low < high) {
                size_t middle = high - (high - low) / 2;
                if (utilization_series_at(v, middle) <= UTILIZATION_SERIES_PODS)
                        low = middle;
                else
                        high = middle - 1;
        }
        return low;
}

void utilization_write(struct buf *out, const struct metric *m, const struct snapshot *v, enum resource r)
{
        char labels[2 * VIEW_NAME + 64];
        size_t share = utilization_share(v), own = 0, all = 0;
        metric_family(out, m);
        for (size_t i = 0; i < v->pods && all < UTILIZATION_SERIES_PODS; i++) {
                own = i > 0 && v->pod[i].ns == v->pod[i - 1].ns ? own + 1 : 1;
                if (own > share)
                        continue;
                all++;
                if (v->pod[i].utilization[r] >= 0)
                        metric_sample(out, m, labels_of(&v->pod[i], labels, sizeof labels),
                                      (double)v->pod[i].utilization[r] / 1e3);
        }
}

size_t utilization_left_out(const struct snapshot *v)
{
        size_t all = utilization_series_at(v, utilization_share(v));
        return v->pods - (all < UTILIZATION_SERIES_PODS ? all : UTILIZATION_SERIES_PODS);
}
