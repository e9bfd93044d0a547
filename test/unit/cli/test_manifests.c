/*
 * manifests/ as kubectl would apply them: what must hold of the base and of each overlay, whoever edits them next.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/tmp.h"
#include "base/yaml.h"
#include "cli/settings.h"
#include "control/controller.h"

enum { BASE, ADMISSION, READ_ONLY, MONITORING, CUSTOM, RETUNE, IN_PLACE, BUILDS };
static const char *const folder[BUILDS] = {"manifests",
                                           "manifests/overlays/admission",
                                           "manifests/overlays/read-only",
                                           "manifests/overlays/monitoring",
                                           "manifests/overlays/custom-metrics",
                                           "manifests/overlays/retune",
                                           "manifests/overlays/in-place"};
static json_t *built[BUILDS + 1]; /* the last: a test's own */

static json_t *build(const char *from)
{
        enum { OUTPUT_MAX = 4 << 20 };
        AUTO(mem_free) char *command = mem_printf("kubectl kustomize %s", from);
        AUTO(mem_free) char *text = mem_new(OUTPUT_MAX);
        struct err err = {0};
        FILE *f = popen(command, "r");
        size_t len = f ? fread(text, 1, OUTPUT_MAX, f) : 0;
        json_t *all = f && pclose(f) == 0 ? yaml_read_all(text, len, &err) : NULL;
        if (!all)
                fprintf(stderr, "%s: %s\n", command, err.text);
        return all;
}

static int build_all(void **state)
{
        (void)state;
        for (int i = 0; i < BUILDS && system("command -v kubectl >/dev/null") == 0; i++)
                if (!(built[i] = build(folder[i])))
                        return -1;
        return 0;
}

static int drop_all(void **state)
{
        (void)state;
        for (int i = 0; i < BUILDS; i++)
                json_decref(built[i]);
        return 0;
}

/* Without kubectl there is nothing to look at. */
#define NEEDS_KUBECTL()                                                                                                \
        do {                                                                                                           \
                (void)state;                                                                                           \
                if (!built[BASE])                                                                                      \
                        skip();                                                                                        \
        } while (0)

/* --- finding --- */

static json_t *at(const json_t *value, const char *path)
{
        char part[64];
        while (value && *path) {
                size_t len = strcspn(path, ".");
                snprintf(part, sizeof part, "%.*s", (int)len, path);
                value = json_is_array(value) ? json_array_get(value, strtoul(part, NULL, 10))
                                             : json_object_get(value, part);
                path += len + (path[len] == '.');
        }
        return (json_t *)(uintptr_t)value;
}

static const char *text_at(const json_t *value, const char *path)
{
        const char *s = json_string_value(at(value, path));
        return s ? s : "";
}

static json_t *find(int build, const char *kind, const char *name)
{
        json_t *doc;
        size_t i;
        json_array_foreach(built[build], i,
                           doc) if (strcmp(text_at(doc, "kind"), kind) == 0 &&
                                    (!name || strcmp(text_at(doc, "metadata.name"), name) == 0)) return doc;
        return NULL;
}

static bool holds(const json_t *array, const char *text)
{
        size_t i;
        json_t *each;
        json_array_foreach(array, i, each) if (strcmp(json_string_value(each) ? json_string_value(each) : "", text) ==
                                               0) return true;
        return false;
}

static bool within(const json_t *some, const json_t *all)
{
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)some, key,
                            value) if (!json_equal(value, json_object_get(all, key))) return false;
        return json_object_size(some) > 0;
}

#define EACH(build, doc, of_kind)                                                                                      \
        for (size_t i_##doc = 0; i_##doc < json_array_size(built[build]); i_##doc++)                                   \
                for (json_t *doc = json_array_get(built[build], i_##doc);                                              \
                     doc && strcmp(text_at(doc, "kind"), of_kind) == 0; doc = NULL)

/* --- pods --- */

static void check_container(const json_t *c, const char *where)
{
        static const char *const wanted[] = {"resources.requests.cpu", "resources.requests.memory",
                                             "startupProbe.httpGet",   "livenessProbe.httpGet",
                                             "readinessProbe.httpGet", "image"};
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
                if (!at(c, wanted[i]))
                        fail_msg("%s: no %s", where, wanted[i]);
        if (!json_is_false(at(c, "securityContext.allowPrivilegeEscalation")) ||
            !json_is_true(at(c, "securityContext.readOnlyRootFilesystem")) ||
            !holds(at(c, "securityContext.capabilities.drop"), "ALL") || at(c, "securityContext.capabilities.add"))
                fail_msg("%s: not restricted", where);
}

/* Its arguments are settings of the program. */
static void check_arguments(const json_t *args, const char *where)
{
        char *argv[32];
        struct option_given given[SETTINGS];
        struct option_words words;
        struct settings s = {0};
        struct err err = {0};
        int argc = (int)json_array_size(args);
        assert_in_range(argc, 1, 31);
        for (int i = 0; i < argc; i++)
                argv[i] = mem_string(json_string_value(json_array_get(args, (size_t)i)));
        if (options_parse(settings_options(), SETTINGS, argc, argv, given, &words, &err) < 0 || words.count ||
            settings_read(given, &s, &err) < 0)
                fail_msg("%s: %s", where, err.text);
        assert_int_equal(s.number[SET_WEBHOOK_CERTIFICATE], 1);
        settings_release(&s);
        for (int i = 0; i < argc; i++)
                mem_free(argv[i]);
}

static void test_pods(void **state)
{
        NEEDS_KUBECTL();
        for (int b = 0; b < BUILDS; b++)
                EACH(b, d, "Deployment")
                {
                        const char *name = text_at(d, "metadata.name");
                        const json_t *pod = at(d, "spec.template.spec"), *c = at(pod, "containers.0");
                        assert_int_equal(json_array_size(at(pod, "containers")), 1);
                        check_container(c, name);
                        check_arguments(at(c, "args"), name);
                        assert_true(json_is_true(at(pod, "securityContext.runAsNonRoot")));
                        assert_string_equal(text_at(pod, "securityContext.seccompProfile.type"), "RuntimeDefault");
                        assert_non_null(find(b, "ServiceAccount", text_at(pod, "serviceAccountName")));
                        assert_true(within(at(d, "spec.selector.matchLabels"), at(d, "spec.template.metadata.labels")));
                }
        const json_t *learner = find(BASE, "Deployment", "halflife");
        assert_int_equal(json_integer_value(at(learner, "spec.replicas")), 1);
        assert_string_equal(text_at(learner, "spec.strategy.type"), "Recreate");
        assert_string_equal(text_at(learner, "spec.template.spec.volumes.0.persistentVolumeClaim.claimName"),
                            text_at(find(BASE, "PersistentVolumeClaim", NULL), "metadata.name"));
        assert_null(find(BASE, "Deployment", "halflife-serve"));
        assert_int_equal(json_integer_value(at(find(ADMISSION, "Deployment", "halflife-serve"), "spec.replicas")), 2);
        assert_string_equal(
                json_string_value(json_object_get(at(find(BASE, "Namespace", "halflife"), "metadata.labels"),
                                                  "pod-security.kubernetes.io/enforce")),
                "restricted");
}

/* What selects pods selects those of one deployment, and names ports that they have. */
static void test_what_selects_pods(void **state)
{
        NEEDS_KUBECTL();
        for (int b = 0; b < BUILDS; b++) {
                EACH(b, s, "Service")
                {
                        const json_t *d = find(b, "Deployment", text_at(s, "metadata.name"));
                        json_t *port, *own;
                        size_t i, k;
                        assert_true(within(at(s, "spec.selector"), at(d, "spec.template.metadata.labels")));
                        json_array_foreach(at(s, "spec.ports"), i, port)
                        {
                                bool there = false;
                                json_array_foreach(at(d, "spec.template.spec.containers.0.ports"), k, own) there |=
                                        strcmp(text_at(own, "name"), text_at(port, "targetPort")) == 0;
                                if (!there)
                                        fail_msg("service %s: no port %s", text_at(s, "metadata.name"),
                                                 text_at(port, "targetPort"));
                        }
                }
                EACH(b, p, "PodDisruptionBudget")
                {
                        const json_t *d = find(b, "Deployment", text_at(p, "metadata.name"));
                        assert_int_equal(json_integer_value(at(p, "spec.maxUnavailable")), 1);
                        assert_true(json_equal(at(p, "spec.selector"), at(d, "spec.selector")));
                }
                const json_t *policy = find(b, "NetworkPolicy", "halflife");
                assert_null(at(policy, "spec.ingress.0.from")); /* the API server is no pod */
                assert_string_equal(text_at(policy, "spec.ingress.0.ports.1.port"), "https");
        }
}

/* --- permissions --- */

static bool writes(const json_t *verbs)
{
        static const char *const word[] = {"create", "update", "patch", "delete", "deletecollection"};
        for (size_t i = 0; i < sizeof word / sizeof word[0]; i++)
                if (holds(verbs, word[i]))
                        return true;
        return false;
}

static bool of_workloads(const json_t *groups)
{
        return holds(groups, "apps") || holds(groups, "batch") || holds(groups, "argoproj.io") ||
               holds(groups, "apps.kruise.io");
}

static void check_rule(const json_t *rule, const char *kind, const char *name, bool may_write_workloads)
{
        static const char *const never[] = {"*", "escalate", "bind", "impersonate", "approve", "sign"};
        for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
                if (holds(at(rule, "verbs"), never[i]) || holds(at(rule, "resources"), never[i]) ||
                    holds(at(rule, "apiGroups"), never[i]))
                        fail_msg("%s %s: '%s'", kind, name, never[i]);
        bool secrets = holds(at(rule, "resources"), "secrets");
        if (secrets && (strcmp(kind, "Role") != 0 || holds(at(rule, "verbs"), "list") ||
                        (!at(rule, "resourceNames") && json_array_size(at(rule, "verbs")) != 1)))
                fail_msg("%s %s: secrets", kind, name);
        if ((holds(at(rule, "resources"), "pods") || holds(at(rule, "resources"), "pods/resize")) &&
            writes(at(rule, "verbs")) && strcmp(name, "halflife-controller-in-place") != 0)
                fail_msg("%s %s: writes pods", kind, name);
        if (of_workloads(at(rule, "apiGroups")) && writes(at(rule, "verbs")) && !may_write_workloads)
                fail_msg("%s %s: writes workloads", kind, name);
}

/* To our own accounts alone: to whom people's doors are open is for the cluster's administrators to say. */
static void check_subjects(int b, const json_t *binding)
{
        size_t i;
        json_t *subject;
        json_array_foreach(at(binding, "subjects"), i, subject)
        {
                assert_string_equal(text_at(subject, "kind"), "ServiceAccount");
                assert_non_null(find(b, "ServiceAccount", text_at(subject, "name")));
        }
}

/* The door through the API server's proxy: two services, to read only. */
static void check_door(int b)
{
        const json_t *role = find(b, "Role", "halflife-rest-proxy");
        assert_int_equal(json_array_size(at(role, "rules")), 1);
        assert_int_equal(json_array_size(at(role, "rules.0.verbs")), 1);
        assert_string_equal(text_at(role, "rules.0.verbs.0"), "get");
        assert_int_equal(json_array_size(at(role, "rules.0.resources")), 1);
        assert_string_equal(text_at(role, "rules.0.resources.0"), "services/proxy");
        assert_int_equal(json_array_size(at(role, "rules.0.resourceNames")), 2);
}

static void test_permissions(void **state)
{
        NEEDS_KUBECTL();
        static const char *const kinds[] = {"Role", "ClusterRole"}, *const bindings[] = {"RoleBinding",
                                                                                         "ClusterRoleBinding"};
        for (int b = 0; b < BUILDS; b++) {
                check_door(b);
                for (int k = 0; k < 2; k++) {
                        EACH(b, role, kinds[k])
                        {
                                const char *name = text_at(role, "metadata.name");
                                json_t *rule;
                                size_t i;
                                json_array_foreach(at(role, "rules"), i, rule) check_rule(
                                        rule, kinds[k], name, b != READ_ONLY && strcmp(name, "halflife-serve") != 0);
                        }
                        EACH(b, binding, bindings[k])
                        {
                                assert_non_null(
                                        find(b, text_at(binding, "roleRef.kind"), text_at(binding, "roleRef.name")));
                                check_subjects(b, binding);
                        }
                }
        }
        assert_int_equal(json_array_size(at(find(BASE, "ClusterRole", "halflife-controller-apply"), "rules")), 2);
        assert_null(find(BASE, "ClusterRole", "halflife-controller-in-place"));
        assert_null(find(ADMISSION, "ClusterRole", "halflife-controller-in-place"));
        assert_int_equal(json_array_size(at(find(IN_PLACE, "ClusterRole", "halflife-controller-in-place"), "rules")),
                         2);
        assert_int_equal(json_array_size(at(find(READ_ONLY, "ClusterRole", "halflife-controller-apply"), "rules")), 0);
        assert_non_null(at(find(READ_ONLY, "ClusterRole", "halflife-controller-apply"), "rules"));
}

/* Autoscalers are written only where that was asked for. */
static void test_who_writes_autoscalers(void **state)
{
        NEEDS_KUBECTL();
        for (int b = 0; b < BUILDS; b++) {
                EACH(b, role, "ClusterRole")
                {
                        json_t *rule;
                        size_t i;
                        json_array_foreach(at(role, "rules"), i,
                                           rule) if (holds(at(rule, "apiGroups"), "autoscaling") &&
                                                     writes(at(rule, "verbs"))) assert_int_equal(b, RETUNE);
                }
        }
        assert_string_equal(text_at(find(RETUNE, "ClusterRole", "halflife-controller-retune"), "rules.0.verbs.1"),
                            "patch");
}

/* Several components at once, as the README has it: what may write nothing admits nothing either. */
static void test_read_only_replicas(void **state)
{
        NEEDS_KUBECTL();
        AUTO(mem_free) char *folders = tmp_path("both");
        AUTO(mem_free)
        char *command =
                mem_printf("mkdir -p %s && cp -r crds manifests %s/ && mkdir %s/both", folders, folders, folders);
        assert_int_equal(system(command), 0);
        AUTO(mem_free)
        char *file = mem_printf("%s/both/kustomization.yaml", folders), *both = mem_printf("%s/both", folders);
        FILE *f = fopen(file, "we");
        assert_non_null(f);
        fputs("resources: [../manifests/base]\n"
              "components: [../manifests/components/admission, ../manifests/components/retune, "
              "../manifests/components/in-place, ../manifests/components/read-only]\n",
              f);
        assert_int_equal(fclose(f), 0);
        built[BUILDS] = build(both);
        assert_non_null(built[BUILDS]);
        static const char *const deployments[] = {"halflife", "halflife-serve"};
        for (int i = 0; i < 2; i++)
                assert_true(
                        holds(at(find(BUILDS, "Deployment", deployments[i]), "spec.template.spec.containers.0.args"),
                              "--apply=never"));
        static const char *const emptied[] = {"halflife-controller-retune", "halflife-controller-in-place"};
        for (int i = 0; i < 2; i++)
                assert_int_equal(json_array_size(at(find(BUILDS, "ClusterRole", emptied[i]), "rules")), 0);
        json_decref(built[BUILDS]);
        built[BUILDS] = NULL;
}

/* --- custom metrics --- */

/* Both versions lead to a port of the service that the setting listens on; nothing vouches for it but halflife. */
static void check_api_service(const char *version)
{
        AUTO(mem_free) char *name = mem_printf("%s.custom.metrics.k8s.io", version);
        const json_t *spec = at(find(CUSTOM, "APIService", name), "spec");
        const json_t *service = find(CUSTOM, "Service", text_at(spec, "service.name"));
        json_int_t port = json_integer_value(at(spec, "service.port"));
        AUTO(mem_free) char *listen = mem_printf("--custom-metrics-listen=:%d", (int)port);
        assert_string_equal(text_at(spec, "group"), "custom.metrics.k8s.io");
        assert_string_equal(text_at(spec, "version"), version);
        assert_string_equal(text_at(spec, "service.namespace"), text_at(service, "metadata.namespace"));
        assert_int_equal(json_integer_value(at(service, "spec.ports.2.port")), port);
        assert_null(at(spec, "caBundle"));
        assert_null(at(spec, "insecureSkipTLSVerify"));
        assert_true(holds(at(find(CUSTOM, "Deployment", "halflife"), "spec.template.spec.containers.0.args"), listen));
}

static void test_custom_metrics(void **state)
{
        NEEDS_KUBECTL();
        check_api_service("v1beta1");
        check_api_service("v1beta2");
        for (int b = 0; b < CUSTOM; b++)
                assert_null(find(b, "APIService", NULL)); /* never but by this overlay */
        const json_t *role = find(CUSTOM, "Role", "halflife-front-proxy");
        assert_string_equal(text_at(role, "metadata.namespace"), "kube-system");
        assert_string_equal(text_at(find(CUSTOM, "RoleBinding", "halflife-front-proxy"), "metadata.namespace"),
                            "kube-system");
        assert_int_equal(json_array_size(at(role, "rules.0.resourceNames")), 1);
        assert_int_equal(
                json_array_size(at(find(CUSTOM, "ClusterRole", "halflife-custom-metrics"), "rules.0.resourceNames")),
                2);
        assert_string_equal(text_at(find(CUSTOM, "NetworkPolicy", "halflife"), "spec.ingress.0.ports.2.port"),
                            "custom");
}

/* --- webhooks --- */

static void test_webhooks(void **state)
{
        NEEDS_KUBECTL();
        static const char *const exempt[] = {"kube-system", "kube-public", "kube-node-lease", "halflife"};
        const json_t *c = find(ADMISSION, "MutatingWebhookConfiguration", "halflife");
        json_t *hook;
        size_t i;
        assert_int_equal(json_array_size(at(c, "webhooks")), 2);
        json_array_foreach(at(c, "webhooks"), i, hook)
        {
                assert_string_equal(text_at(hook, "failurePolicy"), "Ignore");
                assert_string_equal(text_at(hook, "sideEffects"), "None");
                assert_string_equal(text_at(hook, "reinvocationPolicy"), "IfNeeded");
                assert_int_equal(json_integer_value(at(hook, "timeoutSeconds")), 2);
                assert_null(at(hook, "clientConfig.caBundle")); /* a second apply would take it away */
                assert_string_equal(text_at(hook, "clientConfig.service.path"), "/admission");
                assert_non_null(find(ADMISSION, "Service", text_at(hook, "clientConfig.service.name")));
                const json_t *rule = at(hook, "namespaceSelector.matchExpressions.0");
                assert_string_equal(text_at(rule, "operator"), "NotIn");
                for (size_t k = 0; k < sizeof exempt / sizeof exempt[0]; k++)
                        assert_true(holds(at(rule, "values"), exempt[k]));
                const json_t *ours = at(hook, "objectSelector.matchExpressions.0"); /* in whatever namespace we are */
                assert_string_equal(text_at(ours, "key"), "app.kubernetes.io/name");
                assert_string_equal(text_at(ours, "operator"), "NotIn");
                assert_true(holds(at(ours, "values"), "halflife"));
        }
        const json_t *serve = find(ADMISSION, "Deployment", "halflife-serve");
        const json_t *waits = at(serve, "spec.template.spec.containers.0.lifecycle.preStop.sleep.seconds");
        assert_in_range(json_integer_value(waits), 3, 20); /* nodes still send requests there */
        const json_t *pods = at(c, "webhooks.0.rules.0"), *workloads = at(c, "webhooks.1.rules.0");
        assert_true(holds(at(pods, "operations"), "CREATE") && json_array_size(at(pods, "operations")) == 1);
        assert_true(holds(at(workloads, "operations"), "UPDATE") && holds(at(workloads, "resources"), "deployments"));
        for (int b = 0; b < BUILDS; b++)
                assert_true((find(b, "MutatingWebhookConfiguration", NULL) != NULL) ==
                            (b == ADMISSION || b == IN_PLACE));
}

/* --- monitoring --- */

static char *metrics_known(void)
{
        char *text = NULL;
        size_t len;
        FILE *f = open_memstream(&text, &len);
        telemetry_print_markdown(f);
        fclose(f);
        return text;
}

/* Every metric that an alert reads is one that halflife has. */
static void check_expression(const char *expr, const char *alert, const char *known)
{
        static const char *const ending[] = {"", "_sum", "_count", "_bucket"};
        int metrics = 0;
        for (const char *s = strstr(expr, "halflife_"); s; s = strstr(s + 1, "halflife_"), metrics++) {
                size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyz_");
                bool is_known = false;
                for (size_t e = 0; e < sizeof ending / sizeof ending[0]; e++) {
                        size_t tail = strlen(ending[e]);
                        AUTO(mem_free)
                        char *row = len > tail ? mem_printf("| `%.*s` |", (int)(len - tail), s) : mem_string("none");
                        is_known |= len > tail && strncmp(s + len - tail, ending[e], tail) == 0 && strstr(known, row);
                }
                if (!is_known)
                        fail_msg("%s: no metric '%.*s'", alert, (int)len, s);
        }
        assert_true(metrics > 0);
}

static void test_alerts(void **state)
{
        NEEDS_KUBECTL();
        char *known = metrics_known();
        json_t *rule;
        size_t i;
        const json_t *rules = at(find(MONITORING, "PrometheusRule", "halflife"), "spec.groups.0.rules");
        assert_true(json_array_size(rules) >= 10);
        json_array_foreach(rules, i, rule)
        {
                const char *alert = text_at(rule, "alert");
                check_expression(text_at(rule, "expr"), alert, known);
                if (strncmp(alert, "Halflife", 8) != 0 || !*text_at(rule, "labels.severity") ||
                    !*text_at(rule, "annotations.summary") || !*text_at(rule, "annotations.description"))
                        fail_msg("alert %zu '%s' lacks something", i, alert);
        }
        const json_t *monitor = find(MONITORING, "ServiceMonitor", "halflife");
        assert_true(within(at(monitor, "spec.selector.matchLabels"),
                           at(find(MONITORING, "Service", "halflife"), "metadata.labels")));
        assert_string_equal(text_at(monitor, "spec.endpoints.0.port"), "http");
        free(known);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_pods),
                cmocka_unit_test(test_what_selects_pods),
                cmocka_unit_test(test_permissions),
                cmocka_unit_test(test_who_writes_autoscalers),
                cmocka_unit_test(test_read_only_replicas),
                cmocka_unit_test(test_custom_metrics),
                cmocka_unit_test(test_webhooks),
                cmocka_unit_test(test_alerts),
        };
        return cmocka_run_group_tests(tests, build_all, drop_all);
}
