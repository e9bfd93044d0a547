/* halflife is killed while canaries are watched. The next leader continues to wait for them, with or without the
 * database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after its needs */
#include <cmocka.h>

#include "../support/play.h"

#define POD                                                                                                            \
        "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}"
#define DEPLOY(name)   WORK("Deployment", name, "{replicas: 2}", POD)
#define CPU_OF_POD     "spec.containers[app].resources.requests.cpu"
#define CPU_OF_DEPLOY  "spec.template." CPU_OF_POD
#define SAYS(rec, why) EXPECT("recommendations/" rec, "status.conditions[Canary].reason", why)
#define TRIES(mode)                                                                                                    \
        TEAM("{apply: {mode: " mode                                                                                    \
             ", minHistory: 2s, maxDecreasePercent: 90, guard: {watch: 24h}, canary: {percent: 50}}}")
#define SOON MERGE("profiles/team", "{spec: {apply: {guard: {watch: 1s}}}}")

enum { LONG_MS = 90000 };

/* web is of the first half by its hash, api is not; of the pods in-place db-0 comes before db-1 */
static void test_the_rest_waits_on(void **state)
{
        (void)state;
        struct fake *f = stories_server(NULL, 0);
        struct halflife *h = halflife_start(f, "canary.db", NULL);
        PLAY(f, h,
             STORY("restart", TRIES("Rollout"), DEPLOY("web"), DEPLOY("api"), SAYS("deployment-web", "Watched"),
                   SAYS("deployment-api", "Waiting"), EXPECT("deployments/web", CPU_OF_DEPLOY, "285m")));
        PLAY(f, h,
             STORY("in-place", TRIES("InPlace"), WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", POD),
                   EXPECT("pods/db-0", CPU_OF_POD, "285m"),
                   EXPECT("recommendations/statefulset-db", "status.canary.since", "~T")));
        static const char *const database[] = {"canary.db", "another.db"};
        for (size_t i = 0; i < sizeof database / sizeof database[0]; i++) {
                halflife_kill(h);
                halflife_free(h);
                h = halflife_start(f, database[i], NULL);
                PLAY(f, h,
                     STORY("restart", CYCLES(4), CHECK("deployments/api", CPU_OF_DEPLOY, "1"),
                           CHECK("recommendations/deployment-api", "status.conditions[Canary].reason", "Waiting"),
                           CHECK("deployments/web", "metadata.generation", "2")));
                PLAY(f, h,
                     STORY("in-place", CYCLES(2), CHECK("pods/db-1", CPU_OF_POD, "1"),
                           CHECK("pods/db-0", CPU_OF_POD, "285m"),
                           CHECK("recommendations/statefulset-db", "status.canary.rest", "[]")));
        }
        PLAY(f, h, STORY("restart", SOON, EXPECT("deployments/api", CPU_OF_DEPLOY, "285m")));
        PLAY(f, h, STORY("in-place", SOON, EXPECT("pods/db-1", CPU_OF_POD, "285m")));
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_rest_waits_on)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
