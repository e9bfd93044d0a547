/*
 * The admission webhook (admission.k8s.io/v1) as pure functions: a review and a view in, a response out. On any doubt a
 * request is allowed unchanged: a deploy never waits for us.
 *
 * Pods (apply.at: Pod) are set as they are created. Workloads (apply.at: Workload, and Rollout, so that a deploy is one
 * rollout and not two) are compared with what they were: where the template is the same but for values of ours, those
 * stand and nothing rolls out; otherwise it is a deploy and gets the present answer.
 */
#ifndef HALFLIFE_DEPLOY_ADMISSION_H
#define HALFLIFE_DEPLOY_ADMISSION_H

#include "base/buf.h"
#include "objects/decode.h"
#include "snapshot/snapshot.h"

/* An AdmissionReview's request. Texts point into the body or the arena. */
struct admission {
        struct text uid, operation, user, manager, ns, name; /* manager: of fields; "" not told */
        struct text group, version, kind, subresource;
        struct text object, old_object; /* JSON; {"", 0}: none */
        struct owner_ref owner;         /* of the object: its controller; kind "": none */
};
/* 0, or ERR_INVALID: no AdmissionReview of v1, or one without request or uid. */
int admission_read(struct text body, struct arena *a, struct admission *ret, struct err *err);

/* Does the answer need more of a pod's owner than the pod says: who owns that (a ReplicaSet, a Job), or the labels and
 * the word of one that the view does not have yet? Whoever serves finds it, in bounded time or not at all. */
bool admission_wants_owner(const struct admission *r, const struct snapshot *v);
struct admission_owner {
        struct text group, kind, name;  /* the highest owner in the chain that holds a template */
        const struct label_pair *label; /* its own labels, for a workload that the view does not have yet */
        size_t labels;
        bool apply_never; /* its own annotation halflife.dev/apply: Never */
        bool unseen;      /* it could not be read in time: what a view does not know of it either, nobody knows */
};

/* What became of a request: a label of the metric. In the audit log is only what was done (result: patched) or could
 * not be (left-unchanged): called again after another webhook, one would say another word under the same key. */
enum admission_result {
        ADMISSION_PATCHED,
        ADMISSION_STANDS,     /* nothing to change: it has what it should */
        ADMISSION_KEPT,       /* the owner changed nothing that matters: the values before stand */
        ADMISSION_NO_TARGET,  /* no workload of ours owns it, or no profile selects that */
        ADMISSION_OTHER_MODE, /* the profile changes nothing at this place */
        ADMISSION_OWN,        /* halflife's own write */
        ADMISSION_NO_OWNER,   /* its owner could not be found in time */
        ADMISSION_UNREADABLE, /* the object cannot be read, or its patch not be built */
        /* The cluster, or this namespace that was just made, is still being read: half of what is known would be a
         * wrong answer (who opted out?). */
        ADMISSION_NOT_READY,
        ADMISSION_RESULTS
};
const char *admission_result_name(enum admission_result r); /* "patched", "stands", … */

/*
 * owner NULL: it was not wanted, or not found. own_user: this process's own user name; NULL: unknown. Halflife's own
 * writes are those of that user, and those of its namespace's other accounts that write as field manager "halflife":
 * who learns and who serves have one account each. Writes the whole AdmissionReview to send back, with status 200.
 */
void admission_answer(const struct admission *r, const struct snapshot *v, const struct admission_owner *owner,
                      const char *own_user, struct arena *a, struct buf *out, enum admission_result *ret);

#endif
