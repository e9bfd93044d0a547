#include "story.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after its needs */
#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "pick.h"

enum { TOLD_MS = 60000, POLL_STEP_MS = 1000 };

static const char polls[] = "/apis/metrics.k8s.io/v1beta1/pods";

/* --- texts --- */

static void fill_uid(struct buf *b, struct fake *f, const struct story *s, const char *path, size_t len)
{
        AUTO(mem_free) char *name = mem_string_n(path, len);
        AUTO(mem_free) char *where = story_path(s, name);
        AUTO(mem_free) char *text = fake_get(f, where);
        AUTO(json_decref) json_t *object = text ? json_loads(text, 0, NULL) : NULL;
        buf_add_text(b, pick_text(object, "metadata.uid"));
}

static char *fill(struct fake *f, const struct story *s, const char *text)
{
        static const char uid[] = "$UID(";
        struct buf b;
        buf_init(&b, 1 << 20);
        for (const char *at; (at = strchr(text, '$')); text = at) {
                buf_add(&b, text, (size_t)(at - text));
                if (strncmp(at, "$NS", 3) == 0) {
                        buf_add_text(&b, s->name);
                        at += 3;
                } else if (strncmp(at, uid, strlen(uid)) == 0) {
                        size_t len = strcspn(at + strlen(uid), ")");
                        fill_uid(&b, f, s, at + strlen(uid), len);
                        at += strlen(uid) + len + 1;
                } else {
                        buf_add(&b, at++, 1);
                }
        }
        buf_add_text(&b, text);
        return b.data ? buf_steal(&b) : mem_string("");
}

static json_t *read_yaml(struct fake *f, const struct story *s, const char *text)
{
        struct err err = {0};
        AUTO(mem_free) char *whole = fill(f, s, text);
        json_t *j = yaml_read(whole, strlen(whole), &err);
        if (!j) {
                fprintf(stderr, "%s: %s\n%s\n", s->name, err.text, whole);
                abort();
        }
        return j;
}

static const struct place {
        const char *plural, *kind, *api_version;
} places[] = {
        {"deployments", "Deployment", "apps/v1"},
        {"statefulsets", "StatefulSet", "apps/v1"},
        {"daemonsets", "DaemonSet", "apps/v1"},
        {"replicasets", "ReplicaSet", "apps/v1"},
        {"cronjobs", "CronJob", "batch/v1"},
        {"jobs", "Job", "batch/v1"},
        {"pods", "Pod", "v1"},
        {"limitranges", "LimitRange", "v1"},
        {"resourcequotas", "ResourceQuota", "v1"},
        {"events", "Event", "events.k8s.io/v1"},
        {"horizontalpodautoscalers", "HorizontalPodAutoscaler", "autoscaling/v2"},
        {"verticalpodautoscalers", "VerticalPodAutoscaler", "autoscaling.k8s.io/v1"},
        {"scaledobjects", "ScaledObject", "keda.sh/v1alpha1"},
        {"profiles", "Profile", "halflife.dev/v1alpha1"},
        {"recommendations", "Recommendation", "halflife.dev/v1alpha1"},
        {"widgets", "Widget", "example.org/v1"},
};

char *story_path(const struct story *s, const char *path)
{
        if (*path == '/')
                return mem_string(path);
        size_t len = strcspn(path, "/");
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
                if (strlen(places[i].plural) == len && memcmp(places[i].plural, path, len) == 0)
                        return mem_printf("/%s/%s/namespaces/%s/%s",
                                          strchr(places[i].api_version, '/') ? "apis" : "api", places[i].api_version,
                                          s->name, path);
        fprintf(stderr, "%s: no place for '%s'\n", s->name, path);
        abort();
}

/* --- doing --- */

static void put(struct fake *f, const struct story *s, json_t *object)
{
        static const char *const everywhere[] = {"Namespace", "ClusterProfile", "CustomResourceDefinition", "Node"};
        bool spaced = true;
        for (size_t i = 0; i < sizeof everywhere / sizeof *everywhere; i++)
                spaced &= strcmp(pick_text(object, "kind"), everywhere[i]) != 0;
        if (spaced)
                json_object_set_new(json_object_get(object, "metadata"), "namespace", json_string(s->name));
        char *text = json_dumps(object, JSON_COMPACT);
        fake_put(f, "kubectl-create", text);
        free(text);
        json_decref(object);
}

static void put_workload(struct fake *f, const struct story *s, const struct step *step)
{
        const struct place *place = places;
        while (strcmp(place->kind, step->path) != 0)
                place++;
        json_t *spec = read_yaml(f, s, step->text), *pod = read_yaml(f, s, step->more);
        json_t *labels = json_pack("{s:s}", "app", step->field);
        json_object_set_new(spec, "selector", json_pack("{s:O}", "matchLabels", labels));
        json_object_set_new(spec, "template", json_pack("{s:{s:O}, s:o}", "metadata", "labels", labels, "spec", pod));
        put(f, s,
            json_pack("{s:s, s:s, s:{s:s, s:o}, s:o}", "apiVersion", place->api_version, "kind", place->kind,
                      "metadata", "name", step->field, "labels", labels, "spec", spec));
}

static void put_profile(struct fake *f, const struct story *s, const char *spec)
{
        put(f, s,
            json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "halflife.dev/v1alpha1", "kind", "Profile", "metadata",
                      "name", "team", "spec", read_yaml(f, s, spec)));
}

static void send(struct fake *f, const struct story *s, const struct step *step)
{
        AUTO(mem_free) char *path = story_path(s, step->path);
        json_t *j = step->text ? read_yaml(f, s, step->text) : NULL;
        char *body = j ? json_dumps(j, JSON_COMPACT) : NULL;
        int status = step->what == STEP_MERGE   ? fake_merge(f, path, "kubectl-edit", body)
                     : step->what == STEP_APPLY ? fake_apply(f, path, step->field, false, body)
                                                : fake_delete(f, path);
        if (status >= 300) {
                fprintf(stderr, "%s: %s %s: HTTP %d\n", s->name, path, body ? body : "(deleted)", status);
                abort();
        }
        json_decref(j);
        free(body);
}

void story_do(struct fake *f, struct story *s, const struct step *step)
{
        switch (step->what) {
        case STEP_PUT:
                put(f, s, read_yaml(f, s, step->text));
                break;
        case STEP_WORK:
                put_workload(f, s, step);
                break;
        case STEP_TEAM:
                put_profile(f, s, step->text);
                break;
        case STEP_USE:
                s->milli = step->count;
                s->mib = step->count2;
                break;
        case STEP_MERGE:
        case STEP_APPLY:
        case STEP_DELETE:
                send(f, s, step);
                break;
        case STEP_END:
        case STEP_CYCLES:
        case STEP_EXPECT:
        case STEP_CHECK:
        case STEP_CALL:
                abort();
        }
}

/* --- looking --- */

static bool is_so(const char *is, const char *want)
{
        switch (*want) {
        case '~':
                return strstr(is, want + 1);
        case '!':
                return strcmp(is, want + 1) != 0;
        default:
                return strcmp(is, want) == 0;
        }
}

bool story_is(struct fake *f, const struct story *s, const char *path, const char *field, const char *want,
              char **ret_is)
{
        AUTO(mem_free) char *where = story_path(s, path);
        AUTO(mem_free) char *expected = fill(f, s, want);
        AUTO(mem_free) char *text = fake_get(f, where);
        AUTO(json_decref) json_t *object = text ? json_loads(text, 0, NULL) : NULL;
        const char *is = *field ? pick_text(object, field) : object ? "there" : "-";
        if (ret_is)
                *ret_is = mem_string(is);
        return is_so(is, expected);
}

/* --- running --- */

static void explain(struct fake *f, struct story *s)
{
        const struct step *step = s->at;
        size_t number = (size_t)(step - s->steps) + 1;
        if (step->what == STEP_EXPECT || step->what == STEP_CHECK) {
                AUTO(mem_free) char *is = NULL;
                AUTO(mem_free) char *path = story_path(s, step->path);
                AUTO(mem_free) char *object = fake_get(f, path);
                (void)story_is(f, s, step->path, step->field, step->text, &is);
                s->failure = mem_printf("step %zu: %s of %s is '%s', not '%s'\n%s", number, step->field, step->path, is,
                                        step->text, object ? object : "(there is no such object)");
        } else {
                s->failure = mem_printf("step %zu: did not come to its end", number);
        }
}

/* One step if it can be made now. */
static bool advance(struct fake *f, struct story *s)
{
        const struct step *step = s->at;
        if (s->failure || step->what == STEP_END)
                return false;
        if (step->what == STEP_CYCLES) {
                if (!s->begun)
                        s->polls = fake_count(f, "list", polls);
                s->begun = true; /* one more than asked for: the one under way may have begun before */
                if (fake_count(f, "list", polls) < s->polls + (size_t)step->count + 1)
                        return false;
        } else if (step->what == STEP_CALL) {
                if (!step->call(f, s))
                        return false;
        } else if (step->what == STEP_EXPECT || step->what == STEP_CHECK) {
                if (!story_is(f, s, step->path, step->field, step->text, NULL)) {
                        if (step->what == STEP_CHECK)
                                explain(f, s);
                        return false;
                }
        } else {
                story_do(f, s, step);
        }
        s->begun = false;
        s->at++;
        return true;
}

struct moment {
        uint64_t version;
        size_t polls;
};

static struct moment moment_of(struct fake *f)
{
        return (struct moment){fake_version(f), fake_count(f, "list", polls)};
}

static bool moved_on(struct fake *f, void *arg)
{
        const struct moment *was = arg;
        struct moment is = moment_of(f);
        return is.version != was->version || is.polls != was->polls;
}

/* By the clock of test/pace a sleep ends when nobody works any more: what comes next does not race with anybody. */
static void settle(void)
{
        if (getenv("PACE"))
                usleep(1);
}

bool stories_run(struct fake *f, struct story *stories, size_t count, int64_t timeout_ms)
{
        int64_t deadline = mono_read().ns / 1000000 + timeout_ms;
        bool all = false;
        for (size_t i = 0; i < count; i++)
                stories[i].at = stories[i].at ? stories[i].at : stories[i].steps;
        while (!all) {
                settle();
                struct moment now = moment_of(f);
                int64_t left = deadline - mono_read().ns / 1000000;
                all = true;
                for (size_t i = 0; i < count; i++) {
                        while (advance(f, &stories[i]))
                                continue;
                        all &= stories[i].failure || stories[i].at->what == STEP_END;
                }
                if (!all && (left <= 0 || !fake_wait(f, moved_on, &now, left)))
                        break;
        }
        for (size_t i = 0; i < count; i++) {
                if (!stories[i].failure && stories[i].at->what != STEP_END)
                        explain(f, &stories[i]);
                all &= !stories[i].failure;
        }
        return all;
}

size_t story_events(struct fake *f, const struct story *s, const char *reason, const char *note)
{
        AUTO(mem_free) char *path = mem_printf("/apis/events.k8s.io/v1/namespaces/%s/events", s->name);
        AUTO(mem_free) char *text = fake_get(f, path);
        AUTO(json_decref) json_t *list = text ? json_loads(text, 0, NULL) : NULL;
        json_t *e;
        size_t i, count = 0;
        json_array_foreach(json_object_get(list, "items"), i, e)
        {
                const char *said = json_string_value(json_object_get(e, "reason"));
                const char *what = json_string_value(json_object_get(e, "note"));
                if (said && what && strcmp(said, reason) == 0 && strcmp(what, note) == 0)
                        count += json_object_get(e, "series") ? 2 : 1;
        }
        return count;
}

/* --- the cluster --- */

static struct {
        struct story *story;
        size_t count;
} cast;

/* Constant usage by the container's name; "app" uses what its story says. */
static bool usage(void *arg, const char *ns, const char *pod, const char *container, int64_t at_ms, int64_t *ret_nano,
                  int64_t *ret_bytes)
{
        static const struct {
                const char *container;
                int milli, mib;
        } others[] = {{"side", 40, 64}, {"helper", 80, 100}, {"idle", 0, 50}, {"blank", 40, 0}};
        int milli = 250, mib = 300;
        (void)arg, (void)pod, (void)at_ms;
        for (size_t i = 0; i < cast.count; i++)
                if (strcmp(ns, cast.story[i].name) == 0 && cast.story[i].mib) {
                        milli = cast.story[i].milli;
                        mib = cast.story[i].mib;
                }
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
                if (strcmp(container, others[i].container) == 0) {
                        milli = others[i].milli;
                        mib = others[i].mib;
                }
        *ret_nano = (int64_t)milli * 1000000;
        *ret_bytes = (int64_t)mib << 20;
        return mib >= 0;
}

void stories_metrics(struct fake *f, enum fake_metrics_mode mode)
{
        fake_set_metrics(f, &(struct fake_metrics){.mode = mode, .usage = usage, .step_ms = POLL_STEP_MS});
}

struct fake *stories_server(struct story *stories, size_t count)
{
        struct fake *f = fake_new(&(struct fake_options){.seed = 11});
        cast.story = stories;
        cast.count = count;
        if (!f || !fake_load(f, "crds"))
                abort();
        stories_metrics(f, FAKE_METRICS_ON);
        return f;
}

void story_release(struct story *s)
{
        mem_free(s->failure);
        mem_free(s->kept);
        s->failure = NULL;
        s->kept = NULL;
}

void story_play(struct fake *f, struct halflife *h, struct story *s, int64_t timeout_ms)
{
        bool good = stories_run(f, s, 1, timeout_ms);
        if (!good) {
                AUTO(mem_free) char *log = halflife_log(h);
                fprintf(stderr, "%s", log);
        }
        AUTO(mem_free) char *failure = mem_string(s->failure);
        story_release(s);
        s->at = NULL;
        if (failure)
                fail_msg("%s", failure);
}

void story_define_kind(struct fake *f, const char *group, const char *kind)
{
        AUTO(mem_free) char *one = mem_string(kind);
        for (char *p = one; *p; p++)
                *p = (char)tolower((unsigned char)*p);
        AUTO(mem_free)
        char *crd = mem_printf(
                "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{"
                "\"name\":\"%ss.%s\"},\"spec\":{\"group\":\"%s\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"%"
                "ss\","
                "\"singular\":\"%s\",\"kind\":\"%s\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]"
                "}}",
                one, group, group, one, one, kind);
        fake_put(f, "kubectl", crd);
}

static void test_story(void **state)
{
        const struct story *s = *state;
        if (s->failure)
                fail_msg("%s: %s", s->name, s->failure);
}

static void test_end(void **state)
{
        struct halflife *h = *state;
        int result = halflife_stop(h);
        if (result != 0)
                fail_msg("halflife ended with %d", result);
}

int stories_main(const char *group, struct story *stories, size_t count, const char *const *args,
                 void (*prepare)(struct fake *f))
{
        struct CMUnitTest *test = mem_new_array(count + 1, sizeof *test);
        struct fake *f = stories_server(stories, count);
        if (prepare)
                prepare(f);
        struct halflife *h = halflife_start(f, "stories.db", args);
        bool good = stories_run(f, stories, count, TOLD_MS);
        for (size_t i = 0; i < count; i++)
                test[i] = (struct CMUnitTest){
                        .name = stories[i].name, .test_func = test_story, .initial_state = &stories[i]};
        test[count] = (struct CMUnitTest){.name = "SIGTERM ends it", .test_func = test_end, .initial_state = h};
        int failed = _cmocka_run_group_tests(group, test, count + 1, NULL, NULL);
        if (failed || !good) {
                AUTO(mem_free) char *log = halflife_log(h);
                fprintf(stderr, "%s", log);
        }
        halflife_free(h);
        fake_free(f);
        for (size_t i = 0; i < count; i++)
                story_release(&stories[i]);
        mem_free(test);
        return failed;
}
