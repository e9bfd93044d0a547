/* A history that goes on under another name: what it cannot be joined with stays where it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/shop.h"
#include "core/histogram_inner.h"

static struct target *target_of(struct rig *c, const char *name)
{
        return target_get(&c->cache, TEXT("web"), TEXT("apps"), TEXT("Deployment"), text_of(name));
}

static struct history *learned(struct rig *c, const char *name, int64_t half_life_ms, double weight)
{
        const struct resource_policy policy[RESOURCES] = {{.half_life_ms = half_life_ms},
                                                          {.half_life_ms = half_life_ms}};
        const char *container = intern_text(c->cache.names, TEXT("app"));
        struct history *h = history_get(target_of(c, name), container, policy);
        struct usage_room room = {.resource = CPU, .cap = 4};
        int unused;
        ingest_lend(&h->usage, &room);
        assert_int_equal(histogram_add(&h->usage.of[CPU], 0.1, weight, (struct wall){0}, &unused), 0);
        h->usage.samples = 1;
        intern_drop(c->cache.names, container);
        return h;
}

static void test_joined(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                int64_t half_life_ms;
                double weight;
                const char *answer;
        } row[] = {
                {"alike", DAY_MS, 1, "deployment-old: 1 container"},
                {"another half-life", HOUR_MS, 1, "refused: container 'app': half-lives differ"},
                {"too heavy", DAY_MS, HISTOGRAM_HEAVIEST,
                 "refused: container 'app': the histories together exceed the weight that one history can hold"},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct rig c;
                rig_begin(&c);
                rig_follow(&c);
                shop_profile(&c.cache, 1, "{}");
                shop_deployment(&c.cache, "{}");
                cache_relink(&c.cache, loop_now(c.loop));
                struct target *old = target_of(&c, "old");
                old->version = "v1";
                learned(&c, "web", DAY_MS, HISTOGRAM_HEAVIEST / 4);
                learned(&c, "old", row[i].half_life_ms, row[i].weight);
                AUTO(mem_free) char *answer = adopt_judge(c.learner, target_of(&c, "web"), "deployment-old");
                bool kept = old->histories && old->histories->usage.samples == 1;
                const struct target *web = target_of(&c, "web");
                assert_int_equal(web->histories->usage.samples, kept ? 1 : 2);
                assert_int_equal(web->apply_state_dirty, !kept);
                assert_int_equal(old->gone_ms == 1, !kept); /* as if its retention were over */
                if (strcmp(answer, row[i].answer) != 0 || kept != (i > 0))
                        fail_msg("%s: %s, the old one is %s", row[i].what, answer, kept ? "kept" : "gone");
                rig_end(&c);
        }
}

/* Whatever is in the way, both keep what they learned, and the old one stays. */
static void test_refused(void **state)
{
        (void)state;
        enum way { UNKNOWN, ELSEWHERE, EMPTY, ITSELF, NO_PROFILE, A_POD, OF_A_POD, RUNS, HAS_PODS, BUSY };
        static const char none[] = "refused: there is no history of 'deployment-old': nothing was learned under that "
                                   "name",
                          stands[] = "refused: 'deployment-old' still has its workload, which keeps its histories",
                          other[] = "refused: only workloads can adopt, and only histories of workloads";
        static const char *const answer[] = {
                [UNKNOWN] = none,
                [ELSEWHERE] = none,
                [EMPTY] = none,
                [ITSELF] = "refused: a workload cannot adopt itself",
                [NO_PROFILE] = "refused: no profile selects the workload",
                [A_POD] = other,
                [OF_A_POD] = other,
                [RUNS] = stands,
                [HAS_PODS] = stands,
                [BUSY] = stands,
        };
        for (enum way i = UNKNOWN; i <= BUSY; i++) {
                struct rig c;
                struct pod pod = {.name = "old-1"};
                rig_begin(&c);
                rig_follow(&c);
                shop_profile(&c.cache, 1, "{}");
                shop_deployment(&c.cache, "{}");
                cache_relink(&c.cache, loop_now(c.loop));
                struct target *t = target_of(&c, "web"), *old = NULL;
                learned(&c, "web", DAY_MS, 1);
                if (i == ELSEWHERE)
                        old = target_get(&c.cache, TEXT("mall"), TEXT("apps"), TEXT("Deployment"), TEXT("old"));
                else if (i == EMPTY)
                        old = target_of(&c, "old");
                else if (i > ITSELF)
                        old = learned(&c, "old", DAY_MS, 1) ? target_of(&c, "old") : NULL;
                struct workload *runs = t->workload;
                if (i == NO_PROFILE)
                        t->profile = NULL;
                if (i == A_POD)
                        t->dimension = DIMENSION_POD;
                if (i == OF_A_POD)
                        old->dimension = DIMENSION_POD;
                if (i == RUNS)
                        old->workload = runs;
                if (i == HAS_PODS)
                        old->pods = &pod;
                if (i == BUSY)
                        old->busy = true;
                AUTO(mem_free)
                char *said = adopt_judge(c.learner, t, i == ITSELF ? "deployment-web" : "deployment-old");
                if (strcmp(said, answer[i]) != 0 || t->histories->usage.samples != 1)
                        fail_msg("%d: %s", (int)i, said);
                assert_true(!old || old->gone_ms != 1);
                assert_true(i <= ITSELF || old->histories->usage.samples == 1);
                t->dimension = DIMENSION_WORKLOAD;
                if (old) {
                        old->dimension = DIMENSION_WORKLOAD;
                        old->workload = NULL;
                        old->pods = NULL;
                }
                rig_end(&c);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_joined),
                cmocka_unit_test(test_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
