#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/yaml.h"

enum { OUT_MAX = 4 << 20 };

/* stderr goes to a pipe whose other end a thread drains. */
struct capture {
        int saved, from;
        struct buf out;
        pthread_t reader;
};

static void *drain(void *arg)
{
        struct capture *c = arg;
        char part[100];
        for (ssize_t n; (n = read(c->from, part, sizeof part)) > 0;)
                buf_add(&c->out, part, (size_t)n);
        return NULL;
}

static void capture_begin(struct capture *c, int flags)
{
        int pipes[2];
        assert_int_equal(pipe(pipes), 0);
        assert_int_equal(fcntl(pipes[1], F_SETFL, flags), 0);
        (void)fcntl(pipes[1], F_SETPIPE_SZ, 4096); /* soon full; where that cannot be set the test only asks less */
        c->saved = dup(STDERR_FILENO);
        c->from = pipes[0];
        buf_init(&c->out, OUT_MAX);
        dup2(pipes[1], STDERR_FILENO);
        close(pipes[1]);
        assert_int_equal(pthread_create(&c->reader, NULL, drain, c), 0);
}

static char *capture_end(struct capture *c)
{
        dup2(c->saved, STDERR_FILENO);
        close(c->saved);
        pthread_join(c->reader, NULL);
        close(c->from);
        return buf_steal(&c->out);
}

/* A text line without its time, which is checked. */
static const char *after_time(const char *line)
{
        struct wall t;
        assert_true(strlen(line) > 25);
        assert_int_equal(line[24], ' ');
        assert_int_equal(wall_parse(line, 24, &t), 0);
        return line + 25;
}

static void text_lines(void **state)
{
        (void)state;
        struct {
                struct kv kv;
                const char *want;
        } row[] = {
                {KV("k", "plain/v-1.0"), "k=plain/v-1.0"},
                {KV("k", "a b"), "k=\"a b\""},
                {KV("k", ""), "k=\"\""},
                {KV("k", NULL), "k=-"},
                {KV("k", "a=b"), "k=\"a=b\""},
                {KV("k", "say \"hi\"\\"), "k=\"say \\\"hi\\\"\\\\\""},
                {KV("k", "a\nb\r\tc"), "k=\"a\\nb\\r\\tc\""},
                {KV("k", "\x1b[31m\x7f"), "k=\"\\u001b[31m\\u007f\""},
                {KV("k", "\xc2\x9b"
                         "31m"),
                 "k=\"\\u009b"
                 "31m\""},
                {KV("k", "a\u202eb\u200b\U000e0061"), "k=\"a\\u202eb\\u200b\\udb40\\udc61\""},
                {KV("k", "\u00fc\u20ac\U0001f600"), "k=\"\u00fc\u20ac\U0001f600\""},
                {KV("k", "a\xff"
                         "b\xc3"),
                 "k=\"a\ufffd"
                 "b\ufffd\""},
                {KV_INT("k", -7), "k=-7"},
                {KV_INT("k", INT64_MIN), "k=-9223372036854775808"},
                {KV_REAL("k", 0.1), "k=0.1"},
                {KV_REAL("k", -(double)NAN), "k=NaN"},
                {KV_REAL("k", -(double)INFINITY), "k=-Inf"},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct capture c;
                capture_begin(&c, 0);
                log_write(LOG_WARN, "it happened", &row[i].kv, 1);
                char *out AUTO(mem_free) = capture_end(&c);
                char want[200];
                snprintf(want, sizeof want, "WARN  it happened %s\n", row[i].want);
                assert_string_equal(after_time(out), want);
        }
}

static void lines_without_and_with_values(void **state)
{
        (void)state;
        struct capture c;
        capture_begin(&c, 0);
        log_info("hello");
        log_error("two", KV("a", "1"), KV_INT("b", 2));
        log_info("new\nline");
        char *out AUTO(mem_free) = capture_end(&c);
        char *second = strchr(out, '\n') + 1, *third = strchr(second, '\n') + 1;
        assert_memory_equal(after_time(out), "INFO  hello\n", 12);
        assert_memory_equal(after_time(second), "ERROR two a=1 b=2\n", 18);
        assert_string_equal(after_time(third), "INFO  new\\nline\n");
}

static void json_lines(void **state)
{
        (void)state;
        log_setup(LOG_DEBUG, true);
        struct capture c;
        capture_begin(&c, 0);
        log_debug("said \"so\"", KV("text", "a\x01\xc2\x9b\xff \\ \n"), KV("none", NULL), KV_INT("n", 42),
                  KV_REAL("x", 2.5), KV_REAL("nan", (double)NAN), KV_REAL("inf", (double)INFINITY));
        char *out AUTO(mem_free) = capture_end(&c);
        log_setup(LOG_INFO, false);
        json_error_t why;
        json_t *line AUTO(json_decref) = json_loads(out, JSON_REJECT_DUPLICATES, &why);
        assert_non_null(line);
        assert_int_equal(out[strlen(out) - 1], '\n');
        assert_string_equal(json_string_value(json_object_get(line, "level")), "debug");
        assert_string_equal(json_string_value(json_object_get(line, "message")), "said \"so\"");
        assert_string_equal(json_string_value(json_object_get(line, "text")), "a\x01\xc2\x9b\ufffd \\ \n");
        assert_true(json_is_null(json_object_get(line, "none")));
        assert_int_equal(json_integer_value(json_object_get(line, "n")), 42);
        assert_true(json_real_value(json_object_get(line, "x")) > 2.4);
        assert_string_equal(json_string_value(json_object_get(line, "nan")), "NaN");
        assert_string_equal(json_string_value(json_object_get(line, "inf")), "+Inf");
        const char *at = json_string_value(json_object_get(line, "time"));
        struct wall t;
        assert_int_equal(wall_parse(at, strlen(at), &t), 0);
}

static void levels_are_kept_back(void **state)
{
        (void)state;
        struct capture c;
        capture_begin(&c, 0);
        log_setup(LOG_WARN, false);
        log_debug("no");
        log_info("no");
        log_warn("yes");
        log_setup(LOG_INFO, false);
        char *out AUTO(mem_free) = capture_end(&c);
        assert_string_equal(after_time(out), "WARN  yes\n");
}

/* Values are cut at 1 KiB, between characters, and say so. */
static void long_values_are_cut(void **state)
{
        (void)state;
        char text[5000];
        for (size_t shift = 0; shift < 3; shift++) {
                memset(text, 'x', shift);
                size_t at = shift;
                for (; at + 3 < sizeof text; at += 3)
                        memcpy(text + at, "\u20ac", 3);
                text[at] = '\0';
                struct capture c;
                capture_begin(&c, 0);
                log_info("long", KV("k", text));
                char *out AUTO(mem_free) = capture_end(&c);
                size_t len = strlen(out);
                assert_true(len > 1024 && len < 1100);
                assert_string_equal(out + len - 8, "\u20ac\u2026\"\n");
                assert_null(strstr(out, "\ufffd"));
        }
}

enum { THREADS = 4, LINES = 300 };

static void *talk(void *arg)
{
        char text[900];
        memset(text, *(const char *)arg, sizeof text - 1);
        text[sizeof text - 1] = '\0';
        for (int i = 0; i < LINES; i++)
                log_info("busy", KV("k", text), KV_INT("line", i));
        return NULL;
}

/* Several threads into a pipe that does not block and is read slowly: every line arrives, whole, in its thread's order.
 */
static void nothing_is_lost_or_mixed(void **state)
{
        (void)state;
        struct capture c;
        capture_begin(&c, O_NONBLOCK);
        static const char mark[THREADS] = {'a', 'b', 'c', 'd'};
        pthread_t thread[THREADS];
        for (int i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&thread[i], NULL, talk, (void *)(uintptr_t)&mark[i]), 0);
        for (int i = 0; i < THREADS; i++)
                pthread_join(thread[i], NULL);
        char *out AUTO(mem_free) = capture_end(&c);
        int next[THREADS] = {0};
        for (char *line = out, *end; *line; line = end + 1) {
                end = strchr(line, '\n');
                assert_non_null(end);
                const char *k = after_time(line) + strlen("INFO  busy k=");
                int i = k[0] - 'a', number;
                assert_in_range(i, 0, THREADS - 1);
                assert_int_equal(strspn(k, (char[]){k[0], '\0'}), 899);
                assert_int_equal(sscanf(k + 899, " line=%d", &number), 1);
                assert_int_equal(number, next[i]++);
        }
        for (int i = 0; i < THREADS; i++)
                assert_int_equal(next[i], LINES);
}

static void a_closed_stderr_is_survived(void **state)
{
        (void)state;
        int saved = dup(STDERR_FILENO);
        close(STDERR_FILENO);
        log_error("nobody hears this");
        dup2(saved, STDERR_FILENO);
        close(saved);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(text_lines),
                cmocka_unit_test(lines_without_and_with_values),
                cmocka_unit_test(json_lines),
                cmocka_unit_test(levels_are_kept_back),
                cmocka_unit_test(long_values_are_cut),
                cmocka_unit_test(nothing_is_lost_or_mixed),
                cmocka_unit_test(a_closed_stderr_is_survived),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
