/* Messages of conditions. OutOfMemory: which kill it is about, and how long a limit is said to be too low.
 * OtherAutoscaler: what is left to a VPA. */
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

#define LONG_NAME "a23456789b23456789c23456789d23456789e23456789f23456789g23456789"

/* Condition OtherAutoscaler names what is left, as far as there is room. */
static void test_what_is_left_to_a_vpa_is_named(void **state)
{
        (void)state;
        static const struct {
                const char *name[3];
                bool left[3][RESOURCES];
                enum container_role role; /* of the last */
                bool partly;
                const char *says; /* NULL: there is no such condition */
        } row[] = {
                {{"app", "side"},
                 {{true, true}, {true, true}},
                 ROLE_MAIN,
                 false,
                 "sets these requests: halflife leaves them alone until its updateMode is Off or it is deleted"},
                {{"app", "side"},
                 {{false, true}, {false, true}},
                 ROLE_MAIN,
                 true,
                 "'sizer', updateMode Auto sets memory of 'app', memory of 'side': halflife leaves them alone, and "
                 "sets the others"},
                {{"app", "side"}, {{false, false}, {true, false}}, ROLE_SIDECAR, true, " sets cpu of 'side': "},
                {{"app", "side"}, {{true, true}, {true, false}}, ROLE_INIT, true, " sets cpu and memory of 'app': "},
                {{"app", "side"}, {{false, false}, {true, false}}, ROLE_INIT, true, NULL},
                {{"app"}, {{false, false}}, ROLE_MAIN, true, NULL},
                {{LONG_NAME, "side", LONG_NAME},
                 {{true, true}, {true, true}, {true, true}},
                 ROLE_MAIN,
                 true,
                 " sets cpu and memory of '" LONG_NAME "', cpu and memory of 'side' and of others: "},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct vpa_policy part = {.rows = 0};
                struct other_autoscaler vpa = {.name = "sizer", .mode = "Auto", .policy = row[i].partly ? &part : NULL};
                struct workload wl = {.other_autoscaler = &vpa};
                struct target t = {.workload = &wl};
                struct plan_container c[3] = {{0}};
                struct plan p = {.target = &t, .container = c};
                char words[PLAN_WORDS] = "";
                for (; p.containers < 3 && row[i].name[p.containers]; p.containers++) {
                        c[p.containers].name = row[i].name[p.containers];
                        memcpy(c[p.containers].facts.other_autoscaler, row[i].left[p.containers],
                               sizeof c->facts.other_autoscaler);
                }
                c[p.containers - 1].role = row[i].role;
                bool said = words_of_other_autoscaler(&p, words);
                if (said != (row[i].says != NULL) || (said && !strstr(words, row[i].says)))
                        fail_msg("row %zu: %s", i, words);
                wl.other_autoscaler = NULL;
                assert_false(words_of_other_autoscaler(&p, words) && row[i].says);
        }
}

/* Condition Applied says what opts a workload out, and of a cut list which one was too long. */
static void test_what_opts_out_is_named(void **state)
{
        (void)state;
        static const struct {
                enum never workload;
                bool exempt, never, ns_cut, setting;
                const char *says; /* NULL: nothing opts it out */
        } row[] = {
                {NEVER_UNSET, false, false, false, false, NULL},
                {NEVER_BY_ANNOTATION, false, false, false, false, "the workload's annotation halflife.dev/apply"},
                {NEVER_BY_LABELS, false, false, false, false,
                 "it has more than 256 labels, the most that halflife reads"},
                {NEVER_BY_CONTAINERS, false, false, false, false,
                 "it has more than 64 containers, the most that halflife reads"},
                {NEVER_BY_OWNERS, false, false, false, false,
                 "its managedFields name more than 256 owners of requests, the most that halflife reads"},
                {NEVER_UNSET, false, true, true, false, "its namespace has more than 256 labels"},
                {NEVER_UNSET, false, true, false, false, "its namespace's annotation halflife.dev/apply"},
                {NEVER_BY_LABELS, false, true, true, true, "the controller's own setting apply: never"},
                {NEVER_BY_LABELS, true, true, true, true, "the controller's own setting exempt-namespaces"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const struct workload wl = {.apply_never = row[i].workload};
                const struct ns ns = {
                        .exempt = row[i].exempt, .apply_never = row[i].never, .labels_cut = row[i].ns_cut};
                const char *word = opted_out_word(&wl, &ns, row[i].setting);
                if (!word != !row[i].says || (word && strncmp(word, row[i].says, strlen(row[i].says)) != 0))
                        fail_msg("row %zu: %s", i, word ? word : "nothing");
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_limit_is_too_low_until_it_is_raised),
                cmocka_unit_test(test_an_ignored_container_has_none),
                cmocka_unit_test(test_what_is_left_to_a_vpa_is_named),
                cmocka_unit_test(test_what_opts_out_is_named),
        };
        return cmocka_run_group_tests_name("hold_messages", tests, NULL, NULL);
}
