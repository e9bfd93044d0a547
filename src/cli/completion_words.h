/*
 * Completion of command lines. The script of a shell passes the words typed so far and shows the answer, so that the
 * script itself needs no knowledge of halflife.
 */
#ifndef HALFLIFE_SRC_CLI_COMPLETION_WORDS_H
#define HALFLIFE_SRC_CLI_COMPLETION_WORDS_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/session.h"

/* The cluster and namespace that the words typed so far choose; NULL: not given. */
struct complete_where {
        struct session_options session;
        const char *ns;
};

/* The source of names: the cluster, or a test. Each function calls `told` for each namespace (with kind "") or
 * workload. The kind is singular ("Deployment"); a kind not in the table has its group ("widget.example.com"). */
typedef void complete_told(void *to, const char *kind, const char *name);
struct complete_names {
        void (*workloads)(const struct complete_where *w, complete_told *told, void *to);
        void (*namespaces)(const struct complete_where *w, complete_told *told, void *to);
};

/*
 * Complete the last word, which may be empty; word[0] is the command. Writes one line for each candidate: the word, and
 * if it has a description, a tab and the description. The last line is ":4", or ":0" if file names may follow too, as
 * kubectl's plug-ins do.
 */
void complete(FILE *to, const char *const *word, int words, const struct complete_names *names);

/* The completion script for "bash", "zsh" or "fish"; NULL for another shell. */
const char *complete_script(const char *shell);

#endif
