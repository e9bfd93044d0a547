/*
 * The door under load: 32 connections read single recommendations at random of 100 000 workloads, plain and over TLS,
 * and post pods to admission, while the view is made afresh and swapped each second. Pressed by wrk with one thread;
 * where that is not installed by a small client of our own, which speaks no TLS.
 */
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../test/fake/apiserver.h"
#include "../test/support/stand.h"
#include "../test/support/tmp.h"
#include "../test/support/wire.h"
#include "base/mem.h"
#include "line.h"

enum { WORKLOADS = 100000, SECONDS = 10, CONNECTIONS = 32, OUTPUT_MAX = 16 << 10, LATENCIES = 4 << 20 };

#define POD                                                                                                            \
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u\",\"kind\":{"   \
        "\"group\":\"\",\"version\":\"v1\",\"kind\":\"Pod\"},\"operation\":\"CREATE\",\"namespace\":\"shop\","         \
        "\"userInfo\":{\"username\":\"x\"},\"object\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"          \
        "\"generateName\":\"web-0-\",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","        \
        "\"name\":\"web-0-1\",\"uid\":\"r\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"app\","       \
        "\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}}}"

static struct stand stand;
static bool with_wrk;

struct load {
        const char *name, *script; /* for wrk */
        const char *rate_budget, *p99_budget;
        bool admission;
};
static const struct load reads = {
        .name = "REST reads",
        .script = "wrk.headers['Authorization'] = 'Bearer good'\n"
                  "function request() return wrk.format('GET', '/api/v1/namespaces/shop/workloads/Deployment/web-' .. "
                  "math.random(0, 99999)) end\n",
        .rate_budget = ">= 50000",
        .p99_budget = "< 2",
};
static const struct load admission = {
        .name = "admission of a pod",
        .script = "wrk.method = 'POST'\nwrk.path = '/admission'\nwrk.headers['Content-Type'] = 'application/json'\n"
                  "wrk.body = '" POD "'\n",
        .rate_budget = "",
        .p99_budget = "< 5",
        .admission = true,
};

static void fail(const char *what, const char *why)
{
        fprintf(stderr, "bench_serve: %s:\n%s\n", what, why);
        exit(1);
}

static void tell(const struct load *l, bool tls, double rate, double p99_ms, double longest_ms)
{
        char name[64];
        const char *how = tls ? "TLS" : "plain";
        snprintf(name, sizeof name, "%s, %s", l->name, how);
        bench_line(name, rate, "requests/s", tls ? "" : l->rate_budget);
        snprintf(name, sizeof name, "%s, %s, p99", l->name, how);
        bench_line(name, p99_ms, "ms", tls && !l->admission ? "" : l->p99_budget);
        snprintf(name, sizeof name, "%s, %s, the longest", l->name, how);
        bench_line(name, longest_ms, "ms", "");
}

/* --- what it costs, whoever else uses the machine --- */

static pthread_t swapper;

static double clock_seconds(clockid_t clock)
{
        struct timespec t;
        clock_gettime(clock, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Of the door alone: wrk is another process, and who makes the views is not counted. */
static double door_seconds(void)
{
        clockid_t of_swapper;
        if (pthread_getcpuclockid(swapper, &of_swapper) != 0)
                fail("clock", "the thread that makes views has none");
        return clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - clock_seconds(of_swapper);
}

/* --- by wrk --- */

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

static void press_by_wrk(const struct load *l, bool tls)
{
        static char output[OUTPUT_MAX];
        char longest[32] = "";
        AUTO(mem_free) char *file = tmp_file("wrk.lua", l->script);
        AUTO(mem_free)
        char *command = mem_printf("wrk -t1 -c%d -d%ds --latency -s %s %s://%s/ 2>&1", CONNECTIONS, SECONDS, file,
                                   tls ? "https" : "http", stand.address);
        double began = door_seconds();
        FILE *f = popen(command, "re");
        size_t len = f ? fread(output, 1, sizeof output - 1, f) : 0;
        output[len] = '\0';
        if (!f || pclose(f) != 0 || strstr(output, "Non-2xx"))
                fail(command, output);
        double used = door_seconds() - began;
        sscanf(after(output, "Latency "), "%*s %*s %31s", longest);
        tell(l, tls, strtod(after(output, "Requests/sec:"), NULL), milliseconds(after(output, "99%")),
             milliseconds(longest));
        const char *count = after(strstr(output, "99%"), "\n");
        char name[64];
        snprintf(name, sizeof name, "%s, %s, CPU of each", l->name, tls ? "TLS" : "plain");
        bench_line(name, used / strtod(count, NULL) * 1e6, "us", l->admission || tls ? "" : "<= 20");
}

/* --- by ourselves --- */

struct client {
        int fd;
        int64_t began_ns;
        struct buf heard;
};

static void send_one(struct client *c, const struct load *l)
{
        char text[2048];
        int len;
        if (l->admission)
                len = snprintf(text, sizeof text,
                               "POST /admission HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                               "Content-Length: %zu\r\n\r\n%s",
                               sizeof POD - 1, POD);
        else
                len = snprintf(text, sizeof text,
                               "GET /api/v1/namespaces/shop/workloads/Deployment/web-%d HTTP/1.1\r\nHost: x\r\n"
                               "Authorization: Bearer good\r\n\r\n",
                               rand() % WORKLOADS);
        buf_reset(&c->heard);
        c->began_ns = mono_read().ns;
        if (!wire_send(c->fd, text, (size_t)len))
                fail("send", "the door is closed");
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

static void press_ourselves(const struct load *l)
{
        static float took_ms[LATENCIES];
        struct client client[CONNECTIONS] = {0};
        struct pollfd fds[CONNECTIONS];
        size_t count = 0;
        int64_t began_ns = mono_read().ns, end_ns = began_ns + (int64_t)SECONDS * 1000000000;
        for (int i = 0; i < CONNECTIONS; i++) {
                client[i].fd = wire_open(stand.address);
                buf_init(&client[i].heard, 1 << 20);
                fds[i] = (struct pollfd){client[i].fd, POLLIN, 0};
                send_one(&client[i], l);
        }
        while (mono_read().ns < end_ns && count + CONNECTIONS < LATENCIES && poll(fds, CONNECTIONS, 1000) > 0)
                for (int i = 0; i < CONNECTIONS; i++)
                        if (fds[i].revents && hear(&client[i])) {
                                took_ms[count++] = (float)((double)(mono_read().ns - client[i].began_ns) / 1e6);
                                send_one(&client[i], l);
                        }
        double seconds = (double)(mono_read().ns - began_ns) / 1e9;
        for (int i = 0; i < CONNECTIONS; i++) {
                close(client[i].fd);
                buf_release(&client[i].heard);
        }
        qsort(took_ms, count, sizeof *took_ms, by_size);
        if (count == 0)
                fail("press", "no answer at all");
        tell(l, false, (double)count / seconds, (double)took_ms[count - 1 - count / 100], (double)took_ms[count - 1]);
}

/* --- both ways in --- */

static atomic_bool over;

static void *swap(void *arg)
{
        (void)arg;
        while (!atomic_load(&over)) {
                stand_publish(&stand, WORKLOADS, NULL);
                sleep(1);
        }
        return NULL;
}

static void show_certificate(void)
{
        struct err err = {0};
        struct fake *pki = fake_new(&(struct fake_options){.tls = true});
        if (server_set_certificate(stand.server, fake_client_certificate(pki), fake_client_key(pki), &err) < 0)
                fail("certificate", err.text);
        fake_free(pki);
}

static void measure(bool tls)
{
        stand_begin(&stand, &(struct door_options){.tls = tls, .admission = true});
        if (tls)
                show_certificate();
        atomic_store(&over, false);
        stand_publish(&stand, WORKLOADS, NULL);
        if (pthread_create(&swapper, NULL, swap, NULL) != 0)
                fail("thread", "none to be had");
        for (int i = 0; i < 2; i++)
                with_wrk ? press_by_wrk(i ? &admission : &reads, tls) : press_ourselves(i ? &admission : &reads);
        atomic_store(&over, true);
        pthread_join(swapper, NULL);
        stand_end(&stand);
}

int main(void)
{
        with_wrk = system("command -v wrk >/dev/null") == 0;
        measure(false);
        if (with_wrk)
                measure(true);
        else
                printf("%-46s not measured: wrk is not installed\n", "REST reads, TLS");
        return 0;
}
