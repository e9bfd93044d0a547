#include "cli/settings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/yaml.h"

/* clang-format off */
const struct setting setting_table[SETTINGS] = {
        [SET_CONFIG] = {.name = "config", .kind = SETTING_TEXT, .value = "FILE", .standard = "",
                         .help = "YAML file with settings by these names; re-read when it changes and on SIGHUP"},
        [SET_KUBECONFIG] = {.name = "kubeconfig", .kind = SETTING_TEXT, .value = "FILE", .standard = "",
                         .help = "kubeconfig; else KUBECONFIG, ~/.kube/config, or the pod's service account"},
        [SET_CONTEXT] = {.name = "context", .kind = SETTING_TEXT, .value = "NAME", .standard = "",
                         .help = "context of the kubeconfig; else its current one"},
        [SET_NAMESPACE] = {.name = "namespace", .kind = SETTING_TEXT, .value = "NAME", .standard = "",
                         .help = "halflife's own namespace: holds its Lease, and is exempt; else the context's "
                                 "or the pod's"},
        [SET_INTERVAL] = {.name = "interval", .kind = SETTING_DURATION, .value = "DURATION", .standard = "60s",
                         .least = "1s", .most = "1h", .live = true,
                         .help = "how often usage is read"},
        [SET_CHECKPOINT_INTERVAL] = {.name = "checkpoint-interval", .kind = SETTING_DURATION, .value = "DURATION",
                         .standard = "5m", .least = "1s", .most = "24h", .live = true,
                         .help = "how often what was learned is written to the database"},
        [SET_STATUS_INTERVAL] = {.name = "status-interval", .kind = SETTING_DURATION, .value = "DURATION",
                         .standard = "10m", .least = "1s", .most = "24h", .live = true,
                         .help = "a moving target is written to its Recommendation at most this often"},
        [SET_RETENTION] = {.name = "retention", .kind = SETTING_DURATION, .value = "DURATION", .standard = "336h",
                         .least = "0s", .most = "8760h", .live = true,
                         .help = "how long history outlives its workload"},
        [SET_DATABASE] = {.name = "database", .kind = SETTING_TEXT, .value = "FILE",
                         .standard = "/var/lib/halflife/halflife.db",
                         .help = "SQLite file of checkpoints"},
        [SET_LISTEN] = {.name = "listen", .kind = SETTING_TEXT, .value = "ADDRESS", .standard = ":8080",
                         .help = "address of /healthz, /readyz and /metrics"},
        [SET_LISTEN_FILE] = {.name = "listen-file", .kind = SETTING_TEXT, .value = "FILE", .standard = "",
                         .help = "write the addresses bound there, --listen's, then --serve-listen's and "
                                 "--custom-metrics-listen's (for port 0)"},
        [SET_SERVE_LISTEN] = {.name = "serve-listen", .kind = SETTING_TEXT, .value = "ADDRESS", .standard = "",
                         .help = "address of the REST API and of admission, such as :8443; without TLS only on "
                                 "loopback"},
        [SET_TLS_CERT] = {.name = "tls-cert", .kind = SETTING_TEXT, .value = "FILE", .standard = "",
                         .help = "certificate (PEM, its chain behind it) for --serve-listen; the file is re-read "
                                 "as it changes"},
        [SET_TLS_KEY] = {.name = "tls-key", .kind = SETTING_TEXT, .value = "FILE", .standard = "",
                         .help = "its private key (PEM); the file is re-read as it changes"},
        [SET_WEBHOOK_CERTIFICATE] = {.name = "webhook-certificate", .kind = SETTING_CHOICE, .value = "WHERE",
                         .standard = "files", .choices = "files|self|secret",
                         .help = "files: --tls-cert and --tls-key; self: made and renewed by halflife itself, "
                                 "kept in a Secret; secret: in a Secret that others keep"},
        [SET_CERTIFICATE_SECRET] = {.name = "certificate-secret", .kind = SETTING_TEXT, .value = "NAME",
                         .standard = "halflife-certificate",
                         .help = "name of that Secret, in halflife's own namespace"},
        [SET_CERTIFICATE_SERVICES] = {.name = "certificate-services", .kind = SETTING_TEXT, .value = "NAMES",
                         .standard = "halflife,halflife-serve",
                         .help = "Services that a self-made certificate is for"},
        [SET_WEBHOOK_CONFIGURATION] = {.name = "webhook-configuration", .kind = SETTING_TEXT, .value = "NAME",
                         .standard = "halflife",
                         .help = "MutatingWebhookConfiguration whose caBundle follows the certificate"},
        [SET_CUSTOM_METRICS_LISTEN] = {.name = "custom-metrics-listen", .kind = SETTING_TEXT, .value = "ADDRESS",
                         .standard = "",
                         .help = "run: address of the API custom.metrics.k8s.io, such as :6443, for the API "
                                 "server's front proxy alone; with the certificate of --serve-listen"},
        [SET_CUSTOM_METRICS_SERVICE] = {.name = "custom-metrics-service", .kind = SETTING_TEXT, .value = "NAME",
                         .standard = "halflife",
                         .help = "run: Service in halflife's own namespace that the APIServices have to name"},
        [SET_UPSTREAM_URL] = {.name = "upstream-url", .kind = SETTING_TEXT, .value = "URL", .standard = "",
                         .help = "serve: where histograms are asked for; else the Service halflife, where serve "
                                 "runs in a pod",
                         .former = "learner-url"},
        [SET_UPSTREAM_CA] = {.name = "upstream-ca", .kind = SETTING_TEXT, .value = "FILE", .standard = "",
                         .help = "serve: who vouches for its certificate (PEM; the file is re-read as it "
                                 "changes); else the Secret's ca.crt, or the system's",
                         .former = "learner-ca"},
        [SET_TOKEN_AUDIENCE] = {.name = "token-audience", .kind = SETTING_TEXT, .value = "NAME", .standard = "",
                         .help = "audience that callers' tokens must be for; else the API server's own"},
        [SET_USAGE_SOURCE] = {.name = "usage-source", .kind = SETTING_CHOICE, .value = "WHERE",
                         .standard = "metrics-server", .choices = "metrics-server|prometheus",
                         .help = "where usage is read each interval; prometheus wants --prometheus-url"},
        [SET_PROMETHEUS_URL] = {.name = "prometheus-url", .kind = SETTING_TEXT, .value = "URL", .standard = "",
                         .help = "a Prometheus that knows usage from before, such as "
                                 "http://prometheus.monitoring:9090"},
        [SET_PROMETHEUS_NAMES] = {.name = "prometheus-names", .kind = SETTING_CHOICE, .value = "WHOSE",
                         .standard = "cadvisor", .choices = "cadvisor|kubelet",
                         .help = "whose series there are counted: /metrics/cadvisor's or /metrics/resource's"},
        [SET_PROMETHEUS_MATCHERS] = {.name = "prometheus-matchers", .kind = SETTING_TEXT, .value = "MATCHERS",
                         .standard = "",
                         .help = "more label matchers, as in PromQL, where one Prometheus sees several clusters: "
                                 "cluster=\"a\""},
        [SET_PROMETHEUS_HISTORY] = {.name = "prometheus-history", .kind = SETTING_DURATION, .value = "DURATION",
                         .standard = "192h", .least = "0s", .most = "2160h",
                         .help = "how far back histories from before are loaded; 0s: not at all"},
        [SET_PROMETHEUS_STEP] = {.name = "prometheus-step", .kind = SETTING_DURATION, .value = "DURATION",
                         .standard = "60s", .least = "15s", .most = "1h",
                         .help = "between the points of such a history; each weighs as it stands for minutes"},
        [SET_PROMETHEUS_RATE_WINDOW] = {.name = "prometheus-rate-window", .kind = SETTING_DURATION,
                         .value = "DURATION", .standard = "2m", .least = "15s", .most = "1h",
                         .help = "shortest span that CPU is averaged over: at least two scrapes"},
        [SET_PROMETHEUS_QUERIES] = {.name = "prometheus-queries", .kind = SETTING_COUNT, .value = "N", .standard = "2",
                         .least = "1", .most = "20",
                         .help = "queries to Prometheus at once"},
        [SET_PROMETHEUS_TOKEN_FILE] = {.name = "prometheus-token-file", .kind = SETTING_TEXT, .value = "FILE",
                         .standard = "",
                         .help = "bearer token for Prometheus; the file is re-read"},
        [SET_PROMETHEUS_USER] = {.name = "prometheus-user", .kind = SETTING_TEXT, .value = "NAME", .standard = "",
                         .help = "user for Prometheus' basic authentication"},
        [SET_PROMETHEUS_PASSWORD_FILE] = {.name = "prometheus-password-file", .kind = SETTING_TEXT, .value = "FILE",
                         .standard = "",
                         .help = "the user's password; the file is re-read"},
        [SET_PROMETHEUS_CA] = {.name = "prometheus-ca", .kind = SETTING_TEXT, .value = "FILE", .standard = "",
                         .help = "who vouches for Prometheus' certificate (PEM); else the system's; the file is "
                                 "re-read"},
        [SET_PROMETHEUS_CERT] = {.name = "prometheus-cert", .kind = SETTING_TEXT, .value = "FILE", .standard = "",
                         .help = "client certificate for Prometheus (PEM); the file is re-read"},
        [SET_PROMETHEUS_KEY] = {.name = "prometheus-key", .kind = SETTING_TEXT, .value = "FILE", .standard = "",
                         .help = "its private key (PEM); the file is re-read"},
        [SET_LEADER_ELECT] = {.name = "leader-elect", .kind = SETTING_CHOICE, .value = "WHEN", .standard = "auto",
                         .choices = "auto|true|false",
                         .help = "take a Lease before the first write; auto: where halflife runs in a pod"},
        [SET_LEASE] = {.name = "lease", .kind = SETTING_TEXT, .value = "NAME", .standard = "halflife",
                         .help = "name of the Lease"},
        [SET_APPLY] = {.name = "apply", .kind = SETTING_CHOICE, .value = "WHEN", .standard = "allow",
                         .choices = "allow|never", .live = true,
                         .help = "never: no workload is changed, whatever profiles say"},
        [SET_BUDGET_WORKLOADS] = {.name = "budget-workloads", .kind = SETTING_COUNT, .value = "N", .standard = "0",
                         .least = "0", .most = "100000", .live = true,
                         .help = "workloads changed at once in the whole cluster; 0: no bound"},
        [SET_BUDGET_CORES] = {.name = "budget-cores-per-hour", .kind = SETTING_COUNT, .value = "N", .standard = "0",
                         .least = "0", .most = "1000000", .live = true,
                         .help = "cores of request changed in a sliding hour in the whole cluster; 0: no bound"},
        [SET_FUSE_GUARDS] = {.name = "fuse-guards", .kind = SETTING_COUNT, .value = "N", .standard = "5", .least = "0",
                         .most = "1000", .live = true,
                         .help = "more changes taken back within an hour than this blow the fuse: nothing new is "
                                 "applied until halflife resume --fuse; 0: it never blows, and one that is blown "
                                 "is reset"},
        [SET_API_RATE] = {.name = "api-rate", .kind = SETTING_COUNT, .value = "N", .standard = "50", .least = "1",
                         .most = "10000", .live = true,
                         .help = "requests a second to the API server"},
        [SET_API_CONCURRENCY] = {.name = "api-concurrency", .kind = SETTING_COUNT, .value = "N", .standard = "8",
                         .least = "1", .most = "1000", .live = true,
                         .help = "requests to the API server at once"},
        [SET_LOG_FORMAT] = {.name = "log-format", .kind = SETTING_CHOICE, .value = "FORMAT", .standard = "text",
                         .choices = "text|json", .live = true,
                         .help = "text or json, on stderr"},
        [SET_LOG_LEVEL] = {.name = "log-level", .kind = SETTING_CHOICE, .value = "LEVEL", .standard = "info",
                         .choices = "debug|info|warn|error", .live = true,
                         .help = "the least that is logged; debug has every request"},
};
/* clang-format on */

const struct option_spec *settings_options(void)
{
        static struct option_spec spec[SETTINGS];
        static char help[SETTINGS][256];
        for (int i = 0; i < SETTINGS; i++) {
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
                spec[i] =
                        (struct option_spec){.name = s->name, .former = s->former, .value = s->value, .help = help[i]};
        }
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

static int parse_choice(const struct setting *s, const char *text, int64_t *ret)
{
        int64_t n = 0;
        for (const char *c = s->choices; *c; n++) {
                size_t len = strcspn(c, "|");
                if (strlen(text) == len && memcmp(c, text, len) == 0) {
                        *ret = n;
                        return 0;
                }
                c += len + (c[len] == '|');
        }
        return ERR_INVALID;
}

static int settings_check(const struct setting *s, const char *text, const char *source, int64_t *ret, struct err *err)
{
        int64_t least, most;
        if (s->kind == SETTING_TEXT)
                return 0;
        if (s->kind == SETTING_CHOICE) {
                if (parse_choice(s, text, ret) < 0)
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

static int settings_take(struct settings *to, int id, const char *text, const char *source, struct err *err)
{
        int64_t number = 0;
        int rc = settings_check(&setting_table[id], text, source, &number, err);
        if (rc < 0)
                return rc;
        mem_free(to->text[id]);
        to->text[id] = *text ? mem_string(text) : NULL;
        to->number[id] = number;
        return 0;
}

/* --- sources --- */

static int id_of(const char *name, bool *ret_formerly)
{
        for (int i = 0; i < SETTINGS; i++) {
                const char *former = setting_table[i].former;
                *ret_formerly = former && strcmp(former, name) == 0;
                if ((strcmp(setting_table[i].name, name) == 0 && i != SET_CONFIG) || *ret_formerly)
                        return i;
        }
        return -1;
}

static int settings_read_file(struct settings *to, const char *path, struct err *err)
{
        enum { FILE_MAX = 1 << 20 };
        size_t len;
        AUTO(mem_free) char *text = file_read(path, FILE_MAX, &len, err);
        if (!text)
                return err_wrap(err, "settings");
        AUTO(json_decref) json_t *root = yaml_read(text, len, err);
        if (!root)
                return err_wrap(err, "settings '%s'", path);
        if (json_is_null(root))
                return 0;
        if (!json_is_object(root))
                return err_set(err, ERR_INVALID, "settings '%s': wants 'name: value' lines", path);
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
                        return err_set(err, ERR_INVALID, "settings '%s': '%s' wants a single value", path, name);
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

static const char *given_or_environment(const struct option_given *given, int id, struct settings *to, char *source,
                                        size_t size)
{
        char variable[96];
        const char *flag = given ? option_value(&given[id]) : NULL;
        if (flag) {
                snprintf(source, size, "--%s", setting_table[id].name);
                to->formerly[id] |= given[id].formerly;
                return flag;
        }
        variable_of(setting_table[id].name, variable, sizeof variable);
        if (!getenv(variable) && setting_table[id].former) {
                variable_of(setting_table[id].former, variable, sizeof variable);
                to->formerly[id] |= getenv(variable) != NULL;
        }
        snprintf(source, size, "%s", variable);
        return getenv(variable);
}

int settings_read(const struct option_given *given, struct settings *ret, struct err *err)
{
        struct settings fresh = {0};
        char source[128];
        int rc = 0;
        for (int i = 0; i < SETTINGS && rc == 0; i++)
                rc = settings_take(&fresh, i, setting_table[i].standard, "default", err);
        const char *config = given_or_environment(given, SET_CONFIG, &fresh, source, sizeof source);
        if (rc == 0 && config && *config)
                rc = settings_read_file(&fresh, config, err);
        for (int i = 0; i < SETTINGS && rc == 0; i++) {
                const char *text = given_or_environment(given, i, &fresh, source, sizeof source);
                if (text)
                        rc = settings_take(&fresh, i, text, source, err);
        }
        if (rc < 0) {
                settings_release(&fresh);
                return rc;
        }
        *ret = fresh;
        return 0;
}

void settings_release(struct settings *s)
{
        for (int i = 0; i < SETTINGS; i++)
                mem_free(s->text[i]);
        *s = (struct settings){0};
}

/* "1s – 1h", or "auto, true, false": a bar would end the cell. */
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
        for (int i = 0; i < SETTINGS; i++) {
                const struct setting *s = &setting_table[i];
                const char *quote = *s->standard ? "`" : "";
                fprintf(to, "| `%s` | %s%s%s | ", s->name, quote, s->standard, quote);
                print_bounds(to, s);
                fprintf(to, " | %s | %s |\n", s->live ? "yes" : "", s->help);
        }
}
