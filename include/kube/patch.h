/*
 * The one write path for every workload kind: JSON Patch that tests what was read (objects/patch.h builds it), and
 * server-side apply for what is ours.
 */
#ifndef HALFLIFE_KUBE_PATCH_H
#define HALFLIFE_KUBE_PATCH_H

#include "kube/client.h"
#include "objects/patch.h"

/* Send it (it stays the caller's) with the field manager of the client; the answer's body is the object as the server
 * took it (admission may have changed it). */
struct client_call *patch_send(struct client *c, const char *path, json_t *patch, bool dry_run, client_done *done,
                               void *arg);

/* Server-side apply with force; body (the caller's) has apiVersion, kind and metadata.name. path: of the object, or of
 * its "/status". */
struct client_call *apply_send(struct client *c, const char *path, json_t *body, client_done *done, void *arg);

#endif
