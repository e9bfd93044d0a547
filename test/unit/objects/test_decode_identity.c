#include "decode_help.h"

/* --- identity ----------------------------------------------------------------------------------------------- */

static void uids_become_sixteen_bytes(void **state)
{
        (void)state;
        static const struct {
                const char *in, *want; /* want NULL: a hash */
        } row[] = {
                {"01234567-89ab-cdef-0123-456789ABCDEF", "0123456789abcdef0123456789abcdef"},
                {"ffffffff-ffff-ffff-ffff-ffffffffffff", "ffffffffffffffffffffffffffffffff"},
                {"00000000-0000-0000-0000-000000000000", NULL},
                {"01234567-89ab-cdef-0123-456789abcde", NULL},
                {"01234567-89ab-cdef-0123-456789abcdefa", NULL},
                {"01234567089ab-cdef-0123-456789abcdef", NULL},
                {"0123456-789ab-cdef-0123-456789abcdef", NULL},
                {"01234567-89ab-cdef-0123-456789abcdeg", NULL},
                {"", NULL},
                {"a", NULL},
        };
        uint8_t seen[sizeof row / sizeof *row][UID_BYTES];
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                char got[2 * UID_BYTES + 1];
                uid_bytes(text_of(row[i].in), seen[i]);
                for (int k = 0; k < UID_BYTES; k++)
                        snprintf(got + 2 * k, 3, "%02x", seen[i][k]);
                if (row[i].want ? strcmp(got, row[i].want) != 0 : strspn(got, "0") == sizeof got - 1)
                        fail_msg("'%s' became %s", row[i].in, got);
                for (size_t k = 0; k < i; k++)
                        if (memcmp(seen[i], seen[k], UID_BYTES) == 0)
                                fail_msg("'%s' and '%s' are one", row[i].in, row[k].in);
        }
        uint8_t again[UID_BYTES]; /* written down, so the same in every version for ever */
        static const uint8_t of_a[UID_BYTES] = {0x8c, 0xec, 0x01, 0x86, 0x4c, 0xdc, 0x63, 0xaf,
                                                0xff, 0xf5, 0x3f, 0x8d, 0x39, 0x3e, 0x9e, 0x78};
        uid_bytes(TEXT("a"), again);
        assert_memory_equal(again, of_a, UID_BYTES);
}

/* --- what we wrote down -------------------------------------------------------------------------------------- */

/* --- watches and lists ---------------------------------------------------------------------------------------- */

static void events_are_read_as_the_table_says(void **state)
{
        (void)state;
        static const char *const name[] = {"added", "modified", "deleted", "bookmark", "error"};
        static const struct {
                const char *in, *want;
        } row[] = {
                {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"7\"}}}",
                 "added version=7 object={\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"7\"}}"},
                {"{\"object\":{\"metadata\":{\"resourceVersion\":\"x\"}},\"type\":\"MODIFIED\"}",
                 "modified version=x object={\"metadata\":{\"resourceVersion\":\"x\"}}"},
                {"{\"type\":\"DELETED\",\"object\":{}}", "deleted object={}"},
                {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\",\"annotations\":{"
                 "\"k8s.io/initial-events-end\":\"true\"}}}}",
                 "bookmark version=9 end"},
                {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\",\"annotations\":{"
                 "\"k8s.io/initial-events-end\":\"false\",\"a\":\"b\"}}}}",
                 "bookmark version=9"},
                /* an object of ours cannot pretend to be the end */
                {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"annotations\":{\"k8s.io/"
                 "initial-events-end\":\"true\"}}}}",
                 "added object={\"metadata\":{\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}"},
                {"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":"
                 "\"too old\","
                 "\"metadata\":{}}}",
                 "error 410 Expired: too old"},
                {"{\"type\":\"GONE\",\"object\":{}}", "!unknown type 'GONE'"},
                {"{\"object\":{}}", "!unknown type ''"},
                {"{\"type\":\"ADDED\"}", "!without an object"},
                {"{\"type\":\"ADDED\",\"object\":null}", "!without an object"},
                {"{\"type\":\"ADDED\",\"object\":{\"metadata\":7}}", "!watch event"},
                {"{\"type\":\"ADDED\",\"object\":{\"a\":\"\xff\"}}", "!watch event"},
                {"7", "!watch event"},
        };
        struct arena a = {0};
        struct buf got;
        buf_init(&got, 4096);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                struct watch_event e;
                buf_reset(&got);
                int rc = decode_watch_event(text_of(row[i].in), &a, &e, &err);
                if (rc == 0) {
                        say(&got, "%s", name[e.type]);
                        say_text(&got, "version", e.version);
                        if (e.type == WATCH_ERROR)
                                say(&got, " %lld %.*s: %.*s", (long long)e.code, TEXT_ARG(e.reason), TEXT_ARG(e.text));
                        else if (e.type == WATCH_BOOKMARK)
                                say(&got, "%s", e.initial_end ? " end" : "");
                        else
                                say_text(&got, "object", e.object);
                }
                expect(row[i].in, row[i].want, rc, &err, &got);
        }
        buf_release(&got);
        arena_release(&a);
}

static void lists_tell_version_and_token(void **state)
{
        (void)state;
        static const struct {
                const char *in, *version, *next;
                int rc;
        } row[] = {
                {"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}", "7", "", 0},
                {"{\"metadata\":{\"continue\":\"abc\",\"remainingItemCount\":4,\"resourceVersion\":\"7\"}}", "7", "abc",
                 0},
                {"{\"metadata\":{},\"items\":null}", "", "", 0},
                {"{\"metadata\":null}", "", "", 0},
                {"{}", "", "", 0},
                {"{\"metadata\":[]}", "", "", ERR_INVALID},
                {"{\"metadata\":{\"resourceVersion\":7}}", "", "", ERR_INVALID},
        };
        struct arena a = {0};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct list_view list;
                int rc = decode_list(text_of(row[i].in), &a, &list, NULL);
                if (rc != row[i].rc ||
                    (rc == 0 && (!text_is(list.version, row[i].version) || !text_is(list.next, row[i].next))))
                        fail_msg("%s gave %d '%.*s' '%.*s'", row[i].in, rc, TEXT_ARG(list.version),
                                 TEXT_ARG(list.next));
        }
        arena_release(&a);
}

static void metadata_alone_is_read(void **state)
{
        (void)state;
        struct arena a = {0};
        struct object_view m;
        struct buf got;
        buf_init(&got, 4096);
        struct text in =
                TEXT("{\"spec\":{\"name\":\"no\"},\"metadata\":{\"name\":\"ns\",\"uid\":\"u\",\"annotations\":{"
                     "\"halflife.dev/apply\":\"Never\"}}}");
        assert_int_equal(decode_object(in, &a, &m, NULL), 0);
        say_meta(&got, &m);
        assert_string_equal(got.data, "/ns uid=u annotations: apply=Never");
        buf_release(&got);
        arena_release(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(uids_become_sixteen_bytes),
                cmocka_unit_test(events_are_read_as_the_table_says),
                cmocka_unit_test(lists_tell_version_and_token),
                cmocka_unit_test(metadata_alone_is_read),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
