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
        f->all.own.present = true;
        f->all.watches = 1;
        for (int i = 0; i < FOREIGN_KINDS; i++)
                f->all.foreign[i] = (struct foreign_kind){
                        .all = &f->all, .row = &watch_rows_foreign[i], .known = true, .lookup.asking = true};
        f->all.watch[0] = (struct watch){.all = &f->all,
                                         .row = &watch_rows_foreign[0],
                                         .health.what = "verticalpodautoscalers",
                                         .lookup = &f->all.foreign[0].lookup};
        f->all.foreign[0].watch = &f->all.watch[0];
        kind_lookup_began(&f->all.foreign[0].lookup);
}

static void fails_by(struct informers *all, int code)
{
        err_set(&all->watch[0].health.trouble, code, "%s", code ? "it fails" : "");
        kind_lookup_heard(all->watch[0].lookup, code);
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
                if (step[i].removed)
                        f.all.foreign[0].lookup.state = LOOKUP_REMOVED;
                informers_discover(&f.all);
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
