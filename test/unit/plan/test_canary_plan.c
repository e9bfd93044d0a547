/* Which of a workload's pods come first while something is tried on them, what the others keep, and what is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "cache/pod_canary.h"
#include "plan/plan.h"

enum { PODS = 5 };
static const int64_t now_ms = INT64_C(1800000000000);

/* Five pods, of which one container counts; of a hundred, their ranks are 38, 55, 24, 93 and 91. */
struct floor {
        struct cache w;
        struct profile_spec spec;
        struct profile profile;
        struct pod *pod[PODS];
        const char *app, *log;
        struct target t; /* the last: its key would follow */
};

struct standing {
        int cpu;     /* millicores */
        bool theirs; /* nothing of it is ours */
        bool waits;  /* it does not run yet */
};

static struct pod *open_pod(struct floor *f, int i, const struct standing *s)
{
        static const char *const names[PODS] = {"web-0", "web-1", "web-2", "web-3", "web-4"};
        struct pod *p = mem_new(sizeof *p + 2 * sizeof p->container[0]);
        *p = (struct pod){.ns = "shop",
                          .name = names[i],
                          .containers = 2,
                          .running = s->cpu && !s->waits,
                          .ours = !s->theirs,
                          .canary = true}; /* of before */
        int app = i % 2;                   /* the other is one of logs */
        p->container[!app] = (struct pod_container){.name = f->log};
        p->container[app] = (struct pod_container){.name = f->app};
        p->container[app].request[CPU] = amount_pack((struct amount){true, s->cpu});
        return p;
}

static void open_floor(struct floor *f, const char *set, const char *rest, const struct standing pod[static PODS])
{
        *f = (struct floor){.profile = {.spec = &f->spec},
                            .t = {.ns = "shop", .kind = "Deployment", .name = "web", .profile = &f->profile}};
        cache_init(&f->w, "halflife", "halflife-system");
        f->app = intern_text(f->w.names, text_of("app"));
        f->log = intern_text(f->w.names, text_of("log"));
        f->spec.apply = (struct apply_policy){.mode = APPLY_IN_PLACE, .canary.percent = 40, .guard.watch_ms = HOUR_MS};
        for (int i = PODS - 1; i >= 0; i--) {
                f->pod[i] = open_pod(f, i, &pod[i]);
                f->pod[i]->next_of_target = f->t.pods;
                f->t.pods = f->pod[i];
        }
        target_set_applied(&f->w, &f->t, mem_string(set), true);
        if (rest)
                pod_canary_begin(&f->w, &f->t, mem_string(rest));
}

static void close_floor(struct floor *f)
{
        target_set_applied(&f->w, &f->t, NULL, false);
        for (int i = 0; i < PODS; i++)
                mem_free(f->pod[i]);
        intern_drop(f->w.names, f->app);
        intern_drop(f->w.names, f->log);
        cache_release(&f->w);
}

/* --- who comes first: a row a sentence; 600m are tried --- */

#define TRIED "[{\"name\":\"app\",\"cpu\":\"600m\"}]"
static const struct {
        const char *what;
        int percent;
        struct standing pod[PODS];
        const char *rest;  /* NULL: nothing is tried */
        const char *first; /* their numbers */
} rows[] = {
        {"nobody has it: the lowest ranks",
         40,
         {{.cpu = 900}, {.cpu = 900}, {.cpu = 900}, {.cpu = 900}, {.cpu = 900}},
         "[]",
         "02"},
        {"three of five", 60, {{.cpu = 900}, {.cpu = 900}, {.cpu = 900}, {.cpu = 900}, {.cpu = 900}}, "[]", "012"},
        {"four of five", 80, {{.cpu = 900}, {.cpu = 900}, {.cpu = 900}, {.cpu = 900}, {.cpu = 900}}, "[]", "0124"},
        {"at least one", 1, {{.cpu = 900}, {.cpu = 900}, {.cpu = 900}, {.cpu = 900}, {.cpu = 900}}, "[]", "2"},
        {"who has it keeps it", 40, {{.cpu = 900}, {.cpu = 900}, {.cpu = 900}, {.cpu = 600}, {.cpu = 900}}, "[]", "23"},
        {"two have it", 40, {{.cpu = 900}, {.cpu = 600}, {.cpu = 900}, {.cpu = 600}, {.cpu = 900}}, "[]", "13"},
        {"from more than the share it is not taken",
         40,
         {{.cpu = 900}, {.cpu = 600}, {.cpu = 900}, {.cpu = 600}, {.cpu = 600}},
         "[]",
         "134"},
        {"its owner asks for the same",
         40,
         {{.cpu = 900}, {.cpu = 900}, {.cpu = 900}, {.cpu = 600, .theirs = true}, {.cpu = 900}},
         "[]",
         "02"},
        {"it is what stood before as well",
         40,
         {{.cpu = 600}, {.cpu = 600}, {.cpu = 600}, {.cpu = 600}, {.cpu = 900}},
         TRIED,
         "02"},
        {"it is not what stood before",
         40,
         {{.cpu = 900}, {.cpu = 900}, {.cpu = 900}, {.cpu = 600}, {.cpu = 900}},
         "[{\"name\":\"app\",\"cpu\":\"900m\"}]",
         "23"},
        {"who does not run yet is not asked",
         40,
         {{.cpu = 900}, {.cpu = 900}, {.cpu = 900, .waits = true}, {.cpu = 900}, {.cpu = 900}},
         "[]",
         "0"},
        {"of three one", 40, {{.cpu = 900}, {.cpu = 900}, {0}, {.cpu = 900}, {0}}, "[]", "0"},
        {"none runs", 40, {{0}, {0}, {0}, {0}, {0}}, "[]", ""},
        {"nothing is tried", 40, {{.cpu = 900}, {.cpu = 900}, {.cpu = 900}, {.cpu = 600}, {.cpu = 900}}, NULL, ""},
};

static void test_which_pods_come_first(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct floor f;
                char first[PODS + 1] = "";
                open_floor(&f, TRIED, rows[i].rest, rows[i].pod);
                f.spec.apply.canary.percent = rows[i].percent;
                canary_mark(&f.t);
                for (int p = 0; p < PODS; p++)
                        if (f.pod[p]->canary)
                                strcat(first, &f.pod[p]->name[4]);
                if (strcmp(first, rows[i].first) != 0)
                        fail_msg("%s: '%s', not '%s'", rows[i].what, first, rows[i].first);
                f.t.profile = NULL;
                canary_mark(&f.t);
                for (int p = 0; p < PODS; p++)
                        assert_false(f.pod[p]->canary);
                close_floor(&f);
        }
}

/* --- what a pod is to have --- */

static void test_what_a_pod_is_to_have(void **state)
{
        (void)state;
        static const struct {
                const char *what, *rest;
                bool first;
                int want; /* millicores */
        } row[] = {
                {"nothing is tried", NULL, false, 600},
                {"it comes first", "[{\"name\":\"app\",\"cpu\":\"800m\"}]", true, 600},
                {"it comes later: what stood before", "[{\"name\":\"app\",\"cpu\":\"800m\"}]", false, 800},
                {"the same, of another container", "[{\"name\":\"log\",\"cpu\":\"800m\"}]", false, 1000},
                {"the same, of memory alone", "[{\"name\":\"app\",\"memory\":\"1Gi\"}]", false, 1000},
        };
        static const struct standing pods[PODS] = {{.cpu = 900}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct floor f;
                open_floor(&f, TRIED, row[i].rest, pods);
                struct plan_container c = {.name = f.app};
                c.facts.current[CPU] = (struct amount){true, 600};
                c.facts.original[CPU] = (struct amount){true, 1000};
                f.pod[0]->canary = row[i].first;
                struct amount got = canary_share_of(&f.t, &c, f.pod[0], CPU);
                if (!got.set || got.value != row[i].want)
                        fail_msg("%s: %lld", row[i].what, (long long)got.value);
                close_floor(&f);
        }
}

/* --- what is said --- */

enum { NOT_YET = -1 };

static void test_what_is_said(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                bool waits, canary, tried, unselected;
                int64_t passed; /* minutes ago; 0: never, or NOT_YET */
                const char *reason, *message, *applied;
        } row[] = {
                {"nothing", false, false, false, false, 0, NULL, NULL, NULL},
                {"it waits", true, false, false, false, 0, "Waiting", "others of the profile are changed first", NULL},
                {"it waits for nobody any more", true, false, false, true, 0, NULL, NULL, NULL},
                {"never changed", false, true, false, false, 0, NULL, NULL, NULL},
                {"changed, and not in force", false, true, false, false, NOT_YET, "Watched", "not in force yet", NULL},
                {"in force for ten minutes", false, true, false, false, 10, "Watched",
                 "this workload is changed before others of the profile; the others follow from 2027-01-15T08:50:00Z "
                 "on",
                 NULL},
                {"in force since the beginning", false, true, false, false, now_ms / MINUTE_MS, NULL, NULL, NULL},
                {"for an hour", false, true, false, false, 60, NULL, NULL, NULL},
                {"another's", false, false, false, false, 10, NULL, NULL, NULL},
                {"pods are tried", false, false, true, false, NOT_YET, "Watched", "not in force yet",
                 "not in force yet"},
                {"they were just set", false, false, true, false, 0, "Watched", "not in force yet", "not in force yet"},
                {"for ten minutes", false, false, true, false, 10, "Watched",
                 "some pods get the new requests before the others and new pods; the others follow from "
                 "2027-01-15T08:50:00Z on",
                 "the others follow from 2027-01-15T08:50:00Z on"},
        };
        static const struct standing pods[PODS] = {{.cpu = 900}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct floor f;
                open_floor(&f, TRIED, row[i].tried ? "[]" : NULL, pods);
                f.t.profile = row[i].unselected ? NULL : &f.profile;
                f.t.waits = row[i].waits;
                f.t.canary = row[i].canary;
                f.t.apply_state.passed_ms = row[i].passed > 0 ? now_ms - row[i].passed * MINUTE_MS : row[i].passed;
                struct plan plan = {.target = &f.t, .now = {now_ms}};
                canary_says(&plan);
                const struct plan_condition *said = plan_condition(&plan, "Canary");
                if (!said != !row[i].reason || (said && (!said->status || strcmp(said->reason, row[i].reason) != 0 ||
                                                         !strstr(said->message, row[i].message))))
                        fail_msg("%s: %s, %s", row[i].what, said ? said->reason : "", said ? said->message : "");
                if (f.t.profile)
                        assert_int_equal(canary_applies(&plan), row[i].applied != NULL);
                said = plan_condition(&plan, "Applied");
                if (!said != !row[i].applied || (said && (said->status || !strstr(said->message, row[i].applied))))
                        fail_msg("%s: applied, %s", row[i].what, said ? said->message : "");
                close_floor(&f);
        }
}

static void test_who_tries_on_some_workloads(void **state)
{
        (void)state;
        static const struct {
                enum apply_mode mode;
                int percent;
                bool want;
        } row[] = {{APPLY_ROLLOUT, 99, true},     {APPLY_ROLLOUT, 100, false}, {APPLY_ON_DEPLOY, 1, true},
                   {APPLY_ON_DEPLOY, 100, false}, {APPLY_IN_PLACE, 50, false}, {APPLY_RECOMMEND, 50, false}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct profile_spec spec = {.apply = {.mode = row[i].mode, .canary.percent = row[i].percent}};
                if (canary_among(&(struct profile){.spec = &spec}) != row[i].want)
                        fail_msg("mode %d, %d %%", (int)row[i].mode, row[i].percent);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_which_pods_come_first),
                cmocka_unit_test(test_what_a_pod_is_to_have),
                cmocka_unit_test(test_what_is_said),
                cmocka_unit_test(test_who_tries_on_some_workloads),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
