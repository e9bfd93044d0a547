/* A running pod whose usage outgrows its request is raised, and stays raised, also where the raise reaches the original
 * and nothing of the pod is halflife's any more. Samples are a minute apart by the server's clock. */
#include "../support/story.h"
#include "base/clock.h"

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

static struct story stories[] = {
        STORY("to-the-original", MEMORY_ALONE, WORK("StatefulSet", "db", "{replicas: 1, serviceName: db}", POD),
              EXPECT("pods/db-0", MEMORY_OF_POD, "!1Gi"), CHECK("pods/db-0", NOTE("applied-resources"), "~memory"),
              USE(250, 3000), CYCLES(2), CALL(a_minute_passes), EXPECT("pods/db-0", MEMORY_OF_POD, "1Gi"),
              CALL(time_goes_on), CYCLES(3), CHECK("pods/db-0", MEMORY_OF_POD, "1Gi"),
              CHECK("pods/db-0", NOTE("applied-resources"), "-"), CHECK("pods/db-0", NOTE("original-resources"), "-"),
              CHECK("pods/db-0", NOTE("raised"), "!-")),
};

int main(void)
{
        return stories_main("raise", stories, sizeof stories / sizeof *stories, NULL, NULL);
}
