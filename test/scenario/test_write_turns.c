/* Many writes of one namespace, the statuses of its profiles or the Recommendations of its workloads, which the API
 * server takes slowly, or not at all: another namespace's profile and workloads do not wait for them. The target is
 * 285m of 1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../support/slowed.h"
#include "../support/story.h"
#include "base/mem.h"

#define ONE_REQUEST      "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}}}]"
#define MALLORY          "/apis/halflife.dev/v1alpha1/namespaces/mallory/"
#define MALLORY_PROFILES MALLORY "profiles"

enum { PROFILES = UNLESS_SLOWED(400, 200), WORKLOADS = PROFILES, ANSWER_MS = 500, LONG_MS = 30000, HANGS_MS = 60000 };

static void put_profiles(struct fake *f)
{
        for (int i = 0; i < PROFILES; i++) {
                AUTO(mem_free) char *name = i < PROFILES - 1 ? mem_printf("p%03d", i) : mem_string("last");
                AUTO(mem_free)
                char *profile = mem_printf("{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Profile\",\"metadata\""
                                           ":{\"namespace\":\"mallory\",\"name\":\"%s\"},\"spec\":{\"selector\":{"
                                           "\"matchLabels\":{\"app\":\"none\"}}}}",
                                           name);
                fake_put(f, "kubectl", profile);
        }
}

static void put_workloads(struct fake *f, const char *kind, int replicas)
{
        fake_put(f, "kubectl",
                 "{\"apiVersion\":\"halflife.dev/"
                 "v1alpha1\",\"kind\":\"Profile\",\"metadata\":{\"namespace\":\"mallory\","
                 "\"name\":\"all\"},\"spec\":{}}");
        for (int i = 0; i < WORKLOADS; i++) {
                AUTO(mem_free)
                char *workload =
                        mem_printf("{\"apiVersion\":\"apps/v1\",\"kind\":\"%s\",\"metadata\":{"
                                   "\"namespace\":\"mallory\",\"name\":\"w%03d\"},\"spec\":{\"replicas\":%d,"
                                   "\"selector\":{\"matchLabels\":{\"a\":\"w%03d\"}},\"template\":{\"metadata\":"
                                   "{\"labels\":{\"a\":\"w%03d\"}},\"spec\":{\"containers\":[{\"name\":\"app\","
                                   "\"image\":\"x\"}]}}}}",
                                   kind, i, replicas, i, i);
                fake_put(f, "kubectl", workload);
        }
}

#define CAST                                                                                                           \
        STORY("shop", AT_ONCE(""), WEB(ONE_REQUEST),                                                                   \
              EXPECT("profiles/team", "status.conditions[Ready].status", "True"),                                      \
              EXPECT("deployments/web", APP_REQUESTS ".cpu", "285m"))

/* Play the other namespace's story while the API server takes so long for each write at path, of which there are many;
 * it ends before half of them are written. */
static struct halflife *play_beside(struct fake *f, const char *database, const char *path, size_t many,
                                    unsigned answer_ms)
{
        fake_fault(f, &(struct fake_fault){.verb = "patch", .path = path, .times = 1 << 20, .delay_ms = answer_ms});
        struct story cast = CAST;
        struct halflife *h = halflife_start(f, database, NULL);
        story_play(f, h, &cast, LONG_MS);
        assert_in_range(fake_count(f, "patch", path), answer_ms < LONG_MS, many / 2); /* those that were answered */
        assert_int_equal(halflife_said(h, "usage cannot be read"), 0);
        return h;
}

static void test_beside_many_recommendations(void **state)
{
        (void)state;
        struct story cast = CAST;
        struct fake *f = stories_server(&cast, 1);
        put_workloads(f, "Deployment", 1);
        struct halflife *h = play_beside(f, "workloads.db", MALLORY "recommendations", WORKLOADS, ANSWER_MS);
        fake_faults_clear(f);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

/* What never had pods is not even written. */
static void test_beside_many_left_over(void **state)
{
        (void)state;
        struct story cast = CAST;
        struct fake *f = stories_server(&cast, 1);
        put_workloads(f, "ReplicaSet", 0);
        struct halflife *h = halflife_start(f, "left.db", NULL);
        story_play(f, h, &cast, LONG_MS);
        assert_int_equal(fake_count(f, "patch", MALLORY "recommendations"), 0);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

/* Its writes hold their places for longer than the other's story lasts. */
static void test_beside_recommendations_that_hang(void **state)
{
        (void)state;
        struct story cast = CAST;
        struct fake *f = stories_server(&cast, 1);
        put_workloads(f, "Deployment", 1);
        struct halflife *h = play_beside(f, "hangs.db", MALLORY "recommendations", WORKLOADS, HANGS_MS);
        fake_faults_clear(f);
        halflife_kill(h);
        halflife_free(h);
        fake_free(f);
}

static void test_beside_many_profiles(void **state)
{
        (void)state;
        struct story cast = CAST;
        struct fake *f = stories_server(&cast, 1);
        put_profiles(f);
        struct halflife *h = play_beside(f, "profiles.db", MALLORY_PROFILES, PROFILES, ANSWER_MS);
        fake_faults_clear(f);
        struct story rest =
                STORY("mallory", EXPECT(MALLORY_PROFILES "/p000", "status.conditions[Ready].status", "True"),
                      EXPECT(MALLORY_PROFILES "/last", "status.conditions[Ready].status", "True"));
        story_play(f, h, &rest, LONG_MS);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

/* The statuses of one namespace hold their places until the writes are given up, after 30 s. A profile that comes later
 * gets a place at once. */
static void test_beside_profiles_that_hang(void **state)
{
        (void)state;
        struct story cast = CAST;
        struct story late = STORY(
                "shop", PUT("{apiVersion: halflife.dev/v1alpha1, kind: Profile, metadata: {name: late}, spec: {}}"),
                EXPECT("profiles/late", "status.conditions[Ready].status", "True"));
        struct fake *f = stories_server(&cast, 1);
        put_profiles(f);
        struct halflife *h = play_beside(f, "profiles_hang.db", MALLORY_PROFILES, PROFILES, HANGS_MS);
        story_play(f, h, &late, LONG_MS / 3);
        fake_faults_clear(f);
        halflife_kill(h);
        halflife_free(h);
        fake_free(f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_beside_many_profiles),
                cmocka_unit_test(test_beside_profiles_that_hang),
                cmocka_unit_test(test_beside_many_recommendations),
                cmocka_unit_test(test_beside_many_left_over),
                cmocka_unit_test(test_beside_recommendations_that_hang),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
