/*
 * The program's commands. Each gets its own arguments (argv[0] is the command's name) and returns the exit code: 0
 * done, 1 failed, 2 misused. The answer goes to stdout, talk to stderr.
 */
#ifndef HALFLIFE_CLI_CMD_H
#define HALFLIFE_CLI_CMD_H

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_MISUSED = 2 };

int cmd_run(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
