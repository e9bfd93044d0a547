/*
 * Checkpoints of histories and apply states: loaded at the start, packed on the loop, written by the store's thread.
 * Without a usable database halflife still learns, in memory only, and the log reports that once.
 */
#ifndef HALFLIFE_CACHE_CHECKPOINTER_H
#define HALFLIFE_CACHE_CHECKPOINTER_H

#include "base/metric_seconds.h"
#include "cache/cache.h"
#include "cache/clock_skew.h"
#include "cache/live_settings.h"
#include "net/loop.h"

struct checkpointer_callbacks { /* each may be NULL */
        /* a note was loaded that checkpointer_note stored */
        void (*note)(void *arg, struct text name, struct text value);
        void (*replaced)(void *arg);                    /* a damaged database was replaced: store all notes again */
        void (*forgotten)(void *arg, struct target *t); /* t is about to be freed */
        /* a page of the ledger was loaded */
        void (*ledger)(void *arg, const struct ledger_page_key *key, struct text packed);
        /* a checkpoint of everything new is about to be handed over: add to it what is new elsewhere */
        void (*pack)(void *arg, struct store_batch *b);
        void *arg;
};

struct checkpointer;
/* The caller keeps all arguments alive, except the struct of callbacks, which is copied. database: a file; NULL: memory
 * only. */
struct checkpointer *checkpointer_new(struct loop *l, struct cache *w, const struct clock_skew *skew,
                                      const struct live_settings *live, const char *database,
                                      const struct checkpointer_callbacks *callbacks);
/* NULL is allowed. After checkpointer_close, turn the loop once before this, or never again: the store's thread may
 * have posted an answer that refers to the checkpointer. */
void checkpointer_free(struct checkpointer *cp);

void checkpointer_open(struct checkpointer *cp, struct err *err); /* err code ERR_CONFLICT: halflife must exit */
int checkpointer_close(struct checkpointer *cp, struct err *err); /* writes a last checkpoint of everything new first */

/* The next functions store at once, without waiting for a checkpoint. */
void checkpointer_apply_state(struct checkpointer *cp, struct target *t);
/* Remember a kill that was counted in h; checkpointer_kills stores all of them. bytes: the memory held for it. */
void checkpointer_kill(struct checkpointer *cp, struct history *h, const struct pod *p, const struct pod_container *pc,
                       double bytes);
void checkpointer_kills(struct checkpointer *cp);
/* a named value of the whole database */
void checkpointer_note(struct checkpointer *cp, const char *name, struct text value);
/* Store everything new of t, in one transaction. */
void checkpointer_target(struct checkpointer *cp, struct target *t);
/* After t has adopted the histories of `old`: store those of t and delete those of `old`, in one transaction. */
void checkpointer_adopted(struct checkpointer *cp, struct target *t, struct target *old);
void checkpointer_namespace(struct checkpointer *cp,
                            const char *ns); /* everything new of its targets, in one transaction */

/* Pack a slice of a checkpoint of everything new. True: the checkpoint is complete and handed to the store. */
bool checkpointer_pack(struct checkpointer *cp);
/* Forget the targets that are over (target_is_over). */
void checkpointer_forget_old(struct checkpointer *cp);
/* Once a cycle: load each history again whose newest sample is ahead of both clocks. Starts that are ahead are dated to
 * now. */
void checkpointer_recall(struct checkpointer *cp);

/* Add to a report what the database has of its stretch; the open periods must be in it already. answered gets it back
 * on the loop, at once where there is no database, and frees it. err->code: part of it could not be read. Returns false
 * if too many are read already: the report stays the caller's. */
typedef void checkpointer_reported(void *arg, struct ledger_report *r, const struct err *err);
bool checkpointer_read_ledger(struct checkpointer *cp, struct ledger_report *r, checkpointer_reported *answered,
                              void *arg);

uint64_t checkpointer_last_sent(const struct checkpointer *cp);             /* number of the batch handed over last */
bool checkpointer_under_way(const struct checkpointer *cp, uint64_t batch); /* the batch is not on disk yet */

struct checkpointer_state {
        bool writes; /* a database is open, and its last write succeeded */
        uint64_t errors;
        uint64_t displaced; /* targets forgotten because their namespace kept too many without a workload */
        int64_t file_bytes;
        const struct metric_seconds *seconds; /* how long checkpoints took */
};
struct checkpointer_state checkpointer_state(const struct checkpointer *cp);

#endif
