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

struct checkpointer_callbacks { /* each callback may be NULL */
        /* a note was loaded that checkpointer_note stored */
        void (*note)(void *arg, struct text name, struct text value);
        void (*replaced)(void *arg);                    /* a damaged database was replaced: store all notes again */
        void (*forgotten)(void *arg, struct target *t); /* the target `t` is about to be freed */
        /* a page of the ledger was loaded */
        void (*ledger)(void *arg, const struct ledger_page_key *key, struct text packed);
        /* A checkpoint is about to be handed to the store: the callback adds what is new in other modules. */
        void (*pack)(void *arg, struct store_batch *b);
        void *arg;
};

struct checkpointer;
/* The caller keeps all arguments alive, except the struct of callbacks, which is copied. database: a file; NULL: memory
 * only. */
struct checkpointer *checkpointer_new(struct loop *l, struct cache *w, const struct clock_skew *skew,
                                      const struct live_settings *live, const char *database,
                                      const struct checkpointer_callbacks *callbacks);
/* `cp` NULL: does nothing. After checkpointer_close, either turn the loop once before checkpointer_free, or never turn
 * it again: the store's thread may have posted an answer that refers to the checkpointer. */
void checkpointer_free(struct checkpointer *cp);

/* Open the database and load it. err->code ERR_CONFLICT: another process holds the database, so halflife must exit. Any
 * other failure is only logged. */
void checkpointer_open(struct checkpointer *cp, struct err *err);
int checkpointer_close(struct checkpointer *cp, struct err *err); /* writes a last checkpoint of everything new first */

/* The next functions store at once, without waiting for a checkpoint. */
void checkpointer_apply_state(struct checkpointer *cp, struct target *t);
/* Remember a kill that was counted in the history `h`; checkpointer_kills stores all such kills. `bytes`: the memory
 * that the killed process is counted as having needed. */
void checkpointer_kill(struct checkpointer *cp, struct history *h, const struct pod *p, const struct pod_container *pc,
                       double bytes);
void checkpointer_kills(struct checkpointer *cp);
/* Store a note: a named value of the whole database. */
void checkpointer_note(struct checkpointer *cp, const char *name, struct text value);
/* Store everything new of t, in one transaction. */
void checkpointer_target(struct checkpointer *cp, struct target *t);
/* After t has adopted the histories of `old`: store those of t and delete those of `old`, in one transaction. */
void checkpointer_adopted(struct checkpointer *cp, struct target *t, struct target *old);
void checkpointer_namespace(struct checkpointer *cp,
                            const char *ns); /* everything new of the namespace's targets, in one transaction */

/* Pack the next slice of a checkpoint of everything new. True: the checkpoint is complete and handed to the store, or
 * there is no store. */
bool checkpointer_pack(struct checkpointer *cp);
/* Forget the targets that are over (target_is_over). */
void checkpointer_forget_old(struct checkpointer *cp);
/* Call it once a cycle: each history whose newest sample is ahead of both clocks for several cycles is loaded again
 * from the database. Samples of containers' starts that are ahead are dated to the present. */
void checkpointer_recall(struct checkpointer *cp);

/* Add to the report `r` what the database has of the report's time span; the caller has added the ledger's open periods
 * before. `answered` gets `r` back on the loop, at once where there is no database, and frees it; err->code not 0: part
 * of the database could not be read. Returns false if too many reports are being read: `r` stays the caller's. */
typedef void checkpointer_reported(void *arg, struct ledger_report *r, const struct err *err);
bool checkpointer_read_ledger(struct checkpointer *cp, struct ledger_report *r, checkpointer_reported *answered,
                              void *arg);

uint64_t checkpointer_last_sent(const struct checkpointer *cp); /* number of the store batch handed over last */
bool checkpointer_under_way(const struct checkpointer *cp,
                            uint64_t batch); /* is the store batch of that number not on disk yet? */

struct checkpointer_state {
        bool writes;        /* a database is open, and its last write succeeded */
        uint64_t errors;    /* failed checkpoints and replaced databases since the start */
        uint64_t displaced; /* targets forgotten because their namespace kept too many without a workload */
        int64_t file_bytes;
        const struct metric_seconds *seconds; /* how long checkpoints took */
};
struct checkpointer_state checkpointer_state(const struct checkpointer *cp);

#endif
