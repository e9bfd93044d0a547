/*
 * GET …/profiles: the profiles with their settings, and for each profile sums over the workloads that it selects.
 */
#include <stdio.h>
#include <stdlib.h>

#include "target_sums.h"

enum { PROFILES_MOST = 1000 };

static void profiles_write_factor(struct writer *w, const char *key, int thousandths)
{
        char text[24];
        int len = snprintf(text, sizeof text, "%d.%03d", thousandths / 1000, thousandths % 1000);
        while (text[len - 1] == '0')
                len--;
        len -= text[len - 1] == '.';
        writer_text(w, key, (struct text){text, (size_t)len});
}

static void profiles_write_resource(struct writer *w, enum resource r, const struct resource_policy *p)
{
        writer_open(w, resource_name(r), '{');
        writer_bool(w, "enabled", p->enabled);
        writer_int(w, "percentile", p->percentile / 10);
        profiles_write_factor(w, "multiplier", p->multiplier);
        writer_int(w, "halfLifeSeconds", p->half_life_ms / SECOND_MS);
        writer_close(w, '}');
}

static void profiles_write_spec(struct writer *w, const struct profile_spec *s)
{
        writer_text(w, "mode", text_of(apply_mode_name(s->apply.mode)));
        writer_text(w, "dimension", text_of(dimension_name(s->dimension)));
        writer_bool(w, "paused", s->paused);
        writer_int(w, "priority", s->priority);
        writer_int(w, "canaryPercent", s->apply.canary.percent);
        writer_open(w, "resources", '{');
        for (enum resource r = CPU; r < RESOURCES; r++)
                profiles_write_resource(w, r, &s->of[r]);
        writer_close(w, '}');
}

static void profiles_write_fuses(struct writer *w, const struct snapshot_profile *p)
{
        if (!p->fused_count)
                return;
        writer_open(w, "fuseBlownFor", '[');
        for (size_t i = 0; i < p->fused_count; i++)
                writer_text(w, NULL, text_of(p->fused[i]));
        writer_close(w, ']');
}

static void profiles_write_one(struct writer *w, const struct snapshot_profile *p, const struct target_sums *sums)
{
        writer_open(w, NULL, '{');
        writer_text(w, "kind", p->ns ? TEXT("Profile") : TEXT("ClusterProfile"));
        if (p->ns)
                writer_text(w, "namespace", text_of(p->ns));
        writer_text(w, "name", text_of(p->name));
        if (p->spec && !p->unseen)
                profiles_write_spec(w, p->spec);
        writer_bool(w, "canaryClosed", p->canary_closed);
        writer_bool(w, "leftOut", p->left_out);
        writer_bool(w, "unreadable", p->unreadable);
        profiles_write_fuses(w, p);
        target_sums_write(w, sums);
        writer_close(w, '}');
}

/* Whether the answer shows the profile. A list of one namespace leaves out Profiles of others, but has ClusterProfiles,
 * which select anywhere. */
static bool profiles_shows(const struct ask *k, const struct snapshot_profile *p)
{
        return !*k->route->ns || !p->ns || strcmp(p->ns, k->route->ns) == 0;
}

struct profiles_place {
        const struct snapshot_profile *profile;
        struct target_sums *sums;
};

static int profiles_place_compare(const void *left, const void *right)
{
        uintptr_t a = (uintptr_t)((const struct profiles_place *)left)->profile,
                  b = (uintptr_t)((const struct profiles_place *)right)->profile;
        return (a > b) - (a < b);
}

/* Sum up the targets: one sum for each profile, in the order of the view, and a last one for targets without a
 * profile. */
static struct target_sums *profiles_sum(struct ask *k)
{
        const struct snapshot *v = k->v;
        struct target_sums *sums = arena_new(k->a, (v->profiles + 1) * sizeof *sums);
        struct profiles_place *place = arena_new(k->a, (v->profiles + 1) * sizeof *place);
        for (size_t i = 0; i < v->profiles; i++)
                place[i] = (struct profiles_place){v->profile[i], &sums[i]};
        qsort(place, v->profiles, sizeof *place, profiles_place_compare);
        for (size_t i = 0; i < v->targets; i++) {
                const struct snapshot_target *t = v->target[i];
                if ((*k->route->ns && strcmp(t->ns, k->route->ns) != 0) || !target_sums_takes(t))
                        continue;
                const struct profiles_place key = {t->profile, NULL},
                                            *found = bsearch(&key, place, v->profiles, sizeof *place,
                                                             profiles_place_compare);
                target_sums_add(found ? found->sums : &sums[v->profiles], t);
        }
        return sums;
}

static void profiles_write_unlisted(struct writer *w, const struct snapshot *v)
{
        if (!v->unlisted[0] && !v->unlisted[1])
                return;
        writer_open(w, "unlisted", '[');
        for (int i = 0; i < 2; i++)
                if (v->unlisted[i])
                        writer_text(w, NULL, text_of(v->unlisted[i]));
        writer_close(w, ']');
}

void answer_profiles(struct ask *k)
{
        const struct snapshot *v = k->v;
        const struct target_sums *sums = profiles_sum(k);
        size_t written = 0;
        struct writer w = answer_begin(k->ret);
        writer_open(&w, NULL, '{');
        writer_open(&w, "items", '[');
        for (size_t i = 0; i < v->profiles && written < PROFILES_MOST; i++)
                if (profiles_shows(k, v->profile[i])) {
                        profiles_write_one(&w, v->profile[i], &sums[i]);
                        written++;
                }
        writer_close(&w, ']');
        writer_open(&w, "without", '{');
        target_sums_write(&w, &sums[v->profiles]);
        writer_close(&w, '}');
        profiles_write_unlisted(&w, v);
        writer_close(&w, '}');
}
