/*
 * Load-watcher's interface with 5 000 nodes: making the document, and what two clients wait for over keep-alive
 * connections, one for the whole document 4 times a second, one for single nodes 100 times a second.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../test/support/wire.h"
#include "cache/cache.h"
#include "line.h"
#include "load_watcher/load_document.h"
#include "load_watcher/load_listener.h"

enum { NODES = 5000, RUNS = 20, SECONDS = 30, WHOLE_PER_SECOND = 4, ONE_PER_SECOND = 100, ANSWER_MAX = 8 << 20 };

static void fill(struct cache *w, struct wall now)
{
        for (int i = 0; i < NODES; i++) {
                char name[64];
                snprintf(name, sizeof name, "ip-10-%d-%d-17.eu-west-1.compute.internal", i / 250, i % 250);
                struct node_facts *f = node_facts_get(w, node_get(w, text_of(name)));
                f->capacity[CPU] = 31850;
                f->capacity[MEMORY] = INT64_C(128) << 30;
                for (int k = NODE_SAMPLES; k-- > 0;) {
                        const struct node_usage u = {
                                {now.ms - k * MINUTE_MS},
                                {4000 + (i + 977 * k) % 20000, (INT64_C(64) << 30) + i * 7919 + k}};
                        if (node_ring_add(&f->ring, &u, f->capacity, now) != NODE_ACCEPTED)
                                bench_fail("a sample is refused");
                }
        }
}

struct client {
        const char *address;
        int per_second;
        bool whole;
        int asked;
        double took[SECONDS * ONE_PER_SECOND], cpu;
        size_t bytes;
};

/* One request and its answer, read as fast as it comes; how many bytes it was. */
static size_t ask(int fd, const char *path, char *into)
{
        char request[256];
        size_t got = 0, want = 0;
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
        if (!wire_say(fd, request))
                bench_fail("the connection was closed");
        while (!want || got < want) {
                ssize_t n = recv(fd, into + got, ANSWER_MAX - got - 1, 0);
                if (n <= 0)
                        bench_fail("the answer is cut");
                got += (size_t)n;
                into[got] = '\0';
                const char *body = want ? NULL : strstr(into, "\r\n\r\n"), *length = strstr(into, "Content-Length: ");
                if (body && length && strncmp(into, "HTTP/1.1 200 ", 13) == 0)
                        want = (size_t)(body + 4 - into) + strtoul(length + 16, NULL, 10);
        }
        return got;
}

static void *client_run(void *arg)
{
        struct client *c = arg;
        AUTO(mem_free) char *into = mem_new(ANSWER_MAX);
        int fd = wire_open(c->address);
        struct timespec next;
        clock_gettime(CLOCK_MONOTONIC, &next);
        for (; c->asked < SECONDS * c->per_second; c->asked++) {
                char path[128] = "/watcher";
                if (!c->whole)
                        snprintf(path, sizeof path, "/watcher?host=ip-10-%d-%d-17.eu-west-1.compute.internal",
                                 c->asked % 20, c->asked % 250);
                double began = bench_seconds(CLOCK_MONOTONIC);
                c->bytes = ask(fd, path, into);
                c->took[c->asked] = bench_seconds(CLOCK_MONOTONIC) - began;
                next.tv_nsec += 1000000000 / c->per_second;
                next.tv_sec += next.tv_nsec / 1000000000;
                next.tv_nsec %= 1000000000;
                clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        }
        close(fd);
        c->cpu = bench_thread_seconds();
        return NULL;
}

static double client_p99(struct client *c)
{
        qsort(c->took, (size_t)c->asked, sizeof c->took[0], bench_by_value);
        return c->took[c->asked * 99 / 100] * 1e3;
}

static struct load_document *document(const struct cache *w, struct wall now, double *least)
{
        double began = bench_thread_seconds();
        struct load_document *d = load_document_new(w, now);
        bench_least(least, bench_thread_seconds() - began);
        if (load_document_nodes(d) != NODES)
                bench_fail("the document is not whole");
        return d;
}

int main(void)
{
        static struct client client[] = {{.per_second = WHOLE_PER_SECOND, .whole = true},
                                         {.per_second = ONE_PER_SECOND}};
        struct cache w;
        struct load_listener *l;
        struct err err = {0};
        pthread_t thread[2];
        struct wall now = now_read().wall;
        double made = 1e9;
        cache_init(&w, "halflife", "halflife");
        fill(&w, now);
        for (int i = 0; i < RUNS; i++)
                load_document_drop(document(&w, now, &made));
        if (load_listener_open("127.0.0.1:0", &l, &err) < 0)
                bench_fail("%s", err.text);
        load_listener_publish(l, document(&w, now, &made), mono_read());
        double before = bench_cpu_seconds();
        for (int i = 0; i < 2; i++) {
                client[i].address = load_listener_address(l);
                pthread_create(&thread[i], NULL, client_run, &client[i]);
        }
        for (int i = 0; i < 2; i++)
                pthread_join(thread[i], NULL);
        double served = bench_cpu_seconds() - before - client[0].cpu - client[1].cpu;
        bench_line("watcher: making the document, 5000 nodes", made * 1e3, "ms", "<= 20");
        bench_line("watcher: the whole document", (double)client[0].bytes / 1e6, "MB", "");
        bench_line("watcher: the whole document 4/s, p99", client_p99(&client[0]), "ms", "<= 20");
        bench_line("watcher: one node 100/s beside it, p99", client_p99(&client[1]), "ms", "<= 5");
        bench_line("watcher: CPU of serving both for a second", served / SECONDS * 1e3, "ms", "");
        load_listener_close(l);
        cache_release(&w);
        return 0;
}
