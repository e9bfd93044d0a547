/* A platform that changes what halflife writes to a template: the original stands, however much of what halflife knew
 * is lost, and restore takes the platform's value back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../support/pick.h"
#include "../support/play.h"
#include "../support/tmp.h"
#include "base/mem.h"
#include "base/yaml.h"

#define LIMITED                                                                                                        \
        "[{name: app, image: 'a:1', resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define IN_TEMPLATE "spec.template.metadata.annotations"
#define CPU_REQUEST "spec.template.spec.containers[app].resources.requests.cpu"
#define SENT        "{\"app\":{\"requests\":{\"cpu\":\"285m\"}}}"

enum { LONG_MS = 90000 };

/* What each story's platform makes of 285m; NULL: it takes the request out. */
static const struct platform {
        const char *ns, *makes;
        const char *admitted, *restored;
} platforms[] = {
        {"rounded", "500m", "[{\"cpu\":\"500m\",\"memory\":\"1Gi\",\"name\":\"app\"}]", "app cpu 500m -> 1"},
        {"removed", NULL, "[{\"memory\":\"1Gi\",\"name\":\"app\"}]", "app cpu none -> 1"},
};

static char *alter(void *arg, const char *kind, const char *object)
{
        (void)arg;
        AUTO(json_decref) json_t *o = json_loads(object, 0, NULL);
        json_t *requests = pick(o, APP_REQUESTS);
        if (strcmp(kind, "Deployment") != 0 || strcmp(pick_text(requests, "cpu"), "285m") != 0)
                return NULL;
        for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++) {
                if (strcmp(pick_text(o, "metadata.namespace"), platforms[i].ns) != 0)
                        continue;
                if (platforms[i].makes)
                        json_object_set_new(requests, "cpu", json_string(platforms[i].makes));
                else
                        json_object_del(requests, "cpu");
        }
        return json_dumps(o, JSON_COMPACT);
}

static void stop(struct halflife *h)
{
        if (halflife_stop(h) != 0) {
                play_say_log(h);
                fail_msg("halflife did not end well");
        }
        halflife_free(h);
}

static void restore(const struct platform *p)
{
        const char *const args[] = {"restore", "deploy/web", "-n", p->ns, NULL};
        AUTO(mem_free) char *said = halflife_run(0, args);
        if (!strstr(said, "restored: ") || !strstr(said, p->restored) || strstr(said, "stands"))
                fail_msg("does not say '%s':\n%s", p->restored, said);
}

static void test_the_original_stands(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++) {
                const struct platform *p = &platforms[i];
                const char *now = p->makes ? p->makes : "-";
                struct fake *f = stories_server(NULL, 0);
                AUTO(mem_free) char *kubeconfig = tmp_path("altered-kubeconfig");
                assert_true(fake_write_kubeconfig(f, kubeconfig));
                setenv("HALFLIFE_KUBECONFIG", kubeconfig, 1);
                fake_set_admission(f, alter, NULL);

                struct halflife *h = halflife_start(f, "altered.db", NULL);
                PLAY(f, h,
                     STORY(p->ns, AT_ONCE(""), WEB(LIMITED), EXPECT(REC, "status.conditions[Contested].status", "True"),
                           EXPECT("deployments/web", CPU_REQUEST, now),
                           EXPECT(REC, "status.applied.admitted", p->admitted),
                           CHECK(REC, "status.applied.containers", "[{\"cpu\":\"285m\",\"name\":\"app\"}]"),
                           CHECK(REC, "status.containers[app].cpu.original", "1")));
                stop(h);

                h = halflife_start(f, "another.db", NULL); /* which knows the status alone */
                PLAY(f, h,
                     STORY(p->ns, CYCLES(3), EXPECT(REC, "status.containers[app].cpu.reason", "Cooldown"),
                           CHECK(REC, "status.containers[app].cpu.original", "1"),
                           CHECK(REC, "status.applied.admitted", p->admitted),
                           CHECK("deployments/web", CPU_REQUEST, now),
                           CHECK("deployments/web", IN_TEMPLATE ".<halflife.dev/applied-resources>", SENT)));
                stop(h);

                restore(p);
                struct story back = {.name = p->ns};
                assert_true(story_is(f, &back, "deployments/web", CPU_REQUEST, "1", NULL));
                assert_true(story_is(f, &back, "deployments/web", IN_TEMPLATE ".<halflife.dev/applied-resources>", "-",
                                     NULL));
                fake_free(f);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_original_stands)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
