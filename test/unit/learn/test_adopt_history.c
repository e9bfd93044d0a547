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
                if (strcmp(answer, row[i].answer) != 0 || kept != (i > 0))
                        fail_msg("%s: %s, the old one is %s", row[i].what, answer, kept ? "kept" : "gone");
                rig_end(&c);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_joined),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
