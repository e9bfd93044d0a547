#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"

static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
        const char *help;
} commands[] = {
        {"run", cmd_run, "watch usage, publish recommendations, apply what profiles allow"},
        {"serve", cmd_serve, "answer reads, render and admission from what another halflife published"},
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

/* An answer that did not get out is no answer, whatever the command came to. Who stopped reading knows that himself. */
static int answered(int code)
{
        int flushed = fflush(stdout), why = errno;
        if (flushed == 0 && !ferror(stdout))
                return code;
        if (flushed == 0 || why != EPIPE)
                fprintf(stderr, "halflife: the answer could not be written%s%s\n", flushed ? ": " : "",
                        flushed ? strerror(why) : "");
        return code == EXIT_DONE ? EXIT_FAILED : code;
}

static int command(int argc, char **argv)
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

/* Where a standard stream is closed, the next file or socket opened would take its number, and our log with it. Held
 * open for reading, writes to it fail as they should. */
static void hold_standard_streams(void)
{
        for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY))
                if (fd > STDERR_FILENO) {
                        close(fd);
                        return;
                }
}

int main(int argc, char **argv)
{
        hold_standard_streams();
        return answered(command(argc, argv));
}
