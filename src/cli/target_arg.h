/*
 * Parsing of a workload on a command line, such as "deploy/web".
 */
#ifndef HALFLIFE_CLI_TARGET_ARG_H
#define HALFLIFE_CLI_TARGET_ARG_H

#include "base/err.h"
#include "core/kind.h"

struct workload {
        struct text word; /* the kind as given; points into the argument */
        const char *name;
        char group[64], kind[64]; /* from the table of kinds; a kind not in the table: as given */
        bool known;               /* the kind is in the table */
        char recommendation[KIND_NAME_MAX];
};
/* Parse KIND/NAME. KIND is a name that kubectl accepts ("deploy", "deployments.apps", "Deployment"); a kind not in the
 * table is singular and group ("widget.example.com"). *ret points into word. Returns 0, or ERR_INVALID. */
int workload_parse(const char *word, struct workload *ret, struct err *err);
/* Set ERR_NOTFOUND and return it: the workload has no Recommendation in namespace ns. The text includes why and
 * advice. */
int workload_unknown(const struct workload *w, const char *ns, const char *why, struct err *err);
/* Whether the group, kind and name are this workload's. Letter case counts in the name only. */
bool workload_is(const struct workload *w, struct text group, struct text kind, struct text name);

#endif
