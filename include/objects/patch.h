/*
 * JSON Patches that set the requests of a pod template or a pod, or the targets of an autoscaler, and record the old
 * and new values in halflife's annotations.
 */
#ifndef HALFLIFE_OBJECTS_PATCH_H
#define HALFLIFE_OBJECTS_PATCH_H

#include <jansson.h>

#include "objects/decode.h"

/* The requests to set on one container. */
struct patch_container {
        const char *name;
        bool write[RESOURCES];
        struct amount to[RESOURCES]; /* not set: remove the request */
};

struct patch_resources {
        const char *template_path; /* JSON pointer such as "/spec/template"; "": the object is a pod */
        struct text object;        /* the object's current JSON, which gives indices, parents and tested values */
        const char *version; /* resourceVersion of object: the patch tests it and every value that it replaces. NULL: no
                                tests, for an object in admission, which cannot change meanwhile */
        const struct patch_container *container;
        int containers;
        /* Annotations of the template, with a copy on the workload: a text sets the annotation, NULL removes it. The
         * patch writes them only when a request changes or `deploys` is set, because a change of the template starts a
         * rollout. */
        const char *original, *applied, *basis, *raised;
        bool basis_stands; /* the annotation utilization-basis is the owner's: neither set nor removed */
        bool deploys;      /* the owner deploys the workload anyway: write annotations even when no request changes */
};

/*
 * Build the JSON Patch. The patch adds a parent object only when absent, removes a parent that a removal leaves empty,
 * tests each container's name, and never touches limits. Returns the array, a reference that the caller owns; the array
 * is empty when nothing would change. Returns NULL with err on failure: ERR_STALE when a container is gone, ERR_INVALID
 * when a request would be above its limit, which is a bug in halflife.
 */
json_t *patch_build(const struct patch_resources *p, struct err *err);

/* The utilization target to set for one metric of an autoscaler. */
struct patch_target {
        int index;      /* of the metric or trigger in the autoscaler's list */
        bool container; /* the metric is of type ContainerResource, else Resource */
        int64_t to;     /* the target to set, in per cent */
};
struct patch_targets {
        struct text object; /* the autoscaler's current JSON */
        const char *version;
        bool triggers; /* the object is a KEDA ScaledObject, else an HPA */
        const struct patch_target *target;
        int targets;
        /* Annotations of the autoscaler (annotation_record.h); NULL: remove the annotation. */
        const char *original, *applied;
};
/* Build the JSON Patch, with results as those of patch_build. ERR_STALE: the autoscaler has no such target any more. */
json_t *patch_targets_build(const struct patch_targets *p, struct err *err);

#endif
