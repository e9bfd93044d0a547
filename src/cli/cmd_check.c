/*
 * halflife check: tells whether halflife can reach what it needs, and has the permissions that it needs. Each check
 * prints one line, and after a failure what to do.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/noun.h"
#include "check_admission.h"
#include "check_apis.h"
#include "check_database.h"
#include "check_permissions.h"
#include "check_proxies.h"
#include "check_storage.h"
#include "check_usage.h"
#include "cli/version.h"
#include "commands.h"
#include "custom_metrics/api_registration.h"
#include "kube/resource_list.h"
#include "terminal.h"

/* --- settings --- */

static void check_former_names(struct checking *c)
{
        char line[128], way_out[256];
        for (int i = 0; i < settings_count; i++) {
                const struct setting *s = &setting_table[i];
                if (!c->settings.formerly[i])
                        continue;
                snprintf(line, sizeof line, "setting '%s' is '%s' now", s->former, s->name);
                snprintf(way_out, sizeof way_out, "set %s instead: the next version no longer reads the former name",
                         s->name);
                check_tell(c, DOUBTFUL, line, way_out);
        }
}

/* --- the API server --- */

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
                                   ? "is the server up, and its address right? --kubeconfig and --context choose it"
                           : err.code == ERR_DENIED
                                   ? "--kubeconfig and --context choose the server and the credentials"
                                   : "is this the API server's address? --kubeconfig and --context choose it");
                return false;
        }
        snprintf(line, sizeof line, "API server %s, %s", git ? git : "(no version)", access_source(c->session.access));
        check_tell(c, GOOD, line, NULL);
        if (access_warning(c->session.access))
                check_tell(c, DOUBTFUL, access_warning(c->session.access),
                           "give the server's https:// address and its CA (certificate-authority) in the kubeconfig");
        return true;
}

/* --- custom metrics --- */

/* Check what custom metrics need, if the settings switch them on. */
static void check_custom_metrics(struct checking *c)
{
        char line[ERR_TEXT_MAX + 128];
        struct err err = {0};
        int ours = 0;
        if (!c->settings.controller.custom_listen)
                return;
        int rc = api_registration_check(c->session.client, c->ns, c->settings.controller.custom_service, &ours, &err);
        snprintf(line, sizeof line, "custom metrics API: %s", rc < 0 ? err.text : "the APIService names halflife");
        if (rc == ERR_CONFLICT)
                check_tell(c, BAD, line, "halflife run refuses to start with this");
        else if (rc < 0)
                check_tell(c, BAD, line, "until halflife can read the APIServices, it serves no custom metrics");
        else if (ours == 0)
                check_tell(c, DOUBTFUL, "custom metrics API: no APIService names halflife",
                           "kubectl apply -k manifests/overlays/custom-metrics");
        else
                check_tell(c, GOOD, line, NULL);
        check_custom_permissions(c);
}

/* --- kinds that profiles name --- */

enum { NAMED_MAX = 64 };
struct named_kind {
        char group[128], version[32], kind[64], plural[64];
        bool patched; /* a profile that names the kind has a mode that patches templates */
};

/* Whether the base ClusterRole grants the API group; then check_permissions has checked it already. */
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

static void note_kinds(struct checking *c, enum known_resource_id profiles, struct named_kind *all, int *count)
{
        struct err err = {0};
        AUTO(mem_free) char *path = known_resource_path(profiles, NULL, NULL, NULL);
        AUTO(json_decref)
        json_t *list = check_ask(c, HTTP_GET, path, NULL, &err); /* NULL: an error, which check_apis has printed */
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
        const char *name = resource_list_find(list, NULL, k->kind);
        snprintf(k->plural, sizeof k->plural, "%s", name ? name : "");
        return name != NULL;
}

static bool may_all(struct checking *c, const struct named_kind *k)
{
        static const char *const verbs[] = {"get", "list", "watch", "patch"};
        struct err err = {0};
        for (int i = 0; i < 3 + k->patched; i++)
                if (check_may(c, &(struct access){.verb = verbs[i], .group = k->group, .resource = k->plural}, &err) !=
                    1)
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
        int count = 0;
        note_kinds(c, KNOWN_CLUSTERPROFILES, all, &count);
        note_kinds(c, KNOWN_PROFILES, all, &count);
        for (int i = 0; i < count; i++) {
                struct named_kind *k = &all[i];
                AUTO(mem_free) char *line = NULL;
                if (!find_plural(c, k)) {
                        line = mem_printf("a profile targets %s of %s/%s, a kind that the server does not have",
                                          k->kind, k->group, k->version);
                        check_tell(c, DOUBTFUL, line,
                                   "install its CRD, or correct the profile; halflife looks again every interval");
                } else if (!may_all(c, k)) {
                        line = mem_printf("no permission to read%s %s.%s, a kind that a profile targets",
                                          k->patched ? " and patch" : "", k->plural, k->group);
                        check_tell(c, BAD, line,
                                   "give the kind a rule in manifests/base/policy.yaml, and apply this ClusterRole:");
                        print_rule(k);
                } else {
                        line = mem_printf("kind %s.%s, which a profile targets", k->plural, k->group);
                        check_tell(c, GOOD, line, NULL);
                }
        }
}

/* --- Prometheus --- */

struct check_count {
        bool done;
        size_t containers;
        size_t doubtful; /* number of those whose usage may be another container's */
        bool partial;
        struct err err;
};

/* What to do if Prometheus answers with this error, or only in part. */
static const char *check_prometheus_hint(const struct checking *checking, const struct check_count *c)
{
        static const char *const by_identity[] = {
                [PROMETHEUS_AUTH_SIGV4] = "does the role have aps:QueryMetrics on the workspace, and is it given to "
                                          "halflife's ServiceAccount? prometheus-auth is sigv4",
                [PROMETHEUS_AUTH_GOOGLE] = "does the service account have roles/monitoring.viewer, and is it bound to "
                                           "halflife's ServiceAccount? prometheus-auth is google",
                [PROMETHEUS_AUTH_AZURE] = "does the identity have Monitoring Data Reader on the workspace, and is it "
                                          "federated with halflife's ServiceAccount? prometheus-auth is azure"};
        enum prometheus_auth auth = checking->settings.controller.prometheus.auth;
        if (c->partial)
                return "are all stores behind it up? halflife learns only from complete answers, and asks again";
        if (auth != PROMETHEUS_AUTH_FILES && c->err.code != ERR_RETRY)
                return by_identity[auth];
        return c->err.code == ERR_DENIED ? "set --prometheus-token-file, --prometheus-headers-file, or "
                                           "--prometheus-user and --prometheus-password-file"
                                         : "is --prometheus-url right, and is Prometheus up?";
}

static void check_counted(void *arg, const struct prometheus_answer *a)
{
        struct check_count *c = arg;
        c->done = true;
        c->containers = a->series_count;
        for (size_t i = 0; i < a->points; i++)
                c->doubtful += a->point[i].doubtful;
        c->partial = a->partial;
        c->err = a->err;
}

/* Ask Prometheus for the present usage of all containers, and wait. */
static struct check_count check_count_containers(struct checking *c)
{
        enum { ASK_MS = 10 * SECOND_MS };
        struct prometheus_options o = c->settings.controller.prometheus;
        struct prometheus *p;
        struct check_count count = {0};
        o.user_agent = version_user_agent();
        if (prometheus_new(c->session.loop, &o, &p, &count.err) < 0)
                return count;
        struct wall now = {whole_second(loop_now(c->session.loop).wall.ms)};
        const struct prometheus_slice slice = {.from = now,
                                               .to = now,
                                               .step_ms = MINUTE_MS,
                                               .deadline_ms = ASK_MS,
                                               .points_most = 16 * PROMETHEUS_INSTANT_POINTS};
        prometheus_fetch(p, &slice, check_counted, &count);
        while (!count.done)
                loop_turn(c->session.loop, -1);
        prometheus_free(p);
        return count;
}

static void check_prometheus(struct checking *c)
{
        char line[ERR_TEXT_MAX + 64];
        const char *url = c->settings.controller.prometheus.url;
        if (!url && c->settings.controller.usage_from == USAGE_FROM_PROMETHEUS)
                check_tell(c, BAD, "--usage-source is prometheus, but --prometheus-url is not set",
                           "set --prometheus-url, or --usage-source metrics-server");
        if (!url)
                return;
        struct check_count count = check_count_containers(c);
        if (count.err.code != 0) {
                snprintf(line, sizeof line, "%s", count.err.text);
                check_tell(c, BAD, line, check_prometheus_hint(c, &count));
        } else if (count.doubtful) {
                snprintf(line, sizeof line,
                         "Prometheus %s mixes the usage of several pods with the same names, for %zu of %zu containers",
                         url, count.doubtful, count.containers);
                check_tell(c, DOUBTFUL, line,
                           "if it has several clusters, choose one with --prometheus-matchers; until then halflife "
                           "takes no samples of these containers");
        } else if (count.containers == 0) {
                snprintf(line, sizeof line, "Prometheus %s has no usage of any container", url);
                check_tell(c, DOUBTFUL, line, "are --prometheus-names and --prometheus-matchers right?");
        } else {
                snprintf(line, sizeof line, "Prometheus %s, usage of %s", url,
                         NOUN_COUNT(count.containers, "container"));
                check_tell(c, GOOD, line, NULL);
        }
}

static int check_check(void *state, const struct command_line *line, struct err *err)
{
        struct checking *c = state;
        return settings_read(line->given, &c->settings, err);
}

static int check_run(void *state, struct err *err)
{
        struct checking *c = state;
        struct terminal terminal;
        terminal_read(stdout, &terminal);
        c->colour = terminal.colour;
        check_former_names(c);
        if (session_open(&c->session, c->settings.kubeconfig, c->settings.context, err) < 0) {
                check_tell(c, BAD, err->text, "");
        } else {
                c->ns = c->settings.controller.ns ? c->settings.controller.ns : access_namespace(c->session.access);
                check_proxies(c);
                if (check_reach(c)) {
                        check_apis(c);
                        check_usage(c);
                        check_node_usage(c);
                        check_permissions(c);
                        check_policy(c);
                        check_rotate(c);
                        check_kinds(c);
                        check_custom_metrics(c);
                        check_prometheus(c);
                        check_autoscalers(c);
                        check_in_place(c);
                        check_storage(c);
                        if (c->try_admission)
                                check_admission(c, c->try_admission);
                }
        }
        check_database(c);
        return c->failed ? EXIT_FAILED : EXIT_DONE;
}

static void check_release(void *state)
{
        struct checking *c = state;
        session_release(&c->session);
        settings_release(&c->settings);
}

static const struct option_spec options[] = {
        {.name = "try-admission",
         .value = "NAMESPACE",
         .shape = OPTION_NAMESPACE,
         OPTION_IN(struct checking, try_admission),
         .help = "create a pod there by a dry run, and see whether the API server asks halflife about it"},
};

const struct command command_check = {
        .name = "check",
        .help = "check whether halflife run would work: connections, permissions, database",
        .usage = {"[option]..."},
        .intro = "Takes the settings of halflife run and checks whether it would work with them. Prints a line each "
                 "for the\n"
                 "API server, halflife's CRDs, the metrics API, permissions, Prometheus if its URL is set, and the "
                 "database;\n"
                 "where a proxy is set, also whether requests take it, and why.\n"
                 "--try-admission needs the right to create pods, so give it a kubeconfig of your own.\n"
                 "Exits with 1 if a line fails. Permissions are checked for the credentials in use, so use halflife's "
                 "own.\n",
        .settings = true,
        COMMAND_OPTIONS(options),
        .size = sizeof(struct checking),
        .check = check_check,
        .run = check_run,
        .release = check_release,
};
