#include "commands.h"

#include <string.h>

const struct command *const commands[] = {
        &command_scan,    &command_run,     &command_render,     &command_serve,   &command_rotate,
        &command_get,     &command_explain, &command_nodes,      &command_report,  &command_ui,
        &command_restore, &command_resume,  &command_adopt,      &command_export,  &command_import,
        &command_check,   &command_replay,  &command_completion, &command_version,
};
const size_t commands_count = sizeof commands / sizeof commands[0];

const struct command *command_find(const char *name)
{
        for (size_t i = 0; i < commands_count; i++)
                if (strcmp(commands[i]->name, name) == 0)
                        return commands[i];
        return NULL;
}
