/*
 * Ten thousand cycles while the cluster never rests: workloads and whole namespaces come and go, pods roll, profiles
 * change, values are applied, checkpoints written. Resident memory must stay as it was after the first thousand. The
 * test API server is another process, so that only the controller is weighed. Argument: how many cycles.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../test/fake/apiserver.h"
#include "../test/support/live_defaults.h"
#include "../test/support/tmp.h"
#include "base/mem.h"
#include "control/parts.h"
#include "line.h"

enum { CYCLES = 10000, CHANGE_EVERY = 5, STANDING = 40, LIFE = 8, INTERVAL_MS = 5 };

/* --- the cluster's process: one change for each byte it is sent --- */

static void put_profile(struct fake *f, int turn)
{
        AUTO(mem_free)
        char *body = mem_printf(
                "{\"apiVersion\":\"halflife.dev/"
                "v1alpha1\",\"kind\":\"ClusterProfile\",\"metadata\":{\"name\":\"soak\"},"
                "\"spec\":{\"priority\":%d,\"resources\":{\"cpu\":{\"percentile\":%d,\"halfLife\":\"%dh\"},\"memory\":{"
                "\"enabled\":true}},\"apply\":{\"mode\":\"Rollout\",\"minHistory\":\"0s\",\"cooldown\":\"0s\","
                "\"minChangePercent\":1,\"budget\":{\"workloads\":0,\"coresPerHour\":0}}}}",
                turn % 7, 90 + turn % 10, 24 + turn % 3);
        fake_put(f, "platform", body);
}

static void put_deployment(struct fake *f, const char *ns, const char *name, int turn)
{
        AUTO(mem_free)
        char *body = mem_printf(
                "{\"apiVersion\":\"apps/"
                "v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\","
                "\"labels\":{\"app\":\"%s\",\"team\":\"t%d\"}},\"spec\":{\"replicas\":3,\"selector\":{\"matchLabels\":{"
                "\"app\":\"%s\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"%s\"},\"annotations\":{\"turn\":\"%"
                "d\","
                "\"kwok.x-k8s.io/usage-cpu\":\"%dm\",\"kwok.x-k8s.io/"
                "usage-memory\":\"%dMi\"}},\"spec\":{\"containers\":[{"
                "\"name\":\"app\",\"image\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}]}}}"
                "}",
                name, ns, name, turn % 5, name, name, turn, 50 + turn % 400, 64 + turn % 300);
        fake_put(f, "owner", body);
}

/* Of four changes: a rollout, a profile edited, a namespace with a workload made, another one gone. */
static void change(struct fake *f, int turn)
{
        char name[32], path[64];
        int passing = turn / 4;
        switch (turn % 4) {
        case 0:
                snprintf(name, sizeof name, "standing-%d", passing % STANDING);
                put_deployment(f, "standing", name, turn);
                break;
        case 1:
                put_profile(f, turn);
                break;
        case 2:
                snprintf(name, sizeof name, "passing-%d", passing);
                put_deployment(f, name, name, turn);
                break;
        case 3:
                snprintf(path, sizeof path, "/api/v1/namespaces/passing-%d", passing - LIFE);
                fake_delete(f, path);
        }
}

static _Noreturn void cluster(const char *kubeconfig, int orders)
{
        struct fake_options o = {.seed = 1};
        struct fake_metrics metrics = {.step_ms = 1000};
        struct fake *f = fake_new(&o);
        char byte, name[32];
        if (!f || !fake_load(f, "crds"))
                bench_fail("the test API server did not start (is this the project's folder?)");
        fake_set_metrics(f, &metrics);
        put_profile(f, 0);
        for (int i = 0; i < STANDING; i++) {
                snprintf(name, sizeof name, "standing-%d", i);
                put_deployment(f, "standing", name, i);
        }
        if (!fake_write_kubeconfig(f, kubeconfig))
                bench_fail("no kubeconfig");
        for (int turn = 0; read(orders, &byte, 1) == 1; turn++)
                change(f, turn);
        fake_free(f);
        _exit(0);
}

/* --- the controller's --- */

struct soak {
        struct loop *loop;
        struct access *access;
        struct controller *controller;
        char *kubeconfig, *database;
        int orders;
};

static void begin(struct soak *s)
{
        struct access_options where = {.kubeconfig = s->kubeconfig};
        struct controller_options options = {
                .live = live_defaults(),
                .ns = "halflife-system",
                .identity = "soak",
                .database = s->database,
                .listen = "127.0.0.1:0",
                .user_agent = "halflife-bench",
        };
        struct err err = {0};
        options.live.interval_ms = INTERVAL_MS;
        options.live.checkpoint_ms = options.live.status_ms = options.live.retention_ms = SECOND_MS;
        options.live.api_rate = 1e6;
        while (access(s->kubeconfig, R_OK) != 0)
                usleep(10000);
        s->loop = loop_new();
        if (access_load(&where, &s->access, &err) < 0 ||
            controller_new(s->loop, s->access, &options, &s->controller, &err) < 0)
                bench_fail("%s", err.text);
}

static void end(struct soak *s)
{
        controller_stop(s->controller);
        loop_run(s->loop);
        controller_free(s->controller);
        loop_free(s->loop);
        access_free(s->access);
        mem_free(s->kubeconfig);
        mem_free(s->database);
}

/* Turn until so many cycles have ended, the cluster changing meanwhile. */
static void run_until(struct soak *s, uint64_t cycles)
{
        const uint64_t *now = &controller_parts(s->controller)->pass.cycles;
        while (*now < cycles) {
                uint64_t before = *now;
                loop_turn(s->loop, 100);
                if (*now != before && *now % CHANGE_EVERY == 0 && write(s->orders, "", 1) != 1)
                        bench_fail("the cluster is gone");
        }
}

int main(int argc, char **argv)
{
        uint64_t cycles = argc > 1 ? strtoull(argv[1], NULL, 10) : CYCLES;
        int orders[2];
        struct soak s = {.kubeconfig = tmp_path("kubeconfig"), .database = tmp_path("soak.db")};
        if (pipe(orders) < 0)
                bench_fail("no pipe");
        pid_t pid = fork();
        if (pid == 0) {
                close(orders[1]);
                cluster(s.kubeconfig, orders[0]);
        }
        close(orders[0]);
        s.orders = orders[1];
        log_setup(LOG_ERROR, false);
        begin(&s);
        run_until(&s, cycles / 10);
        double early = (double)mem_resident();
        run_until(&s, cycles);
        double late = (double)mem_resident();
        bench_line("soak cycles", (double)controller_parts(s.controller)->pass.cycles, "", "");
        bench_line("soak templates patched", (double)applier_counts(controller_parts(s.controller)->applier)->applied,
                   "", "");
        bench_line("soak memory after a tenth of them", early / 1e6, "MB", "");
        bench_line("soak memory after all", late / 1e6, "MB", "");
        bench_line("soak growth", late / early, "", "<= 1.05");
        close(s.orders);
        end(&s);
        waitpid(pid, NULL, 0);
        return 0;
}
