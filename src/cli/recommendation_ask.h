/*
 * Asking the controller by an annotation on a Recommendation. A workload that never had pods has none, so the command
 * makes it: the controller takes it over, or deletes it where no profile selects the workload.
 */
#ifndef HALFLIFE_CLI_RECOMMENDATION_ASK_H
#define HALFLIFE_CLI_RECOMMENDATION_ASK_H

#include "cli/session.h"

struct recommendation_ask {
        const char *ns, *group, *kind, *name; /* the workload; kind: its case does not matter */
        const char *recommendation;           /* name of its Recommendation */
        const char *manager;                  /* field manager of what is written */
        const char *asks, *value;             /* the annotation that asks */
        const char *answers;                  /* the annotation of an earlier answer, which is removed */
};

/* Set the annotation, on a Recommendation that is made if there is none. Returns 0; ERR_NOTFOUND: there is none, and no
 * such workload; or another error. Permission to get and patch Recommendations suffices where there is one; else also
 * to create them. */
int recommendation_ask_send(struct session *s, const struct recommendation_ask *a, struct err *err);
/* Make the Recommendation without an annotation. One that is there already is as good. */
int recommendation_ask_make(struct session *s, const struct recommendation_ask *a, struct err *err);
/* Look whether there is a Recommendation, or a workload to make it for; errors as of recommendation_ask_send. */
int recommendation_ask_look(struct session *s, const struct recommendation_ask *a, struct err *err);

#endif
