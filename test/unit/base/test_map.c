#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/mem.h"

enum { KEYS = 100000 };

struct entry {
        char name[24];
        bool held, seen;
};

static struct entry *entries_new(void)
{
        struct entry *e = mem_new_array(KEYS, sizeof *e);
        for (int i = 0; i < KEYS; i++)
                snprintf(e[i].name, sizeof e[i].name, "pod-%d", i);
        return e;
}

static void assert_is_model(const struct map *m, struct entry *e, size_t held)
{
        assert_int_equal(m->count, held);
        for (int i = 0; i < KEYS; i++)
                if (map_get(m, text_of(e[i].name)) != (e[i].held ? &e[i] : NULL))
                        fail_msg("%s is %s", e[i].name, e[i].held ? "lost" : "there");
        size_t seen = 0, at = 0;
        struct text key;
        void *value;
        for (int i = 0; i < KEYS; i++)
                e[i].seen = false;
        while (map_next(m, &at, &key, &value)) {
                struct entry *entry = value;
                assert_true(text_is(key, entry->name));
                assert_true(entry->held && !entry->seen);
                entry->seen = true;
                seen++;
        }
        assert_int_equal(seen, held);
}

static void holds_what_a_plain_array_holds(void **state)
{
        (void)state;
        struct entry *e AUTO(mem_free) = entries_new();
        struct map m = {0};
        size_t held = 0;
        unsigned random = 7;
        for (int step = 0; step < 600000; step++) {
                random = random * 1664525 + 1013904223;
                struct entry *it = &e[(random >> 8) % KEYS];
                bool drop = step > 300000 ? random >> 30 : !(random >> 30); /* grows first, shrinks later */
                void *old = drop ? map_drop(&m, text_of(it->name)) : map_put(&m, text_of(it->name), it);
                assert_ptr_equal(old, it->held ? it : NULL);
                held += (size_t)(!drop && !it->held);
                held -= drop && it->held;
                it->held = !drop;
                if (step % 150000 == 0)
                        assert_is_model(&m, e, held);
        }
        assert_is_model(&m, e, held);
        map_release(&m);
        assert_null(map_get(&m, TEXT("pod-1")));
}

/* Every subset of drops while walking: all others are seen exactly once, whatever the seed made of the order. */
static void drops_while_walking(void **state)
{
        (void)state;
        struct entry *e AUTO(mem_free) = entries_new();
        for (unsigned every = 1; every < 6; every++) {
                for (int count = 1; count < 400; count += 7) {
                        struct map m = {0};
                        for (int i = 0; i < count; i++) {
                                e[i].seen = false;
                                map_put(&m, text_of(e[i].name), &e[i]);
                        }
                        size_t at = 0;
                        unsigned seen = 0;
                        struct text key;
                        void *value;
                        while (map_next(&m, &at, &key, &value)) {
                                struct entry *entry = value;
                                assert_false(entry->seen);
                                entry->seen = true;
                                if (++seen % every == 0)
                                        assert_ptr_equal(map_drop(&m, key), value);
                        }
                        assert_int_equal(seen, count);
                        assert_int_equal(m.count, (unsigned)count - (unsigned)count / every);
                        map_release(&m);
                }
        }
}

static void an_empty_map_answers(void **state)
{
        (void)state;
        struct map m = {0};
        size_t at = 0;
        struct text key;
        void *value;
        assert_null(map_get(&m, TEXT("x")));
        assert_null(map_drop(&m, TEXT("x")));
        assert_false(map_next(&m, &at, &key, &value));
        assert_null(map_put(&m, TEXT(""), &m));
        assert_ptr_equal(map_get(&m, (struct text){NULL, 0}), &m);
        map_release(&m);
        map_release(&m);
}

/* Bits of the hash are as good as coins: each bit of the key changes about half of them. */
static void hash_spreads(void **state)
{
        (void)state;
        char key[20] = "namespace/pod-12345";
        for (size_t len = 1; len <= sizeof key; len++) {
                uint64_t base = map_hash((struct text){key, len});
                int flipped = 0;
                for (size_t bit = 0; bit < len * 8; bit++) {
                        key[bit / 8] = (char)(key[bit / 8] ^ 1 << bit % 8);
                        flipped += __builtin_popcountll(base ^ map_hash((struct text){key, len}));
                        key[bit / 8] = (char)(key[bit / 8] ^ 1 << bit % 8);
                }
                int mean = flipped / (int)(len * 8);
                if (mean < 22 || mean > 42)
                        fail_msg("length %zu: %d bits of 64", len, mean);
        }
        assert_true(map_hash((struct text){"\0\0", 1}) != map_hash((struct text){"\0\0", 2}));
}

static void interned_strings_are_counted(void **state)
{
        (void)state;
        struct intern *in = intern_new();
        const char *a = intern_text(in, TEXT("default")), *b = intern_text(in, (struct text){"default-x", 7});
        assert_ptr_equal(a, b);
        assert_string_equal(a, "default");
        intern_drop(in, a);
        assert_ptr_equal(intern_keep(b), b);
        intern_drop(in, b);
        assert_ptr_equal(intern_text(in, TEXT("default")), b); /* held still */
        intern_drop(in, b);
        assert_string_equal(b, "default");
        intern_drop(in, b);
        intern_drop(in, NULL);
        const char *nul = intern_text(in, (struct text){"a\0b", 3}), *plain = intern_text(in, TEXT("a"));
        assert_ptr_not_equal(nul, plain);
        intern_drop(in, nul);
        assert_ptr_equal(intern_text(in, TEXT("a")), plain);
        for (int i = 0; i < 1000; i++) {
                char name[16];
                snprintf(name, sizeof name, "n%d", i % 100);
                intern_text(in, text_of(name));
        }
        intern_free(in);
        intern_free(NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(holds_what_a_plain_array_holds), cmocka_unit_test(drops_while_walking),
                cmocka_unit_test(an_empty_map_answers),           cmocka_unit_test(hash_spreads),
                cmocka_unit_test(interned_strings_are_counted),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
