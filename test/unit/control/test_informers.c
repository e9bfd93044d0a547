/* Kinds of others: what comes of it when their CRD goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "control/informers_private.h"

struct fixture {
        struct loop *loop;
        struct parts parts;
        struct informers all;
};

/* Two kinds of others that are known, of which discovery is asked; one was found. */
static void begin(struct fixture *f)
{
        *f = (struct fixture){.loop = loop_new()};
        f->parts.loop = f->loop;
        f->all.parts = &f->parts;
        f->all.watches = 1;
        f->all.watch[0] = (struct watch){
                .all = &f->all, .health.what = "verticalpodautoscalers", .foreign = true, .needed_to_apply = true};
        f->all.foreign[0] = (struct foreign_kind){.watch = &f->all.watch[0], .known = true, .asking = f};
        f->all.foreign[1] = (struct foreign_kind){.known = true, .asking = f};
}

static void fails_by(struct informers *all, int code)
{
        snprintf(all->watch[0].health.trouble, sizeof all->watch[0].health.trouble, "%s", code ? "it fails" : "");
        all->watch[0].health.trouble_code = code;
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
        struct fixture f;
        (void)state;
        begin(&f);
        for (size_t i = 0; i < sizeof step / sizeof step[0]; i++) {
                fails_by(&f.all, step[i].code);
                f.all.foreign[0].removed |= step[i].removed;
                informers_foreign(&f.all);
                if ((informers_blind(&f.all) != NULL) != step[i].blind)
                        fail_msg("%s: it is %s", step[i].what, step[i].blind ? "taken for known" : "not known");
        }
        loop_free(f.loop);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_removed_by_discovery)};
        return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
