#include "commands.h"

#include <string.h>

#include "cli/cmd.h"
#include "cli/settings.h"

static const struct option_spec *setting_options(int *ret_count)
{
        *ret_count = SETTINGS;
        return settings_options();
}

const struct command commands[] = {
        {"run", cmd_run, setting_options, TAKES_NOTHING,
         "watch usage, publish recommendations, apply what profiles allow"},
        {"render", cmd_render, cmd_render_options, TAKES_NOTHING,
         "manifests in, the same manifests out with the requests to deploy with"},
        {"serve", cmd_serve, setting_options, TAKES_NOTHING,
         "answer reads, render and admission from what another halflife published"},
        {"get", cmd_get, cmd_get_options, TAKES_WORKLOADS, "the recommendations, as kubectl get shows them"},
        {"explain", cmd_explain, cmd_explain_options, TAKES_WORKLOADS,
         "the histogram behind a number, and how the number came about"},
        {"restore", cmd_restore, cmd_restore_options, TAKES_WORKLOADS,
         "requests back as their owners had them; needs no controller"},
        {"resume", cmd_resume, cmd_resume_options, TAKES_WORKLOADS,
         "lift the holds that restore, or a person, has set"},
        {"adopt", cmd_adopt, cmd_adopt_options, TAKES_WORKLOADS,
         "what was learned of a workload goes on under another name"},
        {"export", cmd_export, cmd_export_options, TAKES_NOTHING,
         "what was learned, as a file for another cluster or namespace"},
        {"import", cmd_import, cmd_import_options, TAKES_HISTORIES,
         "histories from before, an export's or a VPA's, are joined with what was learned here"},
        {"check", cmd_check, setting_options, TAKES_NOTHING,
         "can halflife reach, may it do, what it needs? one line each"},
        {"replay", cmd_replay, cmd_replay_options, TAKES_FILES, "run usage traces through profiles and score them"},
        {"completion", cmd_completion, NULL, TAKES_SHELLS, "the script that completes command lines in a shell"},
        {"version", cmd_version, NULL, TAKES_NOTHING, "which halflife this is"},
};
const size_t commands_count = sizeof commands / sizeof commands[0];

const struct command *command_find(const char *name)
{
        for (size_t i = 0; i < commands_count; i++)
                if (strcmp(commands[i].name, name) == 0)
                        return &commands[i];
        return NULL;
}
