#include "cache/limit_harms.h"

#include "cache/cache.h"
#include "cache/json_values.h"
#include "cache/oom_kill.h"

static struct limit_harm *limit_harms_at(const struct target *t, const char *container)
{
        for (int i = 0; t->limit_harms && i < t->limit_harms->rows; i++)
                if (t->limit_harms->row[i].container == container)
                        return &t->limit_harms->row[i];
        return NULL;
}

const struct limit_harm *limit_harms_find(const struct target *t, const char *container)
{
        return limit_harms_at(t, container);
}

const struct limit_harm *limit_harms_newest(const struct target *t)
{
        const struct limit_harm *newest = NULL;
        for (int i = 0; t->limit_harms && i < t->limit_harms->rows; i++)
                if (!newest || t->limit_harms->row[i].kill.at_ms > newest->kill.at_ms)
                        newest = &t->limit_harms->row[i];
        return newest && newest->kill.at_ms > 0 ? newest : NULL;
}

/* Add an empty row for one more container. */
static struct limit_harm *limit_harms_add(struct target *t)
{
        struct limit_harms *all = t->limit_harms;
        int rows = all ? all->rows : 0;
        all = mem_resize(all, 1, sizeof *all + (size_t)(rows + 1) * sizeof all->row[0]);
        all->rows = rows + 1;
        all->row[rows] = (struct limit_harm){0};
        t->limit_harms = all;
        return &all->row[rows];
}

static struct limit_harm *limit_harms_oldest(const struct target *t)
{
        struct limit_harm *oldest = &t->limit_harms->row[0];
        for (int i = 1; i < t->limit_harms->rows; i++)
                if (t->limit_harms->row[i].kill.at_ms < oldest->kill.at_ms)
                        oldest = &t->limit_harms->row[i];
        return oldest;
}

/* The row of a container. An unknown container gets a new row, or the oldest one if all rows are in use. */
static struct limit_harm *limit_harms_get(struct cache *w, struct target *t, const char *container)
{
        struct limit_harm *row = limit_harms_at(t, container);
        if (row)
                return row;
        bool full = t->limit_harms && t->limit_harms->rows == VIEW_CONTAINERS;
        row = full ? limit_harms_oldest(t) : limit_harms_add(t);
        intern_drop(w->names, row->container);
        *row = (struct limit_harm){.container = intern_keep(container)};
        return row;
}

static void limit_harms_keep(struct cache *w, struct target *t, const char *container, struct limit_kill kill)
{
        struct limit_harm *row = limit_harms_get(w, t, container);
        if (kill.at_ms > row->kill.at_ms)
                row->kill = kill;
}

void limit_harms_kill(struct cache *w, struct target *t, const struct oom_kill *k)
{
        limit_harms_keep(w, t, k->container, (struct limit_kill){k->at.ms, (int64_t)k->limit});
}

void limit_harms_inherit(struct cache *w, struct target *t, const struct target *old)
{
        for (int i = 0; limit_harms_newest(old) && i < old->limit_harms->rows; i++) {
                if (old->limit_harms->row[i].kill.at_ms == 0)
                        continue;
                limit_harms_keep(w, t, old->limit_harms->row[i].container, old->limit_harms->row[i].kill);
                t->apply_state_dirty = true;
        }
}

void limit_harms_forget(struct cache *w, struct target *t)
{
        for (int i = 0; t->limit_harms && i < t->limit_harms->rows; i++)
                intern_drop(w->names, t->limit_harms->row[i].container);
        mem_free(t->limit_harms);
        t->limit_harms = NULL;
}

/* --- throttling --- */

/* May a container's throttling get a row? No if kills take all rows: a kill is known only here, throttling can be
 * measured again. */
static bool limit_harms_may_measure(const struct target *t, const char *container)
{
        bool full = t->limit_harms && t->limit_harms->rows == VIEW_CONTAINERS;
        return !full || limit_harms_find(t, container) || limit_harms_oldest(t)->kill.at_ms == 0;
}

void limit_harms_measure(struct cache *w, struct target *t, const char *container, double percent, int64_t limit)
{
        struct limit_harm *row = limit_harms_may_measure(t, container) ? limit_harms_get(w, t, container) : NULL;
        if (!row || !(percent > (double)row->measured_percent))
                return;
        row->measured_percent = (float)percent;
        row->measured_limit = limit;
}

static void limit_harms_drop_empty(struct cache *w, struct target *t)
{
        int kept = 0;
        for (int i = 0; i < t->limit_harms->rows; i++) {
                const struct limit_harm row = t->limit_harms->row[i];
                if (row.kill.at_ms > 0 || row.throttled_percent > 0)
                        t->limit_harms->row[kept++] = row;
                else
                        intern_drop(w->names, row.container);
        }
        t->limit_harms->rows = kept;
        if (kept == 0)
                limit_harms_forget(w, t);
}

void limit_harms_measured(struct cache *w, struct target *t)
{
        if (!t->limit_harms)
                return;
        for (int i = 0; i < t->limit_harms->rows; i++) {
                struct limit_harm *row = &t->limit_harms->row[i];
                row->throttled_percent =
                        (uint8_t)limit_throttle_next(row->throttled_percent, (double)row->measured_percent);
                row->throttled_limit = row->measured_limit;
                row->measured_percent = 0;
                row->measured_limit = 0;
        }
        limit_harms_drop_empty(w, t);
}

void limit_harms_recall(struct cache *w, struct target *t)
{
        const struct recommendation_status *s = t->published ? &t->published->status : NULL;
        for (int i = 0; s && s->limits && i < s->limits->rows; i++) {
                const struct status_limit *l = &s->limits->row[i];
                if (l->reason != LIMIT_THROTTLED)
                        continue;
                struct limit_harm *row = limit_harms_get(w, t, s->container[l->container].name);
                row->throttled_percent = l->percent;
                row->throttled_limit = l->current;
        }
}

void limit_harms_unmeasured(struct target *t)
{
        for (int i = 0; t->limit_harms && i < t->limit_harms->rows; i++)
                t->limit_harms->row[i].throttled_percent = 0;
}

/* --- kills by limits, in the store --- */

void limit_harms_print(const struct target *t, json_t *record)
{
        const struct limit_harm *newest = limit_harms_newest(t);
        if (!newest)
                return;
        json_t *kills = json_object();
        for (int i = 0; i < t->limit_harms->rows; i++) {
                const struct limit_harm *row = &t->limit_harms->row[i];
                if (row->kill.at_ms > 0)
                        json_object_set_new(kills, row->container,
                                            json_pack("{s:I, s:I}", "at", (json_int_t)row->kill.at_ms, "limit",
                                                      (json_int_t)row->kill.limit));
        }
        json_object_set_new(record, "limitKills", kills);
        /* the version of halflife before reads only the newest kill */
        json_object_set_new(record, "killedByLimit", json_integer(newest->kill.at_ms));
        json_object_set_new(record, "limitOf", json_string(newest->container));
}

static void limit_harms_read_kill(struct cache *w, struct target *t, const char *container, struct limit_kill kill)
{
        const char *name = intern_text(w->names, text_of(container));
        if (kill.at_ms > 0)
                limit_harms_keep(w, t, name, kill);
        intern_drop(w->names, name);
}

void limit_harms_read(struct cache *w, struct target *t, const json_t *record)
{
        const char *container, *of = json_string_value(json_object_get(record, "limitOf"));
        json_t *kills = json_object_get(record, "limitKills"), *kill;
        json_object_foreach(kills, container, kill)
        {
                int64_t limit = (int64_t)json_integer_value(json_object_get(kill, "limit"));
                limit_harms_read_kill(w, t, container,
                                      (struct limit_kill){time_kept(kill, "at"), limit > 0 ? limit : 0});
        }
        if (of) /* the only kill in a record by the version before; in a newer record it was read above */
                limit_harms_read_kill(w, t, of, (struct limit_kill){time_kept(record, "killedByLimit"), 0});
}
