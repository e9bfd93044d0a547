#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"

static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
        const char *help;
} commands[] = {
        {"run", cmd_run, "watch usage, publish recommendations, apply what profiles allow"},
        {"get", cmd_get, "the recommendations, as kubectl get shows them"},
        {"check", cmd_check, "can halflife reach, may it do, what it needs? one line each"},
        {"replay", cmd_replay, "run a usage trace through profiles and score them"},
        {"version", cmd_version, "which halflife this is"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void usage(FILE *to)
{
        fprintf(to, "usage: halflife COMMAND [option]...\n\n"
                    "Keeps the requests of Kubernetes workloads at what they really use.\n\n");
        for (int i = 0; i < COMMANDS; i++)
                fprintf(to, "  %-9s %s\n", commands[i].name, commands[i].help);
        fprintf(to, "\nhalflife COMMAND --help tells more. Exit codes: 0 done, 1 failed, 2 misused.\n");
}

int main(int argc, char **argv)
{
        const char *name = argc > 1 ? argv[1] : "";
        for (int i = 0; i < COMMANDS; i++)
                if (strcmp(name, commands[i].name) == 0)
                        return commands[i].run(argc - 1, argv + 1);
        if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
                usage(stdout);
                return EXIT_DONE;
        }
        if (strcmp(name, "--version") == 0)
                return cmd_version(1, argv);
        if (*name)
                fprintf(stderr, "halflife: there is no command '%s'; halflife --help lists them\n", name);
        else
                usage(stderr);
        return EXIT_MISUSED;
}
