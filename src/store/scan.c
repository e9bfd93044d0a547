#include "scan.h"

#include "base/mem.h"

enum { BLIND = 1 << 12 }; /* number of ids to try if even the greatest id is unreadable */

/* May the scan go on after the last error? A damaged row may demand more memory than SQLite grants, so "out of memory"
 * counts as damage too: the rows after it can still be read. */
static bool scan_passable(struct scan *s)
{
        int code = db_error(s->d, &s->err, "read");
        bool too_large = sqlite3_errcode(s->d->sql) == SQLITE_NOMEM;
        if (code != ERR_DAMAGED && !too_large && !(s->past_io && code == ERR_IO))
                return false;
        s->damaged = true;
        s->err = (struct err){0};
        return true;
}

static sqlite3_stmt *scan_prepare(struct scan *s, const char *where)
{
        sqlite3_stmt *ret = NULL;
        char *sql AUTO(mem_free) = mem_printf("SELECT %s FROM %s WHERE %s", s->table->columns, s->table->name, where);
        if (sqlite3_prepare_v2(s->d->sql, sql, -1, &ret, NULL) != SQLITE_OK)
                scan_passable(s);
        return ret;
}

void scan_start(struct scan *s, struct db *d, enum db_table table, bool past_io)
{
        *s = (struct scan){.d = d, .table = &db_tables[table], .id = INT64_MIN, .past_io = past_io};
        s->walk = scan_prepare(s, "id > ?1 ORDER BY id");
        if (s->walk)
                sqlite3_bind_int64(s->walk, 1, s->id);
}

void scan_end(struct scan *s)
{
        sqlite3_finalize(s->walk);
        sqlite3_finalize(s->one);
        s->walk = s->one = s->row = NULL;
}

static int64_t last_id(struct scan *s, int64_t from)
{
        char *sql AUTO(mem_free) = mem_printf("SELECT max(id) FROM %s", s->table->name);
        int64_t id = db_number(s->d, sql);
        bool believable = id > from && id - from < (int64_t)1 << 24;
        return believable ? id : from + BLIND;
}

/* Try the ids after the last one; continue the walk after the first that can be read. */
static bool scan_probe(struct scan *s)
{
        int64_t from = s->id > 0 ? s->id : 0;
        if (!s->one && !(s->one = scan_prepare(s, "id = ?1")))
                return false;
        for (int64_t id = from + 1, end = last_id(s, from); id <= end; id++) {
                sqlite3_reset(s->one);
                sqlite3_bind_int64(s->one, 1, id);
                int step = sqlite3_step(s->one);
                if (step == SQLITE_ROW && sqlite3_column_int64(s->one, 0) == id) {
                        sqlite3_reset(s->walk);
                        sqlite3_bind_int64(s->walk, 1, id);
                        s->id = id;
                        s->rows++;
                        s->row = s->one;
                        return true;
                }
                if (step != SQLITE_DONE && step != SQLITE_ROW && !scan_passable(s))
                        return false;
        }
        return false;
}

bool scan_next(struct scan *s)
{
        s->row = NULL;
        if (!s->walk || s->err.code || s->ended)
                return false;
        int step = sqlite3_step(s->walk);
        if (step == SQLITE_DONE) { /* another step would restart the query */
                s->ended = true;
                return false;
        }
        if (step == SQLITE_ROW && sqlite3_column_int64(s->walk, 0) > s->id) {
                s->id = sqlite3_column_int64(s->walk, 0);
                s->rows++;
                s->row = s->walk;
                return true;
        }
        if (step == SQLITE_ROW) /* the id is no greater than the last one: damaged pages form a ring */
                s->damaged = true;
        else if (!scan_passable(s))
                return false;
        sqlite3_reset(s->walk);
        s->ended = !scan_probe(s);
        return !s->ended;
}

bool scan_met_all(const struct scan *s)
{
        if (!s->table->counted)
                return true;
        char *sql AUTO(mem_free) =
                mem_printf("SELECT count(*) FROM %s INDEXED BY sqlite_autoindex_%s_1", s->table->name, s->table->name);
        int64_t known = db_number(s->d, sql);
        return known < 0 || known == s->rows;
}
