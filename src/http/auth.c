#include "auth.h"

#include <assert.h>

#include "base/map.h"
#include "base/mem.h"
#include "core/sha256.h"

enum known { KNOWN_NOTHING, KNOWN_ALLOWED, KNOWN_WHO, KNOWN_FORBIDDEN };

struct entry {
        struct auth_key key;
        enum known known;
        struct mono at; /* when the API server said so */
        bool asked;     /* a question is under way */
        bool asked_known;
        struct auth_waiter *waiting;
        struct entry *before, *after; /* in its line, the oldest verdict first; not while it is asked about */
};

struct line {
        struct entry *first, *last;
};

struct auth {
        struct map entries;
        struct line allowed, refused;
        int asked, asked_new;
        bool away;           /* the last question found nobody */
        struct mono away_at; /* when */
        double tokens;
        struct mono refilled;
};

struct auth_key auth_key_of(struct text token, const char *verb, const char *ns, const char *name)
{
        struct sha256 s;
        struct auth_key k;
        const struct text part[] = {token, text_of(verb), text_of(ns), text_of(name)};
        sha256_init(&s);
        for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
                uint64_t len = part[i].len; /* told, so that no two questions are the same bytes */
                sha256_add(&s, &len, sizeof len);
                sha256_add(&s, part[i].p, part[i].len);
        }
        sha256_finish(&s, k.byte);
        explicit_bzero(&s, sizeof s);
        return k;
}

static struct text key_text(const struct auth_key *k)
{
        return (struct text){(const char *)k->byte, sizeof k->byte};
}

static int64_t ms_since(struct mono then, struct mono now)
{
        return (now.ns - then.ns) / 1000000;
}

/* --- entries --- */

static struct line *auth_line_of(struct auth *a, const struct entry *e)
{
        return e->known == KNOWN_ALLOWED ? &a->allowed : &a->refused;
}

static void line_join(struct line *l, struct entry *e)
{
        e->before = l->last;
        e->after = NULL;
        *(l->last ? &l->last->after : &l->first) = e;
        l->last = e;
}

static void line_leave(struct line *l, struct entry *e)
{
        *(e->before ? &e->before->after : &l->first) = e->after;
        *(e->after ? &e->after->before : &l->last) = e->before;
        e->before = e->after = NULL;
}

static void entry_drop(struct auth *a, struct entry *e)
{
        map_drop(&a->entries, key_text(&e->key));
        mem_free(e);
}

/* Strangers make refused entries as they like: those go first, so that they never push out who is allowed. */
static void auth_make_room(struct auth *a)
{
        struct line *l = a->refused.first ? &a->refused : &a->allowed;
        struct entry *e = l->first;
        if (a->entries.count < AUTH_ENTRIES_MAX)
                return;
        assert(e); /* those asked about are far fewer */
        line_leave(l, e);
        entry_drop(a, e);
}

static struct entry *entry_new(struct auth *a, const struct auth_key *k)
{
        auth_make_room(a);
        struct entry *e = MEM_NEW(struct entry);
        e->key = *k;
        map_put(&a->entries, key_text(&e->key), e);
        return e;
}

struct auth *auth_new(void)
{
        struct auth *a = MEM_NEW(struct auth);
        a->tokens = AUTH_BURST;
        return a;
}

void auth_free(struct auth *a)
{
        void *e;
        struct text key;
        if (!a)
                return;
        for (size_t at = 0; map_next(&a->entries, &at, &key, &e);)
                mem_free(e);
        map_release(&a->entries);
        mem_free(a);
}

size_t auth_entries(const struct auth *a)
{
        return a->entries.count;
}

/* --- asking --- */

static void auth_refill(struct auth *a, struct mono now)
{
        double tokens = a->tokens + (double)(now.ns - a->refilled.ns) / 1e9 * AUTH_RATE;
        a->tokens = tokens > AUTH_BURST ? AUTH_BURST : tokens;
        a->refilled = now;
}

static bool may_ask(struct auth *a, bool known, struct mono now)
{
        auth_refill(a, now);
        if (a->away && (a->asked > 0 || ms_since(a->away_at, now) < AUTH_PROBE_MS))
                return false;
        if (a->asked >= AUTH_ASKED_MAX || a->tokens < 1)
                return false;
        return known || (a->asked_new < AUTH_ASKED_NEW && a->tokens >= 1 + AUTH_BURST_RESERVE);
}

static void begin_asking(struct auth *a, struct entry *e, bool known)
{
        if (e->known != KNOWN_NOTHING)
                line_leave(auth_line_of(a, e), e);
        e->asked = true;
        e->asked_known = known;
        a->asked++;
        a->asked_new += !known;
        a->tokens -= 1;
}

static void end_asking(struct auth *a, struct entry *e)
{
        e->asked = false;
        a->asked--;
        a->asked_new -= !e->asked_known;
}

static enum auth_say say_known(const struct entry *e)
{
        return e->known == KNOWN_ALLOWED ? AUTH_SAYS_ALLOWED
               : e->known == KNOWN_WHO   ? AUTH_SAYS_WHO
                                         : AUTH_SAYS_FORBIDDEN;
}

static bool auth_fresh(const struct entry *e, struct mono now)
{
        return e && e->known != KNOWN_NOTHING && ms_since(e->at, now) < AUTH_FRESH_MS;
}

static bool allowed_lately(const struct entry *e, struct mono now)
{
        return e && e->known == KNOWN_ALLOWED && ms_since(e->at, now) < AUTH_STALE_MS;
}

enum auth_say auth_look(struct auth *a, const struct auth_key *k, struct mono now, struct auth_waiter *w, bool *ret_ask)
{
        struct entry *e = map_get(&a->entries, key_text(k));
        bool lately = allowed_lately(e, now);
        *ret_ask = false;
        if (auth_fresh(e, now))
                return say_known(e);
        if (!e || !e->asked) {
                if (!may_ask(a, lately, now))
                        return lately ? AUTH_SAYS_ALLOWED_LATELY : AUTH_SAYS_LATER;
                if (!e)
                        e = entry_new(a, k);
                begin_asking(a, e, lately);
                *ret_ask = true;
        }
        if (a->away && lately)
                return AUTH_SAYS_ALLOWED_LATELY; /* nobody waits for a question that is likely to fail */
        w->next = e->waiting;
        e->waiting = w;
        return AUTH_SAYS_WAIT;
}

struct auth_waiter *auth_settle(struct auth *a, const struct auth_key *k, enum server_verdict v, struct mono now,
                                enum auth_say *ret_say)
{
        static const enum known known[] = {
                [SERVER_ALLOWS] = KNOWN_ALLOWED, [SERVER_KNOWS_NOT] = KNOWN_WHO, [SERVER_FORBIDS] = KNOWN_FORBIDDEN};
        struct entry *e = map_get(&a->entries, key_text(k));
        if (!e || !e->asked)
                return NULL;
        struct auth_waiter *waiting = e->waiting;
        e->waiting = NULL;
        end_asking(a, e);
        a->away = v == SERVER_CANNOT_TELL;
        if (a->away) {
                a->away_at = now;
                *ret_say = allowed_lately(e, now) ? AUTH_SAYS_ALLOWED_LATELY : AUTH_SAYS_LATER;
        } else {
                e->known = known[v];
                e->at = now;
                *ret_say = say_known(e);
        }
        if (e->known == KNOWN_NOTHING)
                entry_drop(a, e);
        else
                line_join(auth_line_of(a, e), e);
        return waiting;
}

void auth_leave(struct auth *a, const struct auth_key *k, struct auth_waiter *w)
{
        struct entry *e = map_get(&a->entries, key_text(k));
        struct auth_waiter **at = e ? &e->waiting : NULL;
        while (at && *at && *at != w)
                at = &(*at)->next;
        if (at && *at)
                *at = w->next;
}
