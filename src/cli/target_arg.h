/*
 * "deploy/web" as it is written on a command line.
 */
#ifndef HALFLIFE_CLI_TARGET_ARG_H
#define HALFLIFE_CLI_TARGET_ARG_H

#include "base/err.h"
#include "core/kind.h"

struct workload {
        struct text word; /* the kind as it was written, of the argument */
        const char *name;
        char group[64], kind[64]; /* of the table of kinds; of others what was written */
        bool known;               /* the kind is in the table */
        char recommendation[KIND_NAME_MAX];
};
/* KIND/NAME: kind is what kubectl takes ("deploy", "deployments.apps", "Deployment"), of kinds of others singular and
 * group ("widget.example.com"). word is borrowed. 0, or ERR_INVALID. */
int workload_parse(const char *word, struct workload *ret, struct err *err);
/* The error of a workload without a Recommendation in namespace ns, told by why; the way out with it. ERR_NOTFOUND. */
int workload_unknown(const struct workload *w, const char *ns, const char *why, struct err *err);
/* Whether a target is this one; any case. */
bool workload_is(const struct workload *w, struct text group, struct text kind, struct text name);

#endif
