/* Which targets' pods start with their originals, what bars it, and from when the time of a start counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"

/* 2025-11-21T06:00:00Z */
static const int64_t now_ms = 1763704800000;

#define ORIGINAL    "\"startup\":{\"request\":\"Original\"}"
#define IN_PLACE    "\"mode\":\"InPlace\"," ORIGINAL
#define RESTART(of) "\"resizePolicy\":[{\"resourceName\":\"" of "\",\"restartPolicy\":\"RestartContainer\"}],"
#define READY(is, at)                                                                                                  \
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"" is "\",\"lastTransitionTime\":\"2025-11-21T" at "Z\"}]"
#define RUN(restarts, at)                                                                                              \
        "\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":" restarts                                          \
        ",\"state\":{\"running\":{\"startedAt\":\"2025-11-21T" at "Z\"}}}],"
#define YOUNG "\"startTime\":\"2025-11-21T05:58:00Z\","

static const struct row {
        const char *what;
        const char *group, *kind, *apply, *policy, *status; /* apply: the profile's spec.apply */
        enum resize_support resize;
        bool denied;
        /* wanted */
        bool starts;
        const char *startup;      /* the reason of condition Startup; NULL: it is not said */
        enum startup_stage stage; /* of its pod */
} rows[] = {
        {"Target", "apps", "StatefulSet", "\"mode\":\"InPlace\"", "", YOUNG READY("False", "05:58:00"), RESIZE_SERVED,
         false, false, NULL, STARTUP_OFF},
        {"InPlace", "apps", "StatefulSet", IN_PLACE, "", YOUNG READY("False", "05:58:00"), RESIZE_SERVED, false, true,
         NULL, STARTUP_STARTS},
        {"OnDeploy", "apps", "StatefulSet", "\"mode\":\"OnDeploy\"," ORIGINAL, "", YOUNG READY("False", "05:58:00"),
         RESIZE_SERVED, false, true, NULL, STARTUP_STARTS},
        {"OnDeploy at Workload", "apps", "StatefulSet", "\"mode\":\"OnDeploy\",\"at\":\"Workload\"," ORIGINAL, "",
         YOUNG READY("False", "05:58:00"), RESIZE_SERVED, false, false, NULL, STARTUP_OFF},
        {"Rollout", "apps", "StatefulSet", "\"mode\":\"Rollout\"," ORIGINAL, "", YOUNG READY("False", "05:58:00"),
         RESIZE_SERVED, false, false, NULL, STARTUP_OFF},
        {"a CronJob", "batch", "CronJob", IN_PLACE, "", YOUNG READY("False", "05:58:00"), RESIZE_SERVED, false, false,
         "RunsToCompletion", STARTUP_OFF},
        {"a server that cannot resize", "apps", "StatefulSet", IN_PLACE, "", YOUNG READY("False", "05:58:00"),
         RESIZE_ABSENT, false, false, "ResizeUnsupported", STARTUP_OFF},
        {"a server not asked yet", "apps", "StatefulSet", IN_PLACE, "", YOUNG READY("False", "05:58:00"),
         RESIZE_UNASKED, false, true, NULL, STARTUP_STARTS},
        {"a resize was forbidden: the pods that started so still go down", "apps", "StatefulSet", IN_PLACE, "",
         YOUNG READY("False", "05:58:00"), RESIZE_SERVED, true, true, "Forbidden", STARTUP_STARTS},
        {"CPU would restart", "apps", "StatefulSet", IN_PLACE, RESTART("cpu"), YOUNG READY("False", "05:58:00"),
         RESIZE_SERVED, false, false, "RestartRequired", STARTUP_OFF},
        {"memory would, which the profile leaves alone", "apps", "StatefulSet", IN_PLACE, RESTART("memory"),
         YOUNG READY("False", "05:58:00"), RESIZE_SERVED, false, true, NULL, STARTUP_STARTS},
        {"Ready a while ago", "apps", "StatefulSet", IN_PLACE, "", YOUNG READY("True", "05:59:00"), RESIZE_SERVED,
         false, true, NULL, STARTUP_OVER},
        {"just Ready", "apps", "StatefulSet", IN_PLACE, "", YOUNG READY("True", "05:59:31"), RESIZE_SERVED, false, true,
         NULL, STARTUP_SETTLES},
        {"not Ready by most", "apps", "StatefulSet", IN_PLACE, "",
         "\"startTime\":\"2025-11-21T05:50:00Z\"," READY("False", "05:50:00"), RESIZE_SERVED, false, true, NULL,
         STARTUP_LATE},
        {"its container restarted", "apps", "StatefulSet", IN_PLACE, "",
         "\"startTime\":\"2025-11-21T04:00:00Z\"," RUN("1", "05:59:00") READY("False", "05:58:58"), RESIZE_SERVED,
         false, true, NULL, STARTUP_STARTS},
        {"its container restarted long ago", "apps", "StatefulSet", IN_PLACE, "",
         "\"startTime\":\"2025-11-21T04:00:00Z\"," RUN("1", "05:30:00") READY("True", "05:31:00"), RESIZE_SERVED, false,
         true, NULL, STARTUP_OVER},
        {"its container began late and did not restart", "apps", "StatefulSet", IN_PLACE, "",
         "\"startTime\":\"2025-11-21T05:50:00Z\"," RUN("0", "05:59:00") READY("False", "05:50:00"), RESIZE_SERVED,
         false, true, NULL, STARTUP_LATE},
        {"its kubelet did not report yet: since its creation", "apps", "StatefulSet", IN_PLACE, "",
         READY("False", "05:58:00"), RESIZE_SERVED, false, true, NULL, STARTUP_STARTS},
};

static void put_world(struct cache *w, const struct row *r)
{
        char json[3000];
        struct err err = {0};
        struct watched_kind *k;
        cache_init(w, "halflife", "halflife-system");
        for (k = w->kinds; strcmp(k->kind, r->kind) != 0 || strcmp(k->group, r->group) != 0;)
                k = k->next;
        bool runs = strcmp(r->kind, "CronJob") == 0;
        snprintf(json, sizeof json,
                 "{\"metadata\":{\"namespace\":\"web\",\"name\":\"db\",\"uid\":\"00000000-0000-4000-8000-000000000001\""
                 ",\"generation\":1},\"spec\":{%s\"template\":{\"spec\":{\"containers\":[{\"name\":\"app\","
                 "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}%s}}",
                 runs ? "\"jobTemplate\":{\"spec\":{" : "\"replicas\":1,", runs ? "}}" : "");
        assert_int_equal(workload_upsert(w, k, text_of(json), 1, &err), 0);
        snprintf(json, sizeof json,
                 "{\"metadata\":{\"namespace\":\"web\",\"name\":\"team\",\"generation\":1},\"spec\":{\"apply\":{%s}}}",
                 r->apply);
        assert_int_equal(profile_upsert(w, false, text_of(json), 1, &err), 0);
        snprintf(json, sizeof json,
                 "{\"metadata\":{\"namespace\":\"web\",\"name\":\"db-0\",\"uid\":"
                 "\"00000000-0000-4000-8000-000000000011\",\"creationTimestamp\":\"2025-11-21T05:57:00Z\","
                 "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"%s\",\"name\":\"db\",\"uid\":"
                 "\"00000000-0000-4000-8000-000000000001\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":"
                 "\"app\",%s\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Running\",%s}}",
                 r->kind, r->policy, r->status);
        if (pod_upsert(w, text_of(json), 1, &err) < 0)
                fail_msg("%s: %s", r->what, err.text);
        w->resize = r->resize;
}

static void test_rows(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                const struct row *r = &rows[i];
                struct cache w;
                struct arena a = {0};
                struct plan plan;
                const struct now now = {.wall = {now_ms}, .mono = {1}};
                put_world(&w, r);
                cache_relink(&w, now);
                struct target *t = target_get(&w, TEXT("web"), text_of(r->group), text_of(r->kind), TEXT("db"));
                if (r->denied)
                        (void)target_set_denied(t, "HTTP 403");
                struct plan_facts facts = {.now = now, .interval_ms = 1000};
                plan_judge(&w, t, &facts, &a, &plan);
                plan_finish(&w, &facts, &a, &plan);
                const struct plan_condition *said = plan_condition(&plan, "Startup");
                enum startup_stage stage = startup_stage_in(&plan, t->pods);
                if (plan.starts != r->starts || stage != r->stage)
                        fail_msg("%s: starts %d, stage %d", r->what, plan.starts, stage);
                if (!said != !r->startup || (said && (strcmp(said->reason, r->startup) != 0 || said->status)))
                        fail_msg("%s: condition %s", r->what, said ? said->reason : "none");
                struct recommendation_status s;
                plan_status(&plan, &a, &s);
                assert_int_equal(s.decision.starts_original, r->starts && !r->denied);
                arena_release(&a);
                cache_release(&w);
        }
}

/* A restart counts as harm only where the pod had lower requests. */
static void test_restarts_with_originals_do_no_harm(void **state)
{
        (void)state;
        static const char original[] = "\"halflife.dev/original-resources\":\"{}\"";
        static const char lowered[] =
                "\"halflife.dev/original-resources\":\"{}\",\"halflife.dev/applied-resources\":\"{}\"";
        static const struct {
                const char *notes;
                int told, restarts;
        } step[] = {
                {original, 0, 0}, {original, 2, 0}, {lowered, 2, 0},         {lowered, 3, 1},    {original, 3, 1},
                {original, 4, 1}, {lowered, 5, 2},  {lowered, 70000, 65532}, {"", 70000, 65532},
        };
        struct cache w;
        struct err err = {0};
        cache_init(&w, "halflife", "halflife-system");
        for (size_t i = 0; i < sizeof step / sizeof step[0]; i++) {
                char json[1000];
                snprintf(json, sizeof json,
                         "{\"metadata\":{\"namespace\":\"web\",\"name\":\"db-0\",\"uid\":"
                         "\"00000000-0000-4000-8000-000000000011\",\"annotations\":{%s}},\"spec\":{\"containers\":[{"
                         "\"name\":\"app\"}]},\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":"
                         "\"app\",\"restartCount\":%d,\"state\":{\"running\":{}}}]}}",
                         step[i].notes, step[i].told);
                assert_int_equal(pod_upsert(&w, text_of(json), 1, &err), 0);
                const struct pod *p = map_get(&w.pods, TEXT("web/db-0"));
                if (p->restarts != step[i].restarts)
                        fail_msg("step %zu: %d restarts", i, p->restarts);
        }
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_restarts_with_originals_do_no_harm),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
