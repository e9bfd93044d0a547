#include "check_database.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/noun.h"
#include "store/store.h"

/* --- the database's file --- */

static char *folder_of(const char *file)
{
        const char *slash = strrchr(file, '/');
        if (!slash)
                return mem_string(".");
        return mem_string_n(file, slash == file ? 1 : (size_t)(slash - file));
}

static bool has_folder(const char *file)
{
        AUTO(mem_free) char *folder = folder_of(file);
        return access(folder, F_OK) == 0;
}

static bool is_writable(const char *file)
{
        AUTO(mem_free) char *folder = folder_of(file);
        bool exists = access(file, F_OK) == 0;
        return access(folder, W_OK | X_OK) == 0 && (!exists || access(file, W_OK) == 0);
}

/* Print why the store refuses the database. docs/operations.md says what happens to a damaged file. */
static void check_tell_refused(struct checking *c, const struct err *err)
{
        char line[ERR_TEXT_MAX + 64];
        snprintf(line, sizeof line, "database: %s", err->text);
        if (err->code == ERR_DAMAGED)
                check_tell(c, DOUBTFUL, line,
                           "halflife run moves the file aside and keeps what is readable; copy the file now if you "
                           "want to examine it");
        else
                check_tell(c, BAD, line,
                           err->code == ERR_DENIED
                                   ? "make the file and its folder writable for this user, or set --database "
                                     "FILE"
                                   : "until this is corrected, halflife run keeps histories in memory only");
}

/* --- how large the database becomes --- */

static double in_mebibytes(int64_t bytes)
{
        return (double)bytes / (1 << 20);
}

void check_database_room(struct checking *c, const char *file, int64_t bytes, int64_t bytes_later, int64_t free_bytes)
{
        char line[1024], way_out[256];
        if (bytes_later - bytes <= free_bytes)
                return;
        snprintf(line, sizeof line, "the volume of '%.500s' has %.1f MiB free, and the database will need %.1f more",
                 file, in_mebibytes(free_bytes), in_mebibytes(bytes_later - bytes));
        snprintf(way_out, sizeof way_out,
                 "enlarge the volume by %.0f MiB at least, such as by spec.resources of the claim; on a full one "
                 "halflife goes on in memory",
                 ceil(in_mebibytes(bytes_later - bytes - free_bytes)));
        check_tell(c, DOUBTFUL, line, way_out);
}

static void check_volume(struct checking *c, const char *file, const struct store_facts *f)
{
        struct statvfs volume;
        AUTO(mem_free) char *folder = folder_of(file);
        if (statvfs(folder, &volume) == 0)
                check_database_room(c, file, f->bytes, f->bytes_later,
                                    (int64_t)volume.f_bavail * (int64_t)volume.f_frsize);
}

static size_t print_size(char *out, size_t size, const struct store_facts *f)
{
        if (!f->ledger_days)
                return (size_t)snprintf(out, size, "%.1f MiB, more with the ledger", in_mebibytes(f->bytes));
        return (size_t)snprintf(out, size, "%.1f MiB, about %.1f MiB once the ledger, now of %s, is full",
                                in_mebibytes(f->bytes), in_mebibytes(f->bytes_later),
                                NOUN_COUNT(f->ledger_days, "day"));
}

static void tell_facts(struct checking *c, const char *file, const struct store_facts *f)
{
        char line[1024], way_out[256] = "";
        size_t at = (size_t)snprintf(line, sizeof line, "database '%.500s': schema %lld, %s, %s, ", file,
                                     (long long)f->schema, NOUN_COUNT(f->targets, "target"),
                                     NOUN_COUNT(f->histories, "history"));
        at += print_size(line + at, sizeof line - at, f);
        if (f->refused)
                at += (size_t)snprintf(line + at, sizeof line - at, ", %s", NOUN_COUNT(f->refused, "damaged row"));
        if (f->holder > 0)
                snprintf(line + at, sizeof line - at, ", held by process %ld", f->holder);
        else if (f->holder)
                snprintf(line + at, sizeof line - at, ", held by another process");
        else if (!f->clean)
                snprintf(line + at, sizeof line - at, ", not closed cleanly: halflife checks it at the next start");
        if (f->holder)
                snprintf(way_out, sizeof way_out,
                         "no problem if that process is the halflife you check; a second halflife run needs its own "
                         "--database FILE");
        else if (f->refused)
                snprintf(way_out, sizeof way_out,
                         "halflife run uses the previous checkpoint, or learns those histories anew; copy the file "
                         "now if you want to examine it");
        check_tell(c, *way_out ? DOUBTFUL : GOOD, line, way_out);
        check_volume(c, file, f);
}

/* --- the check --- */

void check_database(struct checking *c)
{
        char line[1024];
        struct store_facts facts;
        struct err err = {0};
        const char *file = c->settings.controller.database;
        if (!file) {
                check_tell(c, DOUBTFUL, "no database: a restart loses all histories", "set --database FILE");
        } else if (!is_writable(file)) {
                bool folder = has_folder(file);
                snprintf(line, sizeof line, "database '%s' cannot be written%s", file,
                         folder ? "" : ": its folder does not exist");
                check_tell(c, BAD, line,
                           folder ? "make the folder writable for this user, or set --database FILE"
                                  : "create the folder, or set --database FILE");
        } else if (store_inspect(file, &facts, &err) < 0) {
                check_tell_refused(c, &err);
        } else if (!facts.exists) {
                snprintf(line, sizeof line, "database '%s' does not exist yet: halflife run will create it", file);
                check_tell(c, GOOD, line, NULL);
        } else {
                tell_facts(c, file, &facts);
        }
}
