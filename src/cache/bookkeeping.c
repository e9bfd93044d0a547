#include "cache/bookkeeping.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "cache/pod_originals.h"

struct bookkeeping {
        struct bookkeeping_options o;
        struct ledger *ledger;
        int64_t until_ms;  /* all running pods are booked up to then, monotonic; -1: this process booked none yet, or
                              does not lead */
        int64_t loaded_ms; /* wall time of the last checkpoint by the process before; 0: none, or the time since is
                              booked as unbooked */
        bool led;          /* this process has led at some time */
};

/* --- the amounts that are booked, and their accounts --- */

static int64_t bookkeeping_mono_ms(const struct bookkeeping *b)
{
        return b->o.now(b->o.arg).mono.ns / 1000000;
}

static int64_t bookkeeping_wall_ms(const struct bookkeeping *b)
{
        int64_t ms = b->o.now(b->o.arg).wall.ms;
        return ms > 0 ? ms : 0;
}

static bool is_booked(const struct pod *p)
{
        return p->runs && !p->gone;
}

static const struct workload *pod_top_owner(const struct pod *p)
{
        const struct workload *top = p->owner;
        while (top && top->owner)
                top = top->owner;
        return top;
}

/* The pod's account by workload: its target's key, else its topmost owner's, else "ns//Pod/name", in `alone`. */
static const char *pod_workload(const struct pod *p, char alone[static LEDGER_NAME_MAX])
{
        const struct workload *top = pod_top_owner(p);
        if (p->target)
                return p->target->key;
        if (top)
                return top->key;
        snprintf(alone, LEDGER_NAME_MAX, "%s//Pod/%s", p->ns, p->name);
        return alone;
}

/* The account by profile: "ns/name", or "name" of a ClusterProfile, whose key is "/name"; "": no profile. */
static const char *profile_account(const struct target *t)
{
        const char *key = t && t->profile ? t->profile->key : "";
        return *key == '/' ? key + 1 : key;
}

/* The account by label: "key=value" by the workload's own label; "": it lacks the label. NULL: no label is booked by.
 */
static const char *label_account(const struct bookkeeping *b, const struct workload *of,
                                 char out[static LEDGER_NAME_MAX])
{
        const char *key = b->o.label;
        if (!key)
                return NULL;
        const struct labels own = of ? workload_own_labels(of) : (struct labels){0};
        for (size_t i = 0; i < own.count; i++)
                if (text_is(own.pair[i].key, key)) {
                        snprintf(out, LEDGER_NAME_MAX, "%s=%.*s", key, TEXT_ARG(own.pair[i].value));
                        return out;
                }
        return "";
}

/* Book the rates over the last `ms` milliseconds, each hour by itself. */
static void bookkeeping_flow(struct bookkeeping *b, const struct ledger_names *names, const struct ledger_rates *rates,
                             int64_t ms)
{
        int64_t end_ms = bookkeeping_wall_ms(b);
        while (ms > 0 && end_ms > 0) {
                int64_t into_ms = (end_ms - 1) % HOUR_MS + 1, part_ms = ms < into_ms ? ms : into_ms;
                struct ledger_sum sum = {0};
                ledger_sum_flow(&sum, rates, part_ms);
                ledger_book(b->ledger, names, &sum, end_ms - part_ms);
                end_ms -= part_ms;
                ms -= part_ms;
        }
}

/* --- pods: a workload's pods are neighbours, so they are summed up first and then booked once --- */

struct pod_walk {
        struct bookkeeping *b;
        struct pod_originals originals;
        struct now now;
        int64_t fresh_ms; /* how old a measurement of usage may be */
        struct pod_sums { /* sums over pods with the same accounts, over the same time; not in the ledger yet */
                struct ledger_names names;
                int64_t ms; /* 0: nothing is summed up */
                struct ledger_sum sum;
                char label[LEDGER_NAME_MAX];
        } open;
};

static struct pod_walk pod_walk_begin(struct bookkeeping *b)
{
        enum { LEAST_MS = 2 * MINUTE_MS, INTERVALS = 3 };
        int64_t fresh_ms = INTERVALS * b->o.live->interval_ms;
        return (struct pod_walk){
                .b = b, .now = b->o.now(b->o.arg), .fresh_ms = fresh_ms > LEAST_MS ? fresh_ms : LEAST_MS};
}

static void pod_walk_book(struct pod_walk *w)
{
        if (w->open.ms > 0)
                ledger_book(w->b->ledger, &w->open.names, &w->open.sum, w->now.wall.ms - w->open.ms);
        w->open.ms = 0;
}

static void pod_walk_end(struct pod_walk *w)
{
        pod_walk_book(w);
        pod_originals_release(&w->originals);
}

static void pod_rates(struct pod_walk *w, const struct pod *p, struct ledger_rates *ret)
{
        struct pod_asks asks;
        bool measured = pod_is_measured(p, w->now.wall, w->fresh_ms);
        *ret = (struct ledger_rates){.pods = 1};
        pod_originals_ask(&w->originals, p, &asks);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                ret->of[LEDGER_ASKED][r] = asks.original[r];
                ret->of[LEDGER_IN_FORCE][r] = asks.requested[r];
                ret->of[LEDGER_USED][r] = measured ? pod_used(p, r) : 0;
        }
}

/* Whether the last `ms` milliseconds lie within one hour. False before 1970, when nothing is booked. */
static bool pod_walk_in_hour(const struct pod_walk *w, int64_t ms)
{
        return w->now.wall.ms > 0 && ms <= (w->now.wall.ms - 1) % HOUR_MS + 1;
}

/* Add a pod's rates over the last `ms` milliseconds to the open sums. `of`: the workload whose label is booked by. */
static void pod_walk_add(struct pod_walk *w, const struct ledger_names *names, const struct workload *of,
                         const struct ledger_rates *rates, int64_t ms)
{
        bool same = ms == w->open.ms;
        for (int a = 0; same && a < LEDGER_LABEL; a++)
                same = names->of[a] == w->open.names.of[a]; /* by address: equal texts at two addresses get two sums */
        if (!same) {
                pod_walk_book(w);
                w->open = (struct pod_sums){.names = *names, .ms = ms};
                w->open.names.of[LEDGER_LABEL] = label_account(w->b, of, w->open.label);
        }
        ledger_sum_flow(&w->open.sum, rates, ms);
}

static void book_pod(struct pod_walk *w, const struct pod *p)
{
        struct bookkeeping *b = w->b;
        int64_t ms = w->now.mono.ns / 1000000 - (p->booked_ms > b->until_ms ? p->booked_ms : b->until_ms);
        struct ledger_rates rates;
        char alone[LEDGER_NAME_MAX], label[LEDGER_NAME_MAX];
        if (!is_booked(p) || ms <= 0 || ms > BOOKED_AT_ONCE_MS)
                return;
        const struct workload *of = p->target ? p->target->workload : pod_top_owner(p);
        struct ledger_names names = {
                {p->ns, profile_account(p->target), node_pool(p->node), pod_workload(p, alone), NULL}};
        pod_rates(w, p, &rates);
        if (names.of[LEDGER_WORKLOAD] != alone && pod_walk_in_hour(w, ms)) {
                pod_walk_add(w, &names, of, &rates, ms);
                return;
        }
        pod_walk_book(w);
        names.of[LEDGER_LABEL] = label_account(b, of, label);
        bookkeeping_flow(b, &names, &rates, ms);
}

static void book_nodes(struct bookkeeping *b, int64_t ms)
{
        const struct node *n;
        for (size_t at = 0; (n = map_each(&b->o.cache->nodes.by_name, &at));) {
                const struct ledger_names names = {{"", "", node_pool(n), "", b->o.label ? "" : NULL}};
                struct ledger_rates rates = {0};
                for (enum resource r = CPU; r < RESOURCES; r++)
                        rates.of[LEDGER_ALLOCATABLE][r] = n->allocatable[r].set ? n->allocatable[r].value : 0;
                if (n->known)
                        bookkeeping_flow(b, &names, &rates, ms);
        }
}

static void book_unbooked(struct bookkeeping *b, int64_t ms)
{
        const struct ledger_names names = {{"", "", "", "", b->o.label ? "" : NULL}};
        const struct ledger_sum sum = {.unbooked_ms = (uint64_t)ms};
        if (ms > 0)
                ledger_book(b->ledger, &names, &sum, bookkeeping_wall_ms(b));
}

/* Book as unbooked the time from the last checkpoint by the process before until this process begins to book. */
static void book_restart(struct bookkeeping *b)
{
        if (b->loaded_ms > 0)
                book_unbooked(b, bookkeeping_wall_ms(b) - b->loaded_ms);
        b->loaded_ms = 0;
}

/* --- when bookings are made --- */

static void book_all(struct bookkeeping *b, int64_t now_ms)
{
        int64_t ms = now_ms - b->until_ms;
        if (ms > BOOKED_AT_ONCE_MS) {
                book_unbooked(b, ms);
                b->until_ms = now_ms;
                return;
        }
        struct pod_walk w = pod_walk_begin(b);
        for (size_t i = 0; i < b->o.cache->ordered; i++)
                book_pod(&w, b->o.cache->order[i]);
        for (size_t i = 0; i < b->o.cache->freshes; i++)
                book_pod(&w, b->o.cache->fresh[i]);
        pod_walk_end(&w);
        book_nodes(b, ms);
        b->until_ms = now_ms;
}

/* Book up to now, if this process has led since the last call; else only begin to book, or stop. */
static void bookkeeping_settle(struct bookkeeping *b)
{
        int64_t now_ms = bookkeeping_mono_ms(b);
        if (!b->o.leads(b->o.arg)) {
                b->until_ms = -1;
                return;
        }
        b->led = true;
        book_restart(b);
        if (b->until_ms >= 0)
                book_all(b, now_ms);
        b->until_ms = now_ms;
}

void bookkeeping_cycle(struct bookkeeping *b)
{
        bookkeeping_settle(b);
}

static void bookkeeping_pod(struct bookkeeping *b, struct pod *p)
{
        struct pod_walk w = pod_walk_begin(b);
        if (b->until_ms >= 0 && b->o.leads(b->o.arg))
                book_pod(&w, p);
        pod_walk_end(&w);
        p->booked_ms = w.now.mono.ns / 1000000;
}

void bookkeeping_count(struct cache *w, const struct target *t, enum ledger_event e)
{
        struct bookkeeping *b = w->books.of;
        struct ledger_sum sum = {0};
        char label[LEDGER_NAME_MAX];
        if (!b)
                return;
        const struct ledger_names names = {
                {t->ns, profile_account(t), "", t->key, label_account(b, t->workload, label)}};
        sum.events[e] = 1;
        ledger_book(b->ledger, &names, &sum, bookkeeping_wall_ms(b));
}

/* --- the database --- */

void bookkeeping_load(struct bookkeeping *b, const struct ledger_page_key *key, struct text packed)
{
        (void)ledger_restore(b->ledger, key,
                             packed); /* a page that the ledger cannot continue stays in the database as it is */
}

void bookkeeping_load_note(struct bookkeeping *b, struct text value)
{
        int64_t ms = 0;
        for (size_t i = 0; i < value.len; i++) {
                if (value.p[i] < '0' || value.p[i] > '9' || ms > INT64_MAX / 100)
                        return;
                ms = ms * 10 + (value.p[i] - '0');
        }
        b->loaded_ms = ms;
}

static void write_page(void *to, const struct ledger_page_key *key, struct text packed)
{
        store_batch_ledger(to, key, packed);
}

void bookkeeping_write(struct bookkeeping *b, struct store_batch *to)
{
        char value[24];
        bookkeeping_settle(b);
        if (!b->led)
                return; /* a process that never led has booked nothing */
        int64_t now_ms = bookkeeping_wall_ms(b);
        int len = snprintf(value, sizeof value, "%lld", (long long)now_ms);
        ledger_write(b->ledger, now_ms, write_page, to);
        store_batch_note(to, BOOKKEEPING_NOTE, (struct text){value, (size_t)len});
        store_batch_forget_ledger(to, (struct wall){now_ms});
}

void bookkeeping_write_again(struct bookkeeping *b)
{
        ledger_write_again(b->ledger);
}

int64_t bookkeeping_now_ms(const struct bookkeeping *b)
{
        return bookkeeping_wall_ms(b);
}

const struct ledger *bookkeeping_ledger(const struct bookkeeping *b)
{
        return b->ledger;
}

const char *bookkeeping_label(const struct bookkeeping *b)
{
        return b->o.label ? b->o.label : "";
}

/* --- making and freeing a bookkeeping --- */

struct bookkeeping *bookkeeping_new(const struct bookkeeping_options *o)
{
        struct bookkeeping *b = MEM_NEW(struct bookkeeping);
        uint32_t stamp = 0;
        while (stamp == 0)
                if (getrandom(&stamp, sizeof stamp, 0) != sizeof stamp)
                        stamp = (uint32_t)o->now(o->arg).wall.ms | 1;
        b->o = *o;
        b->ledger = ledger_new(stamp);
        b->until_ms = -1;
        o->cache->books.of = b;
        o->cache->books.before_change = bookkeeping_pod;
        return b;
}

void bookkeeping_free(struct bookkeeping *b)
{
        if (!b)
                return;
        b->o.cache->books.of = NULL;
        b->o.cache->books.before_change = NULL;
        ledger_free(b->ledger);
        mem_free(b);
}
