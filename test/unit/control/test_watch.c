/* Kinds of others: what comes of it when their CRD goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"

/* Two guests that are known, of which discovery is asked; one was found. */
static void begin(struct rig *c)
{
        rig_begin(c);
        c->watches = 1;
        c->watch[0] = (struct watch){
                .controller = c, .health.what = "verticalpodautoscalers", .guest = true, .needed_to_apply = true};
        c->guest[0] = (struct guest){.watch = &c->watch[0], .known = true, .asking = c};
        c->guest[1] = (struct guest){.known = true, .asking = c};
}

static void fails_by(struct rig *c, int code)
{
        snprintf(c->watch[0].health.trouble, sizeof c->watch[0].health.trouble, "%s", code ? "it fails" : "");
        c->watch[0].health.trouble_code = code;
}

/* A path that is not there any more may be of another version: until discovery has said so nothing is known. */
static void test_removed_by_discovery(void **state)
{
        static const struct {
                const char *what;
                int code;
                bool removed; /* discovery says so now */
                bool blind;
        } step[] = {
                {"it is there", 0, false, false},
                {"it cannot be read", ERR_RETRY, false, true},
                {"its path went", ERR_NOTFOUND, false, true},
                {"so did its kind", ERR_NOTFOUND, true, false},
                {"it is still away", ERR_NOTFOUND, false, false},
                {"it came back", 0, false, false},
                {"its path went again", ERR_NOTFOUND, false, true},
        };
        struct rig c;
        (void)state;
        begin(&c);
        for (size_t i = 0; i < sizeof step / sizeof step[0]; i++) {
                fails_by(&c, step[i].code);
                c.guest[0].removed |= step[i].removed;
                watch_guests(&c);
                if ((watch_blind(&c) != NULL) != step[i].blind)
                        fail_msg("%s: it is %s", step[i].what, step[i].blind ? "taken for known" : "not known");
        }
        rig_end(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_removed_by_discovery)};
        return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
