#include "cli/settings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/yaml.h"

/* clang-format off */
const struct setting setting_table[SETTINGS] = {
        /*                           name                   kind              value       default   least   most choices
           live */
        [SET_CONFIG] = {"config", SETTING_TEXT, "FILE", "", NULL, NULL, NULL, false,
                        "YAML file with settings by these names; re-read when it changes and on SIGHUP"},
        [SET_KUBECONFIG] = {"kubeconfig", SETTING_TEXT, "FILE", "", NULL, NULL, NULL, false,
                            "kubeconfig; else KUBECONFIG, ~/.kube/config, or the pod's service account"},
        [SET_CONTEXT] = {"context", SETTING_TEXT, "NAME", "", NULL, NULL, NULL, false,
                         "context of the kubeconfig; else its current one"},
        [SET_NAMESPACE] = {"namespace", SETTING_TEXT, "NAME", "", NULL, NULL, NULL, false,
                           "halflife's own namespace: holds its Lease, and is exempt; else the context's or the pod's"},
        [SET_INTERVAL] = {"interval", SETTING_DURATION, "DURATION", "60s", "1s", "1h", NULL, true,
                          "how often usage is read"},
        [SET_CHECKPOINT_INTERVAL] = {"checkpoint-interval", SETTING_DURATION, "DURATION", "5m", "1s", "24h", NULL, true,
                                     "how often what was learned is written to the database"},
        [SET_STATUS_INTERVAL] = {"status-interval", SETTING_DURATION, "DURATION", "10m", "1s", "24h", NULL, true,
                                 "a moving target is written to its Recommendation at most this often"},
        [SET_RETENTION] = {"retention", SETTING_DURATION, "DURATION", "336h", "0s", "8760h", NULL, true,
                           "how long history outlives its workload"},
        [SET_DATABASE] = {"database", SETTING_TEXT, "FILE", "/var/lib/halflife/halflife.db", NULL, NULL, NULL, false,
                          "SQLite file of checkpoints"},
        [SET_LISTEN] = {"listen", SETTING_TEXT, "ADDRESS", ":8080", NULL, NULL, NULL, false,
                        "address of /healthz, /readyz and /metrics"},
        [SET_LISTEN_FILE] = {"listen-file", SETTING_TEXT, "FILE", "", NULL, NULL, NULL, false,
                             "write the addresses bound there, --listen's, then --serve-listen's and --custom-metrics-listen's (for port 0)"},
        [SET_SERVE_LISTEN] = {"serve-listen", SETTING_TEXT, "ADDRESS", "", NULL, NULL, NULL, false,
                              "address of the REST API and of admission, such as :8443; without TLS only on loopback"},
        [SET_TLS_CERT] = {"tls-cert", SETTING_TEXT, "FILE", "", NULL, NULL, NULL, false,
                          "certificate (PEM, its chain behind it) for --serve-listen; the file is re-read as it changes"},
        [SET_TLS_KEY] = {"tls-key", SETTING_TEXT, "FILE", "", NULL, NULL, NULL, false,
                         "its private key (PEM); the file is re-read as it changes"},
        [SET_WEBHOOK_CERTIFICATE] = {"webhook-certificate", SETTING_CHOICE, "WHERE", "files", NULL, NULL,
                                     "files|self|secret", false,
                                     "files: --tls-cert and --tls-key; self: made and renewed by halflife itself, kept in "
                                     "a Secret; secret: in a Secret that others keep"},
        [SET_CERTIFICATE_SECRET] = {"certificate-secret", SETTING_TEXT, "NAME", "halflife-certificate", NULL, NULL, NULL,
                                    false, "name of that Secret, in halflife's own namespace"},
        [SET_CERTIFICATE_SERVICES] = {"certificate-services", SETTING_TEXT, "NAMES", "halflife,halflife-serve", NULL,
                                      NULL, NULL, false, "Services that a self-made certificate is for"},
        [SET_WEBHOOK_CONFIGURATION] = {"webhook-configuration", SETTING_TEXT, "NAME", "halflife", NULL, NULL, NULL,
                                       false, "MutatingWebhookConfiguration whose caBundle follows the certificate"},
        [SET_CUSTOM_METRICS_LISTEN] = {"custom-metrics-listen", SETTING_TEXT, "ADDRESS", "", NULL, NULL, NULL, false,
                                       "run: address of the API custom.metrics.k8s.io, such as :6443, for the API "
                                       "server's front proxy alone; with the certificate of --serve-listen"},
        [SET_CUSTOM_METRICS_SERVICE] = {"custom-metrics-service", SETTING_TEXT, "NAME", "halflife", NULL, NULL, NULL,
                                        false,
                                        "run: Service in halflife's own namespace that the APIServices have to name"},
        [SET_UPSTREAM_URL] = {"upstream-url", SETTING_TEXT, "URL", "", NULL, NULL, NULL, false,
                             "serve: where histograms are asked for; else the Service halflife, where serve runs in a "
                             "pod",
                             "learner-url"},
        [SET_UPSTREAM_CA] = {"upstream-ca", SETTING_TEXT, "FILE", "", NULL, NULL, NULL, false,
                            "serve: who vouches for its certificate (PEM; the file is re-read as it changes); else the Secret's ca.crt, or the system's",
                            "learner-ca"},
        [SET_TOKEN_AUDIENCE] = {"token-audience", SETTING_TEXT, "NAME", "", NULL, NULL, NULL, false,
                                "audience that callers' tokens must be for; else the API server's own"},
        [SET_USAGE_SOURCE] = {"usage-source", SETTING_CHOICE, "WHERE", "metrics-server", NULL, NULL,
                              "metrics-server|prometheus", false,
                              "where usage is read each interval; prometheus wants --prometheus-url"},
        [SET_PROMETHEUS_URL] = {"prometheus-url", SETTING_TEXT, "URL", "", NULL, NULL, NULL, false,
                                "a Prometheus that knows usage from before, such as http://prometheus.monitoring:9090"},
        [SET_PROMETHEUS_NAMES] = {"prometheus-names", SETTING_CHOICE, "WHOSE", "cadvisor", NULL, NULL,
                                  "cadvisor|kubelet", false,
                                  "whose series there are counted: /metrics/cadvisor's or /metrics/resource's"},
        [SET_PROMETHEUS_MATCHERS] = {"prometheus-matchers", SETTING_TEXT, "MATCHERS", "", NULL, NULL, NULL, false,
                                     "more label matchers, as in PromQL, where one Prometheus sees several clusters: cluster=\"a\""},
        [SET_PROMETHEUS_HISTORY] = {"prometheus-history", SETTING_DURATION, "DURATION", "192h", "0s", "2160h", NULL,
                                    false, "how far back histories from before are loaded; 0s: not at all"},
        [SET_PROMETHEUS_STEP] = {"prometheus-step", SETTING_DURATION, "DURATION", "60s", "15s", "1h", NULL, false,
                                 "between the points of such a history; each weighs as it stands for minutes"},
        [SET_PROMETHEUS_RATE_WINDOW] = {"prometheus-rate-window", SETTING_DURATION, "DURATION", "2m", "15s", "1h", NULL,
                                        false, "shortest span that CPU is averaged over: at least two scrapes"},
        [SET_PROMETHEUS_QUERIES] = {"prometheus-queries", SETTING_COUNT, "N", "2", "1", "20", NULL, false,
                                    "queries to Prometheus at once"},
        [SET_PROMETHEUS_TOKEN_FILE] = {"prometheus-token-file", SETTING_TEXT, "FILE", "", NULL, NULL, NULL, false,
                                       "bearer token for Prometheus; the file is re-read"},
        [SET_PROMETHEUS_USER] = {"prometheus-user", SETTING_TEXT, "NAME", "", NULL, NULL, NULL, false,
                                 "user for Prometheus' basic authentication"},
        [SET_PROMETHEUS_PASSWORD_FILE] = {"prometheus-password-file", SETTING_TEXT, "FILE", "", NULL, NULL, NULL, false,
                                          "the user's password; the file is re-read"},
        [SET_PROMETHEUS_CA] = {"prometheus-ca", SETTING_TEXT, "FILE", "", NULL, NULL, NULL, false,
                               "who vouches for Prometheus' certificate (PEM); else the system's; the file is re-read"},
        [SET_PROMETHEUS_CERT] = {"prometheus-cert", SETTING_TEXT, "FILE", "", NULL, NULL, NULL, false,
                                 "client certificate for Prometheus (PEM); the file is re-read"},
        [SET_PROMETHEUS_KEY] = {"prometheus-key", SETTING_TEXT, "FILE", "", NULL, NULL, NULL, false,
                                "its private key (PEM); the file is re-read"},
        [SET_LEADER_ELECT] = {"leader-elect", SETTING_CHOICE, "WHEN", "auto", NULL, NULL, "auto|true|false", false,
                              "take a Lease before the first write; auto: where halflife runs in a pod"},
        [SET_LEASE] = {"lease", SETTING_TEXT, "NAME", "halflife", NULL, NULL, NULL, false, "name of the Lease"},
        [SET_APPLY] = {"apply", SETTING_CHOICE, "WHEN", "allow", NULL, NULL, "allow|never", true,
                       "never: no workload is changed, whatever profiles say"},
        [SET_BUDGET_WORKLOADS] = {"budget-workloads", SETTING_COUNT, "N", "0", "0", "100000", NULL, true,
                                  "workloads changed at once in the whole cluster; 0: no bound"},
        [SET_BUDGET_CORES] = {"budget-cores-per-hour", SETTING_COUNT, "N", "0", "0", "1000000", NULL, true,
                              "cores of request changed in a sliding hour in the whole cluster; 0: no bound"},
        [SET_FUSE_GUARDS] = {"fuse-guards", SETTING_COUNT, "N", "5", "0", "1000", NULL, true,
                             "more changes taken back within an hour than this blow the fuse: nothing new is applied until "
                             "halflife resume --fuse; 0: it never blows, and one that is blown is reset"},
        [SET_API_RATE] = {"api-rate", SETTING_COUNT, "N", "50", "1", "10000", NULL, true,
                          "requests a second to the API server"},
        [SET_API_CONCURRENCY] = {"api-concurrency", SETTING_COUNT, "N", "8", "1", "1000", NULL, true,
                                 "requests to the API server at once"},
        [SET_LOG_FORMAT] = {"log-format", SETTING_CHOICE, "FORMAT", "text", NULL, NULL, "text|json", true,
                            "text or json, on stderr"},
        [SET_LOG_LEVEL] = {"log-level", SETTING_CHOICE, "LEVEL", "info", NULL, NULL, "debug|info|warn|error", true,
                           "the least that is logged; debug has every request"},
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
