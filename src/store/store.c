#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "batch_write.h"
#include "change_rows.h"
#include "load.h"
#include "repair.h"

enum { BATCHES_MOST = 64, RECALLS_MOST = 1024 };

struct store {
        struct store_options o;
        char *path;
        int lock; /* -1: a reader */
        struct checkpoint c;
        struct store_batch *kept; /* a batch that could not be written; retried together with the next one */
        struct err failed;        /* the error of the last write, reported once; code 0: none */
        bool replaced;            /* the file was replaced although all checks found it intact; done once at most */
        bool moved;               /* the file was removed or replaced by somebody else, and none is open since */
        struct err unread;        /* the load was incomplete; writing could destroy unread rows, so every batch fails */

        pthread_t thread;
        struct mailbox waiting;          /* batches and recalls, in order */
        _Atomic size_t batches, recalls; /* how many of each are in `waiting` */
        uint64_t number;
};

/* --- one owner --- */

static int lock_error(int why, const char *name, struct err *err)
{
        if (why == ENOENT || why == ENOTDIR)
                return err_set(err, ERR_IO, "open '%s': its folder does not exist: make it", name);
        if (why == EACCES || why == EPERM || why == EROFS)
                return err_set(err, ERR_DENIED, "open '%s': %s: the folder must be writable", name, strerror(why));
        return err_set(err, why == ENOSPC ? ERR_NOSPACE : ERR_IO, "open '%s': %s", name, strerror(why));
}

/* Try for a tenth of a second: store_inspect takes a shared lock for a moment, an owner keeps its lock for longer. */
static int lock_try(int fd)
{
        enum { TRIES = 20, PAUSE_US = 5000 };
        int rc = flock(fd, LOCK_EX | LOCK_NB);
        for (int n = 1; n < TRIES && rc < 0 && errno == EWOULDBLOCK; n++) {
                usleep(PAUSE_US);
                rc = flock(fd, LOCK_EX | LOCK_NB);
        }
        return rc;
}

static int lock_take(const char *path, int *ret_fd, struct err *err)
{
        char *name AUTO(mem_free) = mem_printf("%s.lock", path);
        char pid[24] = "";
        int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0)
                return lock_error(errno, name, err);
        if (lock_try(fd) < 0) {
                int why = errno;
                ssize_t len = pread(fd, pid, sizeof pid - 1, 0);
                close(fd);
                if (why != EWOULDBLOCK)
                        return lock_error(why, name, err);
                return err_set(err, ERR_CONFLICT, "'%s' is held by process %ld: stop it, or give another path", path,
                               len > 0 ? strtol(pid, NULL, 10) : 0L);
        }
        int len = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
        if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)len, 0) != len) {
                int why = errno;
                close(fd);
                return lock_error(why, name, err);
        }
        *ret_fd = fd;
        return 0;
}

/* --- the store's thread --- */

/* Report that a damaged file was replaced, or that halflife writes a new one since somebody took the file away. An
 * intact file that was reopened needs no report: the error that closed it was reported. */
static void tell_mended(struct store *s, const char note[static MEND_NOTE])
{
        struct store_result r = {.err = {.code = ERR_DAMAGED}};
        memcpy(r.err.text, note, MEND_NOTE);
        if (s->moved && !s->c.db.replaced)
                snprintf(r.err.text, sizeof r.err.text, "'%.400s' was removed or replaced while halflife ran", s->path);
        if (s->moved || s->c.db.replaced)
                s->o.told(s->o.arg, &r);
        s->moved = false;
}

/* Close a file that its path no longer leads to: rows written to it would be gone when the process ends. Remove its
 * log, which SQLite would apply to the file now at that path. */
static void leave_moved(struct store *s)
{
        int moved = 0;
        if (!s->c.db.sql || sqlite3_file_control(s->c.db.sql, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK ||
            !moved)
                return;
        s->moved = true;
        db_close(&s->c.db);
        enum db_file file;
        if (db_judge(s->path, &file, &(struct err){0}) == 0) /* else another program may be using the logs */
                repair_remove_logs(s->path);
}

static int store_reopen(struct store *s, struct err *err)
{
        char note[MEND_NOTE] = "";
        index_reset(&s->c.index);
        int rc = repair_open(&s->c.db, s->path, true, now_read().wall, note, err);
        if (rc == 0)
                tell_mended(s, note);
        return rc;
}

/* Replace a file that passes all checks but refuses writes. This happens once in the store's life: if it does not help,
 * repeating it would fill the disk with files set aside. */
static int replace_whole(struct store *s, struct err *err)
{
        char note[MEND_NOTE] = "";
        struct err why = *err;
        s->replaced = true;
        db_close(&s->c.db);
        index_reset(&s->c.index);
        int rc = repair_replace(&s->c.db, s->path, why.text, now_read().wall, note, err);
        if (rc == 0)
                tell_mended(s, note);
        return rc;
}

/*
 * Check the structure before the first write. The start skips this check for a file that was closed cleanly, so as not
 * to wait; here nobody waits. Rows written into a damaged structure (ids out of order, overlapping pages) might be
 * unreadable at once. If the check itself fails, the write is tried all the same, and its error says why.
 */
static int write_checked(struct store *s, const struct store_batch *b, struct err *err)
{
        if (!s->c.db.checked && db_check(&s->c.db, false, err) == ERR_DAMAGED)
                return ERR_DAMAGED;
        return checkpoint_write(&s->c, b, err);
}

/* Write a batch. A damaged file is replaced first. After other errors, except a full disk or a busy file, the database
 * is closed and opened again at the next write. */
static int store_attempt(struct store *s, const struct store_batch *b, struct err *err)
{
        if (s->unread.code) {
                *err = s->unread;
                return err->code;
        }
        leave_moved(s);
        int rc = s->c.db.sql ? 0 : store_reopen(s, err);
        if (rc == 0)
                rc = write_checked(s, b, err);
        if (rc == ERR_DAMAGED) {
                db_close(&s->c.db);
                rc = store_reopen(s, err);
                if (rc == 0)
                        rc = write_checked(s, b, err);
        }
        if (rc == ERR_DAMAGED && !s->replaced) {
                rc = replace_whole(s, err);
                if (rc == 0)
                        rc = write_checked(s, b, err);
        }
        if (rc < 0 && rc != ERR_NOSPACE && rc != ERR_RETRY)
                db_close(&s->c.db);
        return rc;
}

static void write_kept(struct store *s)
{
        struct store_result r = {.batch = s->kept->number, .rows = (int64_t)store_batch_rows(s->kept)};
        struct mono start = mono_read();
        int rc = store_attempt(s, s->kept, &r.err);
        r.took_ms = (mono_read().ns - start.ns) / 1000000;
        r.file_bytes = s->c.db.sql ? db_bytes(&s->c.db) : 0;
        bool told_already = rc < 0 && rc == s->failed.code;
        s->failed = r.err;
        if (rc == 0)
                r.err = s->failed = (struct err){0}; /* an attempt before the file was replaced may have set err */
        if (rc == 0 || s->unread.code) {
                store_batch_free(s->kept);
                s->kept = NULL;
        }
        if (!told_already)
                s->o.told(s->o.arg, &r);
}

static void write_batch(struct store *s, struct store_batch *b)
{
        if (s->kept)
                batch_join(s->kept, b);
        else
                s->kept = b;
        write_kept(s);
}

static void answer_recall(struct store *s, struct store_batch *b)
{
        struct store_result r = {.recall = true, .recall_tag = b->tag, .batch = b->number};
        int rc = s->c.db.sql ? 0 : store_reopen(s, &r.err);
        if (rc == 0)
                checkpoint_recall(&s->c, b, r.packed, &r.packed_len, &r.err);
        store_batch_free(b);
        s->o.told(s->o.arg, &r);
}

static void take_page(void *arg, const struct ledger_page_key *key, struct text packed)
{
        ledger_report_page(arg, key, packed);
}

/* Read a report's pages, then those of its second report by pools (`pools`); *damaged counts the bad pages of both. */
static int store_read_pages(struct store *s, struct ledger_report *of, int *damaged, struct err *err)
{
        int refused = 0, rc = load_ledger_stretch(&s->c.db, of, take_page, of, &refused, err);
        *damaged += refused;
        return rc == 0 && of->pools ? store_read_pages(s, of->pools, damaged, err) : rc;
}

static void answer_report(struct store *s, struct store_batch *b)
{
        struct store_result r = {.report = b->report, .report_tag = b->report_tag};
        int rc = s->c.db.sql ? 0 : store_reopen(s, &r.err);
        if (rc == 0)
                (void)store_read_pages(s, b->report, &b->report->damaged, &r.err);
        store_batch_free(b);
        s->o.told(s->o.arg, &r);
}

static void *store_run(void *arg)
{
        struct store *s = arg;
        for (struct store_batch *b; (b = mailbox_wait(&s->waiting));) {
                if (b->report) {
                        answer_report(s, b);
                        continue;
                }
                *(b->recall ? &s->recalls : &s->batches) -= 1;
                if (b->recall)
                        answer_recall(s, b);
                else
                        write_batch(s, b);
        }
        if (s->kept) /* the store closes: try the failed batch a last time */
                write_kept(s);
        return NULL;
}

/* Start the store's thread with all signals blocked, so that the main loop's thread gets them. */
static int store_start(struct store *s, struct err *err)
{
        sigset_t all, before;
        sigfillset(&all);
        mailbox_init(&s->waiting, 0, NULL, NULL);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int why = pthread_create(&s->thread, NULL, store_run, s);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return why ? err_set(err, ERR_RETRY, "start the store's thread: %s", strerror(why)) : 0;
}

/* --- handing over --- */

static void store_post(struct store *s, struct store_batch *b)
{
        (void)mailbox_post(&s->waiting, &b->item); /* never fails: the two counts bound it, and it is closed last */
}

uint64_t store_submit(struct store *s, struct store_batch *b)
{
        uint64_t number = b->number = ++s->number;
        struct store_batch *last = s->batches >= BATCHES_MOST ? mailbox_take_back(&s->waiting) : NULL;
        if (last && !last->recall && !last->report) {
                batch_join(last, b);
                store_post(s, last);
                return number;
        }
        if (last)
                store_post(s, last);
        s->batches++;
        store_post(s, b);
        return number;
}

void store_recall(struct store *s, const struct store_key *key, const void *tag)
{
        if (s->recalls >= RECALLS_MOST)
                return;
        struct store_batch *b = store_batch_new();
        batch_add_recall(b, key, tag);
        s->recalls++;
        store_post(s, b);
}

void store_read_ledger(struct store *s, struct ledger_report *report, void *tag)
{
        struct store_batch *b = store_batch_new();
        b->report = report;
        b->report_tag = tag;
        store_post(s, b);
}

/* --- open, load, close --- */

static struct store *store_new(const char *path)
{
        struct store *s = MEM_NEW(struct store);
        s->path = mem_string(path);
        s->lock = -1;
        index_init(&s->c.index);
        return s;
}

static void store_free(struct store *s)
{
        checkpoint_release(&s->c);
        store_batch_free(s->kept);
        if (s->lock >= 0)
                close(s->lock);
        mem_free(s->path);
        mem_free(s);
}

int store_open(const struct store_options *o, struct store **ret, char *ret_note, struct err *err)
{
        struct store *s = store_new(o->path);
        s->o = *o;
        s->o.path = s->path;
        ret_note[0] = '\0';
        int rc = lock_take(s->path, &s->lock, err);
        if (rc == 0)
                rc = repair_open(&s->c.db, s->path, false, o->now, ret_note, err);
        if (rc == 0)
                rc = store_start(s, err);
        if (rc < 0)
                store_free(s);
        else
                *ret = s;
        return rc;
}

int store_open_reader(const char *path, struct store **ret, struct err *err)
{
        enum db_file file;
        bool clean;
        int rc = db_judge(path, &file, err);
        if (rc < 0)
                return rc;
        if (file == DB_MISSING)
                return err_set(err, ERR_NOTFOUND, "'%s' does not exist, or is empty", path);
        if (file == DB_BROKEN)
                return err_set(err, ERR_DAMAGED, "'%s' is damaged: its beginning is not readable", path);
        struct store *s = store_new(path);
        rc = db_open(&s->c.db, path, false, &clean, err);
        if (rc < 0)
                store_free(s);
        else
                *ret = s;
        return rc;
}

int store_load(struct store *s, const struct store_reader *r, struct err *err)
{
        bool suspect;
        index_reset(&s->c.index);
        int rc = load_all(&s->c.db, &s->c.index, r, &suspect, err);
        if (rc < 0)
                s->unread = *err;
        if (rc < 0 || s->lock < 0 || (!suspect && load_later_whole(&s->c.db)))
                return rc;
        if (db_check(&s->c.db, true, &(struct err){0}) != ERR_DAMAGED)
                return 0;
        /* Rows keep their ids in the new file, so everything just loaded and indexed is right for that file too. */
        char note[MEND_NOTE] = "";
        db_close(&s->c.db);
        rc = repair_open(&s->c.db, s->path, true, s->o.now, note, err);
        if (rc < 0)
                return rc;
        struct err why = {.code = ERR_DAMAGED};
        memcpy(why.text, note, sizeof note);
        r->refused(r->arg, NULL, TEXT(""), &why);
        return 0;
}

int store_load_ledger(struct store *s, void (*each)(void *arg, const struct ledger_page_key *key, struct text packed),
                      void *arg, int *ret_refused, struct err *err)
{
        *ret_refused = 0;
        return s->c.db.sql ? load_ledger(&s->c.db, each, arg, ret_refused, err) : 0;
}

int store_load_changes(struct store *s, void (*each)(void *arg, int64_t id, struct wall at, struct text record),
                       void *arg, int *ret_refused, struct err *err)
{
        *ret_refused = 0;
        return s->c.db.sql ? change_rows_load(&s->c.db, each, arg, ret_refused, err) : 0;
}

int store_close(struct store *s, struct err *err)
{
        int rc = 0;
        if (!s)
                return 0;
        if (s->lock >= 0) {
                mailbox_close(&s->waiting);
                pthread_join(s->thread, NULL);
                mailbox_release(&s->waiting);
                if (s->failed.code)
                        err_set(err, rc = s->failed.code, "%s", s->failed.text);
                else if (s->c.db.sql)
                        rc = checkpoint_finish(&s->c, err);
        }
        store_free(s);
        return rc;
}
