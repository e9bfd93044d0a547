/*
 * The settings of run, serve, rotate and check. One table gives each setting's kind, default, bounds, help and struct
 * member. Options, environment variables (HALFLIFE_*), the YAML file, --help and the documents' lists derive from it.
 * An option beats the environment, which beats the file, which beats the default.
 */
#ifndef HALFLIFE_CLI_SETTINGS_H
#define HALFLIFE_CLI_SETTINGS_H

#include <stddef.h>

#include "base/err.h"
#include "base/log.h"
#include "cli/options.h"
#include "control/controller.h"

enum { SETTINGS_MOST = 64 };

/* The values of the settings. An unset text is NULL; texts live as long as the struct. */
struct settings {
        const char *config, *kubeconfig, *context;
        const char *upstream_ca; /* path of a PEM file: the CA that verifies the upstream's certificate */
        enum { LEADER_ELECT_AUTO, LEADER_ELECT_TRUE, LEADER_ELECT_FALSE } leader_elect;
        enum log_level log_level;
        bool log_json;
        const char *certificate_services, *webhook_configuration; /* only for halflife rotate */
        struct controller_options controller;                     /* filled only in the members that are settings */
        char *text[SETTINGS_MOST];    /* the values as given, in the order of the table; NULL: unset */
        bool formerly[SETTINGS_MOST]; /* whether a source gave the setting by its former name */
};

/* The command that a setting is for. */
enum setting_user { FOR_BOTH, FOR_RUN, FOR_SERVE, FOR_ROTATE };
enum setting_kind { SETTING_TEXT, SETTING_DURATION, SETTING_COUNT, SETTING_CHOICE };

struct setting {
        const char *name; /* "checkpoint-interval": --checkpoint-interval, HALFLIFE_CHECKPOINT_INTERVAL,
                             checkpoint-interval: */
        enum setting_kind kind;
        size_t at, size;          /* offset and size, in bytes, of the setting's member in struct settings */
        const char *value;        /* how help names the value, "FILE" */
        const char *standard;     /* the default; "": the setting is unset */
        const char *least, *most; /* bounds of a duration or count; NULL: another kind */
        const char *choices;      /* "text|json": the first choice is stored as 0 or false */
        bool live;                /* a changed value takes effect without a restart */
        enum setting_user only;   /* the command that the setting affects; the other commands accept and ignore it, so
                                     that all may share a file */
        bool rotates;             /* the setting affects halflife rotate too, which heeds few settings */
        const char *help;
        int (*check)(const char *text, struct err *err); /* checks a text that is set; NULL: any text is right */
        const char *former; /* the name in the previous version, still read; NULL: the same name */
};
extern const struct setting setting_table[];
extern const int settings_count;

/* Read all sources. given: the result of options_parse over settings_options; NULL: no options. Returns 0, or
 * ERR_INVALID with the setting and its source. A source that gives a setting by both its former and its new name is
 * also ERR_INVALID. */
int settings_read(const struct option_given *given, struct settings *ret, struct err *err);
/* Move the live settings from fresh to s. Afterwards, *fresh may only be released. */
void settings_take_live(struct settings *s, struct settings *fresh);
void settings_release(struct settings *s);

/* The table of settings as options, for the help of one command or of all. Valid until the next call. */
const struct option_spec *settings_options(enum setting_user user, int *ret_count);
/* Print the table of docs/settings.md, in Markdown. */
void settings_print_markdown(FILE *to);

#endif
