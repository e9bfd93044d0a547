#include "objects/annotation_record.h"

#include "decode_help.h"

struct record_reader {
        struct buf *got;
        int refuse_after;
};

static int say_recorded(void *arg, const struct recorded *r)
{
        struct record_reader *reader = arg;
        say(reader->got, "%.*s", TEXT_ARG(r->container));
        say_amounts(reader->got, "request", r->request);
        say_amounts(reader->got, "limit", r->limit);
        say(reader->got, ";");
        return reader->refuse_after-- == 0 ? ERR_TOOBIG : 0;
}

static void records_are_read_as_the_table_says(void **state)
{
        (void)state;
        static const struct {
                const char *in, *want;
                int refuse_after;
        } row[] = {
                {"{}", "", -1},
                {"{\"app\":{\"requests\":{\"cpu\":\"2\"},\"limits\":{\"memory\":\"1Gi\"}},\"log\":{}}",
                 "app request.cpu=2000 limit.memory=1073741824;log;", -1},
                {"{\"app\":null}", "app;", -1},
                {"", "!recorded resources are not a JSON object", -1},
                {"null", "!recorded resources are not a JSON object", -1},
                {"[]", "!recorded resources are not a JSON object", -1},
                {"{\"app\":{\"requests\":{\"cpu\":\"two\"}}}", "!recorded resources: requests 'two'", -1},
                {"{\"app\":{}} and more", "!recorded resources: ", -1},
                {"{\"app\":7}", "!recorded resources: ", -1},
                {"{\"a\":{},\"b\":{},\"c\":{}}", "!the caller refused them", 1},
        };
        struct arena a = {0};
        struct buf got;
        buf_init(&got, 4096);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                buf_reset(&got);
                say(&got, "%s", "");
                struct record_reader reader = {&got, row[i].refuse_after};
                int rc = record_read(text_of(row[i].in), &a, say_recorded, &reader, &err);
                expect(row[i].in, row[i].want, rc, &err, &got);
        }
        buf_release(&got);
        arena_release(&a);
}

/* What is printed is read back as it was, whatever the container's name. */
static int read_back(void *arg, const struct recorded *r)
{
        const struct recorded **next = arg, *want = (*next)++;
        assert_memory_equal(r->request, want->request, sizeof want->request);
        assert_memory_equal(r->limit, want->limit, sizeof want->limit);
        return 0;
}

static void records_are_printed(void **state)
{
        (void)state;
        static const struct recorded row[] = {
                {.container = TEXT("app"),
                 .request = {{true, 2000}, {true, INT64_C(4096) << 20}},
                 .limit = {{true, 2500}}},
                {.container = TEXT("none")},
                {.container = TEXT("odd\"\n"), .request = {{true, 1}}},
                {.container = TEXT("log"), .limit = {[MEMORY] = {true, 1500}}},
        };
        const struct recorded *next = row;
        struct arena a = {0};
        AUTO(mem_free) char *text = record_print(row, 4);
        assert_string_equal(text,
                            "{\"app\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"4Gi\"},\"limits\":{\"cpu\":\"2500m\"}},"
                            "\"none\":{},\"odd\\u0022\\u000a\":{\"requests\":{\"cpu\":\"1m\"}},"
                            "\"log\":{\"limits\":{\"memory\":\"1500\"}}}");
        assert_int_equal(record_read(text_of(text), &a, read_back, &next, NULL), 0);
        assert_ptr_equal(next, row + 4);
        assert_null(record_print(row, 0));
        arena_release(&a);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(records_are_read_as_the_table_says),
                cmocka_unit_test(records_are_printed),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
