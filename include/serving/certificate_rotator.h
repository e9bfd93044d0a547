/*
 * Makes and renews the serving certificate in its Secret, and writes the roots that verify it into caBundle: of the
 * MutatingWebhookConfiguration, and of the APIServices of custom metrics. It also makes and replaces the path at which
 * the webhooks call admission (src/serving/path_rotation.h). halflife rotate runs it, once in a cluster;
 * serving/certificate_reader.h is its counterpart in every process that serves.
 *
 * The order of changes loses no request. A new root is in every caBundle before the Secret has it, and so before a
 * certificate of that root is shown; an old root is removed only long after. If the Secret was emptied, or its
 * authority is broken, a new authority is made. The root of the last certificate then stays trusted until the next step
 * of rotation.
 *
 * The Secret must exist, because halflife may not create any: the manifests ship an empty one. A look once a minute
 * compares everything anew, so it also repairs what others changed. Writes carry the resourceVersion.
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
/* Strings are borrowed until rotator_free. ERR_INVALID: services is not a list of names. The first look is at the next
 * turn of the loop. Objects that are missing or may not be read are skipped. */
int rotator_new(struct client *c, const struct rotator_options *o, struct rotator **ret, struct err *err);
void rotator_free(struct rotator *r); /* NULL is fine */
/* Look now, with this time as the present; does nothing while a look is under way. The timer and tests call it. */
void rotator_look(struct rotator *r, struct wall now);
bool rotator_looks(const struct rotator *r);   /* a look is under way or due at once */
bool rotator_settled(const struct rotator *r); /* the last look ended, and left nothing to be done */

#endif
