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

#include "../support/halflife.h"
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

static void put_profile(const char *name, const char *half_life)
{
        AUTO(mem_free)
        char *object = mem_printf(
                "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Profile\",\"metadata\":{\"name\":\"%s\","
                "\"namespace\":\"shop\"},\"spec\":{\"selector\":{\"matchLabels\":{\"by\":\"%s\"}},\"resources\":{"
                "\"cpu\":"
                "{\"halfLife\":\"%s\"}},\"apply\":{\"mode\":\"Recommend\",\"minHistory\":\"0s\"}}}",
                name, name, half_life);
        fake_put(stage.fake, "kubectl", object);
}

static void put_deployment(const char *name, const char *by)
{
        AUTO(mem_free)
        char *object = mem_printf(
                "{\"apiVersion\":\"apps/"
                "v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"shop\","
                "\"labels\":{\"by\":\"%s\"}},\"spec\":{\"replicas\":1,\"selector\":{\"matchLabels\":{\"app\":\"%s\"}},"
                "\"template\":{\"metadata\":{\"labels\":{\"app\":\"%s\"},\"annotations\":{\"kwok.x-k8s.io/usage-cpu\":"
                "\"120m\",\"kwok.x-k8s.io/usage-memory\":\"200Mi\"}},\"spec\":{\"containers\":[{\"name\":\"app\","
                "\"image\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"4Gi\"}}}]}}}}",
                name, by, name, name);
        fake_put(stage.fake, "kubectl", object);
}

static char *run(int want, const char *const *args)
{
        struct halflife *h = halflife_command(args);
        int code = halflife_await(h, 30000);
        char *said = halflife_log(h);
        if (code != want)
                fail_msg("%s: exit %d, not %d\n%s", args[0], code, want, said);
        halflife_free(h);
        return said;
}
#define RUN(want, ...) run(want, (const char *const[]){__VA_ARGS__, NULL})

/* What the database has of a workload; 0: nothing. */
static long long stored(const char *name)
{
        AUTO(mem_free) char *workload = mem_printf("deploy/%s", name);
        struct halflife *h = halflife_command((const char *const[]){"explain", workload, "-n", "shop", "--database",
                                                                    stage.database, "-o", "json", NULL});
        (void)halflife_await(h, 30000);
        AUTO(mem_free) char *said = halflife_log(h);
        const char *samples = strstr(said, "\"samples\": ");
        halflife_free(h);
        return samples ? strtoll(samples + strlen("\"samples\": "), NULL, 10) : 0;
}

static bool is_there(struct fake *f, void *arg)
{
        AUTO(mem_free) char *text = fake_get(f, arg);
        return text != NULL;
}

static bool is_gone(struct fake *f, void *arg)
{
        return !is_there(f, arg);
}

static void await(fake_predicate *holds, const char *path)
{
        if (!fake_wait(stage.fake, holds, (void *)(uintptr_t)path, 30000))
                fail_msg("%s\n%s", path, halflife_log(stage.halflife));
}

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
        put_profile("day", "24h");
        put_profile("week", "168h");
        setenv("HALFLIFE_KUBECONFIG", stage.kubeconfig, 1);
        if (!fake_write_kubeconfig(stage.fake, stage.kubeconfig))
                return -1;
        put_deployment("old", "day");
        put_deployment("alive", "day");
        start();
        await(is_there, REC("old"));
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
        put_deployment(name, by);
        await(is_there, rec);
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, 30000));
}

static void expect(int code, const char *old, const char *new, const char *part)
{
        AUTO(mem_free) char *said = RUN(code, "adopt", old, new, "-n", "shop", "--timeout", "20s");
        if (!strstr(said, part))
                fail_msg("adopt %s %s does not say '%s':\n%s", old, new, part, said);
}

static void test_refused(void **state)
{
        (void)state;
        rename_to("other", "week", REC("other"));
        expect(1, "deploy/nobody", "deploy/alive", "refused: nothing was learned as 'deployment-nobody'");
        expect(1, "deploy/alive", "deploy/other", "refused: 'deployment-alive' still has its workload");
        expect(1, "deploy/old", "deploy/other", "half-lives differ");
        expect(1, "deploy/old", "deploy/nobody", "nothing is known of 'deploy/nobody'");
        expect(2, "deploy/old", "deploy/old", "is both");
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 2, 30000));
        assert_true(stored("old") > 0); /* whatever was refused, it is as it was */
}

static void test_adopted(void **state)
{
        (void)state;
        rename_to("new", "day", REC("new"));
        long long before = stored("old");
        assert_true(before > 3);
        expect(0, "deploy/old", "deploy/new", "deployment-new adopted deployment-old: 1 containers");
        halflife_kill(stage.halflife); /* at once: the transaction is whole, or none */
        halflife_free(stage.halflife);
        long long after = stored("new");
        if (after < before || stored("old") != 0)
                fail_msg("new has %lld samples of %lld, old %lld", after, before, stored("old"));
        start();
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, 30000));
        assert_true(stored("new") >= after);
        expect(1, "deploy/old", "deploy/new", "refused: nothing was learned as 'deployment-old'");
}

static void test_collected(void **state)
{
        (void)state;
        fake_delete(stage.fake, DEPLOY("new"));
        put_deployment("newest", "day");
        await(is_there, REC("newest"));
        expect(0, "deploy/new", "deploy/newest", "deployment-newest adopted deployment-new");
        await(is_gone, REC("new"));
}

static void test_nobody_answers(void **state)
{
        (void)state;
        assert_int_equal(halflife_stop(stage.halflife), 0);
        AUTO(mem_free) char *said = RUN(1, "adopt", "deploy/new", "deploy/newest", "-n", "shop", "--timeout", "1s");
        if (!strstr(said, "does a controller run"))
                fail_msg("%s", said);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_adopted),
                cmocka_unit_test(test_collected),
                cmocka_unit_test(test_nobody_answers),
        };
        return cmocka_run_group_tests_name("adopt", tests, set_up, tear_down);
}
