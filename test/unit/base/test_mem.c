#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/wiped.h"
#include "base/buf.h"
#include "base/mem.h"

static void strings(void **state)
{
        (void)state;
        char *s AUTO(mem_free) = mem_string("abc");
        assert_string_equal(s, "abc");
        assert_null(mem_string(NULL));
        char *n AUTO(mem_free) = mem_string_n("abcdef", 2);
        assert_string_equal(n, "ab");
        char *empty AUTO(mem_free) = mem_string_n(NULL, 0);
        assert_string_equal(empty, "");
        char *f AUTO(mem_free) = mem_printf("%d-%s", 7, "x");
        assert_string_equal(f, "7-x");
        char *stolen = STEAL(&f);
        assert_null(f);
        mem_free(stolen);
}

static void resizing_to_nothing_frees(void **state)
{
        (void)state;
        int *p = mem_new_array(4, sizeof *p);
        assert_int_equal(p[3], 0);
        p[0] = 42;
        p = mem_resize(p, 1000, sizeof *p);
        assert_int_equal(p[0], 42);
        p = mem_resize(p, 0, sizeof *p);
        assert_null(p);
        p = mem_resize(NULL, 3, sizeof *p);
        mem_free(p);
}

/* Of a secret, all is overwritten: of a text to its end, of a buffer also what it held before it was emptied. */
static void secrets_are_wiped(void **state)
{
        struct buf b;
        (void)state;
        wiped.what = "secret";
        mem_wipe(NULL);
        mem_wipe_n(NULL, 3);
        assert_int_equal(wiped.count, 0);
        mem_wipe(mem_string("a secret"));
        assert_int_equal(wiped.len, strlen("a secret"));
        assert_int_equal(wiped.holding_it, 1);
        mem_wipe_n(mem_string_n("a\0secret", 8), 8);
        assert_int_equal(wiped.holding_it, 2);
        {
                AUTO(mem_wipe) char *scope = mem_string("secret");
                AUTO(mem_wipe) char *none = mem_string(NULL);
                assert_non_null(scope);
                assert_null(none);
        }
        assert_int_equal(wiped.holding_it, 3);
        buf_init(&b, 100);
        buf_wipe(&b);
        assert_int_equal(wiped.count, 3);
        buf_add_text(&b, "xx secret");
        buf_reset(&b);
        buf_add_text(&b, "y");
        buf_wipe(&b);
        assert_int_equal(wiped.holding_it, 4);
        assert_null(b.data);
        assert_int_equal(b.max, 100);
}

/* In a child: the signal it ended by. */
static int signal_of(void (*act)(void))
{
        pid_t pid = fork();
        if (pid == 0) {
                struct rlimit none = {0, 0};
                setrlimit(RLIMIT_CORE, &none);
                signal(SIGABRT, SIG_DFL); /* the sanitizers' own and cmocka's handlers aside */
                close(STDERR_FILENO);
                act();
                _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void too_many(void)
{
        mem_free(mem_new_array(SIZE_MAX / 2, 4));
}

static void resize_too_many(void)
{
        mem_free(mem_resize(NULL, SIZE_MAX / 2, 4));
}

static void overflow_aborts(void **state)
{
        (void)state;
        assert_int_equal(signal_of(too_many), SIGABRT);
        assert_int_equal(signal_of(resize_too_many), SIGABRT);
}

static bool all_zero(const char *p, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (p[i])
                        return false;
        return true;
}

/* Blocks of many sizes are aligned, zeroed, apart from each other and stay as they were written, cycle after cycle. */
static void arena_blocks_stand_apart(void **state)
{
        (void)state;
        struct arena a = {0};
        enum { COUNT = 400 };
        char *block[COUNT];
        for (int cycle = 0; cycle < 5; cycle++) {
                size_t used = 0;
                for (size_t i = 0; i < COUNT; i++) {
                        size_t size = i * 37 % 1500 + (i == 200 ? 500000 : 0);
                        block[i] = arena_new(&a, size);
                        assert_int_equal((uintptr_t)block[i] % _Alignof(max_align_t), 0);
                        assert_true(all_zero(block[i], size));
                        memset(block[i], (int)(i % 255 + 1), size);
                        used += size;
                        const char *t = arena_text(&a, TEXT("between"));
                        assert_string_equal(t, "between");
                        used += sizeof "between";
                }
                assert_int_equal(a.used, used);
                for (size_t i = 0; i < COUNT; i++)
                        for (size_t k = 0; k < i * 37 % 1500; k++)
                                if (block[i][k] != (char)(i % 255 + 1))
                                        fail_msg("cycle %d, block %zu, byte %zu", cycle, i, k);
                arena_reset(&a);
                assert_int_equal(a.used, 0);
        }
        arena_release(&a);
        arena_release(&a);
        assert_null(a.block);
}

/* The second cycle's memory is the first one's. */
static void arena_keeps_its_memory(void **state)
{
        (void)state;
        struct arena a = {0};
        for (int i = 0; i < 1000; i++)
                arena_new(&a, 1000);
        arena_reset(&a);
        const struct arena_block *block = a.block;
        for (int cycle = 0; cycle < 3; cycle++) {
                for (int i = 0; i < 1000; i++)
                        arena_new(&a, 1000);
                assert_ptr_equal(a.block, block);
                arena_reset(&a);
        }
        arena_release(&a);
}

static void slab_rounds_little(void **state)
{
        (void)state;
        assert_int_equal(slab_round(0), 16);
        for (size_t size = 1; size <= 5000; size++) {
                size_t round = slab_round(size);
                if (round < size || (size <= 256 ? round >= size + 16 : round > size * 6 / 5 + 16) ||
                    slab_round(round) != round)
                        fail_msg("%zu rounds to %zu", size, round);
        }
}

/* Random takes and gives against what was written into each block. */
static void slab_blocks_stand_apart(void **state)
{
        (void)state;
        struct slab *s = slab_new();
        enum { HELD = 300 };
        struct {
                unsigned char *p, mark;
                size_t size;
        } held[HELD] = {0};
        unsigned random = 1;
        for (int step = 0; step < 60000; step++) {
                random = random * 1103515245 + 12345;
                size_t i = (random >> 16) % HELD;
                if (held[i].p) {
                        for (size_t k = 0; k < held[i].size; k++)
                                assert_int_equal(held[i].p[k], held[i].mark);
                        slab_give(s, held[i].p, held[i].size);
                        held[i].p = NULL;
                        continue;
                }
                held[i].size = (random >> 8) % (step % 10 ? 400 : 9000);
                held[i].mark = (unsigned char)step;
                held[i].p = slab_take(s, held[i].size);
                assert_int_equal((uintptr_t)held[i].p % 16, 0);
                memset(held[i].p, held[i].mark, held[i].size);
        }
        slab_give(s, NULL, 100);
        assert_true(slab_bytes(s) > 0 && slab_bytes(s) < 20u << 20);
        slab_free(s);
        slab_free(NULL);
}

/* Taking and giving for ever holds no more than at first. */
static void slab_reuses(void **state)
{
        (void)state;
        struct slab *s = slab_new();
        size_t first = 0;
        for (int cycle = 0; cycle < 100; cycle++) {
                void *p[64];
                for (size_t i = 0; i < 64; i++)
                        p[i] = slab_take(s, i * 100);
                if (cycle == 0)
                        first = slab_bytes(s);
                assert_int_equal(slab_bytes(s), first);
                for (size_t i = 0; i < 64; i++)
                        slab_give(s, p[i], i * 100);
        }
        slab_free(s);
}

/* What is written to is in memory. */
static void what_is_resident(void **state)
{
        enum { BIG = 64 << 20 };
        (void)state;
        size_t before = mem_resident();
        char *p AUTO(mem_free) = mem_new(BIG);
        assert_true(before > 0);
        memset(p, 1, BIG);
        assert_in_range(mem_resident(), before + BIG / 2, before + 8 * (size_t)BIG);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(strings),
                cmocka_unit_test(resizing_to_nothing_frees),
                cmocka_unit_test(secrets_are_wiped),
                cmocka_unit_test(overflow_aborts),
                cmocka_unit_test(arena_blocks_stand_apart),
                cmocka_unit_test(arena_keeps_its_memory),
                cmocka_unit_test(slab_rounds_little),
                cmocka_unit_test(slab_blocks_stand_apart),
                cmocka_unit_test(slab_reuses),
                cmocka_unit_test(what_is_resident),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
