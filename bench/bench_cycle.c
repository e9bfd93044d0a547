/*
 * Whole cycles at 100 000 containers: the test API server as a process of its own, the controller with its REST
 * listener in this one. CPU is that of the loop's thread from the end of one cycle to the end of the next, so that
 * nothing between them is missed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../test/support/crowd.h"
#include "control/parts.h"
#include "line.h"

enum { CONTAINERS = 100000, WARM = 3, CYCLES = 10, INTERVAL_MS = 2500 };

static void steady(struct crowd *crowd)
{
        const struct parts *c = controller_parts(crowd->controller);
        double took[CYCLES], wall[CYCLES];
        uint64_t samples = learner_counts(c->learner)->samples[SAMPLE_ACCEPTED], writes = crowd_writes(crowd);
        for (int i = 0; i < CYCLES; i++) {
                double begin = bench_thread_seconds();
                crowd_next_cycle(crowd);
                took[i] = bench_thread_seconds() - begin;
                wall[i] = c->pass.last_cycle_seconds;
        }
        qsort(took, CYCLES, sizeof took[0], bench_by_value);
        qsort(wall, CYCLES, sizeof wall[0], bench_by_value);
        bench_line("cycle CPU, 100000 containers, median", took[CYCLES / 2], "s", "<= 0.3");
        bench_line("cycle CPU, 100000 containers, most", took[CYCLES - 1], "s", "");
        bench_line("cycle time, test server's included, median", wall[CYCLES / 2], "s", "");
        bench_line("cycle samples folded",
                   (double)(learner_counts(c->learner)->samples[SAMPLE_ACCEPTED] - samples) / CYCLES, "", "= 100000");
        bench_line("cycle API writes in ten quiet ones", (double)(crowd_writes(crowd) - writes), "", "= 0");
}

static void memory(double begun)
{
        double bytes = (double)mem_resident(), budget = 64 * 1048576.0 + 800.0 * CONTAINERS;
        char text[64];
        snprintf(text, sizeof text, "<= %.3f", budget / 1e6);
        bench_line("memory, 100000 containers", bytes / 1e6, "MB", text);
        bench_line("memory a container, over an empty process", (bytes - begun) / CONTAINERS, "B", "");
}

int main(int argc, char **argv)
{
        (void)argc;
        struct crowd crowd = {0};
        log_setup(LOG_ERROR, false);
        double begun = (double)mem_resident();
        crowd_begin(&crowd, argv[0], CONTAINERS, INTERVAL_MS, NULL);
        double took = crowd_publish_all(&crowd);
        bench_line("cycle first publishing, 20000 targets", took, "s", "");
        for (int i = 0; i < WARM; i++)
                crowd_next_cycle(&crowd);
        memory(begun);
        steady(&crowd);
        crowd_end(&crowd);
        return 0;
}
