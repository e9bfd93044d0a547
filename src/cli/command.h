/*
 * The driver of commands. A command consists of a table of options and the state members they set, a check of the
 * arguments, and a function that runs it. The driver does parsing, --help, error messages and exit codes.
 */
#ifndef HALFLIFE_CLI_COMMAND_H
#define HALFLIFE_CLI_COMMAND_H

#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/settings.h"

/* What a command's words (the arguments that are not options) mean. */
enum command_words { TAKES_NOTHING, TAKES_FILES, TAKES_HISTORIES, TAKES_WORKLOADS, TAKES_SHELLS };

struct command;
/* The parsed command line; valid until the command has ended. */
struct command_line {
        const struct command *command;
        const struct option_given *given; /* what was given for each option, in the order of command_options */
        struct option_words words;
};

struct command {
        const char *name;
        const char *help; /* the command's line in the list of commands */
        enum command_words words;
        const char *usage[2];      /* what follows the command's name: "[option]... KIND/NAME"; [1] may be NULL */
        const char *intro, *outro; /* whole lines before and after the options in --help; outro may be NULL */
        const struct option_spec *option; /* the command's own options, without --help; none: all arguments are words */
        int options;
        bool settings;           /* the command takes the settings, then its own options, and no words */
        enum setting_user heeds; /* --help lists the settings of this command */
        size_t size; /* of the command's state, in bytes; the driver zeroes the state and stores the options in it */
        /* Check the arguments. Returns 0, or ERR_INVALID for wrong usage. */
        int (*check)(void *state, const struct command_line *line, struct err *err);
        /* Run the command. Returns the exit code, or an error that the driver prints. */
        int (*run)(void *state, struct err *err);
        void (*release)(void *state); /* frees what the state owns, after success and failure; NULL: it owns nothing */
};
#define COMMAND_OPTIONS(table) .option = (table), .options = sizeof(table) / sizeof *(table)

/* All options of a command except --help; valid until the next call. */
const struct option_spec *command_options(const struct command *c, int *ret_count);
/* Parse argv and run the command; argv[0] is the command's name. Returns the exit code. */
int command_call(const struct command *c, int argc, char **argv);
/* Print the error as "halflife get: why", without control characters. */
void command_tell(const struct command *c, struct err *err);

#endif
