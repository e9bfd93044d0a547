/*
 * The apply state of a target as JSON for the store.
 */
#include "cache/apply_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/yaml.h"
#include "cache/guard_state.h"
#include "cache/imported_sources.h"
#include "cache/pod_canary.h"
#include "cache/usage_starts_json.h"

static const int64_t apply_state_step_most_ms = 7 * (int64_t)DAY_MS;

int64_t apply_state_step_bound(int64_t ms)
{
        return ms < 0 ? 0 : ms > apply_state_step_most_ms ? apply_state_step_most_ms : ms;
}

/* --- what containers need while they start --- */

static json_t *starts_of_all(const struct target *t)
{
        json_t *all = NULL;
        for (const struct history *h = t->histories; h; h = h->next) {
                if (!h->usage.starts)
                        continue;
                all = all ? all : json_object();
                json_t *starts = usage_starts_print(h->usage.starts);
                if (!t->backfilled && h->usage.starts->live_since_ms > 0)
                        json_object_set_new(starts, "since", json_integer(h->usage.starts->live_since_ms));
                json_object_set_new(all, h->container, starts);
        }
        return all;
}

/* --- a target's record --- */

char *apply_state_print(const struct target *t, bool starts)
{
        const struct apply_state *d = &t->apply_state;
        char digest[20];
        snprintf(digest, sizeof digest, "%016llx", (unsigned long long)d->digest);
        json_t *o = json_pack("{s:I, s:s, s:i, s:I, s:I, s:I, s:I, s:s, s:b, s:b}", "changed",
                              (json_int_t)d->changed_ms, "digest", digest, "resets", d->resets, "resetSeen",
                              (json_int_t)d->reset_seen_ms, "contestedUntil", (json_int_t)d->contested_ms,
                              "contestStep", (json_int_t)d->contest_step_ms, "killed", (json_int_t)t->kill_ms,
                              "version", t->version ? t->version : "", "rolling", t->rolling, "inPlace", d->in_place);
        if (t->backfilled)
                json_object_set_new(o, "backfilled", json_true());
        limit_harms_print(t, o);
        if (d->containers)
                json_object_set_new(o, "containers", json_string(d->containers));
        if (d->passed_ms)
                json_object_set_new(o, "stood", json_integer(d->passed_ms));
        if (d->followed_ms)
                json_object_set_new(o, "followed", json_integer(d->followed_ms));
        if (d->pod_canary)
                json_object_set_new(o, "trial", json_string(d->pod_canary->containers));
        if (d->contest)
                json_object_set_new(o, "contest", json_string(d->contest));
        if (d->admitted)
                json_object_set_new(o, "admitted", json_string(d->admitted));
        if (t->imported)
                json_object_set_new(o, "imported", imported_print(t));
        if (t->hold)
                json_object_set_new(o, "hold", json_string(t->hold));
        if (d->guard)
                json_object_set_new(o, "guard", guard_state_print(d->guard));
        json_t *all = starts ? starts_of_all(t) : NULL;
        if (all)
                json_object_set_new(o, "starts", all);
        char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(9));
        json_decref(o);
        return text;
}

void apply_state_read(struct cache *w, struct target *t, struct text record)
{
        AUTO(json_decref) json_t *o = json_loadb(record.p, record.len, 0, NULL);
        struct apply_state *d = &t->apply_state;
        const char *digest = json_string_value(json_object_get(o, "digest"));
        const char *version = json_string_value(json_object_get(o, "version"));
        d->changed_ms = time_kept(o, "changed");
        d->digest = digest ? strtoull(digest, NULL, 16) : 0;
        d->resets = time_kept(o, "resets") > 0;
        d->reset_seen_ms = time_kept(o, "resetSeen");
        d->contested_ms = time_kept(o, "contestedUntil");
        d->contest_step_ms = apply_state_step_bound(time_kept(o, "contestStep"));
        target_set_applied(w, t, mem_string(json_string_value(json_object_get(o, "containers"))),
                           json_is_true(json_object_get(o, "inPlace")));
        d->passed_ms = json_integer_value(json_object_get(o, "stood")) < 0 ? -1 : time_kept(o, "stood");
        d->followed_ms = time_kept(o, "followed");
        const char *rest = json_string_value(json_object_get(o, "trial"));
        if (rest && d->in_place)
                pod_canary_begin(w, t, mem_string(rest));
        d->contest = mem_string(json_string_value(json_object_get(o, "contest")));
        target_set_admitted(w, t, json_string_value(json_object_get(o, "admitted")));
        mem_free(t->hold);
        t->hold = mem_string(json_string_value(json_object_get(o, "hold")));
        guard_state_read(t, json_object_get(o, "guard"));
        t->kill_ms = time_kept(o, "killed");
        limit_harms_read(w, t, o);
        t->rolling = json_is_true(json_object_get(o, "rolling"));
        t->backfilled = json_is_true(json_object_get(o, "backfilled"));
        imported_read(w, t, json_object_get(o, "imported"));
        if (version)
                t->version = intern_text(w->names, text_of(version));
}
