/* A tenant whose workloads take harm again and again blows the fuse of its profile in its namespace. Other tenants
 * under the same profile, and the cluster, go on. The target is 285m of 1 everywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after its needs */
#include <cmocka.h>

#include "../support/fetch.h"
#include "../support/play.h"
#include "../support/tmp.h"
#include "base/clock.h"
#include "base/mem.h"

#define POD                                                                                                            \
        "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}"
#define SET(name)     WORK("StatefulSet", name, "{replicas: 2, serviceName: all}", POD)
#define REC_OF(name)  "recommendations/statefulset-" name
#define CPU_OF_POD    "spec.containers[app].resources.requests.cpu"
#define CPU_OF_SET    "spec.template." CPU_OF_POD
#define LOWERED(name) EXPECT("statefulsets/" name, CPU_OF_SET, "285m"), EXPECT("pods/" name "-0", CPU_OF_POD, "285m")
#define BACK(name)    EXPECT(REC_OF(name), "status.state", "Held"), EXPECT("statefulsets/" name, CPU_OF_SET, "1")
#define HELD(name)                                                                                                     \
        EXPECT(REC_OF(name), "status.containers[app].cpu.reason", "ProfileFuse"),                                      \
                CHECK("statefulsets/" name, CPU_OF_SET, "1"),                                                          \
                CHECK(REC_OF(name), "status.decision.facts", "[\"ProfileFuse\"]")
#define SHARED "/apis/halflife.dev/v1alpha1/clusterprofiles/shared"
#define LEASE  "/apis/coordination.k8s.io/v1/namespaces/halflife-system/leases/halflife"
#define FUSE   "metadata.annotations.<halflife.dev/fuse>"

enum { LONG_MS = 90000 };
static const char *const elect[] = {"--leader-elect", "true", NULL};
static const char *const bad[] = {"a", "b", "c", "d", "e", "f", "g"};

static bool all_restart(struct fake *f, struct story *s)
{
        bool done = true;
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
                AUTO(mem_free) char *path = mem_printf("/api/v1/namespaces/%s/pods/%s-0/status", s->name, bad[i]);
                done &= fake_merge(f, path, "kubelet",
                                   "{\"status\":{\"containerStatuses\":[{\"name\":\"app\",\"ready\":true,"
                                   "\"restartCount\":2,\"lastState\":{\"terminated\":{\"reason\":\"Error\","
                                   "\"exitCode\":1}}}]}}") == 200;
        }
        return done;
}

/* The Event about the fuse names no other workload, because a fuse may have counted those of several namespaces. */
static bool event_tells(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *path = mem_printf("/apis/events.k8s.io/v1/namespaces/%s/events", s->name);
        AUTO(mem_free) char *events = fake_get(f, path);
        return events &&
               strstr(events, "\"the fuse of the profile is blown: 6 guards within an hour, and the change of "
                              "this workload is the last of them\"");
}

static void stop(struct halflife *h)
{
        if (halflife_stop(h) != 0) {
                play_say_log(h);
                fail_msg("halflife did not end well");
        }
        halflife_free(h);
}

static struct fake *begin(char **ret_kubeconfig)
{
        struct fake *f = stories_server(NULL, 0);
        *ret_kubeconfig = tmp_path("profile-fuse-kubeconfig");
        fake_put(f, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"halflife-system\"}}");
        assert_true(fake_write_kubeconfig(f, *ret_kubeconfig));
        setenv("HALFLIFE_KUBECONFIG", *ret_kubeconfig, 1);
        return f;
}

/* Seven workloads of one namespace are taken back within a moment. */
static void attack(struct fake *f, struct halflife *h)
{
        PLAY(f, h,
             STORY("attacker",
                   PUT("{apiVersion: halflife.dev/v1alpha1, kind: ClusterProfile, metadata: {name: shared}, spec: "
                       "{namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, "
                       "values: [attacker, bystander]}]}, apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: "
                       "90, guard: {watch: 5m}}}}"),
                   SET("a"), SET("b"), SET("c"), SET("d"), SET("e"), SET("f"), SET("g"), LOWERED("a"), LOWERED("b"),
                   LOWERED("c"), LOWERED("d"), LOWERED("e"), LOWERED("f"), LOWERED("g"),
                   EXPECT(SHARED, "status.targets.applied", "7"), CALL(all_restart), BACK("a"), BACK("b"), BACK("c"),
                   BACK("d"), BACK("e"), BACK("f"), BACK("g"),
                   EXPECT(SHARED, "status.conditions[Degraded].reason", "ProfileFuse"),
                   CHECK(SHARED, "status.conditions[Degraded].message", "~in namespace attacker nothing is lowered"),
                   CHECK(SHARED, "status.fuses[0].namespace", "attacker"), CHECK(LEASE, FUSE, "-"), CALL(event_tells),
                   SET("late"), HELD("late")));
}

/* A replica knows the profile's fuse from the statuses alone. */
static void replica_holds(struct fake *f, const char *kubeconfig)
{
        const char *const args[] = {"serve",          "--kubeconfig", kubeconfig,    "--listen",        "127.0.0.1:0",
                                    "--serve-listen", "127.0.0.1:0",  "--namespace", "halflife-system", NULL};
        fake_person(f, "auditor", "auditor", NULL);
        fake_grant(f, &(struct fake_grant){"auditor", NULL, NULL, NULL});
        struct halflife *replica = halflife_command(args);
        AUTO(mem_free) char *address = halflife_rest_address(replica);
        assert_true(halflife_await_log(replica, "caches synced", 1, LONG_MS));
        AUTO(mem_free)
        char *url =
                mem_printf("http://%s/api/v1/namespaces/attacker/workloads/statefulset/late?original=cpu:1", address);
        int64_t began = mono_read().ns;
        for (bool so = false; !so;) {
                AUTO(got_release) struct got g = fetch(&(struct fetch){.url = url, .token = "auditor"});
                so = g.status == 200 && strstr(g.body, "ProfileFuse");
                if (!so && (mono_read().ns - began) / 1000000 > LONG_MS)
                        fail_msg("%s: %ld\n%s", url, g.status, g.body);
                if (!so)
                        usleep(10000);
        }
        stop(replica);
}

static void test_a_tenant_blows_its_own(void **state)
{
        (void)state;
        AUTO(mem_free) char *kubeconfig = NULL;
        struct fake *f = begin(&kubeconfig);
        struct halflife *h = halflife_start(f, "tenant.db", elect);
        attack(f, h);
        PLAY(f, h, STORY("bystander", SET("web"), LOWERED("web")));
        assert_true(halflife_metric(h, "halflife_fuse_blown") == 0);
        assert_true(halflife_metric(h, "halflife_profile_fuses_blown") == 1);
        halflife_kill(h);
        halflife_free(h);

        h = halflife_start(f, "tenant.db", elect); /* after kill -9 */
        PLAY(f, h, STORY("attacker", SET("later"), HELD("later"), HELD("late")));
        stop(h);

        h = halflife_start(f, "another.db", elect); /* another instance, which knows the status alone */
        PLAY(f, h, STORY("attacker", SET("last"), HELD("last"), HELD("late")));
        PLAY(f, h, STORY("bystander", SET("api"), LOWERED("api")));
        AUTO(mem_free)
        char *said = HALFLIFE_RUN(0, "resume", "--fuse", "-n", "halflife-system");
        assert_non_null(strstr(said, "blown fuses of profiles are reset"));
        PLAY(f, h,
             STORY("attacker", LOWERED("late"), LOWERED("last"), EXPECT(SHARED, "status.fuses", "-"),
                   EXPECT(SHARED, "status.conditions[Degraded].status", "False")));
        stop(h);
        fake_free(f);
}

/* Whoever may change the profile resets its fuse, without rights on the Lease. A replica holds deploys by the status.
 */
static void test_its_owner_resets_it(void **state)
{
        (void)state;
        AUTO(mem_free) char *kubeconfig = NULL;
        struct fake *f = begin(&kubeconfig);
        struct halflife *h = halflife_start(f, "owner.db", elect);
        attack(f, h);
        replica_holds(f, kubeconfig);
        PLAY(f, h,
             STORY("attacker", MERGE(SHARED, "{spec: {apply: {minChangePercent: 11}}}"), LOWERED("late"),
                   EXPECT(SHARED, "status.fuses", "-")));
        assert_true(halflife_metric(h, "halflife_profile_fuses_blown") == 0);
        stop(h);
        fake_free(f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_tenant_blows_its_own),
                cmocka_unit_test(test_its_owner_resets_it),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
