#include "row.h"

#include <string.h>

#include "core/crc.h"

/* --- CRCs: one for each row, so that a wrong bit costs only its row --- */

/* Add a number as eight little-endian bytes. */
static uint32_t add_number(uint32_t crc, int64_t n)
{
        uint8_t bytes[8];
        for (int i = 0; i < 8; i++)
                bytes[i] = (uint8_t)((uint64_t)n >> 8 * i);
        return crc_add(crc, bytes, sizeof bytes);
}

static uint32_t row_add_text(uint32_t crc, struct text t)
{
        return crc_add(add_number(crc, (int64_t)t.len), t.p, t.len);
}

uint32_t crc_of_target(const struct store_key *key, struct text record, int64_t gone_ms)
{
        uint32_t crc = row_add_text(row_add_text(0, key->ns), key->group);
        crc = row_add_text(row_add_text(crc, key->kind), key->name);
        return add_number(row_add_text(crc, record), gone_ms);
}

uint32_t crc_of_history(int64_t target, struct text container)
{
        return row_add_text(add_number(0, target), container);
}

uint32_t crc_of_usage(int64_t id, int64_t generation, struct text packed, struct text watermarks)
{
        enum { OWN_CRC = 4 };
        size_t own = packed.len < OWN_CRC ? packed.len : OWN_CRC;
        uint32_t crc = add_number(add_number(0, id), generation);
        crc = own ? crc_add(crc, packed.p + packed.len - own, own) : crc;
        return watermarks.len ? crc_add(crc, watermarks.p, watermarks.len) : crc;
}

uint32_t crc_of_kill(int64_t target, struct text container, const struct store_kill *kill)
{
        int64_t bytes;
        memcpy(&bytes, &kill->bytes, sizeof bytes);
        uint32_t crc = crc_add(row_add_text(add_number(0, target), container), kill->uid, sizeof kill->uid);
        return add_number(add_number(add_number(crc, kill->restarts), kill->at.ms), bytes);
}

uint32_t crc_of_ledger(const struct ledger_page_key *key, struct text packed)
{
        uint32_t crc = add_number(add_number(0, key->span), key->axis);
        return row_add_text(add_number(add_number(crc, key->start_ms), key->number), packed);
}

uint32_t crc_of_change(int64_t id, int64_t at_ms, struct text record)
{
        return row_add_text(add_number(add_number(0, id), at_ms), record);
}

uint32_t crc_of_note(struct text name, struct text value)
{
        return row_add_text(row_add_text(0, name), value);
}

/* --- columns --- */

struct text column_text(sqlite3_stmt *s, int column)
{
        const void *p = sqlite3_column_blob(s, column);
        return (struct text){p ? p : "", (size_t)sqlite3_column_bytes(s, column)};
}

void bind_text(sqlite3_stmt *s, int at, struct text t)
{
        sqlite3_bind_text(s, at, t.p ? t.p : "", (int)t.len, SQLITE_STATIC);
}

void bind_blob(sqlite3_stmt *s, int at, const void *p, size_t len)
{
        sqlite3_bind_blob(s, at, p ? p : "", (int)len, SQLITE_STATIC);
}

void bind_target(sqlite3_stmt *s, const struct store_key *key)
{
        bind_text(s, 1, key->ns);
        bind_text(s, 2, key->group);
        bind_text(s, 3, key->kind);
        bind_text(s, 4, key->name);
}

/* --- watermarks --- */

void watermarks_pack(const struct store_watermark *watermark, size_t watermarks, uint8_t *out)
{
        for (size_t i = 0; i < watermarks; i++, out += WATERMARK_BYTES) {
                memcpy(out, watermark[i].uid, STORE_UID_BYTES);
                for (int k = 0; k < 8; k++)
                        out[STORE_UID_BYTES + k] = (uint8_t)((uint64_t)watermark[i].last_ms >> 8 * k);
        }
}

void watermarks_unpack(struct text packed, struct store_watermark *out)
{
        const uint8_t *in = (const uint8_t *)packed.p;
        for (size_t i = 0; i < packed.len / WATERMARK_BYTES; i++, in += WATERMARK_BYTES) {
                uint64_t last = 0;
                for (int k = 8; k-- > 0;)
                        last = last << 8 | in[STORE_UID_BYTES + k];
                memcpy(out[i].uid, in, STORE_UID_BYTES);
                out[i].last_ms = (int64_t)last;
        }
}
