/*
 * The program's commands. Each gets its own arguments (argv[0] is the command's name) and returns the exit code: 0
 * done, 1 failed, 2 misused, and 3 where it was asked whether something changes, and it does. The answer goes to
 * stdout, talk to stderr.
 */
#ifndef HALFLIFE_CLI_CMD_H
#define HALFLIFE_CLI_CMD_H

#include <stdbool.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_MISUSED = 2, EXIT_CHANGES = 3 };

/* How the program was called, for usage texts: "halflife", or "kubectl halflife" where it is kubectl's plug-in (its own
 * name begins with "kubectl-"). */
const char *program_name(void);
void program_called(const char *argv0);
/* Whether it was called to complete a command line of kubectl's (by the name kubectl_complete-halflife). */
bool program_completes(void);

int cmd_run(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_render(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_resume(int argc, char **argv);
int cmd_adopt(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_completion(int argc, char **argv);
int cmd_complete(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
