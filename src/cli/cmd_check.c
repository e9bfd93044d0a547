/*
 * halflife check: can it reach, may it do, what it needs? One line each, with what to do where it fails.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/yaml.h"
#include "cli/cmd.h"
#include "cli/session.h"
#include "cli/settings.h"
#include "custom_metrics/api_registration.h"
#include "prometheus_settings.h"
#include "store/store.h"
#include "terminal.h"

struct checking {
        struct session session;
        struct settings settings;
        const char *ns;
        bool colour;
        int failed, warned;
};

enum verdict { GOOD, DOUBTFUL, BAD };

static void check_tell(struct checking *c, enum verdict v, const char *what, const char *way_out)
{
        static const char *const word[] = {"ok", "warn", "FAIL"}, *const paint[] = {"\033[32m", "\033[33m", "\033[31m"};
        c->failed += v == BAD;
        c->warned += v == DOUBTFUL;
        printf("%s%-4s%s  %s", c->colour ? paint[v] : "", word[v], c->colour ? "\033[0m" : "", what);
        if (v != GOOD && way_out && *way_out)
                printf("\n      %s", way_out);
        printf("\n");
}

static json_t *check_ask(struct checking *c, enum http_method method, const char *path, json_t *body, struct err *err)
{
        char *text = body ? json_dumps(body, 0) : NULL, *answer = NULL;
        size_t len;
        struct call call = {.method = method, .path = path, .body = text_of(text), .deadline_ms = 10 * SECOND_MS};
        int rc = client_wait(c->session.client, &call, &answer, &len, err);
        json_t *value = rc == 0 ? json_loadb(answer, len, 0, NULL) : NULL;
        if (rc == 0 && !value)
                err_set(err, ERR_RETRY, "'%s' did not answer JSON", path);
        free(text);
        mem_free(answer);
        return value;
}

/* --- reach --- */

static bool check_reach(struct checking *c)
{
        char line[ERR_TEXT_MAX + 128];
        struct err err = {0};
        AUTO(json_decref) json_t *version = check_ask(c, HTTP_GET, "/version", NULL, &err);
        const char *git = json_string_value(json_object_get(version, "gitVersion"));
        if (!version) {
                snprintf(line, sizeof line, "API server: %s", err.text);
                check_tell(c, BAD, line,
                           err.code == ERR_RETRY
                                   ? "is the server up, and its address right? --kubeconfig and --context "
                                     "say which"
                           : err.code == ERR_DENIED
                                   ? "--kubeconfig and --context say which server and which credentials"
                                   : "is this the API server's address? --kubeconfig and --context say which");
                return false;
        }
        snprintf(line, sizeof line, "API server %s, %s", git ? git : "(no version)", access_source(c->session.access));
        check_tell(c, GOOD, line, NULL);
        if (access_warning(c->session.access))
                check_tell(c, DOUBTFUL, access_warning(c->session.access),
                           "in the kubeconfig, name the server by https:// and give its CA (certificate-authority) "
                           "instead");
        return true;
}

/* --- APIs --- */

static bool has_resource(const json_t *list, const char *plural)
{
        size_t i;
        json_t *row;
        json_array_foreach(json_object_get(list, "resources"), i, row)
        {
                const char *name = json_string_value(json_object_get(row, "name"));
                if (name && strcmp(name, plural) == 0)
                        return true;
        }
        return false;
}

static void check_api(struct checking *c, const char *path, const char *const plural[], const char *what,
                      const char *way_out)
{
        char line[ERR_TEXT_MAX + 128];
        struct err err = {0};
        AUTO(json_decref) json_t *list = check_ask(c, HTTP_GET, path, NULL, &err);
        if (!list) {
                snprintf(line, sizeof line, "%s: %s", what, err.text);
                check_tell(c, BAD, line,
                           err.code == ERR_DENIED
                                   ? "may not look; does the kubeconfig hold credentials of an account of "
                                     "this cluster?"
                                   : way_out);
                return;
        }
        for (int i = 0; plural[i]; i++)
                if (!has_resource(list, plural[i])) {
                        snprintf(line, sizeof line, "%s: no '%s'", what, plural[i]);
                        check_tell(c, BAD, line, way_out);
                        return;
                }
        check_tell(c, GOOD, what, NULL);
}

static void check_apis(struct checking *c)
{
        static const char *const ours[] = {"clusterprofiles", "profiles", "recommendations", NULL}, *const metrics[] = {
                                                                                                            "pods",
                                                                                                            NULL};
        check_api(c, "/apis/halflife.dev/v1alpha1", ours, "halflife's kinds (CRDs)",
                  "kubectl apply -k manifests, or -f crds");
        check_api(c, "/apis/metrics.k8s.io/v1beta1", metrics, "metrics API",
                  "install metrics-server; until then nothing is learned and nothing applied");
}

/* --- permissions --- */

/* Some are not needed with every setting. */
enum need_when { ALWAYS, TO_WRITE, TO_SERVE };

struct need {
        const char *group, *resource, *verb, *why;
        bool own_ns; /* in halflife's own namespace only */
        enum need_when when;
};
#define READS(g, r)                                                                                                    \
        {g, r, "list", "reading", false, ALWAYS},                                                                      \
        {                                                                                                              \
                g, r, "watch", "reading", false, ALWAYS                                                                \
        }

static const struct need needs[] = {
        READS("", "namespaces"),
        READS("", "pods"),
        READS("", "limitranges"),
        READS("", "resourcequotas"),
        READS("", "events"),
        READS("", "nodes"),
        READS("autoscaling", "horizontalpodautoscalers"),
        READS("autoscaling.k8s.io", "verticalpodautoscalers"),
        READS("keda.sh", "scaledobjects"),
        READS("apps", "deployments"),
        READS("apps", "statefulsets"),
        READS("apps", "daemonsets"),
        READS("apps", "replicasets"),
        READS("batch", "cronjobs"),
        READS("batch", "jobs"),
        READS("halflife.dev", "clusterprofiles"),
        READS("halflife.dev", "profiles"),
        READS("halflife.dev", "recommendations"),
        {"metrics.k8s.io", "pods", "list", "reading usage", false, ALWAYS},
        {"halflife.dev", "recommendations", "create", "publishing", false, ALWAYS},
        {"halflife.dev", "recommendations", "patch", "publishing", false, ALWAYS},
        {"halflife.dev", "recommendations", "delete", "publishing", false, ALWAYS},
        {"halflife.dev", "recommendations/status", "patch", "publishing", false, ALWAYS},
        {"halflife.dev", "clusterprofiles/status", "patch", "telling what profiles do", false, ALWAYS},
        {"halflife.dev", "profiles/status", "patch", "telling what profiles do", false, ALWAYS},
        {"events.k8s.io", "events", "create", "Events", false, ALWAYS},
        {"events.k8s.io", "events", "patch", "Events", false, ALWAYS},
        {"coordination.k8s.io", "leases", "get", "leader election", true, ALWAYS},
        {"coordination.k8s.io", "leases", "create", "leader election", true, ALWAYS},
        {"coordination.k8s.io", "leases", "update", "leader election", true, ALWAYS},
        {"apps", "replicasets", "get", "serve-listen: whose a pod is", false, TO_SERVE},
        {"batch", "jobs", "get", "serve-listen: whose a pod is", false, TO_SERVE},
        {"authentication.k8s.io", "tokenreviews", "create", "serve-listen: whose token it is", false, TO_SERVE},
        {"authorization.k8s.io", "subjectaccessreviews", "create", "serve-listen: who may read", false, TO_SERVE},
        {"apps", "deployments", "get", "apply.mode Rollout", false, TO_WRITE},
        {"apps", "deployments", "patch", "apply.mode Rollout", false, TO_WRITE},
        {"apps", "statefulsets", "get", "apply.mode Rollout", false, TO_WRITE},
        {"apps", "statefulsets", "patch", "apply.mode Rollout", false, TO_WRITE},
        {"apps", "daemonsets", "get", "apply.mode Rollout", false, TO_WRITE},
        {"apps", "daemonsets", "patch", "apply.mode Rollout", false, TO_WRITE},
        {"batch", "cronjobs", "get", "apply.mode Rollout", false, TO_WRITE},
        {"batch", "cronjobs", "patch", "apply.mode Rollout", false, TO_WRITE},
};
enum { NEEDS = sizeof needs / sizeof needs[0] };

/* 1 allowed, 0 not, < 0 could not be asked. */
static int check_may(struct checking *c, const struct need *n, struct err *err)
{
        char resource[64];
        const char *slash = strchr(n->resource, '/');
        snprintf(resource, sizeof resource, "%.*s", (int)strcspn(n->resource, "/"), n->resource);
        json_t *attributes = json_pack("{s:s, s:s, s:s}", "group", n->group, "resource", resource, "verb", n->verb);
        if (slash)
                json_object_set_new(attributes, "subresource", json_string(slash + 1));
        if (n->own_ns) {
                json_object_set_new(attributes, "namespace", json_string(c->ns));
                if (strcmp(n->verb, "create") != 0)
                        json_object_set_new(attributes, "name", json_string(c->settings.text[SET_LEASE]));
        }
        AUTO(json_decref)
        json_t *review = json_pack("{s:s, s:s, s:{s:o}}", "apiVersion", "authorization.k8s.io/v1", "kind",
                                   "SelfSubjectAccessReview", "spec", "resourceAttributes", attributes);
        AUTO(json_decref)
        json_t *answer = check_ask(c, HTTP_POST, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, err);
        if (!answer)
                return err->code;
        return json_is_true(json_object_get(json_object_get(answer, "status"), "allowed"));
}

static void check_permissions(struct checking *c)
{
        int good = 0;
        bool never = c->settings.number[SET_APPLY] == 1, serves = c->settings.text[SET_SERVE_LISTEN] != NULL;
        for (int i = 0; i < NEEDS; i++) {
                char line[ERR_TEXT_MAX + 128];
                struct err err = {0};
                if ((needs[i].when == TO_WRITE && never) || (needs[i].when == TO_SERVE && !serves))
                        continue;
                int allowed = check_may(c, &needs[i], &err);
                const char *dot = *needs[i].group ? "." : "";
                if (allowed == 1) {
                        good++;
                } else if (allowed == 0) {
                        snprintf(line, sizeof line, "may not %s %s%s%s%s%s, needed for %s", needs[i].verb,
                                 needs[i].resource, dot, needs[i].group, needs[i].own_ns ? " in namespace " : "",
                                 needs[i].own_ns ? c->ns : "", needs[i].why);
                        check_tell(c, BAD, line,
                                   "add the rule to halflife's role; manifests/base/rbac.yaml has all of them");
                } else {
                        snprintf(line, sizeof line, "permissions: %s", err.text);
                        check_tell(c, BAD, line,
                                   "every account may ask this, but for the anonymous one: does the kubeconfig hold "
                                   "credentials?");
                        return;
                }
        }
        char line[64];
        snprintf(line, sizeof line, "%d permissions granted", good);
        check_tell(c, GOOD, line, NULL);
}

/* --- custom metrics --- */

static bool may_name(struct checking *c, const char *verb, const char *group, const char *resource, const char *ns,
                     const char *name)
{
        struct err err = {0};
        AUTO(json_decref)
        json_t *review =
                json_pack("{s:s, s:s, s:{s:{s:s, s:s, s:s, s:s, s:s}}}", "apiVersion", "authorization.k8s.io/v1",
                          "kind", "SelfSubjectAccessReview", "spec", "resourceAttributes", "verb", verb, "group", group,
                          "resource", resource, "namespace", ns, "name", name);
        AUTO(json_decref)
        json_t *answer =
                check_ask(c, HTTP_POST, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, &err);
        return json_is_true(json_object_get(json_object_get(answer, "status"), "allowed"));
}

static void check_custom_permissions(struct checking *c)
{
        static const struct {
                const char *verb, *group, *resource, *ns, *name;
        } row[] = {
                {"get", "", "configmaps", "kube-system", "extension-apiserver-authentication"},
                {"get", "apiregistration.k8s.io", "apiservices", "", "v1beta1.custom.metrics.k8s.io"},
                {"patch", "apiregistration.k8s.io", "apiservices", "", "v1beta1.custom.metrics.k8s.io"},
                {"get", "apiregistration.k8s.io", "apiservices", "", "v1beta2.custom.metrics.k8s.io"},
                {"patch", "apiregistration.k8s.io", "apiservices", "", "v1beta2.custom.metrics.k8s.io"},
        };
        char line[256];
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                if (may_name(c, row[i].verb, row[i].group, row[i].resource, row[i].ns, row[i].name))
                        continue;
                snprintf(line, sizeof line, "may not %s %s '%s', needed for custom metrics", row[i].verb,
                         row[i].resource, row[i].name);
                check_tell(c, BAD, line, "kubectl apply -k manifests/overlays/custom-metrics has the rules");
        }
}

/* Only where they are asked for. */
static void check_custom_metrics(struct checking *c)
{
        char line[ERR_TEXT_MAX + 128];
        struct err err = {0};
        int ours = 0;
        if (!c->settings.text[SET_CUSTOM_METRICS_LISTEN])
                return;
        int rc = api_registration_check(c->session.client, c->ns, c->settings.text[SET_CUSTOM_METRICS_SERVICE], &ours,
                                        &err);
        snprintf(line, sizeof line, "custom metrics API: %s", rc < 0 ? err.text : "leads to halflife");
        if (rc == ERR_CONFLICT)
                check_tell(c, BAD, line, "halflife run refuses to start so");
        else if (rc < 0)
                check_tell(c, BAD, line, "until whose it is can be seen, nothing is served");
        else if (ours == 0)
                check_tell(c, DOUBTFUL, "custom metrics API: no APIService leads to halflife",
                           "kubectl apply -k manifests/overlays/custom-metrics");
        else
                check_tell(c, GOOD, line, NULL);
        check_custom_permissions(c);
}

/* --- kinds that profiles name --- */

enum { NAMED_MAX = 64 };
struct named_kind {
        char group[128], version[32], kind[64], plural[64];
        bool patched; /* some profile that names it rolls out */
};

/* What manifests/base grants, and the list above has asked for. */
static bool check_is_built_in(const char *group)
{
        return strcmp(group, "apps") == 0 || strcmp(group, "batch") == 0;
}

static void note_kind(struct named_kind *all, int *count, const json_t *target, bool patched)
{
        const char *api = json_string_value(json_object_get(target, "apiVersion"));
        const char *kind = json_string_value(json_object_get(target, "kind"));
        const char *slash = api ? strchr(api, '/') : NULL;
        struct named_kind k = {.patched = patched};
        if (!slash || !kind)
                return;
        snprintf(k.group, sizeof k.group, "%.*s", (int)(slash - api), api);
        snprintf(k.version, sizeof k.version, "%s", slash + 1);
        snprintf(k.kind, sizeof k.kind, "%s", kind);
        for (int i = 0; i < *count; i++)
                if (strcmp(all[i].group, k.group) == 0 && strcmp(all[i].kind, k.kind) == 0) {
                        all[i].patched |= patched;
                        return;
                }
        if (*count < NAMED_MAX && !check_is_built_in(k.group))
                all[(*count)++] = k;
}

static void note_kinds(struct checking *c, const char *path, struct named_kind *all, int *count)
{
        struct err err = {0};
        AUTO(json_decref) json_t *list = check_ask(c, HTTP_GET, path, NULL, &err); /* none: it was told above */
        size_t i, j;
        json_t *profile, *target;
        json_array_foreach(json_object_get(list, "items"), i, profile)
        {
                const json_t *spec = json_object_get(profile, "spec");
                const char *mode = json_string_value(json_object_get(json_object_get(spec, "apply"), "mode"));
                json_array_foreach(json_object_get(spec, "targets"), j, target)
                        note_kind(all, count, target, mode && strcmp(mode, "Rollout") == 0);
        }
}

static bool find_plural(struct checking *c, struct named_kind *k)
{
        struct err err = {0};
        AUTO(mem_free) char *path = mem_printf("/apis/%s/%s", k->group, k->version);
        AUTO(json_decref) json_t *list = check_ask(c, HTTP_GET, path, NULL, &err);
        size_t i;
        json_t *row;
        json_array_foreach(json_object_get(list, "resources"), i, row)
        {
                const char *kind = json_string_value(json_object_get(row, "kind"));
                const char *name = json_string_value(json_object_get(row, "name"));
                if (kind && name && strcmp(kind, k->kind) == 0 && !strchr(name, '/'))
                        snprintf(k->plural, sizeof k->plural, "%s", name);
        }
        return *k->plural != '\0';
}

static bool may_all(struct checking *c, const struct named_kind *k)
{
        static const char *const verbs[] = {"get", "list", "watch", "patch"};
        struct err err = {0};
        for (int i = 0; i < 3 + k->patched; i++)
                if (check_may(c, &(struct need){.group = k->group, .resource = k->plural, .verb = verbs[i]}, &err) != 1)
                        return false;
        return true;
}

static void print_rule(const struct named_kind *k)
{
        printf("      apiVersion: rbac.authorization.k8s.io/v1\n"
               "      kind: ClusterRole\n"
               "      metadata:\n"
               "        name: halflife-controller-%s.%s\n"
               "        labels: {halflife.dev/aggregate-to-controller: \"true\"}\n"
               "      rules:\n"
               "      - apiGroups: [%s]\n"
               "        resources: [%s]\n"
               "        verbs: [get, list, watch%s]\n",
               k->plural, k->group, k->group, k->plural, k->patched ? ", patch" : "");
}

static void check_kinds(struct checking *c)
{
        struct named_kind all[NAMED_MAX];
        char line[512];
        int count = 0;
        note_kinds(c, "/apis/halflife.dev/v1alpha1/clusterprofiles", all, &count);
        note_kinds(c, "/apis/halflife.dev/v1alpha1/profiles", all, &count);
        for (int i = 0; i < count; i++) {
                struct named_kind *k = &all[i];
                if (!find_plural(c, k)) {
                        snprintf(line, sizeof line, "a profile names %s of %s/%s, which the server does not have",
                                 k->kind, k->group, k->version);
                        check_tell(c, DOUBTFUL, line,
                                   "it is asked for again each cycle: install its CRD, or mend the profile");
                } else if (!may_all(c, k)) {
                        snprintf(line, sizeof line, "may not read%s %s.%s, which a profile names",
                                 k->patched ? " and patch" : "", k->plural, k->group);
                        check_tell(c, BAD, line, "apply this:");
                        print_rule(k);
                } else {
                        snprintf(line, sizeof line, "kind %s.%s of a profile", k->plural, k->group);
                        check_tell(c, GOOD, line, NULL);
                }
        }
}

/* --- autoscalers --- */

static bool any_of(struct checking *c, const char *path, const char *member, const char *value)
{
        struct err err = {0};
        AUTO(json_decref) json_t *list = check_ask(c, HTTP_GET, path, NULL, &err); /* none: it was told above */
        size_t i;
        json_t *profile;
        json_array_foreach(json_object_get(list, "items"), i, profile)
        {
                const json_t *apply = json_object_get(json_object_get(profile, "spec"), "apply");
                const char *is = json_string_value(json_object_get(apply, member));
                if (is && strcmp(is, value) == 0)
                        return true;
        }
        return false;
}

/* Does any profile's apply have this? */
static bool any_applies(struct checking *c, const char *member, const char *value)
{
        return any_of(c, "/apis/halflife.dev/v1alpha1/clusterprofiles", member, value) ||
               any_of(c, "/apis/halflife.dev/v1alpha1/profiles", member, value);
}

static void check_autoscalers(struct checking *c)
{
        static const struct need needed[] = {
                {.group = "autoscaling", .resource = "horizontalpodautoscalers", .verb = "get"},
                {.group = "autoscaling", .resource = "horizontalpodautoscalers", .verb = "patch"},
                {.group = "keda.sh", .resource = "scaledobjects", .verb = "get"},
                {.group = "keda.sh", .resource = "scaledobjects", .verb = "patch"},
        };
        struct err err = {0};
        if (!any_applies(c, "hpa", "Retune"))
                return;
        for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
                char line[256];
                if (check_may(c, &needed[i], &err) == 1)
                        continue;
                snprintf(line, sizeof line, "may not %s %s.%s, needed for apply.hpa Retune", needed[i].verb,
                         needed[i].resource, needed[i].group);
                check_tell(c, BAD, line,
                           "until then they are held; add manifests/components/retune, or kubectl apply -k "
                           "manifests/overlays/retune");
                return;
        }
        check_tell(c, GOOD, "autoscalers of a profile with apply.hpa Retune", NULL);
}

/* --- pods that are resized --- */

/* Only where a profile asks for it: the server serves it, and we may. */
static void check_in_place(struct checking *c)
{
        static const struct need wanted[] = {{"", "pods", "get", "apply.mode InPlace", false, TO_WRITE},
                                             {"", "pods", "patch", "apply.mode InPlace", false, TO_WRITE},
                                             {"", "pods/resize", "patch", "apply.mode InPlace", false, TO_WRITE}};
        struct err err = {0};
        char line[128];
        if (!any_applies(c, "mode", "InPlace"))
                return;
        AUTO(json_decref) json_t *list = check_ask(c, HTTP_GET, "/api/v1", NULL, &err);
        if (list && !has_resource(list, "pods/resize"))
                check_tell(c, DOUBTFUL, "a profile has apply.mode InPlace, and this server cannot resize pods",
                           "Kubernetes 1.33 or newer can; until then only new pods come with what is set");
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
                if (c->settings.number[SET_APPLY] == 1 || check_may(c, &wanted[i], &err) == 1)
                        continue;
                snprintf(line, sizeof line, "may not %s %s, needed for %s", wanted[i].verb, wanted[i].resource,
                         wanted[i].why);
                check_tell(c, BAD, line, "kubectl apply -k manifests/overlays/in-place grants it");
                return;
        }
        check_tell(c, GOOD, "pods are resized in place, as a profile wants", NULL);
}

/* --- the database --- */

static char *folder_of(const char *file)
{
        const char *slash = strrchr(file, '/');
        if (!slash)
                return mem_string(".");
        return mem_string_n(file, slash == file ? 1 : (size_t)(slash - file));
}

static bool has_folder(const char *file)
{
        AUTO(mem_free) char *folder = folder_of(file);
        return access(folder, F_OK) == 0;
}

static bool is_writable(const char *file)
{
        AUTO(mem_free) char *folder = folder_of(file);
        bool exists = access(file, F_OK) == 0;
        return access(folder, W_OK | X_OK) == 0 && (!exists || access(file, W_OK) == 0);
}

/* Damaged: the texts of the store tell what is wrong, the README what becomes of it. */
static void check_tell_refused(struct checking *c, const struct err *err)
{
        char line[ERR_TEXT_MAX + 64];
        snprintf(line, sizeof line, "database: %s", err->text);
        if (err->code == ERR_DAMAGED)
                check_tell(c, DOUBTFUL, line,
                           "halflife run sets it aside and carries over what is readable; keep a copy to look into it");
        else
                check_tell(c, BAD, line,
                           err->code == ERR_DENIED
                                   ? "make the file and its folder writable for this user, or set --database "
                                     "FILE"
                                   : "until then halflife run learns in memory only");
}

static void tell_facts(struct checking *c, const char *file, const struct store_facts *f)
{
        char line[1024], way_out[256] = "";
        size_t at = (size_t)snprintf(
                line, sizeof line, "database '%.500s': schema %lld, %lld targets, %lld histories, %.1f MiB", file,
                (long long)f->schema, (long long)f->targets, (long long)f->histories, (double)f->bytes / 1048576);
        if (f->refused)
                at += (size_t)snprintf(line + at, sizeof line - at, ", %lld rows that do not check out",
                                       (long long)f->refused);
        if (f->holder > 0)
                snprintf(line + at, sizeof line - at, ", held by process %ld", f->holder);
        else if (f->holder)
                snprintf(line + at, sizeof line - at, ", held by another process");
        else if (!f->clean)
                snprintf(line + at, sizeof line - at, ", not closed cleanly: checked at the next start");
        if (f->holder)
                snprintf(way_out, sizeof way_out,
                         "fine if that is the halflife you mean to check; another halflife run needs it stopped, or a "
                         "--database FILE of its own");
        else if (f->refused)
                snprintf(way_out, sizeof way_out,
                         "halflife run takes the checkpoint before, or learns those histories anew; keep a copy to "
                         "look into it");
        check_tell(c, *way_out ? DOUBTFUL : GOOD, line, way_out);
}

static void check_database(struct checking *c)
{
        char line[1024];
        struct store_facts facts;
        struct err err = {0};
        const char *file = c->settings.text[SET_DATABASE];
        if (!file) {
                check_tell(c, DOUBTFUL, "no database: what is learned is lost at a restart", "set --database FILE");
        } else if (!is_writable(file)) {
                bool folder = has_folder(file);
                snprintf(line, sizeof line, "database '%s' cannot be written%s", file,
                         folder ? "" : ": its folder does not exist");
                check_tell(c, BAD, line,
                           folder ? "make the folder writable for this user, or set --database FILE"
                                  : "make the folder, or set --database FILE");
        } else if (store_inspect(file, &facts, &err) < 0) {
                check_tell_refused(c, &err);
        } else if (!facts.exists) {
                snprintf(line, sizeof line, "database '%s' is made by the first halflife run", file);
                check_tell(c, GOOD, line, NULL);
        } else {
                tell_facts(c, file, &facts);
        }
}

/* --- Prometheus --- */

static void check_prometheus(struct checking *c)
{
        char line[ERR_TEXT_MAX + 64];
        struct err err = {0};
        size_t containers;
        const char *url = c->settings.text[SET_PROMETHEUS_URL];
        if (!url && c->settings.number[SET_USAGE_SOURCE] == 1)
                check_tell(c, BAD, "usage is to be read from Prometheus, and nothing says where it is",
                           "set --prometheus-url");
        if (!url)
                return;
        if (recorded_count(c->session.loop, &c->settings, &containers, &err) < 0) {
                snprintf(line, sizeof line, "%s", err.text);
                check_tell(c, BAD, line,
                           err.code == ERR_DENIED
                                   ? "give --prometheus-token-file, or --prometheus-user and its password"
                                   : "is --prometheus-url right, and the Prometheus up?");
        } else if (containers == 0) {
                snprintf(line, sizeof line, "Prometheus %s knows of no container's usage", url);
                check_tell(c, DOUBTFUL, line, "are --prometheus-names and --prometheus-matchers right?");
        } else {
                snprintf(line, sizeof line, "Prometheus %s, usage of %zu containers", url, containers);
                check_tell(c, GOOD, line, NULL);
        }
}

int cmd_check(int argc, char **argv)
{
        struct checking c = {0};
        struct terminal terminal;
        struct option_spec spec[SETTINGS + 1];
        struct option_given given[SETTINGS + 1];
        struct option_words words;
        struct err err = {0};
        terminal_read(stdout, &terminal);
        c.colour = terminal.colour;
        memcpy(spec, settings_options(), SETTINGS * sizeof spec[0]);
        spec[SETTINGS] = (struct option_spec){.name = "help", .letter = 'h', .help = "this text"};
        int rc = options_parse(spec, SETTINGS + 1, argc, argv, given, &words, &err);
        if (rc == 0 && given[SETTINGS].count) {
                printf("usage: %s check [option]...\n\n", program_name());
                terminal_intro("Takes the settings of halflife run, and says whether it could work with them: a line "
                               "each for the API server, halflife's kinds, the metrics API, permissions, Prometheus "
                               "where one is set, and the database. Exits 1 where one fails. What is asked is what the "
                               "credentials given may do.");
                options_print(stdout, spec, SETTINGS + 1);
                return EXIT_DONE;
        }
        if (rc < 0 || (words.count && err_set(&err, ERR_INVALID, "takes no words, not '%s'", words.word[0])) ||
            settings_read(given, &c.settings, &err) < 0) {
                fprintf(stderr, "halflife check: %s\n", err.text);
                return EXIT_MISUSED;
        }
        if (session_open(&c.session, c.settings.text[SET_KUBECONFIG], c.settings.text[SET_CONTEXT], &err) < 0) {
                check_tell(&c, BAD, err.text, "");
        } else {
                c.ns = c.settings.text[SET_NAMESPACE] ? c.settings.text[SET_NAMESPACE]
                                                      : access_namespace(c.session.access);
                if (check_reach(&c)) {
                        check_apis(&c);
                        check_permissions(&c);
                        check_kinds(&c);
                        check_custom_metrics(&c);
                        check_prometheus(&c);
                        check_autoscalers(&c);
                        check_in_place(&c);
                }
        }
        check_database(&c);
        session_release(&c.session);
        settings_release(&c.settings);
        return c.failed ? EXIT_FAILED : EXIT_DONE;
}
