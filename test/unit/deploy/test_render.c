/*
 * Renderings as tables: texts as people write them go in, the same bytes come out but for what the row tells. Whatever
 * comes out renders to itself.
 */
#include <dirent.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

#include "../../support/slowed.h"
#include "base/file_read.h"
#include "base/yaml.h"
#include "deploy/render.h"
#include "manifest/document.h"

enum { OUT_MAX = 64 << 20 };

enum { ON_DEPLOY_POD, ON_DEPLOY_WORKLOAD, ROLLOUT, RECOMMEND, PAUSED, WITH_MEMORY, LIMIT_BASED, SCENES };

/*
 * Namespaces shop, bank and kube-system. A ClusterProfile selects tier=web of all kinds and names Widgets and Jobs as
 * well, static CPU 0.5; Deployment web is learned (440m), Deployment kept is held by a person, hpa'd is scaled.
 */
struct scene {
        struct profile_spec spec;
        struct selector selector;
        struct snapshot_profile profile;
        struct status_container known;
        struct snapshot_target web, kept;
        struct snapshot_ns ns[2];
        struct snapshot_hpa hpa;
        struct snapshot *view;
};

static struct snapshot_target target_of(struct scene *s, const char *name, const char *recommendation)
{
        return (struct snapshot_target){.ns = "shop",
                                        .group = "apps",
                                        .kind = "Deployment",
                                        .name = name,
                                        .recommendation = recommendation,
                                        .labels = "",
                                        .state = STATE_READY,
                                        .profile = &s->profile,
                                        .containers = 1,
                                        .container = &s->known};
}

static void spec_init(struct profile_spec *p, int mode)
{
        static const enum apply_mode modes[SCENES] = {
                [ON_DEPLOY_POD] = APPLY_ON_DEPLOY, [ON_DEPLOY_WORKLOAD] = APPLY_ON_DEPLOY,
                [ROLLOUT] = APPLY_ROLLOUT,         [RECOMMEND] = APPLY_RECOMMEND,
                [PAUSED] = APPLY_ON_DEPLOY,        [WITH_MEMORY] = APPLY_ON_DEPLOY,
                [LIMIT_BASED] = APPLY_ON_DEPLOY};
        static const char *const named[][2] = {
                {"apps/v1", "Deployment"}, {"apps/v1", "StatefulSet"},   {"batch/v1", "CronJob"}, {"batch/v1", "Job"},
                {"apps/v1", "ReplicaSet"}, {"example.com/v2", "Widget"}, {"apps/v1", "DaemonSet"}};
        resource_policy_defaults(CPU, &p->of[CPU]);
        resource_policy_defaults(MEMORY, &p->of[MEMORY]);
        apply_policy_defaults(modes[mode], &p->apply);
        p->apply.at = mode == ON_DEPLOY_WORKLOAD ? AT_WORKLOAD : AT_POD;
        if (mode == LIMIT_BASED)
                p->apply.hpa = HPA_LIMIT_BASIS;
        p->apply.overcommit = OVERCOMMIT_STATIC_THEN_DYNAMIC;
        p->of[CPU].static_factor = 500;
        p->of[MEMORY].static_factor = 250;
        p->of[MEMORY].enabled = mode == WITH_MEMORY;
        p->paused = mode == PAUSED;
        static struct profile_target target[sizeof named / sizeof *named];
        for (size_t i = 0; i < sizeof named / sizeof *named; i++)
                target[i] = (struct profile_target){(char *)(uintptr_t)named[i][0], (char *)(uintptr_t)named[i][1]};
        p->target = target;
        p->targets = sizeof named / sizeof *named;
}

static void scene_init(struct scene *s, int mode)
{
        memset(s, 0, sizeof *s);
        spec_init(&s->spec, mode);
        static char tier[] = "tier", web[] = "web", *values[] = {web};
        static struct requirement is_web = {tier, OP_IN, values, 1};
        s->selector = (struct selector){.of = &is_web, .count = 1};
        s->spec.selector = &s->selector;
        s->profile = (struct snapshot_profile){.name = "pool", .spec = &s->spec};
        s->known = (struct status_container){.name = "app", .state = STATE_READY};
        s->known.of[CPU] = (struct status_numbers){.original = -1,
                                                   .current = -1,
                                                   .model = 400,
                                                   .target = 440,
                                                   .lower = 380,
                                                   .upper = 610,
                                                   .applied = -1,
                                                   .learned = true};
        s->known.of[MEMORY] = (struct status_numbers){
                .original = -1, .current = -1, .model = -1, .target = -1, .lower = -1, .upper = -1, .applied = -1};
        s->web = target_of(s, "web", "deployment-web");
        s->kept = target_of(s, "kept", "deployment-kept");
        s->kept.hold = "a sale";
        s->kept.state = STATE_HELD;
        s->ns[0] = (struct snapshot_ns){.name = "shop", .labels = ""};
        s->ns[1] = (struct snapshot_ns){.name = "small", .labels = "", .range_min = {{true, 1500}, {false, 0}}};
        s->hpa = (struct snapshot_hpa){
                .ns = "shop", .group = "apps", .kind = "Deployment", .name = "scaled", .utilization = {true, false}};
        s->view = snapshot_new();
        snapshot_add_profile(s->view, &s->profile);
        snapshot_add_target(s->view, &s->web);
        snapshot_add_target(s->view, &s->kept);
        snapshot_add_ns(s->view, &s->ns[0]);
        snapshot_add_ns(s->view, &s->ns[1]);
        s->view->hpa = &s->hpa;
        s->view->hpas = 1;
        snapshot_finish(s->view);
}

/* The text after rendering; "" and the report are told where it fails. */
struct rendered {
        struct render *r;
        struct buf out;
        struct err err;
};

static struct rendered rendered(const struct snapshot *v, struct text in, const char *ns, bool one_ns)
{
        struct rendered to = {.r = render_new(&(struct render_options){text_of(ns), one_ns})};
        buf_init(&to.out, OUT_MAX);
        if (render_add(to.r, in, &to.err) < 0)
                return to;
        render_run(to.r, v);
        assert_int_equal(render_write(to.r, 0, &to.out, &to.err), 0);
        return to;
}

static void rendered_release(struct rendered *r)
{
        render_free(r->r);
        buf_release(&r->out);
}

/* --- what becomes of one object --- */

#define HEAD(kind, name) "apiVersion: apps/v1\nkind: " kind "\nmetadata:\n  name: " name "\n  labels: {tier: web}\n"
#define OWN_NOTES(indent, original, applied)                                                                           \
        indent "annotations:\n" indent "  halflife.dev/original-resources: '{\"app\":{\"requests\":{" original         \
               "}}}'\n" indent "  halflife.dev/applied-resources: '{\"app\":{\"requests\":{" applied "}}}'\n"
#define NOTES(indent, original, applied)                                                                               \
        OWN_NOTES(indent, original, applied) indent "  halflife.dev/utilization-basis: \"request\"\n"
#define SPEC(requests)                                                                                                 \
        "    spec:\n      containers:\n      - name: app\n        resources:\n          requests:\n" requests
#define CPU_IS(value) "            cpu: " value "\n"
#define PLAIN(kind, name, value)                                                                                       \
        HEAD(kind, name) "spec:\n  template:\n    metadata:\n      labels: {a: b}\n" SPEC(CPU_IS(value))
#define LOWERED(kind, name, was, value) LOWERED_TO(kind, name, was, value, value)
#define LOWERED_TO(kind, name, was, value, written)                                                                    \
        HEAD(kind, name)                                                                                               \
        NOTES("  ", "\"cpu\":\"" was "\"", "\"cpu\":\"" value "\"")                                                    \
        "spec:\n  template:\n    metadata:\n      labels: {a: b}\n" NOTES(                                             \
                "      ", "\"cpu\":\"" was "\"", "\"cpu\":\"" value "\"") SPEC(CPU_IS(written))
/* What follows the requests of a container whose heap begins with 512 MiB. */
#define HEAP "        args: [-Xms512m, -jar, a.jar]\n"
/* A volume with a file by which a container's request or limit is read. */
#define READS(container, field, divisor)                                                                               \
        "      volumes: [{name: info, downwardAPI: {items: [{path: it, resourceFieldRef: {containerName: " container   \
        ", resource: " field ", divisor: " divisor "}}]}}]\n"
#define WEB PLAIN("Deployment", "web", "2 # as ever")
#define VPA(mode)                                                                                                      \
        "apiVersion: autoscaling.k8s.io/v1\nkind: VerticalPodAutoscaler\nspec:\n  targetRef: {apiVersion: apps/v1, "   \
        "kind: "                                                                                                       \
        "Deployment, name: web}\n  updatePolicy: {updateMode: " mode "}\n"
#define LEFT(container, of) "  resourcePolicy:\n    containerPolicies:\n" LEFT_TOO(container, of)
#define LEFT_TOO(container, of)                                                                                        \
        "    - containerName: " container "\n      controlledResources: [" of                                          \
        "]\n      controlledValues: RequestsOnly\n"
#define ALL_OFF   "  resourcePolicy: {containerPolicies: [{containerName: '*', mode: 'Off'}]}\n"
#define HPA(more) "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\nspec:\n" more "\n"
#define REF(name) "  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: " name "}\n"
#define RUNS_WEB                                                                                                       \
        "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: r}\n"                                       \
        "spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n"
#define UTILIZED(resource)                                                                                             \
        "  metrics:\n  - type: Resource\n    resource: {name: " resource ", target: {type: Utilization}}\n"

static const struct {
        const char *name;
        int mode;
        const char *in, *out; /* out NULL: as it was */
        const char *reason;   /* of the last row; NULL: changed; "": there is no row */
} row[] = {
        {"learned", ON_DEPLOY_POD, WEB, LOWERED_TO("Deployment", "web", "2", "440m", "440m # as ever"), NULL},
        {"learned, at Workload", ON_DEPLOY_WORKLOAD, PLAIN("Deployment", "web", "2"),
         LOWERED("Deployment", "web", "2", "440m"), NULL},
        {"learned, Rollout", ROLLOUT, PLAIN("Deployment", "web", "2"), LOWERED("Deployment", "web", "2", "440m"), NULL},
        {"of the limit: the basis is its owner's", LIMIT_BASED, PLAIN("Deployment", "web", "2"),
         HEAD("Deployment", "web") OWN_NOTES(
                 "  ", "\"cpu\":\"2\"", "\"cpu\":\"440m\"") "spec:\n  template:\n    metadata:\n      labels: {a: "
                                                            "b}\n" OWN_NOTES("      ", "\"cpu\":\"2\"",
                                                                             "\"cpu\":\"440m\"") SPEC(CPU_IS("440m")),
         NULL},
        {"first deploy", ON_DEPLOY_POD, PLAIN("Deployment", "fresh", "2"), LOWERED("Deployment", "fresh", "2", "1"),
         NULL},
        {"a StatefulSet", ON_DEPLOY_POD, PLAIN("StatefulSet", "db", "300m"),
         LOWERED("StatefulSet", "db", "300m", "150m"), NULL},
        {"only told", RECOMMEND, WEB, NULL, "RecommendOnly"},
        {"paused", PAUSED, WEB, NULL, "Paused"},
        {"held by a person", ON_DEPLOY_POD, PLAIN("Deployment", "kept", "2"), NULL, "Paused"},
        {"not selected", ON_DEPLOY_POD,
         "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {template: {spec: {containers: []}}}\n",
         NULL, "NoProfile"},
        {"selected by its template's labels", ON_DEPLOY_POD,
         "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"x\"},\"spec\":{\"template\":{"
         "\"metadata\":{\"labels\":{\"tier\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{"
         "\"requests\":{\"cpu\":\"2\"}}}]}}}}",
         "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"x\",\"annotations\":{"
         "\"halflife.dev/original-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"2\\\"}}}\","
         "\"halflife.dev/applied-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"1\\\"}}}\","
         "\"halflife.dev/utilization-basis\":\"request\"}},\"spec\":{\"template\":{"
         "\"metadata\":{\"labels\":{\"tier\":\"web\"},\"annotations\":{"
         "\"halflife.dev/original-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"2\\\"}}}\","
         "\"halflife.dev/applied-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"1\\\"}}}\","
         "\"halflife.dev/utilization-basis\":\"request\"}},\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{"
         "\"requests\":{\"cpu\":\"1\"}}}]}}}}",
         NULL},
        {"the object's own label wins", ON_DEPLOY_POD,
         "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x, labels: {tier: db}}\nspec: {template: {metadata: "
         "{labels: {tier: web}}, spec: {containers: []}}}\n",
         NULL, "NoProfile"},
        {"opted out", ON_DEPLOY_POD,
         "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x, labels: {tier: web}, annotations: "
         "{halflife.dev/apply: Never}}\nspec: {template: {spec: {containers: [{name: app, resources: {requests: {cpu: "
         "2}}}]}}}\n",
         NULL, "OptedOut"},
        {"asks for nothing", ON_DEPLOY_POD,
         HEAD("Deployment", "x") "spec: {template: {spec: {containers: [{name: "
                                 "app}]}}}\n",
         NULL, "NoOriginal"},
        {"the LimitRange allows no less", ON_DEPLOY_POD,
         "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: x, namespace: small, labels: {tier: web}}\nspec: "
         "{template: {spec: {containers: [{name: app, resources: {requests: {cpu: 1}}}]}}}\n",
         NULL, "Static"},
        {"managed", ON_DEPLOY_POD,
         "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x, labels: {tier: web}, ownerReferences: "
         "[{controller: true, kind: App}]}\nspec: {template: {spec: {containers: [{name: app, resources: {requests: "
         "{cpu: 2}}}]}}}\n",
         NULL, "Managed"},
        {"a Pod", ON_DEPLOY_POD,
         "apiVersion: v1\nkind: Pod\nmetadata: {name: x, labels: {tier: web}}\nspec: {containers: [{name: app, "
         "resources: {requests: {cpu: 2}}}]}\n",
         NULL, "NoTarget"},
        {"of no kind of ours", ON_DEPLOY_POD,
         "apiVersion: v1\nkind: Service\nmetadata: {name: x, labels: {tier: web}}\nspec: {template: {spec: {}}}\n",
         NULL, ""},
        {"a kind that a profile names", ON_DEPLOY_POD,
         "{apiVersion: example.com/v1, kind: Widget, metadata: {name: x, labels: {tier: web}, annotations: {a: b}}, "
         "spec: {template: {metadata: {annotations: {c: d}}, spec: {containers: [{name: app, resources: {requests: "
         "{cpu: 2}}}]}}}}\n",
         "{apiVersion: example.com/v1, kind: Widget, metadata: {name: x, labels: {tier: web}, annotations: {a: b, "
         "halflife.dev/original-resources: '{\"app\":{\"requests\":{\"cpu\":\"2\"}}}', "
         "halflife.dev/applied-resources: '{\"app\":{\"requests\":{\"cpu\":\"1\"}}}', halflife.dev/utilization-basis: "
         "\"request\"}}, spec: {template: {metadata: {annotations: {c: d, halflife.dev/original-resources: "
         "'{\"app\":{\"requests\":{\"cpu\":\"2\"}}}', halflife.dev/applied-resources: "
         "'{\"app\":{\"requests\":{\"cpu\":\"1\"}}}', halflife.dev/utilization-basis: \"request\"}}, spec: "
         "{containers: "
         "[{name: app, resources: {requests: {cpu: 1}}}]}}}}\n",
         NULL},
        {"templated text", ON_DEPLOY_POD, "kind: Deployment\nmetadata:\n  name: {{ .Values.name }}\n  {{- with .x }}\n",
         NULL, "Templated"},
        {"templated value", ON_DEPLOY_POD, PLAIN("Deployment", "web", "{{ .Values.cpu }}"), NULL, "Templated"},
        {"opted out twice", ON_DEPLOY_POD,
         HEAD("Deployment", "web") "  annotations:\n    halflife.dev/apply: Never\n    halflife.dev/apply: Never\n"
                                   "spec:\n  template:\n" SPEC(CPU_IS("2")),
         NULL, "NotEditable"},
        {"no quantity", ON_DEPLOY_POD, PLAIN("Deployment", "web", "two"), NULL, "NotEditable"},
        {"an anchor that another refers to", ON_DEPLOY_POD,
         PLAIN("Deployment", "web", "&c 2") "            memory: *c\n", NULL, "NotEditable"},
        {"an unreadable record", ON_DEPLOY_POD,
         HEAD("Deployment", "web") "spec:\n  template:\n    metadata:\n      annotations:\n        "
                                   "halflife.dev/applied-resources: nonsense\n" SPEC(CPU_IS("2")),
         NULL, "UnreadableRecord"},
        {"rendered before", ON_DEPLOY_POD, LOWERED("Deployment", "web", "2", "440m"), NULL, "Stands"},
        {"rendered before, when less was enough", ON_DEPLOY_POD, LOWERED("Deployment", "web", "2", "200m"),
         LOWERED("Deployment", "web", "2", "440m"), NULL},
        {"rendered before, too little to change", ON_DEPLOY_POD, LOWERED("Deployment", "web", "2", "450m"), NULL,
         "Stands"},
        {"rendered before, and paused since", PAUSED, LOWERED("Deployment", "web", "2", "440m"),
         HEAD("Deployment", "web") "  annotations: {}\nspec:\n  template:\n    metadata:\n      labels: {a: b}\n      "
                                   "annotations: {}\n" SPEC(CPU_IS("\"2\"")),
         NULL},
        {"rendered before, and only told since", RECOMMEND, LOWERED("Deployment", "web", "2", "440m"), NULL,
         "RecommendOnly"},
        {"a static share of memory, where it is managed", WITH_MEMORY,
         HEAD("Deployment", "x") "spec:\n  template:\n" SPEC("            memory: 1Gi\n"),
         HEAD("Deployment", "x")
                 NOTES("  ", "\"memory\":\"1Gi\"", "\"memory\":\"256Mi\"") "spec:\n  template:\n    metadata:\n" NOTES(
                         "      ", "\"memory\":\"1Gi\"", "\"memory\":\"256Mi\"") SPEC("            memory: 256Mi\n"),
         NULL},
        {"an HPA of the cluster", ON_DEPLOY_POD, PLAIN("Deployment", "scaled", "2"), NULL, "HPAHold"},
        {"it reads its request", ON_DEPLOY_POD, PLAIN("Deployment", "web", "2") READS("app", "requests.cpu", "0"), NULL,
         "ReadByContainer"},
        {"it reads its limit", ON_DEPLOY_POD, PLAIN("Deployment", "web", "2") READS("app", "limits.cpu", "0"),
         LOWERED("Deployment", "web", "2", "440m") READS("app", "limits.cpu", "0"), NULL},
        {"it reads it in whole cores", ON_DEPLOY_POD, PLAIN("Deployment", "web", "1") READS("app", "requests.cpu", "1"),
         LOWERED("Deployment", "web", "1", "440m") READS("app", "requests.cpu", "1"), NULL},
        {"lowered before it was read", ON_DEPLOY_POD,
         LOWERED("Deployment", "web", "2", "440m") READS("app", "requests.cpu", "0"),
         HEAD("Deployment", "web") "  annotations: {}\nspec:\n  template:\n    metadata:\n      labels: {a: b}\n      "
                                   "annotations: {}\n" SPEC(CPU_IS("\"2\"")) READS("app", "requests.cpu", "0"),
         NULL},
        {"its heap begins with that much", WITH_MEMORY,
         HEAD("Deployment", "x") "spec:\n  template:\n" SPEC("            memory: 1Gi\n") HEAP,
         HEAD("Deployment", "x")
                 NOTES("  ", "\"memory\":\"1Gi\"", "\"memory\":\"512Mi\"") "spec:\n  template:\n    metadata:\n" NOTES(
                         "      ", "\"memory\":\"1Gi\"", "\"memory\":\"512Mi\"") SPEC("            memory: 512Mi\n")
                         HEAP,
         NULL},
        {"an HPA behind it", ON_DEPLOY_POD, WEB "---\n" HPA(REF("web") UTILIZED("cpu")), NULL, "HPAHold"},
        {"an HPA before it", ON_DEPLOY_POD, HPA(REF("web") UTILIZED("cpu")) "---\n" WEB, NULL, "HPAHold"},
        {"an HPA without metrics", ON_DEPLOY_POD, HPA(REF("web")) "---\n" WEB, NULL, "HPAHold"},
        {"an HPA of v1", ON_DEPLOY_POD,
         "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nspec:\n" REF(
                 "web") "  targetCPUUtilizationPercentage: 70\n---\n" WEB,
         NULL, "HPAHold"},
        {"an HPA by a container", ON_DEPLOY_POD,
         HPA(REF("web") "  metrics:\n  - type: ContainerResource\n    containerResource: {name: cpu, container: app, "
                        "target: {type: Utilization}}\n") "---\n" WEB,
         NULL, "HPAHold"},
        {"an HPA on memory", ON_DEPLOY_POD, HPA(REF("web") UTILIZED("memory")) "---\n" PLAIN("Deployment", "web", "2"),
         HPA(REF("web") UTILIZED("memory")) "---\n" LOWERED("Deployment", "web", "2", "440m"), NULL},
        {"an HPA by value", ON_DEPLOY_POD,
         HPA(REF("web") "  metrics:\n  - type: Resource\n    resource: {name: cpu, target: {type: "
                        "AverageValue}}\n") "---\n" PLAIN("Deployment", "web", "2"),
         HPA(REF("web") "  metrics:\n  - type: Resource\n    resource: {name: cpu, target: {type: "
                        "AverageValue}}\n") "---\n" LOWERED("Deployment", "web", "2", "440m"),
         NULL},
        {"an HPA of another", ON_DEPLOY_POD, HPA(REF("wob") UTILIZED("cpu")) "---\n" PLAIN("Deployment", "web", "2"),
         HPA(REF("wob") UTILIZED("cpu")) "---\n" LOWERED("Deployment", "web", "2", "440m"), NULL},
        {"its pods ask as a whole", ON_DEPLOY_POD, WEB "      resources: {requests: {cpu: 3}}\n", NULL, "Immutable"},
        {"its pods ask as a whole for what no container does", ON_DEPLOY_POD,
         PLAIN("Deployment", "web", "2") "      resources: {limits: {cpu: 3, memory: 1Gi}}\n",
         LOWERED("Deployment", "web", "2", "440m") "      resources: {limits: {cpu: 3, memory: 1Gi}}\n", NULL},
        {"a VPA beside it", ON_DEPLOY_POD, VPA("Auto") "---\n" WEB, NULL, "OtherAutoscaler"},
        {"a VPA of its memory", ON_DEPLOY_POD,
         VPA("Auto") LEFT("app", "memory") "---\n" PLAIN("Deployment", "web", "2"),
         VPA("Auto") LEFT("app", "memory") "---\n" LOWERED("Deployment", "web", "2", "440m"), NULL},
        {"a VPA of its CPU", ON_DEPLOY_POD, VPA("Auto") LEFT("'*'", "cpu") "---\n" WEB, NULL, "OtherAutoscaler"},
        {"a VPA of another container's CPU", ON_DEPLOY_POD,
         VPA("Auto") LEFT("'*'", "") LEFT_TOO("log", "cpu") "---\n" PLAIN("Deployment", "web", "2"),
         VPA("Auto") LEFT("'*'", "") LEFT_TOO("log", "cpu") "---\n" LOWERED("Deployment", "web", "2", "440m"), NULL},
        {"a VPA whose policies are Off", ON_DEPLOY_POD, VPA("Auto") ALL_OFF "---\n" PLAIN("Deployment", "web", "2"),
         VPA("Auto") ALL_OFF "---\n" LOWERED("Deployment", "web", "2", "440m"), NULL},
        {"two VPAs, nobody knows which counts", ON_DEPLOY_POD,
         VPA("Auto") LEFT("app", "memory") "---\n" VPA("Auto") LEFT("app", "memory") "---\n" WEB, NULL,
         "OtherAutoscaler"},
        {"a VPA without a mode", ON_DEPLOY_POD,
         "apiVersion: autoscaling.k8s.io/v1\nkind: VerticalPodAutoscaler\nspec:\n  targetRef: {apiVersion: apps/v1, "
         "kind: "
         "Deployment, name: web}\n---\n" WEB,
         NULL, "OtherAutoscaler"},
        {"a VPA that is Off", ON_DEPLOY_POD, VPA("'Off'") "---\n" PLAIN("Deployment", "web", "2"),
         VPA("'Off'") "---\n" LOWERED("Deployment", "web", "2", "440m"), NULL},
        {"an HPA of the Rollout that runs it", ON_DEPLOY_POD,
         HPA("  scaleTargetRef: {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: r}\n" UTILIZED(
                 "cpu")) "---\n" RUNS_WEB "---\n" WEB,
         NULL, "HPAHold"},
        {"an HPA of a Rollout that runs another", ON_DEPLOY_POD,
         HPA("  scaleTargetRef: {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: s}\n" UTILIZED(
                 "cpu")) "---\n" RUNS_WEB "---\n" PLAIN("Deployment", "web", "2"),
         HPA("  scaleTargetRef: {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: s}\n" UTILIZED(
                 "cpu")) "---\n" RUNS_WEB "---\n" LOWERED("Deployment", "web", "2", "440m"),
         NULL},
        {"a Rollout that runs another's template", ON_DEPLOY_POD, RUNS_WEB, NULL, "NoTarget"},
        {"what would stick there", ON_DEPLOY_POD,
         PLAIN("Deployment", "web", "2") "  updateStrategy: {type: InPlaceOnly}\n", NULL, "Immutable"},
        {"what would stick there, in the newer spelling", ON_DEPLOY_POD,
         PLAIN("Deployment", "web", "2") "  updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceOnly}}\n", NULL,
         "Immutable"},
        {"a ScaledObject", ON_DEPLOY_POD,
         "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nspec:\n  scaleTargetRef: {name: web}\n  triggers:\n  - "
         "type: cpu\n    metricType: Utilization\n---\n" WEB,
         NULL, "HPAHold"},
        {"a ScaledObject by the old way", ON_DEPLOY_POD,
         "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nspec:\n  scaleTargetRef: {name: web}\n  triggers:\n  - "
         "type: cpu\n    metadata: {type: Utilization}\n---\n" WEB,
         NULL, "HPAHold"},
        {"a ScaledObject by a queue", ON_DEPLOY_POD,
         "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nspec:\n  scaleTargetRef: {name: web}\n  triggers:\n  - "
         "type: kafka\n---\n" PLAIN("Deployment", "web", "2"),
         "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nspec:\n  scaleTargetRef: {name: web}\n  triggers:\n  - "
         "type: kafka\n---\n" LOWERED("Deployment", "web", "2", "440m"),
         NULL},
};

static void expect_row(size_t i, const struct rendered *got)
{
        size_t count;
        const struct render_row *rows = render_rows(got->r, &count);
        const struct render_row *last = count ? &rows[count - 1] : NULL;
        const char *reason = last ? last->reason : "";
        if (!row[i].reason ? reason != NULL : !reason || strcmp(reason, row[i].reason) != 0)
                fail_msg("%s: %s: %s\n%s", row[i].name, reason ? reason : "changed", last ? last->detail : "",
                         got->out.data);
        if (last && last->reason && (!last->detail || !*last->detail))
                fail_msg("%s: no detail", row[i].name);
}

static void test_objects(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct scene s;
                scene_init(&s, row[i].mode);
                const char *want = row[i].out ? row[i].out : row[i].in;
                struct rendered once = rendered(s.view, text_of(row[i].in), "shop", false);
                if (!once.out.data)
                        fail_msg("%s: %s", row[i].name, once.err.text);
                if (strcmp(once.out.data, want) != 0)
                        fail_msg("%s: wanted\n%s\ngot\n%s", row[i].name, want, once.out.data);
                expect_row(i, &once);
                struct rendered twice = rendered(s.view, buf_text(&once.out), "shop", false);
                if (!text_equal(buf_text(&once.out), buf_text(&twice.out)) || render_changed(twice.r) != 0)
                        fail_msg("%s: again\n%s", row[i].name, twice.out.data);
                rendered_release(&once);
                rendered_release(&twice);
                snapshot_drop(s.view);
        }
}

/* As many policies of a VPA are read as run reads. Of one more, the VPA may set any request, and its workload is left.
 */
static void test_policies_of_a_vpa(void **state)
{
        (void)state;
        static const struct {
                int policies;
                bool lowered;
        } many[] = {{65, true}, {VPA_POLICY_ROWS, true}, {VPA_POLICY_ROWS + 1, false}};
        for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
                AUTO(buf_release) struct buf text;
                struct scene s;
                scene_init(&s, ON_DEPLOY_POD);
                buf_init(&text, 1 << 20);
                (void)buf_add_text(&text, VPA("Auto") "  resourcePolicy:\n    containerPolicies:\n");
                for (int c = 1; c < many[i].policies; c++)
                        (void)buf_printf(&text, "    - {containerName: c%d, mode: 'Off'}\n", c);
                (void)buf_add_text(&text,
                                   "    - {containerName: '*', mode: 'Off'}\n---\n" PLAIN("Deployment", "web", "2"));
                struct rendered r = rendered(s.view, buf_text(&text), "shop", false);
                assert_non_null(r.out.data);
                if ((render_changed(r.r) > 0) != many[i].lowered)
                        fail_msg("%d policies: %s", many[i].policies, r.out.data + r.out.len - 700);
                rendered_release(&r);
                snapshot_drop(s.view);
        }
}

/* --- all that is lying about --- */

/* A profile that selects everything. */
static void scene_select_all(struct scene *s)
{
        scene_init(s, WITH_MEMORY);
        s->selector.count = 0;
}

static bool is_place(const char *text)
{
        unsigned line, column;
        return sscanf(text, "line %u, column %u: ", &line, &column) == 2;
}

static void check_file(struct scene *s, const char *path)
{
        struct err err = {0};
        size_t len;
        AUTO(mem_free) char *text = file_read(path, OUT_MAX, &len, &err);
        assert_non_null(text);
        struct rendered once = rendered(s->view, (struct text){text, len}, "shop", false);
        bool broken = strstr(path, "/bad-") != NULL;
        if (once.err.code ? !broken || !is_place(once.err.text) : broken)
                fail_msg("%s: %s", path, once.err.code ? once.err.text : "is read");
        if (!once.err.code) {
                struct rendered twice = rendered(s->view, buf_text(&once.out), "shop", false);
                if (twice.err.code || !text_equal(buf_text(&once.out), buf_text(&twice.out)))
                        fail_msg("%s: again %s\n%s", path, twice.err.text, twice.out.data);
                rendered_release(&twice);
        }
        rendered_release(&once);
}

static void test_files(void **state)
{
        (void)state;
        static const char folder[] = "test/data/render";
        struct scene s;
        int count = 0;
        scene_select_all(&s);
        DIR *d = opendir(folder);
        assert_non_null(d);
        for (const struct dirent *e; (e = readdir(d));) {
                if (!strstr(e->d_name, ".in."))
                        continue;
                AUTO(mem_free) char *path = mem_printf("%s/%s", folder, e->d_name);
                check_file(&s, path);
                count++;
        }
        closedir(d);
        assert_true(count > 50);
        snapshot_drop(s.view);
}

/* --- no request is left without a word --- */

#define APP(ns, more, resources)                                                                                       \
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x, namespace: " ns                                    \
        ", labels: {tier: web}}\nspec: {template: {spec: {containers: [{name: app, resources: {" resources "}" more    \
        "}]}}}\n"

/* The first request that is left, in words. */
static void test_words(void **state)
{
        (void)state;
        static const struct {
                const char *in, *want;
        } words[] = {
                {APP("small", "", "requests: {cpu: 1}"), "cpu Static: the namespace's LimitRange allows no less than "
                                                         "that"},
                {APP("shop", "", "requests: {cpu: 1m}"), "cpu Static: the static factor gives less than the profile's "
                                                         "min allows"},
                {APP("shop", ", args: [-Xms4g, -jar, a.jar], command: [java]", "requests: {cpu: 1, memory: 1Gi}"),
                 "memory Static: the heap that the container's runtime begins with takes that much"},
                {APP("shop", "", "limits: {cpu: 1, memory: 1Gi}"),
                 "cpu Static: its pods are Guaranteed and stay so (keepGuaranteed)"},
                {APP("shop", ", env: [{name: N, valueFrom: {resourceFieldRef: {resource: requests.cpu, divisor: 1m}}}]",
                     "requests: {cpu: 300m}"),
                 "cpu ReadByContainer: variable 'N' of container 'app' reads it"},
                {PLAIN("Deployment", "kept", "2"), "cpu Paused: a sale"},
                {PLAIN("Deployment", "scaled", "2"),
                 "cpu HPAHold: an autoscaler scales by the utilization of this resource, so its request stays"},
                {LOWERED("Deployment", "web", "2", "440m"), "cpu Stands: it is the right request already"},
        };
        struct scene s;
        scene_init(&s, WITH_MEMORY);
        s.spec.apply.keep_guaranteed = true;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
                struct rendered got = rendered(s.view, text_of(words[i].in), "shop", false);
                char said[512] = "nothing";
                size_t count;
                const struct render_row *of = render_rows(got.r, &count);
                if (count == 1 && of->lefts)
                        snprintf(said, sizeof said, "%s %s: %s", resource_name(of->left->resource), of->left->reason,
                                 of->left->detail);
                if (strcmp(said, words[i].want) != 0)
                        fail_msg("%s%s, not %s", words[i].in, said, words[i].want);
                rendered_release(&got);
        }
        snapshot_drop(s.view);
}

/* A request in an object, found by its place, whatever the kind: a mapping has "resources" with "requests". */
struct asked {
        char path[256];
        struct text container; /* the mapping's name */
        enum resource resource;
        struct amount amount;
};

enum { ASKED_MAX = 256, WALK_DEPTH = 16, WALK_MOST = 10000, MEMBERS_MAX = 64 };

struct walk {
        const struct doc *d;
        struct asked asked[ASKED_MAX];
        size_t count;
        int visits; /* aliases may make a tree of a few lines endless */
        char path[256];
};

static uint32_t node_at(const struct doc *d, uint32_t mapping, const char *key)
{
        uint32_t at = DOC_NONE;
        return doc_find(d, mapping, text_of(key), &at, NULL) == 0 ? at : (uint32_t)DOC_NONE;
}

static void walk_asked(struct walk *w, uint32_t mapping)
{
        uint32_t requests = node_at(w->d, node_at(w->d, mapping, "resources"), "requests");
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct amount amount;
                if (amount_parse(doc_text(w->d, node_at(w->d, requests, resource_name(r))), r, &amount) < 0 ||
                    w->count == ASKED_MAX)
                        continue;
                struct asked *a = &w->asked[w->count++];
                *a = (struct asked){
                        .container = doc_text(w->d, node_at(w->d, mapping, "name")), .resource = r, .amount = amount};
                snprintf(a->path, sizeof a->path, "%s", w->path);
        }
}

static void walk_node(struct walk *w, uint32_t at, int depth)
{
        struct doc_member member[MEMBERS_MAX];
        uint32_t item[MEMBERS_MAX];
        bool mapping = doc_type(w->d, at) == DOC_MAPPING, sequence = doc_type(w->d, at) == DOC_SEQUENCE;
        int n = depth == 0 || w->visits++ > WALK_MOST ? 0
                : mapping                             ? doc_members(w->d, at, MEMBERS_MAX, member, NULL)
                : sequence                            ? doc_items(w->d, at, MEMBERS_MAX, item, NULL)
                                                      : 0;
        size_t len = strlen(w->path);
        if (mapping)
                walk_asked(w, at);
        for (int i = 0; i < n; i++) {
                if (mapping)
                        snprintf(w->path + len, sizeof w->path - len, "/%.*s", TEXT_ARG(member[i].key));
                else
                        snprintf(w->path + len, sizeof w->path - len, "/%d", i);
                walk_node(w, mapping ? member[i].value : item[i], depth - 1);
                w->path[len] = '\0';
        }
}

static bool is_in_place(const struct walk *after, const struct asked *a)
{
        for (size_t i = 0; i < after->count; i++) {
                const struct asked *b = &after->asked[i];
                if (a->resource == b->resource && strcmp(a->path, b->path) == 0)
                        return amount_equal(a->amount, b->amount);
        }
        return false;
}

static bool is_told(const struct render_row *of, const struct asked *a, bool unchanged)
{
        bool told = unchanged && of->reason && *of->reason && *of->detail && of->lefts == 0;
        for (size_t i = 0; i < of->lefts && unchanged; i++) {
                const struct render_left *left = &of->left[i];
                told |= text_equal(left->container, a->container) && left->resource == a->resource &&
                        amount_equal(left->request, a->amount) && *left->reason && *left->detail;
        }
        for (size_t i = 0; i < of->changes && !unchanged; i++) {
                const struct render_change *c = &of->change[i];
                told |= text_equal(c->container, a->container) && c->resource == a->resource &&
                        amount_equal(c->from, a->amount) && *reason_name(c->reason);
        }
        return told;
}

/* Returns how many requests the object has. */
static size_t object_is_told(const char *path, const struct render *r, const struct doc *before,
                             const struct doc *after, size_t object)
{
        struct walk w[2] = {{.d = before}, {.d = after}};
        const struct doc_object *o = doc_object(before, object);
        size_t rows;
        const struct render_row *of = render_rows(r, &rows);
        for (int i = 0; i < 2 && o->root != DOC_NONE; i++)
                walk_node(&w[i], doc_object(w[i].d, object)->root, WALK_DEPTH);
        for (size_t i = 0; i < w[0].count; i++) {
                const struct asked *a = &w[0].asked[i];
                bool told = false;
                for (size_t k = 0; k < rows; k++)
                        told |= of[k].line == o->line && text_equal(of[k].name, o->name) &&
                                is_told(&of[k], a, is_in_place(&w[1], a));
                if (!told)
                        fail_msg("%s, line %u: no word of %s in %s", path, o->line, resource_name(a->resource),
                                 a->path);
        }
        return w[0].count;
}

/* Returns how many requests a file has; 0 if it cannot be read as documents. */
static size_t file_is_told(const struct snapshot *v, const char *path)
{
        struct err err = {0};
        size_t len, count = 0;
        AUTO(mem_free) char *text = file_read(path, OUT_MAX, &len, &err);
        assert_non_null(text);
        struct rendered got = rendered(v, (struct text){text, len}, "shop", false);
        AUTO(doc_free) struct doc *before = got.err.code ? NULL : doc_new(text, len, &err);
        AUTO(doc_free) struct doc *after = before ? doc_new(got.out.data, got.out.len, &err) : NULL;
        assert_true(!before || after);
        for (size_t i = 0; before && i < doc_count(before); i++)
                count += object_is_told(path, got.r, before, after, i);
        rendered_release(&got);
        return count;
}

static struct {
        const struct snapshot *v;
        size_t requests;
} corpora;

static int corpora_visit(const char *path, const struct stat *is, int type, struct FTW *at)
{
        enum { FILE_MOST = 1 << 20 };
        (void)at;
        if (type == FTW_F && is->st_size < FILE_MOST)
                corpora.requests += file_is_told(corpora.v, path);
        return 0;
}

/* Of all files of test/data, whatever they are for: each request is changed and told, or stays and has its reason. */
static void test_each_request_is_told(void **state)
{
        (void)state;
        for (int mode = 0; mode < SCENES; mode++) {
                struct scene s;
                scene_init(&s, mode);
                s.selector.count = 0;
                corpora.v = s.view;
                corpora.requests = 0;
                assert_int_equal(nftw("test/data", corpora_visit, 16, FTW_PHYS), 0);
                assert_true(corpora.requests > 100);
                snapshot_drop(s.view);
        }
}

static void test_many_documents(void **state)
{
        (void)state;
        enum { DOCUMENTS = UNLESS_SLOWED(10000, 1000) };
        struct scene s;
        struct buf in, want;
        scene_init(&s, ON_DEPLOY_POD);
        buf_init(&in, OUT_MAX);
        buf_init(&want, OUT_MAX);
        for (int i = 0; i < DOCUMENTS; i++) {
                buf_add_text(&in, "---\n" PLAIN("Deployment", "fresh", "2"));
                buf_add_text(&want, "---\n" LOWERED("Deployment", "fresh", "2", "1"));
        }
        struct rendered got = rendered(s.view, buf_text(&in), "shop", false);
        assert_true(text_equal(buf_text(&got.out), buf_text(&want)));
        assert_int_equal(render_changed(got.r), DOCUMENTS);
        rendered_release(&got);
        buf_release(&in);
        buf_release(&want);
        snapshot_drop(s.view);
}

/* --- several texts, namespaces, the report --- */

static void test_autoscalers_of_other_texts(void **state)
{
        (void)state;
        struct scene s;
        struct err err = {0};
        struct buf out;
        size_t count;
        scene_init(&s, ON_DEPLOY_POD);
        buf_init(&out, OUT_MAX);
        AUTO(render_free) struct render *r = render_new(&(struct render_options){TEXT("shop"), false});
        assert_int_equal(render_add(r, TEXT(WEB), &err), 0);
        assert_int_equal(render_add(r, TEXT(HPA(REF("web") UTILIZED("cpu"))), &err), 0);
        assert_int_equal(render_add(r, TEXT("# nothing\n"), &err), 0);
        render_run(r, s.view);
        const struct render_row *rows = render_rows(r, &count);
        assert_int_equal(count, 1);
        assert_string_equal(rows->reason, "HPAHold");
        assert_int_equal(render_write(r, 2, &out, &err), 0);
        assert_string_equal(out.data, "# nothing\n");
        buf_release(&out);
        snapshot_drop(s.view);
}

#define COUNTED(kind, name, more, labels)                                                                              \
        "---\napiVersion: apps/v1\nkind: " kind "\nmetadata: {name: " name "}\nspec:\n" more                           \
        "  template: {metadata: {labels: {" labels "}}, spec: {containers: [{name: app, resources: "                   \
        "{requests: {cpu: 300m}}}]}}\n"
#define SELECTS(asks) "  selector: {" asks "}\n"
#define APP_WEB       SELECTS("matchLabels: {app: web}")
#define HPA_OF_WEB    HPA(REF("web") UTILIZED("cpu"))

/* Why the CPU request of a workload is not lowered; "": it is. */
static const char *cpu_left(const struct render *r, const char *name)
{
        size_t count, i = 0;
        const struct render_row *rows = render_rows(r, &count);
        while (i < count && !text_is(rows[i].name, name))
                i++;
        assert_true(i < count);
        for (size_t k = 0; k < rows[i].lefts; k++)
                if (rows[i].left[k].resource == CPU)
                        return rows[i].left[k].reason;
        return rows[i].reason ? rows[i].reason : "";
}

/* An HPA of the texts counts the pods of other workloads there, as its controller will. */
static void test_pods_that_another_counts(void **state)
{
        (void)state;
        static const struct {
                const char *what, *in;
                bool counted;
        } scaled[] = {
                {"the same label",
                 HPA_OF_WEB COUNTED("Deployment", "web", APP_WEB, "app: web")
                         COUNTED("StatefulSet", "other", "", "app: web, track: canary"),
                 true},
                {"the HPA comes last",
                 COUNTED("Deployment", "other", "", "app: web")
                         COUNTED("Deployment", "web", APP_WEB, "app: web") "---\n" HPA_OF_WEB,
                 true},
                {"another value",
                 HPA_OF_WEB COUNTED("Deployment", "web", APP_WEB, "app: web")
                         COUNTED("Deployment", "other", "", "app: db"),
                 false},
                {"one label of two",
                 HPA_OF_WEB COUNTED("Deployment", "web", SELECTS("matchLabels: {app: web, tier: a}"),
                                    "app: web, tier: a") COUNTED("Deployment", "other", "", "app: web"),
                 false},
                {"expressions",
                 HPA_OF_WEB COUNTED("Deployment", "web",
                                    SELECTS("matchExpressions: [{key: app, operator: In, values: [x, web]}, {key: no, "
                                            "operator: DoesNotExist}, {key: app, operator: Exists}, {key: t, "
                                            "operator: NotIn, values: [t]}]"),
                                    "app: web") COUNTED("Deployment", "other", "", "app: web"),
                 true},
                {"an expression that does not match",
                 HPA_OF_WEB COUNTED("Deployment", "web", SELECTS("matchExpressions: [{key: no, operator: Exists}]"),
                                    "app: web") COUNTED("Deployment", "other", "", "app: web"),
                 false},
                {"an expression that cannot be read",
                 HPA_OF_WEB COUNTED("Deployment", "web", SELECTS("matchExpressions: [{key: no, operator: Near}]"),
                                    "app: web") COUNTED("Deployment", "other", "", "app: web"),
                 true},
                {"0 replicas",
                 HPA_OF_WEB COUNTED("Deployment", "web", APP_WEB, "app: web")
                         COUNTED("Deployment", "other", "  replicas: 0\n", "app: web"),
                 false},
                {"no selector in the texts", HPA_OF_WEB COUNTED("Deployment", "other", "", "app: web"), false},
                {"by memory alone",
                 HPA(REF("web") UTILIZED("memory")) COUNTED("Deployment", "web", APP_WEB, "app: web")
                         COUNTED("Deployment", "other", "", "app: web"),
                 false},
        };
        for (size_t i = 0; i < sizeof scaled / sizeof scaled[0]; i++) {
                struct scene s;
                scene_select_all(&s);
                struct rendered got = rendered(s.view, text_of(scaled[i].in), "shop", false);
                if (!got.out.data)
                        fail_msg("%s: %s", scaled[i].what, got.err.text);
                const char *left = cpu_left(got.r, "other");
                if ((strcmp(left, "HPAShared") == 0) != scaled[i].counted)
                        fail_msg("%s: '%s'\n%s", scaled[i].what, left, got.out.data);
                rendered_release(&got);
                snapshot_drop(s.view);
        }
}

/* An HPA of the cluster counts pods by the labels that the texts give its workload, else by those of the cluster; of a
 * workload that the cluster has, the controller knows. */
static void test_pods_that_the_cluster_counts(void **state)
{
        (void)state;
        static char app[] = "app", web[] = "web", *values[] = {web};
        static struct requirement is_web = {app, OP_IN, values, 1};
        static const struct selector asks = {&is_web, 1};
        static const struct {
                const char *what, *in, *name, *scaled;
                const struct selector *asks;
                bool unread, counted;
        } by[] = {
                {"the labels are in the texts",
                 COUNTED("Deployment", "steady", APP_WEB, "app: web") COUNTED("Deployment", "other", "", "app: web"),
                 "other", "steady", NULL, false, true},
                {"the texts have other labels than the cluster",
                 COUNTED("Deployment", "steady", SELECTS("matchLabels: {app: new}"), "app: new")
                         COUNTED("Deployment", "other", "", "app: web"),
                 "other", "steady", &asks, false, false},
                {"the labels are in the cluster", COUNTED("Deployment", "other", "", "app: web, track: canary"),
                 "other", "steady", &asks, false, true},
                {"other labels", COUNTED("Deployment", "other", "", "app: db"), "other", "steady", &asks, false, false},
                {"labels longer than are read", COUNTED("Deployment", "other", "", "app: db"), "other", "steady", NULL,
                 true, true},
                {"no workload for its labels", COUNTED("Deployment", "other", "", "app: web"), "other", "steady", NULL,
                 false, false},
                {"its own workload", COUNTED("Deployment", "other", "", "app: web"), "other", "other", &asks, false,
                 false},
                {"a workload that the cluster has", COUNTED("Deployment", "web", "", "app: web"), "web", "steady",
                 &asks, false, false},
                {"an HPA of the texts with a metric of no known type",
                 HPA(REF("steady") "  metrics: [{type: Later, later: {}}]\n") COUNTED(
                         "Deployment", "steady", APP_WEB, "app: web") COUNTED("Deployment", "other", "", "app: web"),
                 "other", "none", NULL, false, true},
        };
        for (size_t i = 0; i < sizeof by / sizeof by[0]; i++) {
                struct scene s;
                scene_select_all(&s);
                s.hpa.name = by[i].scaled;
                s.hpa.asks = by[i].asks;
                s.hpa.asks_unread = by[i].unread;
                struct rendered got = rendered(s.view, text_of(by[i].in), "shop", false);
                if (!got.out.data)
                        fail_msg("%s: %s", by[i].what, got.err.text);
                const char *left = cpu_left(got.r, by[i].name);
                if ((strcmp(left, "HPAShared") == 0) != by[i].counted)
                        fail_msg("%s: '%s'\n%s", by[i].what, left, got.out.data);
                rendered_release(&got);
                snapshot_drop(s.view);
        }
}

/* Once too much is compared, what is left counts as counted. */
static void test_more_pods_than_are_compared(void **state)
{
        (void)state;
        enum { HPAS = 700, WORKLOADS = 50 };
        struct scene s;
        struct buf b;
        scene_select_all(&s);
        buf_init(&b, 4 << 20);
        for (int i = 0; i < HPAS; i++) {
                buf_printf(
                        &b,
                        "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h%d}\nspec:\n"
                        "  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: w%d}\n" UTILIZED("cpu"),
                        i, i);
                buf_printf(&b,
                           "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w%d}\nspec:\n  selector: "
                           "{matchExpressions: [{key: none, operator: In, values: [a",
                           i);
                for (int k = 0; k < 1000; k++)
                        buf_add_text(&b, ",a");
                buf_add_text(&b, "]}]}\n");
        }
        for (int i = 0; i < WORKLOADS; i++)
                buf_printf(&b, COUNTED("Deployment", "o%d", "", "app: web"), i);
        struct rendered got = rendered(s.view, buf_text(&b), "shop", false);
        assert_non_null(got.out.data);
        assert_string_not_equal(cpu_left(got.r, "o0"), "HPAShared");
        assert_string_equal(cpu_left(got.r, "o49"), "HPAShared");
        rendered_release(&got);
        snapshot_drop(s.view);
        buf_release(&b);
}

#define OF(ns)                                                                                                         \
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: fresh, namespace: " ns                                \
        ", labels: {tier: web}}\nspec: {template: {spec: {containers: [{name: app, resources: {limits: {cpu: "         \
        "1}}}]}}}\n"

static void test_report(void **state)
{
        (void)state;
        static const char in[] = OF("bank") "---\n" OF("shop") "---\nkind: Deployment\n{{ x }}\n";
        static const char want[] =
                "[{'line':1,'kind':'Deployment','namespace':'bank','name':'fresh','reason':'OtherNamespace','detail':'"
                "it "
                "is in another namespace than the one asked "
                "about'},{'line':6,'kind':'Deployment','namespace':'shop','name':"
                "'fresh','changes':[{'container':'app','resource':'cpu','to':'500m','reason':'Static'}]},{'line':10,"
                "'reason':'Templated','detail':'*'}]";
        struct scene s;
        struct buf out;
        scene_init(&s, ON_DEPLOY_POD);
        struct rendered got = rendered(s.view, text_of(in), "shop", true);
        buf_init(&out, RENDER_REPORT_MAX);
        assert_int_equal(render_report(got.r, 0, &out, NULL), 0);
        AUTO(json_decref) json_t *report = json_loadb(out.data, out.len, 0, NULL);
        AUTO(json_decref) json_t *meant = yaml_read(want, sizeof want - 1, NULL);
        assert_non_null(report);
        json_object_set_new(json_array_get(report, 2), "detail", json_string("*"));
        if (!json_equal(report, meant))
                fail_msg("%s", out.data);
        buf_release(&out);
        rendered_release(&got);
        snapshot_drop(s.view);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_objects),
                cmocka_unit_test(test_policies_of_a_vpa),
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_many_documents),
                cmocka_unit_test(test_autoscalers_of_other_texts),
                cmocka_unit_test(test_pods_that_another_counts),
                cmocka_unit_test(test_pods_that_the_cluster_counts),
                cmocka_unit_test(test_more_pods_than_are_compared),
                cmocka_unit_test(test_report),
                cmocka_unit_test(test_each_request_is_told),
                cmocka_unit_test(test_words),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
