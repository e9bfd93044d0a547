/*
 * GET …/profiles/what-if: what the recommendations of each profile save, and what they would save by other percentiles.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "correct_subject.h"
#include "target_sums.h"

enum { SUMS_MOST = 1000 };

/* --- one target --- */

static bool what_if_by_model(const struct correct_facts *f)
{
        return f->estimate.known && (f->state == STATE_READY || f->state == STATE_HELD);
}

static status_amount what_if_correct(const struct correct_facts *f)
{
        struct correction c;
        correct(f, &c);
        return status_amount_of(c.target);
}

static status_amount what_if_target(const struct correct_facts *f, const struct percentile_row *row, int tried,
                                    status_amount as_it_is)
{
        struct correct_facts changed = *f;
        bool memory = f->resource == MEMORY;
        if (row->at[f->resource][tried] < 0)
                return as_it_is;
        (void)recommend_model(f->resource, row->at[f->resource][tried], memory ? row->kill : 0, memory ? row->week : 0,
                              &changed.estimate);
        changed.estimate.more = row->more[f->resource][tried];
        return what_if_correct(&changed);
}

/* Try other percentiles on one container. A target value that something else than the model makes (a rule of the whole
 * pod, a hold) stays. */
static void what_if_container(const struct correct_subject *s, int at, const struct percentile_row *row,
                              struct status_container *tried[static TRIED])
{
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct correct_facts f = correct_facts_of(s, at, r);
                status_amount now = s->target->container[at].of[r].target;
                if (!what_if_by_model(&f) || what_if_correct(&f) != now)
                        continue;
                for (int i = 0; i < TRIED; i++)
                        tried[i][at].of[r].target = what_if_target(&f, row, i, now);
        }
}

static int64_t what_if_saving(const struct snapshot_target *t, const struct status_container *c, enum resource r)
{
        struct status_numbers pod[RESOURCES];
        status_pod_numbers(c, t->containers, pod);
        __int128 all = pod[r].original >= 0 && pod[r].target >= 0
                               ? (__int128)(pod[r].original - pod[r].target) * t->replicas
                               : 0;
        return all <= 0 ? 0 : all > INT64_MAX ? INT64_MAX : (int64_t)all;
}

static void what_if_raise(int64_t *sum, int64_t by)
{
        *sum = by > INT64_MAX - *sum ? INT64_MAX : *sum + by;
}

/* --- all targets, beside the rows in the same order --- */

static int what_if_compare_rows(const void *left, const void *right)
{
        const struct percentile_row *a = left, *b = right;
        int way = strcmp(a->ns, b->ns);
        return way ? way : strcmp(a->recommendation, b->recommendation);
}

struct what_if {
        const struct snapshot *v;
        struct percentile_table *table;
        size_t row; /* index of the first row that may be of the next target */
        struct resource_policy defaults[RESOURCES];
        struct arena scratch; /* memory for one target's numbers, reused */
        size_t cap, of_ns;    /* cap: room for sums; of_ns: first sum of this namespace */
};

static struct percentile_sum *what_if_sum(struct what_if *w, const struct snapshot_target *t)
{
        struct percentile_table *to = w->table;
        const struct snapshot_profile *p = t->profile;
        const char *profile_ns = p->ns ? p->ns : "";
        if (w->of_ns < to->sums && strcmp(to->sum[w->of_ns].ns, t->ns) != 0)
                w->of_ns = to->sums;
        for (size_t i = w->of_ns; i < to->sums; i++)
                if (strcmp(to->sum[i].profile, p->name) == 0 && strcmp(to->sum[i].profile_ns, profile_ns) == 0)
                        return &to->sum[i];
        if (to->sums == w->cap)
                to->sum = mem_resize(to->sum, w->cap = w->cap ? 2 * w->cap : 64, sizeof *to->sum);
        to->sum[to->sums] = (struct percentile_sum){.profile_ns = arena_text(&to->arena, text_of(profile_ns)),
                                                    .profile = arena_text(&to->arena, text_of(p->name)),
                                                    .ns = arena_text(&to->arena, text_of(t->ns))};
        return &to->sum[to->sums++];
}

static void what_if_add(struct what_if *w, const struct snapshot_target *t)
{
        struct percentile_sum *sum = what_if_sum(w, t);
        const struct correct_subject s = {t, snapshot_find_ns(w->v, text_of(t->ns)), &t->profile->spec->apply,
                                          w->defaults};
        const struct percentile_row key = {.ns = t->ns, .recommendation = t->recommendation};
        struct status_container *tried[TRIED];
        for (int i = 0; i < TRIED; i++) {
                tried[i] = arena_new(&w->scratch, (size_t)(t->containers + 1) * sizeof **tried);
                memcpy(tried[i], t->container, t->containers * sizeof **tried);
        }
        const struct percentile_row *row = w->table->row, *end = row + w->table->rows;
        for (row += w->row; row < end && what_if_compare_rows(row, &key) < 0; row++)
                w->row++;
        for (; row < end && what_if_compare_rows(row, &key) == 0; row++)
                for (int at = 0; at < t->containers; at++)
                        if (strcmp(row->container, t->container[at].name) == 0)
                                what_if_container(&s, at, row, tried);
        sum->workloads++;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                what_if_raise(&sum->now[r], what_if_saving(t, t->container, r));
                for (int i = 0; i < TRIED; i++)
                        what_if_raise(&sum->tried[r][i], what_if_saving(t, tried[i], r));
        }
        arena_reset(&w->scratch);
}

static int what_if_compare_sums(const void *left, const void *right)
{
        const struct percentile_sum *a = left, *b = right;
        int way = strcmp(a->profile_ns, b->profile_ns);
        return way ? way : strcmp(a->profile, b->profile);
}

static void what_if_sum_up(const struct snapshot *v, struct percentile_table *table)
{
        struct what_if w = {.v = v, .table = table};
        for (enum resource r = CPU; r < RESOURCES; r++)
                resource_policy_defaults(r, &w.defaults[r]);
        if (table->rows)
                qsort(table->row, table->rows, sizeof *table->row, what_if_compare_rows);
        for (size_t i = 0; i < v->targets; i++)
                if (v->target[i]->profile && v->target[i]->profile->spec && target_sums_takes(v->target[i]))
                        what_if_add(&w, v->target[i]);
        if (table->sums)
                qsort(table->sum, table->sums, sizeof *table->sum, what_if_compare_sums);
        arena_release(&w.scratch);
}

/* --- the answer --- */

static void what_if_write_resource(struct writer *w, const struct percentile_sum *s, enum resource r)
{
        writer_open(w, resource_name(r), '{');
        writer_amount(w, "saving", r, (struct amount){true, s->now[r]});
        writer_open(w, "tried", '[');
        for (int i = 0; i < TRIED; i++)
                writer_amount(w, NULL, r, (struct amount){true, s->tried[r][i]});
        writer_close(w, ']');
        writer_close(w, '}');
}

static void what_if_write_one(struct writer *w, const struct percentile_sum *s)
{
        writer_open(w, NULL, '{');
        writer_text(w, "kind", *s->profile_ns ? TEXT("Profile") : TEXT("ClusterProfile"));
        if (*s->profile_ns)
                writer_text(w, "namespace", text_of(s->profile_ns));
        writer_text(w, "name", text_of(s->profile));
        writer_int(w, "workloads", s->workloads);
        for (enum resource r = CPU; r < RESOURCES; r++)
                what_if_write_resource(w, s, r);
        writer_close(w, '}');
}

static void what_if_merge(struct percentile_sum *to, const struct percentile_sum *from)
{
        to->workloads += from->workloads;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                what_if_raise(&to->now[r], from->now[r]);
                for (int i = 0; i < TRIED; i++)
                        what_if_raise(&to->tried[r][i], from->tried[r][i]);
        }
}

/* Write one sum for each profile. The table's sums of one profile stand together; for a list of namespace `ns`, only
 * that one's count. */
static void what_if_write_sums(struct writer *w, const struct percentile_table *t, const char *ns)
{
        size_t written = 0;
        for (size_t i = 0; i < t->sums && written < SUMS_MOST;) {
                struct percentile_sum all = {.profile_ns = t->sum[i].profile_ns, .profile = t->sum[i].profile};
                for (; i < t->sums && what_if_compare_sums(&all, &t->sum[i]) == 0; i++)
                        if (!*ns || strcmp(t->sum[i].ns, ns) == 0)
                                what_if_merge(&all, &t->sum[i]);
                if (all.workloads == 0)
                        continue;
                what_if_write_one(w, &all);
                written++;
        }
}

void route_what_if(const struct route *route, const struct request *r, const struct snapshot *v,
                   struct percentile_table *percentiles, struct arena *a, struct answer *ret)
{
        assert(route->name == ROUTE_WHAT_IF);
        if (!percentiles) {
                answer_problem(ret, PROBLEM_UNAVAILABLE,
                               "what was learned is known only to the halflife that learns, which cannot be asked now");
                return;
        }
        pthread_mutex_lock(&percentiles->lock);
        if (!percentiles->summed)
                what_if_sum_up(v, percentiles);
        percentiles->summed = true;
        pthread_mutex_unlock(&percentiles->lock);
        struct writer w = answer_begin(ret);
        writer_open(&w, NULL, '{');
        writer_open(&w, "percentiles", '[');
        for (int i = 0; i < TRIED; i++)
                writer_int(&w, NULL, percentiles_tried[i] / 10);
        writer_close(&w, ']');
        writer_open(&w, "items", '[');
        what_if_write_sums(&w, percentiles, route->ns);
        writer_close(&w, ']');
        if (percentiles->left)
                writer_int(&w, "left", (int64_t)percentiles->left);
        writer_close(&w, '}');
        answer_tag(ret, r->if_none_match, a);
        answer_age(v, r->at, a, ret);
}
