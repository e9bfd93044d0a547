/*
 * Makes and renews the serving certificate in its Secret, and writes the roots that verify it into the field caBundle
 * of the MutatingWebhookConfiguration and of the APIServices of custom metrics. The rotator also makes and replaces the
 * path at which the webhooks call admission (src/serving/path_rotation.h). `halflife rotate` runs one rotator for a
 * cluster; every process that serves reads the Secret by serving/certificate_reader.h.
 *
 * The order of changes loses no request. A new root is in every caBundle before the Secret has it, and so before a
 * certificate of that root is shown; an old root is removed only long after. If the Secret was emptied, or its
 * authority is broken, a new authority is made. The root of the last certificate then stays trusted until the next step
 * of rotation.
 *
 * The Secret must exist, because halflife has no permission to create Secrets: the manifests ship an empty one. Once a
 * minute the rotator compares everything anew, and so also repairs what others changed. Writes carry the
 * resourceVersion, so that none overwrites a newer object.
 */
#ifndef HALFLIFE_SERVING_CERTIFICATE_ROTATOR_H
#define HALFLIFE_SERVING_CERTIFICATE_ROTATOR_H

#include "base/clock.h"
#include "kube/client.h"

enum { ROTATOR_API_SERVICES_MAX = 4 };

struct rotator_options {
        bool given; /* another program, such as cert-manager, writes the Secret; only caBundle is written */
        const char *ns, *secret;         /* the Secret, with tls.crt, tls.key, ca.crt and, unless given, ca.key */
        const char *configuration;       /* the MutatingWebhookConfiguration */
        const char *const *api_services; /* names, at most ROTATOR_API_SERVICES_MAX, then NULL */
        const char *services; /* Services in ns that the certificate is for, "halflife,halflife-serve"; objects that
                                 name another Service stay as they are */
};

struct rotator;
/* Strings are borrowed until rotator_free. ERR_INVALID: `services` is not a list of names. The rotator first works at
 * the next turn of the loop. It skips objects that do not exist or that it may not read. */
int rotator_new(struct client *c, const struct rotator_options *o, struct rotator **ret, struct err *err);
void rotator_free(struct rotator *r); /* NULL is fine */
/* Read and compare all objects now, and take `now` for the present time. Nothing is done while that is under way. The
 * timer and tests call it. */
void rotator_look(struct rotator *r, struct wall now);
bool rotator_looks(const struct rotator *r);   /* the rotator works now, or is about to */
bool rotator_settled(const struct rotator *r); /* the last comparison left nothing to do */

#endif
