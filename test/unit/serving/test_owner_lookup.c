/*
 * Look-ups of pods' owners, while clients name owners that nobody has seen: who waits for whom, and what it costs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/api.h"
#include "../../support/shop.h"
#include "serving/owner_lookup.h"

#define SETS "/apis/apps/v1/namespaces/web/replicasets/"

enum { STRANGERS = 600 };

static struct {
        struct api api;
        struct cache cache;
        struct owner_lookup *lookup;
        int strange_answers;
} stage;

struct reply {
        int calls;
        bool found, apply_never;
        char kind[32], name[64];
};

static void on_found(void *arg, struct admission_owner *owner)
{
        struct reply *r = arg;
        r->calls++;
        r->found = owner != NULL;
        if (owner) {
                snprintf(r->kind, sizeof r->kind, "%.*s", TEXT_ARG(owner->kind));
                snprintf(r->name, sizeof r->name, "%.*s", TEXT_ARG(owner->name));
                r->apply_never = owner->apply_never;
        }
        mem_free(owner);
}

static void on_stranger(void *arg, struct admission_owner *owner)
{
        (void)arg;
        stage.strange_answers++;
        assert_null(owner);
}

static void find_from(const char *address, const char *name, struct reply *r)
{
        const struct owner_lookup_call call = {address, "web", "apps/v1", "ReplicaSet", name, on_found, r};
        *r = (struct reply){0};
        owner_lookup_find(stage.lookup, &call);
}

static void find(const char *name, struct reply *r)
{
        find_from("10.0.0.1", name, r);
}

/* So many owners that nobody has seen, all at once; each name begins so. */
static void strangers_come(const char *address, const char *name, int count)
{
        for (int i = 0; i < count; i++) {
                AUTO(mem_free) char *made_up = mem_printf("%s-%d", name, i);
                const struct owner_lookup_call call = {address, "web",       "apps/v1", "ReplicaSet",
                                                       made_up, on_stranger, NULL};
                owner_lookup_find(stage.lookup, &call);
        }
}

static bool is_answered(void *arg)
{
        const struct reply *r = arg;
        return r->calls > 0;
}

static bool strangers_have_answers(void *count)
{
        return stage.strange_answers >= *(int *)count;
}

static char *set_json(const char *name)
{
        return mem_printf("{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"metadata\":{\"name\":\"%s\","
                          "\"namespace\":\"web\",\"uid\":\"00000000-0000-4000-8000-000000000009\",\"ownerReferences\":"
                          "[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\",\"uid\":\"00000000-"
                          "0000-4000-8000-000000000001\",\"controller\":true}]},\"spec\":{\"replicas\":0,\"selector\":"
                          "{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},"
                          "\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":\"x\"}]}}}}",
                          name);
}

static void put_set(const char *name)
{
        AUTO(mem_free) char *json = set_json(name);
        fake_put(stage.api.fake, "kubectl", json);
}

static struct watched_kind *sets(void)
{
        return kind_watched(&stage.cache, TEXT("apps"), TEXT("ReplicaSet"));
}

/* As an informer does. */
static void see_set(const char *name)
{
        AUTO(mem_free) char *json = set_json(name);
        struct err err = {0};
        assert_int_equal(workload_upsert(&stage.cache, sets(), text_of(json), 1, &err), 0);
}

/* Only that there is an informer counts here. */
static void watch_sets(void)
{
        static char informer;
        static const struct err works;
        watched_kind_set_informer(sets(), (struct informer *)&informer, &works);
}

static void assert_web(const struct reply *r)
{
        assert_int_equal(r->calls, 1);
        assert_true(r->found);
        assert_string_equal(r->kind, "Deployment");
        assert_string_equal(r->name, "web");
}

static size_t requests(void)
{
        return fake_count(stage.api.fake, "get", SETS);
}

/* --- tests --- */

static void an_owner_in_the_cache_waits_for_nobody(void **state)
{
        (void)state;
        struct reply r;
        see_set("web-5d8f");
        strangers_come("10.9.9.9", "made-up", STRANGERS);
        find("web-5d8f", &r);
        assert_web(&r); /* the loop has not turned */
        assert_int_equal(owner_lookup_count(stage.lookup, OWNER_LOOKUP_KNOWN), 1);
}

/* An owner that only the API server knows: where not all of its labels are read, nothing is set for its pods. */
static void an_owner_with_labels_that_are_cut_sets_nothing(void **state)
{
        (void)state;
        for (int more = 0; more <= 1; more++) {
                struct reply r;
                struct buf in;
                AUTO(mem_free) char *name = mem_printf("own-%d", more);
                buf_init(&in, 1 << 16);
                buf_printf(&in,
                           "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"metadata\":{\"namespace\":\"web\","
                           "\"name\":\"%s\",\"labels\":{\"l\":\"\"",
                           name);
                for (int i = 1; i < VIEW_LABELS + more; i++)
                        buf_printf(&in, ",\"l%d\":\"\"", i);
                buf_add_text(&in,
                             "}},\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{"
                             "\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":"
                             "\"x\"}]}}}}");
                fake_put(stage.api.fake, "kubectl", in.data);
                find(name, &r);
                assert_true(api_until(&stage.api, is_answered, &r));
                assert_true(r.found);
                assert_string_equal(r.kind, "ReplicaSet");
                assert_int_equal(r.apply_never, more);
                buf_release(&in);
        }
}

/* The ReplicaSet is new, and the cache knows its Deployment. */
static void an_expected_owner_waits_for_no_stranger(void **state)
{
        (void)state;
        struct reply r;
        put_set("web-5d8f");
        strangers_come("10.0.0.1", "made-up", STRANGERS);
        find("web-5d8f", &r);
        assert_true(api_until(&stage.api, is_answered, &r));
        assert_web(&r);
        assert_true(stage.strange_answers < STRANGERS);
}

/* Of two clients that name owners alike, the one with fewer look-ups is first. */
static void addresses_share_a_budget(void **state)
{
        (void)state;
        static const char *const unseen[] = {"other", "web"};
        for (int i = 0; i < 2; i++) {
                struct reply r;
                AUTO(mem_free) char *name = mem_printf("%s-5d8f%d", unseen[i], i);
                put_set(name);
                strangers_come("10.9.9.9", unseen[i], STRANGERS);
                find(name, &r);
                assert_true(api_until(&stage.api, is_answered, &r));
                assert_web(&r);
                assert_true(stage.strange_answers < STRANGERS);
                api_turn(&stage.api, 1000);
                assert_int_equal(stage.strange_answers, STRANGERS);
                stage.strange_answers = 0;
        }
        assert_true(owner_lookup_count(stage.lookup, OWNER_LOOKUP_CROWDED) > 0);
}

/* Within an address, the namespace with fewer look-ups is first. */
static void namespaces_share_an_address(void **state)
{
        (void)state;
        struct reply r = {0};
        AUTO(mem_free) char *set = set_json("rare-1");
        fake_put(stage.api.fake, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"quiet\"}}");
        char *ns = strstr(set, "\"namespace\":\"web\"");
        AUTO(mem_free)
        char *elsewhere =
                mem_printf("%.*s\"namespace\":\"quiet\"%s", (int)(ns - set), set, ns + strlen("\"namespace\":\"web\""));
        fake_put(stage.api.fake, "kubectl", elsewhere);
        strangers_come("10.0.0.1", "made-up", STRANGERS);
        const struct owner_lookup_call call = {"10.0.0.1", "quiet", "apps/v1", "ReplicaSet", "rare-1", on_found, &r};
        owner_lookup_find(stage.lookup, &call);
        assert_true(api_until(&stage.api, is_answered, &r));
        assert_true(r.found);
        assert_true(stage.strange_answers < STRANGERS);
}

static void an_absent_owner_costs_one_request(void **state)
{
        (void)state;
        struct reply r;
        for (int i = 0; i < 5; i++) {
                find("nobody", &r);
                assert_true(api_until(&stage.api, is_answered, &r));
                assert_false(r.found);
        }
        assert_int_equal(requests(), 1);
        assert_int_equal(owner_lookup_count(stage.lookup, OWNER_LOOKUP_ABSENT), 1);
        assert_int_equal(owner_lookup_count(stage.lookup, OWNER_LOOKUP_REPEATED), 4);
}

/* The Jobs of a CronJob have names that anybody can guess before they exist. */
static void an_expected_owner_is_never_absent_by_hearsay(void **state)
{
        (void)state;
        struct reply r;
        find("web-5d8f", &r);
        assert_true(api_until(&stage.api, is_answered, &r));
        assert_false(r.found);
        put_set("web-5d8f");
        find("web-5d8f", &r);
        assert_true(api_until(&stage.api, is_answered, &r));
        assert_web(&r);
}

/* Neither a budget that is used up nor a kept absence matters, once the informer brings the owner. */
static void an_informer_ends_the_wait(void **state)
{
        (void)state;
        struct reply absent, crowded;
        watch_sets();
        find("alone", &absent);
        assert_true(api_until(&stage.api, is_answered, &absent));
        assert_false(absent.found);
        strangers_come("10.0.0.1", "made-up", STRANGERS);
        find("alone", &absent);
        find("late", &crowded);
        api_turn(&stage.api, 50);
        assert_int_equal(absent.calls, 0);
        assert_int_equal(crowded.calls, 0);
        see_set("alone");
        see_set("late");
        assert_true(api_until(&stage.api, is_answered, &absent));
        assert_true(api_until(&stage.api, is_answered, &crowded));
        assert_web(&absent);
        assert_web(&crowded);
        assert_int_equal(fake_count(stage.api.fake, "get", SETS "late"), 0);
}

static bool burst_is_used(void *arg)
{
        (void)arg;
        return requests() >= 100;
}

static void look_ups_have_a_rate(void **state)
{
        (void)state;
        int count = STRANGERS;
        struct mono began = mono_read();
        strangers_come("10.9.9.9", "made-up", STRANGERS);
        assert_true(api_until(&stage.api, strangers_have_answers, &count));
        double took = (double)(mono_read().ns - began.ns) / 1e9;
        assert_true(took < 2);
        /* A client that waited too long has its answer while its look-up is still under way. */
        assert_true(api_until(&stage.api, burst_is_used, NULL));
        took = (double)(mono_read().ns - began.ns) / 1e9;
        assert_in_range(requests(), 100, (uintmax_t)(101 + 50 * took));
        assert_int_equal(owner_lookup_count(stage.lookup, OWNER_LOOKUP_ABSENT) +
                                 owner_lookup_count(stage.lookup, OWNER_LOOKUP_CROWDED) +
                                 owner_lookup_count(stage.lookup, OWNER_LOOKUP_FAILED),
                         STRANGERS);
}

/* No object has such a name, and a kept one would cost as much memory as a client likes. */
static void a_name_too_long_costs_nothing(void **state)
{
        (void)state;
        char name[300];
        struct reply r;
        memset(name, 'a', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        find(name, &r);
        assert_int_equal(r.calls, 1);
        assert_false(r.found);
        assert_int_equal(fake_count(stage.api.fake, "get", NULL), 0);
}

/* Those that wait and those under way end without an answer. */
static void it_ends_at_any_time(void **state)
{
        (void)state;
        strangers_come("10.9.9.9", "made-up", STRANGERS);
        api_turn(&stage.api, 5);
}

static void results_have_names(void **state)
{
        (void)state;
        for (int r = 0; r < OWNER_LOOKUP_RESULTS; r++)
                for (int other = 0; other < r; other++)
                        assert_string_not_equal(owner_lookup_result_name((enum owner_lookup_result)r),
                                                owner_lookup_result_name((enum owner_lookup_result)other));
}

static int begin(void **state)
{
        (void)state;
        memset(&stage, 0, sizeof stage);
        api_begin(&stage.api, &(struct fake_options){.controllers = FAKE_CONTROLLERS_OFF});
        cache_init(&stage.cache, "halflife", "halflife-system");
        shop_deployment(&stage.cache, "{}");
        stage.lookup = owner_lookup_new(stage.api.client, &stage.cache);
        return 0;
}

static int end(void **state)
{
        (void)state;
        owner_lookup_free(stage.lookup);
        cache_release(&stage.cache);
        api_end(&stage.api);
        return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(an_owner_in_the_cache_waits_for_nobody),
                TEST(an_owner_with_labels_that_are_cut_sets_nothing),
                TEST(an_expected_owner_waits_for_no_stranger),
                TEST(addresses_share_a_budget),
                TEST(namespaces_share_an_address),
                TEST(an_absent_owner_costs_one_request),
                TEST(an_expected_owner_is_never_absent_by_hearsay),
                TEST(an_informer_ends_the_wait),
                TEST(look_ups_have_a_rate),
                TEST(a_name_too_long_costs_nothing),
                TEST(it_ends_at_any_time),
                TEST(results_have_names),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
