#include "cli/settings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file_read.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "cache/namespace.h"
#include "ledger/ledger_report.h"

/* --- checks of texts --- */

static int settings_check_prices(const char *text, struct err *err)
{
        struct prices prices;
        int rc = prices_parse(text, &prices, err);
        if (rc == 0)
                prices_release(&prices);
        return rc;
}

static int settings_check_label(const char *text, struct err *err)
{
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";
        size_t len = strlen(text);
        if (strspn(text, plain) < len || len >= LEDGER_LABEL_MAX)
                return err_set(err, ERR_INVALID, "'%.80s' is no key of a label: give one, such as team", text);
        return 0;
}

/* --- the table --- */

/* clang-format off */

/* The remaining members of a row, by kind: the member of struct settings, the value's name in help, the default, and
 * bounds or choices. A member that cannot hold the kind does not compile. */
#define MEMBER(m)       ((struct settings *)0)->m
#define AT(m, type)     .at = _Generic(MEMBER(m), type: offsetof(struct settings, m)), .size = sizeof MEMBER(m)
#define AT_CHOICE(m)    .at = _Generic(MEMBER(m), bool: offsetof(struct settings, m), \
                                       unsigned: offsetof(struct settings, m)), .size = sizeof MEMBER(m)
#define TEXT_IN(m, called, std)         .kind = SETTING_TEXT, AT(m, const char *), .value = (called), .standard = (std)
#define DURATION_IN(m, std, from, to)   .kind = SETTING_DURATION, AT(m, int64_t), .value = "DURATION", \
                                        .standard = (std), .least = (from), .most = (to)
#define COUNT_IN(m, std, from, to)      .kind = SETTING_COUNT, AT(m, int), .value = "N", \
                                        .standard = (std), .least = (from), .most = (to)
#define CHOICE_IN(m, called, std, list) .kind = SETTING_CHOICE, AT_CHOICE(m), .value = (called), .standard = (std), \
                                        .choices = (list)

const struct setting setting_table[] = {
        {.name = "config", TEXT_IN(config, "FILE", ""), .rotates = true,
         .help = "YAML file of settings, one 'name: value' a line; halflife re-reads it when it changes and on SIGHUP"},
        {.name = "kubeconfig", TEXT_IN(kubeconfig, "FILE", ""), .rotates = true,
         .help = "kubeconfig; default: $KUBECONFIG, ~/.kube/config, or the pod's service account"},
        {.name = "context", TEXT_IN(context, "NAME", ""), .rotates = true,
         .help = "context of the kubeconfig; default: its current context"},
        {.name = "namespace", TEXT_IN(controller.ns, "NAME", ""), .rotates = true,
         .help = "halflife's own namespace: it holds the Lease, and halflife changes nothing in it; default: the "
                 "namespace of the pod or of the context"},
        {.name = "interval", DURATION_IN(controller.live.interval_ms, "60s", "1s", "1h"), .live = true,
         .help = "how often halflife reads usage"},
        {.name = "checkpoint-interval", DURATION_IN(controller.live.checkpoint_ms, "5m", "1s", "24h"), .live = true,
         .only = FOR_RUN,
         .help = "how often halflife writes histories to the database"},
        {.name = "status-interval", DURATION_IN(controller.live.status_ms, "10m", "1s", "24h"), .live = true,
         .only = FOR_RUN,
         .help = "shortest time between two writes of a Recommendation if only its target values changed"},
        {.name = "retention", DURATION_IN(controller.live.retention_ms, "336h", "0s", "8760h"), .live = true,
         .only = FOR_RUN,
         .help = "longest time a history is kept after its workload is gone"},
        {.name = "database", TEXT_IN(controller.database, "FILE", "/var/lib/halflife/halflife.db"), .only = FOR_RUN,
         .help = "SQLite file that keeps histories over a restart"},
        {.name = "listen", TEXT_IN(controller.listen, "ADDRESS", ":8080"), .rotates = true,
         .help = "address of /healthz, /readyz and /metrics"},
        {.name = "listen-file", TEXT_IN(controller.listen_file, "FILE", ""), .rotates = true,
         .help = "file to write the bound addresses to, in this order: --listen, --serve-listen, "
                 "--custom-metrics-listen, --watcher-listen; useful with port 0"},
        {.name = "serve-listen", TEXT_IN(controller.serve_listen, "ADDRESS", ""),
         .help = "address of the REST API and of admission, such as :8443; without TLS only a loopback address"},
        {.name = "tls-cert", TEXT_IN(controller.tls_cert, "FILE", ""),
         .help = "certificate for --serve-listen (PEM, followed by its chain); halflife re-reads the file when it "
                 "changes"},
        {.name = "tls-key", TEXT_IN(controller.tls_key, "FILE", ""),
         .help = "private key of --tls-cert (PEM); halflife re-reads the file when it changes"},
        {.name = "webhook-certificate", CHOICE_IN(controller.certificate, "WHERE", "files", "files|self|secret"),
         .rotates = true,
         .help = "source of the TLS certificate. files: --tls-cert and --tls-key; self: a Secret in which halflife "
                 "rotate makes and renews it; secret: a Secret that another program maintains"},
        {.name = "certificate-secret", TEXT_IN(controller.certificate_secret, "NAME", "halflife-certificate"),
         .rotates = true,
         .help = "name of the certificate's Secret, in halflife's own namespace"},
        {.name = "certificate-services", TEXT_IN(certificate_services, "NAMES", "halflife,halflife-serve"),
         .only = FOR_ROTATE, .rotates = true,
         .help = "rotate: Services whose names go into a self-made certificate, separated by commas"},
        {.name = "webhook-configuration", TEXT_IN(webhook_configuration, "NAME", "halflife"), .only = FOR_ROTATE,
         .rotates = true,
         .help = "rotate: MutatingWebhookConfiguration whose caBundle and path follow the Secret"},
        {.name = "custom-metrics-listen", TEXT_IN(controller.custom_listen, "ADDRESS", ""), .only = FOR_RUN,
         .help = "run: address of the API custom.metrics.k8s.io, such as :6443; only the API server's front proxy may "
                 "call it; it uses the certificate of --serve-listen"},
        {.name = "custom-metrics-service", TEXT_IN(controller.custom_service, "NAME", "halflife"), .only = FOR_RUN,
         .help = "run: Service, in halflife's own namespace, that the APIServices of custom.metrics.k8s.io must name"},
        {.name = "watcher-listen", TEXT_IN(controller.watcher_listen, "ADDRESS", ""), .only = FOR_RUN,
         .help = "run: address at which schedulers read the load of nodes, as from load-watcher, such as :2020; without "
                 "TLS, and open to every caller"},
        {.name = "upstream-url", TEXT_IN(controller.upstream_url, "URL", ""), .only = FOR_SERVE,
         .former = "learner-url",
         .help = "serve: address of the halflife that learns, for histograms; default in a pod: the Service halflife"},
        {.name = "upstream-ca", TEXT_IN(upstream_ca, "FILE", ""), .only = FOR_SERVE, .former = "learner-ca",
         .help = "serve: CA (PEM) that verifies the certificate of --upstream-url; default: ca.crt of the Secret, "
                 "else the system's CAs; halflife re-reads the file when it changes"},
        {.name = "token-audience", TEXT_IN(controller.token_audience, "NAME", ""),
         .help = "audience that callers' tokens must have; default: the API server's own"},
        {.name = "usage-source", CHOICE_IN(controller.usage_from, "WHERE", "metrics-server",
         "metrics-server|prometheus"), .only = FOR_RUN,
         .help = "where halflife reads usage each interval; prometheus requires --prometheus-url"},
        {.name = "prometheus-url", TEXT_IN(controller.prometheus.url, "URL", ""), .only = FOR_RUN,
         .help = "address of a Prometheus that has past usage, such as http://prometheus.monitoring:9090"},
        {.name = "prometheus-names", CHOICE_IN(controller.prometheus.names, "WHOSE", "cadvisor", "cadvisor|kubelet"),
         .only = FOR_RUN,
         .help = "which of the kubelet's series to read: those of /metrics/cadvisor, or of /metrics/resource"},
        {.name = "prometheus-matchers", TEXT_IN(controller.prometheus.matchers, "MATCHERS", ""), .only = FOR_RUN,
         .help = "additional PromQL label matchers, for a Prometheus that serves several clusters, such as "
                 "cluster=\"a\""},
        {.name = "prometheus-history", DURATION_IN(controller.prometheus_history_ms, "192h", "0s", "2160h"),
         .only = FOR_RUN,
         .help = "how far back halflife loads usage from Prometheus; 0s: it loads no past usage"},
        {.name = "prometheus-step", DURATION_IN(controller.prometheus_step_ms, "60s", "15s", "1h"), .only = FOR_RUN,
         .help = "time between two points loaded from Prometheus; a point weighs as much as one sample a minute of "
                 "that time"},
        {.name = "prometheus-rate-window", DURATION_IN(controller.prometheus.rate_window_ms, "2m", "15s", "1h"),
         .only = FOR_RUN,
         .help = "shortest span over which CPU usage is averaged; it must cover at least two scrapes"},
        {.name = "prometheus-queries", COUNT_IN(controller.prometheus.queries, "2", "1", "20"), .only = FOR_RUN,
         .help = "most queries to Prometheus at the same time"},
        {.name = "prometheus-token-file", TEXT_IN(controller.prometheus.bearer_file, "FILE", ""), .only = FOR_RUN,
         .help = "file with a bearer token for Prometheus; halflife re-reads it"},
        {.name = "prometheus-user", TEXT_IN(controller.prometheus.user, "NAME", ""), .only = FOR_RUN,
         .help = "user for Prometheus' basic authentication"},
        {.name = "prometheus-password-file", TEXT_IN(controller.prometheus.password_file, "FILE", ""),
         .only = FOR_RUN,
         .help = "file with the password of --prometheus-user; halflife re-reads it"},
        {.name = "prometheus-headers-file", TEXT_IN(controller.prometheus.headers_file, "FILE", ""),
         .only = FOR_RUN,
         .help = "file with further request headers for Prometheus, one 'Name: value' a line, such as Mimir's "
                 "X-Scope-OrgID; halflife re-reads it"},
        {.name = "prometheus-auth", CHOICE_IN(controller.prometheus.auth, "HOW", "files", "files|sigv4|google|azure"),
         .only = FOR_RUN,
         .help = "what authorises requests to Prometheus: token or password files; or, by the pod's identity, AWS "
                 "(signed requests), Google or Azure"},
        {.name = "prometheus-region", TEXT_IN(controller.prometheus.region, "REGION", ""), .only = FOR_RUN,
         .help = "AWS region for --prometheus-auth sigv4; default: AWS_REGION"},
        {.name = "prometheus-audience", TEXT_IN(controller.prometheus.audience, "URL",
         "https://prometheus.monitor.azure.com"), .only = FOR_RUN,
         .help = "audience of the token for --prometheus-auth azure"},
        {.name = "prometheus-ca", TEXT_IN(controller.prometheus.ca_file, "FILE", ""), .only = FOR_RUN,
         .help = "CA (PEM) that verifies Prometheus' certificate; default: the system's CAs; halflife re-reads the "
                 "file"},
        {.name = "prometheus-cert", TEXT_IN(controller.prometheus.cert_file, "FILE", ""), .only = FOR_RUN,
         .help = "client certificate for Prometheus (PEM); halflife re-reads the file"},
        {.name = "prometheus-key", TEXT_IN(controller.prometheus.key_file, "FILE", ""), .only = FOR_RUN,
         .help = "private key of --prometheus-cert (PEM); halflife re-reads the file"},
        {.name = "node-hot-percent", COUNT_IN(controller.live.hot_percent, "80", "1", "99"), .live = true,
         .only = FOR_RUN,
         .help = "usage of a node's capacity, in per cent, above which a sample counts as hot; a node with 12 of its 15 "
                 "samples above it is hot"},
        {.name = "leader-elect", CHOICE_IN(leader_elect, "WHEN", "auto", "auto|true|false"), .only = FOR_RUN,
         .help = "whether halflife takes a Lease before its first write; auto: only in a pod"},
        {.name = "lease", TEXT_IN(controller.lease_name, "NAME", "halflife"), .only = FOR_RUN,
         .help = "name of the Lease that the leader holds"},
        {.name = "apply", CHOICE_IN(controller.live.apply_never, "WHEN", "allow", "allow|never"), .live = true,
         .help = "whether halflife may change workloads; never: no workload is changed, whatever the profiles allow"},
        {.name = "exempt-namespaces", TEXT_IN(controller.exempt_namespaces, "NAMES",
         NAMESPACES_EXEMPT),
         .help = "namespaces, separated by commas, in which halflife changes nothing, whatever the profiles allow; its "
                 "own is always one. The list in manifests/base/policy.yaml must be the same"},
        {.name = "pool-label", TEXT_IN(controller.pool_label, "KEY", ""), .only = FOR_RUN,
         .help = "label of nodes whose value names the pool of a node in reports, such as node.kubernetes.io/instance-type"},
        {.name = "prices", TEXT_IN(controller.prices, "PRICES", ""), .only = FOR_RUN, .check = settings_check_prices,
         .help = "currency, and prices of a core-hour and a GiB-hour by pool, such as 'EUR, spot=0.012/0.0015, "
                 "*=0.034/0.0045'; or 'USD, opencost': those that OpenCost tells Prometheus. Reports tell money with it"},
        {.name = "report-label", TEXT_IN(controller.report_label, "KEY", ""), .only = FOR_RUN,
         .check = settings_check_label,
         .help = "label of workloads by whose value the ledger is kept as well, for reports by label:KEY, such as team"},
        {.name = "ownership-labels", TEXT_IN(controller.ownership_labels, "KEYS", ""), .only = FOR_RUN,
         .help = "keys of labels by which your deployment tools find what they manage, separated by commas, a last * for "
                 "the rest of a key; Recommendations copy none of them, nor those of tools that halflife knows"},
        {.name = "budget-workloads", COUNT_IN(controller.live.budget_workloads, "0", "0", "100000"), .live = true,
         .only = FOR_RUN,
         .help = "most workloads changed at the same time in the whole cluster, half of them in one namespace; 0: no limit"},
        {.name = "budget-cores-per-hour", COUNT_IN(controller.live.budget_cores_per_hour, "0", "0", "1000000"),
         .live = true, .only = FOR_RUN,
         .help = "most cores of requests, times replicas, changed in the whole cluster within any hour, half of "
                 "them in one namespace; 0: no limit"},
        {.name = "fuse-guards", COUNT_IN(controller.live.fuse_guards, "5", "0", "1000"), .live = true,
         .only = FOR_RUN,
         .help = "a fuse blows when halflife takes back more changes than this within an hour, of a profile in a "
                 "namespace, of a profile, or of the cluster; it then lowers nothing there until halflife resume "
                 "--fuse. 0: fuses are off, and blown ones are reset"},
        {.name = "api-rate", COUNT_IN(controller.live.api_rate, "50", "1", "10000"), .live = true,
         .help = "most requests to the API server per second"},
        {.name = "api-concurrency", COUNT_IN(controller.live.api_concurrency, "8", "1", "1000"), .live = true,
         .help = "most requests to the API server at the same time"},
        {.name = "log-format", CHOICE_IN(log_json, "FORMAT", "text", "text|json"), .live = true, .rotates = true,
         .help = "format of the log on stderr"},
        {.name = "log-level", CHOICE_IN(log_level, "LEVEL", "info", "debug|info|warn|error"), .live = true,
         .rotates = true,
         .help = "lowest level that is logged; debug includes every request to the API server"},
};
/* clang-format on */
const int settings_count = sizeof setting_table / sizeof setting_table[0];
_Static_assert(sizeof setting_table / sizeof setting_table[0] <= SETTINGS_MOST, "SETTINGS_MOST is too small");

static bool is_unlisted(const struct setting *s, enum setting_user user)
{
        if (user == FOR_ROTATE)
                return !s->rotates;
        return user != FOR_BOTH && s->only != FOR_BOTH && s->only != user;
}

const struct option_spec *settings_options(enum setting_user user, int *ret_count)
{
        static struct option_spec spec[SETTINGS_MOST];
        static char help[SETTINGS_MOST][256];
        for (int i = 0; i < settings_count; i++) {
                const struct setting *s = &setting_table[i];
                if (!*s->standard)
                        snprintf(help[i], sizeof help[i], "%s", s->help);
                else if (s->kind == SETTING_TEXT)
                        snprintf(help[i], sizeof help[i], "%s (default %s)", s->help, s->standard);
                else if (s->choices)
                        snprintf(help[i], sizeof help[i], "%s (%s, default %s)", s->help, s->choices, s->standard);
                else
                        snprintf(help[i], sizeof help[i], "%s (%s to %s, default %s)", s->help, s->least, s->most,
                                 s->standard);
                spec[i] = (struct option_spec){.name = s->name,
                                               .former = s->former,
                                               .value = s->value,
                                               .help = help[i],
                                               .choices = s->choices,
                                               .unlisted = is_unlisted(s, user)};
        }
        *ret_count = settings_count;
        return spec;
}

static void variable_of(const char *name, char *out, size_t size)
{
        size_t at = (size_t)snprintf(out, size, "HALFLIFE_");
        for (; *name && at + 1 < size; name++)
                out[at++] = *name == '-' ? '_' : (char)toupper((unsigned char)*name);
        out[at] = '\0';
}

/* --- values --- */

static int parse_number(const struct setting *s, const char *text, int64_t *ret)
{
        if (s->kind == SETTING_DURATION)
                return duration_parse(text, strlen(text), ret);
        char *end;
        long long value = strtoll(text, &end, 10);
        if (end == text || *end)
                return ERR_INVALID;
        *ret = value;
        return 0;
}

static int settings_check(const struct setting *s, const char *text, const char *source, int64_t *ret, struct err *err)
{
        int64_t least, most;
        if (s->kind == SETTING_TEXT && (!s->check || !*text || s->check(text, err) == 0))
                return 0;
        if (s->kind == SETTING_TEXT)
                return err_wrap(err, "setting '%s' (%s)", s->name, source);
        if (s->kind == SETTING_CHOICE) {
                *ret = option_choice(s->choices, text);
                if (*ret < 0)
                        return err_set(err, ERR_INVALID, "setting '%s' (%s) is '%s', not one of %s", s->name, source,
                                       text, s->choices);
                return 0;
        }
        if (parse_number(s, text, ret) < 0)
                return err_set(err, ERR_INVALID, "setting '%s' (%s) is '%s', not a %s", s->name, source, text,
                               s->kind == SETTING_DURATION ? "duration such as 90s or 1h30m" : "whole number");
        (void)parse_number(s, s->least, &least);
        (void)parse_number(s, s->most, &most);
        if (*ret < least || *ret > most)
                return err_set(err, ERR_INVALID, "setting '%s' (%s) is '%s', which is not within %s and %s", s->name,
                               source, text, s->least, s->most);
        return 0;
}

/* Store a value in the setting's member, which is a text, int64_t, int (or enum) or bool. */
static void settings_store(struct settings *to, int id, int64_t number)
{
        const struct setting *s = &setting_table[id];
        void *member = (char *)to + s->at;
        if (s->kind == SETTING_TEXT)
                *(const char **)member = to->text[id];
        else if (s->size == sizeof(bool))
                *(bool *)member = number != 0;
        else if (s->size == sizeof(int))
                *(int *)member = (int)number;
        else
                *(int64_t *)member = number;
}

static int settings_take(struct settings *to, int id, const char *text, const char *source, struct err *err)
{
        int64_t number = 0;
        int rc = settings_check(&setting_table[id], text, source, &number, err);
        if (rc < 0)
                return rc;
        mem_free(to->text[id]);
        to->text[id] = *text ? mem_string(text) : NULL;
        settings_store(to, id, number);
        return 0;
}

/* --- sources --- */

enum { CONFIG_ROW }; /* row of the setting config, which names the file and cannot stand in it */

static int id_of(const char *name, bool *ret_formerly)
{
        for (int i = 0; i < settings_count; i++) {
                const char *former = setting_table[i].former;
                *ret_formerly = former && strcmp(former, name) == 0;
                if ((strcmp(setting_table[i].name, name) == 0 && i != CONFIG_ROW) || *ret_formerly)
                        return i;
        }
        return -1;
}

/* Refuse a former name beside the new one, even with equal values: a later change of only one would be lost. */
static int refuse_both(const char *where, const char *former, const char *name, struct err *err)
{
        return err_set(err, ERR_INVALID, "%s: '%s' and '%s' are the former and the new name of one setting; keep '%s'",
                       where, former, name, name);
}

static int settings_read_file(struct settings *to, const char *path, struct err *err)
{
        enum { FILE_MAX = 1 << 20 };
        size_t len;
        AUTO(mem_free) char *text = file_read_input(path, FILE_MAX, &len, err);
        if (!text)
                return err_wrap(err, "settings");
        AUTO(json_decref) json_t *root = yaml_read(text, len, err);
        if (!root)
                return err_wrap(err, "settings '%s'", path);
        if (json_is_null(root))
                return 0;
        if (!json_is_object(root))
                return err_set(err, ERR_INVALID, "settings '%s': expected 'name: value' lines", path);
        const char *name;
        json_t *value;
        json_object_foreach(root, name, value)
        {
                bool formerly;
                int id = id_of(name, &formerly);
                if (id < 0)
                        return err_set(err, ERR_INVALID, "settings '%s': there is no setting '%s'; --help lists them",
                                       path, name);
                if (json_is_object(value) || json_is_array(value))
                        return err_set(err, ERR_INVALID, "settings '%s': '%s' must have a single value", path, name);
                if (formerly && json_object_get(root, setting_table[id].name)) {
                        AUTO(mem_free) char *where = mem_printf("settings '%s'", path);
                        return refuse_both(where, name, setting_table[id].name, err);
                }
                AUTO(mem_free)
                char *plain = json_is_string(value) ? mem_string(json_string_value(value))
                              : json_is_null(value) ? mem_string("")
                                                    : json_dumps(value, JSON_ENCODE_ANY);
                int rc = settings_take(to, id, plain, path, err);
                if (rc < 0)
                        return rc;
                to->formerly[id] |= formerly;
        }
        return 0;
}

/* The value of a setting in the environment (NULL: none), and the variable's name. */
static int read_environment(int id, struct settings *to, char *variable, size_t size, const char **ret, struct err *err)
{
        char former[96];
        variable_of(setting_table[id].name, variable, size);
        *ret = getenv(variable);
        if (!setting_table[id].former)
                return 0;
        variable_of(setting_table[id].former, former, sizeof former);
        if (!getenv(former))
                return 0;
        if (*ret)
                return refuse_both("environment", former, variable, err);
        to->formerly[id] = true;
        *ret = getenv(former);
        snprintf(variable, size, "%s", former);
        return 0;
}

/* The value from a flag or else from the environment; *ret NULL: neither has it. The environment is read even if a flag
 * wins, so that its mistakes are reported. */
static int given_or_environment(const struct option_given *given, int id, struct settings *to, char *source,
                                size_t size, const char **ret, struct err *err)
{
        const char *flag = given ? option_value(&given[id]) : NULL;
        int rc = read_environment(id, to, source, size, ret, err);
        if (rc < 0 || !flag)
                return rc;
        snprintf(source, size, "--%s", given[id].formerly ? setting_table[id].former : setting_table[id].name);
        to->formerly[id] |= given[id].formerly;
        *ret = flag;
        return 0;
}

int settings_read(const struct option_given *given, struct settings *ret, struct err *err)
{
        struct settings fresh = {0};
        char source[128];
        int rc = 0;
        for (int i = 0; i < settings_count && rc == 0; i++)
                rc = settings_take(&fresh, i, setting_table[i].standard, "default", err);
        const char *text;
        if (rc == 0)
                rc = given_or_environment(given, CONFIG_ROW, &fresh, source, sizeof source, &text, err);
        if (rc == 0 && text && *text)
                rc = settings_read_file(&fresh, text, err);
        for (int i = 0; i < settings_count && rc == 0; i++) {
                rc = given_or_environment(given, i, &fresh, source, sizeof source, &text, err);
                if (rc == 0 && text)
                        rc = settings_take(&fresh, i, text, source, err);
        }
        if (rc < 0) {
                settings_release(&fresh);
                return rc;
        }
        *ret = fresh;
        return 0;
}

void settings_take_live(struct settings *s, struct settings *fresh)
{
        for (int i = 0; i < settings_count; i++) {
                const struct setting *row = &setting_table[i];
                if (!row->live)
                        continue;
                mem_free(s->text[i]);
                s->text[i] = fresh->text[i];
                fresh->text[i] = NULL;
                memcpy((char *)s + row->at, (const char *)fresh + row->at, row->size);
        }
}

void settings_release(struct settings *s)
{
        for (int i = 0; i < settings_count; i++)
                mem_free(s->text[i]);
        *s = (struct settings){0};
}

/* Print bounds as "1s – 1h", choices as "auto, true, false", because a bar would end the cell of the table. */
static void print_bounds(FILE *to, const struct setting *s)
{
        if (s->least)
                fprintf(to, "%s – %s", s->least, s->most);
        for (const char *p = s->choices; p && *p; p++) {
                if (*p == '|')
                        fputs(", ", to);
                else
                        fputc(*p, to);
        }
}

void settings_print_markdown(FILE *to)
{
        fprintf(to, "| setting | default | bounds | re-read | what |\n|---|---|---|---|---|\n");
        for (int i = 0; i < settings_count; i++) {
                const struct setting *s = &setting_table[i];
                const char *quote = *s->standard ? "`" : "";
                fprintf(to, "| `%s` | %s%s%s | ", s->name, quote, s->standard, quote);
                print_bounds(to, s);
                fprintf(to, " | %s | %s |\n", s->live ? "yes" : "", s->help);
        }
}
