/* halflife ended in every way, and started again: the same numbers, no sample twice, no second rollout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../support/beside.h"
#include "../support/pick.h"
#include "../support/story.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/yaml.h"

#define LIMITED     "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define POD         "{containers: " LIMITED "}"
#define CPU_REQUEST "spec.template.spec.containers[app].resources.requests.cpu"
#define LOWERED     EXPECT("deployments/web", CPU_REQUEST, "285m")

enum { LONG_MS = 40000 };
static const char recommendation[] = "recommendations/deployment-web";

struct stage {
        struct fake *f;
        struct halflife *h;
        struct story *stories;
        size_t count;
        char *database;
};

static void say_log(struct stage *s)
{
        AUTO(mem_free) char *log = halflife_log(s->h);
        fprintf(stderr, "%s", log);
}

static void play(struct stage *s, struct story *stories, size_t count)
{
        bool good = stories_run(s->f, stories, count, LONG_MS);
        if (!good)
                say_log(s);
        for (size_t i = 0; i < count; i++) {
                AUTO(mem_free) char *failure = mem_string(stories[i].failure);
                story_release(&stories[i]);
                stories[i].at = NULL;
                if (failure)
                        fail_msg("%s: %s", stories[i].name, failure);
        }
}
#define PLAY(s, ...)                                                                                                   \
        do {                                                                                                           \
                struct story told_[] = {__VA_ARGS__};                                                                  \
                play(s, told_, sizeof told_ / sizeof told_[0]);                                                        \
        } while (0)

static void open_stage(struct stage *s, const char *database, struct story *stories, size_t count)
{
        *s = (struct stage){.f = stories_server(stories, count), .database = mem_string(database)};
        s->h = halflife_start(s->f, database, NULL);
}

static void start_again(struct stage *s)
{
        halflife_free(s->h);
        s->h = halflife_start(s->f, s->database, NULL);
}

static void close_stage(struct stage *s)
{
        int result = halflife_stop(s->h);
        if (result != 0) {
                say_log(s);
                fail_msg("halflife ended with %d", result);
        }
        halflife_free(s->h);
        fake_free(s->f);
        mem_free(s->database);
}

/* The whole Recommendation but for times and the server's own fields. */
static char *numbers_of(struct fake *f, const char *ns)
{
        static const char *const fields[] = {"status.containers", "status.samples", "status.firstSample",
                                             "status.applied",    "status.state",   "status.pod",
                                             "status.saving"};
        struct story at = {.name = ns};
        AUTO(mem_free) char *path = story_path(&at, recommendation);
        AUTO(mem_free) char *text = fake_get(f, path);
        AUTO(json_decref) json_t *object = text ? json_loads(text, 0, NULL) : NULL;
        char *all = mem_string("");
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
                char *more = mem_printf("%s%s: %s\n", all, fields[i], pick_text(object, fields[i]));
                mem_free(all);
                all = more;
        }
        return all;
}

/* Usage stands still, so that a sample counted twice is one too many. */
static void end_and_compare(bool killed)
{
        struct stage s;
        struct story one[] = {STORY("same", AT_ONCE(""), WEB(LIMITED), LOWERED,
                                    EXPECT(REC, "status.applied.mode", "Rollout"),
                                    EXPECT(REC, "status.containers[app].cpu.current", "285m"))};
        struct story fresh[] = {STORY("same", CYCLES(2), DELETE(REC), EXPECT(REC, "status.samples", "!-"), CYCLES(2))};
        struct story again[] = {STORY("same", EXPECT(REC, "status.samples", "!-"), CYCLES(3), DELETE(REC),
                                      EXPECT(REC, "status.samples", "!-"),
                                      CHECK("deployments/web", "metadata.generation", "2"))};
        open_stage(&s, killed ? "killed.db" : "ended.db", one, 1);
        play(&s, one, 1);
        fake_freeze_metrics(s.f, true);
        play(&s, fresh, 1);
        AUTO(mem_free) char *before = numbers_of(s.f, "same");
        if (killed)
                halflife_kill(s.h);
        else
                assert_int_equal(halflife_stop(s.h), 0);
        start_again(&s);
        play(&s, again, 1);
        AUTO(mem_free) char *after = numbers_of(s.f, "same");
        assert_string_equal(after, before);
        assert_true(halflife_metric(s.h, "halflife_samples_total{result=\"accepted\"}") == 0);
        assert_true(halflife_metric(s.h, "halflife_changes_applied_total") == 0);
        close_stage(&s);
}

static void test_sigterm(void **state)
{
        (void)state;
        end_and_compare(false);
}

static void test_kill(void **state)
{
        (void)state;
        end_and_compare(true);
}

/* The patch is made, and nobody lives to hear of it: cooldown counts all the same. */
static void test_kill_before_the_answer(void **state)
{
        struct stage s;
        (void)state;
        struct story one[] = {STORY("unheard", TEAM("{apply: {mode: Rollout, minHistory: 2s, cooldown: 1h}}"),
                                    WEB(LIMITED), EXPECT("deployments/web", CPU_REQUEST, "500m"))};
        struct story again[] = {STORY("unheard", EXPECT(REC, "status.conditions[Applied].reason", "Cooldown"),
                                      CYCLES(4), CHECK("deployments/web", CPU_REQUEST, "500m"),
                                      CHECK("deployments/web", "metadata.generation", "2"),
                                      CHECK(REC, "status.applied.containers", "[{\"cpu\":\"500m\",\"name\":\"app\"}]"),
                                      CHECK(REC, "status.containers[app].cpu.original", "1"))};
        open_stage(&s, "unheard.db", one, 1);
        fake_fault(s.f,
                   &(struct fake_fault){.verb = "patch", .path = "/apis/apps/v1/", .times = FAKE_ALWAYS, .cut = true});
        play(&s, one, 1);
        halflife_kill(s.h);
        fake_faults_clear(s.f);
        start_again(&s);
        play(&s, again, 1);
        close_stage(&s);
}

/* Read and decided, not yet patched. */
static void test_kill_before_the_patch(void **state)
{
        struct stage s;
        (void)state;
        struct story one[] = {STORY("unpatched", AT_ONCE(""), WEB(LIMITED))};
        struct story again[] = {STORY("unpatched", LOWERED, EXPECT(REC, "status.applied.mode", "Rollout"), CYCLES(3),
                                      CHECK("deployments/web", "metadata.generation", "2"))};
        open_stage(&s, "unpatched.db", one, 1);
        fake_fault(s.f, &(struct fake_fault){
                                .verb = "patch", .path = "/apis/apps/v1/", .times = FAKE_ALWAYS, .refuse = true});
        play(&s, one, 1);
        assert_true(fake_wait_count(s.f, "patch", "/apis/apps/v1/", 1, LONG_MS));
        halflife_kill(s.h);
        fake_faults_clear(s.f);
        start_again(&s);
        play(&s, again, 1);
        close_stage(&s);
}

/* Killed again and again, wherever it happens to be. */
static void test_kill_anywhere(void **state)
{
        static const size_t after[] = {16, 7, 12, 18, 9, 14};
        enum { SETS = 6 };
        struct stage s;
        char name[16];
        struct story one[] = {STORY(
                "anywhere", AT_ONCE(""), WORK("Deployment", "web-0", "{replicas: 2}", POD),
                WORK("Deployment", "web-1", "{replicas: 2}", POD), WORK("Deployment", "web-2", "{replicas: 2}", POD),
                WORK("Deployment", "web-3", "{replicas: 2}", POD), WORK("Deployment", "web-4", "{replicas: 2}", POD),
                WORK("Deployment", "web-5", "{replicas: 2}", POD))};
        (void)state;
        open_stage(&s, "anywhere.db", one, 1);
        play(&s, one, 1);
        for (size_t i = 0; i < sizeof after / sizeof after[0]; i++) {
                fake_count_reset(s.f);
                assert_true(fake_wait_count(s.f, NULL, "/", after[i], LONG_MS));
                halflife_kill(s.h);
                start_again(&s);
        }
        for (int i = 0; i < SETS; i++) {
                snprintf(name, sizeof name, "web-%d", i);
                AUTO(mem_free) char *path = mem_printf("deployments/%s", name);
                AUTO(mem_free) char *rec = mem_printf("recommendations/deployment-%s", name);
                PLAY(&s,
                     STORY("anywhere", EXPECT(path, CPU_REQUEST, "285m"), EXPECT(rec, "status.applied.mode", "Rollout"),
                           EXPECT(rec, "status.state", "Ready"), CHECK(rec, "status.containers[app].cpu.model", "259m"),
                           CHECK(path, "metadata.generation", "2")));
        }
        close_stage(&s);
}

/* What came and went while nobody looked. */
static void test_while_down(void **state)
{
        struct stage s;
        (void)state;
        struct story cast[] = {
                STORY("made-again", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED),
                      EXPECT(REC, "status.state", "Ready")),
                STORY("deselected", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED),
                      EXPECT(REC, "status.state", "Ready")),
                STORY("vanished", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED),
                      EXPECT(REC, "status.state", "Ready")),
                STORY("orphaned", AT_ONCE(""), WEB(LIMITED), LOWERED, EXPECT(REC, "status.applied.mode", "Rollout")),
                STORY("redeployed", AT_ONCE(""), WEB(LIMITED), LOWERED, EXPECT(REC, "status.applied.mode", "Rollout")),
        };
        struct story meanwhile[] = {
                STORY("made-again", DELETE("deployments/web"), WEB(LIMITED)),
                STORY("deselected", DELETE("profiles/team")),
                STORY("vanished", DELETE("deployments/web")),
                STORY("orphaned", DELETE("profiles/team")),
                STORY("redeployed",
                      MERGE("deployments/web", "{spec: {template: {spec: {containers: [{name: app, image: "
                                               "'a:2', resources: {requests: {cpu: 600m, memory: 1Gi}}}]}}}}")),
        };
        struct story after[] = {
                STORY("made-again", CYCLES(2), CHECK(REC, "status.state", "Ready"),
                      CHECK(REC, "status.containers[app].cpu.target", "285m")),
                STORY("deselected", EXPECT(REC, "", "-")),
                STORY("vanished", CYCLES(2), CHECK(REC, "status.containers[app].cpu.target", "285m")),
                STORY("orphaned", EXPECT(REC, "status.state", "Held"),
                      EXPECT(REC, "status.conditions[Applied].reason", "Orphaned"),
                      CHECK("deployments/web", CPU_REQUEST, "285m")),
                STORY("redeployed", EXPECT(REC, "status.containers[app].cpu.original", "600m"),
                      EXPECT(REC, "status.conditions[Applied].reason", "Cooldown"),
                      CHECK("deployments/web", CPU_REQUEST, "600m")),
        };
        open_stage(&s, "down.db", cast, sizeof cast / sizeof cast[0]);
        play(&s, cast, sizeof cast / sizeof cast[0]);
        PLAY(&s, STORY("made-again", CYCLES(2)));
        halflife_kill(s.h);
        play(&s, meanwhile, sizeof meanwhile / sizeof meanwhile[0]);
        start_again(&s);
        play(&s, after, sizeof after / sizeof after[0]);
        close_stage(&s);
}

/* --- out-of-memory kills --- */

static char *first_pod(struct fake *f, const char *ns)
{
        struct story at = {.name = ns};
        AUTO(mem_free) char *path = story_path(&at, "pods/");
        path[strlen(path) - 1] = '\0';
        AUTO(mem_free) char *text = NULL;
        assert_int_equal(fake_call(f, "GET", path, NULL, NULL, NULL, &text), 200);
        AUTO(json_decref) json_t *list = json_loads(text, 0, NULL);
        return mem_printf("%s/%s", path, pick_text(list, "items[0].metadata.name"));
}

static void kill_container(struct fake *f, const char *pod, int restarts)
{
        char now[WALL_TEXT_MAX];
        AUTO(mem_free) char *status = mem_printf("%s/status", pod);
        AUTO(mem_free)
        char *patch =
                mem_printf("[{\"op\":\"replace\",\"path\":\"/status/containerStatuses/0/restartCount\",\"value\":%d},"
                           "{\"op\":\"add\",\"path\":\"/status/containerStatuses/0/lastState\",\"value\":{"
                           "\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":137,\"finishedAt\":\"%s\"}}}]",
                           restarts, wall_print(now_read().wall, now));
        assert_int_equal(fake_patch(f, status, "kubelet", patch), 200);
}

static void evict(struct fake *f, const char *pod)
{
        AUTO(mem_free) char *status = mem_printf("%s/status", pod);
        static const char patch[] =
                "[{\"op\":\"add\",\"path\":\"/status/reason\",\"value\":\"Evicted\"},{\"op\":\"add\",\"path\":"
                "\"/status/message\",\"value\":\"The node was low on resource: memory. Container app was using 350Mi, "
                "request "
                "is 300Mi, has larger consumption of memory. \"}]";
        assert_int_equal(fake_patch(f, status, "kubelet", patch), 200);
}

/* A pod of the same owner that is made, killed and deleted between two looks. */
static void come_and_go(struct fake *f, const char *pod)
{
        AUTO(mem_free) char *text = fake_get(f, pod);
        AUTO(json_decref) json_t *object = json_loads(text, 0, NULL);
        json_t *meta = json_object_get(object, "metadata"), *status = json_object_get(object, "status");
        json_object_set_new(meta, "name", json_string("web-passer-by"));
        json_object_del(meta, "uid");
        json_object_del(meta, "resourceVersion");
        json_object_del(status, "reason");
        AUTO(mem_free) char *path = mem_printf("%.*s/web-passer-by", (int)(strrchr(pod, '/') - pod), pod);
        char *made = json_dumps(object, JSON_COMPACT);
        fake_put(f, "kubelet", made);
        free(made);
        fake_delete(f, path);
}

static const char kills[] = "halflife_oom_kills_total";

static void test_oom(void **state)
{
        struct stage s;
        (void)state;
        struct story one[] = {STORY("killed", TEAM("{resources: {memory: {enabled: true}}, apply: {minHistory: 2s}}"),
                                    WEB("[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}}}]"),
                                    EXPECT(REC, "status.containers[app].memory.target", "364Mi"))};
        open_stage(&s, "oom.db", one, 1);
        play(&s, one, 1);
        AUTO(mem_free) char *pod = first_pod(s.f, "killed");
        kill_container(s.f, pod, 1);
        assert_true(halflife_await_metric(s.h, s.f, kills, 1, LONG_MS));
        /* 300Mi at the last sample: at least 100Mi more. */
        PLAY(&s, STORY("killed", EXPECT(REC, "status.containers[app].memory.target", "460Mi"),
                       CHECK(REC, "status.containers[app].memory.model", "400Mi")));
        fake_compact(s.f); /* listed again: the same kill */
        fake_end_watches(s.f);
        assert_true(halflife_await_cycles(s.h, s.f, 2, LONG_MS));
        assert_true(halflife_metric(s.h, kills) == 1);
        halflife_kill(s.h);
        start_again(&s);
        PLAY(&s, STORY("killed", CYCLES(3), CHECK(REC, "status.containers[app].memory.model", "400Mi")));
        assert_true(halflife_metric(s.h, kills) == 0);
        kill_container(s.f, pod, 3); /* jumped by two: one kill, from the model on */
        assert_true(halflife_await_metric(s.h, s.f, kills, 1, LONG_MS));
        PLAY(&s, STORY("killed", EXPECT(REC, "status.containers[app].memory.model", "500Mi"),
                       CHECK(REC, "status.oomKills", "2"),
                       CHECK(REC, "status.conditions[OutOfMemory].reason", "KillMakesModel"),
                       CHECK(REC, "status.conditions[OutOfMemory].message", "~container 'app' was killed or evicted")));
        evict(s.f, pod);
        assert_true(halflife_await_metric(s.h, s.f, kills, 2, LONG_MS));
        PLAY(&s, STORY("killed", EXPECT(REC, "status.oomKills", "3")));
        come_and_go(s.f, pod);
        assert_true(halflife_await_metric(s.h, s.f, kills, 3, LONG_MS));
        PLAY(&s, STORY("killed", EXPECT(REC, "status.oomKills", "4"), CYCLES(2), CHECK(REC, "status.oomKills", "4")));
        close_stage(&s);
}

/* Far from its limit, on a node that was short of memory: the limit is not what killed it. */
static void test_oom_of_a_node(void **state)
{
        struct stage s;
        (void)state;
        struct story one[] = {
                STORY("killed", TEAM("{resources: {memory: {enabled: true}}, apply: {minHistory: 2s}}"),
                      WEB("[{name: app, resources: {requests: {cpu: '1', memory: 4Gi}, limits: {memory: 4Gi}}}]"),
                      EXPECT(REC, "status.containers[app].memory.target", "364Mi"))};
        open_stage(&s, "oom-node.db", one, 1);
        play(&s, one, 1);
        char now[WALL_TEXT_MAX];
        AUTO(mem_free)
        char *event =
                mem_printf("{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"node-0.1\","
                           "\"namespace\":\"default\"},\"involvedObject\":{\"kind\":\"Node\",\"name\":\"node-0\"},"
                           "\"reason\":\"SystemOOM\",\"lastTimestamp\":\"%s\"}",
                           wall_print(now_read().wall, now));
        fake_put(s.f, "kubelet", event);
        assert_true(halflife_await_cycles(s.h, s.f, 2, LONG_MS));
        AUTO(mem_free) char *pod = first_pod(s.f, "killed");
        kill_container(s.f, pod, 1);
        PLAY(&s, STORY("killed", EXPECT(REC, "status.containers[app].memory.model", "400Mi"),
                       EXPECT(REC, "status.conditions[OutOfMemory].reason", "KillMakesModel")));
        close_stage(&s);
}

/* Killed while we are down: pod status still shows it. */
static void test_oom_while_down(void **state)
{
        struct stage s;
        (void)state;
        struct story one[] = {STORY("killed", TEAM("{resources: {memory: {enabled: true}}, apply: {minHistory: 2s}}"),
                                    WEB("[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}}}]"),
                                    EXPECT(REC, "status.containers[app].memory.target", "364Mi"), CYCLES(2))};
        open_stage(&s, "oom-down.db", one, 1);
        play(&s, one, 1);
        AUTO(mem_free) char *pod = first_pod(s.f, "killed");
        assert_int_equal(halflife_stop(s.h), 0);
        kill_container(s.f, pod, 1);
        start_again(&s);
        assert_true(halflife_await_metric(s.h, s.f, kills, 1, LONG_MS));
        PLAY(&s, STORY("killed", CYCLES(2)));
        assert_true(halflife_metric(s.h, kills) == 1);
        close_stage(&s);
}

int main(void)
{
        static const struct beside tests[] = {
                BESIDE(test_sigterm),
                BESIDE(test_kill),
                BESIDE(test_kill_before_the_answer),
                BESIDE(test_kill_before_the_patch),
                BESIDE(test_kill_anywhere),
                BESIDE(test_while_down),
                BESIDE(test_oom),
                BESIDE(test_oom_of_a_node),
                BESIDE(test_oom_while_down),
        };
        return beside_run("restart", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
