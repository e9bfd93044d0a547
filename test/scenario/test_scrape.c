/* Usage by Prometheus each cycle, in place of metrics-server: the same recommendation comes of it; one that knows of no
 * container is told as what it is. A gateway before it answers for the tenant that a header names. */
#include <stdlib.h>
#include <unistd.h>

#include "../support/story.h"
#include "../support/tmp.h"
#include "../unit/net/peer.h"

/* Names are kubelet's or nobody's; db-0 and db-1 use 250m and 300Mi, and so does a pod that nobody knows. */
static _Atomic bool silent;
/* What it tells of throttling: of db-0 this share, in per cent; less than 0: garbage, 0: nothing, more than 100: it
 * fails. */
static _Atomic int throttled;
static _Atomic int throttling_asked;
static _Atomic bool store_away; /* its answers say that they are only a part */

static bool answer_throttling(struct conn *c)
{
        const char *end = strstr(c->request, "&end=");
        char body[1024];
        int percent = throttled;
        throttling_asked++;
        if (percent > 100)
                return conn_answer(c, 503, NULL, "busy");
        if (percent < 0)
                return conn_answer(c, 200, NULL, "{\"status\":\"success\",\"data\":{\"result\":[{\"metric\":7");
        snprintf(body, sizeof body,
                 "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{\"namespace\":"
                 "\"recorded\",\"pod\":\"%s\",\"container\":\"app\"},\"values\":[[%.10s,\"0.%02d\"]]}]}}",
                 percent ? "db-0" : "stranger", end ? end + 5 : "0", percent);
        return conn_answer(c, 200, NULL, body);
}

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
        if (!conn_asks(c, "\r\nX-Scope-OrgID: shop\r\n"))
                return conn_answer(c, 401, NULL, "no org id");
        if (conn_asks(c, "container_cpu_cfs_throttled_periods_total"))
                return answer_throttling(c);
        for (size_t i = 0; !silent && conn_asks(c, "resource") && i < sizeof pods / sizeof pods[0]; i++, one = true)
                at += (size_t)snprintf(body + at, sizeof body - at,
                                       "%s{\"metric\":{\"namespace\":\"%s\",\"pod\":\"%s\",\"container\":\"app\"},"
                                       "\"values\":[[%.10s,\"%s\"]]}",
                                       one ? "," : "", "recorded", pods[i], end ? end + 5 : "0",
                                       cpu ? "0.25" : "314572800");
        snprintf(body + at, sizeof body - at, store_away ? "]},\"warnings\":[\"store-7 is away\"]}" : "]}}");
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

static bool loses_a_store(struct fake *f, struct story *s)
{
        (void)f, (void)s;
        store_away = true;
        return true;
}

static bool has_all_stores(struct fake *f, struct story *s)
{
        (void)f, (void)s;
        store_away = false;
        return true;
}

static bool throttle(int percent)
{
        throttled = percent;
        throttling_asked = 0;
        return true;
}

#define TELL(name, percent)                                                                                            \
        static bool name(struct fake *f, struct story *s)                                                              \
        {                                                                                                              \
                (void)f, (void)s;                                                                                      \
                return throttle(percent);                                                                              \
        }
TELL(throttled_much, 47)
TELL(throttled_less, 13)
TELL(throttled_little, 0)
TELL(fails, 101)
TELL(tells_garbage, -1)

/* Cycles have gone by with that answer, which is asked for once a cycle at most. Nothing else moves on the server. */
static bool asked_often(struct fake *f, struct story *s)
{
        enum { OFTEN = 4, TRIES = 3000 };
        (void)f, (void)s;
        for (int i = 0; i < TRIES && throttling_asked < OFTEN; i++)
                usleep(10000);
        return throttling_asked >= OFTEN;
}

/* A share of the last hour counts only of a container that ran for all of it. */
static bool ran_for_hours(struct fake *f, struct story *s)
{
        (void)s;
        static const char patch[] =
                "[{\"op\":\"replace\",\"path\":\"/status/startTime\",\"value\":\"2026-01-01T00:00:00Z\"},"
                "{\"op\":\"replace\",\"path\":\"/status/containerStatuses/0/state/running/startedAt\",\"value\":"
                "\"2026-01-01T00:00:01Z\"}]";
        return fake_patch(f, "/api/v1/namespaces/recorded/pods/db-0/status", "kubelet", patch) == 200;
}

#define TEAM_OF_DB TEAM("{resources: {memory: {enabled: true}}, apply: {minHistory: 2s}}")
#define DB                                                                                                             \
        WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}",                                                    \
             "{containers: [{name: app, resources: {requests: {cpu: '2', memory: 4Gi}, limits: {cpu: '4'}}}]}")
#define LIMITS(of) "status.containers[app].limits" of
#define LATER      CALL(asked_often)
#define DB_REC     "recommendations/statefulset-db"

static struct story stories[] = {
        STORY("recorded", TEAM_OF_DB, DB, EXPECT(DB_REC, "status.state", "Ready"),
              CHECK(DB_REC, "status.containers[app].cpu.model", "259m"),
              CHECK(DB_REC, "status.containers[app].memory.model", "316Mi"), CHECK(DB_REC, LIMITS(""), "-"),
              CALL(throttled_much), LATER, CHECK(DB_REC, LIMITS(""), "-"), CALL(ran_for_hours),
              EXPECT(DB_REC, LIMITS(".cpu.reason"), "Throttled"), CHECK(DB_REC, LIMITS(".cpu.throttledPercent"), "40"),
              CHECK(DB_REC, LIMITS(".cpu.current"), "4"), CHECK(DB_REC, LIMITS(".cpu.advised"), "5600m"),
              CHECK(DB_REC, LIMITS(".memory"), "-"),
              /* a query that fails keeps what was known */
              CALL(fails), LATER, CHECK(DB_REC, LIMITS(".cpu.throttledPercent"), "40"), CALL(tells_garbage), LATER,
              CHECK(DB_REC, LIMITS(".cpu.throttledPercent"), "40"), CALL(throttled_less),
              EXPECT(DB_REC, LIMITS(".cpu.throttledPercent"), "10"), CALL(throttled_little),
              EXPECT(DB_REC, LIMITS(""), "-"),
              CHECK("statefulsets/db", "spec.template.spec.containers[app].resources.limits.cpu", "4"),
              /* raised by hand: what was measured under the limit before says nothing about this one */
              CALL(throttled_much), EXPECT(DB_REC, LIMITS(".cpu.throttledPercent"), "40"),
              MERGE("statefulsets/db",
                    "{spec: {template: {spec: {containers: [{name: app, resources: {requests: {cpu: '2', memory: 4Gi}, "
                    "limits: {cpu: '5'}}}]}}}}"),
              EXPECT(DB_REC, LIMITS(""), "-"), CALL(throttled_much), LATER, CHECK(DB_REC, LIMITS(""), "-"),
              CALL(falls_silent), EXPECT("profiles/team", "status.conditions[Degraded].status", "True"),
              CHECK("profiles/team", "status.conditions[Degraded].reason", "UsageUnavailable"),
              CHECK("profiles/team", "status.conditions[Degraded].message", "~--prometheus-names"), CALL(speaks_again),
              EXPECT("profiles/team", "status.conditions[Degraded].status", "False"),
              /* of a part nothing is learned or applied, and its words are told */
              CALL(loses_a_store), EXPECT("profiles/team", "status.conditions[Degraded].reason", "UsageUnavailable"),
              CHECK("profiles/team", "status.conditions[Degraded].message", "~the store says 'store-7 is away'"),
              CALL(has_all_stores), EXPECT("profiles/team", "status.conditions[Degraded].status", "False")),
};

/* Nobody answers for metrics.k8s.io. */
static void without_metrics_server(struct fake *f)
{
        stories_metrics(f, FAKE_METRICS_MISSING);
}

int main(void)
{
        struct peer *p = peer_start(answer, NULL, NULL);
        char *headers = tmp_file("headers", "X-Scope-OrgID: shop\n");
        const char *args[] = {"--prometheus-url",
                              p->url,
                              "--usage-source",
                              "prometheus",
                              "--prometheus-names",
                              "kubelet",
                              "--prometheus-history",
                              "0s",
                              "--prometheus-headers-file",
                              headers,
                              NULL};
        int rc = stories_main("scrape", stories, sizeof stories / sizeof stories[0], args, without_metrics_server);
        peer_stop(p);
        mem_free(headers);
        return rc;
}
