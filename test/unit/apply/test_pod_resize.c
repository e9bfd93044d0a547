/* InPlace: pods that do not have the set requests yet, the condition about them, and raises by a sample. Usage is 250m,
 * so the target is 285m of an original of 1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/shop.h"

enum { SAMPLES = 120, MI = 1 << 20 };
static const int64_t base_ms = 1763700000000, set_ms = 1763690000000;

#define SET        "[{\"name\":\"app\",\"cpu\":\"285m\"}]"
#define HIGHER     "[{\"name\":\"app\",\"cpu\":\"600m\"}]"
#define NOTES(v)   "\"halflife.dev/applied-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"" v "\\\"}}}\""
#define RAISED     ",\"halflife.dev/raised\":\"2026-01-01T00:00:00Z\""
#define RAISED_ALL "\"halflife.dev/raised\":\"2026-01-01T00:00:00Z\""
#define BEFORE     ",\"halflife.dev/raised\":\"2020-01-01T00:00:00Z\""
#define SAYS(t, r) "{\"type\":\"" t "\",\"status\":\"True\",\"reason\":\"" r "\",\"message\":\"words\"}"

/* Pods of a StatefulSet that asks for one core; the first is as told, the second, where there is one, has what is set.
 */
static const struct row {
        const char *what;
        const char *set;                                                 /* NULL: nothing is */
        const char *request, *limit, *annotations, *policy, *conditions; /* of the first pod */
        bool paused, unserved;
        /* wanted */
        bool apply, next;
        const char *reason, *message; /* of condition Applied */
} rows[] = {
        {"nothing is set yet", NULL, "1", "2", "", "", "", false, false, true, false, "Pending", ""},
        {"all have it", SET, "285m", "2", NOTES("285m"), "", "", false, false, false, false, "UpToDate", ""},
        {"one is behind", SET, "1", "2", "", "", "", false, false, false, true, "Resizing", "10 at once"},
        {"by an older setting", SET, "500m", "2", NOTES("500m"), "", "", false, false, false, true, "Resizing", ""},
        {"annotated and no more", SET, "500m", "2", NOTES("285m"), "", "", false, false, false, true, "Resizing", ""},
        {"paused", SET, "1", "2", "", "", "", true, false, false, false, "Waiting", "1 of 2 pods"},
        {"no such subresource", SET, "1", "2", "", "", "", false, true, false, false, "ResizeUnsupported",
         "1 of 2 pods"},
        {"raised since", SET, "700m", "2", NOTES("700m") RAISED, "", "", false, false, false, false, "UpToDate", ""},
        {"raised to the original, so nothing of it is ours", SET, "1", "2", RAISED_ALL, "", "", false, false, false,
         false, "UpToDate", ""},
        {"raised before that, and no sample tells what it uses now", SET, "700m", "2", NOTES("700m") BEFORE, "", "",
         false, false, false, false, "UpToDate", ""},
        {"somebody else's", SET, "700m", "2", "", "", "", false, false, false, false, "SetByOthers", "1 of 2 pods"},
        {"Guaranteed", SET, "1", "1", "", "", "", false, false, false, false, "QoS", "1 of 2 pods"},
        {"would restart", SET, "1", "2", "",
         "\"resizePolicy\":[{\"resourceName\":\"cpu\",\"restartPolicy\":\"RestartContainer\"}],", "", false, false,
         false, false, "RestartRequired", "1 of 2 pods"},
        {"deferred", SET, "285m", "2", NOTES("285m"), "", SAYS("PodResizePending", "Deferred"), false, false, false,
         false, "Deferred", "words"},
        {"deferred, while its next target waits", HIGHER, "600m", "2", NOTES("600m"), "",
         SAYS("PodResizePending", "Deferred"), true, false, false, false, "Deferred", "words"},
        {"under way, while its next target waits", HIGHER, "600m", "2", NOTES("600m"), "",
         SAYS("PodResizeInProgress", ""), true, false, false, false, "Paused", ""},
        {"infeasible", SET, "285m", "2", NOTES("285m"), "", SAYS("PodResizePending", "Infeasible"), false, false, false,
         false, "Infeasible", "words"},
        {"the next setting tries it again", SET, "500m", "2", NOTES("500m"), "", SAYS("PodResizePending", "Infeasible"),
         false, false, false, true, "Resizing", ""},
        {"fails", SET, "285m", "2", NOTES("285m"), "", SAYS("PodResizeInProgress", "Error"), false, false, false, false,
         "ResizeFails", "words"},
        {"under way", SET, "285m", "2", NOTES("285m"), "", SAYS("PodResizeInProgress", ""), false, false, false, false,
         "Resizing", ""},
        {"the original is back, its record not gone", "[]", "1", "2", NOTES("285m"), "", "", false, false, true, true,
         "Pending", ""},
};

static void put_pod(struct cache *w, const char *name, const struct row *r)
{
        char json[3000];
        struct err err = {0};
        snprintf(
                json, sizeof json,
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"00000000-0000-4000-8000-0000000000%s\","
                "\"annotations\":{%s},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\","
                "\"name\":\"db\",\"uid\":\"00000000-0000-4000-8000-000000000001\",\"controller\":true}]},\"spec\":{"
                "\"containers\":[{\"name\":\"app\",%s\"resources\":{\"requests\":{\"cpu\":\"%s\",\"memory\":\"1Gi\"},"
                "\"limits\":{\"cpu\":\"%s\",\"memory\":\"1Gi\"}}}]},\"status\":{\"phase\":\"Running\",\"startTime\":"
                "\"2025-11-21T04:40:00Z\",\"conditions\":[%s]}}",
                name, r ? "12" : "11", r ? r->annotations : NOTES("285m"), r ? r->policy : "", r ? r->request : "285m",
                r ? r->limit : "2", r ? r->conditions : "");
        if (pod_upsert(w, text_of(json), 1, &err) < 0)
                fail_msg("%s", err.text);
}

static void make_world(struct cache *w, const struct row *r)
{
        cache_init(w, "halflife", "halflife-system");
        shop_workload(
                w, &(struct shop_workload){"apps", "StatefulSet", "web", "db", 1, NULL,
                                           "\"replicas\":2,\"template\":{\"spec\":{\"containers\":[{\"name\":\"app\","
                                           "\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},"
                                           "\"limits\":{\"cpu\":\"2\",\"memory\":\"1Gi\"}}}]}}",
                                           NULL});
        AUTO(mem_free)
        char *spec = mem_printf("{\"paused\":%s,\"resources\":{\"memory\":{\"enabled\":false}},\"apply\":{\"mode\":"
                                "\"InPlace\",\"minHistory\":\"1m\",\"maxDecreasePercent\":90,\"cooldown\":\"0s\","
                                "\"raise\":{\"after\":\"2m\"}}}",
                                r && r->paused ? "true" : "false");
        shop_profile(w, 1, spec);
        if (!r || (r->set && strcmp(r->set, SET) == 0))
                put_pod(w, "db-1", NULL);
        if (r)
                put_pod(w, "db-0", r);
        w->resize = r && r->unserved ? RESIZE_ABSENT : RESIZE_SERVED;
}

static void learn(struct target *t)
{
        struct sample_watermark last = shop_learn(t, t->workload->container[0].name, base_ms, SAMPLES);
        for (struct pod *p = t->pods; p; p = p->next_of_target)
                p->container[0].watermark = last;
}

static void check(const struct row *r, const struct plan *p)
{
        const struct plan_condition *applied = plan_condition(p, "Applied");
        const char *next = p->resize.next ? p->resize.next->name : "none";
        if (p->apply != r->apply || strcmp(next, r->next ? "db-0" : "none") != 0)
                fail_msg("%s: apply %d, next %s", r->what, p->apply, next);
        if (strcmp(applied->reason, r->reason) != 0 || !strstr(applied->message, r->message))
                fail_msg("%s: %s '%s'", r->what, applied->reason, applied->message);
}

static struct now now_of(void)
{
        return (struct now){.wall = {base_ms + SAMPLES * 1000}, .mono = {1}};
}

static void test_rows(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct cache w;
                struct arena a = {0};
                struct plan plan;
                make_world(&w, &rows[i]);
                cache_relink(&w, now_of());
                struct target *t = target_get(&w, TEXT("web"), TEXT("apps"), TEXT("StatefulSet"), TEXT("db"));
                t->profile->window_open = true;
                learn(t);
                if (rows[i].set) {
                        t->apply_state.changed_ms = set_ms;
                        target_set_applied(&w, t, mem_string(rows[i].set), true);
                }
                struct plan_facts facts = {.now = now_of(), .interval_ms = 1000};
                plan_judge(&w, t, &facts, &a, &plan);
                plan_finish(&w, &facts, &a, &plan);
                check(&rows[i], &plan);
                arena_release(&a);
                cache_release(&w);
        }
}

/* A pod of which not all containers are known stays, and the condition says so. */
static void test_a_pod_that_is_cut_stays(void **state)
{
        (void)state;
        static const struct row behind = {"cut",
                                          SET,
                                          "1",
                                          "2",
                                          "",
                                          "",
                                          "",
                                          false,
                                          false,
                                          false,
                                          false,
                                          "TooManyContainers",
                                          "1 of 2 pods stay as they are, because they have more than 64 containers"};
        struct cache w;
        struct arena a = {0};
        struct plan plan;
        make_world(&w, &behind);
        cache_relink(&w, now_of());
        struct target *t = target_get(&w, TEXT("web"), TEXT("apps"), TEXT("StatefulSet"), TEXT("db"));
        learn(t);
        t->apply_state.changed_ms = set_ms;
        target_set_applied(&w, t, mem_string(SET), true);
        struct pod *cut = map_get(&w.pods, TEXT("web/db-0"));
        cut->containers_cut = true;
        struct plan_facts facts = {.now = now_of(), .interval_ms = 1000};
        plan_judge(&w, t, &facts, &a, &plan);
        plan_finish(&w, &facts, &a, &plan);
        check(&behind, &plan);
        arena_release(&a);
        cache_release(&w);
}

/* What a VPA sizes by now is not followed, though it was set before; what it leaves goes on. */
static void test_beside_a_vpa(void **state)
{
        (void)state;
#define BEHIND(what, next, reason, says)                                                                               \
        {                                                                                                              \
                what, SET, "1", "2", "", "", "", false, false, false, next, reason, says                               \
        }
        static const struct {
                struct row row;
                const char *policy;
                bool named;
        } beside[] = {
                {BEHIND("beside a VPA", false, "UpToDate", ""), "", true},
                {BEHIND("beside a VPA of CPU", false, "UpToDate", ""), "\"controlledResources\":[\"cpu\"]", true},
                {BEHIND("beside a VPA of memory", true, "Resizing", "10 at once"),
                 "\"controlledResources\":[\"memory\"]", true},
                {BEHIND("beside a VPA that is Off", true, "Resizing", "10 at once"), "\"mode\":\"Off\"", false},
                {{"its record stays beside a VPA", "[]", "1", "2", NOTES("285m"), "", "", false, false, false, false,
                  "OtherAutoscaler", ""},
                 "\"controlledResources\":[\"cpu\"]",
                 true},
        };
        for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
                const struct row *row = &beside[i].row;
                struct cache w;
                struct arena a = {0};
                struct plan plan;
                struct err err = {0};
                AUTO(mem_free)
                char *vpa =
                        mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"sizer\"},\"spec\":{\"targetRef\":{"
                                   "\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"name\":\"db\"},"
                                   "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"app\"%s%s}]}}}",
                                   *beside[i].policy ? "," : "", beside[i].policy);
                make_world(&w, row);
                assert_int_equal(other_autoscaler_upsert(&w, text_of(vpa), 1, &err), 0);
                cache_relink(&w, now_of());
                struct target *t = target_get(&w, TEXT("web"), TEXT("apps"), TEXT("StatefulSet"), TEXT("db"));
                t->profile->window_open = true;
                learn(t);
                t->apply_state.changed_ms = set_ms;
                target_set_applied(&w, t, mem_string(row->set), true);
                struct plan_facts facts = {.now = now_of(), .interval_ms = 1000};
                plan_judge(&w, t, &facts, &a, &plan);
                plan_finish(&w, &facts, &a, &plan);
                check(row, &plan);
                assert_int_equal(plan_condition(&plan, "OtherAutoscaler") != NULL, beside[i].named);
                arena_release(&a);
                cache_release(&w);
        }
}

static void test_settings_are_read(void **state)
{
        (void)state;
        struct cache w;
        make_world(&w, NULL);
        cache_relink(&w, now_of());
        struct target *t = target_get(&w, TEXT("web"), TEXT("apps"), TEXT("StatefulSet"), TEXT("db"));
        const char *app = t->workload->container[0].name;
        target_set_applied(&w, t, mem_string("[{\"name\":\"app\",\"cpu\":\"285m\",\"memory\":\"x\"},{}]"), true);
        const struct record_row *row = target_setting(t, app);
        assert_non_null(row);
        assert_int_equal(row->request[CPU].value, 285);
        assert_false(row->request[MEMORY].set);
        target_set_applied(&w, t, mem_string("not JSON"), true);
        assert_null(target_setting(t, app));
        target_set_applied(&w, t, mem_string(SET), false); /* a template's */
        assert_null(target_setting(t, app));
        target_set_applied(&w, t, NULL, true);
        assert_false(t->apply_state.in_place);
        cache_release(&w);
}

/* --- raising --- */

static void see(struct pod *p, int64_t minute, int64_t cpu_milli, int64_t memory)
{
        const struct pod_metrics_container_view v = {
                .has = {true, true}, .cpu_nano = cpu_milli * 1000000 - 999999, .memory_bytes = memory};
        raise_see(p->container[0].history, p, 0, &v, (struct wall){base_ms + minute * 60000});
}

static int64_t raised(const struct pod *p, enum resource r)
{
        return p->resizing ? p->resizing->raising[r].to : 0;
}

static void test_a_pod_that_uses_more_is_raised(void **state)
{
        (void)state;
        struct cache w;
        make_world(&w, NULL);
        cache_relink(&w, now_of());
        struct target *t = target_get(&w, TEXT("web"), TEXT("apps"), TEXT("StatefulSet"), TEXT("db"));
        struct pod *p = t->pods;
        struct history *h = history_get(t, p->container[0].name, t->profile->spec->of);
        h->original = mem_new_array(RESOURCES, sizeof *h->original); /* none of either */
        p->container[0].history = h;
        h->original[CPU] = (struct amount){true, 1000};
        h->original[MEMORY] = (struct amount){true, INT64_C(4096) * MI};
        see(p, 0, 200, 10 * MI);
        assert_null(p->resizing); /* no state is kept for a pod that never used more */
        see(p, 1, 300, INT64_C(3000) * MI);
        see(p, 2, 400, INT64_C(3000) * MI);
        assert_int_equal(raised(p, CPU), 0);
        see(p, 3, 350, INT64_C(3000) * MI);
        assert_int_equal(raised(p, CPU), 440);  /* 1.1 x the most of it */
        assert_int_equal(raised(p, MEMORY), 0); /* the profile does not manage it */
        see(p, 4, 285, MI);                     /* what it asks for is not more */
        assert_int_equal(raised(p, CPU), 0);
        see(p, 5, 9000, MI);
        see(p, 7, 9000, MI);
        assert_int_equal(raised(p, CPU), 855); /* three times what it asks for */
        p->container[0].request[CPU] = amount_pack((struct amount){true, 855});
        see(p, 8, 9000, MI);
        see(p, 10, 9000, MI);
        assert_int_equal(raised(p, CPU), 1000); /* never more than the original */
        cache_release(&w);
}

static void test_who_is_raised_comes_first(void **state)
{
        (void)state;
        static const struct row behind = {"behind", SET,   "1",   "2",  "",         "", "",
                                          false,    false, false, true, "Resizing", ""};
        struct cache w;
        struct arena a = {0};
        struct plan plan;
        make_world(&w, &behind);
        cache_relink(&w, now_of());
        struct target *t = target_get(&w, TEXT("web"), TEXT("apps"), TEXT("StatefulSet"), TEXT("db"));
        learn(t);
        t->apply_state.changed_ms = set_ms;
        target_set_applied(&w, t, mem_string(SET), true);
        struct pod *up = map_get(&w.pods, TEXT("web/db-1"));
        pod_resizing(up)->raising[CPU].to = 600;
        struct plan_facts facts = {.now = now_of(), .interval_ms = 1000}; /* no budget, no window */
        plan_judge(&w, t, &facts, &a, &plan);
        plan_finish(&w, &facts, &a, &plan);
        assert_ptr_equal(plan.resize.next, up);
        assert_true(plan.resize.raises);
        bool other = false;
        assert_int_equal(resize_want(&plan, &plan.container[0], up, 0, CPU, &other).value, 600);
        pod_resizing(up)->raising[CPU].to = 5000; /* the original was lowered since */
        assert_int_equal(resize_want(&plan, &plan.container[0], up, 0, CPU, &other).value, 1000);
        arena_release(&a);
        cache_release(&w);
}

/* Raised before the last setting: the setting is for it too, once it no longer uses more than that. */
static void test_what_is_still_used_stays(void **state)
{
        (void)state;
        static const struct row before = {"raised before", SET,   "700m", "2",  NOTES("700m") BEFORE, "", "",
                                          false,           false, false,  true, "Resizing",           ""};
        static const struct {
                int64_t used;
                int64_t want;
        } row[] = {{600, 700}, {286, 700}, {285, 285}, {0, 285}};
        struct cache w;
        struct arena a = {0};
        struct plan plan;
        make_world(&w, &before);
        cache_relink(&w, now_of());
        struct target *t = target_get(&w, TEXT("web"), TEXT("apps"), TEXT("StatefulSet"), TEXT("db"));
        learn(t);
        t->apply_state.changed_ms = set_ms;
        target_set_applied(&w, t, mem_string(SET), true);
        struct pod *p = map_get(&w.pods, TEXT("web/db-0"));
        struct plan_facts facts = {.now = now_of(), .interval_ms = 1000};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                bool other = false;
                pod_resizing(p)->raising[CPU].sampled = true;
                pod_resizing(p)->raising[CPU].used = row[i].used;
                plan_judge(&w, t, &facts, &a, &plan);
                plan_finish(&w, &facts, &a, &plan);
                assert_int_equal(resize_want(&plan, &plan.container[0], p, 0, CPU, &other).value, row[i].want);
                assert_false(other);
        }
        arena_release(&a);
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_a_pod_that_is_cut_stays),
                cmocka_unit_test(test_beside_a_vpa),
                cmocka_unit_test(test_settings_are_read),
                cmocka_unit_test(test_a_pod_that_uses_more_is_raised),
                cmocka_unit_test(test_who_is_raised_comes_first),
                cmocka_unit_test(test_what_is_still_used_stays),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
