/* Rows of each table: their CRCs, and how values are bound to statements and read back from columns. */
#ifndef HALFLIFE_STORE_ROW_H
#define HALFLIFE_STORE_ROW_H

#include "db.h"
#include "store/store.h"

enum { WATERMARK_BYTES = STORE_UID_BYTES + 8 };

uint32_t crc_of_target(const struct store_key *key, struct text record, int64_t gone_ms);
uint32_t crc_of_history(int64_t target, struct text container);
/* `packed` ends with a CRC of its own. The CRC of the row covers only that CRC, the id, the generation and the
 * watermarks, and so ties them together. */
uint32_t crc_of_usage(int64_t id, int64_t generation, struct text packed, struct text watermarks);
uint32_t crc_of_kill(int64_t target, struct text container, const struct store_kill *kill);
uint32_t crc_of_ledger(const struct ledger_page_key *key, struct text packed);
uint32_t crc_of_change(int64_t id, int64_t at_ms, struct text record);
uint32_t crc_of_note(struct text name, struct text value);

/* The bytes of a column, whatever its type; valid until the next step of s. */
struct text column_text(sqlite3_stmt *s, int column);
void bind_text(sqlite3_stmt *s, int at, struct text t);
void bind_blob(sqlite3_stmt *s, int at, const void *p, size_t len);
/* Bind ns, group, kind and name to the parameters 1 to 4. */
void bind_target(sqlite3_stmt *s, const struct store_key *key);

void watermarks_pack(const struct store_watermark *watermark, size_t watermarks,
                     uint8_t *out); /* room for watermarks * WATERMARK_BYTES bytes */
void watermarks_unpack(struct text packed, struct store_watermark *out);

#endif
