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
        db_close(&d);
        return rc;
}
