/*
 * Specs from a table, every sample that is shipped, every broken profile that the API server must refuse.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file_read.h"
#include "base/yaml.h"
#include "objects/decode_profile.h"

#define MI INT64_C(1048576)

static int read_spec(const char *text, struct profile_spec *ret, struct err *err)
{
        struct err bad = {0};
        AUTO(json_decref) json_t *json = yaml_read(text, strlen(text), &bad);
        if (!json)
                fail_msg("%s: %s", text, bad.text);
        return profile_spec_read(json, ret, err);
}

static void read_good(const char *text, struct profile_spec *ret)
{
        struct err err = {0};
        if (read_spec(text, ret, &err) < 0)
                fail_msg("%s: %s", text, err.text);
}

static void assert_policy_equal(const struct resource_policy *a, const struct resource_policy *b)
{
        assert_int_equal(a->enabled, b->enabled);
        assert_int_equal(a->percentile, b->percentile);
        assert_int_equal(a->multiplier, b->multiplier);
        assert_int_equal(a->half_life_ms, b->half_life_ms);
        assert_int_equal(a->round_to, b->round_to);
        assert_int_equal(a->min, b->min);
        assert_int_equal(a->max, b->max);
        assert_int_equal(a->window_ms, b->window_ms);
        assert_int_equal(a->oom_hold_ms, b->oom_hold_ms);
        assert_int_equal(a->oom_bump, b->oom_bump);
        assert_int_equal(a->weekly_peak, b->weekly_peak);
        assert_int_equal(a->ignore_first_ms, b->ignore_first_ms);
}

static void test_defaults(void **state)
{
        (void)state;
        static const char *const empty[] = {"{}", "{resources: {cpu: {}, memory: null}, apply: {windows: []}}"};
        for (int i = 0; i < 2; i++) {
                struct profile_spec p;
                struct resource_policy want;
                read_good(empty[i], &p);
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        resource_policy_defaults(r, &want);
                        assert_policy_equal(&p.of[r], &want);
                }
                assert_int_equal(p.apply.mode, APPLY_RECOMMEND);
                assert_int_equal(p.apply.min_change_percent, 10);
                assert_int_equal(p.apply.cooldown_ms, 12 * HOUR_MS);
                assert_int_equal(p.budget_workloads, 10);
                assert_int_equal(p.budget_cores_per_hour, 50000);
                assert_int_equal(p.priority, 0);
                assert_null(p.selector);
                assert_null(p.namespace_selector);
                assert_false(p.paused || p.targets || p.containers || p.windows);
                profile_spec_release(&p);
        }
        struct profile_spec p;
        assert_int_equal(profile_spec_read(NULL, &p, NULL), 0); /* no spec at all: the schema sees to that */
        profile_spec_release(&p);
}

static const char whole[] =
        "namespaceSelector: {matchLabels: {team: a}}\n"
        "selector: {matchExpressions: [{key: app, operator: Exists}]}\n"
        "targets: [{apiVersion: apps/v1, kind: Deployment}, {apiVersion: v1, kind: ReplicationController}]\n"
        "dimension: Workload\n"
        "priority: -7\n"
        "overcommit: StaticThenDynamic\n"
        "static: {cpu: '0.5', memory: '0.001'}\n"
        "resources:\n"
        "  cpu: {enabled: false, percentile: 50, multiplier: '0.1', halfLife: 1m, roundTo: 50m, min: 0, max: '1.5',\n"
        "        ignoreFirst: 1h}\n"
        "  memory: {enabled: true, percentile: 100, multiplier: '100', halfLife: 720h, roundTo: 64Mi, min: 1.5Gi,\n"
        "           max: 1P, window: 1h30m, oomHold: 0s, oomBump: '1.05', weeklyPeak: true,\n"
        "           ignoreFirst: 90s}\n"
        "containers:\n"
        "- {name: app, resources: {cpu: {enabled: true, min: 200m}}}\n"
        "- {name: '*', mode: Ignore}\n"
        "apply:\n"
        "  mode: Rollout\n"
        "  hpa: Ignore\n"
        "  runtime: Ignore\n"
        "  minHistory: 0s\n"
        "  minChangePercent: 0\n"
        "  maxDecreasePercent: 100\n"
        "  minReplicas: 0\n"
        "  windows:\n"
        "  - {schedule: '0 2 * * 1-5', duration: 3h, timeZone: Europe/Berlin}\n"
        "  - {schedule: '*/5 * 1 jan *', duration: 168h}\n"
        "  budget: {workloads: 0, coresPerHour: 1000000}\n"
        "  keepGuaranteed: true\n"
        "  startup: {request: Original, until: Ready, after: 0s, most: 1m}\n"
        "paused: true\n";

static void test_every_field(void **state)
{
        (void)state;
        struct profile_spec p;
        read_good(whole, &p);
        assert_true(selector_names(p.namespace_selector, TEXT("team"), TEXT("a")));
        assert_false(selector_match(p.selector, NULL, 0));
        assert_int_equal(p.targets, 2);
        assert_string_equal(p.target[1].api_version, "v1");
        assert_string_equal(p.target[1].kind, "ReplicationController");
        assert_int_equal(p.priority, -7);
        assert_policy_equal(&p.of[CPU], &(struct resource_policy){.enabled = false,
                                                                  .percentile = 500,
                                                                  .multiplier = 100,
                                                                  .half_life_ms = MINUTE_MS,
                                                                  .round_to = 50,
                                                                  .min = 0,
                                                                  .max = 1500,
                                                                  .ignore_first_ms = HOUR_MS});
        assert_policy_equal(&p.of[MEMORY], &(struct resource_policy){.enabled = true,
                                                                     .percentile = 1000,
                                                                     .multiplier = 100000,
                                                                     .half_life_ms = INT64_C(720) * HOUR_MS,
                                                                     .round_to = 64 * MI,
                                                                     .min = 1536 * MI,
                                                                     .max = INT64_C(1000000000000000),
                                                                     .window_ms = 90 * MINUTE_MS,
                                                                     .oom_hold_ms = 0,
                                                                     .oom_bump = 1050,
                                                                     .weekly_peak = true,
                                                                     .ignore_first_ms = 90 * SECOND_MS});
        assert_int_equal(p.apply.mode, APPLY_ROLLOUT);
        assert_int_equal(p.apply.hpa, HPA_IGNORE);
        assert_int_equal(p.apply.runtime, RUNTIME_IGNORE);
        assert_int_equal(p.apply.min_history_ms, 0);
        assert_int_equal(p.apply.min_change_percent, 0);
        assert_int_equal(p.apply.max_decrease_percent, 100);
        assert_int_equal(p.apply.cooldown_ms, INT64_C(168) * HOUR_MS);
        assert_int_equal(p.apply.min_replicas, 0);
        assert_true(p.apply.keep_guaranteed);
        assert_int_equal(p.apply.startup.request, STARTUP_ORIGINAL);
        assert_int_equal(p.apply.startup.after_ms, 0);
        assert_int_equal(p.apply.startup.most_ms, MINUTE_MS);
        assert_int_equal(p.windows, 2);
        assert_int_equal(p.window[0].window.duration_ms, 3 * HOUR_MS);
        assert_int_equal(p.window[0].window.hours, 4);
        assert_string_equal(p.window[0].time_zone, "Europe/Berlin");
        assert_string_equal(p.window[1].time_zone, "UTC");
        assert_int_equal(p.window[1].window.months, 2);
        assert_int_equal(p.budget_workloads, 0);
        assert_int_equal(p.budget_cores_per_hour, INT64_C(1000000000));
        assert_true(p.paused);
        profile_spec_release(&p);
        profile_spec_release(&p);
}

static void test_containers(void **state)
{
        (void)state;
        struct profile_spec p;
        bool ignore = true;
        read_good(whole, &p);
        const struct resource_policy *app = profile_spec_container(&p, TEXT("app"), &ignore);
        assert_false(ignore);
        assert_true(app[CPU].enabled);
        assert_int_equal(app[CPU].min, 200);
        assert_int_equal(app[CPU].max, 1500); /* left out: the profile's */
        assert_policy_equal(&app[MEMORY], &p.of[MEMORY]);
        assert_ptr_equal(profile_spec_container(&p, TEXT("other"), &ignore), p.container[1].of);
        assert_true(ignore);
        p.containers = 1;
        assert_ptr_equal(profile_spec_container(&p, TEXT("other"), &ignore), p.of);
        assert_false(ignore);
        p.containers = 2;
        profile_spec_release(&p);
        /* overrides rest on the profile's resources, wherever these stand */
        read_good("{containers: [{name: a, resources: {cpu: {min: 20m}}}], resources: {cpu: {percentile: 90}}}", &p);
        assert_int_equal(p.container[0].of[CPU].percentile, 900);
        profile_spec_release(&p);
}

static void test_modes(void **state)
{
        (void)state;
        struct profile_spec p;
        read_good("{apply: {cooldown: 1h, mode: Rollout, guard: {watch: 20m}, canary: {percent: 5}}}", &p);
        assert_int_equal(p.apply.canary.percent, 5);
        assert_int_equal(p.apply.guard.watch_ms, 20 * MINUTE_MS);
        assert_true(p.apply.guard.enabled);
        assert_int_equal(p.apply.guard.restarts, 2);
        assert_int_equal(p.apply.min_change_percent, 20);
        assert_int_equal(p.apply.cooldown_ms, HOUR_MS);
        profile_spec_release(&p);
        read_good("{apply: {guard: {enabled: false, restarts: 0}}}", &p);
        assert_false(p.apply.guard.enabled);
        assert_int_equal(p.apply.guard.restarts, 0);
        profile_spec_release(&p);
        read_good("{apply: {mode: Recommend}, resources: {memory: {window: '0'}}}", &p);
        profile_spec_release(&p);
}

static void test_refused(void **state)
{
        (void)state;
        static const struct {
                const char *spec, *why;
        } row[] = {
                {"[]", "spec: is not an object"},
                {"{paus: true}",
                 "spec: unknown field 'paus': the fields are namespaceSelector, selector, dimension, targets"},
                {"{paused: 1}", "spec: paused: 1 is not true or false"},
                {"{priority: 1.5}", "spec: priority: 1.5 is not a whole number"},
                {"{priority: 1000001}", "priority: 1000001 is not"},
                {"{dimension: Cluster}", "dimension: \"Cluster\" is not Workload, Pod, Namespace or Node"},
                {"{dimension: Node, apply: {mode: InPlace}}", "spec: apply: mode: dimension Node only recommends"},
                {"{dimension: Node, targets: [{apiVersion: apps/v1, kind: Deployment}]}", "leave targets out"},
                {"{dimension: Node, namespaceSelector: {matchLabels: {a: b}}}", "a node belongs to no namespace"},
                {"{dimension: Namespace, apply: {mode: OnDeploy}}", "spec: apply: mode: dimension Namespace only"},
                {"{dimension: Pod, apply: {mode: Rollout}}", "spec: apply: mode: dimension Pod recommends"},
                {"{dimension: Pod, apply: {mode: OnDeploy, at: Workload}}", "OnDeploy with at: Pod"},
                {"{targets: [{apiVersion: v1, kind: Namespace}]}", "a Namespace is not a kind of workload"},
                {"{dimension: Namespace, targets: [{apiVersion: v1, kind: Namespace}]}", "a Namespace is not"},
                {"{overcommit: Off}", "overcommit: false is not Dynamic, Static or StaticThenDynamic"},
                {"{static: {cpu: '0'}}", "static: cpu: \"0\" is not a decimal in quotes above 0 and at most 1"},
                {"{static: {memory: '1.001'}}", "static: memory: \"1.001\" is not a decimal in quotes above 0"},
                {"{static: {cpu: 0.5}}", "static: cpu: 0.5 is not a decimal in quotes"},
                {"{static: {disk: '1'}}", "static: unknown field 'disk'"},
                {"{apply: {at: Deployment}}", "apply: at: \"Deployment\" is not Pod or Workload"},
                {"{selector: []}", "selector: is not an object"},
                {"{namespaceSelector: {matchLabels: {a: 1}}}", "namespaceSelector: matchLabels: a value for 'a'"},
                {"{targets: {}}", "targets: is not a list"},
                {"{targets: [apps/v1]}", "targets: [0]: is not an object"},
                {"{targets: [{kind: Deployment}]}", "targets: [0]: apiVersion or kind is missing"},
                {"{targets: [{apiVersion: apps/v1}]}", "targets: [0]: apiVersion or kind is missing"},
                {"{targets: [{apiVersion: apps, kind: X}]}", "apiVersion: \"apps\" is not a group and a version"},
                {"{targets: [{apiVersion: /v1, kind: X}]}", "apiVersion: \"/v1\" is not"},
                {"{targets: [{apiVersion: a/b/v1, kind: X}]}", "is not a group"},
                {"{targets: [{apiVersion: v, kind: X}]}", "is not a group"},
                {"{targets: [{apiVersion: apps/v1, kind: deployments}]}",
                 "kind: \"deployments\" is not the kind's own"},
                {"{targets: [{apiVersion: v1, kind: Pod}]}", "a Pod has no template"},
                {"{targets: [{apiVersion: v1, kind: A}, {apiVersion: v1, kind: A}]}",
                 "targets: [1]: v1 A is listed twice"},
                {"{targets: [{apiVersion: v1, kind: A, name: x}]}", "unknown field 'name'"},
                {"{resources: {gpu: {}}}", "resources: unknown field 'gpu': the fields are cpu, memory"},
                {"{resources: {cpu: 7}}", "resources: cpu: is not an object"},
                {"{resources: {cpu: {window: 1h}}}", "cpu: unknown field 'window'"},
                {"{resources: {cpu: {percentile: 49}}}", "percentile: 49 is not a whole number from 50 to 100"},
                {"{resources: {cpu: {multiplier: 1.1}}}", "multiplier: 1.1 is not a decimal in quotes"},
                {"{resources: {cpu: {multiplier: '1.1234'}}}", "multiplier: \"1.1234\" is not"},
                {"{resources: {cpu: {multiplier: '.5'}}}", "multiplier"},
                {"{resources: {cpu: {multiplier: '5.'}}}", "multiplier"},
                {"{resources: {cpu: {multiplier: '0.099'}}}", "multiplier"},
                {"{resources: {cpu: {multiplier: '100.001'}}}", "multiplier"},
                {"{resources: {cpu: {multiplier: '1e1'}}}", "multiplier"},
                {"{resources: {cpu: {halfLife: 24}}}", "halfLife: 24 is not a duration from 1m to 720h"},
                {"{resources: {cpu: {halfLife: 3d}}}", "there are no days"},
                {"{resources: {cpu: {halfLife: 59s}}}", "halfLife"},
                {"{resources: {cpu: {halfLife: 60000000us}}}", "halfLife"},
                {"{resources: {cpu: {halfLife: -1h}}}", "halfLife"},
                {"{resources: {cpu: {roundTo: 0}}}", "roundTo: 0 is not"},
                {"{resources: {cpu: {min: 1.5m}}}", "min: \"1.5m\" is not"},
                {"{resources: {cpu: {min: 0.0001}}}", "min"},
                {"{resources: {cpu: {min: -1}}}", "min: -1 is not"},
                {"{resources: {cpu: {min: 1n}}}", "min"},
                {"{resources: {cpu: {min: 1k}}}", "min"},
                {"{resources: {cpu: {max: 100000}}}", "max"},
                {"{resources: {cpu: {max: 5m}}}", "cpu: min (10m) is above max (5m): lower min or raise max"},
                {"{resources: {memory: {min: 1Gi, max: 1G}}}", "memory: min (1Gi) is above max (1000000000)"},
                {"{resources: {memory: {min: 64m}}}", "m means thousandths"},
                {"{resources: {memory: {min: 64mi}}}", "min"},
                {"{resources: {memory: {max: 2P}}}", "max"},
                {"{resources: {memory: {window: 30s}}}", "window: \"30s\" is not 0s"},
                {"{resources: {memory: {window: 721h}}}", "window"},
                {"{resources: {memory: {oomBump: '0.9'}}}", "oomBump"},
                {"{resources: {memory: {weeklyPeak: 'true'}}}", "weeklyPeak: \"true\" is not true or false"},
                {"{resources: {cpu: {weeklyPeak: true}}}", "weeklyPeak"},
                {"{resources: {cpu: {ignoreFirst: 61m}}}", "ignoreFirst: \"61m\" is not a duration from 0s to 1h"},
                {"{resources: {memory: {ignoreFirst: -1s}}}", "ignoreFirst: \"-1s\" is not a duration from 0s to 1h"},
                {"{resources: {memory: {ignoreFirst: 300}}}", "ignoreFirst: 300 is not"},
                {"{containers: [{name: a, resources: {cpu: {ignoreFirst: 1d}}}]}", "there are no days"},
                {"{apply: {canary: {percent: 0}}}", "canary: percent"},
                {"{apply: {canary: {percent: 101}}}", "canary: percent"},
                {"{apply: {guard: {watch: 900ms}}}", "guard: watch"},
                {"{apply: {startup: {request: original}}}", "startup: request: \"original\" is not Target or Original"},
                {"{apply: {startup: {until: Started}}}", "startup: until: \"Started\" is not Ready"},
                {"{apply: {startup: {after: 61m}}}", "startup: after: \"61m\" is not a duration from 0s to 1h"},
                {"{apply: {startup: {most: 59s}}}", "startup: most: \"59s\" is not a duration from 1m to 24h"},
                {"{apply: {startup: {most: 25h}}}", "startup: most"},
                {"{containers: [{mode: Auto}]}", "containers: [0]: name is missing"},
                {"{containers: [{name: Web}]}", "name: \"Web\" is not one container's name"},
                {"{containers: [{name: 'web-*'}]}", "it is no pattern"},
                {"{containers: [{name: '-'}]}", "name: \"-\" is not"},
                {"{containers: [{name: a}, {name: a}]}", "containers: [1]: 'a' is listed twice"},
                {"{containers: [{name: a, mode: Off}]}", "mode: false is not Auto or Ignore"},
                {"{containers: [{name: a, resources: {cpu: {max: 5m}}}]}",
                 "resources: cpu: min (10m) is above max (5m)"},
                {"{apply: []}", "apply: is not an object"},
                {"{apply: {mode: rollout}}", "apply: mode: \"rollout\" is not Recommend, OnDeploy, Rollout or InPlace"},
                {"{apply: {runtime: respect}}", "apply: runtime: \"respect\" is not Respect or Ignore"},
                {"{apply: {hpa: Fight}}", "apply: hpa: \"Fight\" is not Hold, Ignore, Retune or LimitBasis"},
                {"{apply: {maxDecreasePercent: 0}}", "maxDecreasePercent: 0 is not a whole number from 1 to 100"},
                {"{apply: {budget: 7}}", "apply: budget: is not an object"},
                {"{apply: {budget: {coresPerHour: 1000001}}}", "budget: coresPerHour"},
                {"{apply: {windows: [{duration: 1h}]}}", "windows: [0]: schedule is missing"},
                {"{apply: {windows: [{schedule: '* * * * *'}]}}", "windows: [0]: duration is missing"},
                {"{apply: {windows: [{schedule: 7, duration: 1h}]}}", "schedule: 7 is not five cron fields"},
                {"{apply: {windows: [{schedule: '0 2 * *', duration: 1h}]}}", "has the wrong number of fields"},
                {"{apply: {windows: [{schedule: '0 2 * * fri-mon', duration: 1h}]}}",
                 "'0 2 * * fri-mon', field 5, is not the day of the week"},
                {"{apply: {windows: [{schedule: '0 2 * * *', duration: 1h, timeZone: '+02:00'}]}}", "timeZone"},
                {"{apply: {windows: [{schedule: '0 2 * * *', duration: 1h, timeZone: Local}]}}", "timeZone"},
                {"{apply: {windows: [{schedule: '0 2 * * *', duration: 1h, timeZone: ../passwd}]}}", "timeZone"},
                {"{apply: {windows: [{schedule: '0 2 * * *', duration: 169h}]}}", "duration"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct profile_spec p = {.priority = 77};
                struct err err = {0};
                if (read_spec(row[i].spec, &p, &err) != ERR_INVALID || !strstr(err.text, row[i].why) ||
                    p.priority != 77)
                        fail_msg("%s: '%s', not '%s'", row[i].spec, err.text, row[i].why);
                assert_int_equal(read_spec(row[i].spec, &p, NULL), ERR_INVALID);
        }
}

static void test_too_many(void **state)
{
        (void)state;
        static const struct {
                const char *head, *element, *tail;
                int most;
        } row[] = {
                {"{targets: [", "{apiVersion: v1, kind: K%d}", "]}", PROFILE_TARGETS},
                {"{containers: [", "{name: c%d}", "]}", PROFILE_CONTAINERS},
                {"{apply: {windows: [", "{schedule: '%d * * * *', duration: 1h}", "]}}", PROFILE_WINDOWS},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                for (int over = 0; over < 2; over++) {
                        char text[4096];
                        size_t len = (size_t)snprintf(text, sizeof text, "%s", row[i].head);
                        for (int k = 0; k < row[i].most + over; k++) {
                                char element[64];
                                const char *gap = strstr(row[i].element, "%d");
                                snprintf(element, sizeof element, "%.*s%d%s", (int)(gap - row[i].element),
                                         row[i].element, k, gap + 2);
                                len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", k ? ", " : "", element);
                        }
                        snprintf(text + len, sizeof text - len, "%s", row[i].tail);
                        struct profile_spec p = {0};
                        struct err err = {0};
                        assert_int_equal(read_spec(text, &p, &err), over ? ERR_INVALID : 0);
                        profile_spec_release(&p);
                }
}

/* --- files ------------------------------------------------------------------------------------------------------- */

static json_t *read_documents(const char *dir, const char *name)
{
        char path[512];
        size_t len;
        struct err err = {0};
        snprintf(path, sizeof path, "%s/%s", dir, name);
        AUTO(mem_free) char *text = file_read(path, 1 << 20, &len, &err);
        json_t *documents = text ? yaml_read_all(text, len, &err) : NULL;
        if (!documents)
                fail_msg("%s: %s", path, err.text);
        return documents;
}

static bool is_yaml(const char *name)
{
        size_t len = strlen(name);
        return len > 5 && strcmp(name + len - 5, ".yaml") == 0;
}

static int each_profile(const char *dir, void check(const char *file, const json_t *profile))
{
        int n = 0;
        DIR *d = opendir(dir);
        assert_non_null(d);
        for (struct dirent *e; (e = readdir(d));) {
                if (!is_yaml(e->d_name))
                        continue;
                AUTO(json_decref) json_t *documents = read_documents(dir, e->d_name);
                for (size_t i = 0; i < json_array_size(documents); i++) {
                        const json_t *profile = json_array_get(documents, i);
                        const char *kind = json_string_value(json_object_get(profile, "kind"));
                        if (kind && strstr(kind, "Profile")) {
                                check(e->d_name, profile);
                                n++;
                        }
                }
        }
        closedir(d);
        return n;
}

static void check_sample(const char *file, const json_t *profile)
{
        struct profile_spec p;
        struct err err = {0};
        if (profile_spec_read(json_object_get(profile, "spec"), &p, &err) < 0)
                fail_msg("%s: %s", file, err.text);
        profile_spec_release(&p);
}

/* Two faults are of the object, not of its spec. */
static void check_broken(const char *file, const json_t *profile)
{
        struct profile_spec p;
        struct err err = {0};
        if (strcmp(file, "no-spec.yaml") == 0 || strcmp(file, "profile-namespace-selector.yaml") == 0)
                return;
        if (profile_spec_read(json_object_get(profile, "spec"), &p, &err) != ERR_INVALID)
                fail_msg("%s was read", file);
        assert_memory_equal(err.text, "spec: ", 6);
}

static void test_samples(void **state)
{
        (void)state;
        assert_true(each_profile("manifests/samples", check_sample) >= 10);
}

static void test_broken_profiles(void **state)
{
        (void)state;
        assert_true(each_profile("test/data/profiles-broken", check_broken) >= 25);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_defaults),   cmocka_unit_test(test_every_field),
                cmocka_unit_test(test_containers), cmocka_unit_test(test_modes),
                cmocka_unit_test(test_refused),    cmocka_unit_test(test_too_many),
                cmocka_unit_test(test_samples),    cmocka_unit_test(test_broken_profiles),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
