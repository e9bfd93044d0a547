/*
 * The controller's settings: one table names each with kind, default, bounds and help; flags, environment (HALFLIFE_*),
 * the YAML file,
 * --help and the README's list come from it. A flag beats the environment, which beats the file, which beats the
 * default.
 */
#ifndef HALFLIFE_CLI_SETTINGS_H
#define HALFLIFE_CLI_SETTINGS_H

#include <stdint.h>

#include "base/err.h"
#include "cli/options.h"

enum setting_id {
        SET_CONFIG,
        SET_KUBECONFIG,
        SET_CONTEXT,
        SET_NAMESPACE,
        SET_INTERVAL,
        SET_CHECKPOINT_INTERVAL,
        SET_STATUS_INTERVAL,
        SET_RETENTION,
        SET_DATABASE,
        SET_LISTEN,
        SET_LISTEN_FILE,
        SET_SERVE_LISTEN,
        SET_TLS_CERT,
        SET_TLS_KEY,
        SET_WEBHOOK_CERTIFICATE,
        SET_CERTIFICATE_SECRET,
        SET_CERTIFICATE_SERVICES,
        SET_WEBHOOK_CONFIGURATION,
        SET_CUSTOM_METRICS_LISTEN,
        SET_CUSTOM_METRICS_SERVICE,
        SET_UPSTREAM_URL,
        SET_UPSTREAM_CA,
        SET_TOKEN_AUDIENCE,
        SET_USAGE_SOURCE,
        SET_PROMETHEUS_URL,
        SET_PROMETHEUS_NAMES,
        SET_PROMETHEUS_MATCHERS,
        SET_PROMETHEUS_HISTORY,
        SET_PROMETHEUS_STEP,
        SET_PROMETHEUS_RATE_WINDOW,
        SET_PROMETHEUS_QUERIES,
        SET_PROMETHEUS_TOKEN_FILE,
        SET_PROMETHEUS_USER,
        SET_PROMETHEUS_PASSWORD_FILE,
        SET_PROMETHEUS_CA,
        SET_PROMETHEUS_CERT,
        SET_PROMETHEUS_KEY,
        SET_LEADER_ELECT,
        SET_LEASE,
        SET_APPLY,
        SET_BUDGET_WORKLOADS,
        SET_BUDGET_CORES,
        SET_FUSE_GUARDS,
        SET_API_RATE,
        SET_API_CONCURRENCY,
        SET_LOG_FORMAT,
        SET_LOG_LEVEL,
        SETTINGS
};

enum setting_kind { SETTING_TEXT, SETTING_DURATION, SETTING_COUNT, SETTING_CHOICE };

struct setting {
        const char *name; /* "checkpoint-interval": --checkpoint-interval, HALFLIFE_CHECKPOINT_INTERVAL,
                             checkpoint-interval: */
        enum setting_kind kind;
        const char *value;        /* what help calls it */
        const char *standard;     /* the default; "" : unset */
        const char *least, *most; /* bounds of durations and counts */
        const char *choices;      /* "text|json" */
        bool live;                /* takes effect when re-read */
        const char *help;
        const char *former; /* its name in the version before, still read; NULL: the same */
};
extern const struct setting setting_table[SETTINGS];

struct settings {
        char *text[SETTINGS];     /* as given; NULL: unset */
        int64_t number[SETTINGS]; /* milliseconds, counts; of choices: which */
        bool formerly[SETTINGS];  /* given by its former name */
};

/* Read all sources. given: of options_parse over settings_options (NULL: no flags). 0, or ERR_INVALID naming the
 * setting and where it was given. */
int settings_read(const struct option_given *given, struct settings *ret, struct err *err);
void settings_release(struct settings *s);

/* The table as options, SETTINGS of them. */
const struct option_spec *settings_options(void);
/* The README's table, in Markdown. */
void settings_print_markdown(FILE *to);

#endif
