#include "press.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "tmp.h"
#include "wire.h"

enum { CONNECTIONS = 32, OUTPUT_MAX = 16 << 10, ANSWER_MAX = 1 << 20, LATENCIES = 8 << 20 };

static void fail(const char *what, const char *why)
{
        fprintf(stderr, "press: %s:\n%s\n", what, why);
        exit(1);
}

/* --- by wrk --- */

bool press_has_wrk(void)
{
        return system("command -v wrk >/dev/null") == 0;
}

/* What wrk is to ask, in its own language. Nothing in it is quoted: paths, tokens and bodies of benches have no quote.
 */
static char *script_of(const struct press *p)
{
        struct buf b;
        buf_init(&b, OUTPUT_MAX);
        if (p->token)
                buf_printf(&b, "wrk.headers['Authorization'] = 'Bearer %s'\n", p->token);
        if (p->body)
                buf_printf(&b, "wrk.headers['Content-Type'] = 'application/json'\nlocal body = '%s'\n", p->body);
        if (p->most)
                buf_printf(&b, "local function number() return string.format('%%0%dd', math.random(0, %d)) end\n",
                           p->digits, p->most - 1);
        buf_printf(&b, "function request() return wrk.format('%s', '%s'%s, nil, %s) end\n", p->body ? "POST" : "GET",
                   p->path, p->most ? " .. number()" : "", p->body ? "body" : "nil");
        char *path = tmp_file("wrk.lua", b.data);
        buf_release(&b);
        return path;
}

/* "1.23ms", "456.00us", "2.00s" */
static double milliseconds(const char *text)
{
        char *unit;
        double value = strtod(text, &unit);
        return strncmp(unit, "us", 2) == 0 ? value / 1e3 : *unit == 's' ? value * 1e3 : value;
}

static const char *after(const char *text, const char *mark)
{
        const char *at = strstr(text, mark);
        if (!at)
                fail("wrk did not tell of its work", text);
        return at + strlen(mark);
}

static struct pressed by_wrk(const struct press *p)
{
        static char output[OUTPUT_MAX];
        char longest[32] = "";
        AUTO(mem_free) char *file = script_of(p);
        AUTO(mem_free)
        char *command = mem_printf("wrk -t1 -c%d -d%ds --latency -s %s %s://%s/ 2>&1", CONNECTIONS, p->seconds, file,
                                   p->tls ? "https" : "http", p->address);
        FILE *f = popen(command, "re");
        size_t len = f ? fread(output, 1, sizeof output - 1, f) : 0;
        output[len] = '\0';
        if (!f || pclose(f) != 0 || strstr(output, "Non-2xx"))
                fail(command, output);
        sscanf(after(output, "Latency "), "%*s %*s %31s", longest);
        const char *p99 = after(output, "99%");
        return (struct pressed){
                .count = strtod(after(p99, "\n"), NULL),
                .rate = strtod(after(output, "Requests/sec:"), NULL),
                .p99_ms = milliseconds(p99 + strspn(p99, " ")),
                .longest_ms = milliseconds(longest),
        };
}

/* --- by ourselves --- */

struct client {
        int fd;
        int64_t began_ns;
        struct buf heard;
};

static void send_one(struct client *c, const struct press *p)
{
        char number[16] = "", text[4096];
        if (p->most)
                snprintf(number, sizeof number, "%0*d", p->digits, rand() % p->most);
        int len = snprintf(text, sizeof text, "%s %s%s HTTP/1.1\r\nHost: x\r\n", p->body ? "POST" : "GET", p->path,
                           number);
        if (p->token)
                len += snprintf(text + len, sizeof text - (size_t)len, "Authorization: Bearer %s\r\n", p->token);
        if (p->body)
                len += snprintf(text + len, sizeof text - (size_t)len,
                                "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", strlen(p->body),
                                p->body);
        else
                len += snprintf(text + len, sizeof text - (size_t)len, "\r\n");
        buf_reset(&c->heard);
        c->began_ns = mono_read().ns;
        if ((size_t)len >= sizeof text || !wire_send(c->fd, text, (size_t)len))
                fail("send", "the door is closed, or the request too long");
}

/* Whole? Its head tells how long it is. */
static bool hear(struct client *c)
{
        char part[16 << 10];
        ssize_t n = read(c->fd, part, sizeof part);
        if (n <= 0)
                fail("read", "the door is closed");
        buf_add(&c->heard, part, (size_t)n);
        const char *end = strstr(c->heard.data, "\r\n\r\n"), *length = strstr(c->heard.data, "Content-Length: ");
        if (!end || !length)
                return false;
        if (!strstr(c->heard.data, " 200 "))
                fail("answer", c->heard.data);
        return c->heard.len >= (size_t)(end + 4 - c->heard.data) + strtoul(length + 16, NULL, 10);
}

static int by_size(const void *a, const void *b)
{
        float x = *(const float *)a, y = *(const float *)b;
        return (x > y) - (x < y);
}

static struct pressed by_ourselves(const struct press *p)
{
        static float took_ms[LATENCIES];
        struct client client[CONNECTIONS] = {0};
        struct pollfd fds[CONNECTIONS];
        size_t count = 0;
        int64_t began_ns = mono_read().ns, end_ns = began_ns + (int64_t)p->seconds * 1000000000;
        for (int i = 0; i < CONNECTIONS; i++) {
                client[i].fd = wire_open(p->address);
                buf_init(&client[i].heard, ANSWER_MAX);
                fds[i] = (struct pollfd){client[i].fd, POLLIN, 0};
                send_one(&client[i], p);
        }
        while (mono_read().ns < end_ns && count + CONNECTIONS < LATENCIES && poll(fds, CONNECTIONS, 1000) > 0)
                for (int i = 0; i < CONNECTIONS; i++)
                        if (fds[i].revents && hear(&client[i])) {
                                took_ms[count++] = (float)((double)(mono_read().ns - client[i].began_ns) / 1e6);
                                send_one(&client[i], p);
                        }
        double seconds = (double)(mono_read().ns - began_ns) / 1e9;
        for (int i = 0; i < CONNECTIONS; i++) {
                close(client[i].fd);
                buf_release(&client[i].heard);
        }
        qsort(took_ms, count, sizeof *took_ms, by_size);
        if (count == 0)
                fail("press", "no answer at all");
        return (struct pressed){
                .count = (double)count,
                .rate = (double)count / seconds,
                .p99_ms = (double)took_ms[count - 1 - count / 100],
                .longest_ms = (double)took_ms[count - 1],
        };
}

struct pressed press(const struct press *p)
{
        return press_has_wrk() ? by_wrk(p) : by_ourselves(p);
}
