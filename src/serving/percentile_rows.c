#include "serving/percentile_rows.h"

#include "core/profile_spec.h"

static void percentile_rows_read(const struct usage *u, enum resource r, struct percentile_row *row)
{
        struct histogram_place place;
        for (int i = 0; i < TRIED; i++) {
                bool learned = usage_place(u, r, percentiles_tried[i], &place) == 0;
                row->at[r][i] = learned ? place.value : -1;
                row->more[r][i] = learned && place.last;
        }
}

static void percentile_rows_history(struct percentile_table *to, const struct target *t, const struct history *h,
                                    struct wall now)
{
        bool ignored;
        int64_t day;
        const struct resource_policy *policy =
                profile_spec_container(t->profile->spec, text_of(h->container), &ignored);
        struct percentile_row *row = percentile_table_add(to, t->ns, t->recommendation, h->container);
        if (!row)
                return;
        for (enum resource r = CPU; r < RESOURCES; r++)
                percentile_rows_read(&h->usage, r, row);
        row->kill = usage_kill_hold(&h->usage, &policy[MEMORY], now);
        row->week = policy[MEMORY].weekly_peak ? usage_week_peak(&h->usage, now, &day) : 0;
}

struct percentile_table *percentile_rows_make(const struct cache *w, struct wall now)
{
        struct percentile_table *to = percentile_table_new();
        const struct target *t;
        for (size_t at = 0; (t = map_each(&w->targets, &at));)
                for (const struct history *h = t->profile ? t->histories : NULL; h; h = h->next)
                        percentile_rows_history(to, t, h, now);
        return to;
}
