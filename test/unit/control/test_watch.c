/* Kinds of others: what comes of it when their CRD goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../../../src/control/controller_private.h"

/* A guest that was found, and another of which nothing is known and that is asked about. */
static void begin(struct controller *c)
{
        *c = (struct controller){.loop = loop_new(), .watches = 1};
        world_init(&c->world, "halflife", "halflife-system");
        c->watch[0] = (struct watch){.controller = c, .what = "verticalpodautoscalers", .guest = true};
        c->guest[0] = (struct guest){.watch = &c->watch[0], .known = true};
        c->guest[1].asking = c;
}

static bool looks_again(struct controller *c)
{
        c->nudged = false;
        watch_guests(c);
        return c->nudged;
}

static void fails_by(struct controller *c, int code)
{
        snprintf(c->watch[0].trouble, sizeof c->watch[0].trouble, "%s", code ? "it fails" : "");
        c->watch[0].trouble_code = code;
}

/* All is decided afresh once, not every second until it is installed again. */
static void test_removed_once(void **state)
{
        static const struct {
                const char *what;
                int code;
                bool looks;
        } step[] = {
                {"it is there", 0, false},       {"it cannot be read", ERR_RETRY, false},
                {"it went", ERR_NOTFOUND, true}, {"it is still away", ERR_NOTFOUND, false},
                {"it came back", 0, false},      {"it went again", ERR_NOTFOUND, true},
        };
        struct controller c;
        (void)state;
        begin(&c);
        for (size_t i = 0; i < sizeof step / sizeof step[0]; i++) {
                fails_by(&c, step[i].code);
                if (looks_again(&c) != step[i].looks)
                        fail_msg("%s: %s", step[i].what, step[i].looks ? "nothing is decided" : "decided afresh");
        }
        loop_timer_stop(c.loop, &c.nudge_timer);
        world_release(&c.world);
        loop_free(c.loop);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_removed_once)};
        return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
