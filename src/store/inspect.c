/*
 * Inspect a database from outside: nothing is written, and no lock is kept for longer than the inspection.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/mem.h"
#include "db.h"
#include "index.h"
#include "load.h"
#include "store/store.h"

/* Process id of the lock's holder; 0: none, -1: unknown. The shared lock taken to find out is released at once. */
static long holder_of(const char *path)
{
        char *name AUTO(mem_free) = mem_printf("%s.lock", path);
        char pid[24] = "";
        int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return 0;
        bool held = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
        ssize_t len = held ? pread(fd, pid, sizeof pid - 1, 0) : 0;
        close(fd);
        return !held ? 0 : len > 0 ? strtol(pid, NULL, 10) : -1;
}

static void *count_target(void *arg, const struct store_key *key)
{
        (void)key;
        ((struct store_facts *)arg)->targets++;
        return arg;
}

static void inspect_pass_record(void *arg, void *target, struct text record, struct wall gone)
{
        (void)arg, (void)target, (void)record, (void)gone;
}

static void count_usage(void *arg, void *target, struct text container, const struct usage *u,
                        const struct store_watermark *watermark, size_t watermarks)
{
        (void)target, (void)container, (void)u, (void)watermark, (void)watermarks;
        ((struct store_facts *)arg)->histories++;
}

static void inspect_pass_kill(void *arg, void *target, struct text container, const struct store_kill *kill)
{
        (void)arg, (void)target, (void)container, (void)kill;
}

static void inspect_pass_note(void *arg, struct text name, struct text value)
{
        (void)arg, (void)name, (void)value;
}

static void count_refused(void *arg, void *target, struct text container, const struct err *why)
{
        (void)target, (void)container, (void)why;
        ((struct store_facts *)arg)->refused++;
}

static int inspect_read_all(struct db *d, struct store_facts *ret, struct err *err)
{
        const struct store_reader reader = {
                .target = count_target,
                .record = inspect_pass_record,
                .usage = count_usage,
                .kill = inspect_pass_kill,
                .note = inspect_pass_note,
                .refused = count_refused,
                .arg = ret,
        };
        struct index index;
        bool suspect;
        index_init(&index);
        int rc = load_all(d, &index, &reader, &suspect, err);
        index_release(&index);
        return rc;
}

/* --- how large it becomes --- */

/* An SQL estimate of a ledger page's bytes in the file; a long one leaves its page of the database partly empty. */
#define PAGE_BYTES "length(packed) + CASE WHEN length(packed) < 512 THEN 100 ELSE 1024 END"

static int64_t inspect_periods(enum ledger_axis a, enum ledger_span s)
{
        return ledger_kept_ms(a, s) / ledger_span_ms(s) + 1; /* + 1: the period that still runs */
}

/* Add to bytes_later what the ledger will grow by, if each period becomes as large as the largest one of its axis and
 * span so far. */
static int inspect_ledger(struct db *d, struct store_facts *ret, struct err *err)
{
        static const char by_period[] = "SELECT span, axis, sum(bytes), max(bytes), count(*) FROM"
                                        " (SELECT span, axis, sum(" PAGE_BYTES ") AS bytes FROM ledger"
                                        " GROUP BY span, axis, start_ms) GROUP BY span, axis";
        sqlite3_stmt *s = NULL;
        int step = sqlite3_prepare_v2(d->sql, by_period, -1, &s, NULL);
        while (step == SQLITE_OK && (step = sqlite3_step(s)) == SQLITE_ROW) {
                int64_t span = sqlite3_column_int64(s, 0), axis = sqlite3_column_int64(s, 1);
                step = SQLITE_OK;
                if (span < 0 || span >= LEDGER_SPANS || axis < 0 || axis >= LEDGER_AXES)
                        continue;
                int64_t most = inspect_periods((enum ledger_axis)axis, (enum ledger_span)span),
                        periods = sqlite3_column_int64(s, 4), bytes = sqlite3_column_int64(s, 2),
                        full = sqlite3_column_int64(s, 3) * most;
                ret->bytes_later += full > bytes ? full - bytes : 0;
                if (span == LEDGER_DAY && periods > ret->ledger_days)
                        ret->ledger_days = periods;
        }
        sqlite3_finalize(s);
        return step == SQLITE_DONE ? 0 : db_error(d, err, "read the ledger of");
}

/* Bytes to come for second generations: histories that were written once have only a first one. */
static int64_t inspect_second_generations(struct db *d)
{
        static const char first[] = "SELECT total(length(packed) + length(doors)) FROM usage0",
                          second[] = "SELECT total(length(packed) + length(doors)) FROM usage1";
        int64_t a = db_number(d, first), b = db_number(d, second);
        return a > b ? a - b : b - a;
}

static int inspect_size(struct db *d, struct store_facts *ret, struct err *err)
{
        ret->bytes = db_bytes(d);
        ret->bytes_later = ret->bytes + inspect_second_generations(d);
        return d->later[LATER_LEDGER] ? inspect_ledger(d, ret, err) : 0;
}

int store_inspect(const char *path, struct store_facts *ret, struct err *err)
{
        enum db_file file;
        struct db d;
        *ret = (struct store_facts){.holder = holder_of(path)};
        int rc = db_judge(path, &file, err);
        if (rc < 0 || file == DB_MISSING)
                return rc;
        ret->exists = true;
        if (file == DB_BROKEN)
                return err_set(err, ERR_DAMAGED, "'%s' is damaged: its beginning is not readable", path);
        if (file == DB_SHORT && !ret->holder) /* a holder may just be extending the file */
                return err_set(err, ERR_DAMAGED, "'%s' is damaged: its end is missing", path);
        rc = db_open(&d, path, false, &ret->clean, err);
        if (rc < 0)
                return rc;
        ret->schema = db_number(&d, "PRAGMA user_version");
        ret->bytes = db_bytes(&d);
        rc = db_check(&d, false, err);
        if (rc == 0)
                rc = inspect_read_all(&d, ret, err);
        if (rc == 0)
                rc = inspect_size(&d, ret, err);
        db_close(&d);
        return rc;
}
