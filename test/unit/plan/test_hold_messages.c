/* Condition OutOfMemory: which kill it is about, and how long a limit is said to be too low. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "cache/limit_harms.h"
#include "cache/oom_kill.h"
#include "plan/plan.h"

enum { MI = 1 << 20, CONTAINERS = 2 };
static const int64_t now_ms = 1763700000000;

/* Both containers were killed, app an hour ago and side two hours ago, and the kill sample is 200Mi. With the margin
 * of targets, that is 230Mi. */
struct row {
        int64_t killed_by[CONTAINERS]; /* the limit that killed, in Mi; 0: none did */
        int64_t limit[CONTAINERS];     /* the present one, in Mi; 0: none */
        const char *reason, *says;
};

static const struct row rows[] = {
        {{100, 0}, {100, 0}, "LimitTooLow", "'app' was killed at its memory limit at"},
        {{100, 0}, {100, 0}, "LimitTooLow", "raise it by hand, to 230Mi or more"},
        {{100, 0}, {150, 0}, "LimitTooLow", "to 230Mi or more"}, /* raised, but not by enough */
        {{100, 0}, {230, 0}, "KillMakesModel", "'app' was killed or evicted"},
        {{100, 0}, {0, 0}, "KillMakesModel", "'app' was killed or evicted"}, /* without a limit none is too low */
        {{100, 100}, {100, 100}, "LimitTooLow", "'app' was killed at"},
        {{100, 100}, {300, 100}, "LimitTooLow", "'side' was killed at"}, /* the other's is not raised */
        {{100, 100}, {300, 300}, "KillMakesModel", "'app' was killed or evicted"},
        {{0, 0}, {100, 100}, "KillMakesModel", "'app' was killed or evicted"},
};

static const char *const names[CONTAINERS] = {"app", "side"};

static void kill_condition_of(const struct row *r, struct plan *p, char *out, const char **ret_reason)
{
        static struct resource_policy policy[RESOURCES];
        static struct history histories[CONTAINERS];
        static struct plan_container container[CONTAINERS];
        struct limit_harms *harms = mem_new(sizeof *harms + CONTAINERS * sizeof harms->row[0]);
        struct target t = {.histories = &histories[0], .limit_harms = harms};
        for (enum resource k = CPU; k < RESOURCES; k++)
                resource_policy_defaults(k, &policy[k]);
        for (int i = 0; i < CONTAINERS; i++) {
                int64_t at_ms = now_ms - (i + 1) * HOUR_MS;
                histories[i] = (struct history){.container = names[i], .next = i ? NULL : &histories[1]};
                histories[i].usage.kill[0] = (struct usage_kill){.at_ms = at_ms, .bytes = 200.0 * MI};
                container[i] = (struct plan_container){.name = names[i], .facts.policy = policy};
                container[i].facts.learned.of[MEMORY].by_kill = true;
                container[i].facts.limit[MEMORY] = (struct amount){r->limit[i] > 0, r->limit[i] * MI};
                if (r->killed_by[i])
                        harms->row[harms->rows++] =
                                (struct limit_harm){names[i], {at_ms, r->killed_by[i] * MI}, 0, 0, 0, 0};
        }
        *p = (struct plan){.target = &t, .now = {now_ms}, .container = container, .containers = CONTAINERS};
        *ret_reason = words_of_kill(p, out);
        mem_free(harms);
}

static void test_a_limit_is_too_low_until_it_is_raised(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct plan p;
                char words[PLAN_WORDS] = "";
                const char *reason;
                kill_condition_of(&rows[i], &p, words, &reason);
                if (!reason || strcmp(reason, rows[i].reason) != 0 || !strstr(words, rows[i].says))
                        fail_msg("row %zu: %s: %s", i, reason ? reason : "no reason", words);
        }
}

/* A container that the profile ignores gets no advice, and so no such reason either. */
static void test_an_ignored_container_has_none(void **state)
{
        static struct resource_policy policy[RESOURCES];
        (void)state;
        struct limit_harms *harms = mem_new(sizeof *harms + sizeof harms->row[0]);
        struct history h = {.container = "app", .usage.kill[0] = {.at_ms = now_ms, .bytes = 200.0 * MI}};
        struct target t = {.histories = &h, .limit_harms = harms};
        struct plan_container c = {.name = "app", .facts.policy = policy, .facts.limit[MEMORY] = {true, 100 * MI}};
        struct plan p = {.target = &t, .now = {now_ms}, .container = &c, .containers = 1};
        struct limit_kill kill;
        int64_t advised;
        for (enum resource k = CPU; k < RESOURCES; k++)
                resource_policy_defaults(k, &policy[k]);
        h.container = c.name = names[0];
        harms->row[harms->rows++] = (struct limit_harm){names[0], {now_ms, 100 * MI}, 0, 0, 0, 0};
        assert_non_null(plan_limit_too_low(&p, &kill, &advised));
        c.facts.ignored = true;
        assert_null(plan_limit_too_low(&p, &kill, &advised));
        c.facts.ignored = false;
        c.role = ROLE_INIT;
        assert_null(plan_limit_too_low(&p, &kill, &advised));
        mem_free(harms);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_limit_is_too_low_until_it_is_raised),
                cmocka_unit_test(test_an_ignored_container_has_none),
        };
        return cmocka_run_group_tests_name("hold_messages", tests, NULL, NULL);
}
