#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "commands.h"

static void main_usage(FILE *to)
{
        fprintf(to,
                "usage: %s COMMAND [option]...\n\n"
                "Keeps the requests of Kubernetes workloads at what they really use.\n\n",
                program_name());
        for (size_t i = 0; i < commands_count; i++)
                fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
        fprintf(to, "\n%s COMMAND --help tells more. Exit codes: 0 done, 1 failed, 2 misused.\n", program_name());
}

/* An answer that did not get out is no answer, whatever the command came to. Who stopped reading knows that himself. */
static int main_answered(int code)
{
        int flushed = fflush(stdout), why = errno;
        if (flushed == 0 && !ferror(stdout))
                return code;
        if (flushed == 0 || why != EPIPE)
                fprintf(stderr, "halflife: the answer could not be written%s%s\n", flushed ? ": " : "",
                        flushed ? strerror(why) : "");
        return code == EXIT_DONE ? EXIT_FAILED : code;
}

static int main_command(int argc, char **argv)
{
        const char *name = argc > 1 ? argv[1] : "";
        const struct command *c = command_find(name);
        if (c)
                return c->run(argc - 1, argv + 1);
        if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
                main_usage(stdout);
                return EXIT_DONE;
        }
        if (strcmp(name, "__complete") == 0)
                return cmd_complete(argc - 1, argv + 1);
        if (strcmp(name, "--version") == 0)
                return cmd_version(1, argv);
        if (*name)
                fprintf(stderr, "halflife: there is no command '%s'; halflife --help lists them\n", name);
        else
                main_usage(stderr);
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
        program_called(argv[0]);
        return main_answered(program_completes() ? cmd_complete(argc, argv) : main_command(argc, argv));
}
