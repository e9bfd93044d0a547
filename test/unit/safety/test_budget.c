#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/tmp.h"

/* One target with one container of 1000m, for which a gate is open to so many millicores. */
struct fixture {
        struct rig c;
        struct watched_kind kind;
        struct workload workload;
        struct profile_spec spec;
        struct profile profile;
        struct plan_container *container; /* one, on the heap: what is beyond it is noticed */
        struct plan plan;
        struct target target; /* last: its names follow it */
};

static int set_up(void **state)
{
        struct fixture *f = mem_new(sizeof(struct fixture) + sizeof "t"); /* with a key of the target */
        rig_begin(&f->c);
        f->workload = (struct workload){.kind = &f->kind, .replicas = 2};
        f->profile.key = mem_string("/shared");
        f->profile.spec = &f->spec;
        f->kind = (struct watched_kind){.group = "apps", .kind = "Deployment"};
        f->target.ns = "shop";
        f->target.workload = &f->workload;
        f->target.profile = &f->profile;
        f->target.key[0] = 't';
        f->container = mem_new_array(1, sizeof *f->container);
        f->container->facts.current[CPU] = (struct amount){true, 1000};
        f->container->advice.gate[CPU] = (struct gate_verdict){.value = 600};
        f->container->advice.gate[MEMORY].hold = REASON_MEMORY_OFF;
        f->plan = (struct plan){
                .target = &f->target, .container = f->container, .containers = 1, .now = loop_now(f->c.loop).wall};
        *state = f;
        return 0;
}

static int tear_down(void **state)
{
        struct fixture *f = *state;
        budget_account_release(&f->profile.budget);
        mem_free(f->profile.key);
        mem_free(f->container);
        rig_end(&f->c);
        mem_free(f);
        return 0;
}

/* So much counts by now, for the profile and for the cluster. */
static void put_counted(struct fixture *f, enum budget_unit u, int64_t profile, int64_t cluster)
{
        budget_account_release(&f->profile.budget);
        budget_account_release(&f->c.safety->budget);
        if (profile)
                budget_account_add(&f->profile.budget, "shop", u, profile);
        if (cluster)
                budget_account_add(&f->c.safety->budget, "shop", u, cluster);
}

static int64_t counted(const struct fixture *f, enum budget_unit u)
{
        return budget_account_of(&f->c.safety->budget, "shop", u);
}

static void test_a_refused_change_costs_nothing(void **state)
{
        struct fixture *f = *state;
        f->c.live.budget_cores_per_hour = 1;
        for (int n = 0; n < 100; n++) {
                assert_true(budget_allows(f->c.safety, &f->plan));
                int64_t cost = budget_spend(f->c.safety, &f->plan);
                assert_int_equal(cost, 800);
                assert_false(budget_allows(f->c.safety, &f->plan));
                budget_refund(f->c.safety, &f->target, "/shared", cost);
                budget_settle(f->c.safety);
        }
        assert_int_equal(counted(f, BUDGET_CORES), 0);
        assert_false(f->target.rolling);
}

/* A container counts only where its request is known and its gate is open; up or down costs the same. */
static void test_what_a_change_costs(void **state)
{
        struct fixture *f = *state;
        static const struct {
                const char *what;
                struct amount current;
                enum reason hold;
                int64_t value, want; /* of two replicas */
        } row[] = {
                {"lowered", {true, 1000}, REASON_NONE, 600, 800},
                {"raised", {true, 1000}, REASON_NONE, 1400, 800},
                {"lowered by one", {true, 1000}, REASON_NONE, 999, 2},
                {"as it was", {true, 1000}, REASON_NONE, 1000, 0},
                {"held", {true, 1000}, REASON_COOLDOWN, 600, 0},
                {"without a request", {false, 0}, REASON_NONE, 600, 0},
                {"held, without a request", {false, 0}, REASON_COOLDOWN, 600, 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                f->container->facts.current[CPU] = row[i].current;
                f->container->advice.gate[CPU] = (struct gate_verdict){.hold = row[i].hold, .value = row[i].value};
                int64_t cost = budget_spend(f->c.safety, &f->plan);
                if (cost != row[i].want)
                        fail_msg("%s: %lld", row[i].what, (long long)cost);
        }
}

/* The budget is the last amount that passes. A change above the whole of it passes while nothing is spent, else it
 * would wait for ever. */
static void test_cores_within_the_hour(void **state)
{
        struct fixture *f = *state;
        static const struct {
                const char *what;
                int64_t value, spent; /* a change from 1000m, of two replicas */
                bool cluster, profile;
        } row[] = {
                {"nothing spent", 600, 0, true, true},
                {"the rest exactly", 600, 200, true, true},
                {"one millicore too many", 600, 201, false, false},
                {"above the whole budget, nothing spent", 100, 0, true, true},
                {"above the whole budget, a millicore spent", 100, 1, false, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                f->container->advice.gate[CPU].value = row[i].value;
                f->c.live.budget_cores_per_hour = 1;
                f->spec.budget_cores_per_hour = 0;
                put_counted(f, BUDGET_CORES, row[i].spent, row[i].spent);
                if (budget_allows(f->c.safety, &f->plan) != row[i].cluster)
                        fail_msg("the cluster's: %s", row[i].what);
                f->c.live.budget_cores_per_hour = 0;
                f->spec.budget_cores_per_hour = 1000;
                if (budget_allows(f->c.safety, &f->plan) != row[i].profile)
                        fail_msg("the profile's: %s", row[i].what);
        }
}

/* What no profile is chosen for is held by the cluster's budget all the same. */
static void test_without_a_profile(void **state)
{
        struct fixture *f = *state;
        f->target.profile = NULL;
        f->c.live.budget_cores_per_hour = 1;
        put_counted(f, BUDGET_CORES, 0, 200);
        assert_true(budget_allows(f->c.safety, &f->plan));
        put_counted(f, BUDGET_CORES, 0, 201);
        assert_false(budget_allows(f->c.safety, &f->plan));
}

static void test_workloads_at_once(void **state)
{
        struct fixture *f = *state;
        static const struct {
                int budget, rolling;
                bool want;
        } row[] = {{0, 5, true}, {1, 0, true}, {1, 1, false}, {2, 1, true}, {2, 2, false}, {2, 3, false}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                put_counted(f, BUDGET_WORKLOADS, row[i].rolling, row[i].rolling);
                f->c.live.budget_workloads = row[i].budget;
                f->spec.budget_workloads = 0;
                bool cluster = budget_allows(f->c.safety, &f->plan);
                f->c.live.budget_workloads = 0;
                f->spec.budget_workloads = row[i].budget;
                bool profile = budget_allows(f->c.safety, &f->plan);
                if (cluster != row[i].want || profile != row[i].want)
                        fail_msg("%d of %d: cluster %d, profile %d", row[i].rolling, row[i].budget, cluster, profile);
        }
}

/* What is spent counts at once, before the next time that all is counted. */
static void test_spending_counts_at_once(void **state)
{
        struct fixture *f = *state;
        (void)budget_spend(f->c.safety, &f->plan);
        assert_int_equal(counted(f, BUDGET_CORES), 800);
        assert_int_equal(counted(f, BUDGET_WORKLOADS), 1);
        assert_int_equal(budget_account_of(&f->profile.budget, "shop", BUDGET_CORES), 800);
        assert_int_equal(budget_account_of(&f->profile.budget, "shop", BUDGET_WORKLOADS), 1);
        assert_true(f->target.rolling);
}

/* The newest entry of that profile that holds so much is the one that the refund lowers. */
static void test_a_refund_finds_its_entry(void **state)
{
        struct fixture *f = *state;
        static const struct {
                const char *profile;
                int64_t cost, want[3];
        } row[] = {
                {"/shared", 300, {800, 800, 500}}, {"/shared", 800, {0, 800, 500}}, {"/other", 800, {0, 0, 500}},
                {"/other", 1, {0, 0, 500}},        {"/nowhere", 100, {0, 0, 500}},
        };
        budget_refund(f->c.safety, &f->target, "/shared", 100); /* nothing is spent */
        for (int n = 0; n < 3; n++) {
                mem_free(f->profile.key);
                f->profile.key = mem_string(n == 1 ? "/other" : "/shared");
                (void)budget_spend(f->c.safety, &f->plan);
                f->plan.now.ms += MINUTE_MS;
        }
        assert_int_equal(f->c.safety->spendings, 3);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                budget_refund(f->c.safety, &f->target, row[i].profile, row[i].cost);
                for (int n = 0; n < 3; n++)
                        if (f->c.safety->spent[n].millicores != row[i].want[n])
                                fail_msg("%zu: entry %d has %lld", i, n, (long long)f->c.safety->spent[n].millicores);
        }
}

static void test_an_hour_is_forgotten(void **state)
{
        struct fixture *f = *state;
        int64_t now;
        do { /* until it is settled within the millisecond that is an hour later */
                now = loop_now(f->c.loop).wall.ms;
                f->plan.now.ms = now - HOUR_MS;
                (void)budget_spend(f->c.safety, &f->plan);
                budget_settle(f->c.safety);
        } while (loop_now(f->c.loop).wall.ms != now);
        assert_int_equal(counted(f, BUDGET_CORES), 0);
        assert_int_equal(f->c.safety->spendings, 0);
}

/* It ends as by a kill: what was stored last is what counts. */
static void test_it_is_stored(void **state)
{
        struct fixture *f = *state;
        AUTO(mem_free) char *path = tmp_path("budget.db");
        rig_open_database(&f->c, path);
        assert_non_null(f->c.checkpointer->store);
        for (int refunded = 0; refunded <= 1; refunded++) {
                if (refunded)
                        budget_refund(f->c.safety, &f->target, "/shared", 300);
                else
                        (void)budget_spend(f->c.safety, &f->plan);
                rig_kill_database(&f->c);
                budget_release(f->c.safety);
                f->c.safety->spent = NULL;
                f->c.safety->spendings = 0;
                rig_open_database(&f->c, path);
                assert_int_equal(f->c.safety->spendings, 1);
                assert_int_equal(f->c.safety->spent[0].millicores, refunded ? 500 : 800);
                assert_int_equal(f->c.safety->spent[0].at_ms, f->plan.now.ms);
                assert_string_equal(f->c.safety->spent[0].profile, "/shared");
        }
}

/* A list of at most 256 is stored with each change, a longer one with the next pass. It ends as by a kill. */
static void test_a_long_list_is_stored_with_the_pass(void **state)
{
        enum { SHORT = 256 };
        struct fixture *f = *state;
        struct safety *s = f->c.safety;
        static const char *const ns[] = {"one", "two"};
        for (int settled = 0; settled <= 1; settled++) {
                AUTO(mem_free) char *path = tmp_path(ns[settled]);
                AUTO(json_decref) json_t *list = json_array();
                for (int n = 0; n < SHORT - 1; n++)
                        json_array_append_new(list, json_pack("[I, i, s, s]", (json_int_t)f->plan.now.ms, n, "", ""));
                char *text = json_dumps(list, 0);
                rig_open_database(&f->c, path);
                budget_load(s, text_of(text));
                free(text);
                for (int n = 0; n < 2; n++) {
                        f->target.ns = ns[n];
                        (void)budget_spend(s, &f->plan);
                        assert_int_equal(s->spent_unstored, n == 1);
                }
                if (settled)
                        budget_settle(s);
                for (int again = 0; again < 2; again++) {
                        rig_kill_database(&f->c);
                        budget_release(s);
                        s->spent = NULL;
                        s->spendings = 0;
                        if (!again)
                                rig_open_database(&f->c, path);
                        assert_int_equal(s->spendings, again ? 0 : SHORT + settled);
                }
        }
        f->target.ns = "shop";
}

static void test_the_ledger_stays_short(void **state)
{
        struct fixture *f = *state;
        f->plan.now.ms -= f->plan.now.ms % MINUTE_MS; /* all in one minute */
        for (int n = 0; n < 1000; n++, f->plan.now.ms += 10)
                budget_spend(f->c.safety, &f->plan);
        assert_int_equal(f->c.safety->spendings, 1);
        assert_int_equal(f->c.safety->spent[0].millicores, 800 * 1000);
        f->plan.now.ms += MINUTE_MS;
        budget_spend(f->c.safety, &f->plan);
        assert_int_equal(f->c.safety->spendings, 2);
}

static void test_sums_end(void **state)
{
        struct fixture *f = *state;
        f->container->facts.current[CPU].value = INT64_MAX;
        for (int n = 0; n < 3; n++)
                assert_int_equal(budget_spend(f->c.safety, &f->plan), INT64_MAX);
        assert_int_equal(counted(f, BUDGET_CORES), INT64_MAX);
        f->c.live.budget_cores_per_hour = 1;
        assert_false(budget_allows(f->c.safety, &f->plan));
}

static void test_a_cron_job_rolls_nothing(void **state)
{
        struct fixture *f = *state;
        f->workload.generation = 3;
        f->kind = (struct watched_kind){.group = "batch", .kind = "CronJob", .flags = KIND_BY_RUNS};
        assert_true(rollout_done(&f->workload));
        f->kind = (struct watched_kind){.group = "apps", .kind = "Deployment"};
        assert_false(rollout_done(&f->workload));
}

/* The workload looks done for as long as the patch has no answer. */
static void test_a_patch_under_way_counts(void **state)
{
        struct fixture *f = *state;
        f->spec.budget_workloads = 1;
        f->kind.flags = KIND_BY_RUNS; /* looks done */
        map_put(&f->c.cache.targets, TEXT("t"), &f->target);
        map_put(&f->c.cache.profiles, TEXT("p"), &f->profile);
        f->target.busy = true;
        budget_spend(f->c.safety, &f->plan);
        budget_settle(f->c.safety);
        assert_true(f->target.rolling);
        assert_int_equal(counted(f, BUDGET_WORKLOADS), 1);
        assert_false(budget_allows(f->c.safety, &f->plan));
        f->target.busy = false;
        budget_settle(f->c.safety);
        assert_false(f->target.rolling);
        assert_int_equal(counted(f, BUDGET_WORKLOADS), 0);
        assert_true(budget_allows(f->c.safety, &f->plan));
        map_drop(&f->c.cache.targets, TEXT("t"));
        map_drop(&f->c.cache.profiles, TEXT("p"));
}

/* A rollout that goes on keeps its place; one that stood still for ten minutes leaves it. */
static void test_a_rollout_that_stands_still(void **state)
{
        struct fixture *f = *state;
        f->spec.budget_workloads = 1;
        f->kind = (struct watched_kind){.group = "apps", .kind = "Deployment"};
        f->workload.generation = 3;
        map_put(&f->c.cache.targets, TEXT("t"), &f->target);
        map_put(&f->c.cache.profiles, TEXT("p"), &f->profile);
        target_set_rolling(&f->target, true);
        for (int updated = 0; updated < 3; updated++) {
                f->workload.updated = updated;
                budget_settle(f->c.safety);
                assert_false(budget_allows(f->c.safety, &f->plan));
                struct rolling *r = map_get(&f->c.safety->rolling, text_of(f->target.key));
                r->since = mono_after(r->since, -9 * MINUTE_MS);
                budget_settle(f->c.safety);
                assert_false(budget_allows(f->c.safety, &f->plan));
                r->since = mono_after(r->since, -MINUTE_MS);
        }
        budget_settle(f->c.safety);
        assert_true(budget_allows(f->c.safety, &f->plan));
        assert_true(f->target.rolling);
        target_set_rolling(&f->target, false);
        budget_settle(f->c.safety);
        assert_int_equal(f->c.safety->rolling.count, 0);
        map_drop(&f->c.cache.targets, TEXT("t"));
        map_drop(&f->c.cache.profiles, TEXT("p"));
}

/* While pods are resized one by one, the workload's own figures stand still; so may those of a Deployment that a
 * Rollout runs, and of a kind that tells a phase alone. */
static void test_what_keeps_a_place(void **state)
{
        struct fixture *f = *state;
        struct workload by = {.kind = &f->kind, .replicas = 3, .updated = 1};
        f->spec.budget_workloads = 1;
        f->workload.generation = 3;
        map_put(&f->c.cache.targets, TEXT("t"), &f->target);
        map_put(&f->c.cache.profiles, TEXT("p"), &f->profile);
        target_set_rolling(&f->target, true);
        for (int what = 0; what < 4; what++) {
                budget_settle(f->c.safety);
                struct rolling *r = map_get(&f->c.safety->rolling, text_of(f->target.key));
                r->since = mono_after(r->since, -11 * MINUTE_MS);
                if (what == 1)
                        budget_goes_on(f->c.safety, &f->target);
                if (what == 2)
                        workload_more_made(&f->workload)->phase = ROLLOUT_PHASE_PAUSED;
                if (what == 3)
                        rollout_ref_of(&f->workload, &by);
                budget_settle(f->c.safety);
                if (budget_allows(f->c.safety, &f->plan) != (what == 0))
                        fail_msg("%d", what);
        }
        mem_free(f->workload.more);
        map_drop(&f->c.cache.targets, TEXT("t"));
        map_drop(&f->c.cache.profiles, TEXT("p"));
}

/* What nothing changes shares no budget. */
static void test_who_shares(void **state)
{
        struct fixture *f = *state;
        AUTO(mem_free) struct target *other = mem_new(sizeof *other + sizeof "o");
        f->spec.apply.mode = APPLY_ROLLOUT;
        map_put(&f->c.cache.profiles, TEXT("/shared"), &f->profile);
        map_put(&f->c.cache.targets, TEXT("t"), &f->target);
        map_put(&f->c.cache.targets, TEXT("other"), other);
        other->ns = "pay";
        for (int what = 0; what < 5; what++) {
                struct profile_spec recommends = {.apply.mode = APPLY_RECOMMEND};
                struct profile theirs = {.spec = what == 1 ? &recommends : &f->spec};
                other->workload = what == 2 ? NULL : &f->workload;
                other->profile = what == 3 ? NULL : &theirs;
                other->dimension = what == 4 ? DIMENSION_NAMESPACE : DIMENSION_WORKLOAD;
                budget_settle(f->c.safety);
                if (f->c.safety->budget.shared != (what == 0))
                        fail_msg("%d", what);
                budget_account_release(&theirs.budget);
        }
        map_drop(&f->c.cache.targets, TEXT("t"));
        map_drop(&f->c.cache.targets, TEXT("other"));
        map_drop(&f->c.cache.profiles, TEXT("/shared"));
}

/* However many namespaces there are, the list has a bound, and nothing that was spent is lost. */
static void test_very_many_namespaces(void **state)
{
        struct fixture *f = *state;
        static char ns[SPENDINGS_APART + 100][16];
        for (int i = 0; i < SPENDINGS_APART + 100; i++) {
                snprintf(ns[i], sizeof ns[i], "n%d", i);
                f->target.ns = ns[i];
                (void)budget_spend(f->c.safety, &f->plan);
        }
        assert_true(f->c.safety->spendings <= SPENDINGS_APART + 2); /* two, if a minute ends meanwhile */
        assert_true(f->c.safety->spent_unstored);
        budget_refund(f->c.safety, &f->target, "/shared", 800);
        budget_settle(f->c.safety);
        assert_false(f->c.safety->spent_unstored);
        int64_t sum = 0;
        for (size_t i = 0; i < f->c.safety->spendings; i++)
                sum += f->c.safety->spent[i].millicores;
        assert_int_equal(sum, 800 * (SPENDINGS_APART + 99));
        assert_int_equal(budget_account_of(&f->c.safety->budget, "", BUDGET_CORES), 800 * 99);
        f->target.ns = "shop";
}

/* One namespace's rollouts, however many, leave half of a budget to the others. */
static void test_half_for_the_others(void **state)
{
        struct fixture *f = *state;
        AUTO(mem_free) struct target *other = mem_new(sizeof *other + sizeof "o");
        other->ns = "pay";
        other->workload = &f->workload;
        other->profile = &f->profile;
        f->spec.budget_workloads = 4;
        f->spec.apply.mode = APPLY_ROLLOUT;
        map_put(&f->c.cache.profiles, TEXT("/shared"), &f->profile);
        map_put(&f->c.cache.targets, TEXT("other"), other);
        for (int alone = 1; alone >= 0; alone--) {
                if (!alone)
                        map_put(&f->c.cache.targets, TEXT("t"), &f->target);
                target_set_rolling(&f->target, false);
                budget_settle(f->c.safety);
                int started = 0;
                for (; started < 9 && budget_allows(f->c.safety, &f->plan); started++)
                        (void)budget_spend(f->c.safety, &f->plan);
                assert_int_equal(started, alone ? 4 : 2);
        }
        f->plan.apply = true;
        budget_gate(f->c.safety, &f->plan);
        assert_string_equal(f->plan.over_budget,
                            "this namespace's share, half, of the profile's budget (apply.budget.workloads: 4) is used "
                            "up; it has room when a rollout ends or stands still");
        f->plan.target = other;
        f->plan.over_budget[0] = '\0';
        assert_true(budget_allows(f->c.safety, &f->plan));
        f->plan.target = &f->target;
        map_drop(&f->c.cache.targets, TEXT("t"));
        map_drop(&f->c.cache.targets, TEXT("other"));
        map_drop(&f->c.cache.profiles, TEXT("/shared"));
}

/* A change is paid for by its namespace, after a restart as well; what a former version stored has none. */
static void test_the_namespace_is_stored(void **state)
{
        struct fixture *f = *state;
        AUTO(mem_free)
        char *now = mem_printf("[[%lld, 7, \"/shared\"], [%lld, 9, \"/shared\", \"pay\"]]", (long long)f->plan.now.ms,
                               (long long)f->plan.now.ms);
        budget_load(f->c.safety, text_of(now));
        assert_int_equal(f->c.safety->spendings, 2);
        assert_string_equal(f->c.safety->spent[0].ns, "");
        assert_string_equal(f->c.safety->spent[1].ns, "pay");
        (void)budget_spend(f->c.safety, &f->plan); /* in the same minute */
        assert_int_equal(f->c.safety->spendings, 3);
        assert_string_equal(f->c.safety->spent[2].ns, "shop");
        budget_refund(f->c.safety, &f->target, "/shared", 9);
        assert_int_equal(f->c.safety->spent[2].millicores, 791);
        budget_settle(f->c.safety);
        assert_int_equal(budget_account_of(&f->c.safety->budget, "pay", BUDGET_CORES), 9);
        assert_int_equal(budget_account_of(&f->c.safety->budget, "", BUDGET_CORES), 7);
}

/* A clock that was ahead wrote it down: it is held for an hour from now, not for the year, and not for nothing. */
static void test_spent_in_the_future(void **state)
{
        struct fixture *f = *state;
        f->c.live.budget_cores_per_hour = 1;
        f->plan.now.ms += 365 * (int64_t)DAY_MS;
        (void)budget_spend(f->c.safety, &f->plan);
        budget_settle(f->c.safety);
        assert_false(budget_allows(f->c.safety, &f->plan));
        assert_int_equal(f->c.safety->spendings, 1);
        assert_true(f->c.safety->spent[0].at_ms <= loop_now(f->c.loop).wall.ms);
}

/* Pods that are changed where they run are no longer rolling once nothing is being resized. */
static void test_a_resize_counts_while_it_lasts(void **state)
{
        struct fixture *f = *state;
        static const struct {
                bool rolling, resizing, want;
        } row[] = {{true, true, true}, {true, false, false}, {false, true, false}, {false, false, false}};
        map_put(&f->c.cache.targets, TEXT("t"), &f->target);
        f->target.apply_state.in_place = true;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                target_set_rolling(&f->target, row[i].rolling);
                f->target.resizing = row[i].resizing;
                budget_settle(f->c.safety);
                if (f->target.rolling != row[i].want)
                        fail_msg("rolling %d, resizing %d", row[i].rolling, row[i].resizing);
        }
        map_drop(&f->c.cache.targets, TEXT("t"));
}

/* The increase that is left is refused where the quota has no room for it. */
static void test_what_is_left_asks_the_quota(void **state)
{
        struct fixture *f = *state;
        static const struct {
                const char *hard;
                enum reason want;
        } row[] = {{"1000", REASON_NONE}, {"350", REASON_QUOTA}};
        f->kind = (struct watched_kind){.group = "apps", .kind = "Deployment"};
        f->c.live.budget_cores_per_hour = 1;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct plan_container *c = f->container;
                AUTO(mem_free)
                char *quota = mem_printf(
                        "{\"metadata\": {\"namespace\": \"shop\", \"name\": \"q\"}, \"spec\": {\"hard\": "
                        "{\"requests.memory\": \"%s\"}}, \"status\": {\"used\": {\"requests.memory\": \"200\"}}}",
                        row[i].hard);
                assert_int_equal(quota_upsert(&f->c.cache, text_of(quota), 1, &(struct err){0}), 0);
                put_counted(f, BUDGET_CORES, 0, 1000);
                f->plan.apply = true;
                c->advice.gate[CPU] = (struct gate_verdict){.value = 600};
                c->facts.current[MEMORY] = (struct amount){true, 100};
                c->advice.gate[MEMORY] = (struct gate_verdict){.value = 200};
                budget_gate(f->c.safety, &f->plan);
                assert_int_equal(c->advice.gate[CPU].hold, REASON_BUDGET);
                assert_int_equal(c->advice.gate[MEMORY].hold, row[i].want);
        }
}

/* What falls is held; what rises is not, and goes on by itself. */
static void test_it_holds_decreases(void **state)
{
        struct fixture *f = *state;
        static const struct {
                const char *what;
                int64_t spent; /* before */
                enum reason memory;
                enum reason want[RESOURCES];
                bool applies;
        } row[] = {
                {"there is enough", 0, REASON_MEMORY_OFF, {REASON_NONE, REASON_MEMORY_OFF}, true},
                {"it is used up", 1000, REASON_MEMORY_OFF, {REASON_BUDGET, REASON_MEMORY_OFF}, false},
                {"memory rises beside", 1000, REASON_NONE, {REASON_BUDGET, REASON_NONE}, true},
                {"memory is held by another gate", 1000, REASON_COOLDOWN, {REASON_BUDGET, REASON_COOLDOWN}, false},
        };
        f->kind = (struct watched_kind){.group = "apps", .kind = "Deployment"};
        f->c.live.budget_cores_per_hour = 1;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct plan_container *c = f->container;
                put_counted(f, BUDGET_CORES, 0, row[i].spent);
                f->plan.apply = true;
                c->advice.gate[CPU] = (struct gate_verdict){.value = 600};
                c->facts.current[MEMORY] = (struct amount){true, 100};
                c->advice.gate[MEMORY] = (struct gate_verdict){.hold = row[i].memory, .value = 200};
                budget_gate(f->c.safety, &f->plan);
                if (c->advice.gate[CPU].hold != row[i].want[CPU] ||
                    c->advice.gate[MEMORY].hold != row[i].want[MEMORY] || f->plan.apply != row[i].applies)
                        fail_msg("%s: '%s', '%s'", row[i].what, reason_name(c->advice.gate[CPU].hold),
                                 reason_name(c->advice.gate[MEMORY].hold));
        }
}

/* Which of the four budgets it is, and when cores are old enough; the time rounds up to ten minutes. */
static void test_what_it_says(void **state)
{
        struct fixture *f = *state;
        static const struct {
                int cores, workloads;
                int64_t profile_cores;
                int profile_workloads;
                int64_t spent[2], profile_spent,
                        rolling; /* spent: by another profile 59 minutes ago, and by this now */
                const char *want;
        } row[] = {
                {3,
                 0,
                 0,
                 0,
                 {2000, 1000},
                 0,
                 0,
                 "the cluster's budget (setting budget-cores-per-hour: 3) is used up; it has room by "
                 "2027-01-15T09:00:00Z"},
                {3,
                 0,
                 0,
                 0,
                 {700, 2300},
                 0,
                 0,
                 "the cluster's budget (setting budget-cores-per-hour: 3) is used up; it has room by "
                 "2027-01-15T09:00:00Z"},
                {3, 0, 0, 0, {0, 0}, 0, 0, "the cluster's budget (setting budget-cores-per-hour: 3) is used up"},
                {1000,
                 0,
                 0,
                 0,
                 {0, 1000000},
                 0,
                 0,
                 "the cluster's budget (setting budget-cores-per-hour: 1000) is used up; it has room by "
                 "2027-01-15T09:00:00Z"},
                {0,
                 2,
                 0,
                 0,
                 {0, 0},
                 0,
                 2,
                 "the cluster's budget (setting budget-workloads: 2) is used up; it has room when a rollout ends or "
                 "stands still"},
                {0,
                 0,
                 2000,
                 0,
                 {2000, 2000},
                 2000,
                 0,
                 "the profile's budget (apply.budget.coresPerHour: 2) is used up; it has room by 2027-01-15T09:00:00Z"},
                {0,
                 0,
                 0,
                 1,
                 {0, 0},
                 0,
                 1,
                 "the profile's budget (apply.budget.workloads: 1) is used up; it has room when a rollout ends or "
                 "stands still"},
                {9, 9, 9000, 9, {2000, 2000}, 2000, 1, ""},
        };
        const int64_t now_ms = INT64_C(1800000000000); /* 2027-01-15T08:00:00Z */
        f->kind = (struct watched_kind){.group = "apps", .kind = "Deployment"};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct spending spent[] = {
                        {.at_ms = now_ms - 59 * MINUTE_MS,
                         .millicores = row[i].spent[0],
                         .profile = (char[]){"/other"},
                         .ns = (char[]){"shop"}},
                        {.at_ms = now_ms,
                         .millicores = row[i].spent[1],
                         .profile = (char[]){"/shared"},
                         .ns = (char[]){"shop"}},
                };
                struct safety *s = f->c.safety;
                s->spent = spent;
                s->spendings = 2;
                int64_t sum = row[i].spent[0] + row[i].spent[1];
                put_counted(f, BUDGET_CORES, row[i].profile_spent, sum ? sum : 3000);
                budget_account_add(&f->profile.budget, "shop", BUDGET_WORKLOADS, row[i].rolling);
                budget_account_add(&s->budget, "shop", BUDGET_WORKLOADS, row[i].rolling);
                f->c.live.budget_cores_per_hour = row[i].cores;
                f->c.live.budget_workloads = row[i].workloads;
                f->spec.budget_cores_per_hour = row[i].profile_cores;
                f->spec.budget_workloads = row[i].profile_workloads;
                f->plan.apply = true;
                f->plan.over_budget[0] = '\0';
                f->container->advice.gate[CPU] = (struct gate_verdict){.value = 600};
                budget_gate(s, &f->plan);
                s->spent = NULL;
                s->spendings = 0;
                if (strcmp(f->plan.over_budget, row[i].want) != 0)
                        fail_msg("row %zu: '%s'", i, f->plan.over_budget);
                assert_int_equal(f->container->advice.gate[CPU].hold, *row[i].want ? REASON_BUDGET : REASON_NONE);
        }
}

/* By which hour there is room: at half past eight, what was spent at 7:45 is old by nine, what is spent now by ten. */
static void test_when_it_has_room(void **state)
{
        struct fixture *f = *state;
        static const struct {
                const char *what;
                bool shared, profile; /* by another namespace as well; it is the profile's budget, not the cluster's */
                int64_t cost, old, new;
                const char *by[2], *ns[2]; /* the profile that spent the old and the new, and the namespace */
                const char *want;
                int64_t later_ms; /* so much later than 7:45 was the old */
        } row[] = {
                {"at nine", false, false, 800, 3000, 0, {"", ""}, {"shop", "shop"}, "09:00", 15 * MINUTE_MS},
                {"a millisecond later",
                 false,
                 false,
                 800,
                 3000,
                 0,
                 {"", ""},
                 {"shop", "shop"},
                 "10:00",
                 15 * MINUTE_MS + 1},
                {"the new leaves no room",
                 false,
                 false,
                 800,
                 700,
                 2300,
                 {"/shared", "/shared"},
                 {"shop", "shop"},
                 "10:00",
                 0},
                {"the new may stay", false, false, 800, 1000, 2200, {"/shared", "/other"}, {"shop", "pay"}, "09:00", 0},
                {"another profile's do not count in the profile's",
                 false,
                 true,
                 800,
                 2900,
                 2900,
                 {"/shared", "/other"},
                 {"shop", "shop"},
                 "09:00",
                 0},
                {"another namespace's do not count in the share",
                 true,
                 false,
                 800,
                 1400,
                 100,
                 {"/shared", "/shared"},
                 {"shop", "pay"},
                 "09:00",
                 0},
                {"a change above the share waits for the share",
                 true,
                 false,
                 1800,
                 100,
                 1500,
                 {"/shared", "/shared"},
                 {"shop", "pay"},
                 "09:00",
                 0},
                {"above the share, what was refunded does not count",
                 true,
                 false,
                 1800,
                 500,
                 0,
                 {"/shared", "/shared"},
                 {"shop", "shop"},
                 "09:00",
                 0},
                {"above the share, a millicore does",
                 true,
                 false,
                 1800,
                 500,
                 1,
                 {"/shared", "/shared"},
                 {"shop", "shop"},
                 "10:00",
                 0},
        };
        const int64_t now_ms = INT64_C(1800000000000) + 30 * (int64_t)MINUTE_MS; /* 2027-01-15T08:30:00Z */
        struct safety *s = f->c.safety;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct spending spent[2];
                put_counted(f, BUDGET_CORES, 0, 0);
                for (int n = 0; n < 2; n++) {
                        int64_t amount = n ? row[i].new : row[i].old;
                        spent[n] = (struct spending){.at_ms = n ? now_ms
                                                                : now_ms - 45 * (int64_t)MINUTE_MS + row[i].later_ms,
                                                     .millicores = amount,
                                                     .profile = mem_string(row[i].by[n]),
                                                     .ns = mem_string(row[i].ns[n])};
                        budget_account_add(&s->budget, row[i].ns[n], BUDGET_CORES, amount);
                        if (strcmp(row[i].by[n], "/shared") == 0)
                                budget_account_add(&f->profile.budget, row[i].ns[n], BUDGET_CORES, amount);
                }
                budget_account_see(&s->budget, "shop");
                budget_account_see(&s->budget, row[i].shared ? "pay" : "shop");
                s->spent = spent;
                s->spendings = 2;
                f->c.live.budget_cores_per_hour = row[i].profile ? 0 : 3;
                f->spec.budget_cores_per_hour = row[i].profile ? 3000 : 0;
                f->container->advice.gate[CPU] = (struct gate_verdict){.value = 1000 - row[i].cost / 2};
                f->plan.apply = true;
                f->plan.over_budget[0] = '\0';
                budget_gate(s, &f->plan);
                s->spent = NULL;
                s->spendings = 0;
                const char *by = strstr(f->plan.over_budget, "; it has room by 2027-01-15T");
                if (!by || strncmp(strchr(by, 'T') + 1, row[i].want, strlen(row[i].want)) != 0)
                        fail_msg("%s: '%s'", row[i].what, f->plan.over_budget);
                for (int n = 0; n < 2; n++) {
                        mem_free(spent[n].profile);
                        mem_free(spent[n].ns);
                }
        }
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                TEST(test_a_refused_change_costs_nothing),
                TEST(test_what_a_change_costs),
                TEST(test_cores_within_the_hour),
                TEST(test_without_a_profile),
                TEST(test_workloads_at_once),
                TEST(test_spending_counts_at_once),
                TEST(test_a_refund_finds_its_entry),
                TEST(test_an_hour_is_forgotten),
                TEST(test_it_is_stored),
                TEST(test_a_long_list_is_stored_with_the_pass),
                TEST(test_the_ledger_stays_short),
                TEST(test_sums_end),
                TEST(test_a_cron_job_rolls_nothing),
                TEST(test_spent_in_the_future),
                TEST(test_a_patch_under_way_counts),
                TEST(test_a_resize_counts_while_it_lasts),
                TEST(test_a_rollout_that_stands_still),
                TEST(test_what_keeps_a_place),
                TEST(test_who_shares),
                TEST(test_very_many_namespaces),
                TEST(test_half_for_the_others),
                TEST(test_the_namespace_is_stored),
                TEST(test_it_holds_decreases),
                TEST(test_what_it_says),
                TEST(test_when_it_has_room),
                TEST(test_what_is_left_asks_the_quota),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
