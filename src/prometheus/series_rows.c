#include "series_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cgroup_choice.h"

struct raw_point {
        int64_t at_ms;
        uint32_t series, entry; /* entry: series_entry.number; put_in_order then makes both indices of sorted lists */
        enum resource resource;
        double value;
};

/* The series of one cgroup of a container, or of a node. */
struct series_entry {
        struct prometheus_series s; /* points into key */
        struct text cgroup;         /* points into key */
        uint32_t number;            /* order of arrival, from 0 */
        char key[];                 /* "ns/pod/container/cgroup" */
};

uint32_t series_rows_number(struct series_rows *rows, const struct prometheus_series *s, struct text cgroup)
{
        char *key = mem_printf("%.*s/%.*s/%.*s/%.*s", TEXT_ARG(s->ns), TEXT_ARG(s->pod), TEXT_ARG(s->container),
                               TEXT_ARG(cgroup));
        struct series_entry *e = map_get(&rows->by_name, text_of(key));
        if (!e) {
                size_t len = strlen(key);
                e = mem_new(sizeof *e + len + 1);
                memcpy(e->key, key, len + 1);
                e->s.ns = (struct text){e->key, s->ns.len};
                e->s.pod = (struct text){e->key + s->ns.len + 1, s->pod.len};
                e->s.container = (struct text){e->key + s->ns.len + s->pod.len + 2, s->container.len};
                e->cgroup = (struct text){e->key + len - cgroup.len, cgroup.len};
                e->number = (uint32_t)rows->entries;
                if (rows->entries == rows->entry_cap) {
                        rows->entry_cap = rows->entry_cap ? rows->entry_cap * 2 : 64;
                        rows->entry = mem_resize(rows->entry, rows->entry_cap, sizeof(struct series_entry *));
                }
                rows->entry[rows->entries++] = e;
                map_put(&rows->by_name, (struct text){e->key, len}, e);
        }
        mem_free(key);
        return e->number;
}

void series_rows_add(struct series_rows *rows, struct wall at, uint32_t number, enum resource r, double value)
{
        if (rows->raws == rows->raw_cap) {
                rows->raw_cap = rows->raw_cap ? rows->raw_cap * 2 : 1024;
                rows->raw = mem_resize(rows->raw, rows->raw_cap, sizeof *rows->raw);
        }
        rows->raw[rows->raws++] = (struct raw_point){.at_ms = at.ms, .entry = number, .resource = r, .value = value};
}

static int compare_series(const struct prometheus_series *x, const struct prometheus_series *y)
{
        int way = text_compare(x->ns, y->ns);
        if (way == 0)
                way = text_compare(x->pod, y->pod);
        return way ? way : text_compare(x->container, y->container);
}

static int compare_entries(const void *a, const void *b)
{
        const struct series_entry *x = *(struct series_entry *const *)a, *y = *(struct series_entry *const *)b;
        int way = compare_series(&x->s, &y->s);
        return way ? way : text_compare(x->cgroup, y->cgroup);
}

static int compare_points(const void *a, const void *b)
{
        const struct raw_point *x = a, *y = b;
        if (x->at_ms != y->at_ms)
                return x->at_ms < y->at_ms ? -1 : 1;
        if (x->series != y->series)
                return x->series < y->series ? -1 : 1;
        if (x->resource != y->resource)
                return x->resource < y->resource ? -1 : 1;
        return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Sort the series by name and the points by time. Cgroups of one container share a series. */
static void put_in_order(struct series_rows *rows, struct prometheus_series **ret_series, size_t *ret_count)
{
        struct place {
                uint32_t entry, series;
        } *place = mem_new_array(rows->entries + 1, sizeof *place);
        size_t count = 0;
        struct prometheus_series *series = mem_new_array(rows->entries + 1, sizeof *series);
        if (rows->entries)
                qsort(rows->entry, rows->entries, sizeof(struct series_entry *), compare_entries);
        for (size_t i = 0; i < rows->entries; i++) {
                if (count == 0 || compare_series(&series[count - 1], &rows->entry[i]->s) != 0)
                        series[count++] = rows->entry[i]->s;
                place[rows->entry[i]->number] = (struct place){(uint32_t)i, (uint32_t)(count - 1)};
        }
        for (size_t i = 0; i < rows->raws; i++) {
                rows->raw[i].series = place[rows->raw[i].entry].series;
                rows->raw[i].entry = place[rows->raw[i].entry].entry;
        }
        if (rows->raws)
                qsort(rows->raw, rows->raws, sizeof *rows->raw, compare_points);
        mem_free(place);
        *ret_series = series;
        *ret_count = count;
}

/* The number of points from index `from` on with the same time, series and resource. Each is from another cgroup. */
static size_t series_rows_run(const struct series_rows *rows, size_t from)
{
        const struct raw_point *raw = &rows->raw[from];
        size_t n = 1;
        while (from + n < rows->raws && raw[n].at_ms == raw->at_ms && raw[n].series == raw->series &&
               raw[n].resource == raw->resource)
                n++;
        return n;
}

static double series_rows_choose(const struct series_rows *rows, size_t from, size_t count, bool *ret_doubt)
{
        struct cgroup_value *c = mem_new_array(count, sizeof *c);
        for (size_t i = 0; i < count; i++)
                c[i] = (struct cgroup_value){rows->entry[rows->raw[from + i].entry]->cgroup, rows->raw[from + i].value};
        double chosen = cgroup_choose(c, count, ret_doubt);
        mem_free(c);
        return chosen;
}

/* Join the values of both resources of a series at the same time into one point. */
static struct prometheus_point *join_points(const struct series_rows *rows, size_t *ret_count)
{
        struct prometheus_point *point = mem_new_array(rows->raws + 1, sizeof *point);
        size_t n = 0;
        for (size_t i = 0, run; i < rows->raws; i += run) {
                const struct raw_point *raw = &rows->raw[i];
                bool doubt = false,
                     joins = n > 0 && point[n - 1].at.ms == raw->at_ms && point[n - 1].series == raw->series;
                struct prometheus_point *p = joins ? &point[n - 1] : &point[n++];
                p->at.ms = raw->at_ms;
                p->series = raw->series;
                p->has[raw->resource] = true;
                run = series_rows_run(rows, i);
                p->value[raw->resource] = run == 1 ? raw->value : series_rows_choose(rows, i, run, &doubt);
                p->doubtful |= doubt;
        }
        *ret_count = n;
        return point;
}

void series_rows_join(struct series_rows *rows, struct prometheus_answer *ret)
{
        put_in_order(rows, &rows->series, &ret->series_count);
        rows->point = join_points(rows, &ret->points);
        ret->series = rows->series;
        ret->point = rows->point;
}

void series_rows_release(struct series_rows *rows)
{
        for (size_t i = 0; i < rows->entries; i++)
                mem_free(rows->entry[i]);
        mem_free(rows->entry);
        map_release(&rows->by_name);
        mem_free(rows->raw);
        mem_free(rows->series);
        mem_free(rows->point);
}
