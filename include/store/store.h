/*
 * The checkpoint: one SQLite file (WAL, synchronous=FULL), owned by one process (flock on FILE.lock) and, in it, by one
 * thread.
 *
 * The caller packs rows into a batch and hands the batch over; the store's thread writes it in one transaction, so that
 * a kill at any write leaves the old state or the new one, whole. A row that does not check out at load is refused
 * alone and told. What happens to a file:
 *
 *   missing                    made new
 *   unclean stop               WAL recovered by SQLite, quick_check, rows checked by their CRC
 *   damaged or truncated       set aside as FILE.damaged-<time>, readable rows carried over to a new file: when it is
 *                              opened or loaded, or else before the first batch (after a clean stop the start does not
 *                              wait for quick_check), or when a write meets it; then told (ERR_DAMAGED, batch 0)
 *   its schema is not ours     the same, when it is opened; its rows are read by our own schema
 *   whole, but refuses writes  the same, once in a life
 *   not ours, newer schema     left untouched; refused: the controller goes on in memory (ERR_INVALID)
 *   read-only, no directory    refused likewise (ERR_DENIED, ERR_IO)
 *   held by another process    ERR_CONFLICT, naming the other's process id (after a tenth of a second: who only looks,
 *                              store_inspect, has the lock for less)
 *   disk full at a write       the batch is kept and tried again with the next one; told once (ERR_NOSPACE)
 */
#ifndef HALFLIFE_STORE_STORE_H
#define HALFLIFE_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "core/usage.h"

struct store_key {
        struct text ns, group, kind, name; /* of the target */
        struct text container;             /* empty for target rows */
};

enum { STORE_UID_BYTES = 16, STORE_RECORD_MAX = 64 << 10, STORE_NOTE_MAX = 16 << 20 };
struct store_watermark { /* the sample watermark of one pod's container */
        uint8_t uid[STORE_UID_BYTES];
        int64_t last_ms;
};

struct store_kill { /* once per (uid, container, restarts): told again, the first one stays */
        uint8_t uid[STORE_UID_BYTES];
        int64_t restarts;
        struct wall at;
        double bytes;
};

/* What the store tells, on its own thread: keep it short, hand it on (loop_post). */
struct store_result {
        struct err err; /* code 0: the batch is on disk */
        uint64_t batch; /* which one */
        int64_t rows, took_ms, file_bytes;
        bool recall; /* the answer of store_recall follows */
        const void *recall_tag;
        uint8_t packed[USAGE_PACK_MAX];
        size_t packed_len; /* 0: no earlier generation */
};

struct store_options {
        const char *path;
        struct wall now;
        void (*told)(void *arg, const struct store_result *r); /* from the store's thread */
        void *arg;
};

struct store;
/* Open, check, migrate. *ret_note: what was found and done, for one log line ("" when all was well); at least 512
 * bytes. */
int store_open(const struct store_options *o, struct store **ret, char *ret_note, struct err *err);

/*
 * Read everything back, before the first batch; on the caller's thread. Texts live until the callback returns. Each
 * target is told once, before what is of it; what its callback returns (not NULL) names it from then on.
 */
struct store_reader {
        void *(*target)(void *arg, const struct store_key *key);                       /* container is empty */
        void (*record)(void *arg, void *target, struct text record, struct wall gone); /* of those that have one */
        void (*usage)(void *arg, void *target, struct text container, const struct usage *u,
                      const struct store_watermark *watermark, size_t watermarks);
        void (*kill)(void *arg, void *target, struct text container, const struct store_kill *kill);
        void (*note)(void *arg, struct text name, struct text value); /* controller-wide notes (the budget's ledger) */
        /* A row that does not check out; its text tells whether the generation before it is used instead (then usage is
         * called as well). target NULL: of one that is not readable itself, or of the file as a whole. */
        void (*refused)(void *arg, void *target, struct text container, const struct err *why);
        void *arg;
};
/* Returns 0, or < 0 where the file could not be read to its end. What was not read is not known, so nothing is written
 * in its place: every batch is told of with that error. */
int store_load(struct store *s, const struct store_reader *r, struct err *err);

/* A batch: rows by value. A name longer than 253 bytes is none of Kubernetes': such a row is left out. */
struct store_batch;
struct store_batch *store_batch_new(void);
void store_batch_free(struct store_batch *b); /* one not handed over */
size_t store_batch_rows(const struct store_batch *b);
/* watermark NULL: those stored before stay; not NULL with watermarks 0: there are none any more. */
void store_batch_usage(struct store_batch *b, const struct store_key *key, const struct usage *u,
                       const struct store_watermark *watermark, size_t watermarks);
/* record: the caller's own text about a target (JSON, at most STORE_RECORD_MAX bytes, asserted); gone: when its
 * workload vanished (ms 0: it lives). */
void store_batch_target(struct store_batch *b, const struct store_key *key, struct text record, struct wall gone);
void store_batch_kill(struct store_batch *b, const struct store_key *key, const struct store_kill *kill);
/* value: at most STORE_NOTE_MAX bytes (asserted). */
void store_batch_note(struct store_batch *b, const char *name, struct text value);
/* Forget a target with everything of it (retention over). */
void store_batch_forget(struct store_batch *b, const struct store_key *key);
/* Kills older than before are dropped. */
void store_batch_forget_kills(struct store_batch *b, struct wall before);

/* Hand a batch over: the store's from now on. Returns its number. At most 64 wait; then the newest are joined into one.
 */
uint64_t store_submit(struct store *s, struct store_batch *b);
/* Ask for a history as it was one checkpoint before the newest: answered by told with recall and this tag. At most 1024
 * wait; what is beyond is not answered. */
void store_recall(struct store *s, const struct store_key *key, const void *tag);

/* Write what waits, close cleanly (marks the file so), end the thread. Returns the last error, 0 when all is on disk.
 */
int store_close(struct store *s, struct err *err);

/* Open for reading only (replay, tools): no lock, no thread. */
int store_open_reader(const char *path, struct store **ret, struct err *err);

/*
 * Look at a file without opening it for good: every row is read, nothing written. ERR_INVALID: not ours, or newer;
 * ERR_DAMAGED; ERR_DENIED, ERR_IO. The holder is told whatever is returned, the rest as far as it was seen.
 */
struct store_facts {
        bool exists;
        bool clean;                          /* it was closed cleanly */
        long holder;                         /* process id of who holds it; 0: nobody, -1: it does not say */
        int64_t schema, bytes;               /* bytes: its log included */
        int64_t targets, histories, refused; /* refused: rows that do not check out */
};
int store_inspect(const char *path, struct store_facts *ret, struct err *err);

#endif
