/*
 * The SQL of the prepared statements. The tables usage0 and usage1 are written in turn, so that one always has a whole
 * history. Their column doors holds watermarks.
 */
#include "db.h"

#define USAGE_PUT(table)                                                                                               \
        "INSERT INTO " table " (id, generation, crc, packed, doors) VALUES (?1, ?2, ?3, ?4, ?5)"                       \
        " ON CONFLICT (id) DO UPDATE SET generation = excluded.generation, crc = excluded.crc,"                        \
        " packed = excluded.packed, doors = excluded.doors"

const char *const db_statements[STATEMENTS] = {
        [SQL_BEGIN] = "BEGIN IMMEDIATE",
        [SQL_COMMIT] = "COMMIT",
        [SQL_ROLLBACK] = "ROLLBACK",
        [SQL_IS_CLEAN] = "SELECT clean FROM mark WHERE id = 1",
        [SQL_SET_CLEAN] = "INSERT INTO mark VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET clean = excluded.clean",
        [SQL_TARGET_ID] = "INSERT INTO target (ns, api_group, kind, name, gone_ms, crc) VALUES (?1, ?2, ?3, ?4, 0, ?5)"
                          " ON CONFLICT (ns, name, kind, api_group) DO UPDATE SET gone_ms = gone_ms RETURNING id",
        [SQL_TARGET_PUT] = "UPDATE target SET record = ?2, gone_ms = ?3, crc = ?4 WHERE id = ?1",
        [SQL_HISTORY_ID] = "INSERT INTO history (target, container, crc) VALUES (?1, ?2, ?3)"
                           " ON CONFLICT (target, container) DO UPDATE SET crc = excluded.crc RETURNING id",
        [SQL_HISTORY_FIND] = "SELECT history.id FROM target JOIN history ON history.target = target.id"
                             " WHERE ns = ?1 AND api_group = ?2 AND kind = ?3 AND name = ?4 AND container = ?5",
        [SQL_USAGE_GET] = "SELECT generation, crc, packed, doors FROM usage0 WHERE id = ?1 UNION ALL"
                          " SELECT generation, crc, packed, doors FROM usage1 WHERE id = ?1 ORDER BY generation DESC",
        [SQL_USAGE0_PUT] = USAGE_PUT("usage0"),
        [SQL_USAGE1_PUT] = USAGE_PUT("usage1"),
        [SQL_KILL_GET] = "SELECT at_ms, bytes, crc FROM kill"
                         " WHERE target = ?1 AND container = ?2 AND uid = ?3 AND restarts = ?4",
        [SQL_KILL_PUT] = "INSERT INTO kill (target, container, uid, restarts, at_ms, bytes, crc)"
                         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (target, container, uid, restarts)"
                         " DO UPDATE SET at_ms = excluded.at_ms, bytes = excluded.bytes, crc = excluded.crc",
        [SQL_NOTE_PUT] = "INSERT INTO note (name, value, crc) VALUES (?1, ?2, ?3)"
                         " ON CONFLICT (name) DO UPDATE SET value = excluded.value, crc = excluded.crc",
        [SQL_TARGET_FIND] = "SELECT id FROM target WHERE ns = ?1 AND api_group = ?2 AND kind = ?3 AND name = ?4",
        [SQL_FORGET_USAGE0] = "DELETE FROM usage0 WHERE id IN (SELECT id FROM history WHERE target = ?1)",
        [SQL_FORGET_USAGE1] = "DELETE FROM usage1 WHERE id IN (SELECT id FROM history WHERE target = ?1)",
        [SQL_FORGET_KILL] = "DELETE FROM kill WHERE target = ?1",
        [SQL_FORGET_HISTORY] = "DELETE FROM history WHERE target = ?1 RETURNING container",
        [SQL_FORGET_TARGET] = "DELETE FROM target WHERE id = ?1",
        [SQL_FORGET_KILLS] = "DELETE FROM kill WHERE at_ms < ?1",
        [SQL_LEDGER_PUT] = "INSERT INTO ledger (span, axis, start_ms, number, packed, crc)"
                           " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (span, axis, start_ms, number)"
                           " DO UPDATE SET packed = excluded.packed, crc = excluded.crc",
        [SQL_LEDGER_NEWEST] = "SELECT start_ms, number, packed, crc FROM ledger WHERE span = ?1 AND axis = ?2"
                              " AND start_ms = (SELECT max(start_ms) FROM ledger WHERE span = ?1 AND axis = ?2)"
                              " ORDER BY number",
        [SQL_LEDGER_STRETCH] = "SELECT start_ms, number, packed, crc FROM ledger WHERE span = ?1 AND axis = ?2"
                               " AND start_ms BETWEEN ?3 AND ?4 ORDER BY start_ms, number",
        [SQL_LEDGER_PAGE] = "SELECT start_ms, number, packed, crc FROM ledger WHERE span = ?1 AND axis = ?2"
                            " AND start_ms = ?3 AND number BETWEEN ?4 AND ?5",
        [SQL_LEDGER_LAST] = "SELECT max(number) FROM ledger WHERE span = ?1 AND axis = ?2 AND start_ms = ?3"
                            " AND number < ?4",
        [SQL_LEDGER_FORGET] = "DELETE FROM ledger WHERE span = ?1 AND axis = ?2 AND start_ms < ?3",
        [SQL_CHANGE_PUT] = "INSERT INTO change (id, at_ms, record, crc) VALUES (?1, ?2, ?3, ?4)"
                           " ON CONFLICT (id) DO UPDATE SET at_ms = excluded.at_ms, record = excluded.record,"
                           " crc = excluded.crc",
        [SQL_CHANGE_FORGET] = "DELETE FROM change WHERE id <= ?1 OR at_ms < ?2",
};
