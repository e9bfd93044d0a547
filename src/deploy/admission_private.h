/*
 * The two subjects of admission, pods and workloads: each decides the patch; admission_review.c writes the response.
 */
#ifndef HALFLIFE_DEPLOY_ADMISSION_PRIVATE_H
#define HALFLIFE_DEPLOY_ADMISSION_PRIVATE_H

#include <jansson.h>

#include "deploy/admission_review.h"
#include "deploy/deploy_answer.h"
#include "objects/patch.h"

struct admission_work {
        const struct admission *request;
        const struct snapshot *view;
        const struct admission_owner *owner;
        struct arena *arena;
        enum admission_result result;
        json_t *patch; /* NULL: none */
};

/* Judge a review of a pod, or of a workload: set w->result and, for ADMISSION_PATCHED, w->patch. */
void admission_pod(struct admission_work *w);
void admission_workload(struct admission_work *w, const char *template_path);

/* Convert the containers of a decoded object, with the values from the object's annotations `notes`. NULL if the
 * annotations are unreadable, since the owner's originals are then unknown. */
struct deploy_container *admission_containers(struct arena *a, const struct container_view *c, int count,
                                              const struct our_annotations *notes);
/* Build the JSON Patch that gives an object the requests of the answer, and halflife's annotations. `before` NULL: the
 * annotations are made from the answer; else they are copied byte by byte from `before`, since another spelling would
 * change the template and cause a rollout. Returns an empty array if nothing changes, NULL on failure. */
json_t *admission_patch(struct admission_work *w, struct text object, const char *template_path,
                        const struct deploy_subject *s, const struct deploy_answer *d,
                        const struct deploy_notes *before);

#endif
