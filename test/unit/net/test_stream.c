#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/stream.h"

/* What a stream hands over, one value a line, and how it ended. */
struct seen {
        struct buf values;
        int count, stop_at; /* stop_at: the value whose reader says ERR_GONE, 0: none */
};

static int see(void *arg, struct text value)
{
        struct seen *s = arg;
        assert_int_equal(buf_add(&s->values, value.p, value.len), 0);
        assert_int_equal(buf_add(&s->values, "\n", 1), 0);
        return ++s->count == s->stop_at ? ERR_GONE : 0;
}

/* Feed in chunks, ended at each of cut (ascending, 0 for none); the code of the first failure, or of the end. */
static int run(enum stream_shape shape, struct text in, size_t cut1, size_t cut2, size_t item_max, struct seen *seen,
               struct buf *envelope)
{
        struct stream s;
        struct err err = {0};
        size_t edge[] = {cut1, cut2, in.len}, from = 0;
        int rc = 0;
        buf_init(&seen->values, 1 << 22);
        stream_init(&s, shape, item_max, 1 << 22, see, seen);
        for (int i = 0; i < 3 && rc == 0; i++) {
                /* each chunk in memory of its own, so that a read beyond it is seen */
                size_t len = edge[i] > from ? edge[i] - from : 0;
                char *chunk = mem_new(len + !len);
                memcpy(chunk, in.p + from, len);
                rc = stream_feed(&s, chunk, len, &err);
                mem_free(chunk);
                from += len;
        }
        if (rc == 0)
                rc = stream_end(&s, &err);
        else
                assert_int_equal(stream_feed(&s, "{}", 2, &err), rc);
        assert_int_equal(rc, err.code);
        if (envelope) {
                buf_init(envelope, 1 << 22);
                assert_int_equal(buf_add(envelope, stream_envelope(&s).p, stream_envelope(&s).len), 0);
        }
        stream_release(&s);
        return rc;
}

static const struct {
        enum stream_shape shape;
        const char *in, *values, *envelope;
        int code;
} row[] = {
        /* watches */
        {STREAM_WATCH, "", "", "", 0},
        {STREAM_WATCH, " \n\t\r", "", "", 0},
        {STREAM_WATCH, "{}", "{}\n", "", 0},
        {STREAM_WATCH, "{\"a\":1}\n{\"b\":[{},[]]}\n", "{\"a\":1}\n{\"b\":[{},[]]}\n", "", 0},
        {STREAM_WATCH, "{}{}", "{}\n{}\n", "", 0},
        {STREAM_WATCH, "{\"a\":\"}{][\\\"}\"}", "{\"a\":\"}{][\\\"}\"}\n", "", 0},
        {STREAM_WATCH, "{\"a\":\"x\\\\\"} {\"b\":\"\\\\\\\"}\"}", "{\"a\":\"x\\\\\"}\n{\"b\":\"\\\\\\\"}\"}\n", "", 0},
        {STREAM_WATCH, "{\"k\":\"caf\xc3\xa9 \xf0\x9f\x90\x8b \\u00e9\\ud83d\\udc0b\"}\n",
         "{\"k\":\"caf\xc3\xa9 \xf0\x9f\x90\x8b \\u00e9\\ud83d\\udc0b\"}\n", "", 0},
        {STREAM_WATCH, "{\"long\":\"0123456789abcdef0123456789abcdef0123456789\\nabcdef\",\"n\":-1.5e+10}\n",
         "{\"long\":\"0123456789abcdef0123456789abcdef0123456789\\nabcdef\",\"n\":-1.5e+10}\n", "", 0},
        {STREAM_WATCH, "{\"a\":1", "", "", ERR_RETRY},
        {STREAM_WATCH, "{}{\"a", "{}\n", "", ERR_RETRY},
        {STREAM_WATCH, "{}x", "{}\n", "", ERR_INVALID},
        {STREAM_WATCH, "[1]", "", "", ERR_INVALID},
        {STREAM_WATCH, "too many requests", "", "", ERR_INVALID},
        {STREAM_WATCH, "{}\x01", "{}\n", "", ERR_INVALID},
        /* lists */
        {STREAM_LIST, "{\"items\":[]}", "", "{\"items\":[]}", 0},
        {STREAM_LIST, "{\"items\":null}", "", "{\"items\":null}", 0},
        {STREAM_LIST,
         "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\",\"items\":[{}]},\"items\":[{\"a\":1},{\"b\":[2]"
         "}]}\n",
         "{\"a\":1}\n{\"b\":[2]}\n",
         "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\",\"items\":[{}]},\"items\":[]}", 0},
        {STREAM_LIST, "{ \"items\" : [ { } , { } ] , \"metadata\" : { \"continue\" : \"x\" } }", "{ }\n{ }\n",
         "{\"items\":[],\"metadata\":{ \"continue\" : \"x\" }}", 0},
        {STREAM_LIST, "{\"n\":12,\"t\":true,\"z\":null,\"s\":\"a\\\"b\",\"e\":[1,[2]],\"items\":[{}]}", "{}\n",
         "{\"n\":12,\"t\":true,\"z\":null,\"s\":\"a\\\"b\",\"e\":[1,[2]],\"items\":[]}", 0},
        {STREAM_LIST, "{\"itemsmore\":[{}],\"item\":[{}],\"it\\u0065ms\":[{}],\"items\":[]}", "",
         "{\"itemsmore\":[{}],\"item\":[{}],\"it\\u0065ms\":[{}],\"items\":[]}", 0},
        {STREAM_LIST, "{\"itemsmore\":[{}],\"item\":[{}],\"it\\u0065ms\":[{}]}", "", NULL, ERR_INVALID},
        {STREAM_LIST, "{}", "", NULL, ERR_INVALID},
        {STREAM_LIST, "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":500}", "", NULL, ERR_INVALID},
        {STREAM_LIST, "{\"items\":{\"a\":1}}", "", NULL, ERR_INVALID},
        {STREAM_LIST, "{\"items\":null,\"items\":[]}", "", NULL, ERR_INVALID},
        {STREAM_LIST, "{\"items\":[{\"items\":[{}]}]}", "{\"items\":[{}]}\n", "{\"items\":[]}", 0},
        {STREAM_LIST, "", "", "", ERR_RETRY},
        {STREAM_LIST, "{\"items\":[{}", "{}\n", NULL, ERR_RETRY},
        {STREAM_LIST, "{\"items\":[{},{}]", "{}\n{}\n", NULL, ERR_RETRY},
        {STREAM_LIST, "{\"items\":[{}],\"kind\":\"x", "{}\n", NULL, ERR_RETRY},
        {STREAM_LIST, "{\"items\":[{}{}]}", "{}\n", NULL, ERR_INVALID},
        {STREAM_LIST, "{\"items\":[{},]}", "{}\n", NULL, ERR_INVALID},
        {STREAM_LIST, "{\"items\":[,{}]}", "", NULL, ERR_INVALID},
        {STREAM_LIST, "{\"items\":[1]}", "", NULL, ERR_INVALID},
        {STREAM_LIST, "{\"items\":[{}],\"items\":[{}]}", "{}\n", NULL, ERR_INVALID},
        {STREAM_LIST, "{\"a\" 1}", "", NULL, ERR_INVALID},
        {STREAM_LIST, "{\"a\":}", "", NULL, ERR_INVALID},
        {STREAM_LIST, "{}{}", "", NULL, ERR_INVALID},
        {STREAM_LIST, "[]", "", NULL, ERR_INVALID},
        /* answers to queries */
        {STREAM_QUERY,
         "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"a\":1},{}]},\"w\":[]}",
         "{\"a\":1}\n{}\n", "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]},\"w\":[]}", 0},
        {STREAM_QUERY, "{\"result\":[{}],\"items\":[{}],\"data\":{\"items\":[{}],\"result\":[]}}", "",
         "{\"result\":[{}],\"items\":[{}],\"data\":{\"items\":[{}],\"result\":[]}}", 0},
        {STREAM_QUERY, "{ \"data\" : { \"result\" : [ { } ] , \"stats\" : { \"data\" : { } } } }", "{ }\n",
         "{\"data\":{\"result\":[],\"stats\":{ \"data\" : { } }}}", 0},
        {STREAM_QUERY, "{\"data\":{\"result\":[{}]}", "{}\n", NULL, ERR_RETRY},
        {STREAM_QUERY, "{\"data\":{\"result\":[]},\"data\":{\"result\":[{}]}}", "", NULL, ERR_INVALID},
        {STREAM_QUERY, "{\"data\":{\"resultType\":\"scalar\",\"result\":[1,\"2\"]}}", "", NULL, ERR_INVALID},
        {STREAM_QUERY, "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"no\"}", "", NULL, ERR_INVALID},
        {STREAM_QUERY, "{\"data\":[],\"items\":[{}]}", "", NULL, ERR_INVALID},
};
enum { ROWS = sizeof row / sizeof row[0] };

/* Whole, and cut at every pair of places. */
static void every_cut_gives_the_same(void **state)
{
        (void)state;
        for (size_t i = 0; i < ROWS; i++) {
                struct text in = text_of(row[i].in);
                for (size_t cut1 = 0; cut1 <= in.len; cut1++)
                        for (size_t cut2 = cut1; cut2 <= in.len; cut2 += in.len > 60 ? 7 : 1) {
                                struct seen seen = {0};
                                struct buf envelope;
                                int rc = run(row[i].shape, in, cut1, cut2, 1 << 20, &seen, &envelope);
                                bool ok = rc == row[i].code && text_is(buf_text(&seen.values), row[i].values) &&
                                          (!row[i].envelope || text_is(buf_text(&envelope), row[i].envelope));
                                if (!ok)
                                        print_error("row %zu (%s) cut at %zu, %zu: code %d\n%.*s%.*s\n", i, row[i].in,
                                                    cut1, cut2, rc, TEXT_ARG(buf_text(&seen.values)),
                                                    TEXT_ARG(buf_text(&envelope)));
                                assert_true(ok);
                                buf_release(&seen.values);
                                buf_release(&envelope);
                        }
        }
}

static void a_value_beyond_its_bound_ends_the_stream(void **state)
{
        (void)state;
        const char *in = "{\"a\":\"0123456789\"}\n{\"a\":\"01234567890\"}\n{}";
        for (size_t cut = 0; cut <= strlen(in); cut++) {
                struct seen seen = {0};
                int rc = run(STREAM_WATCH, text_of(in), cut, cut, 18, &seen, NULL);
                assert_int_equal(rc, ERR_TOOBIG);
                assert_int_equal(seen.count, 1);
                buf_release(&seen.values);
        }
}

static void the_reader_can_end_the_stream(void **state)
{
        (void)state;
        const char *in = "{\"items\":[{},{\"a\":1},{}]}";
        for (size_t cut = 0; cut <= strlen(in); cut++) {
                struct seen seen = {.stop_at = 2};
                assert_int_equal(run(STREAM_LIST, text_of(in), cut, cut, 100, &seen, NULL), ERR_GONE);
                assert_int_equal(seen.count, 2);
                buf_release(&seen.values);
        }
}

static void totals_and_envelopes_are_bounded(void **state)
{
        (void)state;
        struct stream s;
        struct err err = {0};
        struct seen seen = {0};
        buf_init(&seen.values, 100);
        stream_init(&s, STREAM_LIST, 100, 10, see, &seen);
        assert_int_equal(stream_feed(&s, "{\"items\":", 9, &err), 0);
        assert_int_equal(stream_feed(&s, "[]}", 3, &err), ERR_TOOBIG);
        stream_release(&s);

        char *chunk = mem_new(1 << 16);
        memset(chunk, 'x', 1 << 16);
        int rc = 0, fed = 0;
        stream_init(&s, STREAM_LIST, 100, STREAM_LIST_MAX, see, &seen);
        assert_int_equal(stream_feed(&s, "{\"k\":\"", 6, &err), 0);
        while (rc == 0 && fed++ < 100)
                rc = stream_feed(&s, chunk, 1 << 16, &err);
        assert_int_equal(rc, ERR_TOOBIG);
        assert_in_range(fed, 15, 17);
        stream_release(&s);
        mem_free(chunk);
        buf_release(&seen.values);
}

/* An object of 300 MB costs no more memory than its bound. */
static void a_huge_object_costs_its_bound_only(void **state)
{
        (void)state;
        struct stream s;
        struct err err = {0};
        struct seen seen = {0};
        char chunk[4096];
        memset(chunk, 'x', sizeof chunk);
        stream_init(&s, STREAM_WATCH, STREAM_ITEM_MAX, 0, see, &seen);
        int rc = stream_feed(&s, "{\"k\":\"", 6, &err);
        int64_t fed = 0;
        for (; rc == 0 && fed < 300 << 20; fed += (int64_t)sizeof chunk)
                rc = stream_feed(&s, chunk, sizeof chunk, &err);
        assert_int_equal(rc, ERR_TOOBIG);
        assert_true(fed <= STREAM_ITEM_MAX + 4096);
        assert_true(s.value.cap <= 2 * STREAM_ITEM_MAX);
        stream_release(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_cut_gives_the_same),
                cmocka_unit_test(a_value_beyond_its_bound_ends_the_stream),
                cmocka_unit_test(the_reader_can_end_the_stream),
                cmocka_unit_test(totals_and_envelopes_are_bounded),
                cmocka_unit_test(a_huge_object_costs_its_bound_only),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
