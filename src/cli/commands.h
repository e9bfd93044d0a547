/*
 * The table of commands. The usage text, the completions and the manual page derive from it.
 */
#ifndef HALFLIFE_CLI_COMMANDS_H
#define HALFLIFE_CLI_COMMANDS_H

#include "command.h"

extern const struct command command_scan, command_run, command_render, command_serve, command_rotate, command_get,
        command_explain, command_restore, command_resume, command_adopt, command_export, command_import, command_check,
        command_nodes, command_report, command_ui, command_replay, command_completion, command_version;
extern const struct command *const commands[];
extern const size_t commands_count;
const struct command *command_find(const char *name); /* find a command by name; NULL: there is none */

#endif
