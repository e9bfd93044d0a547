/* Rows written to a database are read back exactly when it is opened again. */
#include "store/store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../support/store_image.h"
#include "../../support/tmp.h"
#include "base/mem.h"
#include "store/scan.h"

static char *fresh_path(const char *name)
{
        char *path = tmp_path(name);
        image_remove(path);
        return path;
}

static void test_round_trip(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = fresh_path("round.db");
        struct image put = {0}, got = {0};
        image_fill(&put, 40, 1);
        image_save(&put, path);
        image_load(&got, path);
        image_assert_equal(&put, &got);
        image_release(&put);
        image_release(&got);
}

static void test_newer_rows_replace(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = fresh_path("replace.db");
        struct image put = {0}, got = {0};
        for (int turn = 1; turn <= 5; turn++) {
                image_release(&put);
                image_fill(&put, 30, turn);
                image_save(&put, path);
        }
        image_load(&got, path);
        image_assert_equal(&put, &got);
        image_release(&put);
        image_release(&got);
}

/* Keys differ by every part, and may hold any bytes. */
static void test_keys(void **state)
{
        (void)state;
        static const struct store_key row[] = {
                {TEXT("a"), TEXT(""), TEXT("k"), TEXT("n"), TEXT("c")},
                {TEXT("a"), TEXT("k"), TEXT(""), TEXT("n"), TEXT("c")},
                {TEXT("a"), TEXT(""), TEXT("kn"), TEXT(""), TEXT("c")},
                {TEXT("ak"), TEXT(""), TEXT(""), TEXT("n"), TEXT("c")},
                {TEXT("a"), TEXT(""), TEXT("k"), TEXT("nc"), TEXT("")},
                {TEXT("a"), TEXT(""), TEXT("k"), TEXT("N"), TEXT("c")},
                {TEXT("a"), TEXT(""), TEXT("k"), TEXT("n"), TEXT("'; DROP TABLE usage0; --")},
                {TEXT("a"), TEXT(""), TEXT("k"), TEXT("n\0m"), TEXT("c\0d")},
                {TEXT("\xc3\xa9"), TEXT("e\xcc\x81"), TEXT("\xff\xfe"), TEXT("n"), TEXT("c")},
        };
        enum { ROWS = sizeof row / sizeof row[0] };
        char *path AUTO(mem_free) = fresh_path("keys.db");
        struct image put = {0}, got = {0};
        for (int i = 0; i < ROWS; i++)
                image_add_usage(&put, &row[i], i + 1);
        image_save(&put, path);
        image_load(&got, path);
        image_assert_equal(&put, &got);
        assert_int_equal(got.usages, ROWS);
        image_release(&put);
        image_release(&got);
}

static void test_name_too_long(void **state)
{
        (void)state;
        char name[254];
        memset(name, 'x', sizeof name);
        struct store_batch *b = store_batch_new();
        struct image row = {0};
        struct store_key key = {TEXT("ns"), TEXT(""), TEXT("k"), {name, 253}, TEXT("c")};
        image_add_usage(&row, &key, 1);
        store_batch_usage(b, &key, &row.usage[0].usage, NULL, 0);
        assert_int_equal(store_batch_rows(b), 1);
        key.name.len = 254;
        store_batch_usage(b, &key, &row.usage[0].usage, NULL, 0);
        assert_int_equal(store_batch_rows(b), 1);
        store_batch_free(b);
        image_release(&row);
}

static const struct store_key web = {TEXT("shop"), TEXT("apps"), TEXT("Deployment"), TEXT("web"), TEXT("app")};

static void test_kill_once(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = fresh_path("kill.db");
        struct image got = {0};
        struct store *s = image_open(path);
        for (int turn = 0; turn < 3; turn++) {
                struct store_batch *b = store_batch_new();
                struct store_kill k = {.uid = {1}, .restarts = 1, .at = {1000}, .bytes = 5e8};
                store_batch_kill(b, &web, &k);
                k.at.ms = 2000 + turn; /* reported again later */
                store_batch_kill(b, &web, &k);
                k.restarts = 2;
                k.at.ms = 9000;
                store_batch_kill(b, &web, &k);
                store_submit(s, b);
        }
        image_close(s);
        image_load(&got, path);
        assert_int_equal(got.kills, 2);
        assert_int_equal(got.kill[0].kill.at.ms, 1000);
        assert_true(got.kill[0].kill.bytes == 5e8);
        assert_int_equal(got.kill[1].kill.restarts, 2);
        image_release(&got);

        s = image_open(path);
        struct store_batch *b = store_batch_new();
        store_batch_forget_kills(b, (struct wall){5000});
        store_submit(s, b);
        image_close(s);
        image_load(&got, path);
        assert_int_equal(got.kills, 1);
        assert_int_equal(got.kill[0].kill.at.ms, 9000);
        image_release(&got);
}

static void test_doors_kept_or_gone(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                bool keep;
                size_t watermarks, want;
        } row[] = {{"kept", true, 0, 2}, {"kept again", true, 0, 2}, {"one", false, 1, 1}, {"none", false, 0, 0}};
        char *path AUTO(mem_free) = fresh_path("doors.db");
        struct image put = {0};
        struct store_watermark watermark[2] = {{{1, 2}, 77}, {{3, 4}, 88}};
        image_add_usage(&put, &web, 3);
        struct store *s = image_open(path);
        struct store_batch *b = store_batch_new();
        store_batch_usage(b, &web, &put.usage[0].usage, watermark, 2);
        store_batch_usage(b, &web, &put.usage[0].usage, NULL, 0); /* in one batch, too */
        store_submit(s, b);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                print_message("%s\n", row[i].what);
                b = store_batch_new();
                store_batch_usage(b, &web, &put.usage[0].usage, row[i].keep ? NULL : watermark, row[i].watermarks);
                store_submit(s, b);
                image_close(s);
                struct image got = {0};
                image_load(&got, path);
                assert_int_equal(got.usage[0].watermarks, row[i].want);
                assert_memory_equal(got.usage[0].watermark, watermark, row[i].want * sizeof *watermark);
                image_release(&got);
                s = image_open(path);
        }
        image_close(s);
        image_release(&put);
}

static void test_forget(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = fresh_path("forget.db");
        struct image put = {0}, got = {0};
        image_fill(&put, 20, 1);
        image_save(&put, path);
        struct store *s = image_open(path);
        struct store_batch *b = store_batch_new();
        struct store_key key = image_key(&put.usage[0].key);
        store_batch_forget(b, &key);
        store_batch_forget(b, &web); /* never stored */
        store_submit(s, b);
        image_close(s);
        image_load(&got, path);
        assert_int_equal(got.usages, put.usages - IMAGE_CONTAINERS);
        assert_int_equal(got.targets, put.targets - 1);
        assert_int_equal(got.kills, put.kills - 1);
        image_release(&got);

        /* No history of it is left, for the next new target gets its id. */
        struct db db = {0};
        struct err err = {0};
        bool clean;
        assert_int_equal(db_open(&db, path, false, &clean, &err), 0);
        assert_int_equal(db_number(&db, "SELECT count(*) FROM history WHERE target NOT IN (SELECT id FROM target)"), 0);
        db_close(&db);

        /* Forgotten and stored again, in one batch: the new one stands alone. */
        s = image_open(path);
        b = store_batch_new();
        store_batch_usage(b, &key, &put.usage[1].usage, NULL, 0);
        store_batch_forget(b, &key);
        store_batch_usage(b, &key, &put.usage[2].usage, NULL, 0);
        store_submit(s, b);
        image_close(s);
        image_load(&got, path);
        assert_int_equal(got.usages, put.usages - IMAGE_CONTAINERS + 1);
        const struct image_usage *u = image_find(&got, &put.usage[0].key);
        assert_non_null(u);
        assert_int_equal(u->usage.samples, put.usage[2].usage.samples);
        image_release(&got);
        image_release(&put);
}

static void test_forgetting_gives_space_back(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = fresh_path("space.db");
        struct image put = {0};
        struct stat full, empty;
        image_fill(&put, 8000, 1);
        image_save(&put, path);
        stat(path, &full);
        struct store *s = image_open(path);
        struct store_batch *b = store_batch_new();
        for (size_t i = 0; i < put.usages; i++) {
                struct store_key key = image_key(&put.usage[i].key);
                store_batch_forget(b, &key);
        }
        store_submit(s, b);
        image_close(s);
        stat(path, &empty);
        print_message("%lld bytes full, %lld empty\n", (long long)full.st_size, (long long)empty.st_size);
        assert_true(empty.st_size < full.st_size / 4);
        image_release(&put);
}

static void test_recall(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = fresh_path("recall.db");
        struct image put = {0};
        for (int turn = 1; turn <= 3; turn++)
                image_add_usage(&put, &web, turn);
        int here;
        for (int restart = 0; restart < 2; restart++) {
                image_remove(path);
                struct store *s = image_open(path);
                store_recall(s, &web, &here);
                image_wait(1);
                assert_true(image_told.recall && image_told.recall_tag == &here);
                assert_int_equal(image_told.packed_len, 0);
                for (int turn = 0; turn < 3; turn++) {
                        struct store_batch *b = store_batch_new();
                        store_batch_usage(b, &web, &put.usage[turn].usage, NULL, 0);
                        store_submit(s, b);
                        image_wait(2 + turn);
                }
                int before = 4;
                if (restart) {
                        image_close(s);
                        s = image_open(path);
                        before = 0;
                }
                store_recall(s, &web, &here);
                image_wait(before + 1);
                uint8_t packed[USAGE_PACK_MAX];
                size_t len = usage_pack(&put.usage[1].usage, packed);
                assert_int_equal(image_told.packed_len, len);
                assert_memory_equal(image_told.packed, packed, len);
                image_close(s);
        }
        image_release(&put);
}

/* Batches beyond the limit are joined; every row is written, and the last batch's number is reported. */
static void test_many_batches(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = fresh_path("many.db");
        struct image put = {0}, got = {0};
        image_fill(&put, 10, 1);
        struct store *s = image_open(path);
        uint64_t last = 0;
        for (int i = 0; i < 400; i++) {
                struct store_batch *b = store_batch_new();
                image_put(&put, b);
                last = store_submit(s, b);
        }
        assert_int_equal(last, 400);
        image_close(s);
        assert_int_equal(image_told.batch, 400);
        image_load(&got, path);
        image_assert_equal(&put, &got);
        image_release(&put);
        image_release(&got);
}

static void test_second_owner(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = fresh_path("owner.db");
        struct store *s = image_open(path), *other = NULL;
        struct store_options o = {.path = path};
        struct err err;
        char note[512], pid[64];
        snprintf(pid, sizeof pid, "process %ld", (long)getpid());
        assert_int_equal(store_open(&o, &other, note, &err), ERR_CONFLICT);
        print_message("%s\n", err.text);
        assert_non_null(strstr(err.text, pid));
        assert_null(other);
        image_close(s);
        image_close(image_open(path));
}

static void test_reader_beside_owner(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = fresh_path("reader.db");
        struct image put = {0}, got = {0};
        struct store *reader = NULL;
        struct err err;
        assert_int_equal(store_open_reader(path, &reader, &err), ERR_NOTFOUND);
        image_fill(&put, 10, 1);
        image_save(&put, path);
        struct store *s = image_open(path);
        assert_int_equal(store_open_reader(path, &reader, &err), 0);
        image_load_from(&got, reader);
        image_assert_equal(&put, &got);
        assert_int_equal(store_close(reader, &err), 0);
        image_close(s);
        image_release(&put);
        image_release(&got);
}

static void test_inspect(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = fresh_path("facts.db");
        struct image put = {0};
        struct store_facts facts;
        struct err err;
        assert_int_equal(store_inspect(path, &facts, &err), 0);
        assert_true(!facts.exists && facts.holder == 0);
        image_fill(&put, 10, 1);
        image_save(&put, path);
        struct store *s = image_open(path);
        assert_int_equal(store_inspect(path, &facts, &err), 0);
        assert_true(facts.exists && facts.holder == getpid());
        image_close(s);
        assert_int_equal(store_inspect(path, &facts, &err), 0);
        assert_true(facts.exists && facts.clean && facts.holder == 0 && facts.bytes > 0);
        assert_true(facts.ledger_days == 1 && facts.bytes_later > facts.bytes);
        assert_true(facts.targets == 10 && facts.histories == 10 * IMAGE_CONTAINERS && facts.refused == 0);
        image_release(&put);
}

/* What the ledger will be is told from its days so far: about what the file has once all of them are there. */
static void test_inspect_ledger(void **state)
{
        enum { PAGE_BYTES = 17000, PAGES = 4, FIRST = 3 };
        (void)state;
        char *path AUTO(mem_free) = fresh_path("ledger.db");
        static char packed[PAGE_BYTES];
        struct store_facts few, all;
        struct err err;
        for (size_t i = 0; i < sizeof packed; i++)
                packed[i] = (char)(i * 31);
        for (int part = 0; part < 2; part++) {
                struct store *s = image_open(path);
                struct store_batch *b = store_batch_new();
                for (int day = part ? FIRST : 0; day < (part ? 36 : FIRST); day++)
                        for (int64_t number = 0; number < PAGES; number++)
                                store_batch_ledger(b,
                                                   &(struct ledger_page_key){LEDGER_WORKLOAD, LEDGER_DAY,
                                                                             (20000 + day) * (int64_t)DAY_MS, number},
                                                   (struct text){packed, sizeof packed});
                store_submit(s, b);
                image_wait(1);
                image_close(s);
                assert_int_equal(store_inspect(path, part ? &all : &few, &err), 0);
        }
        assert_int_equal(few.ledger_days, FIRST);
        assert_int_equal(all.ledger_days, 36);
        assert_int_equal(all.bytes_later, all.bytes);
        if (few.bytes_later < all.bytes * 9 / 10 || few.bytes_later > all.bytes * 12 / 10)
                fail_msg("%lld bytes said, %lld are", (long long)few.bytes_later, (long long)all.bytes);
}

struct looker {
        char *lock;
        bool done;
};

/* The lock as a look takes it, over and over. */
static void *look_on(void *arg)
{
        struct looker *l = arg;
        while (!__atomic_load_n(&l->done, __ATOMIC_ACQUIRE)) {
                int fd = open(l->lock, O_RDONLY | O_CLOEXEC);
                flock(fd, LOCK_SH | LOCK_NB);
                close(fd);
        }
        return NULL;
}

/* A process that only inspects the file does not keep another from owning it. */
static void test_looks_keep_no_owner_out(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = fresh_path("looked.db");
        struct looker look = {.lock = mem_printf("%s.lock", path)};
        pthread_t thread;
        image_close(image_open(path));
        assert_int_equal(pthread_create(&thread, NULL, look_on, &look), 0);
        for (int i = 0; i < 200; i++)
                image_close(image_open(path));
        __atomic_store_n(&look.done, true, __ATOMIC_RELEASE);
        pthread_join(thread, NULL);
        mem_free(look.lock);
}

/* --- migrations: each schema's database, kept as the SQL that makes it, opens for ever --- */

static void make_old(const char *sql_path, const char *path)
{
        char *sql AUTO(mem_free) = image_read_file(sql_path);
        sqlite3 *db;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        char *why = NULL;
        if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
                fail_msg("%s: %s", sql_path, why);
        sqlite3_close(db);
}

static void test_old_schemas(void **state)
{
        (void)state;
        static const char *const schema[] = {"test/data/store/schema-1.sql"};
        for (size_t i = 0; i < sizeof schema / sizeof schema[0]; i++) {
                print_message("%s\n", schema[i]);
                char *path AUTO(mem_free) = fresh_path("old.db");
                struct image want = {0}, got = {0};
                make_old(schema[i], path);
                image_fill(&want, 3, 1);
                for (size_t n = 0; n < want.usages; n++)
                        memset(want.usage[n].usage.day_mi, 0, sizeof want.usage[n].usage.day_mi); /* version 1 */
                size_t pages = want.pages, changes = want.changes;
                want.pages = want.changes = 0; /* a file of then has no ledger, and no changes */
                image_load(&got, path);
                image_assert_equal(&want, &got);
                image_release(&got);
                want.pages = pages;
                want.changes = changes;
                image_save(&want, path); /* and is written to */
                image_load(&got, path);
                image_assert_equal(&want, &got);
                image_release(&want);
                image_release(&got);
        }
}

/* A table at its end stays there, and is not damaged: one of two generations may have fewer rows than the other. */
static void test_scan_ends(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = fresh_path("ends.db");
        struct image put = {0};
        struct db db = {0};
        struct scan s;
        struct err err = {0};
        bool clean;
        image_fill(&put, 3, 1);
        image_save(&put, path);
        image_release(&put);
        assert_int_equal(db_open(&db, path, false, &clean, &err), 0);
        scan_start(&s, &db, TABLE_HISTORY, false);
        while (scan_next(&s))
                ;
        for (int i = 0; i < 3; i++)
                assert_false(scan_next(&s) || s.row || s.damaged);
        scan_end(&s);
        db_close(&db);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_round_trip),
                cmocka_unit_test(test_newer_rows_replace),
                cmocka_unit_test(test_keys),
                cmocka_unit_test(test_name_too_long),
                cmocka_unit_test(test_kill_once),
                cmocka_unit_test(test_doors_kept_or_gone),
                cmocka_unit_test(test_forget),
                cmocka_unit_test(test_forgetting_gives_space_back),
                cmocka_unit_test(test_recall),
                cmocka_unit_test(test_many_batches),
                cmocka_unit_test(test_second_owner),
                cmocka_unit_test(test_reader_beside_owner),
                cmocka_unit_test(test_inspect_ledger),
                cmocka_unit_test(test_inspect),
                cmocka_unit_test(test_looks_keep_no_owner_out),
                cmocka_unit_test(test_old_schemas),
                cmocka_unit_test(test_scan_ends),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
