/*
 * Strangers at the admission webhook. API servers show no certificate by default, so any client may send reviews. Here
 * clients send reviews with made-up owners as fast as they are answered, or hold connections open, while real pods are
 * created. Every real pod gets its requests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/fetch.h"
#include "../support/replica_stage.h"
#include "../support/slowed.h"
#include "../support/strangers.h"
#include "base/clock.h"
#include "base/mem.h"

enum { TRIES = 3 };

/* Reviews a second (0: as fast as they are answered), and the pods of a row. At full speed, what sanitizers slow would
 * be late for pods. */
enum { STRANGE_RATE = UNLESS_SLOWED(0, 200), REAL_PODS = UNLESS_SLOWED(10, 8) };

#define SETS "/apis/apps/v1/namespaces/shop/replicasets/"

static struct replica_stage stage;
static int sets_made;

/* --- real pods --- */

static void put_set(const char *name)
{
        AUTO(mem_free)
        char *json = mem_printf("{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"metadata\":{\"name\":\"%s\","
                                "\"namespace\":\"shop\",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
                                "\"Deployment\",\"name\":\"storefront\",\"uid\":\"d\",\"controller\":true}]},\"spec\":{"
                                "\"replicas\":0,\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{"
                                "\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"new\","
                                "\"image\":\"x\"}]}}}}",
                                name);
        fake_put(stage.fake, "kubectl", json);
}

/* The first pod of a ReplicaSet that was made just now. */
static bool is_patched(const char *address, size_t padding, int64_t *longest_ms)
{
        AUTO(mem_free) char *set = mem_printf("storefront-real%d", sets_made++);
        AUTO(mem_free) char *url = mem_printf("http://%s/admission", address);
        AUTO(mem_free) char *body = strangers_review("shop", set, "new", padding);
        put_set(set);
        int64_t began = mono_read().ns;
        AUTO(got_release) struct got g = fetch(&(struct fetch){.url = url, .type = "application/json", .body = body});
        int64_t took = (mono_read().ns - began) / 1000000;
        *longest_ms = took > *longest_ms ? took : *longest_ms;
        return g.status == 200 && strstr(g.body, "\"patch\"");
}

static const struct {
        const char *what, *owner;
        int connections;
        bool one, near, unending;
        size_t padding, pod_padding;
} row[] = {
        {"made-up owners", "made-up-", 24, false, false, false, 0, 0},
        {"made-up owners, from the API server's address", "made-up-", 24, false, true, false, 0, 0},
        {"made-up owners of a known workload", "storefront-made", 24, false, false, false, 0, 0},
        {"one made-up owner", "made-up", 24, true, false, false, 0, 0},
        {"many connections", "made-up-", 400, false, false, false, 0, 0},
        {"many connections, a known workload", "storefront-many", 400, false, false, false, 0, 0},
        {"more connections than there are", "made-up-", STRANGERS_MOST, false, false, false, 0, 0},
        {"requests without an end", "made-up-", STRANGERS_MOST, false, false, true, 0, 0},
        {"reviews of 60 kB", "made-up-", 400, false, false, false, 60000, 0},
        {"reviews of 2.5 MB", "made-up-", 24, false, false, false, 2500000, 0},
        {"reviews of 2.5 MB, and pods of 100 kB", "made-up-", 100, false, false, false, 2500000, 100000},
};

/* Until what was saved up for bursts is used up: after so many answers, or a second where strangers get none. */
static void use_up_bursts(struct strangers *s)
{
        enum { ANSWERS = 500, LOOKS = 100, LOOK_US = 10000 };
        for (int i = 0; i < LOOKS && atomic_load(&s->answers) < ANSWERS; i++)
                usleep(LOOK_US);
}

/* The number of pods that a row leaves unchanged. */
static int left_unchanged(const char *address, const char *where, size_t i)
{
        static struct strangers s;
        int patched = 0;
        int64_t longest_ms = 0;
        memset(&s, 0, sizeof s);
        s.address = address;
        s.ns = "shop";
        s.rate = STRANGE_RATE;
        s.owner = row[i].owner;
        s.connections = row[i].connections;
        s.one = row[i].one;
        s.near = row[i].near;
        s.padding = row[i].padding;
        s.unending = row[i].unending;
        strangers_begin(&s);
        use_up_bursts(&s);
        int before = atomic_load(&s.answers);
        int64_t began = mono_read().ns;
        for (int pod = 0; pod < REAL_PODS; pod++)
                patched += is_patched(address, row[i].pod_padding, &longest_ms);
        double took = (double)(mono_read().ns - began) / 1e9;
        print_message("%s, %s: %d of %d pods patched, the slowest in %lld ms; strangers got %.0f answers a second\n",
                      where, row[i].what, patched, REAL_PODS, (long long)longest_ms,
                      (atomic_load(&s.answers) - before) / took);
        strangers_end(&s);
        return REAL_PODS - patched;
}

/* A look-up has 900 ms. On a machine that is busy with other work, some take longer: such a row is tried again. */
static bool leaves_none(const char *address, const char *where, size_t i)
{
        for (int t = 0; t < TRIES; t++)
                if (left_unchanged(address, where, i) == 0)
                        return true;
        return false;
}

static void assert_all_patched(const char *address, const char *where)
{
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if (!leaves_none(address, where, i))
                        fail_msg("%s, %s: pods left unchanged", where, row[i].what);
}

static void test_at_the_controller(void **state)
{
        (void)state;
        assert_all_patched(stage.learner_address, "controller");
}

static void test_at_a_replica(void **state)
{
        (void)state;
        assert_all_patched(stage.address, "replica");
}

/* An owner that does not exist is asked for once, however often it is named. */
static void test_one_made_up_owner_costs_one_request(void **state)
{
        (void)state;
        int64_t longest_ms = 0;
        AUTO(mem_free) char *url = mem_printf("http://%s/admission", stage.address);
        AUTO(mem_free) char *body = strangers_review("shop", "nobody", "new", 0);
        for (int i = 0; i < 20; i++) {
                AUTO(got_release)
                struct got g = fetch(&(struct fetch){.url = url, .type = "application/json", .body = body});
                assert_int_equal(g.status, 200);
                assert_null(strstr(g.body, "\"patch\""));
        }
        assert_int_equal(fake_count(stage.fake, "get", SETS "nobody"), 1);
        assert_true(is_patched(stage.address, 0, &longest_ms));
}

/* --- the stage --- */

static int begin(void **state)
{
        (void)state;
        strangers_raise_files();
        replica_stage_begin(&stage, false);
        return 0;
}

static int end(void **state)
{
        (void)state;
        int result = halflife_stop(stage.learner);
        return result | replica_stage_end(&stage);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_at_the_controller),
                cmocka_unit_test(test_at_a_replica),
                cmocka_unit_test(test_one_made_up_owner_costs_one_request),
        };
        return cmocka_run_group_tests(tests, begin, end);
}
