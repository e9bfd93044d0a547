/*
 * The state of the fuses: counts the changes that the guard took back, and stores them. Once the cluster's fuse is
 * blown, no request is lowered until a person resets the fuse. The status of every profile and an annotation of the
 * Lease then report it. A blown fuse of a profile is in the status of that profile. Database, Lease and statuses are
 * kept in agreement here, so that the loss of one of them does not reset a fuse.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "cache/profile_fuse.h"
#include "safety_private.h"

enum { TIME_LEN = 20 /* length of a time such as "2026-11-22T02:00:00Z" */ };

const char *fuse_blown(const struct safety *safety)
{
        return safety->fuse.blown;
}

enum fuse_word fuse_read(struct text note, int64_t *ret_at_ms)
{
        static const char reset[] = "reset ";
        struct wall at = {0};
        bool is_reset = note.len >= sizeof reset - 1 && memcmp(note.p, reset, sizeof reset - 1) == 0;
        *ret_at_ms = 0;
        if (note.len == 0)
                return FUSE_NOTHING;
        if (is_reset) {
                note.p += sizeof reset - 1;
                note.len -= sizeof reset - 1;
        }
        if (note.len >= TIME_LEN && wall_parse(note.p, TIME_LEN, &at) == 0)
                *ret_at_ms = at.ms;
        return is_reset ? FUSE_RESET : FUSE_BLOWN;
}

/* --- storing --- */

static json_t *profiles_json(const struct safety *safety)
{
        const struct profile *p;
        json_t *profiles = json_object();
        for (size_t at = 0; (p = map_each(&safety->cache->profiles, &at));)
                json_object_set_new(profiles, p->key, profile_fuses_json(p)); /* NULL (no blown fuse) sets nothing */
        return profiles;
}

void fuse_store(struct safety *safety)
{
        struct fuse *f = &safety->fuse;
        AUTO(json_decref)
        json_t *o = json_pack("{s:I, s:o, s:o}", "reset", (json_int_t)f->reset_ms, "guards", fuse_guards_json(f),
                              "profiles", f->loaded ? json_incref(f->loaded) : profiles_json(safety));
        if (f->blown)
                json_object_set_new(o, "blown", json_string(f->blown));
        char *text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
        checkpointer_note(safety->checkpointer, "fuse", text_of(text));
        free(text);
}

static void set_blown(struct fuse *f, const char *text)
{
        mem_free(f->blown);
        f->blown = mem_string(text);
        f->blown_ms = 0;
        if (f->blown)
                (void)fuse_read(text_of(f->blown), &f->blown_ms);
}

void fuse_load(struct safety *safety, struct text value)
{
        struct fuse *f = &safety->fuse;
        AUTO(json_decref) json_t *o = json_loadb(value.p, value.len, 0, NULL);
        fuse_guards_read(f, json_object_get(o, "guards"));
        f->reset_ms = (int64_t)json_integer_value(json_object_get(o, "reset"));
        set_blown(f, json_string_value(json_object_get(o, "blown")));
        json_decref(f->loaded);
        f->loaded = json_incref(json_object_get(o, "profiles"));
}

void fuse_release(struct fuse *f)
{
        fuse_guards_release(f);
        json_decref(f->loaded);
        mem_free(f->blown);
        mem_free(f->shown);
        *f = (struct fuse){0};
}

/* --- blowing --- */

/* Emit an Event about a blown fuse on the workload. It names no other workload, as the log, the Lease and the
 * ClusterProfile do: a tenant may read the Events of its namespace. */
static void fuse_tell(struct safety *safety, const struct target *t, const char *what, const char *count)
{
        AUTO(mem_free)
        char *note = mem_printf("%s: %s, and the change of this workload is the last of them", what, count);
        notice_event(safety->notices, t, true, "Fuse", note);
        schedule_pass(safety->leadership);
}

static void fuse_blow(struct safety *safety, const struct target *t, const struct fuse_guard *g)
{
        struct fuse *f = &safety->fuse;
        char time[WALL_TEXT_MAX];
        AUTO(mem_free) char *why = fuse_guards_words(f, g, FUSE_CLUSTER, true);
        AUTO(mem_free) char *count = fuse_guards_words(f, g, FUSE_CLUSTER, false);
        AUTO(mem_free) char *blown = mem_printf("%s: %s", wall_print(loop_now(safety->loop).wall, time), why);
        set_blown(f, blown);
        log_error("the fuse is blown: nothing is lowered until a person resets it", KV("why", f->blown),
                  KV("cure", "halflife resume --fuse"));
        fuse_tell(safety, t, "the fuse is blown", count);
}

static void fuse_blow_profile(struct safety *safety, const struct target *t, const struct fuse_guard *g,
                              enum fuse_scope scope)
{
        struct fuse *f = &safety->fuse;
        struct profile *p = t->profile;
        bool whole = scope == FUSE_PROFILE || p->ns || p->fuses.count >= PROFILE_FUSES_MOST;
        AUTO(mem_free) char *why = fuse_guards_words(f, g, scope, true);
        AUTO(mem_free) char *count = fuse_guards_words(f, g, scope, false);
        profile_fuse_blow(p, whole ? "" : t->ns, whole_second(g->at_ms), p->generation, why);
        fuse_guards_end(f, p->key, whole ? NULL : t->ns);
        log_error(
                "the fuse of a profile is blown: nothing of it is lowered until its spec is changed or the fuse reset",
                KV("kind", profile_kind(p)), KV("profile", p->key), KV("namespace", whole ? "" : t->ns), KV("why", why),
                KV("cure", "halflife resume --fuse"));
        fuse_tell(safety, t, "the fuse of the profile is blown", count);
}

void fuse_count(struct safety *safety, const struct target *t, bool owner_changed)
{
        struct fuse *f = &safety->fuse;
        int64_t now_ms = loop_now(safety->loop).wall.ms;
        if (owner_changed || safety->live->fuse_guards == 0 || f->blown || target_fused(t))
                return;
        AUTO(mem_free) char *name = mem_printf("%s/%s/%s", t->ns, t->kind, t->name);
        AUTO(mem_free) char *profile = mem_string(t->profile ? t->profile->key : "");
        struct fuse_guard g = {now_ms, name, profile, FUSE_NOWHERE};
        fuse_guards_forget_old(f, now_ms);
        enum fuse_scope blows = fuse_count_guard(&g, f->guard, f->guards, safety->live->fuse_guards);
        if (g.reach == FUSE_NOWHERE)
                return;
        fuse_guards_add(f, now_ms, name, profile, g.reach);
        if (blows == FUSE_CLUSTER)
                fuse_blow(safety, t, &g);
        else if (blows != FUSE_NOWHERE)
                fuse_blow_profile(safety, t, &g, blows);
        fuse_store(safety);
}

/* --- resetting --- */

static void fuse_mend(struct safety *safety, int64_t at_ms, const char *who)
{
        struct fuse *f = &safety->fuse;
        f->reset_ms = at_ms;
        fuse_guards_release(f);
        set_blown(f, NULL);
        fuse_store(safety);
        log_info("the fuse was reset: changes go on", KV("by", who));
        schedule_pass(safety->leadership);
}

/* Take over a person's reset while the cluster's fuse is not blown: the next settle then resets the fuses of profiles
 * that blew before at_ms. */
static void fuse_heed(struct safety *safety, int64_t at_ms)
{
        safety->fuse.reset_ms = at_ms;
        fuse_guards_release(&safety->fuse);
        fuse_store(safety);
        schedule_pass(safety->leadership);
}

static const char *reset_words(struct fuse *f)
{
        char time[WALL_TEXT_MAX];
        snprintf(f->reset, sizeof f->reset, "reset %s", wall_print((struct wall){f->reset_ms}, time));
        return f->reset;
}

static void fuse_take(struct safety *safety, const char *note)
{
        set_blown(&safety->fuse, note);
        fuse_store(safety);
        log_error("the Lease says that the fuse is blown: nothing is lowered until a person resets it", KV("why", note),
                  KV("cure", "halflife resume --fuse"));
        schedule_pass(safety->leadership);
}

const char *fuse_noted(void *arg, const char *uid, const char *note)
{
        struct safety *safety = arg;
        struct fuse *f = &safety->fuse;
        int64_t at_ms, now_ms = loop_now(safety->loop).wall.ms;
        enum fuse_word word = fuse_read(text_of(note ? note : ""), &at_ms);
        bool dated = word == FUSE_RESET && at_ms <= now_ms;
        const struct fuse_facts facts = {
                .blown = f->blown != NULL,
                .blown_ms = f->blown_ms,
                .reset_ms = f->reset_ms,
                .shown = f->shown && uid && strcmp(f->shown, uid) == 0,
                .now_ms = now_ms,
        };
        if (word == FUSE_BLOWN && uid && !facts.shown) {
                mem_free(f->shown);
                f->shown = mem_string(uid);
        }
        switch (fuse_judge(&facts, word, at_ms)) {
        case FUSE_AGREES:
                return NULL;
        case FUSE_TAKE:
                fuse_take(safety, note);
                return NULL;
        case FUSE_WRITE:
                return f->blown;
        case FUSE_MEND:
                fuse_mend(safety, dated ? at_ms : now_ms, "the Lease's annotation");
                return dated ? NULL : reset_words(f);
        case FUSE_HEED:
                fuse_heed(safety, at_ms);
                return NULL;
        case FUSE_DATE:
                fuse_heed(safety, now_ms);
                return reset_words(f);
        case FUSE_REPEAT:
                return reset_words(f);
        }
        return NULL;
}

/* --- the fuses of profiles, before a pass --- */

static bool profile_fuse_holds(const struct safety *safety, const struct profile *p, const struct profile_fuse *pf)
{
        return safety->live->fuse_guards > 0 &&
               fuse_of_profile_holds(pf->blown_ms, pf->generation == p->generation, safety->fuse.reset_ms,
                                     loop_now(safety->loop).wall.ms);
}

static void profile_fuse_mend(struct safety *safety, struct profile *p, struct profile_fuse *pf)
{
        fuse_guards_end(&safety->fuse, p->key, *pf->ns ? pf->ns : NULL);
        log_info("the fuse of a profile was reset: its changes go on", KV("kind", profile_kind(p)),
                 KV("profile", p->key), KV("namespace", pf->ns));
        profile_fuse_drop(p, pf);
}

/* Take over the profile's fuses that its status reports, as another leader wrote them. Then reset the profile's fuses
 * that no longer hold. Returns whether a fuse changed. */
static bool profile_fuses_settle(struct safety *safety, struct profile *p)
{
        size_t before = p->fuses.count, mended = 0;
        struct profile_fuse *pf;
        profile_fuses_add(p, json_object_get(safety->fuse.loaded, p->key));
        for (size_t at = 0; (pf = map_each(&p->fuses_told, &at));)
                if (profile_fuse_holds(safety, p, pf))
                        profile_fuse_blow(p, pf->ns, pf->blown_ms, pf->generation, pf->why);
        for (size_t at = 0; (pf = map_each(&p->fuses, &at));)
                if (!profile_fuse_holds(safety, p, pf)) {
                        profile_fuse_mend(safety, p, pf);
                        mended++;
                }
        return mended > 0 || p->fuses.count != before;
}

void fuse_settle(struct safety *safety)
{
        struct fuse *f = &safety->fuse;
        bool changed = false;
        struct profile *p;
        if (safety->live->fuse_guards == 0 && (f->blown || fuse_profiles_blown(safety) > 0))
                fuse_mend(safety, loop_now(safety->loop).wall.ms, "the setting fuse-guards: 0");
        for (size_t at = 0; (p = map_each(&safety->cache->profiles, &at));)
                changed |= profile_fuses_settle(safety, p);
        json_decref(f->loaded);
        f->loaded = NULL;
        if (changed)
                fuse_store(safety);
}

size_t fuse_profiles_blown(const struct safety *safety)
{
        const struct profile *p;
        size_t blown = 0;
        for (size_t at = 0; (p = map_each(&safety->cache->profiles, &at));)
                blown += p->fuses.count;
        return blown;
}
