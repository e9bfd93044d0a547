/* Answers to annotation commands: few are written at once, and answers that are refused keep out no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/api.h"
#include "../../support/rig.h"
#include "base/mem.h"

#define RECOMMENDATIONS_AT "/apis/halflife.dev/v1alpha1/namespaces/shop/recommendations/"

enum { REFUSED = 20, ACCEPTED = 20, ALL = REFUSED + ACCEPTED, AT_ONCE = 8 };

static struct rig rig;
static struct api api;

static char *name_of(int number)
{
        return mem_printf("deployment-a%02d", number);
}

static char *path_of_rec(int number)
{
        AUTO(mem_free) char *name = name_of(number);
        return mem_printf(RECOMMENDATIONS_AT "%s", name);
}

/* The Recommendation as the watch brings it, and its target. A command was run already, its answer is to be written. */
static void put_in_cache(int number, bool commanded)
{
        struct err err = {0};
        AUTO(mem_free) char *name = name_of(number);
        AUTO(mem_free)
        char *json = mem_printf("{\"metadata\":{\"namespace\":\"shop\",\"name\":\"%s\",\"annotations\":{%s}},"
                                "\"spec\":{\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
                                "\"a%02d\"}}}",
                                name, commanded ? "\"" ANNOTATION_ADOPT "\":\"deployment-old\"" : "", number);
        assert_int_equal(published_upsert(&rig.cache, text_of(json), 1, &err), 0);
        AUTO(mem_free) char *of = mem_printf("a%02d", number);
        struct target *t = target_get(&rig.cache, TEXT("shop"), TEXT("apps"), TEXT("Deployment"), text_of(of));
        AUTO(mem_free) char *key = mem_printf("shop/%s", name);
        struct published *p = published_get(&rig.cache, text_of(key));
        if (!t->published)
                target_set_published(t, p, 0);
        if (commanded)
                annotation_command_answered(p->command[COMMAND_ADOPT], mem_string("done"), 0);
}

/* The API server has only those whose answers it accepts: it answers 404 for the others. */
static void put_in_server(int number)
{
        AUTO(mem_free) char *name = name_of(number);
        AUTO(mem_free)
        char *json = mem_printf("{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Recommendation\",\"metadata\":{"
                                "\"namespace\":\"shop\",\"name\":\"%s\"},\"spec\":{\"targetRef\":{\"apiVersion\":"
                                "\"apps/"
                                "v1\",\"kind\":\"Deployment\",\"name\":\"a%02d\"},\"profileRef\":{\"kind\":\"Profile\","
                                "\"name\":\"x\"},\"dimension\":\"Workload\"}}",
                                name, number);
        fake_put(api.fake, "kubectl", json);
}

static int begin(void **state)
{
        (void)state;
        rig_begin(&rig);
        api_begin(&api, &(struct fake_options){.seed = 1});
        if (!fake_load(api.fake, "crds"))
                return -1;
        rig.learner->client = api.client;
        for (int i = 0; i < ALL; i++)
                put_in_cache(i, true);
        for (int i = REFUSED; i < ALL; i++)
                put_in_server(i);
        return 0;
}

static int end(void **state)
{
        (void)state;
        api_end(&api);
        rig_end(&rig);
        return 0;
}

static size_t tries_of(int number)
{
        AUTO(mem_free) char *path = path_of_rec(number);
        return fake_count(api.fake, "patch", path);
}

/* An answer that was written is seen by the watch, which takes the command away. */
static void see_answers(void)
{
        for (int i = REFUSED; i < ALL; i++) {
                AUTO(mem_free) char *path = path_of_rec(i), *text = fake_get(api.fake, path);
                if (text && strstr(text, ANNOTATION_ADOPTED))
                        put_in_cache(i, false);
        }
}

static bool pass_is_over(void *arg)
{
        int *most = arg;
        if (rig.learner->command_answers > *most)
                *most = rig.learner->command_answers;
        see_answers();
        return rig.learner->command_answers == 0;
}

static void test_answers_that_are_refused_keep_out_no_others(void **state)
{
        (void)state;
        enum { PASSES = 3 };
        for (size_t pass = 1; pass <= PASSES; pass++) {
                int most = 0;
                annotation_commands_settle(rig.learner);
                assert_int_equal(rig.learner->command_answers, AT_ONCE);
                assert_true(api_until(&api, pass_is_over, &most));
                assert_int_equal(most, AT_ONCE);
                for (int i = 0; i < ALL; i++) {
                        size_t tries = tries_of(i);
                        if (i < REFUSED ? tries != pass : tries < 1)
                                fail_msg("after pass %zu: number %d was tried %zu times", pass, i, tries);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_answers_that_are_refused_keep_out_no_others),
        };
        return cmocka_run_group_tests_name("annotation_command_run", tests, begin, end);
}
