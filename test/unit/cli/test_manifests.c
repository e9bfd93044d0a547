/*
 * manifests/ as kubectl applies them: the properties that the base and each overlay must keep.
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
#include "core/kind.h"
#include "kube/permission.h"

enum { BASE, ADMISSION, READ_ONLY, MONITORING, CUSTOM, LOAD, RETUNE, IN_PLACE, BUILDS };
static const char *const folder[BUILDS] = {"manifests",
                                           "manifests/overlays/admission",
                                           "manifests/overlays/read-only",
                                           "manifests/overlays/monitoring",
                                           "manifests/overlays/custom-metrics",
                                           "manifests/overlays/load-watcher",
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
        static const char *const wanted[] = {"resources.requests.cpu",
                                             "resources.requests.memory",
                                             "resources.limits.memory",
                                             "startupProbe.httpGet",
                                             "livenessProbe.httpGet",
                                             "readinessProbe.httpGet",
                                             "image"};
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
        struct option_given given[SETTINGS_MOST];
        struct option_words words;
        struct settings s = {0};
        struct err err = {0};
        int argc = (int)json_array_size(args), count;
        assert_in_range(argc, 1, 31);
        for (int i = 0; i < argc; i++)
                argv[i] = mem_string(json_string_value(json_array_get(args, (size_t)i)));
        const struct option_spec *spec = settings_options(FOR_BOTH, &count);
        if (options_parse(spec, count, argc, argv, given, &words, &err) < 0 || words.count ||
            settings_read(given, &s, &err) < 0)
                fail_msg("%s: %s", where, err.text);
        assert_int_equal(s.controller.certificate, CERTIFICATE_SELF);
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
        const json_t *rotate = find(BASE, "Deployment", "halflife-rotate");
        assert_int_equal(json_integer_value(at(rotate, "spec.replicas")), 1);
        assert_string_equal(text_at(rotate, "spec.template.spec.serviceAccountName"), "halflife-rotate");
        assert_int_equal(json_integer_value(at(find(ADMISSION, "Deployment", "halflife-serve"), "spec.replicas")), 2);
        assert_string_equal(
                json_string_value(json_object_get(at(find(BASE, "Namespace", "halflife"), "metadata.labels"),
                                                  "pod-security.kubernetes.io/enforce")),
                "restricted");
}

static bool has_port(const json_t *ports, int number)
{
        size_t i;
        json_t *port;
        json_array_foreach(ports, i, port) if (json_integer_value(at(port, "port")) == number) return true;
        return false;
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
                assert_true(holds(at(policy, "spec.policyTypes"), "Egress"));
                assert_int_equal(json_array_size(at(policy, "spec.egress")), 1);
                assert_null(at(policy, "spec.egress.0.to")); /* nor is it one here */
                assert_false(
                        has_port(at(policy, "spec.egress.0.ports"), 80)); /* a cloud's metadata, with credentials */
                assert_true(has_port(at(policy, "spec.egress.0.ports"), 53));
                assert_true(has_port(at(policy, "spec.egress.0.ports"), 443));
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
        for (size_t i = 0; i < kinds_count; i++)
                if (holds(groups, kinds[i].group))
                        return true;
        return false;
}

static void check_rule(const json_t *rule, const char *kind, const char *name, bool may_write_workloads)
{
        static const char *const never[] = {"*", "escalate", "bind", "impersonate", "approve", "sign"};
        for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
                if (holds(at(rule, "verbs"), never[i]) || holds(at(rule, "resources"), never[i]) ||
                    holds(at(rule, "apiGroups"), never[i]))
                        fail_msg("%s %s: '%s'", kind, name, never[i]);
        bool secrets = holds(at(rule, "resources"), "secrets"), rotates = strncmp(name, "halflife-rotate", 15) == 0;
        if (secrets && (strcmp(kind, "Role") != 0 || holds(at(rule, "verbs"), "list") || !at(rule, "resourceNames") ||
                        holds(at(rule, "verbs"), "create") || (writes(at(rule, "verbs")) && !rotates)))
                fail_msg("%s %s: secrets", kind, name);
        if (!rotates && writes(at(rule, "verbs")) &&
            (holds(at(rule, "resources"), "mutatingwebhookconfigurations") ||
             holds(at(rule, "resources"), "apiservices")))
                fail_msg("%s %s: writes what verifies the certificate", kind, name);
        if ((holds(at(rule, "resources"), "pods") || holds(at(rule, "resources"), "pods/resize")) &&
            writes(at(rule, "verbs")) && strcmp(name, "halflife-controller-in-place") != 0)
                fail_msg("%s %s: writes pods", kind, name);
        if (of_workloads(at(rule, "apiGroups")) && writes(at(rule, "verbs")) && !may_write_workloads)
                fail_msg("%s %s: writes workloads", kind, name);
}

/* Only halflife's own accounts are bound. Administrators decide which people get access to the REST API. */
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

/* The REST API through the API server's proxy: two services, to read only. */
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
        static const char *const roles[] = {"Role", "ClusterRole"}, *const bindings[] = {"RoleBinding",
                                                                                         "ClusterRoleBinding"};
        for (int b = 0; b < BUILDS; b++) {
                check_door(b);
                for (int k = 0; k < 2; k++) {
                        EACH(b, role, roles[k])
                        {
                                const char *name = text_at(role, "metadata.name");
                                json_t *rule;
                                size_t i;
                                json_array_foreach(at(role, "rules"), i, rule) check_rule(
                                        rule, roles[k], name, b != READ_ONLY && strcmp(name, "halflife-serve") != 0);
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

static bool is_bound(int b, const json_t *role, const char *account)
{
        static const char *const bindings[] = {"RoleBinding", "ClusterRoleBinding"};
        for (int k = 0; k < 2; k++)
                EACH(b, binding, bindings[k])
                {
                        if (strcmp(text_at(binding, "roleRef.name"), text_at(role, "metadata.name")) == 0 &&
                            strcmp(text_at(binding, "subjects.0.name"), account) == 0)
                                return true;
                }
        return false;
}

/* Of the controller's account: bound to it, or summed up in a role that is. */
static bool is_of_controller(int b, const json_t *role)
{
        return json_object_get(at(role, "metadata.labels"), "halflife.dev/aggregate-to-controller") ||
               is_bound(b, role, "halflife");
}

/* One verb on one resource, as a rule says it. */
struct grant {
        const char *group, *resource, *verb;
        const json_t *names;
};

static bool is_grant_of(const struct grant *g, const struct permission *p, enum permission_verb verb)
{
        const struct known_resource *r = &known_resources[p->of];
        AUTO(mem_free)
        char *name = mem_printf("%s%s%s", r->plural, p->subresource ? "/" : "", p->subresource ? p->subresource : "");
        return strcmp(g->group, r->group) == 0 && strcmp(g->resource, name) == 0 &&
               strcmp(g->verb, permission_verb_name[verb]) == 0 && (!p->name || holds(g->names, p->name));
}

/* Whether a grant is for a kind in the table of workload kinds, with a verb that is allowed for such kinds. */
static bool is_of_custom_kind(const struct grant *g)
{
        for (size_t i = 0; i < kinds_count; i++)
                if (strcmp(kinds[i].group, g->group) == 0 && strcmp(kinds[i].plural, g->resource) == 0)
                        return strcmp(g->verb, "create") != 0 && strcmp(g->verb, "delete") != 0;
        return false;
}

enum { PERMISSIONS_MOST = 128 };

/* Every verb of every rule is one that something needs: those are marked. */
static void mark_rule(const json_t *rule, unsigned uses, bool granted[PERMISSIONS_MOST * PERMISSION_VERBS])
{
        size_t i, j, k;
        json_t *group, *resource, *verb;
        json_array_foreach(at(rule, "apiGroups"), i, group) json_array_foreach(at(rule, "resources"), j, resource)
                json_array_foreach(at(rule, "verbs"), k, verb)
        {
                const struct grant g = {json_string_value(group), json_string_value(resource), json_string_value(verb),
                                        at(rule, "resourceNames")};
                bool needed = is_of_custom_kind(&g);
                const struct permission *p;
                enum permission_verb of;
                for (size_t next = 0; (p = permission_next(uses, &next, &of));)
                        if (is_grant_of(&g, p, of))
                                needed = granted[next - 1] = true;
                if (!needed)
                        fail_msg("granted and not needed: %s %s of '%s'", g.verb, g.resource, g.group);
        }
}

/* The table of permissions and the rules of the manifests say the same. */
static void test_rules_are_the_permissions(void **state)
{
        NEEDS_KUBECTL();
        enum {
                OF_BASE = 1u << PERMISSION_ALWAYS | 1u << PERMISSION_TO_SERVE | 1u << PERMISSION_TO_WRITE |
                          1u << PERMISSION_CERTIFICATE | 1u << PERMISSION_UNCHECKED
        };
        static const struct {
                int build;
                bool rotate; /* the account of halflife rotate, else of the controller */
                unsigned uses;
        } row[] = {
                {BASE, false, OF_BASE},
                {RETUNE, false, OF_BASE | 1u << PERMISSION_TO_RETUNE},
                {IN_PLACE, false, OF_BASE | 1u << PERMISSION_TO_RESIZE},
                {CUSTOM, false, OF_BASE | 1u << PERMISSION_CUSTOM_METRICS},
                {BASE, true, 1u << PERMISSION_ROTATE},
                {ADMISSION, true, 1u << PERMISSION_ROTATE | 1u << PERMISSION_ROTATE_WEBHOOKS},
                {CUSTOM, true, 1u << PERMISSION_ROTATE | 1u << PERMISSION_ROTATE_API_SERVICES},
        };
        static const char *const kind[] = {"Role", "ClusterRole"};
        assert_in_range(permissions_count, 1, PERMISSIONS_MOST);
        for (size_t r = 0; r < sizeof row / sizeof row[0]; r++) {
                bool granted[PERMISSIONS_MOST * PERMISSION_VERBS] = {false};
                for (int k = 0; k < 2; k++)
                        EACH(row[r].build, role, kind[k])
                        {
                                json_t *rule;
                                size_t i;
                                bool of = row[r].rotate ? is_bound(row[r].build, role, "halflife-rotate")
                                                        : is_of_controller(row[r].build, role);
                                json_array_foreach(at(role, "rules"), i, rule) if (of)
                                        mark_rule(rule, row[r].uses, granted);
                        }
                const struct permission *p;
                enum permission_verb verb;
                for (size_t next = 0; (p = permission_next(row[r].uses, &next, &verb));)
                        if (!granted[next - 1])
                                fail_msg("%s: needed and not granted: %s %s", folder[row[r].build],
                                         permission_verb_name[verb], known_resources[p->of].name);
        }
}

static bool covers(const json_t *rules, const struct kind *k, const char *list, const char *word)
{
        size_t i;
        json_t *rule;
        json_array_foreach(rules, i, rule) if (holds(at(rule, "apiGroups"), k->group) &&
                                               holds(at(rule, "resources"), k->plural) &&
                                               holds(at(rule, list), word)) return true;
        return false;
}

/* May halflife (or halflife serve alone) do that to workloads of the kind? */
static bool may(int b, bool serve, const char *verb, const struct kind *k)
{
        EACH(b, role, "ClusterRole")
        {
                bool of = serve ? strcmp(text_at(role, "metadata.name"), "halflife-serve") == 0
                                : is_of_controller(b, role);
                if (of && covers(at(role, "rules"), k, "verbs", verb))
                        return true;
        }
        return false;
}

/* Whether the webhook for workloads is called for the kind. */
static bool admits(const struct kind *k)
{
        size_t i;
        json_t *hook;
        json_array_foreach(at(find(ADMISSION, "MutatingWebhookConfiguration", NULL), "webhooks"), i,
                           hook) if (strcmp(text_at(hook, "name"), "workloads.halflife.dev") ==
                                     0) return covers(at(hook, "rules"), k, "operations", "UPDATE");
        return false;
}

/* Whether the policy judges halflife's requests for this resource. */
static bool is_bounded(const char *group, const char *resource)
{
        static const char *const operation[] = {"CREATE", "UPDATE", "DELETE"};
        const json_t *policy = find(BASE, "ValidatingAdmissionPolicy", "halflife");
        const struct kind k = {.group = group, .plural = resource};
        bool all = true;
        for (size_t i = 0; i < sizeof operation / sizeof operation[0]; i++)
                all &= covers(at(policy, "spec.matchConstraints.resourceRules"), &k, "operations", operation[i]);
        return all;
}

/* Whether the policy finds the pod template of the kind: "/spec/template" is there as "o.spec.?template". */
static bool finds_template(const struct kind *k)
{
        char path[128] = "o.spec";
        size_t len = strlen(path);
        for (const char *p = k->template_path + strlen("/spec"); *p && len + 3 < sizeof path; p++) {
                path[len++] = *p == '/' ? '.' : *p;
                if (*p == '/')
                        path[len++] = '?';
        }
        path[len] = '\0';
        size_t i;
        json_t *variable;
        json_array_foreach(at(find(BASE, "ValidatingAdmissionPolicy", "halflife"), "spec.variables"), i,
                           variable) if (strcmp(text_at(variable, "name"), "templates") ==
                                         0) return strstr(text_at(variable, "expression"), path) != NULL;
        return false;
}

/* Each kind of the table is in each file of the manifests that lists kinds. */
static void test_kinds_are_in_the_manifests(void **state)
{
        NEEDS_KUBECTL();
        for (const struct kind *k = kinds; k < kinds + kinds_count; k++) {
                bool patched = !(k->flags & KIND_IMMUTABLE);
                const char *lacks =
                        !may(BASE, false, "get", k) || !may(BASE, false, "list", k) || !may(BASE, false, "watch", k) ||
                                        may(BASE, false, "patch", k) != patched
                                ? "manifests/base/rbac-kinds.yaml"
                        : may(READ_ONLY, false, "patch", k) ? "manifests/components/read-only/kustomization.yaml"
                        : !may(ADMISSION, true, "get", k)   ? "manifests/components/admission/rbac.yaml"
                        : admits(k) != patched              ? "manifests/components/admission/webhook.yaml"
                        : is_bounded(k->group, k->plural) != patched || !finds_template(k)
                                ? "manifests/base/policy.yaml"
                                : NULL;
                if (lacks)
                        fail_msg("kind %s of '%s' is not in %s as its row in src/core/kind.c wants", k->kind, k->group,
                                 lacks);
        }
}

/* The list of the policy, of the webhooks, and of the program's setting beside halflife's own namespace. */
static void check_exempt(const json_t *list)
{
        AUTO(json_decref) json_t *setting = json_array();
        for (int i = 0; i < settings_count; i++) {
                if (strcmp(setting_table[i].name, "exempt-namespaces") != 0)
                        continue;
                AUTO(mem_free) char *copy = mem_string(setting_table[i].standard);
                for (char *rest = copy, *name; (name = strsep(&rest, ","));)
                        json_array_append_new(setting, json_string(name));
        }
        json_array_append_new(setting, json_string("halflife"));
        assert_true(json_equal(list, setting));
}

/* The API server bounds what every account of halflife writes, in each overlay, and judges nobody else. */
static void test_policy(void **state)
{
        NEEDS_KUBECTL();
        const json_t *policy = find(BASE, "ValidatingAdmissionPolicy", "halflife");
        for (int b = 0; b < BUILDS; b++) {
                const json_t *binding = find(b, "ValidatingAdmissionPolicyBinding", "halflife");
                assert_true(json_equal(find(b, "ValidatingAdmissionPolicy", "halflife"), policy));
                assert_string_equal(text_at(binding, "spec.policyName"), "halflife");
                assert_true(holds(at(binding, "spec.validationActions"), "Deny"));
                assert_null(at(binding, "spec.matchResources"));
                assert_null(at(binding, "metadata.namespace"));
                EACH(b, account, "ServiceAccount")
                {
                        AUTO(mem_free)
                        char *user = mem_printf("system:serviceaccount:%s:%s", text_at(account, "metadata.namespace"),
                                                text_at(account, "metadata.name"));
                        assert_memory_equal(user, "system:serviceaccount:halflife:halflife", 39);
                }
        }
        assert_string_equal(text_at(policy, "spec.failurePolicy"), "Fail");
        assert_null(at(policy, "spec.paramKind")); /* without its parameter, a policy refuses every user's writes */
        assert_null(at(policy, "metadata.namespace"));
        assert_int_equal(json_array_size(at(policy, "spec.matchConditions")), 1);
        assert_string_equal(text_at(policy, "spec.matchConditions.0.expression"),
                            "request.userInfo.username.startsWith(\"system:serviceaccount:halflife:halflife\")");
        assert_string_equal(text_at(policy, "spec.variables.0.name"), "exemptNamespaces");
        AUTO(json_decref) json_t *exempt = json_loads(text_at(policy, "spec.variables.0.expression"), 0, NULL);
        check_exempt(exempt);
        check_exempt(at(find(ADMISSION, "MutatingWebhookConfiguration", "halflife"),
                        "webhooks.0.namespaceSelector.matchExpressions.0.values"));
}

/* The policy judges each resource that a role lets halflife patch beside its own objects. */
static void test_policy_judges_all_writes(void **state)
{
        NEEDS_KUBECTL();
        static const char *const own[] = {"halflife.dev", "events.k8s.io", "apiregistration.k8s.io",
                                          "admissionregistration.k8s.io"};
        for (int b = 0; b < BUILDS; b++)
                EACH(b, role, "ClusterRole")
                {
                        json_t *rule, *group, *resource;
                        size_t i, j, k;
                        if (strcmp(text_at(role, "metadata.name"), "halflife-admin") == 0) /* of people */
                                continue;
                        json_array_foreach(at(role, "rules"), i, rule)
                                json_array_foreach(at(rule, "apiGroups"), j, group)
                                        json_array_foreach(at(rule, "resources"), k, resource)
                        {
                                bool is_own = false;
                                for (size_t n = 0; n < sizeof own / sizeof own[0]; n++)
                                        is_own |= strcmp(json_string_value(group), own[n]) == 0;
                                if (holds(at(rule, "verbs"), "patch") && !is_own &&
                                    !is_bounded(json_string_value(group), json_string_value(resource)))
                                        fail_msg("no policy bounds writes of %s", json_string_value(resource));
                        }
                }
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

/* Build the base with some components in this order. */
static void build_own(const char *components)
{
        AUTO(mem_free) char *folders = tmp_path("own");
        AUTO(mem_free)
        char *command =
                mem_printf("mkdir -p %s/own && cp -r crds manifests %s/ && { echo 'resources: [../manifests/base]'; "
                           "echo components:; printf -- '- ../manifests/components/%%s\\n' %s; } "
                           ">%s/own/kustomization.yaml",
                           folders, folders, components, folders);
        AUTO(mem_free) char *own = mem_printf("%s/own", folders);
        assert_int_equal(system(command), 0);
        built[BUILDS] = build(own);
        assert_non_null(built[BUILDS]);
}

/* Several components at once, as docs/install.md has it: what may write nothing admits nothing either. */
static void test_read_only_replicas(void **state)
{
        NEEDS_KUBECTL();
        build_own("admission retune in-place read-only");
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

/* A component changes nothing of another: the Role by which halflife reads the front proxy's CA stays where that is. */
static void test_components_in_any_order(void **state)
{
        NEEDS_KUBECTL();
        build_own("custom-metrics monitoring admission");
        assert_string_equal(text_at(find(BUILDS, "Role", "halflife-front-proxy"), "metadata.namespace"), "kube-system");
        static const char *const own[][2] = {
                {"ServiceMonitor", "halflife"}, {"Deployment", "halflife-serve"}, {"ServiceAccount", "halflife-serve"}};
        for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
                assert_string_equal(text_at(find(BUILDS, own[i][0], own[i][1]), "metadata.namespace"), "halflife");
        json_decref(built[BUILDS]);
        built[BUILDS] = NULL;
}

/* --- custom metrics --- */

/* Both APIServices lead to the Service's port for the listener of the setting. They have no caBundle, as halflife
 * writes it. */
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

/* --- load-watcher's interface --- */

/* The Service leads to the controller's port for the listener, and the policy admits schedulers alone to it. */
static void test_load_watcher(void **state)
{
        NEEDS_KUBECTL();
        const json_t *container = at(find(LOAD, "Deployment", "halflife"), "spec.template.spec.containers.0");
        const json_t *service = find(LOAD, "Service", "halflife"), *policy = find(LOAD, "NetworkPolicy", "halflife");
        assert_true(holds(at(container, "args"), "--watcher-listen=:2020"));
        assert_string_equal(text_at(container, "ports.2.name"), "watcher");
        assert_int_equal(json_integer_value(at(container, "ports.2.containerPort")), 2020);
        assert_string_equal(
                json_string_value(json_object_get(at(service, "spec.selector"), "app.kubernetes.io/component")),
                "controller");
        assert_string_equal(text_at(service, "spec.ports.2.targetPort"), "watcher");
        assert_int_equal(json_integer_value(at(service, "spec.ports.2.port")), 2020);
        assert_int_equal(json_array_size(at(policy, "spec.ingress")), 2);
        assert_int_equal(json_array_size(at(policy, "spec.ingress.0.ports")), 2);
        assert_int_equal(json_array_size(at(policy, "spec.ingress.1.ports")), 1);
        assert_string_equal(text_at(policy, "spec.ingress.1.ports.0.port"), "watcher");
        assert_int_equal(json_array_size(at(policy, "spec.ingress.1.from")), 1);
        assert_non_null(at(policy, "spec.ingress.1.from.0.namespaceSelector.matchLabels"));
}

/* --- webhooks --- */

/* The Secret is shipped without type and data, so that applying it again takes away nothing. */
static void test_secret_is_empty(void **state)
{
        NEEDS_KUBECTL();
        for (int b = 0; b < BUILDS; b++)
                EACH(b, secret, "Secret")
                {
                        assert_string_equal(text_at(secret, "metadata.name"), "halflife-certificate");
                        assert_null(at(secret, "type"));
                        assert_null(at(secret, "data"));
                        assert_null(at(secret, "stringData"));
                }
        assert_non_null(find(BASE, "Secret", NULL));
}

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
                assert_null(at(hook, "clientConfig.service.path"));
                assert_non_null(find(ADMISSION, "Service", text_at(hook, "clientConfig.service.name")));
                const json_t *rule = at(hook, "namespaceSelector.matchExpressions.0");
                assert_string_equal(text_at(rule, "operator"), "NotIn");
                for (size_t k = 0; k < sizeof exempt / sizeof exempt[0]; k++)
                        assert_true(holds(at(rule, "values"), exempt[k]));
                const json_t *ours = at(hook, "objectSelector.matchExpressions.0"); /* in whatever namespace we are */
                assert_string_equal(text_at(ours, "key"), "app.kubernetes.io/name");
                assert_string_equal(text_at(ours, "operator"), "NotIn");
                assert_true(holds(at(ours, "values"), "halflife"));
                assert_string_equal(
                        text_at(hook, "matchConditions.0.expression"),
                        "!request.userInfo.username.startsWith(\"system:serviceaccount:halflife:halflife\")");
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
                cmocka_unit_test(test_rules_are_the_permissions),
                cmocka_unit_test(test_kinds_are_in_the_manifests),
                cmocka_unit_test(test_policy),
                cmocka_unit_test(test_policy_judges_all_writes),
                cmocka_unit_test(test_who_writes_autoscalers),
                cmocka_unit_test(test_read_only_replicas),
                cmocka_unit_test(test_components_in_any_order),
                cmocka_unit_test(test_custom_metrics),
                cmocka_unit_test(test_load_watcher),
                cmocka_unit_test(test_secret_is_empty),
                cmocka_unit_test(test_webhooks),
                cmocka_unit_test(test_alerts),
        };
        return cmocka_run_group_tests(tests, build_all, drop_all);
}
