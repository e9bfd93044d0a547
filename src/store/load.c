#include "load.h"

#include <stdlib.h>

#include "row.h"
#include "scan.h"

enum { NAME_MAX_BYTES = 253 };

struct loaded { /* a target, and the reader's handle for it */
        int64_t id;
        void *name;
};

struct loading {
        struct db *d;
        struct index *index;
        const struct store_reader *r;
        struct loaded *target;
        size_t targets, cap;
        struct store_watermark *watermark;
        size_t watermarks_cap;
        bool suspect;
        struct err *err;
};

static void load_refuse(struct loading *l, void *target, struct text container, int code, const char *why)
{
        struct err err;
        err_set(&err, code, "%s", why);
        l->suspect = true;
        l->r->refused(l->r->arg, target, container, &err);
}

static int load_finish(struct loading *l, struct scan *s)
{
        int rc = s->err.code;
        if (rc < 0)
                *l->err = s->err;
        l->suspect |= s->damaged || !scan_met_all(s); /* a damaged page may look like a valid empty one */
        scan_end(s);
        return rc;
}

/* --- targets --- */

static bool load_names_fit(const struct store_key *k)
{
        return k->ns.len <= NAME_MAX_BYTES && k->group.len <= NAME_MAX_BYTES && k->kind.len <= NAME_MAX_BYTES &&
               k->name.len <= NAME_MAX_BYTES;
}

static void refuse_target(struct loading *l, const struct store_key *key, const char *what)
{
        char *why AUTO(mem_free) = mem_printf("%s: %.*s/%.*s", what, TEXT_ARG(key->ns), TEXT_ARG(key->name));
        load_refuse(l, NULL, TEXT(""), ERR_DAMAGED, why);
}

static void load_take_target(struct loading *l, const struct scan *s)
{
        struct store_key key = {column_text(s->row, 1), column_text(s->row, 2), column_text(s->row, 3),
                                column_text(s->row, 4), TEXT("")};
        struct text record = column_text(s->row, 5);
        struct wall gone = {sqlite3_column_int64(s->row, 6)};
        if (!load_names_fit(&key) || record.len > STORE_RECORD_MAX ||
            crc_of_target(&key, record, gone.ms) != sqlite3_column_int64(s->row, 7)) {
                refuse_target(l, &key, "a target's row is damaged");
                return;
        }
        if (!index_add_target(l->index, &key, s->id)) {
                refuse_target(l, &key, "a target has a second row");
                return;
        }
        if (l->targets == l->cap) {
                l->cap = l->cap ? 2 * l->cap : 1024;
                l->target = mem_resize(l->target, l->cap, sizeof *l->target);
        }
        void *name = l->r->target(l->r->arg, &key);
        l->target[l->targets++] = (struct loaded){s->id, name};
        if (sqlite3_column_type(s->row, 5) != SQLITE_NULL)
                l->r->record(l->r->arg, name, record, gone);
}

static int load_targets(struct loading *l)
{
        struct scan s;
        scan_start(&s, l->d, TABLE_TARGET, false);
        while (scan_next(&s))
                load_take_target(l, &s);
        return load_finish(l, &s);
}

static int load_by_id(const void *key, const void *element)
{
        int64_t id = *(const int64_t *)key;
        const struct loaded *t = element;
        return (id > t->id) - (id < t->id);
}

/* The handle that the reader gave for the target with an id; NULL: unknown id, or a container's name too long. */
static void *load_target_of(struct loading *l, int64_t target, struct text container)
{
        const struct loaded *t =
                l->targets ? bsearch(&target, l->target, l->targets, sizeof *l->target, load_by_id) : NULL;
        return t && container.len <= NAME_MAX_BYTES ? t->name : NULL;
}

/* --- histories --- */

struct generation {
        const struct scan *from;
        int64_t number;
        struct usage usage;
        struct text watermarks;
        struct usage_memory memory;
};

/* Move s to the row with this id, if there is one. The rows skipped belong to histories whose own row is missing. */
static bool catch_up(struct loading *l, struct scan *s, int64_t id)
{
        while (s->id < id && scan_next(s))
                l->suspect |= s->id < id;
        return s->row && s->id == id;
}

/* Check and unpack the generation in the current row, with the columns id, generation, crc, packed, watermarks. */
static int generation_read(struct generation *g)
{
        sqlite3_stmt *row = g->from->row;
        struct text packed = column_text(row, 3);
        g->watermarks = column_text(row, 4);
        if (g->watermarks.len % WATERMARK_BYTES != 0 ||
            crc_of_usage(g->from->id, g->number, packed, g->watermarks) != sqlite3_column_int64(row, 2))
                return ERR_DAMAGED;
        return usage_unpack((const uint8_t *)packed.p, packed.len, &g->usage, &g->memory);
}

static void load_tell(struct loading *l, void *target, struct text container, const struct generation *g)
{
        size_t watermarks = g->watermarks.len / WATERMARK_BYTES;
        if (watermarks > l->watermarks_cap) {
                l->watermarks_cap = 2 * watermarks;
                l->watermark = mem_resize(l->watermark, l->watermarks_cap, sizeof *l->watermark);
        }
        if (watermarks)
                watermarks_unpack(g->watermarks, l->watermark);
        l->r->usage(l->r->arg, target, container, &g->usage, l->watermark, watermarks);
}

/* Pass a history's newest good generation to the reader, and report bad ones. Returns that generation's number; 0: none
 * is good. */
static int64_t load_newest(struct loading *l, void *target, struct text container, struct generation *g, int count)
{
        if (count == 2 && g[0].from->row && sqlite3_column_int64(g[1].from->row, 1) > g[0].number) {
                const struct scan *first = g[0].from;
                g[0].from = g[1].from;
                g[1].from = first;
        }
        for (int i = 0; i < count; i++) {
                g[i].number = sqlite3_column_int64(g[i].from->row, 1);
                int rc = generation_read(&g[i]);
                if (rc == 0) {
                        load_tell(l, target, container, &g[i]);
                        return g[i].number;
                }
                load_refuse(l, target, container, rc,
                            rc == ERR_INVALID ? "a history has a version that this halflife does not know"
                            : i + 1 < count   ? "a history is damaged: the checkpoint before it is tried"
                                              : "a history is damaged: learning it starts again");
        }
        return 0;
}

static void load_history(struct loading *l, const struct scan *s, struct scan usage[static 2], struct generation *g)
{
        int64_t id = sqlite3_column_int64(s->row, 1);
        struct text container = column_text(s->row, 2);
        void *target = load_target_of(l, id, container);
        int count = 0;
        for (int i = 0; i < 2; i++)
                if (catch_up(l, &usage[i], s->id)) {
                        g[count].number = sqlite3_column_int64(usage[i].row, 1);
                        g[count++].from = &usage[i];
                }
        if (!target) {
                load_refuse(l, NULL, container, ERR_DAMAGED, "the target of a history is unreadable");
                return;
        }
        struct known_history *known = NULL;
        if (crc_of_history(id, container) == sqlite3_column_int64(s->row, 3))
                known = index_add_history(l->index, id, container, s->id);
        if (!known) {
                load_refuse(l, target, container, ERR_DAMAGED,
                            "the row that names a history is damaged, or there are two of them");
                return;
        }
        if (count == 0)
                load_refuse(l, target, container, ERR_DAMAGED, "a history is unreadable: learning it starts again");
        known->generation = load_newest(l, target, container, g, count);
}

static int load_histories(struct loading *l)
{
        struct scan s, usage[2];
        struct generation *g = mem_new_array(2, sizeof *g);
        scan_start(&s, l->d, TABLE_HISTORY, false);
        scan_start(&usage[0], l->d, TABLE_USAGE0, false);
        scan_start(&usage[1], l->d, TABLE_USAGE1, false);
        while (scan_next(&s))
                load_history(l, &s, usage, g);
        int rc = load_finish(l, &s);
        for (int i = 0; i < 2; i++) {
                l->suspect |= usage[i].row && usage[i].id > s.id; /* a row after the last history belongs to none, */
                (void)catch_up(l, &usage[i], INT64_MAX);          /* nor do the rows that follow it */
                int each = load_finish(l, &usage[i]);
                rc = rc < 0 ? rc : each;
        }
        mem_free(g);
        return rc;
}

/* --- kills, and notes: named values of the whole controller --- */

static void load_take_kill(struct loading *l, const struct scan *s)
{
        struct text container = column_text(s->row, 2), uid = column_text(s->row, 3);
        struct store_kill kill = {.restarts = sqlite3_column_int64(s->row, 4),
                                  .at = {sqlite3_column_int64(s->row, 5)},
                                  .bytes = sqlite3_column_double(s->row, 6)};
        int64_t id = sqlite3_column_int64(s->row, 1);
        void *target = load_target_of(l, id, container);
        bool whole = target && uid.len == STORE_UID_BYTES;
        if (whole)
                memcpy(kill.uid, uid.p, STORE_UID_BYTES);
        if (whole && crc_of_kill(id, container, &kill) == sqlite3_column_int64(s->row, 7))
                l->r->kill(l->r->arg, target, container, &kill);
        else
                load_refuse(l, target, container, ERR_DAMAGED, "a kill's row is damaged, or its target is unknown");
}

static void load_take_note(struct loading *l, const struct scan *s)
{
        struct text name = column_text(s->row, 1), value = column_text(s->row, 2);
        if (crc_of_note(name, value) == sqlite3_column_int64(s->row, 3))
                l->r->note(l->r->arg, name, value);
        else
                load_refuse(l, NULL, TEXT(""), ERR_DAMAGED, "a note's row is damaged");
}

static int load_rest(struct loading *l)
{
        struct scan s;
        scan_start(&s, l->d, TABLE_KILL, false);
        while (scan_next(&s))
                load_take_kill(l, &s);
        int rc = load_finish(l, &s);
        if (rc < 0)
                return rc;
        scan_start(&s, l->d, TABLE_NOTE, false);
        while (scan_next(&s))
                load_take_note(l, &s);
        return load_finish(l, &s);
}

int load_all(struct db *d, struct index *x, const struct store_reader *r, bool *ret_suspect, struct err *err)
{
        struct loading l = {.d = d, .index = x, .r = r, .err = err};
        db_hold(d);
        int rc = load_targets(&l);
        if (rc == 0)
                rc = load_histories(&l);
        if (rc == 0)
                rc = load_rest(&l);
        db_let_go(d);
        *ret_suspect = l.suspect;
        mem_free(l.target);
        mem_free(l.watermark);
        return rc;
}

/* --- tables that a start does not read, or not wholly --- */

/* The ledger's pages are read by their keys alone. So the index must lead from each page's key to this page, and to no
 * other. */
static bool load_pages_found(struct db *d)
{
        static const char found[] =
                "SELECT count(*) = total(EXISTS (SELECT 1 FROM ledger AS l INDEXED BY sqlite_autoindex_ledger_1"
                " WHERE l.span = page.span AND l.axis = page.axis AND l.start_ms = page.start_ms"
                " AND l.number = page.number AND l.id = page.id))"
                " AND count(*) = (SELECT count(*) FROM ledger INDEXED BY sqlite_autoindex_ledger_1)"
                " FROM ledger AS page NOT INDEXED";
        return db_number(d, found) == 1;
}

/* No gap in the ids tells that the newest changes are missing, and no other key does: only SQLite's check may. */
static bool load_changes_whole(struct db *d)
{
        return db_number(d, "SELECT integrity_check = 'ok' FROM pragma_integrity_check('change')") == 1;
}

bool load_later_whole(struct db *d)
{
        return (!d->later[LATER_LEDGER] || load_pages_found(d)) && (!d->later[LATER_CHANGE] || load_changes_whole(d));
}

/* --- the ledger --- */

struct load_pages {
        struct db *d;
        void (*each)(void *arg, const struct ledger_page_key *key, struct text packed);
        void *arg;
        int refused;
        struct err *err;
};

static void load_take_page(struct load_pages *l, sqlite3_stmt *s, struct ledger_page_key key)
{
        struct text packed = column_text(s, 2);
        key.start_ms = sqlite3_column_int64(s, 0);
        key.number = sqlite3_column_int64(s, 1);
        if (crc_of_ledger(&key, packed) == sqlite3_column_int64(s, 3))
                l->each(l->arg, &key, packed);
        else
                l->refused++;
}

static int load_run_pages(struct load_pages *l, sqlite3_stmt *s, const struct ledger_page_key *key)
{
        int step;
        sqlite3_bind_int(s, 1, (int)key->span);
        sqlite3_bind_int(s, 2, (int)key->axis);
        while ((step = sqlite3_step(s)) == SQLITE_ROW)
                load_take_page(l, s, *key);
        int rc = step == SQLITE_DONE ? 0 : db_error(l->d, l->err, "read");
        sqlite3_reset(s);
        return rc;
}

static int load_newest_pages(struct load_pages *l, const struct ledger_page_key *key)
{
        sqlite3_stmt *s = db_statement(l->d, SQL_LEDGER_NEWEST, l->err);
        return s ? load_run_pages(l, s, key) : l->err->code;
}

static int load_stretch(struct load_pages *l, const struct ledger_report *of)
{
        const struct ledger_page_key key = {.axis = of->ask.axis, .span = of->ask.span};
        sqlite3_stmt *s = db_statement(l->d, SQL_LEDGER_STRETCH, l->err);
        if (!s)
                return l->err->code;
        sqlite3_bind_int64(s, 3, of->from_ms);
        sqlite3_bind_int64(s, 4, of->until_ms);
        return load_run_pages(l, s, &key);
}

/* The search for one account's page in each period. Pods are booked in the same order in all of them, so the page's
 * number is near that in the period read before. */
struct load_account {
        struct load_pages pages;
        struct ledger_page_key key;
        struct text name;
        int64_t near; /* the number of the page that had the account last */
        bool found;
};

static int load_account_pages(struct load_account *l, int64_t from, int64_t to)
{
        struct load_pages *p = &l->pages;
        sqlite3_stmt *s = db_statement(p->d, SQL_LEDGER_PAGE, p->err);
        int step;
        if (!s)
                return p->err->code;
        sqlite3_bind_int(s, 1, (int)l->key.span);
        sqlite3_bind_int(s, 2, (int)l->key.axis);
        sqlite3_bind_int64(s, 3, l->key.start_ms);
        sqlite3_bind_int64(s, 4, from);
        sqlite3_bind_int64(s, 5, to);
        while ((step = sqlite3_step(s)) == SQLITE_ROW)
                if (ledger_page_seems_to_have(column_text(s, 2), l->name)) {
                        l->found = true;
                        load_take_page(p, s, l->key);
                }
        int rc = step == SQLITE_DONE ? 0 : db_error(p->d, p->err, "read");
        sqlite3_reset(s);
        return rc;
}

/* *ret: the greatest number of a period's pages, late ones (from LEDGER_NUMBERS on) left out; -1: no such page. */
static int load_last_page(struct load_account *l, int64_t *ret)
{
        struct load_pages *p = &l->pages;
        sqlite3_stmt *s = db_statement(p->d, SQL_LEDGER_LAST, p->err);
        *ret = -1;
        if (!s)
                return p->err->code;
        sqlite3_bind_int(s, 1, (int)l->key.span);
        sqlite3_bind_int(s, 2, (int)l->key.axis);
        sqlite3_bind_int64(s, 3, l->key.start_ms);
        sqlite3_bind_int64(s, 4, LEDGER_NUMBERS);
        bool some = sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) == SQLITE_INTEGER;
        if (some)
                *ret = sqlite3_column_int64(s, 0);
        return sqlite3_reset(s) == SQLITE_OK ? 0 : db_error(p->d, p->err, "read");
}

static int load_account_period(struct load_account *l)
{
        int64_t last = -1;
        int rc = load_last_page(l, &last);
        l->found = false;
        int64_t near = l->near < last ? l->near : last;
        for (int64_t off = 0; rc == 0 && !l->found && off <= last; off++) {
                const int64_t number[] = {near + off, near - off};
                for (int i = 0; rc == 0 && !l->found && i < (off ? 2 : 1); i++) {
                        if (number[i] < 0 || number[i] > last)
                                continue;
                        rc = load_account_pages(l, number[i], number[i]);
                        l->near = l->found ? number[i] : l->near;
                }
        }
        return rc < 0 ? rc : load_account_pages(l, LEDGER_NUMBERS, INT64_MAX);
}

static int load_account(struct load_pages *pages, const struct ledger_report *of)
{
        struct load_account l = {
                .pages = *pages, .key = {.axis = of->ask.axis, .span = of->ask.span}, .name = ledger_report_only(of)};
        int rc = 0;
        int64_t ms = ledger_span_ms(of->ask.span);
        db_hold(pages->d);
        for (int64_t at = ledger_span_start(of->ask.span, of->until_ms); rc == 0 && at >= of->from_ms; at -= ms) {
                l.key.start_ms = at;
                rc = load_account_period(&l);
        }
        db_let_go(pages->d);
        pages->refused = l.pages.refused;
        return rc;
}

int load_ledger_stretch(struct db *d, const struct ledger_report *of,
                        void (*each)(void *arg, const struct ledger_page_key *key, struct text packed), void *arg,
                        int *ret_refused, struct err *err)
{
        struct load_pages l = {d, each, arg, 0, err};
        int rc = !d->later[LATER_LEDGER] ? 0 : ledger_report_only(of).p ? load_account(&l, of) : load_stretch(&l, of);
        *ret_refused = l.refused;
        return rc;
}

int load_ledger(struct db *d, void (*each)(void *arg, const struct ledger_page_key *key, struct text packed), void *arg,
                int *ret_refused, struct err *err)
{
        struct load_pages l = {d, each, arg, 0, err};
        int rc = 0;
        for (enum ledger_axis a = 0; d->later[LATER_LEDGER] && a < LEDGER_AXES; a++)
                for (enum ledger_span s = 0; s < LEDGER_SPANS; s++) {
                        int one = load_newest_pages(&l, &(struct ledger_page_key){.axis = a, .span = s});
                        rc = rc < 0 ? rc : one;
                }
        *ret_refused = l.refused;
        return rc;
}
