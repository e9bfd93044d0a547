/*
 * What the halflife that learns shows of a plan is what a replica shows of the Recommendation written of it; and the
 * same of a Recommendation by the version before, which tells facts by conditions alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/shop.h"
#include "base/yaml.h"
#include "cache/oom_kill.h"
#include "cache/profile_fuse.h"
#include "plan/plan.h"
#include "serving/snapshot_from_plans.h"
#include "serving/snapshot_from_status.h"

enum { WORLDS = 1500, SAMPLES = 120 };
static const int64_t base_ms = 1763700000000;

static uint64_t seed;

static unsigned draw(unsigned below)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (unsigned)(seed % below);
}

#define PICK(list) list[draw(sizeof list / sizeof list[0])]

/* --- worlds --- */

#define RECORDED "{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"%s\\\"}}}"

#define SELECTS "\"selector\":{\"matchLabels\":{\"app\":\"web\"}},"

/* vpa: what follows its target in the spec; NULL: there is none. hpa: the Deployment that it scales; NULL: likewise. */
static void put_autoscalers(struct cache *w, const char *vpa, const char *hpa, const char *metric)
{
#define TARGET "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}"
        struct err err = {0};
        AUTO(mem_free)
        char *json = mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"vpa\"},\"spec\":{\"targetRef\":" TARGET
                                "%s}}",
                                vpa ? vpa : "");
        if (vpa)
                assert_int_equal(other_autoscaler_upsert(w, text_of(json), 1, &err), 0);
        AUTO(mem_free)
        char *scaler =
                mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"hpa\"},\"spec\":{\"scaleTargetRef\":{"
                           "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"%s\"},\"metrics\":[{"
                           "\"type\":\"Resource\",\"resource\":{\"name\":\"%s\",\"target\":{\"type\":"
                           "\"Utilization\",\"averageUtilization\":60}}}]}}",
                           hpa ? hpa : "", metric);
        if (hpa)
                assert_int_equal(hpa_upsert(w, text_of(scaler), 1, &err), 0);
}

/* A workload whose pods have the label that its own selector and that of the other ask for. */
static void put_other(struct cache *w)
{
        shop_workload(w, &(struct shop_workload){"apps", "Deployment", "web", "other", 2, NULL,
                                                 "\"replicas\":1," SELECTS
                                                 "\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}}}",
                                                 NULL});
}

static void put_recommendation(struct cache *w, const char *hold, const char *status)
{
        struct err err = {0};
        AUTO(mem_free)
        char *json = mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"deployment-web\",\"annotations\":{"
                                "\"halflife.dev/%s\":\"a person\"}},\"spec\":{\"targetRef\":" TARGET
                                ",\"profileRef\":{\"kind\":\"Profile\",\"name\":\"team\"}},\"status\":%s}",
                                hold, status);
        assert_int_equal(published_upsert(w, text_of(json), 1, &err), 0);
}

static void put_deployment(struct cache *w)
{
        static const char *const requests[] = {"", "\"cpu\":\"1\"", "\"cpu\":\"285m\",\"memory\":\"1Gi\"",
                                               "\"cpu\":\"500m\",\"memory\":\"100Mi\""};
        static const char *const applied[] = {"285m", "500m"};
        static const char *const pod[] = {"", "", ",\"resources\":{\"requests\":{\"cpu\":\"2\"}}",
                                          ",\"resources\":{\"requests\":{\"memory\":\"2Gi\"}}",
                                          ",\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"2Gi\"}}"};
        const char *by = PICK(applied);
        AUTO(mem_free)
        char *ours = mem_printf("\"halflife.dev/original-resources\":\"" RECORDED
                                "\",\"halflife.dev/applied-resources\":\"" RECORDED "\"",
                                "1", by);
        AUTO(mem_free)
        char *meta = mem_printf(",\"annotations\":{\"halflife.dev/%s\":\"Never\"}", draw(6) ? "nothing" : "apply");
        AUTO(mem_free)
        char *spec = mem_printf(
                "\"replicas\":%u,%s" SELECTS
                "\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"},\"annotations\":{%s}},\"spec\":{"
                "\"containers\":[{\"name\":\"app\","
                "\"resources\":{\"requests\":{%s}%s}},{\"name\":\"side\",\"resources\":{\"requests\":{%s}}}],"
                "\"initContainers\":[{\"name\":\"prepare\",\"resources\":{\"requests\":{%s}}}]%s}}",
                draw(4), draw(6) ? "" : "\"paused\":true,", draw(2) ? ours : "", PICK(requests),
                draw(3) ? "" : ",\"limits\":{\"memory\":\"4Gi\"}", PICK(requests), PICK(requests), PICK(pod));
        shop_workload(w, &(struct shop_workload){"apps", "Deployment", "web", "web", 1, meta, spec, SHOP_ROLLED_OUT});
}

/* What nobody puts into a cache as an object, but a cycle finds out. */
static void happen(struct cache *w, struct target *t, struct now now)
{
        static char applied[] = "[{\"cpu\":\"285m\",\"name\":\"app\"}]";
        static const int samples[] = {0, 10, SAMPLES, SAMPLES};
        t->profile->window_open = draw(3);
        for (int i = 0; i < t->workload->containers; i++)
                if (t->workload->container[i].role != ROLE_INIT)
                        shop_learn(t, t->workload->container[i].name, base_ms, PICK(samples));
        if (!draw(4)) {
                t->apply_state.contest = mem_string("'helm' put it back");
                t->apply_state.contested_ms = now.wall.ms + HOUR_MS;
        }
        if (draw(2)) {
                t->apply_state.changed_ms = now.wall.ms - HOUR_MS;
                t->apply_state.containers = mem_string(applied);
        }
        target_set_canary(t, false, !draw(4));
        t->workload->in_place_only = !draw(6);
        if (draw(2)) { /* the status has whole seconds */
                struct oom_kill k = {
                        .container = t->workload->container[0].name, .at = {whole_second(now.wall.ms)}, .limit = 5e9};
                target_killed(w, t, &k);
        }
}

/* --- rows --- */

static char *text_of_status(const struct plan *p, struct arena *a)
{
        struct recommendation_status s;
        struct buf b;
        struct writer w = {.b = &b};
        buf_init(&b, 1 << 20);
        plan_status(p, a, &s);
        writer_open(&w, NULL, '{');
        recommendation_status_write(&w, &s);
        writer_close(&w, '}');
        return buf_steal(&b);
}

static void compare_numbers(const char *where, const struct status_numbers *a, const struct status_numbers *b)
{
        if (a->original != b->original || a->current != b->current || a->model != b->model || a->target != b->target ||
            a->lower != b->lower || a->upper != b->upper)
                fail_msg("%s: numbers", where);
        if (a->reason != b->reason)
                fail_msg("%s: reason %d, %d", where, a->reason, b->reason);
        if (a->applied != b->applied)
                fail_msg("%s: applied %lld, %lld", where, (long long)a->applied, (long long)b->applied);
        if (a->learned != b->learned)
                fail_msg("%s: learned %d, %d", where, a->learned, b->learned);
}

static void compare_limits(const struct status_limits *a, const struct status_limits *b, const char *status)
{
        if ((a ? a->rows : 0) != (b ? b->rows : 0))
                fail_msg("limits: %s", status);
        for (int i = 0; a && i < a->rows; i++) {
                const struct status_limit *x = &a->row[i], *y = &b->row[i];
                if (x->container != y->container || x->resource != y->resource || x->reason != y->reason ||
                    x->current != y->current || x->advised != y->advised || x->needed != y->needed ||
                    x->at_ms != y->at_ms)
                        fail_msg("limit %d: %s", i, status);
        }
}

static void compare_rows(const struct snapshot_target *a, const struct snapshot_target *b, const char *status)
{
        bool young = a->state == STATE_NO_DATA || a->state == STATE_LEARNING, applied = strstr(status, "\"applied\":");
        if (a->state != b->state || memcmp(&a->decision, &b->decision, sizeof a->decision) != 0)
                fail_msg("state or decision: %s", status);
        if (a->hpa_holds[CPU] != b->hpa_holds[CPU] || a->hpa_holds[MEMORY] != b->hpa_holds[MEMORY])
                fail_msg("autoscalers: %s", status);
        if (!a->hold != !b->hold || !a->profile != !b->profile || memcmp(a->saving, b->saving, sizeof a->saving) != 0 ||
            a->since_ms / SECOND_MS != b->since_ms / SECOND_MS || a->confidence_percent != b->confidence_percent)
                fail_msg("the whole: %s", status);
        if (a->mode != b->mode || !a->so_far != !b->so_far ||
            (a->so_far && memcmp(a->so_far, b->so_far, RESOURCES * sizeof *a->so_far) != 0))
                fail_msg("mode or soFar: %s", status);
        compare_limits(a->limits, b->limits, status);
        assert_true(vpa_policy_equal(a->left, b->left));
        if (!young && (a->samples != b->samples || a->last_ms / SECOND_MS != b->last_ms / SECOND_MS))
                fail_msg("counters: %s", status);
        if (applied && a->applied_ms / SECOND_MS != b->applied_ms / SECOND_MS)
                fail_msg("applied: %s", status);
        if (a->containers != b->containers || a->conditions != b->conditions)
                fail_msg("lists: %s", status);
        for (int i = 0; i < a->containers; i++) {
                const struct status_container *x = &a->container[i], *y = &b->container[i];
                bool held = a->state == STATE_HELD; /* of each, where the whole is */
                bool told =
                        y->of[CPU].reason == REASON_INIT || y->of[MEMORY].reason == REASON_INIT; /* else a hold is */
                if (strcmp(x->name, y->name) != 0 || (!held && x->state != y->state) || (told && x->role != y->role))
                        fail_msg("container %s, role %d, %d: %s", x->name, x->role, y->role, status);
                for (enum resource r = CPU; r < RESOURCES; r++)
                        compare_numbers(status, &x->of[r], &y->of[r]);
        }
        for (int i = 0; i < a->conditions; i++)
                if (strcmp(a->condition[i].type, b->condition[i].type) != 0 ||
                    strcmp(a->condition[i].reason, b->condition[i].reason) != 0 ||
                    a->condition[i].status != b->condition[i].status)
                        fail_msg("condition %s: %s", a->condition[i].type, status);
}

/* By the version before. */
static char *without_decision(const char *status)
{
        AUTO(json_decref) json_t *o = json_loads(status, 0, NULL);
        assert_int_equal(json_object_del(o, "decision"), 0);
        return json_dumps(o, JSON_COMPACT);
}

struct seen {
        unsigned states[STATES], facts[sizeof(struct status_decision)], limits;
};

static void note(struct seen *seen, const struct snapshot_target *t)
{
        const bool *fact = (const bool *)&t->decision;
        seen->states[t->state]++;
        seen->limits += t->limits != NULL;
        for (size_t i = 0; i < sizeof t->decision; i++)
                seen->facts[i] += fact[i];
}

static void compare_world(struct seen *seen)
{
        static const char *const specs[] = {
                "{\"apply\":{\"minHistory\":\"1m\"}}",
                "{\"apply\":{\"mode\":\"Rollout\",\"minHistory\":\"1m\",\"maxDecreasePercent\":90}}",
                "{\"apply\":{\"mode\":\"OnDeploy\",\"minHistory\":\"1m\",\"hpa\":\"Hold\"}}",
                "{\"apply\":{\"mode\":\"OnDeploy\",\"at\":\"Workload\",\"minHistory\":\"1m\"}}",
                "{\"paused\":true,\"apply\":{\"mode\":\"Rollout\",\"minHistory\":\"1m\"}}",
                "{\"apply\":{\"mode\":\"OnDeploy\",\"minHistory\":\"1m\",\"startup\":{\"request\":\"Original\"}}}",
                "{\"apply\":{\"mode\":\"OnDeploy\",\"minHistory\":\"1m\",\"hpa\":\"Retune\"}}",
                "{\"apply\":{\"mode\":\"OnDeploy\",\"early\":{\"enabled\":true,\"after\":\"1m\"}}}",
                "{\"apply\":{\"mode\":\"Rollout\",\"early\":{\"enabled\":true,\"after\":\"1m\"}}}",
        };
        struct cache w, replica;
        struct arena a = {0}, scratch = {0};
        struct plan plan;
        struct now now = {.wall = {base_ms + SAMPLES * 1000}, .mono = {1}};
        const char *spec = PICK(specs), *hold = draw(5) ? "nothing" : "hold";
        static const char *const vpas[] = {
                "", ",\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"*\",\"controlledResources\":["
                    "\"memory\"]},{\"containerName\":\"side\",\"mode\":\"Off\"}]}"};
        const char *vpa = draw(4) ? NULL : PICK(vpas);
        static const char *const metrics[] = {"cpu", "memory"}, *const scaled[] = {"web", "other"};
        bool shared = !draw(4), retunes = strstr(spec, "Retune");
        /* a replica does not know yet of an HPA that nobody has asked permission for */
        const char *metric = PICK(metrics), *hpa = shared ? PICK(scaled) : retunes || draw(5) ? NULL : "web";
        cache_init(&w, "halflife", "halflife-system");
        put_deployment(&w);
        shop_profile(&w, 1, spec);
        put_autoscalers(&w, vpa, hpa, metric);
        if (shared)
                put_other(&w);
        put_recommendation(&w, hold, "{}");
        cache_relink(&w, now);
        struct target *t = target_get(&w, TEXT("web"), TEXT("apps"), TEXT("Deployment"), TEXT("web"));
        happen(&w, t, now);
        struct plan_facts facts = {.now = now, .interval_ms = 1000, .fuse_blown = !draw(6)};
        bool fused = t->profile && !draw(4);
        if (fused)
                profile_fuse_blow(t->profile, draw(2) ? "" : "web", base_ms, t->profile->generation, "6 guards");
        plan_judge(&w, t, &facts, &a, &plan);
        plan_finish(&w, &facts, &a, &plan);
        struct snapshot_writer *writer = snapshot_writer_new(&(struct snapshot_writer_options){.cache = &w});
        snapshot_begin(writer, true);
        snapshot_show_target(writer, &plan);
        AUTO(mem_free) char *status = text_of_status(&plan, &a);
        char *before = without_decision(status);
        published_swept(&w, 2); /* or it were a row as well */
        const struct snapshot *planned = snapshot_show_published(writer, &scratch);
        assert_int_equal(planned->targets, 1);
        note(seen, planned->target[0]);
        const char *const written[] = {status, before};
        bool news = fused || shared || strstr(spec, "startup") ||
                    (vpa && *vpa); /* the version before knew none of these, so its replicas do not */
        for (int i = 0; i < (news ? 1 : 2); i++) {
                cache_init(&replica, "halflife", "halflife-system");
                shop_profile(&replica, 1, spec);
                put_autoscalers(&replica, vpa, hpa, metric);
                put_recommendation(&replica, hold, written[i]);
                struct snapshot *v = snapshot_from_status(&replica, now.wall);
                assert_int_equal(v->targets, 1);
                compare_rows(planned->target[0], v->target[0], written[i]);
                snapshot_drop(v);
                cache_release(&replica);
        }
        free(before); /* jansson's */
        snapshot_writer_free(writer);
        arena_release(&a);
        arena_release(&scratch);
        cache_release(&w);
}

static void test_the_same_rows(void **state)
{
        (void)state;
        struct seen seen = {0};
        for (uint64_t i = 1; i <= WORLDS; i++) {
                seed = i * UINT64_C(0x9e3779b97f4a7c15);
                compare_world(&seen);
        }
        for (int s = 0; s < STATES; s++)
                if (s != STATE_STALE && seen.states[s] == 0) /* no pod runs that could be silent */
                        fail_msg("no world came to %s", state_name((enum state)s));
        assert_true(seen.limits > 0);
        for (size_t i = 0; i < sizeof seen.facts / sizeof seen.facts[0]; i++)
                if (i != offsetof(struct status_decision, never_written) && seen.facts[i] == 0)
                        fail_msg("no world had fact %zu", i);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_same_rows),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
