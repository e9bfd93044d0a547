/* A running pod whose usage outgrows its request is raised, and stays raised, also where the raise reaches the original
 * and nothing of the pod is halflife's any more. Samples are a minute apart by the server's clock. */
#include <string.h>

#include "../support/story.h"
#include "base/clock.h"
#include "base/mem.h"

#define POD                                                                                                            \
        "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 4Gi}}}]}"
#define MEMORY_ALONE                                                                                                   \
        TEAM("{resources: {cpu: {enabled: false}, memory: {enabled: true}}, apply: {mode: InPlace, minHistory: 2s, "   \
             "maxDecreasePercent: 90, raise: {after: 1m, most: '100'}}}")
#define MEMORY_OF_POD "spec.containers[app].resources.requests.memory"
#define NOTE(name)    "metadata.annotations.<halflife.dev/" name ">"

/* What every scrape from now on is dated by. */
static bool later(struct fake *f, int64_t seconds)
{
        fake_set_wall(f, now_read().wall.ms + seconds * SECOND_MS);
        return true;
}

static bool a_minute_passes(struct fake *f, struct story *s)
{
        (void)s;
        return later(f, 70);
}

static bool time_goes_on(struct fake *f, struct story *s)
{
        (void)s;
        return later(f, 80);
}

/* Its kubelet writes as often as we do: once the pod has its original, what was recorded of it cannot be taken off in
 * one pass. Of a raise to the original three patches are made: its record, its requests, and its record again. */
static bool written_meanwhile(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *pod = story_path(s, "pods/db-0");
        fake_fault(f, &(struct fake_fault){.verb = "patch", .path = pod, .nth = 2, .status = 409, .times = 2});
        return later(f, 70);
}

static bool told_once(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *events = mem_printf("/apis/events.k8s.io/v1/namespaces/%s/events", s->name);
        AUTO(mem_free) char *list = fake_get(f, events);
        const char *first = list ? strstr(list, "\"Raised\"") : NULL;
        return first && !strstr(first + 1, "\"Raised\"");
}

static struct story stories[] = {
        STORY("to-the-original", MEMORY_ALONE, WORK("StatefulSet", "db", "{replicas: 1, serviceName: db}", POD),
              EXPECT("pods/db-0", MEMORY_OF_POD, "!1Gi"), CHECK("pods/db-0", NOTE("applied-resources"), "~memory"),
              USE(250, 3000), CYCLES(2), CALL(a_minute_passes), EXPECT("pods/db-0", MEMORY_OF_POD, "1Gi"),
              CALL(time_goes_on), CYCLES(3), CHECK("pods/db-0", MEMORY_OF_POD, "1Gi"),
              CHECK("pods/db-0", NOTE("applied-resources"), "-"), CHECK("pods/db-0", NOTE("original-resources"), "-"),
              CHECK("pods/db-0", NOTE("raised"), "!-")),
        STORY("told-of-once", MEMORY_ALONE, WORK("StatefulSet", "db", "{replicas: 1, serviceName: db}", POD),
              EXPECT("pods/db-0", MEMORY_OF_POD, "!1Gi"), USE(250, 3000), CYCLES(2), CALL(written_meanwhile),
              EXPECT("pods/db-0", MEMORY_OF_POD, "1Gi"), EXPECT("pods/db-0", NOTE("applied-resources"), "-"),
              CALL(told_once)),
};

int main(void)
{
        return stories_main("raise", stories, sizeof stories / sizeof *stories, NULL, NULL);
}
