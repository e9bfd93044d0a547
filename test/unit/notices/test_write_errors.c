/* Refused writes by cause: each cause is reported once, counted, and forgotten when it is over. Their number is
 * bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"

static struct rig *begin(void)
{
        struct rig *c = MEM_NEW(struct rig);
        rig_begin(c);
        return c;
}

static void end(struct rig *c)
{
        rig_end(c);
        mem_free(c);
}

/* A write of a workload of this number is refused for a cause of that one. */
static void refuse(struct rig *c, int code, int workload, int cause)
{
        char name[32];
        struct err err;
        snprintf(name, sizeof name, "web-%d", workload);
        err_set(&err, code, "PATCH /apis/apps/v1/namespaces/shop/deployments/%s: HTTP 403: \"%s\": cause %c", name,
                name, 'A' + cause);
        notice_refusal(c->notices, &(struct refused){"Deployment", "shop", name, NULL}, &err);
}

static int causes(const struct rig *c)
{
        int count = 0;
        for (int i = 0; i < REFUSALS_MAX; i++)
                count += c->notices->refusal[i].count > 0;
        return count;
}

static void minutes_pass(struct rig *c, int minutes)
{
        for (int i = 0; i < REFUSALS_MAX; i++) {
                c->notices->refusal[i].first.ns -= minutes * INT64_C(60000000000);
                c->notices->refusal[i].last.ns -= minutes * INT64_C(60000000000);
                c->notices->refusal[i].told.ns -= minutes * INT64_C(60000000000);
        }
}

static void one_cause_is_one_entry(void **state)
{
        (void)state;
        struct rig *c = begin();
        for (int i = 0; i < 100; i++)
                refuse(c, ERR_DENIED, i, 0);
        assert_int_equal(causes(c), 1);
        assert_int_equal(c->notices->refusal[0].count, 100);
        assert_true(c->notices->refusal[0].said);
        refuse(c, ERR_DENIED, 1, 1);
        assert_int_equal(causes(c), 2);
        minutes_pass(c, 10);
        refuse(c, ERR_DENIED, 1, 1);
        refusal_tick(c->notices);
        assert_int_equal(causes(c), 2);
        minutes_pass(c, 1);
        refusal_tick(c->notices);
        assert_int_equal(causes(c), 1); /* the first is over: nobody was refused for it in 11 minutes */
        end(c);
}

static void what_passes_is_not_said(void **state)
{
        (void)state;
        struct rig *c = begin();
        refuse(c, ERR_RETRY, 1, 0);
        assert_false(c->notices->refusal[0].said);
        refuse(c, ERR_RETRY, 2, 0);
        assert_false(c->notices->refusal[0].said);
        minutes_pass(c, 1);
        refuse(c, ERR_RETRY, 1, 0);
        assert_true(c->notices->refusal[0].said);
        refuse(c, ERR_STALE, 1, 1);
        refuse(c, ERR_NOTFOUND, 1, 1);
        leadership_stop(c->leadership);
        refuse(c, ERR_DENIED, 1, 1);
        assert_int_equal(causes(c), 1);
        end(c);
}

static void there_is_room_for_so_many(void **state)
{
        (void)state;
        struct rig *c = begin();
        for (int i = 0; i < 2 * REFUSALS_MAX; i++)
                refuse(c, ERR_DENIED, 1, i);
        assert_int_equal(causes(c), REFUSALS_MAX);
        end(c);
}

int main(void)
{
        log_setup(LOG_ERROR, false);
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_cause_is_one_entry),
                cmocka_unit_test(what_passes_is_not_said),
                cmocka_unit_test(there_is_room_for_so_many),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
