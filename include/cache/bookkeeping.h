/*
 * The bookkeeping adds to the ledger what each running pod asks for, has in force and uses, by the monotonic clock: at
 * each cycle, and whenever a pod is about to change, up to that moment. Time in which the pods' state is not known is
 * not booked: the time from the last checkpoint before a restart to the restart, and a stretch between two cycles above
 * BOOKED_AT_ONCE_MS. The ledger says how much such time there was. Nothing is booked while another process leads.
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
struct bookkeeping_options { /* what the options point to is borrowed until bookkeeping_free */
        struct cache *cache; /* the cache calls the bookkeeping before one of its pods changes */
        const struct live_settings *live;
        const char *label;            /* key of a workload label: each of its values has an account; NULL: none */
        struct now (*now)(void *arg); /* the present; its wall time is the earlier clock's (cache/clock_skew.h) */
        bool (*leads)(void *arg);     /* whether this process leads */
        void *arg;
};
struct bookkeeping *bookkeeping_new(const struct bookkeeping_options *o);
void bookkeeping_free(struct bookkeeping *b); /* b NULL: does nothing */

/* Book all pods and nodes up to now. Call it in each cycle, once usage was polled. */
void bookkeeping_cycle(struct bookkeeping *b);
/* Count an event of a target in the ledger. Does nothing for a cache without bookkeeping. */
void bookkeeping_count(struct cache *w, const struct target *t, enum ledger_event e);

/* --- the database --- */

#define BOOKKEEPING_NOTE "ledger" /* the note with the time of the last bookkeeping_write */
void bookkeeping_load(struct bookkeeping *b, const struct ledger_page_key *key, struct text packed);
void bookkeeping_load_note(struct bookkeeping *b, struct text value);
/* Book up to now, and add the ledger's changed pages to the checkpoint `to`. Call it in a cycle or after the last one.
 */
void bookkeeping_write(struct bookkeeping *b, struct store_batch *to);
/* Have the next checkpoint get all pages of open periods, because the database lost some. */
void bookkeeping_write_again(struct bookkeeping *b);

int64_t bookkeeping_now_ms(const struct bookkeeping *b); /* the wall time under which the ledger books now */
const struct ledger *bookkeeping_ledger(const struct bookkeeping *b);
const char *bookkeeping_label(const struct bookkeeping *b); /* key of the booked label, as in the options; "": none */

#endif
