/*
 * Reviews as tables: the object that is admitted is the one sent with the patch applied, and it is what was meant.
 */
#include <gnutls/gnutls.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/yaml.h"
#include "deploy/admission_review.h"

#include "../../support/json_patch.h"

#define MI INT64_C(1048576)

enum { OPTED_FOR_POD, OPTED_FOR_WORKLOAD, OPTED_FOR_ROLLOUT, RECOMMENDED, PAUSED, HELD };

/* Namespace shop, Deployment web: original 2, learned target 440m; the profile selects tier=web. */
struct scene {
        struct profile_spec spec;
        struct selector selector;
        struct snapshot_profile profile;
        struct status_container known;
        struct snapshot_target target;
        struct snapshot_ns ns;
        struct snapshot *view;
        struct arena arena;
};

static void scene_init(struct scene *s, int mode)
{
        static const enum apply_mode modes[] = {APPLY_ON_DEPLOY, APPLY_ON_DEPLOY, APPLY_ROLLOUT,
                                                APPLY_RECOMMEND, APPLY_ON_DEPLOY, APPLY_ON_DEPLOY};
        memset(s, 0, sizeof *s);
        static char tier[] = "tier", web[] = "web", *values[] = {web};
        static struct requirement is_web = {tier, OP_IN, values, 1};
        s->selector = (struct selector){.of = &is_web, .count = 1};
        resource_policy_defaults(CPU, &s->spec.of[CPU]);
        resource_policy_defaults(MEMORY, &s->spec.of[MEMORY]);
        apply_policy_defaults(modes[mode], &s->spec.apply);
        s->spec.apply.at = mode == OPTED_FOR_WORKLOAD || mode == HELD ? AT_WORKLOAD : AT_POD;
        s->spec.apply.overcommit = OVERCOMMIT_STATIC_THEN_DYNAMIC;
        s->spec.of[CPU].static_factor = 500;
        s->spec.paused = mode == PAUSED;
        s->spec.selector = &s->selector;
        s->profile = (struct snapshot_profile){.name = "pool", .spec = &s->spec};
        s->known = (struct status_container){.name = "app", .state = STATE_READY};
        for (enum resource r = CPU; r < RESOURCES; r++)
                s->known.of[r] = (struct status_numbers){.original = -1,
                                                         .current = -1,
                                                         .model = 400,
                                                         .target = 440,
                                                         .lower = 380,
                                                         .upper = 610,
                                                         .applied = -1,
                                                         .learned = true};
        s->target = (struct snapshot_target){.ns = "shop",
                                             .group = "apps",
                                             .kind = "Deployment",
                                             .name = "web",
                                             .recommendation = "deployment-web",
                                             .labels = "tier\0web",
                                             .labels_size = sizeof "tier\0web",
                                             .state = STATE_READY,
                                             .profile = &s->profile,
                                             .hold = mode == HELD ? "halflife restore" : NULL,
                                             .containers = 1,
                                             .container = &s->known};
        s->ns = (struct snapshot_ns){.name = "shop", .labels = ""};
        s->view = snapshot_new();
        snapshot_add_profile(s->view, &s->profile);
        snapshot_add_target(s->view, &s->target);
        snapshot_add_ns(s->view, &s->ns);
        s->view->ready = true;
        snapshot_finish(s->view);
}

static void scene_release(struct scene *s)
{
        snapshot_drop(s->view);
        arena_release(&s->arena);
}

/* The response's patch, decoded; NULL: it has none. */
static json_t *patch_of(const json_t *review)
{
        const json_t *response = json_object_get(review, "response");
        const char *text = json_string_value(json_object_get(response, "patch"));
        assert_true(json_is_true(json_object_get(response, "allowed")));
        assert_string_equal(json_string_value(json_object_get(response, "uid")), "u-1");
        assert_true(!text == !json_object_get(response, "patchType"));
        if (!text)
                return NULL;
        gnutls_datum_t from = {(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)}, to;
        assert_int_equal(gnutls_base64_decode2(&from, &to), 0);
        json_t *patch = json_loadb((char *)to.data, to.size, 0, NULL);
        gnutls_free(to.data);
        assert_non_null(patch);
        return patch;
}

/* A webhook that is called again after another one must not report another result under the same key, as the API server
 * would warn each time. Patches and failures are reported; a review with nothing to do is not. */
static void expect_audit(const json_t *review, enum admission_result r)
{
        const json_t *response = json_object_get(review, "response");
        const json_t *audit = json_object_get(response, "auditAnnotations");
        bool warned = json_object_get(response, "warnings") != NULL;
        const char *key = r == ADMISSION_PATCHED ? "result" : warned ? "left-unchanged" : NULL;
        const char *said = key ? json_string_value(json_object_get(audit, key)) : NULL;
        if (json_object_size(audit) != (key != NULL) || (key && (!said || strcmp(said, admission_result_name(r)) != 0)))
                fail_msg("%s is told as %s '%s', with %zu in all", admission_result_name(r), key ? key : "nothing",
                         said ? said : "", json_object_size(audit));
}

/* Sends a review about YAML objects; the object as it is admitted. */
static json_t *admit(struct scene *s, const char *kind, const char *operation, const char *object, const char *old,
                     const struct admission_owner *owner, enum admission_result *ret)
{
        bool pod = strcmp(kind, "Pod") == 0;
        AUTO(json_decref) json_t *now = yaml_read(object, strlen(object), NULL);
        AUTO(json_decref) json_t *before = old ? yaml_read(old, strlen(old), NULL) : json_null();
        AUTO(json_decref)
        json_t *review =
                json_pack("{s:s, s:s, s:{s:s, s:{s:s, s:s, s:s}, s:s, s:s, s:{s:s}, s:O, s:O, s:b}}", "apiVersion",
                          "admission.k8s.io/v1", "kind", "AdmissionReview", "request", "uid", "u-1", "kind", "group",
                          pod ? "" : "apps", "version", "v1", "kind", kind, "namespace", "shop", "operation", operation,
                          "userInfo", "username", "jane", "object", now, "oldObject", before, "dryRun", 0);
        assert_non_null(review);
        json_t *name = json_object_get(json_object_get(now, "metadata"), "name");
        json_object_set_new(json_object_get(review, "request"), "name", name ? json_incref(name) : json_string(""));
        char *body = json_dumps(review, 0);
        struct admission r;
        struct err err = {0};
        struct buf out;
        buf_init(&out, 1 << 20);
        assert_int_equal(admission_read(text_of(body), &s->arena, &r, &err), 0);
        admission_answer(&r, s->view, owner, "system:serviceaccount:halflife:halflife", &s->arena, &out, ret);
        free(body);
        AUTO(json_decref) json_t *answer = json_loads(out.data, 0, NULL);
        assert_non_null(answer);
        expect_audit(answer, *ret);
        AUTO(json_decref) json_t *patch = patch_of(answer);
        assert_true(!patch == (*ret != ADMISSION_PATCHED));
        if (patch)
                assert_true(json_patch_apply(now, patch));
        buf_release(&out);
        return STEAL(&now);
}

static void expect_object(const char *name, const json_t *got, const char *want)
{
        AUTO(json_decref) json_t *meant = yaml_read(want, strlen(want), NULL);
        if (meant && json_equal(got, meant))
                return;
        char *text = json_dumps(got, JSON_INDENT(1));
        fail_msg("%s: admitted as\n%s", name, text);
}

/* --- pods --- */

#define OWNED           "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5, uid: x, controller: true}]"
#define POD(meta, spec) "metadata: {generateName: web-5-, labels: {tier: web}, " OWNED meta "}\nspec: {" spec "}\n"
#define BASIS           "halflife.dev/utilization-basis: request"
#define NOTES(original, applied)                                                                                       \
        ", annotations: {halflife.dev/original-resources: '{\"app\":{" original                                        \
        "}}', halflife.dev/applied-resources: '{\"app\":{\"requests\":{\"cpu\":\"" applied "\"}}}', " BASIS "}"

static const struct {
        const char *name;
        int mode;
        const char *pod, *want; /* want NULL: as it was */
        enum admission_result result;
} pods[] = {
        {"learned", OPTED_FOR_POD, POD("", "containers: [{name: app, resources: {requests: {cpu: 2}}}]"),
         POD(NOTES("\"requests\":{\"cpu\":\"2\"}", "440m"),
             "containers: [{name: app, resources: {requests: {cpu: 440m}}}]"),
         ADMISSION_PATCHED},
        {"again, after another webhook", OPTED_FOR_POD,
         POD(NOTES("\"requests\":{\"cpu\":\"2\"}", "440m"),
             "containers: [{name: app, resources: {requests: {cpu: 440m}}}]"),
         NULL, ADMISSION_STANDS},
        {"a limit without a request", OPTED_FOR_POD,
         POD("", "containers: [{name: app, resources: {limits: {cpu: 2}}}]"),
         POD(NOTES("\"limits\":{\"cpu\":\"2\"}", "440m"),
             "containers: [{name: app, resources: {limits: {cpu: 2}, requests: {cpu: 440m}}}]"),
         ADMISSION_PATCHED},
        {"a container that is injected starts by the static factor", OPTED_FOR_POD,
         POD("", "containers: [{name: proxy, resources: {requests: {cpu: 1}}}]"),
         POD(", annotations: {halflife.dev/original-resources: '{\"proxy\":{\"requests\":{\"cpu\":\"1\"}}}', "
             "halflife.dev/applied-resources: '{\"proxy\":{\"requests\":{\"cpu\":\"500m\"}}}', " BASIS "}",
             "containers: [{name: proxy, resources: {requests: {cpu: 500m}}}]"),
         ADMISSION_PATCHED},
        {"a native sidecar is one of the containers, an init container is not", OPTED_FOR_POD,
         POD("", "initContainers: [{name: init, resources: {requests: {cpu: 2}}}, "
                 "{name: app, restartPolicy: Always, resources: {requests: {cpu: 2}}}], containers: [{name: x}]"),
         POD(NOTES("\"requests\":{\"cpu\":\"2\"}", "440m"),
             "initContainers: [{name: init, resources: {requests: {cpu: 2}}}, "
             "{name: app, restartPolicy: Always, resources: {requests: {cpu: 440m}}}], containers: [{name: x}]"),
         ADMISSION_PATCHED},
        {"nothing asked for", OPTED_FOR_POD, POD("", "containers: [{name: app}]"), NULL, ADMISSION_STANDS},
        {"asks for less already", OPTED_FOR_POD,
         POD("", "containers: [{name: app, resources: {requests: {cpu: 100m}}}]"), NULL, ADMISSION_STANDS},
        {"paused", PAUSED, POD("", "containers: [{name: app, resources: {requests: {cpu: 2}}}]"), NULL,
         ADMISSION_STANDS},
        {"opted out", OPTED_FOR_POD,
         POD(", annotations: {halflife.dev/apply: Never}",
             "containers: [{name: app, resources: {requests: {cpu: 2}}}]"),
         NULL, ADMISSION_STANDS},
        {"paused: a pod whose owner left out the request gets what stands for it", PAUSED,
         POD(NOTES("\"limits\":{\"cpu\":\"2\"}", "440m"),
             "containers: [{name: app, resources: {limits: {cpu: 2}, requests: {cpu: 440m}}}]"),
         POD("", "containers: [{name: app, resources: {limits: {cpu: 2}, requests: {cpu: \"2\"}}}]"),
         ADMISSION_PATCHED},
        {"paused, what its template was once given is not its pods'", PAUSED,
         POD(NOTES("\"requests\":{\"cpu\":\"2\"}", "440m"),
             "containers: [{name: app, resources: {requests: {cpu: 2}}}]"),
         POD("", "containers: [{name: app, resources: {requests: {cpu: 2}}}]"), ADMISSION_PATCHED},
        {"it reads its request", OPTED_FOR_POD,
         POD("", "containers: [{name: app, resources: {requests: {cpu: 2}}, env: [{name: CPUS, valueFrom: "
                 "{resourceFieldRef: {resource: requests.cpu}}}]}]"),
         NULL, ADMISSION_STANDS},
        {"at Workload", OPTED_FOR_WORKLOAD, POD("", "containers: [{name: app, resources: {requests: {cpu: 2}}}]"), NULL,
         ADMISSION_OTHER_MODE},
        {"Rollout", OPTED_FOR_ROLLOUT, POD("", "containers: [{name: app, resources: {requests: {cpu: 2}}}]"), NULL,
         ADMISSION_OTHER_MODE},
        {"Recommend", RECOMMENDED, POD("", "containers: [{name: app, resources: {requests: {cpu: 2}}}]"), NULL,
         ADMISSION_OTHER_MODE},
        {"a bare pod", OPTED_FOR_POD,
         "metadata: {name: web, labels: {tier: web}}\nspec: {containers: [{name: app, resources: {requests: {cpu: "
         "2}}}]}\n",
         NULL, ADMISSION_NO_TARGET},
        {"a record that cannot be read", OPTED_FOR_POD,
         POD(", annotations: {halflife.dev/original-resources: '{}', halflife.dev/applied-resources: '{\"app\":7}'}",
             "containers: [{name: app, resources: {requests: {cpu: 440m}}}]"),
         NULL, ADMISSION_UNREADABLE},
        {"no quantity", OPTED_FOR_POD, POD("", "containers: [{name: app, resources: {requests: {cpu: two}}}]"), NULL,
         ADMISSION_UNREADABLE},
};

static void test_pods(void **state)
{
        (void)state;
        static const struct admission_owner web = {
                .group = TEXT("apps"), .kind = TEXT("Deployment"), .name = TEXT("web")};
        for (size_t i = 0; i < sizeof pods / sizeof *pods; i++) {
                struct scene s;
                enum admission_result o;
                scene_init(&s, pods[i].mode);
                bool bare = pods[i].result == ADMISSION_NO_TARGET;
                AUTO(json_decref) json_t *got = admit(&s, "Pod", "CREATE", pods[i].pod, NULL, bare ? NULL : &web, &o);
                if (o != pods[i].result)
                        fail_msg("%s: %s", pods[i].name, admission_result_name(o));
                expect_object(pods[i].name, got, pods[i].want ? pods[i].want : pods[i].pod);
                scene_release(&s);
        }
}

/* A pod of a target whose pods start with their originals gets the record of them alone, so that it is resized later.
 */
static void test_pods_that_start(void **state)
{
        (void)state;
#define RECORD(original) ", annotations: {halflife.dev/original-resources: '{\"app\":{" original "}}', " BASIS "}"
        static const struct {
                const char *name, *pod, *want; /* want NULL: the pod stands */
                bool is_static;                /* under InPlace, by the static factor */
        } row[] = {
                {"with its originals", POD("", "containers: [{name: app, resources: {requests: {cpu: 2}}}]"),
                 POD(RECORD("\"requests\":{\"cpu\":\"2\"}"),
                     "containers: [{name: app, resources: {requests: {cpu: 2}}}]"),
                 false},
                {"again, after another webhook",
                 POD(RECORD("\"requests\":{\"cpu\":\"2\"}"),
                     "containers: [{name: app, resources: {requests: {cpu: 2}}}]"),
                 NULL, false},
                {"with the values of a manifest that was lowered",
                 POD(NOTES("\"requests\":{\"cpu\":\"2\"}", "440m"),
                     "containers: [{name: app, resources: {requests: {cpu: 440m}}}]"),
                 POD(RECORD("\"requests\":{\"cpu\":\"2\"}"),
                     "containers: [{name: app, resources: {requests: {cpu: \"2\"}}}]"),
                 false},
                {"asks for less already", POD("", "containers: [{name: app, resources: {requests: {cpu: 100m}}}]"),
                 NULL, false},
                {"a resize would restart it",
                 POD("", "containers: [{name: app, resizePolicy: [{resourceName: cpu, restartPolicy: "
                         "RestartContainer}], resources: {requests: {cpu: 2}}}]"),
                 POD(NOTES("\"requests\":{\"cpu\":\"2\"}", "440m"),
                     "containers: [{name: app, resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}], "
                     "resources: {requests: {cpu: 440m}}}]"),
                 false},
                {"a resize of memory would restart it, which nothing lowers",
                 POD("", "containers: [{name: app, resizePolicy: [{resourceName: memory, restartPolicy: "
                         "RestartContainer}], resources: {requests: {cpu: 2}}}]"),
                 POD(RECORD("\"requests\":{\"cpu\":\"2\"}"),
                     "containers: [{name: app, resizePolicy: [{resourceName: memory, restartPolicy: "
                     "RestartContainer}], resources: {requests: {cpu: 2}}}]"),
                 false},
                {"by the static factor, which no resize sets",
                 POD("", "containers: [{name: app, resources: {requests: {cpu: 2}}}]"),
                 POD(NOTES("\"requests\":{\"cpu\":\"2\"}", "1"),
                     "containers: [{name: app, resources: {requests: {cpu: \"1\"}}}]"),
                 true},
                {"Guaranteed",
                 POD("", "containers: [{name: app, resources: {requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 2, "
                         "memory: 1Gi}}}]"),
                 POD(NOTES("\"requests\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"2\","
                           "\"memory\":\"1Gi\"}",
                           "440m"),
                     "containers: [{name: app, resources: {requests: {cpu: 440m, memory: 1Gi}, limits: {cpu: 2, "
                     "memory: 1Gi}}}]"),
                 false},
        };
        static const struct admission_owner web = {
                .group = TEXT("apps"), .kind = TEXT("Deployment"), .name = TEXT("web")};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scene s;
                enum admission_result o;
                scene_init(&s, OPTED_FOR_POD);
                s.target.decision.starts_original = true;
                if (row[i].is_static) {
                        s.spec.apply.mode = APPLY_IN_PLACE;
                        s.spec.apply.overcommit = OVERCOMMIT_STATIC;
                }
                AUTO(json_decref) json_t *got = admit(&s, "Pod", "CREATE", row[i].pod, NULL, &web, &o);
                if (o != (row[i].want ? ADMISSION_PATCHED : ADMISSION_STANDS))
                        fail_msg("%s: %s", row[i].name, admission_result_name(o));
                expect_object(row[i].name, got, row[i].want ? row[i].want : row[i].pod);
                scene_release(&s);
        }
#undef RECORD
}

/* The text with count elements, "l0: x, l1: x, " or "{name: c0}, {name: c1}, ", in place of its %. */
static char *many(const char *text, const char *element, int count)
{
        struct buf b;
        const char *at = strchr(text, '%');
        buf_init(&b, 1 << 16);
        buf_printf(&b, "%.*s", (int)(at - text), text);
        for (int i = 0; i < count; i++)
                buf_printf(&b, "%s%d%s", element, i, strchr(element, '{') ? "}, " : ": x, ");
        buf_add_text(&b, at + 1);
        return buf_steal(&b);
}

/* An object of which not all labels or containers are read gets its owner's values. */
static void test_what_is_cut_is_left_alone(void **state)
{
        (void)state;
#define ONE "{name: app, resources: {requests: {cpu: 2}}}"
        static const struct {
                const char *name, *kind, *text, *element;
                int count; /* with which as many are there as are read */
        } row[] = {
                {"labels of a pod", "Pod",
                 "metadata: {name: web-1, labels: {tier: web, %z: x}, " OWNED "}\nspec: {containers: [" ONE "]}\n", "l",
                 VIEW_LABELS - 2},
                {"containers of a pod", "Pod",
                 "metadata: {name: web-1, labels: {tier: web}, " OWNED "}\nspec: {containers: [%" ONE "]}\n",
                 "{name: c", VIEW_CONTAINERS - 1},
                {"labels of a workload", "Deployment",
                 "metadata: {name: web, labels: {tier: web, %z: x}}\nspec: {template: {spec: {containers: [" ONE
                 "]}}}\n",
                 "l", VIEW_LABELS - 2},
                {"labels of its template", "Deployment",
                 "metadata: {name: web, labels: {tier: web}}\nspec: {template: {metadata: {labels: {%l: x}}, spec: "
                 "{containers: [" ONE "]}}}\n",
                 "l", VIEW_LABELS - 1},
                {"containers of its template", "Deployment",
                 "metadata: {name: web, labels: {tier: web}}\nspec: {template: {spec: {containers: [%" ONE "]}}}\n",
                 "{name: c", VIEW_CONTAINERS - 1},
        };
        static const struct admission_owner web = {
                .group = TEXT("apps"), .kind = TEXT("Deployment"), .name = TEXT("web")};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                for (int more = 0; more <= 1; more++) {
                        bool pod = strcmp(row[i].kind, "Pod") == 0;
                        struct scene s;
                        enum admission_result o;
                        AUTO(mem_free) char *object = many(row[i].text, row[i].element, row[i].count + more);
                        scene_init(&s, pod ? OPTED_FOR_POD : OPTED_FOR_WORKLOAD);
                        json_decref(admit(&s, row[i].kind, "CREATE", object, NULL, pod ? &web : NULL, &o));
                        if (o != (more ? ADMISSION_STANDS : ADMISSION_PATCHED))
                                fail_msg("%s, %d more: %s", row[i].name, more, admission_result_name(o));
                        scene_release(&s);
                }
#undef ONE
}

#define ALONE(meta, cpu)                                                                                               \
        "metadata: {" meta "}\nspec: {containers: [{name: app, resources: {requests: {cpu: " cpu "}}}]}\n"

/* A pod that nobody owns stands for itself, under a profile of dimension Pod and by its own labels; what was learned is
 * of its name. */
static void test_pods_alone(void **state)
{
        (void)state;
        static const struct {
                const char *name, *pod, *cpu;
                bool never_written, gone;
                enum dimension dimension;
                enum admission_result result;
        } row[] = {
                {"admitted again", ALONE("name: web, labels: {tier: web}", "2"), "440m", false, false, DIMENSION_POD,
                 ADMISSION_PATCHED},
                {"and after it was deleted", ALONE("name: web, labels: {tier: web}", "2"), "440m", false, true,
                 DIMENSION_POD, ADMISSION_PATCHED},
                {"the first time", ALONE("name: fresh, labels: {tier: web}", "2"), "1", false, false, DIMENSION_POD,
                 ADMISSION_PATCHED},
                {"asks for less", ALONE("name: web, labels: {tier: web}", "400m"), "400m", false, false, DIMENSION_POD,
                 ADMISSION_STANDS},
                {"without the label", ALONE("name: web", "2"), "2", false, false, DIMENSION_POD, ADMISSION_NO_TARGET},
                {"without a name", ALONE("generateName: web-, labels: {tier: web}", "2"), "2", false, false,
                 DIMENSION_POD, ADMISSION_NO_TARGET},
                {"a pod of a workload was of that name", ALONE("name: web, labels: {tier: web}", "2"), "2", true, false,
                 DIMENSION_POD, ADMISSION_STANDS},
                {"a profile for workloads", ALONE("name: web, labels: {tier: web}", "2"), "2", false, false,
                 DIMENSION_WORKLOAD, ADMISSION_NO_TARGET},
                {"opted out", ALONE("name: web, labels: {tier: web}, annotations: {halflife.dev/apply: Never}", "2"),
                 "2", false, false, DIMENSION_POD, ADMISSION_STANDS},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scene s;
                enum admission_result o;
                scene_init(&s, OPTED_FOR_POD);
                s.spec.dimension = row[i].dimension;
                s.target.group = "";
                s.target.kind = "Pod";
                s.target.recommendation = "pod-web";
                s.target.labels_size = 0;
                s.target.decision.never_written = row[i].never_written;
                if (row[i].gone) {
                        s.target.state = s.known.state = STATE_STALE;
                        s.target.profile = NULL;
                }
                AUTO(json_decref) json_t *got = admit(&s, "Pod", "CREATE", row[i].pod, NULL, NULL, &o);
                json_t *app = json_array_get(json_object_get(json_object_get(got, "spec"), "containers"), 0);
                json_t *requests = json_object_get(json_object_get(app, "resources"), "requests");
                char *cpu = json_dumps(json_object_get(requests, "cpu"), JSON_ENCODE_ANY);
                const char *bare = cpu + (*cpu == '"');
                if (o != row[i].result || strncmp(bare, row[i].cpu, strlen(row[i].cpu)) != 0)
                        fail_msg("%s: %s, %s", row[i].name, admission_result_name(o), cpu);
                free(cpu);
                scene_release(&s);
        }
}

/* A review whose answer is ADMISSION_NOT_READY anyway costs no look-up. */
static void test_owners_are_looked_up_where_they_count(void **state)
{
        (void)state;
        static const struct {
                const char *ns;
                bool ready, wants;
        } row[] = {{"shop", true, true}, {"nowhere", true, false}, {"shop", false, false}};
        struct scene s;
        scene_init(&s, OPTED_FOR_POD);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const struct admission r = {
                        .operation = TEXT("CREATE"),
                        .ns = text_of(row[i].ns),
                        .group = TEXT(""),
                        .kind = TEXT("Pod"),
                        .owner = {.api_version = TEXT("apps/v1"), .kind = TEXT("ReplicaSet"), .name = TEXT("web-1")}};
                s.view->ready = row[i].ready;
                if (admission_wants_owner(&r, s.view) != row[i].wants)
                        fail_msg("row %zu: %d", i, !row[i].wants);
        }
        scene_release(&s);
}

static void test_owners_of_pods(void **state)
{
        (void)state;
        static const char pod[] = POD("", "containers: [{name: app, resources: {requests: {cpu: 2}}}]");
        static const struct label_pair tier[] = {{TEXT("tier"), TEXT("web")}};
        static const struct admission_owner fresh = {
                .group = TEXT("apps"), .kind = TEXT("Deployment"), .name = TEXT("new"), .label = tier, .labels = 1};
        static const struct admission_owner db = {
                .group = TEXT("apps"), .kind = TEXT("StatefulSet"), .name = TEXT("db")};
        static const struct admission_owner unseen = {
                .group = TEXT("apps"), .kind = TEXT("Deployment"), .name = TEXT("new"), .unseen = true};
        static const struct admission_owner unseen_but_known = {
                .group = TEXT("apps"), .kind = TEXT("Deployment"), .name = TEXT("web"), .unseen = true};
        static const char other[] = "metadata: {name: x-1, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, "
                                    "name: db, uid: x, controller: true}]}\n"
                                    "spec: {containers: [{name: app, resources: {requests: {cpu: 2}}}]}\n";
        struct scene s;
        enum admission_result o;
        scene_init(&s, OPTED_FOR_POD);
        json_decref(admit(&s, "Pod", "CREATE", pod, NULL, NULL, &o));
        assert_int_equal(o, ADMISSION_NO_OWNER);
        AUTO(json_decref)
        json_t *first = admit(&s, "Pod", "CREATE", pod, NULL, &fresh, &o); /* that nobody has seen yet */
        assert_int_equal(o, ADMISSION_PATCHED);
        char *text = json_dumps(first, 0);
        assert_non_null(strstr(text, "{\"cpu\": \"1\"}")); /* the static half, not what web has learned */
        free(text);
        json_decref(admit(&s, "Pod", "CREATE", other, NULL, NULL, &o)); /* what it says of itself nobody knows */
        assert_int_equal(o, ADMISSION_NO_OWNER);
        json_decref(admit(&s, "Pod", "CREATE", other, NULL, &db, &o)); /* no profile selects it */
        assert_int_equal(o, ADMISSION_NO_TARGET);
        json_decref(admit(&s, "Pod", "CREATE", pod, NULL, &unseen, &o)); /* nor of this one */
        assert_int_equal(o, ADMISSION_NO_OWNER);
        json_decref(admit(&s, "Pod", "CREATE", pod, NULL, &unseen_but_known, &o));
        assert_int_equal(o, ADMISSION_PATCHED);
        json_decref(admit(&s, "Pod", "UPDATE", pod, pod, &fresh, &o));
        assert_int_equal(o, ADMISSION_NO_TARGET);
        scene_release(&s);
}

/* --- workloads --- */

#define NO_NOTES ""
#define RECORD(original, applied)                                                                                      \
        "halflife.dev/original-resources: '{\"app\":{\"requests\":{\"cpu\":\"" original                                \
        "\"}}}', halflife.dev/applied-resources: '{\"app\":{\"requests\":{\"cpu\":\"" applied "\"}}}', " BASIS
#define WEB(meta, notes, cpu, more)                                                                                    \
        "metadata: {name: web, labels: {tier: web}" meta                                                               \
        "}\nspec: {replicas: 3, template: {metadata: {labels: {a: b}" notes                                            \
        "}, spec: {containers: [{name: app, image: v1, resources: {requests: {cpu: " cpu "}}" more "}]}}}\n"
#define STICKS(notes, cpu, more)                                                                                       \
        "metadata: {name: web, labels: {tier: web}}\nspec: {updateStrategy: {type: InPlaceOnly}, template: "           \
        "{metadata: "                                                                                                  \
        "{labels: {a: b}" notes "}, spec: {containers: [{name: app, resources: {requests: {cpu: " cpu "}}" more        \
        "}]}}}\n"
#define READS_CPU ", env: [{name: CPUS, valueFrom: {resourceFieldRef: {resource: requests.cpu}}}]"
#define COPY      ", annotations: {" RECORD("2", "440m") "}"
#define OURS      WEB(COPY, COPY, "440m", "")
#define OLDER     ", annotations: {" RECORD("2", "700m") "}"
/* as they were written before there was a third */
#define TWO                                                                                                            \
        ", annotations: {halflife.dev/original-resources: '{\"app\":{\"requests\":{\"cpu\":\"2\"}}}', "                \
        "halflife.dev/applied-resources: '{\"app\":{\"requests\":{\"cpu\":\"700m\"}}}'}"
#define BROKEN ", annotations: {halflife.dev/original-resources: '{', halflife.dev/applied-resources: nonsense}"

static const struct {
        const char *name;
        int mode;
        const char *old, *object, *want; /* old NULL: it is created; want NULL: as it was sent */
        enum admission_result result;
} workloads[] = {
        {"created", OPTED_FOR_WORKLOAD, NULL, WEB("", "", "2", ""), OURS, ADMISSION_PATCHED},
        {"created under Rollout", OPTED_FOR_ROLLOUT, NULL, WEB("", "", "2", ""), OURS, ADMISSION_PATCHED},
        {"it reads its request", OPTED_FOR_WORKLOAD, NULL, WEB("", "", "2", READS_CPU), NULL, ADMISSION_STANDS},
        {"it begins to read its request", OPTED_FOR_ROLLOUT, OURS, WEB(COPY, COPY, "440m", READS_CPU),
         WEB("", "", "\"2\"", READS_CPU), ADMISSION_PATCHED},
        {"at Pod", OPTED_FOR_POD, NULL, WEB("", "", "2", ""), NULL, ADMISSION_OTHER_MODE},
        {"its template is elsewhere, as with a Rollout's workloadRef", OPTED_FOR_WORKLOAD, NULL,
         "metadata: {name: web, labels: {tier: web}}\nspec: {workloadRef: {kind: Deployment, name: x}}\n", NULL,
         ADMISSION_NO_TARGET},
        {"only told", RECOMMENDED, NULL, WEB("", "", "2", ""), NULL, ADMISSION_OTHER_MODE},
        {"a change would stick there", OPTED_FOR_WORKLOAD, NULL, STICKS("", "2", ""), NULL, ADMISSION_OTHER_MODE},
        {"so would the owner's, put back", OPTED_FOR_WORKLOAD, STICKS(COPY, "440m", ""),
         STICKS(COPY, "440m", ", tty: true"), NULL, ADMISSION_OTHER_MODE},
        {"labelled", OPTED_FOR_WORKLOAD, OURS, WEB(", finalizers: [x]" COPY, COPY, "440m", ""), NULL, ADMISSION_KEPT},
        {"the same manifest applied again: requests reset, annotations kept", OPTED_FOR_WORKLOAD, OURS,
         WEB(COPY, COPY, "2", ""), OURS, ADMISSION_PATCHED},
        {"the same manifest, replaced: annotations gone as well", OPTED_FOR_WORKLOAD, OURS, WEB("", "", "2", ""), OURS,
         ADMISSION_PATCHED},
        {"in another spelling", OPTED_FOR_WORKLOAD, OURS, WEB("", "", "\"2\"", ""), OURS, ADMISSION_PATCHED},
        {"what stands stands, although more was learned since", OPTED_FOR_WORKLOAD, WEB(OLDER, OLDER, "700m", ""),
         WEB("", "", "2", ""), WEB(OLDER, OLDER, "700m", ""), ADMISSION_PATCHED},
        {"undone to a revision of ours: nothing of the owner's changed", OPTED_FOR_WORKLOAD, OURS,
         WEB(COPY, OLDER, "700m", ""), OURS, ADMISSION_PATCHED},
        {"what stands stands letter by letter", OPTED_FOR_WORKLOAD, WEB(TWO, TWO, "700m", ""), WEB("", "", "2", ""),
         WEB(TWO, TWO, "700m", ""), ADMISSION_PATCHED},
        {"a record that cannot be read: nobody knows the original", OPTED_FOR_WORKLOAD, NULL,
         WEB("", BROKEN, "440m", ""), NULL, ADMISSION_UNREADABLE},
        {"its owner mended it", OPTED_FOR_WORKLOAD, WEB("", BROKEN, "440m", ""), WEB("", "", "2", ""), OURS,
         ADMISSION_PATCHED},
        {"another image: a deploy", OPTED_FOR_WORKLOAD, WEB(OLDER, OLDER, "700m", ", tty: true"),
         WEB(OLDER, OLDER, "700m", ""), OURS, ADMISSION_PATCHED},
        {"another request of the owner's", OPTED_FOR_WORKLOAD, OURS, WEB(COPY, COPY, "1", ""),
         WEB(", annotations: {" RECORD("1", "440m") "}", ", annotations: {" RECORD("1", "440m") "}", "440m", ""),
         ADMISSION_PATCHED},
        {"the owner deploys with less: nothing is ours any more, so nothing says so", OPTED_FOR_WORKLOAD, OURS,
         WEB(COPY, COPY, "300m", ", tty: true"), WEB("", "", "300m", ", tty: true"), ADMISSION_PATCHED},
        {"never ours, and not a deploy", OPTED_FOR_WORKLOAD, WEB("", "", "2", ""),
         WEB(", finalizers: [x]", "", "2", ""), NULL, ADMISSION_KEPT},
        {"held: put back, and stays so", HELD, OURS, WEB("", "", "2", ""), NULL, ADMISSION_STANDS},
        {"held: what is ours stays while nobody deploys", HELD, OURS, WEB(", finalizers: [x]" COPY, COPY, "440m", ""),
         NULL, ADMISSION_STANDS},
        {"held: a deploy gets its owner's", HELD, OURS, WEB(COPY, COPY, "440m", ", tty: true"),
         WEB("", "", "\"2\"", ", tty: true"), ADMISSION_PATCHED},
        {"paused: a deploy gets its owner's", PAUSED, NULL, WEB("", "", "2", ""), NULL, ADMISSION_OTHER_MODE},
        {"written by another controller", OPTED_FOR_WORKLOAD, NULL,
         WEB(", ownerReferences: [{apiVersion: x/v1, kind: App, name: a, uid: u, controller: true}]", "", "2", ""),
         NULL, ADMISSION_NO_TARGET},
        {"not selected", OPTED_FOR_WORKLOAD, NULL,
         "metadata: {name: web}\nspec: {template: {spec: {containers: [{name: app}]}}}\n", NULL, ADMISSION_NO_TARGET},
        {"unreadable", OPTED_FOR_WORKLOAD, NULL,
         "metadata: {name: web}\nspec: {template: {spec: {containers: [{name: app}, 7]}}}\n", NULL,
         ADMISSION_UNREADABLE},
};

static void test_workloads(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
                struct scene s;
                enum admission_result o;
                scene_init(&s, workloads[i].mode);
                const char *old = workloads[i].old;
                AUTO(json_decref)
                json_t *got = admit(&s, "Deployment", old ? "UPDATE" : "CREATE", workloads[i].object, old, NULL, &o);
                if (o != workloads[i].result)
                        fail_msg("%s: %s", workloads[i].name, admission_result_name(o));
                expect_object(workloads[i].name, got, workloads[i].want ? workloads[i].want : workloads[i].object);
                /* Admitted once more as it came out, as reinvocation does: nothing changes. */
                if (o == ADMISSION_PATCHED) {
                        char *once = json_dumps(got, 0);
                        AUTO(json_decref)
                        json_t *twice = admit(&s, "Deployment", old ? "UPDATE" : "CREATE", once, old, NULL, &o);
                        assert_true(json_equal(got, twice));
                        assert_int_not_equal(o, ADMISSION_PATCHED);
                        free(once);
                }
                scene_release(&s);
        }
}

/* --- the envelope --- */

static void test_reviews(void **state)
{
        (void)state;
        static const struct {
                const char *body, *want;
        } row[] = {
                {"", "admission review"},
                {"[]", "is not admission.k8s.io/v1"},
                {"{\"apiVersion\":\"admission.k8s.io/"
                 "v1beta1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"x\"}}",
                 "'admission.k8s.io/v1beta1 AdmissionReview' is not"},
                {"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\"}", "request.uid is missing"},
                {"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":7}}",
                 "admission review: "},
                {"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"x\"}} x",
                 "admission review: "},
        };
        struct arena a = {0};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct admission r;
                struct err err = {0};
                assert_int_equal(admission_read(text_of(row[i].body), &a, &r, &err), ERR_INVALID);
                if (!strstr(err.text, row[i].want))
                        fail_msg("row %zu: %s", i, err.text);
        }
        arena_release(&a);
}

/* With half of the cluster read, an answer may be wrong: a hold or an opt-out may be in the other half. */
static void test_not_ready(void **state)
{
        (void)state;
        static const char deployment[] =
                "metadata: {name: web}\nspec: {template: {metadata: {labels: {tier: web}}, spec: {containers: [{name: "
                "app, resources: {requests: {cpu: 2}}}]}}}\n";
        const struct {
                const char *kind, *object;
                int mode;
        } row[] = {{"Pod", pods[0].pod, OPTED_FOR_POD}, {"Deployment", deployment, OPTED_FOR_WORKLOAD}};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                static const struct admission_owner web = {
                        .group = TEXT("apps"), .kind = TEXT("Deployment"), .name = TEXT("web")};
                struct scene s;
                enum admission_result o;
                scene_init(&s, row[i].mode);
                json_decref(admit(&s, row[i].kind, "CREATE", row[i].object, NULL, &web, &o));
                assert_int_equal(o, ADMISSION_PATCHED);
                s.view->ready = false;
                json_decref(admit(&s, row[i].kind, "CREATE", row[i].object, NULL, &web, &o));
                assert_int_equal(o, ADMISSION_NOT_READY);
                s.view->ready = true;
                s.ns.name = "another"; /* whether this one opted out, and what its LimitRanges say, nobody knows */
                json_decref(admit(&s, row[i].kind, "CREATE", row[i].object, NULL, &web, &o));
                assert_int_equal(o, ADMISSION_NOT_READY);
                scene_release(&s);
        }
}

#define ACCOUNT(name) "system:serviceaccount:halflife:" name

/* The controller writes templates, but a replica with another account may get the review. */
static const struct {
        const char *user, *manager, *own_user;
        bool own;
} writers[] = {
        {"me", "", "me", true},
        {"me", "kubectl", "me", true},
        {ACCOUNT("halflife"), "halflife", ACCOUNT("halflife-serve"), true},
        {ACCOUNT("halflife"), "kubectl", ACCOUNT("halflife-serve"), false}, /* another program in our namespace */
        {"system:serviceaccount:halflife-2:halflife", "halflife", ACCOUNT("halflife-serve"), false},
        {"system:serviceaccount:half:halflife", "halflife", ACCOUNT("halflife-serve"), false},
        {"jane", "halflife", ACCOUNT("halflife-serve"), false},
        {"jane", "halflife", "me", false},
        {ACCOUNT("halflife"), "halflife", NULL, true}, /* own user name not known yet: unchanged */
        {"jane", "kubectl", NULL, false},
};

static void test_own_writes_pass(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s, OPTED_FOR_WORKLOAD);
        for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
                struct admission r;
                enum admission_result o;
                struct buf out;
                AUTO(mem_free)
                char *body = mem_printf(
                        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":"
                        "\"a\\\"b\",\"kind\":{\"group\":\"apps\",\"version\":\"v1\",\"kind\":\"Deployment\"},"
                        "\"operation\":\"UPDATE\",\"options\":{\"kind\":\"PatchOptions\",\"fieldManager\":\"%s\"},"
                        "\"userInfo\":{\"groups\":[\"a\"],\"username\":\"%s\"},\"object\":{\"metadata\":{\"name\":"
                        "\"web\"}}}}",
                        writers[i].manager, writers[i].user);
                buf_init(&out, 1 << 16);
                assert_int_equal(admission_read(text_of(body), &s.arena, &r, NULL), 0);
                admission_answer(&r, s.view, NULL, writers[i].own_user, &s.arena, &out, &o);
                if ((o == ADMISSION_OWN) != writers[i].own)
                        fail_msg("%s by %s, and we are %s: %s", writers[i].user, writers[i].manager,
                                 writers[i].own_user ? writers[i].own_user : "unknown", out.data);
                assert_non_null(strstr(out.data, "\"uid\":\"a\\\"b\",\"allowed\":true"));
                buf_release(&out);
        }
        scene_release(&s);
}

/* A dry run that asks whether admission is called is answered, whatever is known; what would be stored is not. */
static void test_probes(void **state)
{
        (void)state;
        static const struct {
                const char *operation, *kind, *note, *dry, *user;
                bool ready, answered;
        } row[] = {
                {"CREATE", "Pod", "asked", "true", "jane", true, true},
                {"CREATE", "Pod", "asked", "true", "jane", false, true},
                {"CREATE", "Pod", "asked", "false", "jane", true, false},
                {"CREATE", "Pod", "answered", "true", "jane", true, false}, /* called again after another webhook */
                {"CREATE", "Pod", "other", "true", "jane", true, false},
                {"UPDATE", "Pod", "asked", "true", "jane", true, false},
                {"CREATE", "Deployment", "asked", "true", "jane", true, false},
                {"CREATE", "Pod", "asked", "true", "me", true, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scene s;
                struct admission r;
                enum admission_result o;
                struct buf out;
                scene_init(&s, OPTED_FOR_POD);
                s.view->ready = row[i].ready;
                AUTO(mem_free)
                char *body = mem_printf(
                        "{\"apiVersion\":\"admission.k8s.io/"
                        "v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u-1\","
                        "\"kind\":{\"group\":\"%s\",\"version\":\"v1\",\"kind\":\"%s\"},\"operation\":\"%s\","
                        "\"dryRun\":%s,"
                        "\"namespace\":\"shop\",\"userInfo\":{\"username\":\"%s\"},\"object\":{\"metadata\":{\"name\":"
                        "\"p\",\"annotations\":{\"halflife.dev/probe\":\"%s\"}}}}}",
                        strcmp(row[i].kind, "Pod") == 0 ? "" : "apps", row[i].kind, row[i].operation, row[i].dry,
                        row[i].user, row[i].note);
                buf_init(&out, 1 << 16);
                assert_int_equal(admission_read(text_of(body), &s.arena, &r, NULL), 0);
                admission_answer(&r, s.view, NULL, "me", &s.arena, &out, &o);
                AUTO(json_decref) json_t *review = json_loads(out.data, 0, NULL);
                AUTO(json_decref) json_t *patch = patch_of(review);
                const char *value = json_string_value(json_object_get(json_array_get(patch, 0), "value"));
                if ((o == ADMISSION_PROBED) != row[i].answered || (value != NULL) != row[i].answered ||
                    (value && strcmp(value, "answered") != 0))
                        fail_msg("row %zu: %s: %s", i, admission_result_name(o), out.data);
                buf_release(&out);
                scene_release(&s);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_pods),
                cmocka_unit_test(test_pods_that_start),
                cmocka_unit_test(test_what_is_cut_is_left_alone),
                cmocka_unit_test(test_pods_alone),
                cmocka_unit_test(test_owners_are_looked_up_where_they_count),
                cmocka_unit_test(test_owners_of_pods),
                cmocka_unit_test(test_workloads),
                cmocka_unit_test(test_reviews),
                cmocka_unit_test(test_not_ready),
                cmocka_unit_test(test_own_writes_pass),
                cmocka_unit_test(test_probes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
