/*
 * halflife run is the controller; halflife serve is a replica that only serves. Both run until a signal ends them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_read.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/version.h"
#include "commands.h"
#include "control/controller.h"

enum { FILES_LOOK_MS = 5 * SECOND_MS };

struct running {
        const struct command_line *line;
        bool replica; /* true: halflife serve; false: halflife run */
        char *upstream_url, *upstream_ca;
        struct loop *loop;
        struct controller *controller;
        struct access *access;
        struct settings settings;
        struct timespec config_changed, upstream_ca_changed; /* modification times of the files when last read */
        struct loop_timer files_timer;
        char identity[128];
};

/* Warn of each setting that was given by its former name, which is read for one version more. */
static void warn_of_former_names(const struct settings *s)
{
        for (int i = 0; i < settings_count; i++)
                if (s->formerly[i])
                        log_warn("a setting has a new name; the former name is read until the next version",
                                 KV("former", setting_table[i].former), KV("now", setting_table[i].name));
}

static void log_as_set(const struct settings *s)
{
        log_setup(s->log_level, s->log_json);
}

/* The identity for the Lease: the host's (or pod's) name and a random part, so that two processes on one host
 * differ. */
static void make_identity(char *out, size_t size)
{
        char host[64] = "halflife";
        unsigned random = (unsigned)getpid();
        (void)gethostname(host, sizeof host - 1);
        if (getrandom(&random, sizeof random, 0) != sizeof random)
                random ^= (unsigned)mono_read().ns;
        snprintf(out, size, "%s_%08x", host, random);
}

static struct controller_options options_of(const struct running *r, const struct access *a)
{
        struct controller_options o = r->settings.controller;
        o.leader_elect = r->settings.leader_elect == LEADER_ELECT_AUTO ? access_in_cluster(a)
                                                                       : r->settings.leader_elect == LEADER_ELECT_TRUE;
        o.ns = o.ns ? o.ns : access_namespace(a);
        o.identity = r->identity;
        o.user_agent = o.prometheus.user_agent = version_user_agent();
        return o;
}

/* A replica uses no Lease and no database. Without the setting upstream-url, it finds the upstream by the name of the
 * upstream's Service. */
static void serve_only(struct running *r, const struct access *a, struct controller_options *o)
{
        if (!o->upstream_url && access_in_cluster(a))
                o->upstream_url = r->upstream_url = mem_printf("https://halflife.%s.svc", o->ns);
        o->replica = true;
        o->leader_elect = false;
        o->database = NULL;
        o->custom_listen = o->watcher_listen = NULL; /* a replica reads no usage, so it has no metrics to serve */
        o->upstream_ca = r->upstream_ca;
        if (!o->serve_listen)
                o->serve_listen = ":8443";
}

/* Whether a file has changed since *last. A mounted ConfigMap changes by replacing a symbolic link, so the time of the
 * file behind the link is compared. */
static bool has_changed(const char *path, struct timespec *last)
{
        struct stat st;
        if (!path || stat(path, &st) < 0 || memcmp(&st.st_mtim, last, sizeof *last) == 0)
                return false;
        *last = st.st_mtim;
        return true;
}

/* Read the PEM file of the upstream's CA. NULL: the file cannot be used, and err says why. */
static char *read_upstream_ca(const struct running *r, struct err *err)
{
        enum { CA_MAX = 1 << 20 };
        size_t len;
        const char *file = r->settings.upstream_ca;
        char *pem = file_read(file, CA_MAX, &len, err);
        if (pem && strstr(pem, "-----BEGIN CERTIFICATE-----"))
                return pem;
        if (pem)
                err_set(err, ERR_INVALID, "'%s' contains no certificate (PEM)", file);
        mem_free(pem);
        err_wrap(err, "upstream-ca");
        return NULL;
}

static int start_upstream_ca(struct running *r, struct err *err)
{
        if (!r->replica || !r->settings.upstream_ca)
                return 0;
        (void)has_changed(r->settings.upstream_ca, &r->upstream_ca_changed);
        r->upstream_ca = read_upstream_ca(r, err);
        return r->upstream_ca ? 0 : err->code;
}

/* --- settings re-read --- */

/* Warn of changed settings that are not live. The controller keeps pointers into them, so they change only at a
 * restart. */
static void keep_fixed(const struct settings *old, struct settings *fresh)
{
        for (int i = 0; i < settings_count; i++) {
                const char *was = old->text[i] ? old->text[i] : "", *is = fresh->text[i] ? fresh->text[i] : "";
                if (setting_table[i].live || strcmp(was, is) == 0)
                        continue;
                log_warn("setting changed, but takes a restart", KV("setting", setting_table[i].name), KV("now", is));
        }
}

static void run_reload(struct running *r)
{
        struct settings fresh;
        struct stat st;
        struct err err = {0};
        if (r->settings.config && stat(r->settings.config, &st) == 0 && !S_ISREG(st.st_mode)) {
                log_warn("settings are not read again: the config is not a file", KV("config", r->settings.config));
                return;
        }
        if (settings_read(r->line->given, &fresh, &err) < 0) {
                log_error("settings refused, the old ones are kept", KV("error", err.text));
                return;
        }
        keep_fixed(&r->settings, &fresh);
        settings_take_live(&r->settings, &fresh);
        settings_release(&fresh);
        log_as_set(&r->settings);
        controller_reconfigure(r->controller, &r->settings.controller.live);
        log_info("settings read again", KV("config", r->settings.config ? r->settings.config : "none"));
}

static void look_at_config(struct running *r)
{
        bool first = r->config_changed.tv_sec == 0;
        if (has_changed(r->settings.config, &r->config_changed) && !first)
                run_reload(r);
}

static void look_at_upstream_ca(struct running *r)
{
        struct err err = {0};
        const char *file = r->settings.upstream_ca;
        if (!r->replica || !has_changed(file, &r->upstream_ca_changed))
                return;
        AUTO(mem_free) char *pem = read_upstream_ca(r, &err);
        if (!pem) {
                log_warn("upstream CA could not be read again; the former one stays", KV("error", err.text));
                return;
        }
        controller_trust_upstream(r->controller, pem);
        log_info("upstream CA read again", KV("file", file));
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

static int run_start(struct running *r, struct err *err)
{
        struct access_options where = {.kubeconfig = r->settings.kubeconfig, .context = r->settings.context};
        int rc = access_load(&where, &r->access, err);
        if (rc < 0)
                return rc;
        struct controller_options o = options_of(r, r->access);
        rc = start_upstream_ca(r, err);
        if (rc < 0)
                return rc;
        if (r->replica)
                serve_only(r, r->access, &o);
        static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
        r->loop = loop_new();
        /* Block the signals before the first thread starts, because threads inherit the mask. A thread without the mask
         * could get the signal. */
        for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
                if (loop_signal(r->loop, signals[i], run_on_signal, r) < 0)
                        return err_set(err, ERR_IO, "take signal %d: %m", signals[i]);
        return controller_new(r->loop, r->access, &o, &r->controller, err);
}

static int run_check(void *state, const struct command_line *line, struct err *err)
{
        struct running *r = state;
        r->line = line;
        r->replica = line->command == &command_serve;
        return settings_read(line->given, &r->settings, err);
}

static int run_run(void *state, struct err *err)
{
        struct running *r = state;
        log_as_set(&r->settings);
        warn_of_former_names(&r->settings);
        make_identity(r->identity, sizeof r->identity);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGXFSZ,
               SIG_IGN); /* so that a limit on file sizes gives a write error, which is treated as a full disk */
        int rc = run_start(r, err);
        if (rc < 0)
                return rc;
        log_info("halflife runs", KV("version", version_text()), KV("access", access_source(r->access)),
                 KV("identity", r->identity));
        look_at_files(r);
        loop_run(r->loop);
        log_info("halflife ends", KV("identity", r->identity));
        return EXIT_DONE;
}

static void run_release(void *state)
{
        struct running *r = state;
        if (r->controller)
                controller_free(r->controller);
        if (r->loop)
                loop_free(r->loop);
        access_free(r->access);
        settings_release(&r->settings);
        mem_free(r->upstream_url);
        mem_free(r->upstream_ca);
}

const struct command command_run = {
        .name = "run",
        .help = "run the controller: learn usage, publish recommendations, apply them if profiles allow",
        .usage = {"[option]..."},
        .intro = "Learns what containers use, publishes what they should request, and applies it if a profile "
                 "allows.\n"
                 "A setting may come from an option, from a variable such as HALFLIFE_LOG_LEVEL, or from the file of "
                 "--config;\n"
                 "the option wins, then the variable. On SIGTERM halflife writes a checkpoint and exits; on SIGHUP it "
                 "re-reads\n"
                 "the settings.\n",
        .settings = true,
        .heeds = FOR_RUN,
        .size = sizeof(struct running),
        .check = run_check,
        .run = run_run,
        .release = run_release,
};

const struct command command_serve = {
        .name = "serve",
        .help = "serve the REST API and admission from another halflife's Recommendations",
        .usage = {"[option]..."},
        .intro = "Serves the REST API and admission from the Recommendations that another halflife publishes. Any "
                 "number of\n"
                 "replicas may run; they need no history, database or Lease. The default of --serve-listen is :8443. "
                 "Settings\n"
                 "of halflife run are accepted and ignored, so that both may share a file.\n"
                 "A setting may come from an option, from a variable such as HALFLIFE_LOG_LEVEL, or from the file of "
                 "--config;\n"
                 "the option wins, then the variable. On SIGTERM halflife exits; on SIGHUP it re-reads the settings.\n",
        .settings = true,
        .heeds = FOR_SERVE,
        .size = sizeof(struct running),
        .check = run_check,
        .run = run_run,
        .release = run_release,
};
