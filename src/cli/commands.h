/*
 * The table of commands: the usage text, the completions and the manual page's test know them from here.
 */
#ifndef HALFLIFE_CLI_COMMANDS_H
#define HALFLIFE_CLI_COMMANDS_H

#include <stddef.h>

#include "cli/options.h"

/* What the words behind a command's options are. */
enum command_words { TAKES_NOTHING, TAKES_FILES, TAKES_HISTORIES, TAKES_WORKLOADS, TAKES_SHELLS };

struct command {
        const char *name;
        int (*run)(int argc, char **argv);
        /* Its options, --help aside, and how many; NULL: it has none. */
        const struct option_spec *(*options)(int *ret_count);
        enum command_words words;
        const char *help;
};
extern const struct command commands[];
extern const size_t commands_count;
const struct command *command_find(const char *name); /* NULL: there is none */

/* One for each command that has a table of its own. */
const struct option_spec *cmd_render_options(int *ret_count);
const struct option_spec *cmd_get_options(int *ret_count);
const struct option_spec *cmd_explain_options(int *ret_count);
const struct option_spec *cmd_replay_options(int *ret_count);
const struct option_spec *cmd_restore_options(int *ret_count);
const struct option_spec *cmd_resume_options(int *ret_count);
const struct option_spec *cmd_adopt_options(int *ret_count);
const struct option_spec *cmd_export_options(int *ret_count);
const struct option_spec *cmd_import_options(int *ret_count);

#endif
