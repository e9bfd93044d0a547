/* What is written is what is compared: the digest of a plan is that of the status built from it, whatever the plan. */
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
#include "apply/recommendation_status.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "cache/pod_canary.h"
#include "cache/status_digest.h"

enum { PLANS = 4000, MOST = 4 };

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

static void any_container(struct plan_container *c, const char *name)
{
        *c = (struct plan_container){.name = name, .role = (enum container_role)draw(4)};
        c->facts.role = c->role;
        c->facts.learned.state = (enum state)draw(STATES);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                c->facts.original[r] = any_amount(r);
                c->facts.current[r] = any_amount(r);
                c->running[r] = any_amount(r);
                c->advice.of[r].target = any_amount(r);
                c->advice.reason[r] = (enum reason)draw(REASONS);
                c->facts.learned.of[r] = (struct estimate){.known = draw(2), .model = (int64_t)draw(1000)};
        }
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
        t->apply_state.stood_ms = draw(2) ? 1700000000000 + (int64_t)draw(1000000000) : -1;
        *p = (struct plan){.target = t,
                           .now = {1763700000000},
                           .state = (enum state)draw(STATES),
                           .container = container,
                           .containers = (int)draw(MOST + 1),
                           .carries = draw(2)};
        for (int i = 0; i < p->containers; i++)
                any_container(&container[i], names[i]);
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

static void test_digests_agree(void **state)
{
        (void)state;
        for (uint64_t i = 1; i <= PLANS; i++) {
                struct workload wl;
                struct target t;
                struct plan p;
                seed = i * UINT64_C(0x9e3779b97f4a7c15);
                any_plan(&p, &t, &wl);
                AUTO(json_decref) json_t *status = publish_build_status(&p);
                if (publish_plan_digest(&p) != publish_status_digest(status)) {
                        char *text = json_dumps(status, JSON_INDENT(1));
                        fail_msg("seed %llu: %s", (unsigned long long)i, text);
                }
                /* as it comes back from the server: printed, and its members in another order */
                char *text = json_dumps(status, JSON_SORT_KEYS);
                AUTO(json_decref) json_t *back = json_loads(text, 0, NULL);
                free(text);
                assert_true(publish_plan_digest(&p) == publish_status_digest(back));
        }
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
                AUTO(json_decref) json_t *status = publish_build_status(&p);
                const char *mode = json_string_value(json_object_get(json_object_get(status, "applied"), "mode"));
                if (!mode != !row[i].want || (mode && strcmp(mode, row[i].want) != 0))
                        fail_msg("mode %d: %s", (int)row[i].mode, mode ? mode : "none");
        }
}

/* What is told at once changes it; counters and estimates do not. */
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
                uint64_t before = publish_plan_digest(&p);
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
                if ((publish_plan_digest(&p) != before) != row[i].urgent)
                        fail_msg("%s", row[i].what);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_digests_agree),
                cmocka_unit_test(test_applied_mode),
                cmocka_unit_test(test_what_is_urgent),
        };
        return cmocka_run_group_tests_name("publish_status", tests, NULL, NULL);
}
