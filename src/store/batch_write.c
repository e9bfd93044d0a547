#include "batch_write.h"

#include <assert.h>
#include <stdlib.h>

#include "change_rows.h"
#include "row.h"

/* A history to be written. A batch's histories go in the order of their ids, so each database page is written once. */
struct due {
        int64_t id;
        size_t turn; /* order in the batch */
        struct row *row;
        struct known_history *known;
};

struct writing {
        struct checkpoint *c;
        struct due *due;
        size_t dues;
        bool forgot;
        struct err *err;
};

void checkpoint_release(struct checkpoint *c)
{
        db_close(&c->db);
        index_release(&c->index);
        mem_free(c->watermarks);
        *c = (struct checkpoint){0};
}

/* --- ids --- */

/* Run a bound statement that gives one row, and read the id in it. */
static int step_id(struct writing *w, sqlite3_stmt *s, int64_t *ret_id)
{
        int rc = 0;
        if (sqlite3_step(s) != SQLITE_ROW)
                rc = db_error(&w->c->db, w->err, "write to");
        else
                *ret_id = sqlite3_column_int64(s, 0);
        if (rc == 0 && sqlite3_step(s) != SQLITE_DONE)
                rc = db_error(&w->c->db, w->err, "write to");
        sqlite3_reset(s);
        return rc;
}

static int target_id(struct writing *w, const struct store_key *key, int64_t *ret_id)
{
        if ((*ret_id = index_target(&w->c->index, key)) != 0)
                return 0;
        sqlite3_stmt *s = db_statement(&w->c->db, SQL_TARGET_ID, w->err);
        if (!s)
                return w->err->code;
        bind_target(s, key);
        sqlite3_bind_int64(s, 5, crc_of_target(key, (struct text){0}, 0));
        int rc = step_id(w, s, ret_id);
        if (rc == 0)
                index_add_target(&w->c->index, key, *ret_id);
        return rc;
}

/* Step to a history's newest generation with a right CRC. *ret is the statement at that row, which the caller resets;
 * NULL if no generation has one. */
static int newest_whole(struct writing *w, int64_t id, sqlite3_stmt **ret)
{
        sqlite3_stmt *s = db_statement(&w->c->db, SQL_USAGE_GET, w->err);
        int step;
        *ret = NULL;
        if (!s)
                return w->err->code;
        sqlite3_bind_int64(s, 1, id);
        while ((step = sqlite3_step(s)) == SQLITE_ROW) {
                uint32_t crc = crc_of_usage(id, sqlite3_column_int64(s, 0), column_text(s, 2), column_text(s, 3));
                if (crc == sqlite3_column_int64(s, 1)) {
                        *ret = s;
                        return 0;
                }
        }
        int rc = step == SQLITE_DONE ? 0 : db_error(&w->c->db, w->err, "read");
        sqlite3_reset(s);
        return rc;
}

/* The number of a history's newest generation with a right CRC; 0: none. Damaged rows do not count: no next number
 * might exceed theirs. */
static int newest_generation(struct writing *w, int64_t id, int64_t *ret)
{
        sqlite3_stmt *s;
        int rc = newest_whole(w, id, &s);
        *ret = s ? sqlite3_column_int64(s, 0) : 0;
        sqlite3_reset(s);
        return rc;
}

static int checkpoint_history_of(struct writing *w, const struct store_key *key, struct known_history **ret)
{
        int64_t target, id, generation = 0;
        int rc = target_id(w, key, &target);
        if (rc < 0 || (*ret = index_history(&w->c->index, target, key->container)))
                return rc;
        sqlite3_stmt *s = db_statement(&w->c->db, SQL_HISTORY_ID, w->err);
        if (!s)
                return w->err->code;
        sqlite3_bind_int64(s, 1, target);
        bind_text(s, 2, key->container);
        sqlite3_bind_int64(s, 3, crc_of_history(target, key->container));
        rc = step_id(w, s, &id);
        if (rc == 0)
                rc = newest_generation(w, id, &generation);
        if (rc < 0)
                return rc;
        *ret = index_add_history(&w->c->index, target, key->container, id);
        (*ret)->generation = generation;
        return 0;
}

/* --- histories --- */

static uint8_t *watermarks_room(struct checkpoint *c, size_t bytes)
{
        if (c->watermarks_cap < bytes) {
                c->watermarks_cap = 2 * bytes;
                c->watermarks = mem_resize(c->watermarks, c->watermarks_cap, 1);
        }
        return c->watermarks;
}

/* The watermarks stored with the newest generation that has a right CRC. */
static int watermarks_kept(struct writing *w, const struct known_history *known, struct text *ret)
{
        sqlite3_stmt *s;
        int rc = newest_whole(w, known->id, &s);
        struct text watermarks = s ? column_text(s, 3) : (struct text){0};
        *ret = (struct text){0};
        if (watermarks.len % WATERMARK_BYTES == 0 && watermarks.len > 0)
                *ret = (struct text){memcpy(watermarks_room(w->c, watermarks.len), watermarks.p, watermarks.len),
                                     watermarks.len};
        sqlite3_reset(s);
        return rc;
}

static int usage_put(struct writing *w, struct due *d)
{
        struct checkpoint *c = w->c;
        struct text watermarks = {0};
        uint8_t packed[USAGE_PACK_MAX];
        int rc = 0;
        if (row_kind(d->row) == ROW_USAGE_KEEP) {
                rc = watermarks_kept(w, d->known, &watermarks);
        } else if (d->row->watermarks) {
                watermarks = (struct text){NULL, d->row->watermarks * (size_t)WATERMARK_BYTES};
                watermarks_pack(row_watermarks(d->row), d->row->watermarks, watermarks_room(c, watermarks.len));
                watermarks.p = (const char *)c->watermarks;
        }
        size_t len = row_pack(d->row, packed);
        int64_t generation = d->known->generation + (d->known->written != c->transaction);
        enum statement which = generation & 1 ? SQL_USAGE1_PUT : SQL_USAGE0_PUT;
        sqlite3_stmt *s = rc == 0 ? db_statement(&c->db, which, w->err) : NULL;
        if (!s)
                return w->err->code;
        struct text usage = {(const char *)packed, len};
        sqlite3_bind_int64(s, 1, d->id);
        sqlite3_bind_int64(s, 2, generation);
        sqlite3_bind_int64(s, 3, crc_of_usage(d->id, generation, usage, watermarks));
        bind_blob(s, 4, usage.p, usage.len);
        bind_blob(s, 5, watermarks.p, watermarks.len);
        d->known->generation = generation;
        d->known->written = c->transaction;
        return db_run(&c->db, which, w->err);
}

static int checkpoint_by_id(const void *a, const void *b)
{
        const struct due *x = a, *y = b;
        int way = (x->id > y->id) - (x->id < y->id);
        return way ? way : (x->turn > y->turn) - (x->turn < y->turn);
}

static int flush_dues(struct writing *w)
{
        int rc = 0;
        qsort(w->due, w->dues, sizeof *w->due, checkpoint_by_id);
        for (size_t i = 0; rc == 0 && i < w->dues; i++)
                rc = usage_put(w, &w->due[i]);
        w->dues = 0;
        return rc;
}

static int checkpoint_put_usage(struct writing *w, struct row *r, const struct store_key *key)
{
        struct due *d = &w->due[w->dues];
        int rc = checkpoint_history_of(w, key, &d->known);
        if (rc < 0)
                return rc;
        d->id = d->known->id;
        d->turn = w->dues++;
        d->row = r;
        return 0;
}

/* --- targets, kills, notes, forgetting --- */

static int put_target(struct writing *w, struct row *r, const struct store_key *key)
{
        int64_t id;
        int rc = target_id(w, key, &id);
        sqlite3_stmt *s = rc == 0 ? db_statement(&w->c->db, SQL_TARGET_PUT, w->err) : NULL;
        if (!s)
                return w->err->code;
        sqlite3_bind_int64(s, 1, id);
        bind_text(s, 2, row_data(r));
        sqlite3_bind_int64(s, 3, r->ms);
        sqlite3_bind_int64(s, 4, crc_of_target(key, row_data(r), r->ms));
        return db_run(&w->c->db, SQL_TARGET_PUT, w->err);
}

static void bind_kill(sqlite3_stmt *s, int64_t target, struct text container, const struct store_kill *k)
{
        sqlite3_bind_int64(s, 1, target);
        bind_text(s, 2, container);
        bind_blob(s, 3, k->uid, sizeof k->uid);
        sqlite3_bind_int64(s, 4, k->restarts);
}

/* *ret: does the database have a row of this kill with a right CRC? */
static int kill_stored(struct writing *w, int64_t target, struct text container, const struct store_kill *k, bool *ret)
{
        sqlite3_stmt *s = db_statement(&w->c->db, SQL_KILL_GET, w->err);
        if (!s)
                return w->err->code;
        struct store_kill stored = *k;
        bind_kill(s, target, container, k);
        int step = sqlite3_step(s), rc = 0;
        if (step != SQLITE_ROW && step != SQLITE_DONE)
                rc = db_error(&w->c->db, w->err, "read");
        stored.at.ms = step == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
        stored.bytes = step == SQLITE_ROW ? sqlite3_column_double(s, 1) : 0;
        *ret = step == SQLITE_ROW && crc_of_kill(target, container, &stored) == sqlite3_column_int64(s, 2);
        sqlite3_reset(s);
        return rc;
}

/* Store a kill unless an intact row of it exists. A damaged row is overwritten; otherwise every load would refuse it
 * and every start would count the kill again. */
static int put_kill(struct writing *w, struct row *r, const struct store_key *key)
{
        const struct store_kill *k = row_kill(r);
        int64_t target;
        bool stored = false;
        int rc = target_id(w, key, &target);
        if (rc == 0)
                rc = kill_stored(w, target, key->container, k, &stored);
        if (rc < 0 || stored)
                return rc;
        sqlite3_stmt *s = db_statement(&w->c->db, SQL_KILL_PUT, w->err);
        if (!s)
                return w->err->code;
        bind_kill(s, target, key->container, k);
        sqlite3_bind_int64(s, 5, k->at.ms);
        sqlite3_bind_double(s, 6, k->bytes);
        sqlite3_bind_int64(s, 7, crc_of_kill(target, key->container, k));
        return db_run(&w->c->db, SQL_KILL_PUT, w->err);
}

static int put_note(struct writing *w, struct row *r, const struct store_key *key)
{
        sqlite3_stmt *s = db_statement(&w->c->db, SQL_NOTE_PUT, w->err);
        if (!s)
                return w->err->code;
        bind_text(s, 1, key->ns);
        bind_text(s, 2, row_data(r));
        sqlite3_bind_int64(s, 3, crc_of_note(key->ns, row_data(r)));
        return db_run(&w->c->db, SQL_NOTE_PUT, w->err);
}

static int forget_histories(struct writing *w, int64_t target)
{
        sqlite3_stmt *s = db_statement(&w->c->db, SQL_FORGET_HISTORY, w->err);
        if (!s)
                return w->err->code;
        int step, rc = 0;
        sqlite3_bind_int64(s, 1, target);
        while ((step = sqlite3_step(s)) == SQLITE_ROW)
                index_drop_history(&w->c->index, target, column_text(s, 0));
        if (step != SQLITE_DONE)
                rc = db_error(&w->c->db, w->err, "write to");
        sqlite3_reset(s);
        return rc;
}

static int run_on(struct writing *w, enum statement which, int64_t value)
{
        sqlite3_stmt *s = db_statement(&w->c->db, which, w->err);
        if (!s)
                return w->err->code;
        sqlite3_bind_int64(s, 1, value);
        return db_run(&w->c->db, which, w->err);
}

static int checkpoint_forget(struct writing *w, struct row *r, const struct store_key *key)
{
        (void)r;
        static const enum statement before[] = {SQL_FORGET_USAGE0, SQL_FORGET_USAGE1, SQL_FORGET_KILL};
        int rc = flush_dues(w);
        sqlite3_stmt *s = rc == 0 ? db_statement(&w->c->db, SQL_TARGET_FIND, w->err) : NULL;
        if (!s)
                return w->err->code;
        bind_target(s, key);
        int step = sqlite3_step(s);
        int64_t target = step == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
        if (step != SQLITE_ROW && step != SQLITE_DONE)
                rc = db_error(&w->c->db, w->err, "read");
        sqlite3_reset(s);
        if (rc < 0 || target == 0)
                return rc;
        for (size_t i = 0; rc == 0 && i < sizeof before / sizeof before[0]; i++)
                rc = run_on(w, before[i], target);
        if (rc == 0)
                rc = forget_histories(w, target);
        index_drop_target(&w->c->index, key);
        w->forgot = true;
        return rc == 0 ? run_on(w, SQL_FORGET_TARGET, target) : rc;
}

static int forget_kills(struct writing *w, struct row *r, const struct store_key *key)
{
        (void)key;
        return run_on(w, SQL_FORGET_KILLS, r->ms);
}

/* --- the ledger --- */

static int put_ledger(struct writing *w, struct row *r, const struct store_key *key)
{
        const struct ledger_page_key *page = row_ledger(r);
        sqlite3_stmt *s = db_statement(&w->c->db, SQL_LEDGER_PUT, w->err);
        (void)key;
        if (!s)
                return w->err->code;
        sqlite3_bind_int(s, 1, (int)page->span);
        sqlite3_bind_int(s, 2, (int)page->axis);
        sqlite3_bind_int64(s, 3, page->start_ms);
        sqlite3_bind_int64(s, 4, page->number);
        bind_blob(s, 5, row_data(r).p, row_data(r).len);
        sqlite3_bind_int64(s, 6, crc_of_ledger(page, row_data(r)));
        return db_run(&w->c->db, SQL_LEDGER_PUT, w->err);
}

static int forget_ledger(struct writing *w, struct row *r, const struct store_key *key)
{
        int rc = 0;
        (void)key;
        for (enum ledger_axis a = 0; a < LEDGER_AXES; a++)
                for (enum ledger_span span = 0; rc == 0 && span < LEDGER_SPANS; span++) {
                        sqlite3_stmt *s = db_statement(&w->c->db, SQL_LEDGER_FORGET, w->err);
                        if (!s)
                                return w->err->code;
                        sqlite3_bind_int(s, 1, (int)span);
                        sqlite3_bind_int(s, 2, (int)a);
                        sqlite3_bind_int64(s, 3, ledger_span_start(span, r->ms) - ledger_kept_ms(a, span));
                        rc = db_run(&w->c->db, SQL_LEDGER_FORGET, w->err);
                }
        return rc;
}

/* --- changes --- */

static int put_change(struct writing *w, struct row *r, const struct store_key *key)
{
        (void)key;
        return change_rows_put(&w->c->db, row_change_id(r), (struct wall){r->ms}, row_data(r), w->err);
}

static int forget_changes(struct writing *w, struct row *r, const struct store_key *key)
{
        (void)key;
        return change_rows_forget(&w->c->db, row_change_id(r), (struct wall){r->ms}, w->err);
}

/* --- a transaction --- */

typedef int put_row(struct writing *w, struct row *r, const struct store_key *key);
static put_row *const put[] = {
        [ROW_USAGE] = checkpoint_put_usage,
        [ROW_USAGE_KEEP] = checkpoint_put_usage,
        [ROW_TARGET] = put_target,
        [ROW_KILL] = put_kill,
        [ROW_NOTE] = put_note,
        [ROW_FORGET] = checkpoint_forget,
        [ROW_FORGET_KILLS] = forget_kills,
        [ROW_LEDGER] = put_ledger,
        [ROW_FORGET_LEDGER] = forget_ledger,
        [ROW_CHANGE] = put_change,
        [ROW_FORGET_CHANGES] = forget_changes,
};

static int put_rows(struct writing *w, const struct store_batch *b)
{
        struct batch_at at;
        int rc = 0;
        for (struct row *r = batch_first(b, &at); rc == 0 && r; r = batch_next(&at)) {
                struct store_key key = row_key(r);
                rc = put[row_kind(r)](w, r, &key);
        }
        return rc == 0 ? flush_dues(w) : rc;
}

static int set_clean(struct writing *w, bool clean)
{
        return run_on(w, SQL_SET_CLEAN, clean);
}

/* Return free pages to the file system once they exceed a quarter of the file; fewer are kept for reuse. */
static void batch_vacuum(struct db *d)
{
        enum { LEAST = 256 };
        int64_t pages = db_number(d, "PRAGMA page_count"), idle = db_number(d, "PRAGMA freelist_count");
        if (idle > LEAST && idle > pages / 4)
                db_exec(d, "PRAGMA incremental_vacuum", &(struct err){0});
}

static int checkpoint_end(struct writing *w, int rc)
{
        struct checkpoint *c = w->c;
        if (rc == 0)
                rc = db_run(&c->db, SQL_COMMIT, w->err);
        if (rc == 0)
                return 0;
        if (!sqlite3_get_autocommit(c->db.sql))
                db_run(&c->db, SQL_ROLLBACK, &(struct err){0});
        index_reset(&c->index); /* the index may hold ids of rows that were rolled back */
        return rc;
}

int checkpoint_write(struct checkpoint *c, const struct store_batch *b, struct err *err)
{
        struct writing w = {.c = c, .err = err};
        c->transaction++;
        int rc = db_run(&c->db, SQL_BEGIN, err);
        if (rc < 0)
                return rc;
        w.due = mem_new_array(b->rows, sizeof *w.due);
        if (!c->db.writing)
                rc = set_clean(&w, false);
        if (rc == 0)
                rc = put_rows(&w, b);
        mem_free(w.due);
        rc = checkpoint_end(&w, rc);
        if (rc < 0)
                return rc;
        c->db.writing = true;
        if (w.forgot)
                batch_vacuum(&c->db);
        sqlite3_db_release_memory(c->db.sql);
        return 0;
}

int checkpoint_finish(struct checkpoint *c, struct err *err)
{
        struct writing w = {.c = c, .err = err};
        int rc = c->db.writing ? db_run(&c->db, SQL_BEGIN, err) : 0;
        if (rc == 0 && c->db.writing)
                rc = checkpoint_end(&w, set_clean(&w, true));
        if (rc == 0)
                sqlite3_db_config(c->db.sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
        return rc;
}

int checkpoint_recall(struct checkpoint *c, const struct store_batch *recall, uint8_t out[static USAGE_PACK_MAX],
                      size_t *ret_len, struct err *err)
{
        struct batch_at at;
        const struct row *r = batch_first(recall, &at);
        *ret_len = 0;
        if (!r)
                return 0;
        struct store_key key = row_key(r);
        sqlite3_stmt *find = db_statement(&c->db, SQL_HISTORY_FIND, err);
        sqlite3_stmt *get = find ? db_statement(&c->db, SQL_USAGE_GET, err) : NULL;
        if (!get)
                return err->code;
        bind_target(find, &key);
        bind_text(find, 5, key.container);
        int step = sqlite3_step(find);
        if (step == SQLITE_ROW) {
                sqlite3_bind_int64(get, 1, sqlite3_column_int64(find, 0));
                step = sqlite3_step(get);
                step = step == SQLITE_ROW ? sqlite3_step(get) : step;
        }
        int rc = step != SQLITE_ROW && step != SQLITE_DONE ? db_error(&c->db, err, "read") : 0;
        struct text packed = step == SQLITE_ROW ? column_text(get, 2) : (struct text){0};
        if (packed.len > 0 && packed.len <= USAGE_PACK_MAX)
                memcpy(out, packed.p, *ret_len = packed.len);
        sqlite3_reset(find);
        sqlite3_reset(get);
        return rc;
}
