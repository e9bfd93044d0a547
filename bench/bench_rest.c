/*
 * REST answers without sockets: matching and answering with 100 000 workloads in memory, on one core.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../test/unit/rest/routes_fixture.h"
#include "line.h"

enum { WORKLOADS = 100000, ANSWERS = 200000, RUNS = 3 };

static void fill(struct fixture *f)
{
        static const char *const spaces[] = {"bank", "shop", "stock", "web"};
        for (int i = 0; i < WORKLOADS; i++) {
                char *name = (char *)arena_new(&f->view->arena, 48);
                snprintf(name, 48, "a-service-with-a-long-name-%05d", i);
                fixture_target(f, spaces[i % 4], "apps", "Deployment", name, fixture_containers(f->view, 1), 1);
        }
        f->view->ready = true;
        snapshot_finish(f->view);
}

/* Answers a second, the best of several runs. %05d in url is drawn anew for each. */
static double rate(struct fixture *f, const char *url, const char *tail, int answers)
{
        double best = 0;
        for (int run = 0; run < RUNS; run++) {
                unsigned seed = 12345;
                double start = bench_cpu_seconds();
                for (int i = 0; i < answers; i++) {
                        char text[256];
                        seed = seed * 1103515245 + 12345;
                        snprintf(text, sizeof text, "%s%05u%s", url, (seed >> 8) % (WORKLOADS / 4) * 4 + 1, tail);
                        fixture_get(f, tail ? text : url);
                        if (f->got.status != 200)
                                abort();
                }
                double took = answers / (bench_cpu_seconds() - start);
                best = took > best ? took : best;
        }
        return best;
}

int main(void)
{
#define SHOP "/api/v1/namespaces/shop/workloads"
#define ONE  SHOP "/deploy/a-service-with-a-long-name-"
        struct fixture f;
        fixture_init(&f);
        fill(&f);
        bench_line("REST one of 100000, no socket", rate(&f, ONE, "", ANSWERS), "answers/s", ">= 50000");
        bench_line("REST one, for another original", rate(&f, ONE, "?original=cpu:2,memory:4Gi", ANSWERS), "answers/s",
                   "");
        bench_line("REST page of 100", rate(&f, SHOP, NULL, ANSWERS / 100), "answers/s", "");
        bench_line("REST page of 500, three fields",
                   rate(&f, SHOP "?limit=500&fields=metadata.name,status.state,status.containers.cpu.target", NULL,
                        ANSWERS / 1000),
                   "answers/s", "");
        bench_line("REST page, a selector that nothing meets",
                   rate(&f, SHOP "?labelSelector=missing=x", NULL, ANSWERS / 1000), "answers/s", "");
        bench_line("REST histogram", rate(&f, ONE, "/histogram?resource=cpu", ANSWERS / 4), "answers/s", "");
        bench_line("REST explain", rate(&f, ONE, "/explain", ANSWERS / 8), "answers/s", "");
        fixture_release(&f);
        return 0;
}
