/*
 * Single recommendations read at a whole controller's REST API for a minute, in which it has at least one cycle of
 * 100 000 containers: what a cycle and its view cost those who read meanwhile.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "../test/support/crowd.h"
#include "../test/support/press.h"
#include "control/parts.h"
#include "line.h"

enum { CONTAINERS = 100000, WORKLOADS_OF_ONE_NAMESPACE = 100, QUICK_MS = 2500, SECONDS = 60, INTERVAL_MS = 50000 };

struct work {
        struct press press;
        struct pressed got;
        atomic_bool done;
};

static void *work(void *arg)
{
        struct work *w = arg;
        w->got = press(&w->press);
        atomic_store(&w->done, true);
        return NULL;
}

int main(int argc, char **argv)
{
        (void)argc;
        struct crowd crowd = {0};
        log_setup(LOG_ERROR, false);
        crowd_begin(&crowd, argv[0], CONTAINERS, QUICK_MS, NULL);
        crowd_publish_all(&crowd);
        crowd_set_interval(&crowd, INTERVAL_MS);
        struct work w = {.press = {.address = crowd_rest_address(&crowd),
                                   .seconds = SECONDS,
                                   .token = CROWD_TOKEN,
                                   .path = "/api/v1/namespaces/size-0000000/workloads/Deployment/checkout-service-",
                                   .most = WORKLOADS_OF_ONE_NAMESPACE,
                                   .digits = 7}};
        uint64_t cycles = controller_parts(crowd.controller)->pass.cycles;
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, &w) != 0)
                return 1;
        while (!atomic_load(&w.done))
                loop_turn(crowd.loop, 100);
        pthread_join(thread, NULL);
        bench_line("REST reads at a controller", w.got.rate, "requests/s", ">= 50000");
        bench_line("REST reads at a controller, p99", w.got.p99_ms, "ms", "< 2");
        bench_line("REST reads at a controller, the longest", w.got.longest_ms, "ms", "");
        bench_line("cycles of 100000 meanwhile", (double)(controller_parts(crowd.controller)->pass.cycles - cycles), "",
                   ">= 1");
        crowd_end(&crowd);
        return 0;
}
