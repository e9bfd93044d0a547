/* The log of changes: bounds, what the database gets, and what a start reads back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/store_image.h"
#include "../../support/tmp.h"
#include "cache/change_log.h"

static const int64_t NOON = INT64_C(20000) * DAY_MS;

static void open_cache(struct cache *w)
{
        cache_init(w, "halflife", "halflife-system");
}

static struct target *target(struct cache *w)
{
        return target_get(w, TEXT("shop"), TEXT("apps"), TEXT("Deployment"), TEXT("web"));
}

static void log_one(struct cache *w, int64_t at_ms, int64_t to)
{
        const struct change c = {.kind = CHANGE_APPLIED,
                                 .container = "app",
                                 .resource = MEMORY,
                                 .from = 4096,
                                 .to = to,
                                 .by = CHANGE_BY_HALFLIFE,
                                 .reason = "Lowered"};
        change_log_add(w, target(w), (struct wall){at_ms}, &c);
}

/* A kept table does not change, and one is made for all until something is logged. */
static void test_table(void **state)
{
        struct cache w;
        (void)state;
        open_cache(&w);
        struct change_table *none = change_log_table(&w, (struct wall){NOON});
        assert_int_equal(none->rows, 0);
        log_one(&w, NOON, 7);
        change_log_add(&w, target(&w), (struct wall){NOON + 1},
                       &(struct change){.kind = CHANGE_GUARDED, .words = "it was killed"});
        struct change_table *two = change_log_table(&w, (struct wall){NOON + 1});
        struct change_table *same = change_log_table(&w, (struct wall){NOON + 1});
        assert_ptr_equal(two, same);
        assert_int_equal(none->rows, 0);
        assert_int_equal(two->rows, 2);
        const struct change *first = &two->row[0], *second = &two->row[1];
        assert_int_equal(first->id, 1);
        assert_int_equal(first->to, 7);
        assert_string_equal(first->container, "app");
        assert_string_equal(first->name, "web");
        assert_string_equal(first->mode, "");
        assert_int_equal(second->id, 2);
        assert_string_equal(second->words, "it was killed");
        assert_string_equal(second->container, "");
        change_table_drop(none);
        change_table_drop(same);
        cache_release(&w); /* a table that is read lives on */
        assert_string_equal(first->reason, "Lowered");
        change_table_drop(two);
}

static void test_bounds(void **state)
{
        struct cache w;
        char words[2048];
        (void)state;
        open_cache(&w);
        memset(words, 'x', sizeof words - 1);
        words[sizeof words - 1] = '\0';
        for (int i = 0; i < CHANGES_MOST + 5; i++)
                log_one(&w, NOON + i, i);
        change_log_add(&w, target(&w), (struct wall){NOON + CHANGES_MOST + 5},
                       &(struct change){.kind = CHANGE_CONTESTED, .words = words});
        struct change_table *t = change_log_table(&w, (struct wall){NOON + CHANGES_MOST + 5});
        assert_int_equal(t->rows, CHANGES_MOST);
        assert_int_equal(t->row[0].id, 7);
        assert_int_equal(t->row[CHANGES_MOST - 1].id, CHANGES_MOST + 6);
        assert_in_range(strlen(t->row[CHANGES_MOST - 1].words), 1, 512);
        change_table_drop(t);
        t = change_log_table(&w, (struct wall){NOON + CHANGES_KEPT_MS + CHANGES_MOST});
        assert_int_equal(t->rows, 6); /* the others are older than 35 days */
        change_table_drop(t);
        cache_release(&w);
}

static void take(void *arg, int64_t id, struct wall at, struct text record)
{
        change_log_load(arg, id, at, record);
}

static void write_log(struct cache *w, struct store *s, int64_t now_ms)
{
        struct store_batch *b = store_batch_new();
        change_log_write(w, b, (struct wall){now_ms});
        store_submit(s, b);
}

static void load_log(struct cache *w, const char *path)
{
        struct err err;
        int refused;
        struct image i;
        struct store *s = image_open(path);
        image_load_from(&i, s);
        image_release(&i);
        open_cache(w);
        assert_int_equal(store_load_changes(s, take, w, &refused, &err), 0);
        assert_int_equal(refused, 0);
        image_close(s);
}

static void test_database(void **state)
{
        struct cache w, read;
        (void)state;
        char *path AUTO(mem_free) = mem_printf("%s/changes.db", tmp_dir());
        image_remove(path);
        struct store *s = image_open(path);
        open_cache(&w);
        for (int i = 0; i < 3; i++) {
                log_one(&w, NOON + i, i);
                write_log(&w, s, NOON + i); /* only the new one */
        }
        change_log_add(&w, target(&w), (struct wall){NOON + 3},
                       &(struct change){.kind = CHANGE_CONTESTED, .by = "argocd"});
        write_log(&w, s, NOON + CHANGES_KEPT_MS + 2); /* the first two are too old by now */
        image_close(s);
        cache_release(&w);

        load_log(&read, path);
        struct change_table *t = change_log_table(&read, (struct wall){NOON + 3});
        assert_int_equal(t->rows, 2);
        assert_int_equal(t->row[0].id, 3);
        assert_int_equal(t->row[0].at_ms, NOON + 2);
        assert_int_equal(t->row[0].resource, MEMORY);
        assert_int_equal(t->row[0].from, 4096);
        assert_int_equal(t->row[0].to, 2);
        assert_string_equal(t->row[0].object_kind, "Deployment");
        assert_string_equal(t->row[1].by, "argocd");
        assert_int_equal(t->row[1].kind, CHANGE_CONTESTED);
        change_table_drop(t);
        log_one(&read, NOON + 9, 9); /* the ids go on */
        t = change_log_table(&read, (struct wall){NOON + 9});
        assert_int_equal(t->row[2].id, 5);
        change_table_drop(t);
        cache_release(&read);
}

/* What others wrote into the database is no reason to end. */
static void test_damaged_records(void **state)
{
        static const char *const record[] = {"",
                                             "[]",
                                             "{",
                                             "{\"kind\":\"Applied\"}",
                                             "{\"kind\":\"Sold\",\"ns\":\"a\"}",
                                             "{\"kind\":\"Applied\",\"ns\":\"a\",\"name\":7}"};
        struct cache w;
        (void)state;
        open_cache(&w);
        for (size_t i = 0; i < sizeof record / sizeof record[0]; i++)
                change_log_load(&w, (int64_t)i + 1, (struct wall){NOON}, text_of(record[i]));
        change_log_load(&w, 3, (struct wall){NOON}, TEXT("{\"kind\":\"Applied\",\"ns\":\"a\",\"name\":\"b\"}"));
        struct change_table *t = change_log_table(&w, (struct wall){NOON});
        assert_int_equal(t->rows, 0);
        change_table_drop(t);
        log_one(&w, NOON, 1);
        t = change_log_table(&w, (struct wall){NOON});
        assert_int_equal(t->row[0].id, 7);
        change_table_drop(t);
        cache_release(&w);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table),
                cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_database),
                cmocka_unit_test(test_damaged_records),
        };
        return cmocka_run_group_tests_name("change_log", tests, NULL, NULL);
}
