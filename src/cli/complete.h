/*
 * What may follow on a command line. The shells' scripts hand over the words typed so far and show what comes back, so
 * that they need to know nothing.
 */
#ifndef HALFLIFE_CLI_COMPLETE_H
#define HALFLIFE_CLI_COMPLETE_H

#include <stdbool.h>
#include <stdio.h>

/* What the words so far say of the cluster to ask; NULL: nothing. */
struct complete_where {
        const char *kubeconfig, *context, *ns;
};

/* Where names come from: the cluster, or a test. told is called once a name: of a namespace, or of a workload with its
 * kind as in the table of kinds, others with their group ("widget.example.com"). */
typedef void complete_told(void *to, const char *kind, const char *name);
struct complete_names {
        void (*workloads)(const struct complete_where *w, complete_told *told, void *to);
        void (*namespaces)(const struct complete_where *w, complete_told *told, void *to);
};

/*
 * word[0] is the command; the last of them is the one to complete, maybe empty. Writes a line for each that begins with
 * it: the word, and where there is one a tab and what it means; and at the end ":4", or ":0" where file names may
 * follow as well (as kubectl's plug-ins tell it).
 */
void complete(FILE *to, const char *const *word, int words, const struct complete_names *names);

/* The script for "bash", "zsh" or "fish"; NULL: for no other shell. */
const char *complete_script(const char *shell);

#endif
