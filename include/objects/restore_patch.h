/*
 * Patches that restore the owner's requests and autoscaler targets, made from the workload, pod or autoscaler alone.
 * The object's annotations record halflife's values and the owner's. A value that somebody has changed since stays as
 * it is.
 */
#ifndef HALFLIFE_OBJECTS_RESTORE_PATCH_H
#define HALFLIFE_OBJECTS_RESTORE_PATCH_H

#include <jansson.h>

#include "objects/decode.h"

enum { RESTORE_TEXT = 384 };

struct restore {
        bool noted;                 /* the object has halflife's annotations, and they are readable */
        int back;                   /* number of values that the patch restores */
        int stand;                  /* number of values that somebody changed after halflife; they stay */
        char changes[RESTORE_TEXT]; /* "app cpu 454m -> 2, app memory 300Mi -> none"; cut when too long */
        char stands[RESTORE_TEXT];  /* "app cpu is 700m, not the 454m that halflife set"; cut likewise */
};

/*
 * Restore the requests of a workload. template_path: JSON pointer of its pod template.
 *
 * admitted: status.applied.admitted of its Recommendation, the requests that admission made of halflife's. Such
 * requests are halflife's too, although the annotations do not have them. NULL: none is known.
 *
 * *ret_patch restores the requests, removes halflife's annotations, and tests the values read. *ret_patch is NULL when
 * no value goes back; the annotations then stay, because removing them alone would start a rollout. An annotation
 * utilization-basis without a copy on the workload is the owner's, and stays.
 *
 * Returns 0, or ERR_INVALID: the object or its annotations are unreadable, or a limit is now below the original
 * request.
 */
int restore_template(struct text object, const char *template_path, const json_t *admitted, struct restore *ret,
                     json_t **ret_patch, struct err *err);

/* Restore a running pod in two steps. restore_pod_requests patches only requests, because the `resize` subresource
 * takes nothing else. restore_pod_notes then removes the annotations; on a pod that starts no rollout. `admitted`: as
 * above, of the pod's workload. `own`: the annotations were written to the pod itself, not copied from its template;
 * then a request that no other manager resized is halflife's, as admission changed it. `basis`: the annotation
 * utilization-basis is halflife's and goes too; else it comes from the template and stays. *ret_patch is NULL where
 * there is nothing to do. Both return 0 or a negative code with err. */
int restore_pod_requests(struct text pod, const json_t *admitted, bool own, struct restore *ret, json_t **ret_patch,
                         struct err *err);
int restore_pod_notes(struct text pod, bool basis, json_t **ret_patch, struct err *err);

/* Restore the owner's targets of a HorizontalPodAutoscaler (autoscaling/v2) or, with `triggers`, a KEDA ScaledObject,
 * and remove halflife's annotations. A target that somebody has changed since stays. */
int restore_autoscaler(struct text object, bool triggers, struct restore *ret, json_t **ret_patch, struct err *err);

#endif
