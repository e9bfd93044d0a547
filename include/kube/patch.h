/*
 * The one write path for every workload kind: JSON Patch that tests what was read, and server-side apply for what is
 * ours.
 */
#ifndef HALFLIFE_KUBE_PATCH_H
#define HALFLIFE_KUBE_PATCH_H

#include <jansson.h>

#include "doc/decode.h"
#include "kube/client.h"

/* What to set on one container of a template. */
struct patch_container {
        const char *name;
        bool write[RESOURCES];
        struct amount to[RESOURCES]; /* not set: the request is removed (put back to absent) */
};

struct patch_resources {
        const char *path;          /* of the object */
        const char *template_path; /* "/spec/template" */
        const char *object;  /* its JSON as read just before (fresh GET): indices, parents and tests come from it */
        const char *version; /* resourceVersion read: the patch tests it */
        const struct patch_container *container;
        int containers;
        /* annotations of the template, with a copy on the workload: text to set, NULL to remove; written only where a
         * request changes */
        const char *original, *applied;
};

/*
 * Build the JSON Patch. Every parent is added exactly when absent; each container is tested by name; limits never
 * appear. Returns the array (the caller's reference), or NULL with err: ERR_STALE (the object is not what was decided
 * on: a container is gone), ERR_INVALID (would write a request above its limit: our bug), or an empty array when
 * nothing would change.
 */
json_t *patch_build(const struct patch_resources *p, struct err *err);

/* Send it (it stays the caller's) with the field manager of the client; the answer's body is the object as the server
 * took it (admission may have changed it). */
struct client_call *patch_send(struct client *c, const char *path, json_t *patch, bool dry_run, client_done *done,
                               void *arg);

/* Server-side apply with force; body (the caller's) has apiVersion, kind and metadata.name. path: of the object, or of
 * its "/status". */
struct client_call *apply_send(struct client *c, const char *path, json_t *body, client_done *done, void *arg);

#endif
