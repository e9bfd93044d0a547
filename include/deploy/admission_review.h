/*
 * The admission webhook (admission.k8s.io/v1) as pure functions: they take a review and a snapshot and give a response.
 * In any doubt the object is admitted unchanged, so that no deploy waits for halflife.
 *
 * With apply.at Pod, and in mode InPlace, pods get their requests when they are created. With apply.at Workload, and in
 * mode Rollout, the templates of workloads get requests, so that a deploy causes one rollout and not two. An updated
 * workload is compared with its previous version. If the template differs only in values of halflife, the previous
 * values stay and nothing rolls out. Otherwise this is a deploy, and the template gets the requests that
 * deploy/deploy_answer.h decides now.
 */
#ifndef HALFLIFE_DEPLOY_ADMISSION_REVIEW_H
#define HALFLIFE_DEPLOY_ADMISSION_REVIEW_H

#include "base/buf.h"
#include "objects/decode.h"
#include "snapshot/snapshot.h"

/* An AdmissionReview's request. Texts point into the body or the arena. */
struct admission {
        struct text uid, operation, user, manager, ns, name; /* manager: the field manager; "" if not given */
        struct text group, version, kind, subresource;
        struct text object, old_object; /* JSON; {"", 0}: none */
        struct owner_ref owner;         /* the object's controller by ownerReferences; kind "": none */
        bool dry_run;                   /* nothing will be stored */
        bool probe;                     /* the object's annotation asks if admission is called (ANNOTATION_PROBE) */
};
/* Returns 0, or ERR_INVALID if `body` is not an AdmissionReview of v1, or lacks the request or the request's uid. */
int admission_read(struct text body, struct arena *a, struct admission *ret, struct err *err);

/* Is an owner lookup needed, because a new pod's ownerReference does not suffice? That is so if the owner itself may
 * have an owner (a ReplicaSet, a Job), or if the snapshot lacks the owner's labels and annotations. The caller does the
 * lookup, within a bounded time, and passes the result to admission_answer. */
bool admission_wants_owner(const struct admission *r, const struct snapshot *v);
struct admission_owner {
        struct text group, kind, name;  /* the highest owner in the chain that holds a template */
        const struct label_pair *label; /* the owner's own labels, for a workload that the snapshot does not have yet */
        size_t labels;
        bool apply_never; /* the owner has the annotation halflife.dev/apply: Never */
        bool unseen; /* the owner could not be read in time: only the snapshot may know its labels and annotations */
};

/* The result of a review, which is a label of the metric halflife_admissions_total. The audit log gets only patched
 * (key "result") and the failures (key "left-unchanged"). The API server may call the webhook again after another
 * webhook; the second call must not report another result under the same key. */
enum admission_result {
        ADMISSION_PATCHED,
        ADMISSION_STANDS,     /* nothing to change: the requests are right already */
        ADMISSION_KEPT,       /* the owner did not change the template, and it has the previous values already */
        ADMISSION_NO_TARGET,  /* not a pod or workload that halflife may change, or no profile selects it */
        ADMISSION_OTHER_MODE, /* the profile's mode does not change objects of this kind at admission */
        ADMISSION_OWN,        /* halflife's own write */
        ADMISSION_PROBED,     /* a dry run that only asks whether admission is called was answered */
        ADMISSION_NO_OWNER,   /* the pod's owner could not be found in time */
        ADMISSION_UNREADABLE, /* the object could not be read, or the patch not be built */
        /* The cluster, or this new namespace, is still being read. With partial knowledge the answer could be wrong: an
         * opt-out might be missed. */
        ADMISSION_NOT_READY,
        ADMISSION_RESULTS
};
const char *admission_result_name(enum admission_result r); /* "patched", "stands", … */

/*
 * Append to `out` the AdmissionReview to send back with HTTP status 200. `owner` is the result of the owner lookup;
 * NULL if no lookup was needed, or it found nothing. own_user is this process's user name; NULL if unknown. Writes by
 * own_user are halflife's own, and so are writes with field manager "halflife" by other service accounts of the same
 * namespace, since the controller and its replicas have an account each.
 */
void admission_answer(const struct admission *r, const struct snapshot *v, const struct admission_owner *owner,
                      const char *own_user, struct arena *a, struct buf *out, enum admission_result *ret);

#endif
