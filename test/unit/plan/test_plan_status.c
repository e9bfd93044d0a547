/* What is written is what is compared: a plan's status has the digest of what is read back, whatever the plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/pick.h"
#include "../../support/slowed.h"
#include "base/yaml.h"
#include "cache/pod_canary.h"
#include "plan/plan.h"

enum { PLANS = UNLESS_SLOWED(4000, 800), MOST = 4 };

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return seed % below;
}

static struct amount any_amount(enum resource r)
{
        static const int64_t values[] = {0, 1, 10, 285, 999, 1000, 1001, 1500, 123456789};
        int64_t value = values[draw(sizeof values / sizeof values[0])];
        if (draw(4) == 0)
                return (struct amount){0};
        return (struct amount){true, r == MEMORY && draw(2) ? value << 20 : value};
}

static const char *any_text(void)
{
        static const char *const texts[] = {"", "app", "a \"quoted\" word", "line\nbreak", "\xc3\xa9t\xc3\xa9", "-"};
        return texts[draw(sizeof texts / sizeof texts[0])];
}

static const struct resource_policy *any_policy(void)
{
        static struct resource_policy policy[RESOURCES];
        for (enum resource r = CPU; r < RESOURCES; r++)
                resource_policy_defaults(r, &policy[r]);
        return policy;
}

static void any_container(struct plan_container *c, const char *name)
{
        *c = (struct plan_container){.name = name, .role = (enum container_role)draw(4)};
        c->facts.role = c->role;
        c->facts.policy = any_policy();
        c->facts.learned.state = (enum state)draw(STATES);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                c->facts.original[r] = any_amount(r);
                c->facts.current[r] = any_amount(r);
                c->running[r] = any_amount(r);
                c->advice.of[r].target = any_amount(r);
                c->advice.reason[r] = (enum reason)draw(REASONS);
                c->facts.limit[r] = any_amount(r);
                c->facts.learned.of[r] = (struct estimate){.known = draw(2), .model = (int64_t)draw(1000)};
        }
}

/* Kills by limits, of any containers, newer and older than the hold. */
static struct limit_harms *any_harms(const char *const *names)
{
        static union {
                struct limit_harms all;
                char room[sizeof(struct limit_harms) + MOST * sizeof(struct limit_harm)];
        } harms;
        harms.all.rows = (int)draw(MOST + 1);
        for (int i = 0; i < harms.all.rows; i++)
                harms.all.row[i] = (struct limit_harm){
                        names[i],
                        {1763700000000 - (int64_t)draw(30 * (uint64_t)DAY_MS), any_amount(MEMORY).value},
                        (uint8_t)(draw(2) * 10 * draw(11)),
                        0,
                        any_amount(CPU).value,
                        0};
        return harms.all.rows ? &harms.all : NULL;
}

static void any_plan(struct plan *p, struct target *t, struct workload *wl)
{
        static struct plan_container container[MOST];
        static const char *const names[MOST] = {"app", "side", "proxy", "x"};
        static struct profile_spec spec;
        static struct profile profile = {.spec = &spec};
        static char applied[] = "[{\"cpu\":\"285m\",\"name\":\"app\"}]";
        *wl = (struct workload){.replicas = (int64_t)draw(5)};
        *t = (struct target){.workload = wl, .ns = "web", .name = "web", .profile = draw(4) ? &profile : NULL};
        spec.apply.mode = (enum apply_mode)draw(APPLY_MODES);
        if (draw(2))
                t->apply_state = (struct apply_state){.changed_ms = 1700000000000 + (int64_t)draw(1000000000),
                                                      .containers = applied};
        static char rest[] = "[{\"cpu\":\"500m\",\"name\":\"app\"}]";
        static struct pod_canary pod_canary = {.containers = rest};
        if (draw(3) == 0)
                t->apply_state.pod_canary = &pod_canary;
        t->apply_state.passed_ms = draw(2) ? 1700000000000 + (int64_t)draw(1000000000) : -1;
        *p = (struct plan){.target = t,
                           .now = {1763700000000},
                           .state = (enum state)draw(STATES),
                           .container = container,
                           .containers = (int)draw(MOST + 1),
                           .carries = draw(2)};
        for (int i = 0; i < p->containers; i++)
                any_container(&container[i], names[i]);
        t->limit_harms = any_harms(names);
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (draw(3) == 0) {
                        p->quota_hard[r] = (struct amount){true, (int64_t)draw(100000)};
                        p->quota_used[r] = (struct amount){true, (int64_t)draw(100000)};
                }
        for (int n = (int)draw(PLAN_CONDITIONS + 1); p->conditions < n;) {
                struct plan_condition *c = &p->condition[p->conditions++];
                *c = (struct plan_condition){.type = "Ready", .status = draw(2), .reason = "Because"};
                snprintf(c->message, sizeof c->message, "%s", any_text());
        }
}

static struct arena arena;

static struct recommendation_status status_of(const struct plan *p)
{
        struct recommendation_status s;
        plan_status(p, &arena, &s);
        return s;
}

static json_t *written(const struct recommendation_status *s)
{
        struct buf b;
        struct writer w = {.b = &b};
        buf_init(&b, 1 << 20);
        writer_open(&w, NULL, '{');
        recommendation_status_write(&w, s);
        writer_close(&w, '}');
        json_t *status = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(status);
        buf_release(&b);
        return status;
}

static uint64_t digest_read(const json_t *status)
{
        struct recommendation_status s;
        recommendation_status_read(status, DIMENSION_WORKLOAD, &arena, &s);
        return recommendation_status_digest(&s);
}

static void test_digests_agree(void **state)
{
        (void)state;
        int advised = 0;
        for (uint64_t i = 1; i <= PLANS; i++) {
                struct workload wl;
                struct target t;
                struct plan p;
                seed = i * UINT64_C(0x9e3779b97f4a7c15);
                any_plan(&p, &t, &wl);
                struct recommendation_status planned = status_of(&p);
                uint64_t want = recommendation_status_digest(&planned);
                advised += planned.limits != NULL;
                AUTO(json_decref) json_t *status = written(&planned);
                /* as it comes back from the server: printed, and its members in another order */
                char *text = json_dumps(status, JSON_SORT_KEYS);
                AUTO(json_decref) json_t *back = json_loads(text, 0, NULL);
                if (digest_read(status) != want || digest_read(back) != want)
                        fail_msg("seed %llu: %s", (unsigned long long)i, text);
                free(text);
                arena_reset(&arena);
        }
        assert_in_range(advised, PLANS / 20, PLANS * 9 / 10);
        arena_release(&arena);
}

/* How it was written is the profile's mode: an answer at a deploy is no rollout. */
static void test_applied_mode(void **state)
{
        static const struct {
                enum apply_mode mode;
                const char *want;
        } row[] = {{APPLY_ROLLOUT, "Rollout"}, {APPLY_ON_DEPLOY, "OnDeploy"}, {APPLY_RECOMMEND, NULL}};
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct workload wl;
                struct target t;
                struct plan p;
                seed = 77;
                do
                        any_plan(&p, &t, &wl);
                while (!p.carries || !t.apply_state.changed_ms || !t.profile);
                t.profile->spec->apply.mode = row[i].mode;
                struct recommendation_status planned = status_of(&p);
                AUTO(json_decref) json_t *status = written(&planned);
                const char *mode = json_string_value(json_object_get(json_object_get(status, "applied"), "mode"));
                if (!mode != !row[i].want || (mode && strcmp(mode, row[i].want) != 0))
                        fail_msg("mode %d: %s", (int)row[i].mode, mode ? mode : "none");
        }
        arena_release(&arena);
}

/* Fields that are written at once change the digest; counters and estimates do not. */
static void test_what_is_urgent(void **state)
{
        static const struct {
                const char *what;
                bool urgent;
        } row[] = {{"state", true}, {"condition", true}, {"original", true},  {"running", true}, {"applied", true},
                   {"mode", true},  {"samples", false},  {"estimate", false}, {"target", false}, {"confidence", false}};
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct workload wl;
                struct target t;
                struct plan p;
                static char other[] = "[{\"cpu\":\"1\",\"name\":\"app\"}]";
                seed = 77;
                do
                        any_plan(&p, &t, &wl);
                while (p.containers == 0 || p.conditions == 0 || !p.carries || !t.apply_state.changed_ms || !t.profile);
                struct recommendation_status status = status_of(&p);
                uint64_t before = recommendation_status_digest(&status);
                switch (i) {
                case 0:
                        p.state = p.state == STATE_READY ? STATE_STALE : STATE_READY;
                        break;
                case 1:
                        snprintf(p.condition[0].message, sizeof p.condition[0].message, "another");
                        break;
                case 2:
                        p.container[0].facts.original[CPU] = (struct amount){true, 4242};
                        break;
                case 3:
                        p.container[0].running[CPU] = (struct amount){true, 4242};
                        break;
                case 4:
                        t.apply_state.containers = other;
                        break;
                case 5:
                        t.profile->spec->apply.mode = (t.profile->spec->apply.mode + 1) % APPLY_MODES;
                        break;
                case 6:
                        p.samples += 100;
                        break;
                case 7:
                        p.container[0].facts.learned.of[CPU].model += 100;
                        break;
                case 8:
                        p.container[0].advice.of[CPU].target = (struct amount){true, 4242};
                        break;
                default:
                        p.confidence_percent += 1;
                }
                status = status_of(&p);
                if ((recommendation_status_digest(&status) != before) != row[i].urgent)
                        fail_msg("%s", row[i].what);
        }
        arena_release(&arena);
}

/* The limit advised for CPU follows the model, so it waits for the next write that is due; the share does not. */
static void test_an_advised_cpu_limit(void **state)
{
        (void)state;
        uint64_t digest[3];
        for (int i = 0; i < 3; i++) {
                struct workload wl;
                struct target t;
                struct plan p;
                seed = 77;
                do
                        any_plan(&p, &t, &wl);
                while (p.containers == 0 || !plan_counts(&p.container[0]) || !t.limit_harms);
                t.limit_harms->rows = 1;
                t.limit_harms->row[0].throttled_percent = i == 2 ? 40 : 30;
                t.limit_harms->row[0].throttled_limit = 1000;
                p.container[0].facts.limit[CPU] = (struct amount){true, 1000};
                p.container[0].facts.learned.of[CPU] = (struct estimate){.known = true, .model = i ? 1600 : 1500};
                struct recommendation_status status = status_of(&p);
                assert_non_null(status_limit_find(status.limits, 0, CPU));
                digest[i] = recommendation_status_digest(&status);
        }
        assert_true(digest[0] == digest[1] && digest[1] != digest[2]);
        arena_release(&arena);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_digests_agree),
                cmocka_unit_test(test_applied_mode),
                cmocka_unit_test(test_what_is_urgent),
                cmocka_unit_test(test_an_advised_cpu_limit),
        };
        return cmocka_run_group_tests_name("plan_status", tests, NULL, NULL);
}
