/*
 * The program's name and exit codes. 0: success. 1: failure. 2: wrong usage. 3: `render --exit-code` found a change, or
 * `scan --fail-over` found more to save than its limit. A command writes its answer to stdout and everything else to
 * stderr.
 */
#ifndef HALFLIFE_CLI_CMD_H
#define HALFLIFE_CLI_CMD_H

#include <stdbool.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_MISUSED = 2, EXIT_CHANGES = 3 };

/* The command that started the program, for usage texts: "halflife", or "kubectl halflife" if it runs as kubectl's
 * plug-in (its file name begins with "kubectl-"). */
const char *program_name(void);
void program_called(const char *argv0);
/* Whether kubectl called the program to complete a command line (by the name kubectl_complete-halflife). */
bool program_completes(void);

/* Print what may complete the last word; a shell's completion script calls this. argv: argv[0], then the words typed so
 * far. Returns the exit code. */
int cmd_complete(int argc, char **argv);

#endif
