/*
 * Booking in the ledger what each running pod asks for, has in force and uses, by the monotonic clock: at each cycle,
 * and whenever a pod is about to change, up to that moment. Time of which a pod's state is not known is not booked: the
 * time before the start and since the last checkpoint, and a stretch between two cycles above BOOKED_AT_ONCE_MS. The
 * ledger says how much that was. Nothing is booked while another process leads.
 *
 * A pod runs while its phase is Running, also while it terminates. Usage that was not measured counts as none.
 */
#ifndef HALFLIFE_CACHE_BOOKKEEPING_H
#define HALFLIFE_CACHE_BOOKKEEPING_H

#include "cache/cache.h"
#include "cache/live_settings.h"
#include "ledger/ledger.h"

enum { BOOKED_AT_ONCE_MS = 10 * MINUTE_MS };

struct bookkeeping;
struct bookkeeping_options { /* borrowed until bookkeeping_free */
        struct cache *cache; /* its pods call the bookkeeping from now on */
        const struct live_settings *live;
        const char *label;            /* key of a label of workloads that is booked by as well; NULL: none */
        struct now (*now)(void *arg); /* wall: the earlier of both clocks (cache/clock_skew.h) */
        bool (*leads)(void *arg);
        void *arg;
};
struct bookkeeping *bookkeeping_new(const struct bookkeeping_options *o);
void bookkeeping_free(struct bookkeeping *b); /* NULL: does nothing */

/* Once usage was polled: book all pods and nodes up to now. */
void bookkeeping_cycle(struct bookkeeping *b);
/* Count something that happened to a target. Does nothing for a cache without bookkeeping. */
void bookkeeping_count(struct cache *w, const struct target *t, enum ledger_event e);

/* --- the database --- */

#define BOOKKEEPING_NOTE "ledger" /* the note with the time of the last bookkeeping_write */
void bookkeeping_load(struct bookkeeping *b, const struct ledger_page_key *key, struct text packed);
void bookkeeping_load_note(struct bookkeeping *b, struct text value);
/* Add to a checkpoint all that is booked so far, in a cycle or after the last one. */
void bookkeeping_write(struct bookkeeping *b, struct store_batch *to);
void bookkeeping_write_again(struct bookkeeping *b); /* with the next checkpoint, since the database lost some */

int64_t bookkeeping_now_ms(const struct bookkeeping *b); /* the wall time that is booked at */
const struct ledger *bookkeeping_ledger(const struct bookkeeping *b);
const char *bookkeeping_label(const struct bookkeeping *b); /* as in the options; "": none */

#endif
