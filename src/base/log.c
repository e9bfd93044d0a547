#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"

/* No call logs a line as long as LOG_LINE_MAX, although escaping makes a value of LOG_VALUE_MAX up to six times as
 * long. */
enum { LOG_VALUE_MAX = 1024, LOG_LINE_MAX = 4 * 1024 * 1024 };

static _Atomic int least_level = LOG_INFO;
static atomic_bool as_json;
static pthread_mutex_t one_line = PTHREAD_MUTEX_INITIALIZER;

void log_setup(enum log_level least, bool json)
{
        atomic_store(&least_level, (int)least);
        atomic_store(&as_json, json);
}

static void log_add(struct buf *b, const char *p, size_t len)
{
        (void)buf_add(b, p, len);
}

static void log_add_text(struct buf *b, const char *s)
{
        log_add(b, s, strlen(s));
}

/* Writes invisible characters as \u escapes, which JSON parsers and people both understand. */
static void add_escaped_char(struct buf *b, const char *p, size_t len)
{
        static const char shorts[] = "\"\"\\\\\nn\rr\tt";
        uint32_t code = utf8_code(p, len);
        for (const char *s = shorts; len == 1 && *s; s += 2) {
                if (*s == *p) {
                        log_add(b, (const char[]){'\\', s[1]}, 2);
                        return;
                }
        }
        if (!utf8_is_invisible(code))
                log_add(b, p, len);
        else if (code < 0x10000)
                (void)buf_printf(b, "\\u%04x", (unsigned)code);
        else /* JSON escapes a character beyond 16 bits as a surrogate pair */
                (void)buf_printf(b, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (code >> 10)),
                                 (unsigned)(0xdc00 | (code & 0x3ff)));
}

static void log_add_escaped(struct buf *b, const char *s)
{
        size_t len = strlen(s), shown = utf8_cut(s, len, LOG_VALUE_MAX);
        for (size_t i = 0, step; i < shown; i += step) {
                step = utf8_length(s + i, shown - i);
                if (step == 0) {
                        step = 1;
                        log_add_text(b, "\ufffd");
                } else {
                        add_escaped_char(b, s + i, step);
                }
        }
        if (shown < len)
                log_add_text(b, "\u2026");
}

static void log_add_quoted(struct buf *b, const char *s)
{
        log_add_text(b, "\"");
        log_add_escaped(b, s);
        log_add_text(b, "\"");
}

/* Whether a text value is unambiguous without quotes. */
static bool log_is_plain(const char *s)
{
        for (const char *p = s; *p; p++)
                if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f || *p == '"' || *p == '=' || *p == '\\')
                        return false;
        return *s != '\0';
}

/* JSON has no infinities and no NaN, so they are written as strings there. */
static void add_real(struct buf *b, double value, bool json)
{
        const char *quote = json && !isfinite(value) ? "\"" : "";
        if (isnan(value))
                (void)buf_printf(b, "%sNaN%s", quote, quote);
        else if (isinf(value))
                (void)buf_printf(b, "%s%cInf%s", quote, value > 0 ? '+' : '-', quote);
        else
                (void)buf_printf(b, "%.9g", value);
}

static void log_add_value(struct buf *b, const struct kv *kv, bool json)
{
        switch (kv->kind) {
        case KV_IS_TEXT:
                if (!kv->text)
                        log_add_text(b, json ? "null" : "-");
                else if (!json && log_is_plain(kv->text))
                        log_add_escaped(b, kv->text);
                else
                        log_add_quoted(b, kv->text);
                break;
        case KV_IS_INT:
                (void)buf_printf(b, "%" PRId64, kv->integer);
                break;
        case KV_IS_REAL:
                add_real(b, kv->real, json);
                break;
        }
}

static void text_line(struct buf *b, enum log_level level, const char *at, const char *message, const struct kv *kv,
                      int count)
{
        static const char *const name[] = {"DEBUG", "INFO ", "WARN ", "ERROR"};
        (void)buf_printf(b, "%s %s ", at, name[level]);
        log_add_escaped(b, message);
        for (int i = 0; i < count; i++) {
                (void)buf_printf(b, " %s=", kv[i].key);
                log_add_value(b, &kv[i], false);
        }
}

static void json_line(struct buf *b, enum log_level level, const char *at, const char *message, const struct kv *kv,
                      int count)
{
        static const char *const name[] = {"debug", "info", "warn", "error"};
        (void)buf_printf(b, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":", at, name[level]);
        log_add_quoted(b, message);
        for (int i = 0; i < count; i++) {
                log_add_text(b, ",");
                log_add_quoted(b, kv[i].key);
                log_add_text(b, ":");
                log_add_value(b, &kv[i], true);
        }
        log_add_text(b, "}");
}

/* Writes the whole line, however slow the reader of stderr is. When that reader is gone, the line is lost and halflife
 * goes on. */
static void write_whole(const char *p, size_t len)
{
        while (len > 0) {
                ssize_t n = write(STDERR_FILENO, p, len);
                if (n >= 0) {
                        p += n;
                        len -= (size_t)n;
                } else if (errno == EAGAIN) {
                        struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
                        poll(&fd, 1, -1);
                } else if (errno != EINTR) {
                        return;
                }
        }
}

void log_write(enum log_level level, const char *message, const struct kv *kv, int count)
{
        if ((int)level < atomic_load(&least_level))
                return;
        char at[WALL_TEXT_MAX];
        wall_print_milli(now_read().wall, at);
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, LOG_LINE_MAX);
        (atomic_load(&as_json) ? json_line : text_line)(&b, level, at, message, kv, count);
        log_add_text(&b, "\n");
        pthread_mutex_lock(&one_line);
        write_whole(b.data, b.len);
        pthread_mutex_unlock(&one_line);
}
