/*
 * What the web page costs: the CPU of each of its answers over 10 000 workloads, and admission while ten pages are
 * open, each of which asks for its lists and sums once a second.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "../test/support/press.h"
#include "../test/support/stand.h"
#include "line.h"

enum { WORKLOADS = 10000, PAGES = 10, SECONDS = 10, TIMES = 50 };

#define LIST                                                                                                           \
        "/api/v1/workloads?sort=-cpuSaving&limit=50&fields=metadata,profile,status.state,status.mode,status.pod,"      \
        "status.saving,status.conditions"

static const char *const asked[] = {
        LIST,
        "/api/v1/workloads?sort=name&search=web-99&limit=50",
        "/api/v1/summary",
        "/api/v1/profiles",
        "/api/v1/profiles/what-if",
        "/api/v1/changes?limit=50&offset=5000",
        "/ui/main.js",
};
enum { ASKED = sizeof asked / sizeof asked[0] };

static struct stand stand;
static atomic_bool over;

static void page_ask(const char *path)
{
        struct got g = stand_ask(&stand, path, (struct fetch){.token = "good", .header = "Accept-Encoding: gzip"});
        if (g.status != 200)
                bench_fail("%s: %ld", path, g.status);
        got_release(&g);
}

/* Of the listener's threads: the one that asks is not counted. */
static double page_seconds(void)
{
        return bench_cpu_seconds() - bench_seconds(CLOCK_THREAD_CPUTIME_ID);
}

/* The first that asks in a cycle pays for all. */
static void measure_what_if(void)
{
        double began = page_seconds();
        page_ask("/api/v1/profiles/what-if");
        bench_line("what-if of all profiles, once a cycle", (page_seconds() - began) * 1e3, "ms", "");
}

static void measure_answers(void)
{
        for (int i = 0; i < ASKED; i++) {
                char name[64];
                page_ask(asked[i]);
                double began = page_seconds();
                for (int k = 0; k < TIMES; k++)
                        page_ask(asked[i]);
                snprintf(name, sizeof name, "%.32s, CPU of each", asked[i]);
                bench_line(name, (page_seconds() - began) / TIMES * 1e3, "ms", "<= 5");
        }
}

static void *open_page(void *arg)
{
        (void)arg;
        while (!atomic_load(&over)) {
                for (int i = 0; i < ASKED; i++)
                        page_ask(asked[i]);
                sleep(1);
        }
        return NULL;
}

static void measure_admission(int pages)
{
        pthread_t page[PAGES];
        char name[64];
        const struct press p = {
                .address = stand.address, .seconds = SECONDS, .body = STAND_REVIEW(STAND_OWNED), .path = "/admission"};
        atomic_store(&over, false);
        for (int i = 0; i < pages; i++)
                if (pthread_create(&page[i], NULL, open_page, NULL) != 0)
                        bench_fail("no thread");
        struct pressed got = press(&p);
        atomic_store(&over, true);
        for (int i = 0; i < pages; i++)
                pthread_join(page[i], NULL);
        snprintf(name, sizeof name, "admission, %d pages open", pages);
        bench_line(name, got.rate, "requests/s", "");
        snprintf(name, sizeof name, "admission, %d pages open, p99", pages);
        bench_line(name, got.p99_ms, "ms", "< 5");
}

int main(void)
{
        stand_begin(&stand, &(struct rest_listener_options){.admission = true});
        stand.learned = true;
        stand_publish(&stand, WORKLOADS, NULL);
        measure_what_if();
        measure_answers();
        measure_admission(0);
        measure_admission(PAGES);
        stand_end(&stand);
        return 0;
}
