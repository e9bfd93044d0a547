/*
 * halflife run and halflife serve: the controller, or a replica that only serves, until a signal ends it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "cli/cmd.h"
#include "cli/settings.h"
#include "cli/version.h"
#include "control/controller.h"
#include "prometheus_settings.h"

enum { FILES_LOOK_MS = 5 * SECOND_MS };

struct running {
        const char *command; /* "run", "serve" */
        bool replica;
        char *upstream_url, *upstream_ca;
        struct loop *loop;
        struct controller *controller;
        struct option_given given[SETTINGS + 1];
        struct settings settings;
        struct timespec config_changed, upstream_ca_changed; /* as last read */
        struct loop_timer files_timer;
        char identity[128];
};

/* Each is read for one version more. */
static void warn_of_former_names(const struct settings *s)
{
        for (int i = 0; i < SETTINGS; i++)
                if (s->formerly[i])
                        log_warn("a setting has another name now; the former is read until the next version",
                                 KV("former", setting_table[i].former), KV("now", setting_table[i].name));
}

static const struct option_spec help_option = {.name = "help", .letter = 'h', .help = "this text"};

static void log_as_set(const struct settings *s)
{
        log_setup((enum log_level)s->number[SET_LOG_LEVEL], s->number[SET_LOG_FORMAT] == 1);
}

/* Host (or pod) and a random part: two processes on one host are two. */
static void make_identity(char *out, size_t size)
{
        char host[64] = "halflife";
        unsigned random = (unsigned)getpid();
        (void)gethostname(host, sizeof host - 1);
        if (getrandom(&random, sizeof random, 0) != sizeof random)
                random ^= (unsigned)mono_read().ns;
        snprintf(out, size, "%s_%08x", host, random);
}

/* What can change while running. */
static struct live_settings live_settings_of(const struct settings *s)
{
        return (struct live_settings){
                .interval_ms = s->number[SET_INTERVAL],
                .checkpoint_ms = s->number[SET_CHECKPOINT_INTERVAL],
                .status_ms = s->number[SET_STATUS_INTERVAL],
                .retention_ms = s->number[SET_RETENTION],
                .api_rate = (double)s->number[SET_API_RATE],
                .api_concurrency = (int)s->number[SET_API_CONCURRENCY],
                .apply_never = s->number[SET_APPLY] == 1,
                .budget_workloads = (int)s->number[SET_BUDGET_WORKLOADS],
                .fuse_guards = (int)s->number[SET_FUSE_GUARDS],
                .budget_cores_per_hour = s->number[SET_BUDGET_CORES] * 1000,
        };
}

static struct controller_options options_of(const struct running *r, const struct access *a)
{
        const struct settings *s = &r->settings;
        struct controller_options o = {.live = live_settings_of(s)};
        o.leader_elect = s->number[SET_LEADER_ELECT] == 0 ? access_in_cluster(a) : s->number[SET_LEADER_ELECT] == 1;
        o.ns = s->text[SET_NAMESPACE] ? s->text[SET_NAMESPACE] : access_namespace(a);
        o.lease_name = s->text[SET_LEASE];
        o.identity = r->identity;
        o.database = s->text[SET_DATABASE];
        o.listen = s->text[SET_LISTEN];
        o.listen_file = s->text[SET_LISTEN_FILE];
        o.serve_listen = s->text[SET_SERVE_LISTEN];
        o.tls_cert = s->text[SET_TLS_CERT];
        o.tls_key = s->text[SET_TLS_KEY];
        o.certificate = (enum controller_certificate)s->number[SET_WEBHOOK_CERTIFICATE];
        o.certificate_secret = s->text[SET_CERTIFICATE_SECRET];
        o.certificate_services = s->text[SET_CERTIFICATE_SERVICES];
        o.webhook_configuration = s->text[SET_WEBHOOK_CONFIGURATION];
        o.custom_listen = s->text[SET_CUSTOM_METRICS_LISTEN];
        o.custom_service = s->text[SET_CUSTOM_METRICS_SERVICE];
        o.token_audience = s->text[SET_TOKEN_AUDIENCE];
        o.user_agent = version_user_agent();
        o.usage_from_prometheus = s->number[SET_USAGE_SOURCE] == 1;
        o.prometheus_history_ms = s->number[SET_PROMETHEUS_HISTORY];
        o.prometheus_step_ms = s->number[SET_PROMETHEUS_STEP] / SECOND_MS * SECOND_MS;
        o.prometheus = recorded_options(s);
        return o;
}

/* One who only serves needs no Lease and no database; where the learner is, he may know by the Service's name. */
static void serve_only(struct running *r, const struct access *a, struct controller_options *o)
{
        const struct settings *s = &r->settings;
        if (s->text[SET_UPSTREAM_URL])
                r->upstream_url = mem_string(s->text[SET_UPSTREAM_URL]);
        else if (access_in_cluster(a))
                r->upstream_url = mem_printf("https://halflife.%s.svc", o->ns);
        o->replica = true;
        o->leader_elect = false;
        o->database = NULL;
        o->custom_listen = NULL; /* who serves only knows no usage */
        o->upstream_url = r->upstream_url;
        o->upstream_ca = r->upstream_ca;
        if (!o->serve_listen)
                o->serve_listen = ":8443";
}

/* A mounted ConfigMap or Secret changes by a swapped link: the file's own time tells. */
static bool has_changed(const char *path, struct timespec *last)
{
        struct stat st;
        if (!path || stat(path, &st) < 0 || memcmp(&st.st_mtim, last, sizeof *last) == 0)
                return false;
        *last = st.st_mtim;
        return true;
}

/* NULL: it cannot be used. */
static char *read_upstream_ca(const struct running *r, struct err *err)
{
        enum { CA_MAX = 1 << 20 };
        size_t len;
        const char *file = r->settings.text[SET_UPSTREAM_CA];
        char *pem = file_read(file, CA_MAX, &len, err);
        if (pem && strstr(pem, "-----BEGIN CERTIFICATE-----"))
                return pem;
        if (pem)
                err_set(err, ERR_INVALID, "'%s' holds no certificate (PEM)", file);
        mem_free(pem);
        err_wrap(err, "upstream-ca");
        return NULL;
}

static int start_upstream_ca(struct running *r, struct err *err)
{
        if (!r->replica || !r->settings.text[SET_UPSTREAM_CA])
                return 0;
        (void)has_changed(r->settings.text[SET_UPSTREAM_CA], &r->upstream_ca_changed);
        r->upstream_ca = read_upstream_ca(r, err);
        return r->upstream_ca ? 0 : err->code;
}

/* --- settings re-read --- */

/* What the controller holds by pointer stays as it was at the start: those settings want a restart. */
static void keep_fixed(const struct settings *old, struct settings *fresh)
{
        for (int i = 0; i < SETTINGS; i++) {
                const char *was = old->text[i] ? old->text[i] : "", *is = fresh->text[i] ? fresh->text[i] : "";
                if (setting_table[i].live || strcmp(was, is) == 0)
                        continue;
                log_warn("setting changed, but takes a restart", KV("setting", setting_table[i].name), KV("now", is));
        }
}

static void run_reload(struct running *r)
{
        struct settings fresh;
        struct err err = {0};
        if (settings_read(r->given, &fresh, &err) < 0) {
                log_error("settings refused, the old ones are kept", KV("error", err.text));
                return;
        }
        keep_fixed(&r->settings, &fresh);
        for (int i = 0; i < SETTINGS; i++) {
                if (!setting_table[i].live)
                        continue;
                mem_free(r->settings.text[i]);
                r->settings.text[i] = fresh.text[i];
                r->settings.number[i] = fresh.number[i];
                fresh.text[i] = NULL;
        }
        settings_release(&fresh);
        log_as_set(&r->settings);
        struct live_settings live = live_settings_of(&r->settings);
        controller_reconfigure(r->controller, &live);
        log_info("settings read again",
                 KV("config", r->settings.text[SET_CONFIG] ? r->settings.text[SET_CONFIG] : "none"));
}

static void look_at_config(struct running *r)
{
        bool first = r->config_changed.tv_sec == 0;
        if (has_changed(r->settings.text[SET_CONFIG], &r->config_changed) && !first)
                run_reload(r);
}

static void look_at_upstream_ca(struct running *r)
{
        struct err err = {0};
        const char *file = r->settings.text[SET_UPSTREAM_CA];
        if (!r->replica || !has_changed(file, &r->upstream_ca_changed))
                return;
        AUTO(mem_free) char *pem = read_upstream_ca(r, &err);
        if (!pem) {
                log_warn("who vouches for the learner stays as it was", KV("error", err.text));
                return;
        }
        controller_trust_upstream(r->controller, pem);
        log_info("who vouches for the learner was read again", KV("file", file));
}

static void look_at_files(void *arg)
{
        struct running *r = arg;
        look_at_config(r);
        look_at_upstream_ca(r);
        loop_timer_set(r->loop, &r->files_timer, FILES_LOOK_MS, look_at_files, r);
}

static void run_on_signal(void *arg, int signo)
{
        struct running *r = arg;
        if (signo == SIGHUP) {
                run_reload(r);
                return;
        }
        controller_stop(r->controller);
}

/* --- the command --- */

/* Both take all settings, so that they may share a file; each is told of those that it heeds. */
static bool run_heeds(const struct running *r, int setting)
{
        if (setting >= SET_USAGE_SOURCE && setting <= SET_PROMETHEUS_KEY)
                return !r->replica;
        switch (setting) {
        case SET_CHECKPOINT_INTERVAL:
        case SET_STATUS_INTERVAL:
        case SET_RETENTION:
        case SET_DATABASE:
        case SET_LEADER_ELECT:
        case SET_LEASE:
        case SET_BUDGET_WORKLOADS:
        case SET_BUDGET_CORES:
        case SET_FUSE_GUARDS:
        case SET_CUSTOM_METRICS_LISTEN:
        case SET_CUSTOM_METRICS_SERVICE:
                return !r->replica;
        case SET_UPSTREAM_URL:
        case SET_UPSTREAM_CA:
                return r->replica;
        default:
                return true;
        }
}

static void run_usage(FILE *to, const struct running *r, const struct option_spec *spec)
{
        struct option_spec heeded[SETTINGS + 1];
        int count = 0;
        for (int i = 0; i <= SETTINGS; i++)
                if (i == SETTINGS || run_heeds(r, i))
                        heeded[count++] = spec[i];
        fprintf(to, "usage: %s %s [option]...\n\n%s", program_name(), r->command,
                r->replica ? "Answers reads, render and admission from the Recommendations that another halflife "
                             "publishes: any number\nof replicas, without history, database or Lease. Listens on :8443 "
                             "unless --serve-listen says otherwise.\nSettings that are of learning alone are taken and "
                             "not heeded.\n"
                           : "Watches what containers use and publishes, and where profiles allow applies, what they "
                             "should request.\n");
        fprintf(to,
                "Each setting is also read from a variable, such as HALFLIFE_LOG_LEVEL, and from the file of "
                "--config;\n"
                "a flag wins, then the variable. SIGTERM %s; SIGHUP re-reads settings.\n\n",
                r->replica ? "ends" : "checkpoints and ends");
        options_print(to, heeded, count);
}

static int run_start(struct running *r, struct access **ret_access, struct err *err)
{
        struct access_options where = {.kubeconfig = r->settings.text[SET_KUBECONFIG],
                                       .context = r->settings.text[SET_CONTEXT]};
        int rc = access_load(&where, ret_access, err);
        if (rc < 0)
                return rc;
        struct controller_options o = options_of(r, *ret_access);
        rc = start_upstream_ca(r, err);
        if (rc < 0)
                return rc;
        if (r->replica)
                serve_only(r, *ret_access, &o);
        static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
        r->loop = loop_new();
        /* Before the first thread starts: threads inherit the mask, and a signal goes to any that does not block it. */
        for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
                if (loop_signal(r->loop, signals[i], run_on_signal, r) < 0)
                        return err_set(err, ERR_IO, "take signal %d: %m", signals[i]);
        return controller_new(r->loop, *ret_access, &o, &r->controller, err);
}

static int run_controller(struct running r, int argc, char **argv)
{
        struct option_spec spec[SETTINGS + 1];
        struct option_words words;
        struct access *access = NULL;
        struct err err = {0};
        memcpy(spec, settings_options(), SETTINGS * sizeof spec[0]);
        spec[SETTINGS] = help_option;
        int rc = options_parse(spec, SETTINGS + 1, argc, argv, r.given, &words, &err);
        if (rc == 0 && r.given[SETTINGS].count) {
                run_usage(stdout, &r, spec);
                return EXIT_DONE;
        }
        if (rc < 0 || (words.count && err_set(&err, ERR_INVALID, "takes no words, not '%s'", words.word[0])) ||
            settings_read(r.given, &r.settings, &err) < 0) {
                fprintf(stderr, "halflife %s: %s\n", r.command, err.text);
                return EXIT_MISUSED;
        }
        log_as_set(&r.settings);
        warn_of_former_names(&r.settings);
        make_identity(r.identity, sizeof r.identity);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is a full disk, and is told as one */
        rc = run_start(&r, &access, &err);
        if (rc == 0) {
                log_info("halflife runs", KV("version", version_text()), KV("access", access_source(access)),
                         KV("identity", r.identity));
                look_at_files(&r);
                loop_run(r.loop);
                log_info("halflife ends", KV("identity", r.identity));
        } else {
                fprintf(stderr, "halflife %s: %s\n", r.command, err.text);
        }
        if (r.controller)
                controller_free(r.controller);
        if (r.loop)
                loop_free(r.loop);
        access_free(access);
        settings_release(&r.settings);
        mem_free(r.upstream_url);
        mem_free(r.upstream_ca);
        return rc == 0 ? EXIT_DONE : EXIT_FAILED;
}

int cmd_run(int argc, char **argv)
{
        return run_controller((struct running){.command = "run"}, argc, argv);
}

int cmd_serve(int argc, char **argv)
{
        return run_controller((struct running){.command = "serve", .replica = true}, argc, argv);
}
