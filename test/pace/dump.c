/* dump FILE: print a SQLite database as text: its schema and every row of every table, binary values in hexadecimal.
 * Rows come in the file's order, so sort before comparing. */
#include <sqlite3.h>
#include <stdio.h>

static void print_value(sqlite3_stmt *s, int i)
{
        const unsigned char *bytes = sqlite3_column_blob(s, i);
        int count = sqlite3_column_bytes(s, i);
        printf("%s%s=", i ? " " : "", sqlite3_column_name(s, i));
        if (sqlite3_column_type(s, i) == SQLITE_NULL) {
                printf("NULL");
        } else if (sqlite3_column_type(s, i) != SQLITE_BLOB) {
                printf("%s", (const char *)sqlite3_column_text(s, i));
        } else {
                printf("x'");
                for (int k = 0; k < count; k++)
                        printf("%02x", bytes[k]);
                printf("'");
        }
}

static int print_rows(sqlite3 *db, const char *sql, const char *before)
{
        sqlite3_stmt *s;
        if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK) {
                fprintf(stderr, "dump: %s: %s\n", sql, sqlite3_errmsg(db));
                return 1;
        }
        while (sqlite3_step(s) == SQLITE_ROW) {
                printf("%s", before);
                for (int i = 0; i < sqlite3_column_count(s); i++)
                        print_value(s, i);
                printf("\n");
        }
        sqlite3_finalize(s);
        return 0;
}

int main(int argc, char **argv)
{
        sqlite3 *db;
        sqlite3_stmt *tables;
        int bad = 0;
        if (argc != 2 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
                fputs("usage: dump FILE\n", stderr);
                return 2;
        }
        bad |= print_rows(db, "PRAGMA user_version", "");
        bad |= print_rows(db, "PRAGMA application_id", "");
        bad |= print_rows(db, "SELECT type, name, sql FROM sqlite_master ORDER BY name", "schema ");
        sqlite3_prepare_v2(db, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", -1, &tables, NULL);
        while (sqlite3_step(tables) == SQLITE_ROW) {
                char sql[256], before[256];
                const char *name = (const char *)sqlite3_column_text(tables, 0);
                snprintf(sql, sizeof sql, "SELECT * FROM \"%s\"", name);
                snprintf(before, sizeof before, "%s: ", name);
                bad |= print_rows(db, sql, before);
        }
        sqlite3_finalize(tables);
        sqlite3_close(db);
        return bad;
}
