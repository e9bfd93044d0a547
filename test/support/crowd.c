#include "crowd.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "control/cycle.h"
#include "control/parts.h"
#include "control/telemetry.h"
#include "live_defaults.h"
#include "tmp.h"

enum { PUBLISH_MOST_S = 600 };

static const char policy[] = "apiVersion: halflife.dev/v1alpha1\n"
                             "kind: ClusterProfile\n"
                             "metadata: {name: bench}\n"
                             "spec: {apply: {mode: Recommend, minHistory: 0s}}\n";

static void fail(const char *what)
{
        fprintf(stderr, "bench: %s\n", what);
        exit(1);
}

static void server_begin(struct crowd *c, const char *self, int containers, const char *more)
{
        char *program = mem_printf("%.*s/../fake-apiserver", (int)(strrchr(self, '/') - self), self);
        char *profile = tmp_file("profile.yaml", policy);
        char *world = mem_printf("size=%d", containers);
        int out[2];
        char byte;
        c->kubeconfig = tmp_path("kubeconfig");
        if (pipe(out) < 0 || (c->server = fork()) < 0)
                fail("no process for the test API server");
        if (c->server == 0) {
                dup2(out[1], STDOUT_FILENO);
                execl(program, program, "--kubeconfig", c->kubeconfig, "--world", world, "--scrape", "1", "--load",
                      "crds", "--load", profile, "--reader", CROWD_TOKEN "=size-0000000", more ? "--load" : NULL, more,
                      (char *)NULL);
                _exit(127);
        }
        close(out[1]);
        if (read(out[0], &byte, 1) != 1) /* it says its address once it serves */
                fail("the test API server did not start (is this the project's folder?)");
        close(out[0]);
        mem_free(program);
        mem_free(profile);
        mem_free(world);
}

static const struct controller_options usual = {
        .ns = "halflife-system",
        .identity = "bench",
        .serve_listen = "127.0.0.1:0",
        .user_agent = "halflife-bench",
};

static struct controller_options options_at(int64_t interval_ms)
{
        struct controller_options o = usual;
        o.live = live_defaults();
        o.live.interval_ms = interval_ms;
        o.live.checkpoint_ms = HOUR_MS;
        o.live.retention_ms = DAY_MS;
        o.live.api_rate = 1e6;
        o.live.api_concurrency = 16;
        return o;
}

void crowd_begin(struct crowd *c, const char *self, int containers, int64_t interval_ms, const char *more)
{
        struct err err = {0};
        server_begin(c, self, containers, more);
        struct access_options where = {.kubeconfig = c->kubeconfig};
        struct controller_options options = options_at(interval_ms);
        c->loop = loop_new();
        if (access_load(&where, &c->access, &err) < 0 ||
            controller_new(c->loop, c->access, &options, &c->controller, &err) < 0)
                fail(err.text);
}

void crowd_end(struct crowd *c)
{
        controller_free(c->controller);
        loop_free(c->loop);
        access_free(c->access);
        kill(c->server, SIGTERM);
        waitpid(c->server, NULL, 0);
        mem_free(c->kubeconfig);
}

const char *crowd_rest_address(const struct crowd *c)
{
        return server_rest_address(controller_parts(c->controller)->server);
}

uint64_t crowd_writes(const struct crowd *c)
{
        return telemetry_writes(controller_parts(c->controller)->telemetry);
}

void crowd_next_cycle(struct crowd *c)
{
        const struct parts *p = controller_parts(c->controller);
        uint64_t now = p->pass.cycles;
        while (p->pass.cycles == now || !cycle_is_idle(p->cycle))
                loop_turn(c->loop, 100);
}

double crowd_publish_all(struct crowd *c)
{
        struct mono begin = mono_read();
        uint64_t written = 0, before;
        do {
                before = written;
                crowd_next_cycle(c);
                written = crowd_writes(c);
                if (mono_read().ns - begin.ns > (int64_t)PUBLISH_MOST_S * 1000000000)
                        fail("the first publishing does not end");
        } while (written != before || written == 0 || work_waiting(controller_parts(c->controller)->applier) > 0);
        return (double)(mono_read().ns - begin.ns) / 1e9;
}

void crowd_set_interval(struct crowd *c, int64_t interval_ms)
{
        struct controller_options options = options_at(interval_ms);
        controller_reconfigure(c->controller, &options.live);
}
