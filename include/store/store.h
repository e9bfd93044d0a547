/*
 * The checkpoint: one SQLite file (WAL, synchronous=FULL), owned by one process (flock on FILE.lock) and, within it, by
 * one thread.
 *
 * The caller fills a batch with rows and hands it over. The store's thread writes it in one transaction, so a crash at
 * any write leaves the old state or the new one, never a mix. At load each row is checked; a bad row alone is refused
 * and reported. What the store does with a file:
 *
 *   missing                     create it
 *   closed uncleanly            SQLite recovers the WAL; then quick_check, and a check of each row's CRC
 *   damaged or truncated        set the file aside as FILE.damaged-<time> and carry readable rows over to a new one, as
 *                               soon as the damage is found: at open or load, before the first batch (quick_check is
 *                               left to then after a clean stop, so the start does not wait for it), or at a write.
 *                               From the store's thread the replacement is reported (ERR_DAMAGED, batch 0)
 *   schema differs from ours    replace it like a damaged file, at open; rows are read by halflife's own schema
 *   intact, but refuses writes  replace it like a damaged file, once in the store's life
 *   another program's, or of a  leave the file untouched and refuse it; the controller goes on in memory (ERR_INVALID)
 *   newer halflife
 *   read-only, no directory     refuse it as well (ERR_DENIED, ERR_IO)
 *   held by another process     ERR_CONFLICT with the other's process id, after a tenth of a second, since
 *                               store_inspect holds the lock for less
 *   disk full at a write        keep the batch and retry it with the next one; report it once (ERR_NOSPACE)
 */
#ifndef HALFLIFE_STORE_STORE_H
#define HALFLIFE_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "core/usage.h"
#include "ledger/ledger_report.h"

struct store_key {
        struct text ns, group, kind, name; /* these name the target */
        struct text container;             /* empty in the key of a target as a whole */
};

enum { STORE_UID_BYTES = 16, STORE_RECORD_MAX = 64 << 10, STORE_NOTE_MAX = 16 << 20 };
struct store_watermark { /* the sample watermark of one pod's container */
        uint8_t uid[STORE_UID_BYTES];
        int64_t last_ms;
};

struct store_kill { /* an OOM kill; of several with the same uid, container and restarts the first stays */
        uint8_t uid[STORE_UID_BYTES];
        int64_t restarts;
        struct wall at;
        double bytes;
};

/* What the store reports after a batch, a recall, or the replacement of a damaged file. */
struct store_result {
        struct err err; /* code 0: the batch is on disk */
        uint64_t batch; /* the number from store_submit; 0: the file was replaced */
        int64_t rows, took_ms, file_bytes;
        bool recall; /* the result answers a store_recall, in the fields below */
        const void *recall_tag;
        uint8_t packed[USAGE_PACK_MAX]; /* the history, by usage_pack */
        size_t packed_len;              /* bytes; 0: there is no earlier generation */
        struct ledger_report *report;   /* not NULL: the answer to store_read_ledger; with err, it lacks pages */
        void *report_tag;
};

struct store_options {
        const char *path;
        struct wall now;
        /* The store's thread calls told and waits until the callback returns: it should only copy the result and pass
         * the copy to the main loop (loop_post). */
        void (*told)(void *arg, const struct store_result *r);
        void *arg;
};

struct store;
/* Open a file, check it, and bring its schema up to date. ret_note holds at least 512 bytes; it gets what was found and
 * done, as text for one log line, or "" if all was well. */
int store_open(const struct store_options *o, struct store **ret, char *ret_note, struct err *err);

/*
 * Callbacks of store_load. Texts live until the callback returns. `target` is called once per target, before the
 * target's record, histories and kills. It returns a handle (not NULL), which the other callbacks get as their argument
 * `target`.
 */
struct store_reader {
        void *(*target)(void *arg, const struct store_key *key);                       /* key->container is empty */
        void (*record)(void *arg, void *target, struct text record, struct wall gone); /* called if there is one */
        void (*usage)(void *arg, void *target, struct text container, const struct usage *u,
                      const struct store_watermark *watermark, size_t watermarks);
        void (*kill)(void *arg, void *target, struct text container, const struct store_kill *kill);
        void (*note)(void *arg, struct text name, struct text value); /* controller-wide notes (the budget's ledger) */
        /* A row is bad; why->text says whether the history's earlier generation is used instead (then `usage` is called
         * as well). `target` is NULL if the target itself is unreadable, or if `why` concerns the file as a whole. */
        void (*refused)(void *arg, void *target, struct text container, const struct err *why);
        void *arg;
};
/* Read everything back on the caller's thread, before the first batch. Returns 0, or < 0 if the file could not be read
 * to its end. Later writes might then overwrite rows that were never read, so every batch fails with that error. */
int store_load(struct store *s, const struct store_reader *r, struct err *err);

/* After store_load: read the pages of the ledger's newest periods, as ledger_restore wants them. *ret_refused: how many
 * are damaged, and left out. Returns 0, or < 0 if some could not be read. */
int store_load_ledger(struct store *s, void (*each)(void *arg, const struct ledger_page_key *key, struct text packed),
                      void *arg, int *ret_refused, struct err *err);

/* After store_load: read the rows of changes, in the order of their ids. *ret_refused: how many are damaged and left
 * out; each gap in the ids counts as one too. Returns 0, or < 0 if some could not be read. */
int store_load_changes(struct store *s, void (*each)(void *arg, int64_t id, struct wall at, struct text record),
                       void *arg, int *ret_refused, struct err *err);

/* A batch holds copies of rows. A row with a name longer than 253 bytes is left out, as Kubernetes has no such names.
 */
struct store_batch;
struct store_batch *store_batch_new(void);
void store_batch_free(struct store_batch *b); /* for a batch that was not handed over */
size_t store_batch_rows(const struct store_batch *b);
/* Write a history. `watermark` NULL keeps the stored watermarks; not NULL with `watermarks` 0 removes them. */
void store_batch_usage(struct store_batch *b, const struct store_key *key, const struct usage *u,
                       const struct store_watermark *watermark, size_t watermarks);
/* Write a target. `record` is the caller's own text about the target (JSON, at most STORE_RECORD_MAX bytes, asserted).
 * `gone` is when the target's workload vanished (ms 0: the workload exists). */
void store_batch_target(struct store_batch *b, const struct store_key *key, struct text record, struct wall gone);
void store_batch_kill(struct store_batch *b, const struct store_key *key, const struct store_kill *kill);
/* Write a controller-wide note; value has at most STORE_NOTE_MAX bytes (asserted). */
void store_batch_note(struct store_batch *b, const char *name, struct text value);
void store_batch_ledger(struct store_batch *b, const struct ledger_page_key *key, struct text packed);
/* Delete the ledger's pages that are older, at `now`, than the ledger keeps them (ledger_kept_ms). */
void store_batch_forget_ledger(struct store_batch *b, struct wall now);
/* Write a change of a workload under its id; `at` is when it was made, `record` the caller's own text about it. */
void store_batch_change(struct store_batch *b, int64_t id, struct wall at, struct text record);
/* Delete the changes whose id is at most `id`, and those made before the time `before`. */
void store_batch_forget_changes(struct store_batch *b, int64_t id, struct wall before);
/* Delete a target with its record, histories and kills, once its retention is over. */
void store_batch_forget(struct store_batch *b, const struct store_key *key);
/* Delete the kills that happened earlier than `before`. */
void store_batch_forget_kills(struct store_batch *b, struct wall before);

/* Hand a batch over; the store then owns it. Returns its number. At most 64 batches wait; beyond that, the newest are
 * joined into one. Only one thread may call store_submit and store_recall. */
uint64_t store_submit(struct store *s, struct store_batch *b);
/* Read a history's previous generation, from the last checkpoint but one, on the store's thread. The callback `told`
 * gets it in a result with `recall` set and this tag. At most 1024 recalls wait; further ones get no answer. */
void store_recall(struct store *s, const struct store_key *key, const void *tag);

/* Add to a report the ledger's pages of the report's stretch of time. The store owns the report until the callback
 * `told` gets it back with this tag. Only the thread that calls store_submit may call this; pages in batches that it
 * handed over before are read as well. */
void store_read_ledger(struct store *s, struct ledger_report *report, void *tag);

/* Write the batches that wait, mark the file as closed cleanly, end the thread and free s. Returns 0 if all is on disk,
 * else the last error. */
int store_close(struct store *s, struct err *err);

/* Open a file for reading only (replay, tools), without lock and thread. */
int store_open_reader(const char *path, struct store **ret, struct err *err);

/*
 * store_inspect reads every row of a file from outside, and writes nothing. ERR_INVALID: another program's file, or a
 * newer schema; ERR_DAMAGED; ERR_DENIED, ERR_IO. On an error, `holder` is set all the same, and the other facts as far
 * as they were read.
 */
struct store_facts {
        bool exists;
        bool clean;                          /* the file was closed cleanly */
        long holder;                         /* process that holds the lock; 0: none, -1: held, process id unknown */
        int64_t schema, bytes;               /* bytes: size of the file and its WAL */
        int64_t targets, histories, refused; /* refused: bad rows */
        int64_t ledger_days;                 /* days that the ledger has; 0: the ledger was not written yet */
        /* An estimate of `bytes` once the ledger has all the hours and days that it keeps, each as large as the
         * largest so far, and each history has both generations. The number of histories is assumed to stay. */
        int64_t bytes_later;
};
int store_inspect(const char *path, struct store_facts *ret, struct err *err);

#endif
