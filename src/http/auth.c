#include "auth.h"

#include <assert.h>

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rate_limit.h"
#include "base/recent_count.h"
#include "caller_share.h"
#include "core/sha256.h"

enum { ASKED_LATELY_MS = 1000, ADDRESSES_MAX = 4096 };

TAILQ_HEAD(line, entry);

enum known { KNOWN_NOTHING, KNOWN_ALLOWED, KNOWN_WHO, KNOWN_FORBIDDEN };

struct verdicts {
        struct line line; /* oldest first */
        int count;
};

/* The owner of verdicts: a caller, or a client address where the API server does not know the token. */
struct holder {
        struct auth_key id;
        struct verdicts allowed, refused;
};

struct entry {
        struct auth_key key;
        struct auth_key caller; /* who its token says the caller is */
        enum known known;
        struct mono at;        /* when the API server gave the verdict */
        struct holder *holder; /* NULL: there is no verdict, or a question is under way */
        bool asked;            /* a question is under way */
        bool asked_known;
        char *asked_by; /* client address whose request caused the last question */
        struct auth_waiter *waiting;
        TAILQ_ENTRY(entry) link; /* in a line of its holder; in the list `asking` while a question is under way */
};

struct auth {
        struct map entries; /* key -> struct entry */
        struct map holders; /* id -> struct holder; only those that hold a verdict */
        struct line asking;
        int asked, asked_new;
        bool away;           /* the API server did not answer the last question */
        struct mono away_at; /* when that question ended */
        struct rate_limit questions;
        struct recent_count asked_lately; /* questions about callers who were not allowed lately, by address */
};

struct auth_key auth_key_of(struct text token, const char *resource, const char *verb, const char *ns, const char *name)
{
        struct sha256 s;
        struct auth_key k;
        const struct text part[] = {token, text_of(resource), text_of(verb), text_of(ns), text_of(name)};
        sha256_init(&s);
        for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
                uint64_t len =
                        part[i].len; /* part of the digest, so that different questions never hash the same bytes */
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

/* --- holders of verdicts --- */

/* The holder of the entry's verdict. A caller's claims count only where the API server knows the token; else the holder
 * is the address. */
static struct auth_key holder_id(const struct entry *e)
{
        return e->known == KNOWN_WHO ? auth_key_of(text_of(e->asked_by), "", "", "", "") : e->caller;
}

static struct holder *holder_get(struct auth *a, const struct entry *e)
{
        struct auth_key id = holder_id(e);
        struct holder *h = map_get(&a->holders, key_text(&id));
        if (h)
                return h;
        h = MEM_NEW(struct holder);
        h->id = id;
        TAILQ_INIT(&h->allowed.line);
        TAILQ_INIT(&h->refused.line);
        map_put(&a->holders, key_text(&h->id), h);
        return h;
}

static struct verdicts *holder_verdicts(struct holder *h, const struct entry *e)
{
        return e->known == KNOWN_ALLOWED ? &h->allowed : &h->refused;
}

static void holder_add(struct holder *h, struct entry *e)
{
        struct verdicts *v = holder_verdicts(h, e);
        TAILQ_INSERT_TAIL(&v->line, e, link);
        v->count++;
        e->holder = h;
}

static void holder_remove(struct auth *a, struct entry *e)
{
        struct holder *h = STEAL(&e->holder);
        struct verdicts *v = holder_verdicts(h, e);
        TAILQ_REMOVE(&v->line, e, link);
        v->count--;
        if (h->allowed.count + h->refused.count > 0)
                return;
        map_drop(&a->holders, key_text(&h->id));
        mem_free(h);
}

/* Keep in *most the longer of two lists of verdicts. Of equally long lists, the one with the oldest verdict is kept. */
static void verdicts_most(const struct verdicts **most, const struct verdicts *v)
{
        if (v->count == 0 || (*most && v->count < (*most)->count))
                return;
        if (!*most || v->count > (*most)->count || TAILQ_FIRST(&v->line)->at.ns < TAILQ_FIRST(&(*most)->line)->at.ns)
                *most = v;
}

/* --- entries --- */

static void auth_entry_free(struct entry *e)
{
        mem_free(e->asked_by);
        mem_free(e);
}

static void entry_drop(struct auth *a, struct entry *e)
{
        map_drop(&a->entries, key_text(&e->key));
        auth_entry_free(e);
}

/* Any caller can create refused entries at will. Refusals are dropped first, so that they never displace allowed
 * callers. A caller allowed by more verdicts than its share loses its own. Several such callers together leave
 * AUTH_REFUSED_LEFT places to refusals. */
static struct entry *auth_least_missed(const struct auth *a)
{
        const struct verdicts *allowed = NULL, *refused = NULL;
        const struct holder *h;
        int refusals = 0;
        for (size_t at = 0; (h = map_each(&a->holders, &at));) {
                verdicts_most(&allowed, &h->allowed);
                verdicts_most(&refused, &h->refused);
                refusals += h->refused.count;
        }
        assert(allowed || refused); /* entries with a question under way are far fewer than AUTH_ENTRIES_MAX */
        bool spare = allowed && (refusals <= AUTH_REFUSED_LEFT || allowed->count > AUTH_ALLOWED_SHARE);
        return TAILQ_FIRST(spare ? &allowed->line : &refused->line);
}

static void auth_make_room(struct auth *a)
{
        if (a->entries.count < AUTH_ENTRIES_MAX)
                return;
        struct entry *e = auth_least_missed(a);
        holder_remove(a, e);
        entry_drop(a, e);
}

static struct entry *entry_new(struct auth *a, const struct auth_key *k, struct text token)
{
        auth_make_room(a);
        struct entry *e = MEM_NEW(struct entry);
        e->key = *k;
        caller_id(token, e->caller.byte);
        map_put(&a->entries, key_text(&e->key), e);
        return e;
}

struct auth *auth_new(void)
{
        struct auth *a = MEM_NEW(struct auth);
        TAILQ_INIT(&a->asking);
        rate_limit_init(&a->questions, AUTH_RATE, AUTH_BURST, (struct mono){0});
        recent_count_init(&a->asked_lately, ASKED_LATELY_MS, ADDRESSES_MAX, (struct mono){0});
        return a;
}

void auth_free(struct auth *a)
{
        void *each;
        if (!a)
                return;
        for (size_t at = 0; (each = map_each(&a->entries, &at));)
                auth_entry_free(each);
        for (size_t at = 0; (each = map_each(&a->holders, &at));)
                mem_free(each);
        map_release(&a->entries);
        map_release(&a->holders);
        recent_count_release(&a->asked_lately);
        mem_free(a);
}

size_t auth_entries(const struct auth *a)
{
        return a->entries.count;
}

/* --- asking --- */

/* Count the questions under way that an address asked about callers who were not allowed lately. */
static int asked_new_by(const struct auth *a, struct text address)
{
        const struct entry *e;
        int own = 0;
        TAILQ_FOREACH (e, &a->asking, link)
                own += !e->asked_known && text_is(address, e->asked_by);
        return own;
}

/* Whether the rate limit leaves to others as many questions as the address asked lately. */
static bool has_rate(struct auth *a, struct text address, struct mono now)
{
        uint64_t lately = recent_count_get(&a->asked_lately, address, now);
        return rate_limit_has(&a->questions, 1 + AUTH_BURST_RESERVE + (double)lately, now);
}

/* Whether the address leaves to others as many questions under way, and as many a second, as it uses. */
static bool has_share(struct auth *a, struct text address, struct mono now)
{
        return asked_new_by(a, address) < AUTH_ASKED_NEW - a->asked_new && has_rate(a, address, now);
}

/* Whether halflife may ask the API server now: AUTH_SAYS_WAIT. Else the answer for the caller. */
static enum auth_say may_ask(struct auth *a, bool known, struct text address, struct mono now)
{
        if (a->away && (a->asked > 0 || ms_since(a->away_at, now) < AUTH_PROBE_MS))
                return AUTH_SAYS_LATER;
        if (a->asked >= AUTH_ASKED_MAX)
                return AUTH_SAYS_LATER;
        if (known)
                return rate_limit_has(&a->questions, 1, now) ? AUTH_SAYS_WAIT : AUTH_SAYS_LATER;
        return has_share(a, address, now) ? AUTH_SAYS_WAIT : AUTH_SAYS_SHARE_USED;
}

static void begin_asking(struct auth *a, struct entry *e, bool known, struct text address)
{
        if (e->holder)
                holder_remove(a, e);
        TAILQ_INSERT_TAIL(&a->asking, e, link);
        e->asked = true;
        e->asked_known = known;
        mem_free(e->asked_by);
        e->asked_by = mem_string_n(address.p, address.len);
        a->asked++;
        a->asked_new += !known;
        rate_limit_take(&a->questions);
}

static void end_asking(struct auth *a, struct entry *e)
{
        TAILQ_REMOVE(&a->asking, e, link);
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

static bool stale_allowed(const struct entry *e, struct mono now)
{
        return e && e->known == KNOWN_ALLOWED && ms_since(e->at, now) < AUTH_STALE_MS;
}

enum auth_say auth_look(struct auth *a, const struct auth_key *k, struct auth_asker by, struct mono now,
                        struct auth_waiter *w, bool *ret_ask)
{
        struct entry *e = map_get(&a->entries, key_text(k));
        bool lately = stale_allowed(e, now);
        *ret_ask = false;
        if (auth_fresh(e, now))
                return say_known(e);
        if (!e || !e->asked) {
                enum auth_say may = may_ask(a, lately, by.address, now);
                if (may != AUTH_SAYS_WAIT)
                        return lately ? AUTH_SAYS_ALLOWED_LATELY : may;
                if (!e)
                        e = entry_new(a, k, by.token);
                begin_asking(a, e, lately, by.address);
                if (!lately)
                        recent_count_add(&a->asked_lately, by.address, 1, now);
                *ret_ask = true;
        }
        if (a->away && lately)
                return AUTH_SAYS_ALLOWED_LATELY; /* the question is likely to fail, so the caller does not wait for the
                                                    answer */
        w->next = e->waiting;
        e->waiting = w;
        return AUTH_SAYS_WAIT;
}

/* The question about e is over: keep the verdict, or forget e where none came. */
static void entry_keep(struct auth *a, struct entry *e)
{
        if (e->known == KNOWN_NOTHING)
                entry_drop(a, e);
        else
                holder_add(holder_get(a, e), e);
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
        if (v == SERVER_CANNOT_TELL)
                a->away_at = now;
        if (v != SERVER_BUSY)
                a->away = v == SERVER_CANNOT_TELL;
        if (v == SERVER_BUSY || v == SERVER_CANNOT_TELL) {
                enum auth_say later = v == SERVER_BUSY ? AUTH_SAYS_BUSY : AUTH_SAYS_LATER;
                *ret_say = stale_allowed(e, now) ? AUTH_SAYS_ALLOWED_LATELY : later;
        } else {
                e->known = known[v];
                e->at = now;
                *ret_say = say_known(e);
        }
        entry_keep(a, e);
        return waiting;
}

/* The newest question under way about a caller who was not allowed lately, of the address that has most of these. NULL:
 * no address has more than one. */
static struct entry *newest_of_most(const struct auth *a)
{
        struct entry *e, *newest = NULL;
        int most = 1;
        TAILQ_FOREACH (e, &a->asking, link) {
                int own = e->asked_known ? 0 : asked_new_by(a, text_of(e->asked_by));
                if (own > 1 && own >= most) {
                        most = own;
                        newest = e;
                }
        }
        return newest;
}

bool auth_withdraw(struct auth *a, struct text address, struct mono now, struct auth_key *ret_key,
                   struct auth_waiter **ret_waiting)
{
        if (a->asked_new < AUTH_ASKED_NEW || asked_new_by(a, address) > 0 || !has_rate(a, address, now))
                return false;
        struct entry *e = newest_of_most(a);
        if (!e)
                return false;
        *ret_key = e->key;
        *ret_waiting = STEAL(&e->waiting);
        end_asking(a, e);
        entry_keep(a, e);
        return true;
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
