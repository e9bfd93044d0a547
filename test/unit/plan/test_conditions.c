/* The conditions of a plan: which are said, with which reason and words, and what the guard watches and holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "base/yaml.h"
#include "cache/guard_state.h"
#include "cache/pod_namespace_targets.h"
#include "plan/plan.h"

enum { MI = 1 << 20, CONTAINERS = 2 };
static const int64_t now_ms = 1763700000000; /* 2025-11-21T04:40:00Z */
static const char app[] = "app", side[] = "side";

/* A workload of two containers whose requests stand where they are wanted, and nothing to say but Ready and Applied. */
struct stage {
        struct profile_spec spec;
        struct profile profile;
        struct workload_more more;
        struct workload workload;
        struct resource_policy policy[RESOURCES];
        struct plan_container c[CONTAINERS + 1]; /* of the last, which the plan does not count, nothing is said */
        struct plan plan;
        struct target t; /* the last: its key would follow */
};

static void stage_open(struct stage *s)
{
        *s = (struct stage){.profile.spec = &s->spec, .workload.more = &s->more};
        s->t = (struct target){.ns = "shop", .name = "web", .workload = &s->workload, .profile = &s->profile};
        s->plan = (struct plan){
                .target = &s->t, .now = {now_ms}, .state = STATE_READY, .container = s->c, .containers = CONTAINERS};
        for (enum resource r = CPU; r < RESOURCES; r++)
                resource_policy_defaults(r, &s->policy[r]);
        for (int i = 0; i < CONTAINERS; i++) {
                s->c[i] = (struct plan_container){.name = i ? side : app, .facts.policy = s->policy};
                s->c[i].facts.limit[CPU] = (struct amount){true, 2000};
                s->c[i].advice.so_far[CPU] = (struct amount){true, 300};
        }
        struct plan_container *beyond = &s->c[CONTAINERS];
        *beyond = (struct plan_container){.name = app, .facts.policy = s->policy};
        beyond->facts.learned.of[MEMORY] = (struct estimate){.known = true, .model = INT64_C(1000) * MI};
        for (enum resource r = CPU; r < RESOURCES; r++) {
                beyond->facts.original[r] = beyond->facts.current[r] = (struct amount){true, INT64_C(2000) * MI};
                beyond->facts.read_least[r] = beyond->facts.original[r];
                beyond->advice.of[r].target = (struct amount){true, 300};
                beyond->advice.of[r].under_provisioned = beyond->advice.of[r].qos_changes = true;
        }
}

/* says: the message, or its beginning where it ends in "…" */
static void said(const struct stage *s, const char *what, const char *type, const char *reason, const char *says)
{
        const struct plan_condition *c = plan_condition(&s->plan, type);
        size_t len = says ? strlen(says) : 0, dots = sizeof "…" - 1;
        bool cut = len > dots && strcmp(says + len - dots, "…") == 0;
        if (!c != !reason || (c && strcmp(c->reason, reason) != 0))
                fail_msg("%s: %s %s", what, type, c ? c->reason : "is not there");
        if (c && says && (cut ? strncmp(c->message, says, len - dots) : strcmp(c->message, says)) != 0)
                fail_msg("%s: %s says '%s'", what, type, c->message);
        assert_true(!c || plan_condition(&s->plan, type)->type == c->type);
}

/* --- Applied --- */

static const struct applied_row {
        const char *what;
        struct move {
                int from, to, original, value; /* millicores; value: what the gates let be written */
                enum reason hold;
        } move[2]; /* of CPU of the first container, and of memory of the second */
        enum state state;
        enum apply_mode mode;
        enum dimension dimension;
        bool orphaned, guarded, carries, held, error, alone, in_place_only, roomy;
        int others, deferred; /* pods whose requests somebody else set; that wait for room on their nodes */
        bool is;
        const char *reason, *says;
} applied_rows[] = {
        {.what = "nothing is learned", .state = STATE_NO_DATA, .reason = "Learning"},
        {.what = "too little is learned", .state = STATE_LEARNING, .reason = "Learning"},
        {.what = "all stands, and is ours", .state = STATE_READY, .carries = true, .is = true, .reason = "UpToDate"},
        {.what = "all stands, ours, and learning",
         .state = STATE_LEARNING,
         .carries = true,
         .is = true,
         .reason = "UpToDate"},
        {.what = "all stands", .state = STATE_READY, .reason = "NothingToChange"},
        {.what = "all stands without samples", .state = STATE_STALE, .reason = "NothingToChange"},
        {.what = "a change that nothing holds",
         .state = STATE_READY,
         .move = {{900, 300, 900, 300, REASON_NONE}},
         .mode = APPLY_ROLLOUT,
         .reason = "Pending",
         .says = ""},
        {.what = "without a profile",
         .state = STATE_READY,
         .move = {{900, 300, 900, 300, REASON_NONE}},
         .mode = APPLY_ON_DEPLOY,
         .alone = true,
         .reason = "Pending",
         .says = ""},
        {.what = "at the next deploy",
         .state = STATE_READY,
         .move = {{900, 300, 900, 300, REASON_NONE}},
         .mode = APPLY_ON_DEPLOY,
         .reason = "NextDeploy",
         .says = "the next deploy gets the target values"},
        {.what = "back at the next deploy",
         .state = STATE_READY,
         .move = {{300, 300, 900, 900, REASON_NONE}},
         .mode = APPLY_ON_DEPLOY,
         .carries = true,
         .reason = "NextDeploy",
         .says = "the next deploy gets the owner's requests"},
        {.what = "held at a deploy",
         .state = STATE_READY,
         .move = {{900, 300, 900, 300, REASON_COOLDOWN}},
         .mode = APPLY_ON_DEPLOY,
         .reason = "Cooldown",
         .says = "the last change is younger than the cooldown"},
        {.what = "the second container's memory",
         .state = STATE_READY,
         .move = {{0}, {900, 300, 900, 300, REASON_COOLDOWN}},
         .reason = "Cooldown",
         .carries = true,
         .says = "the last change is younger than the cooldown"},
        {.what = "the first hold of a change counts",
         .state = STATE_READY,
         .move = {{900, 300, 900, 300, REASON_COOLDOWN}, {900, 300, 900, 300, REASON_BUDGET}},
         .reason = "Cooldown"},
        {.what = "a hold of what does not change does not count",
         .state = STATE_READY,
         .move = {{900, 900, 900, 900, REASON_COOLDOWN}, {900, 300, 900, 300, REASON_BUDGET}},
         .reason = "Budget",
         .says = "the budget of cores is used up"},
        {.what = "nobody knows which budget",
         .state = STATE_READY,
         .roomy = true,
         .move = {{900, 300, 900, 300, REASON_BUDGET}},
         .reason = "Budget",
         .says = "the budget for changes is used up"},
        {.what = "the owner's come back",
         .state = STATE_READY,
         .carries = true,
         .move = {{300, 300, 900, 900, REASON_NONE}},
         .reason = "Pending",
         .says = "the owner's requests come back"},
        {.what = "the owner's come back later",
         .state = STATE_READY,
         .carries = true,
         .move = {{300, 300, 900, 900, REASON_COOLDOWN}},
         .reason = "Cooldown",
         .says = "the owner's requests come back, but not yet: the last change is younger than the cooldown"},
        {.what = "one comes back and one changes",
         .state = STATE_READY,
         .carries = true,
         .move = {{300, 300, 900, 900, REASON_COOLDOWN}, {900, 300, 900, 300, REASON_NONE}},
         .reason = "Cooldown",
         .says = "the last change is younger than the cooldown"},
        {.what = "its rollout waits",
         .state = STATE_READY,
         .move = {{900, 300, 900, 300, REASON_ROLLOUT_BLOCKED}},
         .reason = "RolloutBlocked",
         .says = "its rollout is paused"},
        {.what = "no room",
         .state = STATE_READY,
         .move = {{900, 300, 900, 300, REASON_QUOTA}},
         .reason = "Quota",
         .says = "quota 'room' lacks 1"},
        {.what = "opted out",
         .state = STATE_READY,
         .move = {{900, 300, 900, 300, REASON_OPTED_OUT}},
         .reason = "OptedOut",
         .says = "an annotation forbids it"},
        {.what = "a kind that cannot be changed",
         .state = STATE_READY,
         .move = {{900, 300, 900, 300, REASON_IMMUTABLE}},
         .reason = "Immutable",
         .says = "the template of this kind cannot be changed…"},
        {.what = "in place only",
         .state = STATE_READY,
         .in_place_only = true,
         .move = {{900, 300, 900, 300, REASON_IMMUTABLE}},
         .reason = "Immutable",
         .says = "its updateStrategy is InPlaceOnly…"},
        {.what = "in place only, and too soon",
         .state = STATE_READY,
         .in_place_only = true,
         .move = {{900, 300, 900, 300, REASON_COOLDOWN}},
         .reason = "Cooldown",
         .says = "the last change is younger than the cooldown"},
        {.what = "paused",
         .state = STATE_READY,
         .move = {{900, 300, 900, 300, REASON_PAUSED}},
         .reason = "Paused",
         .says = "the profile is paused"},
        {.what = "a profile with an error",
         .state = STATE_READY,
         .error = true,
         .move = {{900, 300, 900, 300, REASON_PAUSED}},
         .reason = "Paused",
         .says = "the profile cannot be read; its condition Ready says why"},
        {.what = "held by a person",
         .state = STATE_READY,
         .held = true,
         .move = {{900, 300, 900, 300, REASON_PAUSED}},
         .reason = "Paused",
         .says = "the recommendation is held; condition Held says why"},
        {.what = "only told",
         .state = STATE_READY,
         .move = {{900, 300, 900, 300, REASON_RECOMMEND_ONLY}},
         .reason = "RecommendOnly",
         .says = "the profile's apply.mode is Recommend"},
        {.what = "a pod of a workload",
         .state = STATE_READY,
         .dimension = DIMENSION_POD,
         .move = {{900, 300, 900, 300, REASON_RECOMMEND_ONLY}},
         .reason = "RecommendOnly",
         .says = "halflife never writes the target values of a pod of a workload: its workload's template sets them"},
        {.what = "a namespace",
         .state = STATE_READY,
         .dimension = DIMENSION_NAMESPACE,
         .move = {{900, 300, 900, 300, REASON_RECOMMEND_ONLY}},
         .reason = "RecommendOnly",
         .says = "halflife never writes the target values of a namespace"},
        {.what = "a node, whatever it wants",
         .state = STATE_NO_DATA,
         .dimension = DIMENSION_NODE,
         .reason = "RecommendOnly",
         .says = "halflife writes nothing to nodes…"},
        {.what = "orphaned",
         .state = STATE_READY,
         .carries = true,
         .orphaned = true,
         .others = 2,
         .reason = "Orphaned",
         .says = "no profile selects it any more…"},
        {.what = "orphaned, and another target",
         .state = STATE_READY,
         .carries = true,
         .orphaned = true,
         .move = {{900, 300, 900, 300, REASON_COOLDOWN}},
         .reason = "Orphaned"},
        {.what = "pods of somebody else",
         .state = STATE_READY,
         .carries = true,
         .others = 2,
         .reason = "SetByOthers",
         .says = "2 of 3 pods have requests that somebody else set"},
        {.what = "pods of somebody else, before a change",
         .state = STATE_READY,
         .carries = true,
         .others = 2,
         .move = {{900, 300, 900, 300, REASON_COOLDOWN}},
         .reason = "Cooldown"},
        {.what = "the same once the change did harm",
         .state = STATE_READY,
         .carries = true,
         .others = 2,
         .guarded = true,
         .move = {{900, 300, 900, 300, REASON_COOLDOWN}},
         .reason = "SetByOthers"},
        {.what = "a pod lacks room",
         .state = STATE_READY,
         .carries = true,
         .deferred = 1,
         .move = {{900, 300, 900, 300, REASON_COOLDOWN}},
         .reason = "Deferred"},
};

static void move_set(struct plan_container *c, enum resource r, const struct move *m)
{
        c->facts.current[r] = (struct amount){m->from > 0, m->from};
        c->facts.original[r] = (struct amount){m->original > 0, m->original};
        c->advice.of[r].target = (struct amount){m->to > 0, m->to};
        c->advice.gate[r] = (struct gate_verdict){.value = m->value, .hold = m->hold};
}

static void test_applied(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof applied_rows / sizeof applied_rows[0]; i++) {
                const struct applied_row *r = &applied_rows[i];
                struct stage s;
                static struct guard_state guard = {.cause = GUARD_RESTARTS};
                static char error[] = "no such field";
                stage_open(&s);
                s.spec.apply.mode = r->mode;
                s.profile.error = r->error ? error : NULL;
                s.workload.in_place_only = r->in_place_only;
                s.t.dimension = (uint8_t)r->dimension;
                s.t.profile = r->alone ? NULL : &s.profile;
                s.t.hold = error;
                s.t.apply_state.guard = &guard;
                move_set(&s.c[0], CPU, &r->move[0]);
                move_set(&s.c[1], MEMORY, &r->move[1]);
                s.plan.state = r->state;
                s.plan.orphaned = r->orphaned;
                s.plan.guarded = r->guarded;
                s.plan.carries = r->carries;
                s.plan.held = r->held;
                s.plan.opted_out = "an annotation forbids it";
                s.plan.resize.pods = 3;
                s.plan.resize.others = r->others;
                s.plan.resize.progress[RESIZE_DEFERRED] = r->deferred;
                snprintf(s.plan.blocked, sizeof s.plan.blocked, "its rollout is paused");
                snprintf(s.plan.no_room, sizeof s.plan.no_room, "quota 'room' lacks 1");
                snprintf(s.plan.over_budget, sizeof s.plan.over_budget, "%s",
                         r->roomy ? "" : "the budget of cores is used up");
                conditions_say(&s.plan);
                said(&s, r->what, "Applied", r->reason, r->says);
                assert_int_equal(plan_condition(&s.plan, "Applied")->status, r->is);
                said(&s, r->what, "InPlaceOnly", r->in_place_only ? "ByStrategy" : NULL,
                     "its updateStrategy is InPlaceOnly…");
        }
}

/* --- Ready and SamplesRefused --- */

#define COUNTS(...)                                                                                                    \
        {                                                                                                              \
                __VA_ARGS__                                                                                            \
        }
static const struct {
        enum state state;
        uint32_t count[SAMPLE_REFUSALS]; /* Future, Reordered, Value, Memory, Container, Shared */
        const char *unfilled;
        const char *ready;          /* the message of Ready */
        const char *refused, *says; /* of SamplesRefused; NULL: it is not said */
} sample_rows[] = {
        {STATE_READY, COUNTS(0), NULL, "", NULL, NULL},
        {STATE_READY, COUNTS(0), "HTTP 503", "usage of the past is not loaded yet, halflife asks again: HTTP 503", NULL,
         NULL},
        {STATE_LEARNING, COUNTS(0), "HTTP 503",
         "samples come in; minHistory is not yet reached; usage of the past is not loaded yet, halflife asks again: "
         "HTTP 503",
         NULL, NULL},
        {STATE_NO_DATA, COUNTS(0), NULL, "no sample was accepted yet", NULL, NULL},
        {STATE_NO_DATA, COUNTS(1), NULL, "no sample was accepted yet: condition SamplesRefused says why", "Future",
         "1 or more samples refused lately, first of pod 'web-1': dated more than…"},
        {STATE_STALE, COUNTS(0, 0, 0, 0, 0, 7), NULL,
         "a running pod has had no sample for a while; the last good target stands: condition SamplesRefused says why",
         "SeveralPods", "4 or more samples refused lately, first of pod 'web-1': Prometheus tells…"},
        {STATE_READY, COUNTS(2, 0, 3), NULL, "", "Value", "2 or more…"},
        {STATE_READY, COUNTS(8, 0, 8), NULL, "", "Future", "8 or more…"},
        {STATE_READY, COUNTS(5, 0, 4), NULL, "", "Future", "4 or more…"},
        {STATE_READY, COUNTS(0, 9), NULL, "", NULL, NULL}, /* a pod's older sample comes now and then */
        {STATE_READY, COUNTS(0, 9, 0, 1), NULL, "", "NoMemory", NULL},
        {STATE_STALE, COUNTS(0, 9, 0, 1), NULL, NULL, "Reordered", NULL},
        {STATE_NO_DATA, COUNTS(0, 9, 0, 1), NULL, NULL, "Reordered", NULL},
        {STATE_HELD, COUNTS(0, 0, 0, 0, 6), NULL, "held; see the other conditions", "Container", "4 or more…"},
};

static void test_samples(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof sample_rows / sizeof sample_rows[0]; i++) {
                struct stage s;
                const struct pod pod = {.name = "web-1"};
                char what[40];
                stage_open(&s);
                snprintf(what, sizeof what, "row %zu of samples", i);
                for (enum sample_refusal w = 0; w < SAMPLE_REFUSALS; w++)
                        for (uint32_t n = 0; n < sample_rows[i].count[w]; n++)
                                sample_refused(&s.t, w, &pod, now_ms, MINUTE_MS);
                s.plan.state = sample_rows[i].state;
                s.plan.unfilled = sample_rows[i].unfilled;
                conditions_say(&s.plan);
                said(&s, what, "Ready", state_name(s.plan.state), sample_rows[i].ready);
                assert_int_equal(plan_condition(&s.plan, "Ready")->status, s.plan.state == STATE_READY);
                said(&s, what, "SamplesRefused", sample_rows[i].refused, sample_rows[i].says);
                sample_refusals_forget(&s.t);
        }
}

/* --- what is said of the containers --- */

enum { OF_CPU = 1, OF_MEMORY = 2, BOTH = OF_CPU | OF_MEMORY };
#define LONG_NAME "a23456789b23456789c23456789d23456789e23456789f23456789g23456789"

static const struct {
        const char *what;
        int under[2], qos[2], read[2]; /* of each container the resources */
        enum container_role role;      /* of the second */
        enum dimension dimension;
        const char *name;                  /* of the first; NULL: app */
        const char *short_of, *qos_reason; /* how UnderProvisioned begins; NULL: it is not said */
        const char *reads, *reader;        /* reason and begin of RequestRead */
} container_rows[] = {
        {.what = "nothing"},
        {.what = "one", .under = {OF_CPU}, .short_of = "cpu of 'app': usage is above the request…"},
        {.what = "several",
         .under = {BOTH, OF_MEMORY},
         .short_of = "cpu of 'app', memory of 'app', memory of 'side': usage…"},
        {.what = "an init container counts for nothing", .under = {0, BOTH}, .role = ROLE_INIT},
        {.what = "a node's would change with its pods", .under = {BOTH}, .dimension = DIMENSION_NODE},
        {.what = "more than there is room for",
         .under = {BOTH, BOTH},
         .name = LONG_NAME,
         .short_of = "cpu of '" LONG_NAME "', memory of 'a23456789b23456789c23456789d23456789e23456: usage…"},
        {.what = "one leaves Guaranteed", .qos = {0, OF_MEMORY}, .qos_reason = "LeavesGuaranteed"},
        {.what = "its CPU is read",
         .read = {OF_CPU},
         .reads = "CPU",
         .reader = "GOMAXPROCS reads the cpu request of container 'app', which therefore stays as its owner set it"},
        {.what = "memory of the second is read",
         .read = {0, OF_MEMORY},
         .reads = "Memory",
         .reader = "GOMAXPROCS reads the memory request of container 'side'…"},
        {.what = "both of two, told by the first",
         .read = {OF_MEMORY, OF_CPU},
         .reads = "CPUAndMemory",
         .reader = "GOMAXPROCS reads the memory request of container 'app'…"},
};

static void test_containers(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof container_rows / sizeof container_rows[0]; i++) {
                struct stage s;
                struct request_reader reader[4];
                stage_open(&s);
                s.spec.apply.runtime = RUNTIME_RESPECT;
                s.t.dimension = (uint8_t)container_rows[i].dimension;
                s.c[0].name = container_rows[i].name ? container_rows[i].name : app;
                s.c[1].role = s.c[1].facts.role = container_rows[i].role;
                s.more.readers = (struct request_readers){reader, 0};
                for (int k = 0; k < 2; k++)
                        for (enum resource r = CPU; r < RESOURCES; r++) {
                                int bit = r == CPU ? OF_CPU : OF_MEMORY;
                                s.c[k].advice.of[r].under_provisioned = container_rows[i].under[k] & bit;
                                s.c[k].advice.of[r].qos_changes = container_rows[i].qos[k] & bit;
                                s.c[k].advice.of[r].target = s.c[k].facts.current[r] = (struct amount){true, 300};
                                s.c[k].facts.read_least[r] = (struct amount){container_rows[i].read[k] & bit, 301};
                                reader[s.more.readers.rows++] = (struct request_reader){
                                        .container = s.c[k].name, .resource = r, .text = "GOMAXPROCS"};
                        }
                conditions_say(&s.plan);
                const char *short_of = container_rows[i].short_of, *what = container_rows[i].what;
                said(&s, what, "UnderProvisioned", short_of ? "UsesMoreThanRequested" : NULL, short_of);
                said(&s, what, "QoSChanges", container_rows[i].qos_reason, NULL);
                said(&s, what, "RequestRead", container_rows[i].reads, container_rows[i].reader);
        }
}

/* A heap is full from nine tenths of its bound, and matters below the owner's request. */
static void test_heaps(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                int64_t most, original, model; /* Mi; original 0: unset; model -1: unknown */
                int64_t less;                  /* bytes that the model is less */
                bool ignores, alone, init;
                bool said;
        } row[] = {
                {"full", 1000, 2000, 900, 0, false, false, false, true},
                {"just not full", 1000, 2000, 900, 1, false, false, false, false},
                {"beyond its bound", 1000, 2000, 1200, 0, false, false, false, true},
                {"the owner's request is no more", 1000, 1000, 1000, 0, false, false, false, false},
                {"the owner's request is less", 1000, 500, 1000, 0, false, false, false, false},
                {"no request", 1000, 0, 1000, 0, false, false, false, false},
                {"unknown", 1000, 2000, -1, 0, false, false, false, false},
                {"a bound of nothing", 0, 2000, 1000, 0, false, false, false, false},
                {"runtimes are ignored", 1000, 2000, 1000, 0, true, false, false, false},
                {"no profile", 1000, 2000, 1000, 0, false, true, false, false},
                {"an init container", 1000, 2000, 1000, 0, false, false, true, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                for (int k = 0; k < 2; k++) {
                        struct stage s;
                        stage_open(&s);
                        struct runtime_heap_row heap = {s.c[k].name, {.most = row[i].most * MI, .cap = CAP_GO}};
                        s.more.heaps = (struct runtime_heaps){&heap, 1};
                        s.spec.apply.runtime = row[i].ignores ? RUNTIME_IGNORE : RUNTIME_RESPECT;
                        s.t.profile = row[i].alone ? NULL : &s.profile;
                        s.c[k].role = s.c[k].facts.role = row[i].init ? ROLE_INIT : ROLE_MAIN;
                        s.c[k].facts.original[MEMORY] = (struct amount){row[i].original > 0, row[i].original * MI};
                        s.c[k].facts.learned.of[MEMORY] = (struct estimate){
                                .known = row[i].model >= 0, .model = row[i].model < 0 ? 900 * MI : row[i].model * MI};
                        s.c[k].facts.learned.of[MEMORY].model -= row[i].less;
                        conditions_say(&s.plan);
                        said(&s, row[i].what, "HeapBound", row[i].said ? "ByOption" : NULL,
                             k ? "container 'side' fills the heap that GOMEMLIMIT bounds to 1000Mi…"
                               : "container 'app' fills the heap that GOMEMLIMIT bounds to 1000Mi…");
                }
}

/* --- what is said of the workload --- */

struct fact {
        const char *what, *type, *reason, *says; /* reason NULL: it is not said */
        bool apply, goes_on, carries, held, unrecorded, original_broken, waits, by_kill, vpa;
        int refused, starting, late;
        const char *denied, *quota, *bar;
        enum never never;
        bool asks[RESOURCES];
};

static const struct fact facts[] = {
        {.what = "refused by a quota",
         .type = "Degraded",
         .reason = "Quota",
         .carries = true,
         .quota = "exceeded quota",
         .says = "new pods are refused: exceeded quota"},
        {.what = "refused with the owner's requests", .type = "Degraded", .quota = "exceeded quota"},
        {.what = "nothing denied", .type = "Degraded", .apply = true, .carries = true},
        {.what = "denied, and nothing to write", .type = "Degraded", .denied = "HTTP 403"},
        {.what = "a write denied",
         .type = "Degraded",
         .reason = "Forbidden",
         .says = "HTTP 403",
         .denied = "HTTP 403",
         .apply = true},
        {.what = "a resize denied",
         .type = "Degraded",
         .reason = "Forbidden",
         .says = "HTTP 403",
         .denied = "HTTP 403",
         .goes_on = true},
        {.what = "a resize refused",
         .type = "Degraded",
         .reason = "Forbidden",
         .says = "HTTP 403",
         .denied = "HTTP 403",
         .refused = 1},
        {.what = "no hold", .type = "Held"},
        {.what = "a hold",
         .type = "Held",
         .reason = "ByAnnotation",
         .held = true,
         .says = "halflife.dev/hold: a person's reason"},
        {.what = "what was applied cannot be read",
         .type = "Held",
         .reason = "UnreadableRecord",
         .held = true,
         .unrecorded = true,
         .says = "halflife cannot read the template's annotation halflife.dev/applied-resources: …"},
        {.what = "the originals cannot be read",
         .type = "Held",
         .reason = "UnreadableRecord",
         .unrecorded = true,
         .original_broken = true,
         .says = "halflife cannot read the template's annotation halflife.dev/original-resources: …"},
        {.what = "no annotation", .type = "OptedOut"},
        {.what = "too many labels", .type = "OptedOut", .never = NEVER_BY_LABELS},
        {.what = "its annotation",
         .type = "OptedOut",
         .reason = "ByAnnotation",
         .never = NEVER_BY_ANNOTATION,
         .says = "halflife.dev/apply: Never"},
        {.what = "no start", .type = "Startup"},
        {.what = "starts",
         .type = "Startup",
         .reason = "Starting",
         .starting = 1,
         .says = "pods have their original requests while they start"},
        {.what = "late",
         .type = "Startup",
         .reason = "NotReady",
         .starting = 1,
         .late = 2,
         .bar = "QoS",
         .says = "2 of 3 pods are not Ready although…"},
        {.what = "to completion",
         .type = "Startup",
         .reason = "RunsToCompletion",
         .bar = "RunsToCompletion",
         .says = "new pods start with the target values: its pods run to completion…"},
        {.what = "restarts",
         .type = "Startup",
         .reason = "RestartRequired",
         .bar = "RestartRequired",
         .starting = 1,
         .says = "new pods start with the target values: a resize to the target values would restart…"},
        {.what = "no pod asks", .type = "PodLevel"},
        {.what = "the pod asks",
         .type = "PodLevel",
         .reason = "Memory",
         .asks[MEMORY] = true,
         .says = "the template asks for memory for the pod as a whole…"},
        {.what = "no VPA", .type = "OtherAutoscaler"},
        {.what = "a VPA",
         .type = "OtherAutoscaler",
         .reason = "VerticalPodAutoscaler",
         .vpa = true,
         .says = "VerticalPodAutoscaler 'sizer', updateMode Auto…"},
        {.what = "no canary", .type = "Canary"},
        {.what = "waits for canaries", .type = "Canary", .reason = "Waiting", .waits = true},
        {.what = "no kill", .type = "OutOfMemory"},
        {.what = "a kill",
         .type = "OutOfMemory",
         .reason = "KillMakesModel",
         .by_kill = true,
         .says = "container 'app' was killed or evicted…"},
};

static void test_facts(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
                const struct fact *f = &facts[i];
                struct stage s;
                char hold[] = "a person's reason", refused[40], denied[40];
                struct other_autoscaler vpa = {.name = "sizer", .mode = "Auto"};
                struct history killed = {.container = app,
                                         .usage.kill[0] = {.at_ms = now_ms - HOUR_MS, .bytes = 200.0 * MI}};
                stage_open(&s);
                snprintf(refused, sizeof refused, "%s", f->quota ? f->quota : "");
                snprintf(denied, sizeof denied, "%s", f->denied ? f->denied : "");
                s.more.refused = f->quota ? refused : NULL;
                s.workload.original.broken = f->original_broken;
                s.workload.apply_never = f->never;
                s.workload.other_autoscaler = f->vpa ? &vpa : NULL;
                s.t.hold = hold;
                s.t.denied = f->denied ? denied : NULL;
                s.t.waits = f->waits;
                s.t.histories = f->by_kill ? &killed : NULL;
                s.c[0].facts.learned.of[MEMORY].by_kill = f->by_kill;
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        s.more.pod_asks[r] = (struct amount){f->asks[r], 1};
                        s.c[0].facts.other_autoscaler[r] = true;
                }
                s.plan.apply = f->apply;
                s.plan.carries = f->carries;
                s.plan.held = f->held;
                s.plan.unrecorded = f->unrecorded;
                s.plan.startup_bar = f->bar;
                s.plan.resize = (struct plan_resize){.pods = 3,
                                                     .goes_on = f->goes_on,
                                                     .refused = f->refused,
                                                     .starting = f->starting,
                                                     .late = f->late};
                conditions_say(&s.plan);
                said(&s, f->what, f->type, f->reason, f->says);
        }
}

/* Whatever a message ends with where it is cut, the API server takes it. */
static void test_cut_messages_are_utf8(void **state)
{
        (void)state;
        for (int odd = 0; odd < 2; odd++) {
                struct stage s;
                char text[2 * PLAN_WORDS] = "x";
                for (size_t at = (size_t)odd; at + 2 < sizeof text; at += 2)
                        memcpy(text + at, "\u00e9", sizeof "\u00e9");
                stage_open(&s);
                s.t.hold = text;
                s.plan.held = true;
                s.plan.unfilled = text;
                conditions_say(&s.plan);
                for (int i = 0; i < s.plan.conditions; i++) {
                        AUTO(json_decref) json_t *words = json_string(s.plan.condition[i].message);
                        if (!words)
                                fail_msg("%s: '%s'", s.plan.condition[i].type, s.plan.condition[i].message);
                }
        }
}

/* --- pods that came with other requests than those that halflife wants --- */

/* Halflife's webhook is in doubt only where it has an answer for pods: OnDeploy at Pod, and a change that waits. */
static void test_pods_without_the_answer(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                enum apply_mode mode;
                enum apply_at at;
                enum dimension dimension;
                bool alone, stands, asked;
                bool deploys, said;
        } row[] = {
                {"a deploy", APPLY_ON_DEPLOY, AT_POD, DIMENSION_WORKLOAD, false, false, false, true, true},
                {"its pods came by the webhook", APPLY_ON_DEPLOY, AT_POD, DIMENSION_WORKLOAD, false, false, true, true,
                 false},
                {"at the workload", APPLY_ON_DEPLOY, AT_WORKLOAD, DIMENSION_WORKLOAD, false, false, false, false,
                 false},
                {"of a namespace", APPLY_ON_DEPLOY, AT_POD, DIMENSION_NAMESPACE, false, false, false, false, false},
                {"no profile", APPLY_ON_DEPLOY, AT_POD, DIMENSION_WORKLOAD, true, false, false, false, false},
                {"nothing to deploy", APPLY_ON_DEPLOY, AT_POD, DIMENSION_WORKLOAD, false, true, false, false, false},
                {"a rollout", APPLY_ROLLOUT, AT_POD, DIMENSION_WORKLOAD, false, false, false, false, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct stage s;
                struct pod pod = {.created_ms = now_ms - HOUR_MS, .ours = row[i].asked};
                const struct move move = {900, row[i].stands ? 900 : 300, 900, 300, REASON_NONE};
                stage_open(&s);
                s.spec.apply.mode = row[i].mode;
                s.spec.apply.at = row[i].at;
                s.t.dimension = (uint8_t)row[i].dimension;
                s.t.profile = row[i].alone ? NULL : &s.profile;
                s.t.pods = &pod;
                s.t.deploys_ms = now_ms - 2 * HOUR_MS;
                move_set(&s.c[0], CPU, &move);
                assert_false(plan_deploys(&s.plan));
                conditions_say(&s.plan);
                said(&s, row[i].what, "WebhookNotCalled", row[i].said ? "PodsUnchanged" : NULL, "within 60 min 1 pod…");
                if (plan_deploys(&s.plan) != row[i].deploys)
                        fail_msg("%s: deploys", row[i].what);
        }
}

static void test_pods_that_admission_changed(void **state)
{
        (void)state;
        struct stage s;
        union {
                struct pod pod;
                char room[sizeof(struct pod) + sizeof(struct pod_container)];
        } one = {.pod = {.ours = true, .containers = 1}};
        struct record_row row = {.container = app, .request[CPU] = {true, 300}};
        struct pod_more more = {.born = {.row = &row, .rows = 1}};
        stage_open(&s);
        one.pod.more = &more;
        one.pod.container[0] = (struct pod_container){.name = app};
        one.pod.container[0].request[CPU] = amount_pack((struct amount){true, 400});
        s.t.pods = &one.pod;
        conditions_say(&s.plan);
        said(&s, "changed", "Contested", "ChangedAtAdmission", "cpu of 'app' changed to 400m by admission…");
        stage_open(&s);
        conditions_say(&s.plan);
        said(&s, "no pod", "Contested", NULL, NULL);
}

/* --- the guard --- */

static void test_guard_watches(void **state)
{
        (void)state;
        static const struct {
                bool alone, enabled;
                enum apply_mode mode;
                enum dimension dimension;
                bool want;
        } row[] = {
                {false, true, APPLY_ROLLOUT, DIMENSION_WORKLOAD, true},
                {false, true, APPLY_ON_DEPLOY, DIMENSION_WORKLOAD, true},
                {true, true, APPLY_ROLLOUT, DIMENSION_WORKLOAD, false},
                {false, false, APPLY_ROLLOUT, DIMENSION_WORKLOAD, false},
                {false, true, APPLY_RECOMMEND, DIMENSION_WORKLOAD, false},
                {false, true, APPLY_ROLLOUT, DIMENSION_NAMESPACE, false},
                {false, true, APPLY_ROLLOUT, DIMENSION_POD, false}, /* of a workload, whose template decides */
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct stage s;
                struct guard_state guard = {.until_ms = now_ms};
                stage_open(&s);
                s.spec.apply.guard.enabled = row[i].enabled;
                s.spec.apply.mode = row[i].mode;
                s.t.dimension = (uint8_t)row[i].dimension;
                s.t.profile = row[i].alone ? NULL : &s.profile;
                if (guard_policy_of(&s.t) != (row[i].want ? &s.spec.apply.guard : NULL))
                        fail_msg("row %zu: watched", i);
                assert_false(guard_holds(&s.t, (struct wall){now_ms - 1})); /* nothing did harm */
                s.t.apply_state.guard = &guard;
                if (guard_holds(&s.t, (struct wall){now_ms - 1}) != row[i].want)
                        fail_msg("row %zu: held", i);
                assert_false(guard_holds(&s.t, (struct wall){now_ms})); /* the hold is over */
        }
}

static void test_guard_says(void **state)
{
        (void)state;
        char why[] = "2 restarts";
        static const struct {
                bool guarded, why;
                int others;
                const char *says; /* NULL: nothing */
        } row[] = {
                {false, true, 0, NULL},
                {true, true, 0, "2 restarts; left alone until 2025-11-21T04:40:00Z"},
                {true, false, 1,
                 "it did harm; given back to 2 of 3 pods, 1 stay as they are; left alone until 2025-11-21T04:40:00Z"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct stage s;
                struct guard_state guard = {
                        .until_ms = now_ms, .why = row[i].why ? why : NULL, .cause = GUARD_RESTARTS};
                stage_open(&s);
                s.t.apply_state.guard = &guard;
                s.plan.guarded = row[i].guarded;
                s.plan.resize = (struct plan_resize){.pods = 3, .others = row[i].others};
                conditions_say(&s.plan);
                said(&s, "the guard", "Guarded", row[i].says ? guard_cause_name(GUARD_RESTARTS) : NULL, row[i].says);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_applied),
                cmocka_unit_test(test_samples),
                cmocka_unit_test(test_containers),
                cmocka_unit_test(test_heaps),
                cmocka_unit_test(test_facts),
                cmocka_unit_test(test_cut_messages_are_utf8),
                cmocka_unit_test(test_pods_without_the_answer),
                cmocka_unit_test(test_pods_that_admission_changed),
                cmocka_unit_test(test_guard_watches),
                cmocka_unit_test(test_guard_says),
        };
        return cmocka_run_group_tests_name("conditions", tests, NULL, NULL);
}
