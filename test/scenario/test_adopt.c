/*
 * halflife adopt: what was learned goes on under another name, in the database as well, whenever the controller ends;
 * and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/history.h"
#include "../support/tmp.h"
#include "base/mem.h"
#include "base/yaml.h"

#define DATABASE     "adopt.db"
#define REC(name)    "/apis/halflife.dev/v1alpha1/namespaces/shop/recommendations/deployment-" name
#define DEPLOY(name) "/apis/apps/v1/namespaces/shop/deployments/" name

static struct stage {
        struct fake *fake;
        struct halflife *halflife;
        char *kubeconfig, *database;
} stage;

static void start(void)
{
        stage.halflife = halflife_start(stage.fake, DATABASE, (const char *const[]){NULL});
}

static int set_up(void **state)
{
        (void)state;
        stage.fake = fake_new(&(struct fake_options){.seed = 5});
        if (!stage.fake || !fake_load(stage.fake, "crds"))
                return -1;
        stage.kubeconfig = tmp_path("adopt-kubeconfig");
        stage.database = tmp_path(DATABASE);
        fake_set_metrics(stage.fake, &(struct fake_metrics){.step_ms = 1000});
        history_profile(stage.fake, "day", "24h");
        history_profile(stage.fake, "week", "168h");
        setenv("HALFLIFE_KUBECONFIG", stage.kubeconfig, 1);
        if (!fake_write_kubeconfig(stage.fake, stage.kubeconfig))
                return -1;
        history_deployment(stage.fake, "old", "day");
        history_deployment(stage.fake, "alive", "day");
        start();
        history_await(stage.fake, stage.halflife, REC("old"), true);
        return halflife_await_cycles(stage.halflife, stage.fake, 6, 30000) ? 0 : -1;
}

static int tear_down(void **state)
{
        (void)state;
        halflife_free(stage.halflife);
        fake_free(stage.fake);
        mem_free(stage.kubeconfig);
        mem_free(stage.database);
        return 0;
}

static void rename_to(const char *name, const char *by, const char *rec)
{
        fake_delete(stage.fake, DEPLOY("old"));
        history_deployment(stage.fake, name, by);
        history_await(stage.fake, stage.halflife, rec, true);
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, 30000));
}

static void expect(int code, const char *old, const char *new, const char *part)
{
        AUTO(mem_free) char *said = HALFLIFE_RUN(code, "adopt", old, new, "-n", "shop", "--timeout", "20s");
        if (!strstr(said, part))
                fail_msg("adopt %s %s does not say '%s':\n%s", old, new, part, said);
}

static void test_refused(void **state)
{
        (void)state;
        rename_to("other", "week", REC("other"));
        expect(1, "deploy/nobody", "deploy/alive", "refused: there is no history of 'deployment-nobody'");
        expect(1, "deploy/alive", "deploy/other", "refused: 'deployment-alive' still has its workload");
        expect(1, "deploy/old", "deploy/other", "half-lives differ");
        expect(1, "deploy/old", "deploy/nobody", "there is no Deployment 'nobody' in namespace 'shop'");
        history_deployment_without_pods(stage.fake, "nobodys", "none");
        expect(1, "deploy/old", "deploy/nobodys", "profile"); /* told by the answer, or by its lack */
        expect(2, "deploy/old", "deploy/old", "is both the old");
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 2, 30000));
        assert_true(history_stored(stage.database, "old") > 0); /* whatever was refused, it is as it was */
}

static void test_adopted(void **state)
{
        (void)state;
        rename_to("new", "day", REC("new"));
        long long before = history_stored(stage.database, "old");
        assert_true(before > 3);
        expect(0, "deploy/old", "deploy/new", "deployment-new adopted deployment-old: 1 container");
        halflife_kill(stage.halflife); /* at once: the transaction is whole, or none */
        halflife_free(stage.halflife);
        long long after = history_stored(stage.database, "new");
        if (after < before || history_stored(stage.database, "old") != 0)
                fail_msg("new has %lld samples of %lld, old %lld", after, before,
                         history_stored(stage.database, "old"));
        start();
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, 30000));
        assert_true(history_stored(stage.database, "new") >= after);
        expect(1, "deploy/old", "deploy/new", "refused: there is no history of 'deployment-old'");
}

/* The successor may have no pods yet, and so no Recommendation: adopt makes it. */
static void test_collected(void **state)
{
        (void)state;
        fake_delete(stage.fake, DEPLOY("new"));
        history_deployment_without_pods(stage.fake, "newest", "day");
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, 30000));
        history_await(stage.fake, stage.halflife, REC("newest"), false);
        expect(0, "deploy/new", "deploy/newest", "deployment-newest adopted deployment-new");
        history_await(stage.fake, stage.halflife, REC("new"), false);
}

/* An answer that cannot be written is reported, and written once that is possible. */
static void test_answer_refused(void **state)
{
        (void)state;
        static const char asks[] = "{\"metadata\":{\"annotations\":{\"halflife.dev/adopt\":\"deployment-nobody\"}}}";
        const struct fake_fault denied = {.verb = "patch", .path = REC("alive"), .times = FAKE_ALWAYS, .status = 403};
        int before = halflife_said(stage.halflife, "write refused");
        fake_fault(stage.fake, &denied);
        assert_int_equal(fake_merge(stage.fake, REC("alive"), "kubectl", asks), 200);
        assert_true(halflife_await_log(stage.halflife, "write refused", before + 1, 30000));
        fake_faults_clear(stage.fake);
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, 30000));
        AUTO(mem_free) char *said = fake_get(stage.fake, REC("alive"));
        if (!strstr(said, "halflife.dev/adopted") || !strstr(said, "there is no history of 'deployment-nobody'"))
                fail_msg("%s", said);
}

static void test_nobody_answers(void **state)
{
        (void)state;
        assert_int_equal(halflife_stop(stage.halflife), 0);
        AUTO(mem_free)
        char *said = HALFLIFE_RUN(1, "adopt", "deploy/new", "deploy/newest", "-n", "shop", "--timeout", "1s");
        if (!strstr(said, "does a controller run") || strstr(said, "does the API server run"))
                fail_msg("%s", said);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_refused),        cmocka_unit_test(test_adopted),
                cmocka_unit_test(test_collected),      cmocka_unit_test(test_answer_refused),
                cmocka_unit_test(test_nobody_answers),
        };
        return cmocka_run_group_tests_name("adopt", tests, set_up, tear_down);
}
