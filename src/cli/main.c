#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"

static void main_usage(FILE *to)
{
        fprintf(to,
                "usage: %s COMMAND [option]...\n\n"
                "Keeps the requests of Kubernetes workloads at what they really use.\n\n",
                program_name());
        for (size_t i = 0; i < commands_count; i++)
                fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->help);
        fprintf(to, "\n%s COMMAND --help lists its options. Exit codes: 0 done, 1 failed, 2 misused.\n",
                program_name());
}

/* The exit code: failure if the answer could not be written, even if the command succeeded. If the reader closed the
 * pipe, no message is printed. */
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

static int unknown_command(const char *name)
{
        fprintf(stderr, "halflife: unknown command '%s'; halflife --help lists all\n", name);
        return EXIT_MISUSED;
}

/* Print the list of all commands, or the help of the named one. */
static int main_help(const char *name)
{
        const struct command *c = name ? command_find(name) : NULL;
        char help[] = "--help";
        if (name && !c)
                return unknown_command(name);
        if (c)
                return command_call(c, 2, (char *[]){help, help});
        main_usage(stdout);
        return EXIT_DONE;
}

static int main_command(int argc, char **argv)
{
        const char *name = argc > 1 ? argv[1] : "";
        const struct command *c = command_find(name);
        if (c)
                return command_call(c, argc - 1, argv + 1);
        if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
                return main_help(argc > 2 ? argv[2] : NULL);
        if (strcmp(name, "__complete") == 0)
                return cmd_complete(argc - 1, argv + 1);
        if (strcmp(name, "--version") == 0)
                return command_call(&command_version, 1, argv);
        if (*name)
                return unknown_command(name);
        main_usage(stderr);
        return EXIT_MISUSED;
}

/* If a standard stream is closed, the next file or socket would get its number, and log lines would go there. Opening
 * /dev/null for reading keeps the number taken, and writes fail as they should. */
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
