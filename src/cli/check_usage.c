#include "check_usage.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/noun.h"
#include "cli/version.h"
#include "core/usage.h"
#include "kube/pod_metrics.h"
#include "prometheus/prometheus.h"

struct usage_seen {
        const struct checking *checking;
        int64_t odd_pods, future_pods, ahead_ms;
        char odd[256], future[256]; /* names of the first odd pod and of the first future pod */
        bool done;
        struct metrics_result result;
};

static void check_usage_each(void *arg, const struct pod_metrics_view *m, struct wall date)
{
        struct usage_seen *u = arg;
        struct wall now = loop_now(u->checking->session.loop).wall;
        int64_t ahead_ms = m->at.ms - (date.ms > now.ms ? date.ms : now.ms);
        if (m->lacks && u->odd_pods++ == 0)
                snprintf(u->odd, sizeof u->odd, "%.*s/%.*s", TEXT_ARG(m->ns), TEXT_ARG(m->name));
        if (ahead_ms > USAGE_FUTURE_MS && u->future_pods++ == 0)
                snprintf(u->future, sizeof u->future, "%.*s/%.*s", TEXT_ARG(m->ns), TEXT_ARG(m->name));
        if (ahead_ms > u->ahead_ms)
                u->ahead_ms = ahead_ms;
}

static void check_usage_done(void *arg, const struct metrics_result *r)
{
        struct usage_seen *u = arg;
        u->result = *r;
        u->done = true;
}

static void check_usage_say(struct checking *c, const struct usage_seen *u)
{
        char line[ERR_TEXT_MAX + 128], compare[96];
        if (u->result.refused > 0) {
                snprintf(line, sizeof line, "usage of %s cannot be read", NOUN_COUNT(u->result.refused, "pod"));
                snprintf(compare, sizeof compare, "compare kubectl get --raw /apis/metrics.k8s.io/%s/pods",
                         u->result.version);
                check_tell(c, DOUBTFUL, line, compare);
        }
        if (u->odd_pods > 0) {
                snprintf(line, sizeof line,
                         "usage of %s has containers without a name or with unreadable values, or more than "
                         "64, first %s",
                         NOUN_COUNT(u->odd_pods, "pod"), u->odd);
                check_tell(c, DOUBTFUL, line, "these containers learn nothing: the container runtime reports them so");
        }
        if (u->future_pods > 0) {
                snprintf(line, sizeof line, "usage of %s is dated up to %lld s ahead, first %s",
                         NOUN_COUNT(u->future_pods, "pod"), (long long)(u->ahead_ms / SECOND_MS), u->future);
                check_tell(c, DOUBTFUL, line, "such samples are refused: correct the clock of that pod's node");
        }
        if (u->result.refused + u->odd_pods + u->future_pods == 0) {
                snprintf(line, sizeof line, "usage of %s", NOUN_COUNT(u->result.pods, "pod"));
                check_tell(c, GOOD, line, NULL);
        }
}

/* --- nodes --- */

struct node_usage_seen {
        const struct checking *checking;
        int64_t nodes, odd_nodes, future_nodes;
        char odd[256], future[256]; /* names of the first odd node and of the first future node */
        bool done, absent;
        struct err err;
};

static void check_node_see(struct node_usage_seen *u, struct text name, struct wall at, bool sound, struct wall date)
{
        struct wall now = loop_now(u->checking->session.loop).wall;
        u->nodes++;
        if (!sound && u->odd_nodes++ == 0)
                snprintf(u->odd, sizeof u->odd, "%.*s", TEXT_ARG(name));
        if (at.ms - (date.ms > now.ms ? date.ms : now.ms) > USAGE_FUTURE_MS && u->future_nodes++ == 0)
                snprintf(u->future, sizeof u->future, "%.*s", TEXT_ARG(name));
}

static void check_node_each(void *arg, const struct node_metrics_view *m, struct wall date)
{
        bool sound = m->has[CPU] && m->has[MEMORY] && m->cpu_nano >= 0 && m->memory_bytes > 0;
        check_node_see(arg, m->name, m->at, sound, date);
}

static void check_node_done(void *arg, const struct metrics_result *r)
{
        struct node_usage_seen *u = arg;
        u->err = r->err;
        u->absent = r->absent;
        u->done = true;
}

static void check_node_fetched(void *arg, const struct prometheus_answer *a)
{
        struct node_usage_seen *u = arg;
        for (size_t i = 0; a->err.code == 0 && i < a->points; i++)
                check_node_see(u, a->series[a->point[i].series].pod, a->point[i].at,
                               a->point[i].has[CPU] && a->point[i].has[MEMORY], a->date);
        u->err = a->err;
        u->done = true;
}

static void check_node_say(struct checking *c, const struct node_usage_seen *u)
{
        char line[ERR_TEXT_MAX + 128];
        if (u->absent) /* check_apis has printed that there is no metrics API */
                return;
        if (u->err.code && u->nodes == 0) {
                check_tell(c, DOUBTFUL, u->err.text, "without it halflife nodes has no usage; nothing else needs it");
                return;
        }
        if (u->odd_nodes > 0) {
                snprintf(line, sizeof line, "usage of %s lacks a value or is negative, first %s",
                         NOUN_COUNT(u->odd_nodes, "node"), u->odd);
                check_tell(c, DOUBTFUL, line, "such samples are refused: do these nodes' kubelets report?");
        }
        if (u->future_nodes > 0) {
                snprintf(line, sizeof line, "usage of %s is dated more than 5 min ahead, first %s",
                         NOUN_COUNT(u->future_nodes, "node"), u->future);
                check_tell(c, DOUBTFUL, line, "such samples are refused: correct the nodes' clocks");
        }
        if (u->odd_nodes + u->future_nodes == 0) {
                snprintf(line, sizeof line, "usage of %s", NOUN_COUNT(u->nodes, "node"));
                check_tell(c, u->nodes ? GOOD : DOUBTFUL, line,
                           u->nodes ? NULL : "without it halflife nodes has no usage; nothing else needs it");
        }
}

static void check_node_prometheus(struct checking *c, struct node_usage_seen *u)
{
        struct prometheus_options o = c->settings.controller.prometheus;
        struct prometheus *p;
        struct wall now = {whole_second(loop_now(c->session.loop).wall.ms)};
        const struct prometheus_slice slice = {.of = PROMETHEUS_NODES,
                                               .from = now,
                                               .to = now,
                                               .step_ms = MINUTE_MS,
                                               .deadline_ms = 10 * SECOND_MS,
                                               .points_most = 16 * PROMETHEUS_INSTANT_POINTS};
        o.user_agent = version_user_agent();
        if (!o.url || prometheus_new(c->session.loop, &o, &p, &u->err) < 0)
                return; /* check_prometheus prints the error */
        prometheus_fetch(p, &slice, check_node_fetched, u);
        while (!u->done)
                loop_turn(c->session.loop, -1);
        prometheus_free(p);
        check_node_say(c, u);
}

void check_node_usage(struct checking *c)
{
        enum { ASK_MS = 30 * SECOND_MS };
        struct node_usage_seen u = {.checking = c};
        switch (c->settings.controller.usage_from) {
        case USAGE_FROM_PROMETHEUS:
                check_node_prometheus(c, &u);
                return;
        case USAGE_FROM_METRICS_SERVER:
                metrics_poll_nodes(c->session.client, ASK_MS, check_node_each, check_node_done, &u);
                while (!u.done)
                        loop_turn(c->session.loop, -1);
                check_node_say(c, &u);
                return;
        }
}

/* --- pods --- */

static void check_metrics_server(struct checking *c)
{
        enum { ASK_MS = 30 * SECOND_MS };
        struct usage_seen u = {.checking = c};
        metrics_poll(c->session.client, NULL, ASK_MS, check_usage_each, check_usage_done, &u);
        while (!u.done)
                loop_turn(c->session.loop, -1);
        if (u.result.err.code == 0 || u.result.pods > 0)
                check_usage_say(c, &u);
        else if (!u.result.absent) /* else check_apis has printed that there is no metrics API */
                check_tell(c, DOUBTFUL, u.result.err.text,
                           u.result.err.code == ERR_DENIED ? "these credentials may not list pods of metrics.k8s.io"
                                                           : "is metrics-server ready?");
}

void check_usage(struct checking *c)
{
        switch (c->settings.controller.usage_from) {
        case USAGE_FROM_METRICS_SERVER:
                check_metrics_server(c);
                return;
        case USAGE_FROM_PROMETHEUS: /* check_prometheus checks the usage that Prometheus has */
                return;
        }
}
