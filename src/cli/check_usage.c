#include "check_usage.h"

#include <stdio.h>

#include "base/mem.h"
#include "core/usage.h"
#include "kube/pod_metrics.h"

struct usage_seen {
        const struct checking *checking;
        int64_t odd_pods, future_pods, ahead_ms;
        char odd[256], future[256]; /* the first of each */
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
                snprintf(line, sizeof line, "usage of %lld pods cannot be read", (long long)u->result.refused);
                snprintf(compare, sizeof compare, "compare kubectl get --raw /apis/metrics.k8s.io/%s/pods",
                         u->result.version);
                check_tell(c, DOUBTFUL, line, compare);
        }
        if (u->odd_pods > 0) {
                snprintf(line, sizeof line,
                         "usage of %lld pods has containers without a name or with unreadable values, or more than "
                         "64, first %s",
                         (long long)u->odd_pods, u->odd);
                check_tell(c, DOUBTFUL, line, "these containers learn nothing: the container runtime reports them so");
        }
        if (u->future_pods > 0) {
                snprintf(line, sizeof line, "usage of %lld pods is dated up to %lld s ahead, first %s",
                         (long long)u->future_pods, (long long)(u->ahead_ms / SECOND_MS), u->future);
                check_tell(c, DOUBTFUL, line, "such samples are refused: correct the clock of that pod's node");
        }
        if (u->result.refused + u->odd_pods + u->future_pods == 0) {
                snprintf(line, sizeof line, "usage of %lld pods", (long long)u->result.pods);
                check_tell(c, GOOD, line, NULL);
        }
}

void check_usage(struct checking *c)
{
        enum { ASK_MS = 30 * SECOND_MS };
        struct usage_seen u = {.checking = c};
        if (c->settings.controller.usage_from != USAGE_FROM_METRICS_SERVER)
                return;
        metrics_poll(c->session.client, NULL, ASK_MS, check_usage_each, check_usage_done, &u);
        while (!u.done)
                loop_turn(c->session.loop, -1);
        if (u.result.err.code == 0 || u.result.pods > 0)
                check_usage_say(c, &u);
        else if (!u.result.absent) /* then the line about the API said so */
                check_tell(c, DOUBTFUL, u.result.err.text,
                           u.result.err.code == ERR_DENIED ? "these credentials may not list pods of metrics.k8s.io"
                                                           : "is metrics-server ready?");
}
