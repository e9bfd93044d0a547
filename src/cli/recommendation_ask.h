/*
 * Asks the controller by an annotation on a workload's Recommendation. A workload that never had pods has no
 * Recommendation, so the command makes one. The controller takes it over, or deletes it if no profile selects the
 * workload.
 */
#ifndef HALFLIFE_CLI_RECOMMENDATION_ASK_H
#define HALFLIFE_CLI_RECOMMENDATION_ASK_H

#include "cli/session.h"

struct recommendation_ask {
        const char *ns, *group, *kind, *name; /* the workload; kind: its case does not matter */
        const char *recommendation;           /* name of the workload's Recommendation */
        const char *manager;                  /* field manager of the command's writes */
        const char *asks, *value;             /* the annotation that asks the controller, and its value */
        const char *answers; /* the annotation with the controller's earlier answer, which is removed */
};

/* Set the annotation `asks` on the Recommendation, which is made if there is none. Returns 0; ERR_NOTFOUND: there is
 * neither the Recommendation nor the workload; or another error. It takes permission to get and patch Recommendations,
 * and to create them if there is none. */
int recommendation_ask_send(struct session *s, const struct recommendation_ask *a, struct err *err);
/* Make the Recommendation without an annotation. If it exists already, that is success, too. */
int recommendation_ask_make(struct session *s, const struct recommendation_ask *a, struct err *err);
/* Check, without a write, that there is the Recommendation, or the workload to make it for. Returns what
 * recommendation_ask_send returns. */
int recommendation_ask_look(struct session *s, const struct recommendation_ask *a, struct err *err);

#endif
