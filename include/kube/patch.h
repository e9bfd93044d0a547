/*
 * Writes to objects of any kind: JSON Patch with tests of the values that were read (objects/patch.h builds it), and
 * server-side apply for halflife's own objects and fields.
 */
#ifndef HALFLIFE_KUBE_PATCH_H
#define HALFLIFE_KUBE_PATCH_H

#include "kube/client.h"
#include "objects/patch.h"

/* Send a patch with the client's field manager; `patch` stays the caller's. The answer's body is the object as stored,
 * after admission. */
struct client_call *patch_send(struct client *c, const char *path, json_t *patch, bool dry_run, client_done *done,
                               void *arg);

/* If err is the refusal of a patch by halflife's own policy (manifests/base/policy.yaml): the policy's reason, a part
 * of err's text. NULL: err is another error. */
const char *patch_refused_by_policy(const struct err *err);

/* Whether an answer refuses a patch by the API server's own validation, or by its check of what the pod's node can do:
 * the server would refuse the same patch again. A quota, a policy or a webhook may decide otherwise later, so false for
 * their refusals. */
bool patch_is_invalid(int status, struct text body);

/* Send a server-side apply with force. `body` stays the caller's, and has apiVersion, kind and metadata.name. `path` is
 * that of the object, or of its subresource "/status". */
struct client_call *apply_send(struct client *c, const char *path, json_t *body, client_done *done, void *arg);
struct client_call *apply_send_text(struct client *c, const char *path, struct text body, client_done *done, void *arg);

#endif
