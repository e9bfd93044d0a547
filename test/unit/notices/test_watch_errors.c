/* Watches that fail, by their cause: how many are one line in the log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/tmp.h"

enum { FEW = 3 };
static struct watch_health watch[FEW];

static void begin(struct rig *c)
{
        static const char kubeconfig[] = "{current-context: x, contexts: [{name: x, context: {cluster: x, user: x}}], "
                                         "users: [{name: x, user: {}}], clusters: [{name: x, cluster: {server: "
                                         "'http://127.0.0.1:1'}}]}";
        AUTO(mem_free) char *path = tmp_path("kubeconfig");
        struct access_options where = {.kubeconfig = path};
        struct err err = {0};
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_true(fputs(kubeconfig, f) >= 0);
        assert_int_equal(fclose(f), 0);
        rig_begin(c);
        if (access_load(&where, &c->notices->access, &err) < 0)
                fail_msg("%s", err.text);
        for (int i = 0; i < FEW; i++) {
                watch[i] = (struct watch_health){.what = "pods"};
                notice_watch(c->notices, &watch[i]);
        }
}

static void end(struct rig *c)
{
        access_free(c->notices->access);
        rig_end(c);
}

static void fail_by(struct rig *c, int number, const char *cause)
{
        struct err err;
        err_set(&err, ERR_RETRY, "watch '/api/v1/pods': GET /api/v1/pods: %s", cause);
        notice_watch_fails(c->notices, &watch[number], &err);
}

static void gather(struct rig *c)
{
        void (*fire)(void *arg) = c->notices->outage_timer.fire;
        loop_timer_stop(c->loop, &c->notices->outage_timer);
        fire(c->notices);
}

/* It fails by another cause for a while, and then by the first again: that is one watch, not two. */
static void test_back_to_the_first_cause(void **state)
{
        (void)state;
        struct rig c;
        begin(&c);
        fail_by(&c, 0, "no answer");
        fail_by(&c, 1, "no answer");
        gather(&c);
        fail_by(&c, 2, "no answer");
        assert_int_equal(c.notices->outages, 1);
        assert_int_equal(watch[0].outage_size, FEW);
        fail_by(&c, 1, "a bad answer");
        gather(&c);
        assert_int_equal(c.notices->outages, 2);
        assert_int_equal(watch[1].outage_size, 1);
        assert_int_equal(watch[0].outage_size, FEW - 1);
        fail_by(&c, 1, "no answer");
        assert_int_equal(watch[1].outage, watch[0].outage);
        assert_int_equal(watch[0].outage_size, FEW);
        assert_int_equal(watch[1].outage_size, FEW);
        assert_true(notice_outage_told(c.notices, &(struct err){.code = ERR_RETRY, .text = "no answer"}));
        end(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_back_to_the_first_cause)};
        return cmocka_run_group_tests_name("outage", tests, NULL, NULL);
}
