/*
 * The two subjects of admission: each decides what is to be set, admission.c writes the response.
 */
#ifndef HALFLIFE_DEPLOY_ADMISSION_PRIVATE_H
#define HALFLIFE_DEPLOY_ADMISSION_PRIVATE_H

#include <jansson.h>

#include "deploy/admission.h"
#include "deploy/deploy.h"
#include "objects/patch.h"

struct admission_work {
        const struct admission *request;
        const struct snapshot *view;
        const struct admission_owner *owner;
        struct arena *arena;
        enum admission_result result;
        json_t *patch; /* NULL: none */
};

/* Each sets the result and, where it is ADMISSION_PATCHED, the patch. */
void admission_pod(struct admission_work *w);
void admission_workload(struct admission_work *w, const char *template_path);

/* Containers of a decoded object as a deploy's subjects, with what its annotations record; NULL where that cannot be
 * read: nobody knows then what the owner asked for. */
struct deploy_container *admission_containers(struct arena *a, const struct container_view *c, int count,
                                              const struct our_annotations *notes);
/* The patch that gives an object what was answered, with its annotations afresh or, letter by letter, as before
 * (another spelling would be another template); an empty array where it has that already, NULL on failure. */
json_t *admission_patch(struct admission_work *w, struct text object, const char *template_path,
                        const struct deploy_subject *s, const struct deploy_answer *d,
                        const struct deploy_notes *before);

#endif
