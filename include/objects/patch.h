/*
 * JSON Patches that set the requests of a pod template, or of a pod, or the targets of an autoscaler, and record them
 * in our annotations.
 */
#ifndef HALFLIFE_OBJECTS_PATCH_H
#define HALFLIFE_OBJECTS_PATCH_H

#include <jansson.h>

#include "objects/decode.h"

/* What to set on one container of a template. */
struct patch_container {
        const char *name;
        bool write[RESOURCES];
        struct amount to[RESOURCES]; /* not set: the request is removed (put back to absent) */
};

struct patch_resources {
        const char *template_path; /* "/spec/template"; "" : the object is a pod */
        struct text object;        /* its JSON as it is: indices, parents and tests come from it */
        const char *version; /* resourceVersion read: the patch tests it, and all that it replaces; NULL (the object
                                cannot change meanwhile: it is at admission): nothing is tested */
        const struct patch_container *container;
        int containers;
        /* annotations of the template, with a copy on the workload: text to set, NULL to remove; written where a
         * request changes, and where the owner deploys, as a rollout starts then anyway */
        const char *original, *applied, *basis, *raised;
        bool basis_stands; /* it is its owner's: neither set nor removed */
        bool deploys;
};

/*
 * Build the JSON Patch. Every parent is added exactly when absent, and goes when a removal leaves it empty; each
 * container is tested by name; limits never appear. Returns the array (the caller's reference), or NULL with err:
 * ERR_STALE (the object is not what was decided on: a container is gone), ERR_INVALID (would write a request above its
 * limit: our bug), or an empty array when nothing would change.
 */
json_t *patch_build(const struct patch_resources *p, struct err *err);

/* A target to set: that of the metric at a place of the autoscaler's list. */
struct patch_target {
        int index;
        bool container; /* of type ContainerResource, else Resource */
        int64_t to;     /* per cent */
};
struct patch_targets {
        struct text object; /* its JSON as it is */
        const char *version;
        bool triggers; /* it is KEDA's ScaledObject */
        const struct patch_target *target;
        int targets;
        const char *original, *applied; /* its annotations (record.h); NULL to remove */
};
/* Build the JSON Patch, as above: ERR_STALE where there is no such target, an empty array when nothing would change. */
json_t *patch_targets_build(const struct patch_targets *p, struct err *err);

#endif
