/* Usage by Prometheus each cycle, in place of metrics-server: the same recommendation comes of it; one that knows of no
 * container is told as what it is. */
#include <stdlib.h>

#include "../support/story.h"
#include "../unit/net/peer.h"

/* Names are kubelet's or nobody's; db-0 and db-1 use 250m and 300Mi, and so does a pod that nobody knows. */
static _Atomic bool silent;

static bool answer(struct conn *c, void *arg)
{
        static const char *const pods[] = {"db-1", "db-0", "stranger"};
        bool cpu = conn_asks(c, "container_cpu_usage_seconds_total"), one = false;
        const char *end = strstr(c->request, "&end=");
        char body[4096];
        size_t at = (size_t)snprintf(body, sizeof body,
                                     "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\","
                                     "\"result\":[");
        (void)arg;
        for (size_t i = 0; !silent && conn_asks(c, "resource") && i < sizeof pods / sizeof pods[0]; i++, one = true)
                at += (size_t)snprintf(body + at, sizeof body - at,
                                       "%s{\"metric\":{\"namespace\":\"%s\",\"pod\":\"%s\",\"container\":\"app\"},"
                                       "\"values\":[[%.10s,\"%s\"]]}",
                                       one ? "," : "", "recorded", pods[i], end ? end + 5 : "0",
                                       cpu ? "0.25" : "314572800");
        snprintf(body + at, sizeof body - at, "]}}");
        return conn_answer(c, 200, NULL, body);
}

static bool falls_silent(struct fake *f, struct story *s)
{
        (void)f, (void)s;
        silent = true;
        return true;
}

static bool speaks_again(struct fake *f, struct story *s)
{
        (void)f, (void)s;
        silent = false;
        return true;
}

#define TEAM_OF_DB TEAM("{resources: {memory: {enabled: true}}, apply: {minHistory: 2s}}")
#define DB                                                                                                             \
        WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}",                                                    \
             "{containers: [{name: app, resources: {requests: {cpu: '2', memory: 4Gi}}}]}")
#define DB_REC "recommendations/statefulset-db"

static struct story stories[] = {
        STORY("recorded", TEAM_OF_DB, DB, EXPECT(DB_REC, "status.state", "Ready"),
              CHECK(DB_REC, "status.containers[app].cpu.model", "259m"),
              CHECK(DB_REC, "status.containers[app].memory.model", "316Mi"), CALL(falls_silent),
              EXPECT("profiles/team", "status.conditions[Degraded].status", "True"),
              CHECK("profiles/team", "status.conditions[Degraded].reason", "UsageUnavailable"),
              CHECK("profiles/team", "status.conditions[Degraded].message", "~--prometheus-names"), CALL(speaks_again),
              EXPECT("profiles/team", "status.conditions[Degraded].status", "False")),
};

/* Nobody answers for metrics.k8s.io. */
static void without_metrics_server(struct fake *f)
{
        stories_metrics(f, FAKE_METRICS_MISSING);
}

int main(void)
{
        struct peer *p = peer_start(answer, NULL, NULL);
        const char *args[] = {"--prometheus-url",
                              p->url,
                              "--usage-source",
                              "prometheus",
                              "--prometheus-names",
                              "kubelet",
                              "--prometheus-history",
                              "0s",
                              NULL};
        int rc = stories_main("scrape", stories, sizeof stories / sizeof stories[0], args, without_metrics_server);
        peer_stop(p);
        return rc;
}
