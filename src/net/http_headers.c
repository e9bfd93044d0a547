#include "http_headers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct text headers_trim(struct text t)
{
        while (t.len > 0 && (unsigned char)t.p[0] <= ' ')
                t = (struct text){t.p + 1, t.len - 1};
        while (t.len > 0 && (unsigned char)t.p[t.len - 1] <= ' ')
                t.len--;
        return t;
}

static void copy_text(char *out, size_t cap, struct text t)
{
        size_t len = t.len < cap - 1 ? t.len : cap - 1;
        memcpy(out, t.p, len);
        out[len] = '\0';
}

/* Read Retry-After, a number of seconds or an HTTP date, as milliseconds from `now`. */
static void read_retry_after(struct http_call *c, struct text value, struct wall now)
{
        char text[64], *rest;
        copy_text(text, sizeof text, value);
        int64_t ms = -1;
        long seconds = strtol(text, &rest, 10);
        struct wall at;
        if (rest != text && *rest == '\0')
                ms = seconds < 0                     ? 0
                     : seconds < HOUR_MS / SECOND_MS ? seconds * INT64_C(1000)
                                                     : HTTP_RETRY_AFTER_MOST_MS;
        else if (wall_parse_http(text, &at) == 0)
                ms = at.ms - (c->reply.date.ms ? c->reply.date.ms : now.ms);
        else
                return;
        if (ms < 0)
                ms = 0;
        c->reply.retry_after_ms = ms < HTTP_RETRY_AFTER_MOST_MS ? ms : HTTP_RETRY_AFTER_MOST_MS;
}

/* Count the compressions that a Content-Encoding or Transfer-Encoding names, which libcurl may have to unpack. */
static int count_codings(struct text value)
{
        static const char *const plain[] = {"identity", "chunked"};
        int count = 0;
        while (value.len > 0) {
                const char *comma = memchr(value.p, ',', value.len);
                size_t len = comma ? (size_t)(comma - value.p) : value.len;
                struct text name = headers_trim((struct text){value.p, len});
                bool packs = name.len > 0;
                for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
                        packs &= !(strlen(plain[i]) == name.len && strncasecmp(plain[i], name.p, name.len) == 0);
                count += packs;
                len += comma != NULL;
                value = (struct text){value.p + len, value.len - len};
        }
        return count;
}

/* Keep the text of the first header such as: Warning: 299 - "text". */
static void read_warning(struct http_call *c, struct text value)
{
        if (c->reply.warning || value.len < 4 || memcmp(value.p, "299 ", 4) != 0)
                return;
        const char *open = memchr(value.p, '"', value.len);
        if (!open)
                return;
        size_t len = 0;
        for (const char *p = open + 1; p < value.p + value.len && *p != '"' && len < sizeof c->warning - 1; p++) {
                if (*p == '\\' && p + 1 < value.p + value.len)
                        p++;
                c->warning[len++] = *p;
        }
        c->warning[len] = '\0';
        c->reply.warning = c->warning;
}

/* A status line begins an answer. The headers of an earlier, interim answer (100, 103) are dropped. */
static void read_status_line(struct http_call *c, struct text line)
{
        const char *space = memchr(line.p, ' ', line.len);
        char digits[4] = "";
        if (space)
                copy_text(digits, sizeof digits,
                          headers_trim((struct text){space, (size_t)(line.p + line.len - space)}));
        c->reply.status = atoi(digits);
        c->reply.date.ms = 0;
        c->reply.retry_after_ms = -1;
        c->reply.warning = NULL;
        c->codings = 0;
        c->content_type[0] = '\0';
}

static void read_header(struct http_call *c, struct text line, struct wall now)
{
        const char *colon = memchr(line.p, ':', line.len);
        if (!colon)
                return;
        struct text name = {line.p, (size_t)(colon - line.p)};
        struct text value = headers_trim((struct text){colon + 1, (size_t)(line.p + line.len - colon - 1)});
        char text[64];

#define NAMED(literal) (name.len == sizeof(literal) - 1 && strncasecmp(name.p, literal, name.len) == 0)
        if (NAMED("content-type")) {
                copy_text(c->content_type, sizeof c->content_type, value);
        } else if (NAMED("date")) {
                copy_text(text, sizeof text, value);
                if (wall_parse_http(text, &c->reply.date) < 0)
                        c->reply.date.ms = 0;
        } else if (NAMED("content-encoding") || NAMED("transfer-encoding")) {
                c->codings += count_codings(value);
        } else if (NAMED("retry-after")) {
                read_retry_after(c, value, now);
        } else if (NAMED("warning")) {
                read_warning(c, value);
        }
#undef NAMED
}

void http_headers_read(struct http_call *c, struct text line, struct wall now)
{
        static const char version[] = "HTTP/";
        if (line.len >= sizeof version && memcmp(line.p, version, sizeof version - 1) == 0)
                read_status_line(c, line);
        else
                read_header(c, line, now);
}
