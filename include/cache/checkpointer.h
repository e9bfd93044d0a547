/*
 * Checkpoints of what was learned and done: loaded at the start, packed on the loop, written by the store's thread. A
 * database that cannot be had keeps nobody from learning: what is known stays in memory, and the log says so once.
 */
#ifndef HALFLIFE_CACHE_CHECKPOINTER_H
#define HALFLIFE_CACHE_CHECKPOINTER_H

#include "base/metric_seconds.h"
#include "cache/cache.h"
#include "cache/clock_skew.h"
#include "cache/live_settings.h"
#include "net/loop.h"

struct checkpointer_callbacks {                                       /* each may be NULL */
        void (*note)(void *arg, struct text name, struct text value); /* loaded: what checkpointer_note stored */
        void (*replaced)(void *arg);                    /* the database was, damaged: all notes are to be stored anew */
        void (*forgotten)(void *arg, struct target *t); /* it is about to be freed */
        void *arg;
};

struct checkpointer;
/* All but the callbacks' struct are the caller's and stay. database: a file; NULL: memory only. */
struct checkpointer *checkpointer_new(struct loop *l, struct cache *w, const struct clock_skew *skew,
                                      const struct live_settings *live, const char *database,
                                      const struct checkpointer_callbacks *callbacks);
/* Closes it; NULL: nothing. The loop is turned once between checkpointer_close and this, or never again: the store's
 * thread may have posted what it has to tell. */
void checkpointer_free(struct checkpointer *cp);

void checkpointer_open(struct checkpointer *cp, struct err *err); /* err code ERR_CONFLICT: give up */
int checkpointer_close(struct checkpointer *cp, struct err *err); /* after a last checkpoint of all that is new */

/* Stored at once: */
void checkpointer_apply_state(struct checkpointer *cp, struct target *t);
/* A kill that was counted in h; stored, with all that were, by checkpointer_kills. */
void checkpointer_kill(struct checkpointer *cp, struct history *h, const struct pod *p, const struct pod_container *pc,
                       double bytes);
void checkpointer_kills(struct checkpointer *cp);
void checkpointer_note(struct checkpointer *cp, const char *name, struct text value); /* by name, beside all targets */
/* What is new of t, in one transaction. */
void checkpointer_target(struct checkpointer *cp, struct target *t);
/* t's histories and the end of old's, in one transaction. */
void checkpointer_adopted(struct checkpointer *cp, struct target *t, struct target *old);
void checkpointer_namespace(struct checkpointer *cp,
                            const char *ns); /* what is new of its targets, in one transaction */

/* A checkpoint of all that is new: packs a slice; true when it is handed over. */
bool checkpointer_pack(struct checkpointer *cp);
/* Targets that vanished longer ago than the retention time are forgotten. */
void checkpointer_forget_old(struct checkpointer *cp);
void checkpointer_recall(struct checkpointer *cp); /* histories whose newest sample is ahead of every clock */

uint64_t checkpointer_last_sent(const struct checkpointer *cp);             /* number of what was handed over last */
bool checkpointer_under_way(const struct checkpointer *cp, uint64_t batch); /* that is not on disk yet */

struct checkpointer_state {
        bool writes; /* there is a database, and the last write did not fail */
        uint64_t errors;
        int64_t file_bytes;
        const struct metric_seconds *seconds; /* of checkpoints */
};
struct checkpointer_state checkpointer_state(const struct checkpointer *cp);

#endif
