/* Histories from before: a Prometheus knows of a day, halflife of a minute. */
#include <stdlib.h>

#include "../support/story.h"
#include "../unit/net/peer.h"
#include "base/buf.h"
#include "base/clock.h"

enum { STEP_S = 300, DAY_S = 86400 };

/* A Prometheus that fails first, then knows of constant usage all day: 400m and 500Mi. */
static struct {
        _Atomic int refused, too_large, answered, not_understood, never_whole, parts;
        _Atomic bool narrow;    /* was asked for less at once after it was too much */
        _Atomic bool narrowest; /* one step was too much, too */
        _Atomic bool whole;     /* no store behind it is away any more */
} prometheus;
static struct mono begun; /* the stories */

static double number_after(const char *text, const char *key)
{
        const char *at = strstr(text, key);
        return at ? strtod(at + strlen(key), NULL) : 0;
}

/* The first `firsts` points have another value. */
static void add_starting(struct buf *out, const char *ns, const char *pod, const char *first, int firsts,
                         const char *value, double from, double to, double step)
{
        if (out->len && out->data[out->len - 1] == '}')
                (void)buf_add_text(out, ",");
        (void)buf_printf(out, "{\"metric\":{\"namespace\":\"%s\",\"pod\":\"%s\",\"container\":\"app\"},\"values\":[",
                         ns, pod);
        for (double at = from; at <= to; at += step)
                (void)buf_printf(out, "%s[%.3f,\"%s\"]", at > from ? "," : "", at, firsts-- > 0 ? first : value);
        (void)buf_add_text(out, "]}");
}

static void add_series(struct buf *out, const char *ns, const char *pod, const char *value, double from, double to,
                       double step)
{
        add_starting(out, ns, pod, "", 0, value, from, to, step);
}

/* The answer for namespace "gapped" while a store is away: an eighth of its usage, and a word that it is a part. */
static bool answers_part(const char *ns)
{
        return strcmp(ns, "gapped") == 0 && !prometheus.whole;
}

static bool answer_range(struct conn *c, const char *ns)
{
        double from = number_after(c->request, "&start="), to = number_after(c->request, "&end="),
               step = number_after(c->request, "&step=");
        bool cpu = conn_asks(c, "container_cpu_usage_seconds_total");
        bool part = answers_part(ns);
        const char *value = part ? cpu ? "0.05" : "65536000" : cpu ? "0.4" : "524288000";
        struct buf out = {0};
        buf_init(&out, 16 << 20);
        (void)buf_add_text(&out, "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[");
        if (strcmp(ns, "gone") == 0 || strcmp(ns, "good") == 0 || strcmp(ns, "gapped") == 0) {
                add_series(&out, ns, "web-7d7f4c499d-gvh4r", value, from, to, step);
                add_series(&out, ns, "other-7d7f4c499d-gvh4r", "1e3", from, to, step); /* of nobody here */
        } else if (strcmp(ns, "spike") == 0 || strcmp(ns, "counted") == 0) {
                add_series(&out, ns, "web-7d7f4c499d-gvh4r", value, from, to, step);
                add_starting(&out, ns, "web-7d7f4c499d-zzzzz", cpu ? "1.5" : value, 3, value, from + 24 * step, to,
                             step);
        } else if (strcmp(ns, "large") == 0 || strcmp(ns, "busy") == 0) {
                add_series(&out, ns, "db-0", value, from, to, step);
                add_series(&out, ns, "db-1", value, from, to, step);
        }
        (void)buf_add_text(&out, part ? "]},\"isPartial\":true}" : "]}}");
        prometheus.parts += part;
        prometheus.answered++;
        bool go_on = conn_answer(c, 200, NULL, out.data);
        buf_release(&out);
        return go_on;
}

static bool answer(struct conn *c, void *arg)
{
        char ns[64] = "";
        const char *at = strstr(c->request, "namespace%3D%22");
        double span = number_after(c->request, "&end=") - number_after(c->request, "&start=");
        (void)arg;
        if (at)
                sscanf(at + strlen("namespace%3D%22"), "%63[a-z]", ns);
        if (strcmp(ns, "busy") == 0 && prometheus.refused < 2) {
                prometheus.refused++;
                return conn_answer(c, 503, NULL, "busy");
        }
        if (strcmp(ns, "large") == 0 && span > DAY_S / 2) {
                prometheus.too_large++;
                return conn_answer(c, 422, NULL, "{\"error\":\"too many samples\"}");
        }
        if (strcmp(ns, "refused") == 0) {
                prometheus.not_understood++;
                return conn_answer(c, 400, NULL, "{\"error\":\"bad_data\"}");
        }
        if (strcmp(ns, "halved") == 0) {
                prometheus.never_whole++;
                return conn_answer(c, 200, NULL,
                                   "{\"status\":\"success\",\"data\":{\"result\":[]},\"warnings\":[\"store-3 is "
                                   "away\"]}");
        }
        if (strcmp(ns, "huge") == 0) {
                prometheus.narrowest |= span < STEP_S;
                return conn_answer(c, 422, NULL, "{\"error\":\"too many samples\"}");
        }
        prometheus.narrow |= strcmp(ns, "large") == 0;
        return answer_range(c, ns);
}

/* Half a day of history is asked for: without that of before it would take as long. 400m is in the bucket that ends at
 * 415m. */
#define HALF_A_DAY TEAM("{resources: {memory: {enabled: true}}, apply: {minHistory: 12h}}")
/* The pod of a series that begins within the day is gone, and started with 1.5 cores for a quarter of an hour. */
#define HIGHEST(more)                                                                                                  \
        TEAM("{resources: {cpu: {percentile: 100" more "}, memory: {enabled: true}}, apply: {minHistory: 12h}}")
#define LEARNED(rec)                                                                                                   \
        EXPECT(rec, "status.state", "Ready"), CHECK(rec, "status.containers[app].cpu.model", "415m"),                  \
                CHECK(rec, "status.containers[app].cpu.original", "2")
#define READY(of) "status.conditions[Ready]." of
#define REQUESTS  "[{name: app, resources: {requests: {cpu: '2', memory: 4Gi}}}]"

/* A day by steps of five minutes of the pods that are told of, and what was learned live: a sample a second of each of
 * two pods since the stories began. */
static bool has_the_day(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *is = NULL;
        const char *rec = s->name[0] == 'g' ? REC : "recommendations/statefulset-db";
        (void)story_is(f, s, rec, "status.samples", "-", &is);
        int told = s->name[0] == 'g' ? 1 : 2, least = told * (DAY_S / STEP_S - 2);
        int live = (int)((now_read().mono.ns - begun.ns) / 1000000000) + 1;
        return is && atoi(is) >= least && atoi(is) <= least + told * 4 + 2 * live;
}

static bool asked_again(struct fake *f, struct story *s)
{
        (void)f, (void)s;
        return prometheus.refused >= 2;
}

static bool asked_for_less(struct fake *f, struct story *s)
{
        (void)f, (void)s;
        return prometheus.too_large > 0 && prometheus.narrow;
}

static bool others_are_refused(struct fake *f, struct story *s)
{
        (void)f, (void)s;
        return prometheus.not_understood > 0 && prometheus.narrowest;
}

static bool all_stores_are_back(struct fake *f, struct story *s)
{
        (void)f, (void)s;
        prometheus.whole = true;
        return prometheus.parts > 0;
}

/* For CPU and for memory at most, each time. */
static bool asked_thrice(struct fake *f, struct story *s)
{
        (void)f, (void)s;
        return prometheus.never_whole > 4;
}

/* For CPU and for memory: once. */
static bool not_asked_again(struct fake *f, struct story *s)
{
        (void)f, (void)s;
        return prometheus.not_understood <= 2;
}

static struct story stories[] = {
        STORY("gone", USE(400, 500), HALF_A_DAY, WEB(REQUESTS), LEARNED(REC), CALL(has_the_day)),
        STORY("spike", USE(400, 500), HIGHEST(", ignoreFirst: 20m"), WEB(REQUESTS), LEARNED(REC)),
        STORY("counted", USE(400, 500), HIGHEST(""), WEB(REQUESTS), EXPECT(REC, "status.state", "Ready"),
              CHECK(REC, "status.containers[app].cpu.model", "1512m")),
        STORY("busy", USE(400, 500), HALF_A_DAY,
              WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", "{containers: " REQUESTS "}"),
              LEARNED("recommendations/statefulset-db"), CALL(has_the_day), CALL(asked_again)),
        STORY("large", USE(400, 500), HALF_A_DAY,
              WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", "{containers: " REQUESTS "}"),
              LEARNED("recommendations/statefulset-db"), CALL(has_the_day), CALL(asked_for_less)),
        STORY("refused", USE(400, 500), HALF_A_DAY, WEB(REQUESTS), CYCLES(4), EXPECT(REC, "status.state", "Learning")),
        STORY("huge", USE(400, 500), HALF_A_DAY, WEB(REQUESTS), CYCLES(4), EXPECT(REC, "status.state", "Learning")),
        STORY("good", CALL(others_are_refused), USE(400, 500), HALF_A_DAY, WEB(REQUESTS), LEARNED(REC),
              CALL(has_the_day), CALL(not_asked_again)),
        /* a part is never learned from, and asked for again */
        STORY("gapped", USE(400, 500), HALF_A_DAY, WEB(REQUESTS), EXPECT(REC, READY("message"), "~'isPartial: true'"),
              CHECK(REC, READY("message"), "~minHistory is not yet reached; usage of the past is not loaded yet"),
              CHECK(REC, "status.state", "Learning"), CALL(all_stores_are_back), LEARNED(REC), CALL(has_the_day),
              EXPECT(REC, READY("message"), "")),
        /* one that never is whole does not keep the others from theirs */
        STORY("halved", USE(400, 500), HALF_A_DAY, WEB(REQUESTS), CALL(asked_thrice), CYCLES(2),
              EXPECT(REC, READY("message"), "~the store says 'store-3 is away'"),
              CHECK(REC, "status.state", "Learning")),
        STORY("unknown", USE(400, 500), HALF_A_DAY, WEB(REQUESTS), CYCLES(4), EXPECT(REC, "status.state", "Learning")),
};

int main(void)
{
        struct peer *p = peer_start(answer, NULL, NULL);
        begun = now_read().mono;
        const char *args[] = {
                "--prometheus-url", p->url, "--prometheus-history", "24h", "--prometheus-step", "5m", NULL};
        int rc = stories_main("backfill", stories, sizeof stories / sizeof stories[0], args, NULL);
        peer_stop(p);
        return rc;
}
