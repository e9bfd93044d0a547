/* A namespace whose profiles name kinds without end, or ask for labels without end: the namespace beside it is read and
 * decided all the same, and the profiles that go too far say so. The target is 285m of 1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../support/beside.h"
#include "../support/slowed.h"
#include "../support/story.h"
#include "base/mem.h"

#define LIMITED       "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}}}]"
#define HOSTILE(name) "/apis/halflife.dev/v1alpha1/namespaces/mallory/profiles/" name
#define DEGRADED(name, reason, message)                                                                                \
        EXPECT(HOSTILE(name), "status.conditions[Degraded].reason", reason),                                           \
                CHECK(HOSTILE(name), "status.conditions[Degraded].message", message)

enum { LONG_MS = 30000, LOOK_MS = 100, TARGETS = 32, SELECTOR = 16 };

#define PLAY(f, h, ...)                                                                                                \
        do {                                                                                                           \
                struct story told_ = STORY("shop", __VA_ARGS__);                                                       \
                story_play(f, h, &told_, LONG_MS);                                                                     \
        } while (0)

/* A profile that names the kinds <stem><first>, <stem><first + 1>, … of a group, and Deployments. */
static void put_profile(struct fake *f, const char *ns, const char *name, const char *stem, int first, int kinds)
{
        AUTO(mem_free) char *targets = mem_string("{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"}");
        for (int k = 0; k < kinds; k++) {
                char *longer = mem_printf("%s,{\"apiVersion\":\"example.org/v1\",\"kind\":\"%s%d\"}", targets, stem,
                                          first + k);
                mem_free(targets);
                targets = longer;
        }
        AUTO(mem_free)
        char *profile = mem_printf("{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Profile\",\"metadata\":{"
                                   "\"namespace\":\"%s\",\"name\":\"%s\"},\"spec\":{\"targets\":[%s],\"apply\":{"
                                   "\"mode\":\"Rollout\",\"minHistory\":\"2s\",\"maxDecreasePercent\":90}}}",
                                   ns, name, targets);
        fake_put(f, "kubectl", profile);
}

static void define_kinds(struct fake *f, const char *stem, int count)
{
        for (int k = 0; k < count; k++) {
                AUTO(mem_free) char *kind = mem_printf("%s%d", stem, k);
                story_define_kind(f, "example.org", kind);
        }
}

static bool never(struct fake *f, void *arg)
{
        (void)f, (void)arg;
        return false;
}

static int discoveries(struct fake *f)
{
        return (int)(fake_count(f, NULL, "/apis") - fake_count(f, NULL, "/apis/"));
}

/* A hundred profiles of 31 made-up kinds each, one of them changed every second, cost a handful of requests. */
static void test_made_up_kinds(void **state)
{
        enum { PROFILES = 100, SECONDS = 5, FIRST = 32 };
        (void)state;
        struct story cast = STORY("shop", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED));
        struct fake *f = stories_server(&cast, 1);
        for (int i = 0; i < PROFILES; i++) {
                AUTO(mem_free) char *name = mem_printf("p%02d", i);
                put_profile(f, "mallory", name, "Made", FIRST * i, TARGETS - 1);
        }
        struct halflife *h = halflife_start(f, "made-up.db", NULL);
        story_play(f, h, &cast, LONG_MS);
        PLAY(f, h, EXPECT(REC, "status.state", "Ready"), CHECK(REC, "status.containers[app].cpu.target", "285m"),
             DEGRADED("p99", "TooManyKinds", "~a namespace may name at most 16 kinds that are not built in"),
             CHECK(HOSTILE("p99"), "status.conditions[Degraded].message", "~Made3168.example.org"),
             CHECK("profiles/team", "status.conditions[Degraded].status", "False"));
        for (int i = 0; i < SECONDS; i++) {
                put_profile(f, "mallory", "p00", "Other", FIRST * i, TARGETS - 1);
                (void)fake_wait(f, never, NULL, 10 * LOOK_MS);
                assert_int_equal(halflife_get(h, "/readyz"), 200);
        }
        cast.milli = 500;
        cast.mib = 300;
        PLAY(f, h, EXPECT(REC, "status.containers[app].cpu.target", "564m"));
        assert_int_equal(fake_count(f, NULL, "/apis/example.org"), 0);
        assert_true(discoveries(f) <= 4);
        assert_true(halflife_said(h, "a profile names a kind that the server does not have") <= 32);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

static bool watches_at_most(struct fake *f, void *arg)
{
        const size_t *most = arg;
        return fake_watches(f, "/apis/example.org/") <= *most;
}

/* Kinds that are installed, and that four namespaces name, take no watch from what holds back changes, even if that is
 * installed later, nor from the first kind of a fifth namespace. */
static void test_installed_kinds(void **state)
{
        static const char *const hostile[] = {"mallory", "mallory-b", "mallory-c", "mallory-d"};
        enum { NAMESPACES = 4, EACH = 16, WATCHES = 40 };
        (void)state;
        struct story cast = STORY("shop", AT_ONCE(""), WEB(LIMITED));
        struct fake *f = stories_server(&cast, 1);
        define_kinds(f, "Held", NAMESPACES * EACH);
        define_kinds(f, "Own", 1);
        for (int i = 0; i < NAMESPACES; i++)
                put_profile(f, hostile[i], "many", "Held", EACH * i, EACH);
        put_profile(f, "mallory", "more", "Held", EACH, EACH);
        struct halflife *h = halflife_start(f, "installed.db", NULL);
        assert_true(fake_wait_watches(f, "/apis/example.org/", WATCHES, LONG_MS));
        PLAY(f, h, DEGRADED("more", "TooManyKinds", "~Held16.example.org"));
        put_profile(f, "eve", "one", "Own", 0, 1);
        assert_true(fake_wait_watches(f, "/apis/example.org/v1/own0s", 1, LONG_MS));
        assert_true(fake_wait(f, watches_at_most, &(size_t){WATCHES}, LONG_MS));
        story_define_kind(f, "autoscaling.k8s.io", "VerticalPodAutoscaler");
        assert_true(fake_wait_watches(f, "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers", 1, 2 * LONG_MS));
        PLAY(f, h,
             PUT("{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: sizer}, spec: "
                 "{targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}"));
        story_play(f, h, &cast, LONG_MS);
        PLAY(f, h, EXPECT(REC, "status.conditions[OtherAutoscaler].status", "True"), CYCLES(2),
             CHECK("deployments/web", APP_REQUESTS ".cpu", "1"));
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

/* A profile that asks for as many labels as one may. */
static void put_asking(struct fake *f, const char *name, int priority)
{
        AUTO(mem_free) char *labels = mem_string("");
        AUTO(mem_free) char *expressions = mem_string("");
        for (int i = 0; i < SELECTOR; i++) {
                char *l = mem_printf("%s%s\"l%d\":\"x\"", labels, i ? "," : "", i);
                char *e =
                        mem_printf("%s%s{\"key\":\"e%d\",\"operator\":\"DoesNotExist\"}", expressions, i ? "," : "", i);
                mem_free(labels);
                mem_free(expressions);
                labels = l;
                expressions = e;
        }
        AUTO(mem_free)
        char *profile = mem_printf("{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Profile\",\"metadata\":{"
                                   "\"namespace\":\"mallory\",\"name\":\"%s\"},\"spec\":{\"priority\":%d,\"selector\":{"
                                   "\"matchLabels\":{%s},\"matchExpressions\":[%s]}}}",
                                   name, priority, labels, expressions);
        fake_put(f, "kubectl", profile);
}

/* Profiles that ask for so many labels that a choice among them would take too long: the first are in force, the last
 * is told that it is not, and another namespace knows nothing of it. 16 values and 32 requirements for 512 labels are
 * 16401 comparisons, and 255 such profiles are within 4 Mi. */
static void test_many_requirements(void **state)
{
        enum { PROFILES = 256 };
        (void)state;
        struct story cast = STORY("shop", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED));
        struct fake *f = stories_server(&cast, 1);
        put_asking(f, "first", 1);
        for (int i = 2; i < PROFILES; i++) {
                AUTO(mem_free) char *name = mem_printf("p%d", i);
                put_asking(f, name, 0);
        }
        put_asking(f, "last", -1);
        stories_metrics(f, FAKE_METRICS_UNAVAILABLE);
        struct halflife *h = halflife_start(f, "requirements.db", NULL);
        story_play(f, h, &cast, LONG_MS);
        PLAY(f, h, EXPECT(HOSTILE("first"), "status.conditions[Degraded].reason", "UsageUnavailable"),
             DEGRADED("last", "TooManyProfiles", "~selects nothing")); /* what replicas go by is told first */
        stories_metrics(f, FAKE_METRICS_ON);
        PLAY(f, h, EXPECT(REC, "status.state", "Ready"), DEGRADED("last", "TooManyProfiles", "~selects nothing"),
             EXPECT(HOSTILE("first"), "status.conditions[Degraded].status", "False"),
             CHECK("profiles/team", "status.conditions[Degraded].status", "False"), DELETE(HOSTILE("p2")),
             EXPECT(HOSTILE("last"), "status.conditions[Degraded].reason", "AsExpected"));
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

/* The statuses of so many profiles take minutes to write. Meanwhile cycles go on, and another namespace gets its
 * Recommendation. */
static void test_many_statuses(void **state)
{
        enum { PROFILES = UNLESS_SLOWED(1000, 600) };
        (void)state;
        struct story cast = STORY("shop", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED));
        struct fake *f = stories_server(&cast, 1);
        for (int i = 0; i < PROFILES; i++) {
                AUTO(mem_free) char *name = mem_printf("p%d", i);
                put_profile(f, "mallory", name, "", 0, 0);
        }
        struct halflife *h = halflife_start(f, "statuses.db", (const char *const[]){"--api-rate", "10", NULL});
        story_play(f, h, &cast, LONG_MS);
        assert_true(halflife_await_cycles(h, f, 5, LONG_MS));
        PLAY(f, h, EXPECT(REC, "status.state", "Ready"));
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

int main(void)
{
        static const struct beside tests[] = {
                BESIDE(test_made_up_kinds),
                BESIDE(test_installed_kinds),
                BESIDE(test_many_requirements),
                BESIDE(test_many_statuses),
        };
        return beside_run("tenant kinds", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
