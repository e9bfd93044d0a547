/* halflife is killed while pods start. The next leader keeps them at their originals, and lowers them once they have
 * started: with the database, without it, and while usage cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after its needs */
#include <cmocka.h>

#include "../support/play.h"

#define POD                                                                                                            \
        "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}"
#define DB         WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", POD)
#define DB_REC     "recommendations/statefulset-db"
#define CPU_OF_POD "spec.containers[app].resources.requests.cpu"
#define TEAM_OF(mode)                                                                                                  \
        TEAM("{apply: {mode: " mode ", minHistory: 2s, maxDecreasePercent: 90, startup: {request: Original, "          \
             "after: 1h, most: 24h}}}")
#define SOON  MERGE("profiles/team", "{spec: {apply: {startup: {after: 0s, most: 1m}}}}")
#define LATER MERGE("profiles/team", "{spec: {apply: {startup: {after: 1h, most: 24h}}}}")
#define BORN(name)                                                                                                     \
        PUT("{apiVersion: v1, kind: Pod, metadata: {name: " name ", annotations: {halflife.dev/original-resources: "   \
            "'{\"app\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"2\",\"memory\":"         \
            "\"2Gi\"}}}'}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: "                 \
            "$UID(statefulsets/db), controller: true}]}, spec: {containers: [{name: app, resources: {requests: "       \
            "{cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}}")

enum { LONG_MS = 90000 };

static void test_starts_go_on(void **state)
{
        (void)state;
        struct fake *f = stories_server(NULL, 0);
        struct halflife *h = halflife_start(f, "startup.db", NULL);
        PLAY(f, h,
             STORY("in-place", TEAM_OF("InPlace"), DB, EXPECT(DB_REC, "status.applied.mode", "InPlace"),
                   EXPECT(DB_REC, "status.conditions[Startup].reason", "Starting")));
        PLAY(f, h, STORY("deploys", TEAM_OF("OnDeploy"), DB, EXPECT(DB_REC, "status.state", "Ready"), BORN("born-0")));
        static const char *const database[] = {"startup.db", "another.db"};
        for (size_t i = 0; i < sizeof database / sizeof database[0]; i++) {
                halflife_kill(h);
                halflife_free(h);
                h = halflife_start(f, database[i], NULL);
                PLAY(f, h,
                     STORY("in-place", CYCLES(3), CHECK("pods/db-0", CPU_OF_POD, "1"),
                           CHECK("pods/db-1", CPU_OF_POD, "1")));
                PLAY(f, h, STORY("deploys", CYCLES(2), CHECK("pods/born-0", CPU_OF_POD, "1")));
        }
        PLAY(f, h, STORY("in-place", SOON, EXPECT("pods/db-0", CPU_OF_POD, "285m")));
        PLAY(f, h, STORY("deploys", SOON, EXPECT("pods/born-0", CPU_OF_POD, "285m"), LATER, BORN("born-1")));
        PLAY(f, h, STORY("in-place", EXPECT("pods/db-1", CPU_OF_POD, "285m"), LATER, BORN("born-1")));
        stories_metrics(f, FAKE_METRICS_UNAVAILABLE);
        halflife_kill(h);
        halflife_free(h);
        h = halflife_start(f, "another.db", NULL);
        PLAY(f, h, STORY("in-place", SOON, EXPECT("pods/born-1", CPU_OF_POD, "285m")));
        PLAY(f, h, STORY("deploys", SOON, EXPECT("pods/born-1", CPU_OF_POD, "285m")));
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_starts_go_on)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
