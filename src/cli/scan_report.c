#include "scan_report.h"

#include <stdlib.h>
#include <string.h>

/* --- rows --- */

static struct scan_row *scan_report_row(struct scan_report *r)
{
        if (r->rows == r->cap) {
                r->cap = r->cap ? 2 * r->cap : 256;
                r->row = mem_resize(r->row, r->cap, sizeof *r->row);
        }
        struct scan_row *row = &r->row[r->rows++];
        *row = (struct scan_row){0};
        return row;
}

static int64_t scan_times(int64_t amount, int64_t replicas)
{
        int64_t product;
        return __builtin_mul_overflow(amount, replicas, &product) ? INT64_MAX : product;
}

static void scan_row_judge(struct scan_row *row, const struct plan_container *c, enum resource r)
{
        row->now[r] = plan_amount_of(c, r, PLAN_CURRENT);
        row->then[r] = plan_amount_of(c, r, PLAN_TARGET);
        row->used[r] = plan_amount_of(c, r, PLAN_MODEL);
        row->lower[r] = plan_amount_of(c, r, PLAN_LOWER);
        row->upper[r] = plan_amount_of(c, r, PLAN_UPPER);
        row->why[r] = c->advice.reason[r];
        row->held[r] = c->advice.gate[r].hold != REASON_NONE;
        row->lacks[r] = c->advice.of[r].under_provisioned;
        if (row->now[r].set && row->then[r].set && row->then[r].value < row->now[r].value)
                row->saving[r] = scan_times(row->now[r].value - row->then[r].value, row->replicas);
}

static char *scan_workload_name(const struct target *t)
{
        const struct kind *k = kind_find(text_of(t->group), text_of(t->kind));
        return mem_printf("%s/%s", k ? k->singular : t->kind, t->name);
}

/* Whether a container gets a row. Of a pod as target, only the sum of the containers does. A namespace or node gets
 * none, as its containers would count twice. */
static bool scan_counts(const struct plan *p, const struct plan_container *c)
{
        return p->target->dimension == DIMENSION_WORKLOAD ? c->role != ROLE_INIT : c->role == ROLE_WHOLE;
}

void scan_report_add(void *arg, const struct plan *p)
{
        struct scan_report *report = arg;
        const struct target *t = p->target;
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                if (!scan_counts(p, c))
                        continue;
                struct scan_row *row = scan_report_row(report);
                row->ns = mem_string(t->ns);
                row->workload = scan_workload_name(t);
                row->container = mem_string(c->name);
                row->profile = mem_string(t->profile->name);
                row->state = state_name(p->state);
                row->replicas = workload_replicas(t->workload);
                row->confidence_percent = c->facts.learned.confidence_percent;
                const struct history *h = history_find(t, c->name);
                row->samples = h ? h->usage.samples : 0;
                for (enum resource r = CPU; r < RESOURCES; r++)
                        scan_row_judge(row, c, r);
        }
}

/* --- sums --- */

static int scan_compare_places(const void *a, const void *b)
{
        const struct scan_row *x = a, *y = b;
        int way = strcmp(x->ns, y->ns);
        return way ? way : strcmp(x->workload, y->workload);
}

static int scan_compare_savings(const void *a, const void *b)
{
        const struct scan_row *x = a, *y = b;
        int way = (x->weight < y->weight) - (x->weight > y->weight);
        if (way == 0)
                way = (x->held_weight < y->held_weight) - (x->held_weight > y->held_weight);
        if (way == 0)
                way = scan_compare_places(a, b);
        return way ? way : strcmp(x->container, y->container);
}

static void scan_total_add(struct scan_total *t, const struct scan_row *row, bool another)
{
        t->workloads += another;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                int64_t *saving = row->held[r] ? &t->held[r] : &t->saving[r];
                t->now[r] =
                        add_saturated(t->now[r], row->now[r].set ? scan_times(row->now[r].value, row->replicas) : 0);
                *saving = add_saturated(*saving, row->saving[r]);
        }
}

/* Sum up the rows, which must be sorted by scan_compare_places. */
static void scan_report_sum(struct scan_report *r)
{
        r->total = mem_new_array(r->rows + 1, sizeof *r->total);
        for (size_t i = 0; i < r->rows; i++) {
                const struct scan_row *row = &r->row[i], *before = i ? row - 1 : NULL;
                if (!before || strcmp(before->ns, row->ns) != 0)
                        r->total[r->totals++].ns = row->ns;
                bool another = !before || scan_compare_places(before, row) != 0;
                scan_total_add(&r->total[r->totals - 1], row, another);
                scan_total_add(&r->all, row, another);
        }
}

/* Weigh a row's saving for sorting. To add cores and bytes, take both as shares of all requests. */
static void scan_row_weigh(struct scan_row *row, const struct scan_total *all)
{
        for (enum resource r = CPU; r < RESOURCES; r++) {
                double share = all->now[r] > 0 ? (double)row->saving[r] / (double)all->now[r] : 0;
                *(row->held[r] ? &row->held_weight : &row->weight) += share;
        }
}

void scan_report_finish(struct scan_report *r)
{
        if (!r->rows)
                return;
        qsort(r->row, r->rows, sizeof *r->row, scan_compare_places);
        scan_report_sum(r);
        for (size_t i = 0; i < r->rows; i++)
                scan_row_weigh(&r->row[i], &r->all);
        qsort(r->row, r->rows, sizeof *r->row, scan_compare_savings);
}

void scan_report_release(struct scan_report *r)
{
        for (size_t i = 0; i < r->rows; i++) {
                mem_free(r->row[i].ns);
                mem_free(r->row[i].workload);
                mem_free(r->row[i].container);
                mem_free(r->row[i].profile);
        }
        mem_free(r->row);
        mem_free(r->total);
        *r = (struct scan_report){0};
}

bool scan_report_exceeds(const struct scan_report *r, enum resource of, int percent)
{
        return (__int128)r->all.saving[of] * 100 > (__int128)r->all.now[of] * percent;
}
