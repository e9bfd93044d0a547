/* Annotation commands, and a person's hold, of somebody who annotates many Recommendations with long texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cache/cache.h"

enum { RECOMMENDATIONS = 80, LONG = 250 << 10, ROOM = 32 << 20 };

static struct published *annotated_in(struct cache *w, const char *ns, int number, const char *annotation, size_t bytes)
{
        AUTO(mem_free) char *text = mem_new(bytes + 1);
        memset(text, 'x', bytes);
        AUTO(mem_free) char *name = mem_printf("deployment-a%d", number);
        AUTO(mem_free)
        char *json = mem_printf("{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"annotations\":{\"%s\":\"%s\"}}}",
                                ns, name, annotation, text);
        AUTO(mem_free) char *key = mem_printf("%s/%s", ns, name);
        struct err err = {0};
        assert_int_equal(published_upsert(w, text_of(json), 1, &err), 0);
        return published_get(w, text_of(key));
}

static struct published *annotated(struct cache *w, int number, const char *annotation, size_t bytes)
{
        return annotated_in(w, "shop", number, annotation, bytes);
}

static bool is_refused(const struct annotation_command *c)
{
        return c->answer && strncmp(c->answer, "refused: ", 9) == 0;
}

static void test_waiting_commands_have_room(void **state)
{
        (void)state;
        struct cache w;
        size_t kept = 0;
        int refused = 0;
        cache_init(&w, "halflife", NULL);
        for (int i = 0; i < RECOMMENDATIONS; i++) {
                const struct annotation_command *c = annotated(&w, i, ANNOTATION_IMPORT, LONG)->command[COMMAND_IMPORT];
                kept += c->asks ? strlen(c->asks) : 0;
                refused += is_refused(c);
        }
        assert_int_equal(refused, RECOMMENDATIONS - ROOM / 2 / LONG);
        assert_in_range(kept, ROOM / 2 - LONG, ROOM / 2);
        assert_int_equal(ns_find(&w, "shop")->command_bytes, kept);
        assert_null(annotated(&w, 0, "other", 1)->command[COMMAND_IMPORT]); /* one is done, so there is room again */
        assert_null(annotated(&w, RECOMMENDATIONS, ANNOTATION_IMPORT, LONG)->command[COMMAND_IMPORT]->answer);
        cache_release(&w);
}

static void test_a_namespace_leaves_room_to_others(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", NULL);
        for (int i = 0; i < RECOMMENDATIONS; i++)
                annotated_in(&w, "greedy", i, ANNOTATION_IMPORT, LONG);
        for (int i = 0; i < ROOM / 4 / LONG; i++)
                assert_false(is_refused(annotated(&w, i, ANNOTATION_IMPORT, LONG)->command[COMMAND_IMPORT]));
        for (int i = 0; i < RECOMMENDATIONS; i++)
                annotated_in(&w, "greedy", i, "other", 1);
        assert_int_equal(ns_find(&w, "greedy")->command_bytes, 0);
        namespaces_sweep(&w);
        assert_null(map_get(&w.namespaces, TEXT("greedy")));
        assert_non_null(map_get(&w.namespaces, TEXT("shop"))); /* its commands count to it */
        cache_release(&w);
}

/* An answer that is being written stays, whatever the watch repeats. */
static void test_a_repeated_command_changes_nothing(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", NULL);
        for (int i = 0; i < RECOMMENDATIONS; i++) {
                const struct annotation_command *was =
                        annotated(&w, i, ANNOTATION_IMPORT, LONG)->command[COMMAND_IMPORT];
                assert_ptr_equal(annotated(&w, i, ANNOTATION_IMPORT, LONG)->command[COMMAND_IMPORT], was);
        }
        assert_true(is_refused(annotated(&w, RECOMMENDATIONS - 1, ANNOTATION_IMPORT, LONG)->command[COMMAND_IMPORT]));
        assert_false(is_refused(annotated(&w, RECOMMENDATIONS - 1, ANNOTATION_IMPORT, 1)->command[COMMAND_IMPORT]));
        cache_release(&w);
}

static void test_a_reason_to_hold_is_short(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", NULL);
        assert_int_equal(strlen(annotated(&w, 0, ANNOTATION_HOLD, 100)->hold), 100);
        assert_int_equal(strlen(annotated(&w, 0, ANNOTATION_HOLD, LONG)->hold), 1024);
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_waiting_commands_have_room),
                cmocka_unit_test(test_a_namespace_leaves_room_to_others),
                cmocka_unit_test(test_a_repeated_command_changes_nothing),
                cmocka_unit_test(test_a_reason_to_hold_is_short),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
