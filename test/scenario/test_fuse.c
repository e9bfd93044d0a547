/* A blown fuse stops what lowers, outlives restarts, lost Leases and lost databases, and is reset by a person alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../support/play.h"
#include "../support/tmp.h"
#include "base/mem.h"

#define LIMITED     "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define WORKLOAD(n) WORK("Deployment", n, "{replicas: 2}", "{containers: " LIMITED "}")
#define CPU_REQUEST "spec.template.spec.containers[app].resources.requests.cpu"
#define LOWERED(n)  EXPECT("deployments/" n, CPU_REQUEST, "285m")
#define REASON(n, why)                                                                                                 \
        EXPECT("recommendations/deployment-" n, "status.containers[app].cpu.reason", why),                             \
                CHECK("deployments/" n, CPU_REQUEST, "1")
#define LEASE    "/apis/coordination.k8s.io/v1/namespaces/halflife-system/leases/halflife"
#define NOTE     "metadata.annotations.<halflife.dev/fuse>"
#define DEGRADED "status.conditions[Degraded].reason"
#define BLOWN    "2025-11-21T04:40:00Z: 6 guards within an hour: shop/Deployment/web"

/* What a Profile is told: no name of another namespace. */
#define TOLD                                                                                                           \
        "nothing is lowered until halflife resume --fuse: too many changes in the cluster were taken back within "     \
        "an hour"

enum { LONG_MS = 90000 };
static const char *const elect[] = {"--leader-elect", "true", NULL};

/* As an earlier holder of the Lease left it. */
static struct fake *begin(void)
{
        struct fake *f = stories_server(NULL, 0);
        fake_put(f, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"halflife-system\"}}");
        fake_put(f, "halflife",
                 "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"halflife\","
                 "\"namespace\":\"halflife-system\",\"annotations\":{\"halflife.dev/fuse\":\"" BLOWN "\"}},\"spec\":{"
                 "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1}}");
        return f;
}

static void stop(struct halflife *h)
{
        if (halflife_stop(h) != 0) {
                play_say_log(h);
                fail_msg("halflife did not end well");
        }
        halflife_free(h);
}

/* No request is lowered until the fuse is reset, whichever process holds the Lease. Loss of the Lease or of the
 * database resets nothing. */
static void test_blown_until_reset(void **state)
{
        (void)state;
        struct fake *f = begin();
        struct halflife *h = halflife_start(f, "fuse.db", elect);
        PLAY(f, h,
             STORY("blown", AT_ONCE(""), WORKLOAD("a"), REASON("a", "Fuse"), EXPECT("profiles/team", DEGRADED, "Fuse"),
                   CHECK("profiles/team", "status.conditions[Degraded].message", TOLD), CYCLES(2),
                   CHECK("deployments/a", CPU_REQUEST, "1"),
                   CHECK("recommendations/deployment-a", "status.conditions[Applied].reason", "Fuse")));
        assert_true(halflife_metric(h, "halflife_fuse_blown") == 1);
        assert_int_equal(halflife_said(h, "the fuse is blown"), 1);
        stop(h);

        assert_int_equal(fake_delete(f, LEASE), 200);
        h = halflife_start(f, "fuse.db", elect);
        PLAY(f, h,
             STORY("blown", EXPECT(LEASE, NOTE, BLOWN), WORKLOAD("b"), REASON("b", "Fuse"), CYCLES(1),
                   REASON("a", "Fuse")));
        stop(h);

        h = halflife_start(f, "another.db", elect);
        PLAY(f, h, STORY("blown", WORKLOAD("c"), REASON("c", "Fuse"), REASON("a", "Fuse")));
        assert_int_equal(fake_merge(f, LEASE, "kubectl-annotate",
                                    "{\"metadata\":{\"annotations\":{\"halflife.dev/fuse\":null}}}"),
                         200);
        PLAY(f, h,
             STORY("blown", LOWERED("a"), LOWERED("b"), LOWERED("c"), EXPECT(LEASE, NOTE, "~reset 2"),
                   EXPECT("profiles/team", DEGRADED, "AsExpected")));
        stop(h);

        h = halflife_start(f, "fuse.db", elect); /* which knows only that it is blown */
        PLAY(f, h, STORY("blown", WORKLOAD("d"), LOWERED("d"), CHECK(LEASE, NOTE, "~reset 2")));
        assert_true(halflife_metric(h, "halflife_fuse_blown") == 0);
        stop(h);
        fake_free(f);
}

#define RUN(want, part, ...)                                                                                           \
        do {                                                                                                           \
                AUTO(mem_free) char *said_ = halflife_run(want, (const char *const[]){__VA_ARGS__, NULL});             \
                if (!strstr(said_, part))                                                                              \
                        fail_msg("does not say '%s':\n%s", part, said_);                                               \
        } while (0)

static void test_reset_by_the_command(void **state)
{
        (void)state;
        struct fake *f = begin();
        AUTO(mem_free) char *kubeconfig = tmp_path("fuse-kubeconfig");
        assert_true(fake_write_kubeconfig(f, kubeconfig));
        setenv("HALFLIFE_KUBECONFIG", kubeconfig, 1);
        struct halflife *h = halflife_start(f, "command.db", elect);
        PLAY(f, h, STORY("command", AT_ONCE(""), WORKLOAD("a"), REASON("a", "Fuse")));
        RUN(2, "give no workloads with it", "resume", "--fuse", "--all");
        RUN(2, "--lease requires --fuse", "resume", "--lease", "other", "--all");
        RUN(1, "-n and --lease choose it", "resume", "--fuse");
        RUN(0, "would be reset (it was blown: " BLOWN ")", "resume", "--fuse", "-n", "halflife-system", "--dry-run");
        PLAY(f, h, STORY("command", CYCLES(2), REASON("a", "Fuse"), CHECK(LEASE, NOTE, BLOWN)));
        RUN(0, "is reset (it was blown: " BLOWN ")", "resume", "--fuse", "-n", "halflife-system");
        PLAY(f, h, STORY("command", LOWERED("a"), CHECK(LEASE, NOTE, "~reset 2")));
        RUN(0, "the fuse is not blown; blown fuses of profiles are reset", "resume", "--fuse", "-n", "halflife-system");
        stop(h);
        fake_free(f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_blown_until_reset),
                cmocka_unit_test(test_reset_by_the_command),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
