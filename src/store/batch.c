#include "batch.h"

#include <assert.h>
#include <stdio.h>

#include "base/map.h"
#include "base/mem.h"

enum { CHUNK_LEAST = 4 << 10, CHUNK_MOST = 1 << 20, NAMES = 5, NAME_MAX_BYTES = 253, COMPACT_LEAST = 1024 };

struct chunk {
        struct chunk *next;
        size_t used, cap;
        _Alignas(8) uint8_t data[];
};

struct identity {
        uint8_t kind;
        uint8_t len[NAMES];
        uint8_t names[];
};
_Static_assert(NAME_MAX_BYTES <= UINT8_MAX, "a length is a byte");

/* --- chunks and rows --- */

struct store_batch *store_batch_new(void)
{
        return MEM_NEW(struct store_batch);
}

void store_batch_free(struct store_batch *b)
{
        if (!b)
                return;
        for (struct chunk *c = b->chunk, *next; c; c = next) {
                next = c->next;
                mem_free(c);
        }
        mem_free(b);
}

size_t store_batch_rows(const struct store_batch *b)
{
        return b->rows;
}

static void *batch_take(struct store_batch *b, size_t bytes)
{
        struct chunk *last = b->last;
        if (!last || last->cap - last->used < bytes) {
                size_t cap = last ? 2 * last->cap : CHUNK_LEAST;
                cap = cap < CHUNK_MOST ? cap : CHUNK_MOST;
                cap = cap > bytes ? cap : bytes;
                struct chunk *c = mem_resize(NULL, 1, sizeof *c + cap);
                *c = (struct chunk){.cap = cap};
                *(last ? &last->next : &b->chunk) = c;
                b->last = last = c;
        }
        void *p = last->data + last->used;
        last->used += bytes;
        return p;
}

struct row *batch_next(struct batch_at *at)
{
        while (at->chunk && at->used == at->chunk->used)
                *at = (struct batch_at){at->chunk->next, 0};
        if (!at->chunk)
                return NULL;
        struct row *r = (struct row *)(void *)(at->chunk->data + at->used);
        at->used += r->bytes;
        return r;
}

struct row *batch_first(const struct store_batch *b, struct batch_at *at)
{
        *at = (struct batch_at){b->chunk, 0};
        return batch_next(at);
}

static const struct identity *identity_of(const struct row *r)
{
        return (const struct identity *)(r->at + r->body);
}

enum row_kind row_kind(const struct row *r)
{
        return (enum row_kind)identity_of(r)->kind;
}

struct store_key row_key(const struct row *r)
{
        const struct identity *id = identity_of(r);
        struct text name[NAMES];
        const uint8_t *p = id->names;
        for (int i = 0; i < NAMES; p += id->len[i++])
                name[i] = (struct text){(const char *)p, id->len[i]};
        return (struct store_key){name[0], name[1], name[2], name[3], name[4]};
}

struct text row_data(const struct row *r)
{
        return (struct text){(const char *)r->at + r->body + r->identity, r->data};
}

const struct store_kill *row_kill(const struct row *r)
{
        return (const struct store_kill *)(const void *)r->at;
}

const struct ledger_page_key *row_ledger(const struct row *r)
{
        return (const struct ledger_page_key *)(const void *)r->at;
}

int64_t row_change_id(const struct row *r)
{
        int64_t id;
        memcpy(&id, r->at, sizeof id);
        return id;
}

/* What distinguishes kills of one container. It has no padding, so equal identities are equal bytes. */
struct kill_identity {
        uint8_t uid[STORE_UID_BYTES];
        int64_t restarts;
};

/*
 * Append a row with a copy of its key and data; the caller fills the body. NULL if a name is longer than Kubernetes
 * allows.
 */
static struct row *row_add(struct store_batch *b, enum row_kind kind, const struct store_key *key, size_t body,
                           struct text data, const struct kill_identity *kill)
{
        const struct text name[NAMES] = {key->ns, key->group, key->kind, key->name, key->container};
        size_t identity = sizeof(struct identity) + (kill ? sizeof *kill : 0);
        for (int i = 0; i < NAMES; i++) {
                if (name[i].len > NAME_MAX_BYTES)
                        return NULL;
                identity += name[i].len;
        }
        size_t bytes = (sizeof(struct row) + body + identity + data.len + 7) & ~(size_t)7;
        assert(body % 8 == 0 && bytes <= UINT32_MAX);
        struct row *r = batch_take(b, bytes);
        *r = (struct row){.bytes = (uint32_t)bytes, .body = (uint32_t)body, .identity = (uint32_t)identity};
        r->data = (uint32_t)data.len;
        struct identity *id = (struct identity *)(r->at + body);
        id->kind = (uint8_t)kind;
        uint8_t *p = id->names;
        for (int i = 0; i < NAMES; i++) {
                id->len[i] = (uint8_t)name[i].len;
                if (name[i].len)
                        p = (uint8_t *)mempcpy(p, name[i].p, name[i].len);
        }
        if (kill)
                p = (uint8_t *)mempcpy(p, kill, sizeof *kill);
        if (data.len)
                memcpy(p, data.p, data.len);
        b->rows++;
        return r;
}

/* --- rows from callers --- */

void store_batch_usage(struct store_batch *b, const struct store_key *key, const struct usage *u,
                       const struct store_watermark *watermark, size_t watermarks)
{
        size_t weights = (size_t)u->of[CPU].count + u->of[MEMORY].count;
        size_t body = sizeof *u + weights * sizeof(double) + watermarks * sizeof *watermark;
        struct row *r = row_add(b, watermark ? ROW_USAGE : ROW_USAGE_KEEP, key, body, (struct text){0}, NULL);
        if (!r)
                return;
        uint8_t *p = (uint8_t *)mempcpy(r->at, u, sizeof *u);
        for (int i = 0; i < RESOURCES; i++)
                if (u->of[i].count)
                        p = (uint8_t *)mempcpy(p, u->of[i].w, u->of[i].count * sizeof(double));
        if (watermarks)
                memcpy(p, watermark, watermarks * sizeof *watermark);
        r->watermarks = (uint32_t)watermarks;
}

size_t row_pack(struct row *r, uint8_t out[static USAGE_PACK_MAX])
{
        struct usage *u = (struct usage *)(void *)r->at;
        u->of[CPU].w = (double *)(void *)(u + 1);
        u->of[MEMORY].w = u->of[CPU].w + u->of[CPU].count;
        u->starts = NULL; /* starts are kept in the target's record: older versions cannot read a row with them */
        return usage_pack(u, out);
}

const struct store_watermark *row_watermarks(const struct row *r)
{
        return (const struct store_watermark *)(const void *)(r->at + r->body -
                                                              r->watermarks * sizeof(struct store_watermark));
}

void store_batch_target(struct store_batch *b, const struct store_key *key, struct text record, struct wall gone)
{
        assert(record.len <= STORE_RECORD_MAX);
        struct store_key target = *key;
        target.container = (struct text){0};
        struct row *r = row_add(b, ROW_TARGET, &target, 0, record, NULL);
        if (r)
                r->ms = gone.ms;
}

void store_batch_kill(struct store_batch *b, const struct store_key *key, const struct store_kill *kill)
{
        struct kill_identity which = {.restarts = kill->restarts};
        memcpy(which.uid, kill->uid, sizeof which.uid);
        struct row *r = row_add(b, ROW_KILL, key, sizeof *kill, (struct text){0}, &which);
        if (r)
                memcpy(r->at, kill, sizeof *kill);
}

void store_batch_note(struct store_batch *b, const char *name, struct text value)
{
        struct store_key key = {.ns = text_of(name)};
        assert(key.ns.len <= NAME_MAX_BYTES && value.len <= STORE_NOTE_MAX);
        row_add(b, ROW_NOTE, &key, 0, value, NULL);
}

void store_batch_forget(struct store_batch *b, const struct store_key *key)
{
        struct store_key target = *key;
        target.container = (struct text){0};
        row_add(b, ROW_FORGET, &target, 0, (struct text){0}, NULL);
}

void store_batch_forget_kills(struct store_batch *b, struct wall before)
{
        struct row *r = row_add(b, ROW_FORGET_KILLS, &(struct store_key){0}, 0, (struct text){0}, NULL);
        r->ms = before.ms;
}

void store_batch_ledger(struct store_batch *b, const struct ledger_page_key *key, struct text packed)
{
        char name[80];
        int len = snprintf(name, sizeof name, "%d/%d/%lld/%lld", (int)key->span, (int)key->axis,
                           (long long)key->start_ms, (long long)key->number);
        const struct store_key named = {.ns = {name, (size_t)len}};
        struct row *r = row_add(b, ROW_LEDGER, &named, sizeof *key, packed, NULL);
        memcpy(r->at, key, sizeof *key);
}

void store_batch_forget_ledger(struct store_batch *b, struct wall now)
{
        struct row *r = row_add(b, ROW_FORGET_LEDGER, &(struct store_key){0}, 0, (struct text){0}, NULL);
        r->ms = now.ms;
}

void store_batch_change(struct store_batch *b, int64_t id, struct wall at, struct text record)
{
        char name[24];
        int len = snprintf(name, sizeof name, "%lld", (long long)id);
        const struct store_key named = {.ns = {name, (size_t)len}};
        struct row *r = row_add(b, ROW_CHANGE, &named, sizeof id, record, NULL);
        memcpy(r->at, &id, sizeof id);
        r->ms = at.ms;
}

void store_batch_forget_changes(struct store_batch *b, int64_t id, struct wall before)
{
        struct row *r = row_add(b, ROW_FORGET_CHANGES, &(struct store_key){0}, sizeof id, (struct text){0}, NULL);
        memcpy(r->at, &id, sizeof id);
        r->ms = before.ms;
}

void batch_add_recall(struct store_batch *b, const struct store_key *key, const void *tag)
{
        row_add(b, ROW_USAGE, key, sizeof(struct usage), (struct text){0}, NULL);
        b->recall = true;
        b->tag = tag;
}

/* --- joining --- */

/*
 * Does a row after `r` supersede it? `later` has the identities of the rows after `r`. ROW_USAGE supersedes both kinds
 * of usage; ROW_USAGE_KEEP only its own kind, since the watermarks of an earlier ROW_USAGE still count.
 */
static bool is_void(struct map *later, const struct row *r)
{
        struct text id = {(const char *)identity_of(r), r->identity};
        if (map_get(later, id))
                return true;
        if (row_kind(r) == ROW_USAGE_KEEP) {
                uint8_t with_watermarks[sizeof(struct identity) + NAMES * NAME_MAX_BYTES];
                memcpy(with_watermarks, id.p, id.len);
                with_watermarks[0] = ROW_USAGE;
                if (map_get(later, (struct text){(const char *)with_watermarks, id.len}))
                        return true;
        }
        map_put(later, id, later);
        return false;
}

/* Remove superseded rows. The order stays, since a ROW_FORGET concerns only the rows before it. */
static void batch_compact(struct store_batch *b)
{
        struct row **row = mem_new_array(b->rows, sizeof(struct row *));
        struct map later = {0};
        struct store_batch fresh = {0};
        struct batch_at at;
        size_t count = 0;
        for (struct row *r = batch_first(b, &at); r; r = batch_next(&at))
                row[count++] = r;
        for (size_t i = count; i-- > 0;)
                if (is_void(&later, row[i]))
                        row[i] = NULL;
        map_release(&later);
        for (size_t i = 0; i < count; i++) {
                if (!row[i])
                        continue;
                memcpy(batch_take(&fresh, row[i]->bytes), row[i], row[i]->bytes);
                fresh.rows++;
        }
        mem_free(row);
        for (struct chunk *c = b->chunk, *next; c; c = next) {
                next = c->next;
                mem_free(c);
        }
        b->chunk = fresh.chunk;
        b->last = fresh.last;
        b->rows = b->distinct = fresh.rows;
}

void batch_join(struct store_batch *dst, struct store_batch *src)
{
        if (src->chunk) {
                *(dst->last ? &dst->last->next : &dst->chunk) = src->chunk;
                dst->last = src->last;
        }
        dst->rows += src->rows;
        dst->number = src->number;
        src->chunk = NULL;
        store_batch_free(src);
        if (dst->rows > COMPACT_LEAST && dst->rows > 2 * dst->distinct)
                batch_compact(dst);
}
