/*
 * The deploy answer as gathered from a view: the arithmetic itself is core's (test_advise), here it is whether each
 * fact comes from where it should.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "deploy/deploy_answer.h"

#define MI INT64_C(1048576)
#define YES(v)                                                                                                         \
        {                                                                                                              \
                true, (v)                                                                                              \
        }
#define WORD(s) ((char *)(uintptr_t)(s))

/* Namespace shop with Deployment web (model 400, learned, target 440) under a profile that applies on deploy, static
 * 0.5 until learned; the manifest asks for 2 cores and 4 Gi. */
struct scene {
        struct profile_spec spec;
        struct snapshot_profile profile;
        struct status_container known;
        struct snapshot_target target;
        struct snapshot_ns ns;
        struct snapshot_hpa hpa;
        struct snapshot_other_autoscaler other_autoscaler;
        struct deploy_container container;
        struct deploy_subject subject;
        struct snapshot *view;
        struct arena arena;
        struct deploy_answer got;
};

/* What a VPA sets. */
static const struct vpa_policy for_cpu = {.rest = {true, false}}, for_memory = {.rest = {false, true}};

static void scene_init(struct scene *s)
{
        memset(s, 0, sizeof *s);
        resource_policy_defaults(CPU, &s->spec.of[CPU]);
        resource_policy_defaults(MEMORY, &s->spec.of[MEMORY]);
        apply_policy_defaults(APPLY_ON_DEPLOY, &s->spec.apply);
        s->spec.apply.overcommit = OVERCOMMIT_STATIC_THEN_DYNAMIC;
        s->spec.of[CPU].static_factor = 500;
        s->profile = (struct snapshot_profile){.name = "pool", .spec = &s->spec};
        s->known = (struct status_container){
                .name = "app",
                .state = STATE_READY,
                .of = {[CPU] = {.original = 2000,
                                .current = 2000,
                                .model = 400,
                                .target = 440,
                                .lower = 380,
                                .upper = 610,
                                .applied = -1,
                                .learned = true},
                       [MEMORY] = {.original = 4096 * MI,
                                   .current = -1,
                                   .model = 812 * MI,
                                   .target = 4096 * MI,
                                   .lower = 1,
                                   .upper = 2,
                                   .applied = -1}},
        };
        s->target = (struct snapshot_target){.ns = "shop",
                                             .group = "apps",
                                             .kind = "Deployment",
                                             .name = "web",
                                             .recommendation = "deployment-web",
                                             .labels = "",
                                             .state = STATE_READY,
                                             .profile = &s->profile,
                                             .containers = 1,
                                             .container = &s->known};
        s->ns = (struct snapshot_ns){.name = "shop", .labels = ""};
        s->hpa = (struct snapshot_hpa){
                .ns = "shop", .group = "apps", .kind = "Deployment", .name = "web", .utilization = {true, false}};
        s->other_autoscaler = (struct snapshot_other_autoscaler){"shop", "apps", "Deployment", "new", NULL};
        s->container = (struct deploy_container){.name = TEXT("app"), .request = {YES(2000), YES(4096 * MI)}};
        s->subject = (struct deploy_subject){.ns = TEXT("shop"),
                                             .group = TEXT("apps"),
                                             .kind = TEXT("Deployment"),
                                             .name = TEXT("web"),
                                             .container = &s->container,
                                             .containers = 1};
        s->view = snapshot_new();
        snapshot_add_profile(s->view, &s->profile);
        snapshot_add_target(s->view, &s->target);
        snapshot_add_ns(s->view, &s->ns);
        snapshot_finish(s->view);
}

static void expect(struct scene *s, int64_t want, enum reason reason)
{
        deploy_answer(s->view, &s->subject, &s->arena, &s->got);
        struct amount got = deploy_request(&s->got, 0, CPU);
        if (got.set != (want >= 0) || (got.set && got.value != want) || s->got.advice[0].reason[CPU] != reason)
                fail_msg("%lld '%s', not %lld '%s'", (long long)(got.set ? got.value : -1),
                         reason_name(s->got.advice[0].reason[CPU]), (long long)want, reason_name(reason));
        struct amount memory = deploy_request(&s->got, 0, MEMORY);
        assert_true(memory.set && memory.value == 4096 * MI);
        snapshot_drop(s->view);
        arena_release(&s->arena);
}

enum {
        LEARNED,
        UNKNOWN,
        NEW_CONTAINER,
        LEARNING,
        LEARNING_EARLY,
        EARLY_NOT_ASKED,
        STALE,
        NO_PROFILE,
        AS_KNOWN,
        DEPLOYED_BEFORE,
        RENDERED,
        OWNER_SPOKE,
        ALTERED,
        ALTERED_BEFORE,
        HPA,
        HPA_IGNORED,
        HPA_LIMIT_BASED,
        HPA_BESIDE,
        HPA_COUNTS_OTHERS,
        HPA_COUNTS_OTHERS_IGNORED,
        HPA_OF_UNKNOWN,
        HPA_RETUNED,
        HPA_BESIDE_RETUNED,
        HPA_OF_ANOTHER,
        HOLD,
        CONTESTED,
        ORPHANED,
        STICKS,
        STICKS_UNKNOWN,
        STICKS_BUT_POD,
        PAUSED,
        UNREADABLE,
        NEVER,
        NEVER_NS,
        NEVER_TARGET,
        NEVER_ALL,
        RIVAL,
        OTHER_AUTOSCALER_BESIDE,
        RIVAL_FOR_MEMORY,
        RIVAL_FOR_CPU,
        OTHER_AUTOSCALER_BESIDE_FOR_MEMORY,
        OTHER_AUTOSCALER_OF_UNKNOWN_FOR_MEMORY,
        OTHER_AUTOSCALER_OF_UNKNOWN,
        OTHER_AUTOSCALER_OF_ANOTHER,
        RANGE_DEFAULT,
        RANGE_MIN,
        RANGE_LIMIT,
        RANGE_RATIO,
        RANGE_POD,
        RANGE_POD_ROOM,
        FUSE,
        CANARY,
        CANARY_APPLIED,
        CANARY_OF_UNKNOWN,
        CANARY_UNKNOWN,
        PROFILE_FUSE,
        PROFILE_FUSE_KNOWN,
        PROFILE_FUSE_UNKNOWN,
        PROFILE_FUSE_ALL_UNKNOWN,
        PROFILE_FUSE_ELSEWHERE,
        NOTHING_ASKED,
        LIMIT_ONLY,
        IGNORED,
        CASES
};

static void test_each_fact_counts(void **state)
{
        (void)state;
        static const char *const here[] = {"shop"}, *const all[] = {""}, *const elsewhere[] = {"sho"};
        static const struct {
                int what;
                int64_t want;
                enum reason reason;
        } row[] = {
                {LEARNED, 440, REASON_LOWERED},
                {UNKNOWN, 1000, REASON_STATIC},
                {NEW_CONTAINER, 1000, REASON_STATIC},
                {LEARNING, 1000, REASON_STATIC},
                {LEARNING_EARLY, 660, REASON_EARLY},
                {EARLY_NOT_ASKED, 1000, REASON_STATIC},
                {STALE, 440, REASON_STALE},
                {NO_PROFILE, 2000, REASON_NONE},
                {AS_KNOWN, 440, REASON_LOWERED},
                {DEPLOYED_BEFORE, 450, REASON_BELOW_MIN_CHANGE},
                {RENDERED, 440, REASON_LOWERED},
                {OWNER_SPOKE, 440, REASON_LOWERED},
                {ALTERED, 2000, REASON_CONTESTED},
                {ALTERED_BEFORE, 700, REASON_CONTESTED},
                {HPA, 2000, REASON_HPA_HOLD},
                {HPA_IGNORED, 440, REASON_LOWERED},
                {HPA_LIMIT_BASED, 2000, REASON_HPA_HOLD},
                {HPA_BESIDE, 2000, REASON_HPA_HOLD},
                {HPA_COUNTS_OTHERS, 2000, REASON_HPA_SHARED},
                {HPA_COUNTS_OTHERS_IGNORED, 440, REASON_LOWERED},
                {HPA_OF_UNKNOWN, 2000, REASON_HPA_HOLD},
                {HPA_RETUNED, 1000, REASON_STATIC},
                {HPA_BESIDE_RETUNED, 2000, REASON_HPA_HOLD},
                {HPA_OF_ANOTHER, 1000, REASON_STATIC},
                {HOLD, 2000, REASON_PAUSED},
                {CONTESTED, 2000, REASON_CONTESTED},
                {ORPHANED, 2000, REASON_ORPHANED},
                {STICKS, 2000, REASON_IMMUTABLE},
                {STICKS_UNKNOWN, 2000, REASON_IMMUTABLE},
                {STICKS_BUT_POD, 440, REASON_LOWERED},
                {PAUSED, 2000, REASON_PAUSED},
                {UNREADABLE, 2000, REASON_PAUSED},
                {NEVER, 2000, REASON_OPTED_OUT},
                {NEVER_NS, 2000, REASON_OPTED_OUT},
                {NEVER_TARGET, 2000, REASON_OPTED_OUT},
                {NEVER_ALL, 2000, REASON_OPTED_OUT},
                {RIVAL, 2000, REASON_OTHER_AUTOSCALER},
                {OTHER_AUTOSCALER_BESIDE, 2000, REASON_OTHER_AUTOSCALER},
                {RIVAL_FOR_MEMORY, 440, REASON_LOWERED},
                {RIVAL_FOR_CPU, 2000, REASON_OTHER_AUTOSCALER},
                {OTHER_AUTOSCALER_BESIDE_FOR_MEMORY, 440, REASON_LOWERED},
                {OTHER_AUTOSCALER_OF_UNKNOWN_FOR_MEMORY, 1000, REASON_STATIC},
                {OTHER_AUTOSCALER_OF_UNKNOWN, 2000, REASON_OTHER_AUTOSCALER},
                {OTHER_AUTOSCALER_OF_ANOTHER, 1000, REASON_STATIC},
                {RANGE_DEFAULT, 440, REASON_LOWERED},
                {RANGE_MIN, 700, REASON_LIMIT_RANGE},
                {RANGE_LIMIT, 300, REASON_LIMIT_BOUND},
                {RANGE_RATIO, 1500, REASON_LIMIT_RANGE},
                {RANGE_POD, 2000, REASON_LIMIT_RANGE},
                {RANGE_POD_ROOM, 440, REASON_LOWERED},
                {FUSE, 700, REASON_FUSE},
                {CANARY, 2000, REASON_CANARY},
                {CANARY_APPLIED, 700, REASON_CANARY},
                {CANARY_OF_UNKNOWN, 2000, REASON_CANARY},
                {CANARY_UNKNOWN, 1000, REASON_STATIC},
                {PROFILE_FUSE, 700, REASON_PROFILE_FUSE},
                {PROFILE_FUSE_KNOWN, 440, REASON_LOWERED},
                {PROFILE_FUSE_UNKNOWN, 2000, REASON_PROFILE_FUSE},
                {PROFILE_FUSE_ALL_UNKNOWN, 2000, REASON_PROFILE_FUSE},
                {PROFILE_FUSE_ELSEWHERE, 1000, REASON_STATIC},
                {NOTHING_ASKED, -1, REASON_NO_ORIGINAL},
                {LIMIT_ONLY, 440, REASON_LOWERED},
                {IGNORED, 2000, REASON_CONTAINER_IGNORED},
        };
        assert_int_equal(sizeof row / sizeof row[0], CASES);
        for (size_t i = 0; i < CASES; i++) {
                struct profile_container app;
                struct scene s;
                scene_init(&s);
                switch (row[i].what) {
                case UNKNOWN:
                        s.subject.name = TEXT("other");
                        break;
                case NEW_CONTAINER:
                        s.container.name = TEXT("proxy");
                        break;
                case LEARNING:
                        s.known.state = STATE_LEARNING;
                        s.known.of[CPU].learned = false;
                        break;
                case LEARNING_EARLY:  /* what the controller made of it stands in the status */
                case EARLY_NOT_ASKED: /* any more: the profile changed since */
                        s.known.state = STATE_LEARNING;
                        s.known.of[CPU].learned = false;
                        s.known.of[CPU].early = true, s.known.of[CPU].target = 660;
                        s.spec.apply.early.enabled = row[i].what == LEARNING_EARLY;
                        break;
                case STALE:
                        s.known.state = STATE_STALE;
                        break;
                case NO_PROFILE:
                        s.view->profiles = 0;
                        break;
                case AS_KNOWN:
                        s.view->profiles = 0;
                        s.subject.known = &s.target;
                        break;
                case DEPLOYED_BEFORE:
                        s.known.of[CPU].applied = 450;
                        break;
                case RENDERED: /* an answer of ours comes back: the original is what it records */
                        s.container.request[CPU].value = s.container.applied[CPU].value = 440;
                        s.container.applied[CPU].set = s.container.recorded = true;
                        s.container.recorded_original[CPU] = (struct amount)YES(2000);
                        break;
                case OWNER_SPOKE: /* since that answer */
                        s.container.applied[CPU] = (struct amount)YES(700);
                        s.container.recorded = true;
                        s.container.recorded_original[CPU] = (struct amount)YES(9000);
                        break;
                case ALTERED:        /* 440 was written, and admission made 500 of it: the original stands */
                case ALTERED_BEFORE: /* since then the owner has spoken */
                        s.known.of[CPU].current = s.known.of[CPU].applied = 500;
                        s.container.request[CPU].value = row[i].what == ALTERED ? 500 : 700;
                        s.container.applied[CPU] = (struct amount)YES(440);
                        s.container.recorded = true;
                        s.container.recorded_original[CPU] = (struct amount)YES(2000);
                        s.target.decision.contested = true, s.target.state = STATE_HELD;
                        break;
                case HPA:
                        s.target.hpa_holds[CPU] = true;
                        break;
                case HPA_IGNORED:
                        s.target.hpa_holds[CPU] = true;
                        s.spec.apply.hpa = HPA_IGNORE;
                        break;
                case HPA_LIMIT_BASED:
                        s.target.hpa_holds[CPU] = true;
                        s.spec.apply.hpa = HPA_LIMIT_BASIS;
                        break;
                case HPA_BESIDE:
                        s.subject.hpa[CPU] = true;
                        break;
                case HPA_COUNTS_OTHERS:
                case HPA_COUNTS_OTHERS_IGNORED:
                        s.target.hpa_holds[CPU] = s.target.decision.hpa_shared[CPU] = true;
                        s.spec.apply.hpa = row[i].what == HPA_COUNTS_OTHERS ? HPA_RETUNE : HPA_IGNORE;
                        break;
                case HPA_OF_UNKNOWN: /* of a workload that is not there yet */
                        s.view->hpa = &s.hpa, s.view->hpas = 1;
                        s.subject.name = TEXT("other"), s.hpa.name = "other";
                        break;
                case HPA_RETUNED: /* nor is that one: its target will follow */
                        s.view->hpa = &s.hpa, s.view->hpas = 1;
                        s.subject.name = TEXT("other"), s.hpa.name = "other";
                        s.hpa.retunes = true;
                        s.spec.apply.hpa = HPA_RETUNE;
                        break;
                case HPA_BESIDE_RETUNED: /* deployed with it, it would put its target back */
                        s.subject.hpa[CPU] = true;
                        s.spec.apply.hpa = HPA_RETUNE;
                        break;
                case HPA_OF_ANOTHER:
                        s.view->hpa = &s.hpa, s.view->hpas = 1;
                        s.subject.name = TEXT("other");
                        break;
                case FUSE:
                        s.view->fuse_blown = true, s.known.of[CPU].applied = 700;
                        break;
                case PROFILE_FUSE:
                        s.target.decision.profile_fused = true, s.known.of[CPU].applied = 700;
                        break;
                case PROFILE_FUSE_KNOWN: /* the row of a known workload tells, not the profile */
                        s.profile.fused = all, s.profile.fused_count = 1;
                        break;
                case PROFILE_FUSE_UNKNOWN:
                case PROFILE_FUSE_ALL_UNKNOWN:
                case PROFILE_FUSE_ELSEWHERE:
                        s.subject.name = TEXT("other");
                        s.profile.fused = row[i].what == PROFILE_FUSE_UNKNOWN       ? here
                                          : row[i].what == PROFILE_FUSE_ALL_UNKNOWN ? all
                                                                                    : elsewhere;
                        s.profile.fused_count = 1;
                        break;
                case CANARY: /* others are tried first: nothing new */
                        s.target.decision.waits = true;
                        break;
                case CANARY_APPLIED:
                        s.target.decision.waits = true, s.known.of[CPU].applied = 700;
                        break;
                case CANARY_OF_UNKNOWN: /* rank d2d99454, above a half */
                case CANARY_UNKNOWN:    /* rank 2c3eab7f, below it */
                        s.profile.canary_closed = true, s.spec.apply.canary.percent = 50;
                        s.subject.name = row[i].what == CANARY_UNKNOWN ? TEXT("new") : TEXT("other");
                        break;
                case HOLD:
                        s.target.hold = "a sale", s.target.state = STATE_HELD;
                        break;
                case CONTESTED:
                        s.target.decision.contested = true, s.target.state = STATE_HELD;
                        break;
                case ORPHANED:
                        s.target.decision.orphaned = true, s.target.state = STATE_HELD;
                        break;
                case STICKS:
                        s.target.decision.in_place_only = true;
                        break;
                case STICKS_UNKNOWN:
                        s.subject.in_place_only = true;
                        break;
                case STICKS_BUT_POD:
                        s.target.decision.in_place_only = s.subject.pod = true;
                        break;
                case PAUSED:
                        s.spec.paused = true;
                        break;
                case UNREADABLE:
                        s.profile.unreadable = true;
                        break;
                case NEVER:
                        s.subject.apply_never = true;
                        break;
                case NEVER_NS:
                        s.ns.apply_never = true;
                        break;
                case NEVER_TARGET:
                        s.target.decision.opted_out = true;
                        break;
                case NEVER_ALL:
                        s.view->apply_never = true;
                        break;
                case RIVAL:
                        s.target.decision.other_autoscaler = true;
                        break;
                case RIVAL_FOR_MEMORY:
                case RIVAL_FOR_CPU:
                        s.target.decision.other_autoscaler = true;
                        s.target.left = row[i].what == RIVAL_FOR_CPU ? &for_cpu : &for_memory;
                        break;
                case OTHER_AUTOSCALER_BESIDE_FOR_MEMORY:
                        s.subject.other_autoscaler = true;
                        s.subject.left = &for_memory;
                        break;
                case OTHER_AUTOSCALER_OF_UNKNOWN_FOR_MEMORY:
                        s.other_autoscaler.left = &for_memory;
                        s.view->other_autoscaler = &s.other_autoscaler, s.view->other_autoscalers = 1;
                        s.subject.name = TEXT("new");
                        break;
                case OTHER_AUTOSCALER_OF_UNKNOWN:
                case OTHER_AUTOSCALER_OF_ANOTHER:
                        s.view->other_autoscaler = &s.other_autoscaler, s.view->other_autoscalers = 1;
                        s.subject.name = row[i].what == OTHER_AUTOSCALER_OF_UNKNOWN ? TEXT("new") : TEXT("newer");
                        break;
                case OTHER_AUTOSCALER_BESIDE:
                        s.subject.other_autoscaler = true;
                        break;
                case RANGE_DEFAULT:
                        s.container.request[CPU].set = false;
                        s.ns.default_request[CPU] = (struct amount)YES(1000);
                        break;
                case RANGE_MIN:
                        s.ns.range_min[CPU] = (struct amount)YES(700);
                        break;
                case RANGE_LIMIT: /* a container without a limit gets the LimitRange's as it is admitted */
                        s.ns.default_limit[CPU] = (struct amount)YES(300);
                        break;
                case RANGE_RATIO:
                        s.ns.default_limit[CPU] = (struct amount)YES(3000);
                        s.ns.range_ratio[CPU] = (struct amount)YES(2000);
                        break;
                case RANGE_POD:
                        s.ns.pod_min[CPU] = (struct amount)YES(441);
                        break;
                case RANGE_POD_ROOM:
                        s.ns.pod_min[CPU] = (struct amount)YES(440);
                        s.ns.pod_ratio[CPU] = (struct amount)YES(1000);
                        break;
                case NOTHING_ASKED:
                        s.container.request[CPU].set = false;
                        break;
                case LIMIT_ONLY:
                        s.container.request[CPU].set = false;
                        s.container.limit[CPU] = (struct amount)YES(3000);
                        break;
                case IGNORED:
                        app = (struct profile_container){.name = WORD("app"), .ignore = true};
                        memcpy(app.of, s.spec.of, sizeof s.spec.of);
                        s.spec.container = &app;
                        s.spec.containers = 1;
                        break;
                default:
                        break;
                }
                expect(&s, row[i].want, row[i].reason);
        }
}

/* A new workload waits for the canaries of its own namespace. Workloads already known show whether they passed; a lone
 * one does not. */
static void test_a_new_workload_waits_for_its_namespace(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                const char *ns[2],
                        *name[2]; /* of the known workloads; ranks in shop: web and job below a half, api above */
                bool waits[2], want;
        } row[] = {
                {"one of it waits", {"shop", "shop"}, {"web", "api"}, {false, true}, true},
                {"none of it waits, another namespace does", {"shop", "shop"}, {"web", "api"}, {false, false}, false},
                {"it has canaries alone", {"shop", "shop"}, {"web", "job"}, {false, false}, true},
                {"it has one workload", {"shop", "spot"}, {"api", "web"}, {false, false}, true},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scene s;
                scene_init(&s);
                struct snapshot_target known[2] = {s.target, s.target}, away = s.target;
                away.ns = "away";
                away.decision.waits = true;
                s.spec.apply.canary.percent = 50;
                s.profile.canary_closed = true;
                s.subject.name = TEXT("other"); /* above a half */
                snapshot_drop(s.view);
                s.view = snapshot_new();
                for (int k = 0; k < 2; k++) {
                        known[k].ns = row[i].ns[k];
                        known[k].name = known[k].recommendation = row[i].name[k];
                        known[k].decision.waits = row[i].waits[k];
                        snapshot_add_target(s.view, &known[k]);
                }
                snapshot_add_target(s.view, &away);
                snapshot_add_profile(s.view, &s.profile);
                snapshot_add_ns(s.view, &s.ns);
                snapshot_finish(s.view);
                deploy_answer(s.view, &s.subject, &s.arena, &s.got);
                if ((s.got.advice[0].reason[CPU] == REASON_CANARY) != row[i].want)
                        fail_msg("%s: '%s'", row[i].what, reason_name(s.got.advice[0].reason[CPU]));
                snapshot_drop(s.view);
                arena_release(&s.arena);
        }
}

/* Where the original stands, the request is written as its owner had it: one that was absent stays absent. */
static void test_absent_stays_absent(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s);
        s.spec.paused = true;
        s.container.request[CPU] = s.container.applied[CPU] = (struct amount)YES(440);
        s.container.limit[CPU] = (struct amount)YES(3000);
        s.container.recorded = true;
        deploy_answer(s.view, &s.subject, &s.arena, &s.got);
        assert_false(s.got.any);
        assert_int_equal(s.got.advice[0].request[CPU].value, 3000);
        assert_false(deploy_request(&s.got, 0, CPU).set);
        snapshot_drop(s.view);
        arena_release(&s.arena);
}

/* The first deploy of a workload whose HPA is retuned, beside a VPA that sets a part of what the HPA counts: its target
 * cannot follow, so the requests of the others stay, as of a workload that is known. */
static void test_first_deploy_beside_a_vpa_of_a_part(void **state)
{
        (void)state;
        static const struct {
                bool sets[RESOURCES]; /* of container side */
                enum container_role role;
                bool retunes;
                int64_t want; /* of app */
                enum reason reason;
        } row[] = {
                {{true, false}, ROLE_MAIN, true, 2000, REASON_HPA_HOLD},
                {{true, false}, ROLE_SIDECAR, true, 2000, REASON_HPA_HOLD},
                {{true, false}, ROLE_INIT, true, 1000, REASON_STATIC}, /* which no HPA counts */
                {{false, true}, ROLE_MAIN, true, 1000, REASON_STATIC},
                {{false, true}, ROLE_MAIN, false, 2000, REASON_HPA_HOLD},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) struct vpa_policy *part = mem_new(sizeof *part + sizeof part->row[0]);
                struct deploy_container both[2];
                struct scene s;
                scene_init(&s);
                part->rows = 1;
                part->row[0] = (struct vpa_policy_row){TEXT("side"), {row[i].sets[CPU], row[i].sets[MEMORY]}};
                both[0] = both[1] = s.container;
                both[1].name = TEXT("side");
                both[1].role = row[i].role;
                s.subject.name = TEXT("new");
                s.subject.container = both;
                s.subject.containers = 2;
                s.hpa.name = "new";
                s.hpa.retunes = row[i].retunes;
                s.spec.apply.hpa = HPA_RETUNE;
                s.other_autoscaler.left = part;
                s.view->hpa = &s.hpa, s.view->hpas = 1;
                s.view->other_autoscaler = &s.other_autoscaler, s.view->other_autoscalers = 1;
                expect(&s, row[i].want, row[i].reason);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_fact_counts),
                cmocka_unit_test(test_a_new_workload_waits_for_its_namespace),
                cmocka_unit_test(test_absent_stays_absent),
                cmocka_unit_test(test_first_deploy_beside_a_vpa_of_a_part),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
