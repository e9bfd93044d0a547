#include "change_rows.h"

#include "row.h"
#include "scan.h"

int change_rows_put(struct db *d, int64_t id, struct wall at, struct text record, struct err *err)
{
        sqlite3_stmt *s = db_statement(d, SQL_CHANGE_PUT, err);
        if (!s)
                return err->code;
        sqlite3_bind_int64(s, 1, id);
        sqlite3_bind_int64(s, 2, at.ms);
        bind_text(s, 3, record);
        sqlite3_bind_int64(s, 4, crc_of_change(id, at.ms, record));
        return db_run(d, SQL_CHANGE_PUT, err);
}

int change_rows_forget(struct db *d, int64_t id, struct wall before, struct err *err)
{
        sqlite3_stmt *s = db_statement(d, SQL_CHANGE_FORGET, err);
        if (!s)
                return err->code;
        sqlite3_bind_int64(s, 1, id);
        sqlite3_bind_int64(s, 2, before.ms);
        return db_run(d, SQL_CHANGE_FORGET, err);
}

int change_rows_load(struct db *d, void (*each)(void *arg, int64_t id, struct wall at, struct text record), void *arg,
                     int *ret_refused, struct err *err)
{
        struct scan s;
        int64_t last = 0;
        *ret_refused = 0;
        if (!d->later[LATER_CHANGE])
                return 0;
        scan_start(&s, d, TABLE_CHANGE, false);
        for (; scan_next(&s); last = s.id) {
                *ret_refused += last > 0 && s.id != last + 1; /* a gap: rows are missing, as no other table reveals */
                struct wall at = {sqlite3_column_int64(s.row, 1)};
                struct text record = column_text(s.row, 2);
                if (crc_of_change(s.id, at.ms, record) == sqlite3_column_int64(s.row, 3))
                        each(arg, s.id, at, record);
                else
                        (*ret_refused)++;
        }
        int rc = s.err.code;
        if (rc < 0)
                *err = s.err;
        *ret_refused += s.damaged;
        scan_end(&s);
        return rc;
}
