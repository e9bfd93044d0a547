/*
 * The certificate that the API server meets us with: kept in a Secret that all replicas share, shown at our door, and
 * vouched for in the MutatingWebhookConfiguration, in an order that loses no request: who is to be trusted is written
 * there before what it signed is shown, and taken away only long after.
 *
 * A certificate whose root is new to those who trust us (the Secret was lost, or its authority broken) is shown only
 * WEBHOOK_SPREAD_MS after that root was written beside the old one: by then every replica and every API server has read
 * it. One that is not trusted, or there is none, is replaced at once.
 *
 * Looks once a minute, and is level-triggered: whatever was changed by others meanwhile is put right by the next look.
 * Writes are optimistic (resourceVersion), so of replicas that race one wins and the others read what he wrote.
 */
#ifndef HALFLIFE_SERVING_WEBHOOK_CERTIFICATE_H
#define HALFLIFE_SERVING_WEBHOOK_CERTIFICATE_H

#include "base/clock.h"
#include "kube/client.h"

enum { WEBHOOK_LOOK_MS = MINUTE_MS, WEBHOOK_SPREAD_MS = WEBHOOK_LOOK_MS + 15 * SECOND_MS };

struct webhook_options {
        bool given;              /* the Secret is somebody else's (cert-manager's): it is read, never written */
        const char *ns, *secret; /* the Secret: tls.crt, tls.key, ca.crt, and, where it is ours, ca.key */
        const char
                *configuration; /* MutatingWebhookConfiguration; where there is none, or it may not be read: so be it */
        const char *services;   /* names in ns, "halflife,halflife-serve": whom the certificate is for */
        /* A pair to show from now on. ERR_INVALID: it cannot be used. */
        int (*show)(void *arg, const char *cert_pem, const char *key_pem, struct err *err);
        void (*trust)(void *arg, const char *roots_pem); /* who vouches for every replica from now on; may be NULL */
        void *arg;
};

struct webhook;
/* Strings are the caller's. ERR_INVALID: services. Looks from the next turn of the loop on. */
int webhook_new(struct client *c, const struct webhook_options *o, struct webhook **ret, struct err *err);
void webhook_free(struct webhook *w); /* NULL is fine */
/* Look now, at this time; one that is under way is waited for. Its timer calls it, and tests do. */
void webhook_look(struct webhook *w, struct wall now);
bool webhook_looks(const struct webhook *w);        /* one is under way, or at once */
int64_t webhook_expires_s(const struct webhook *w); /* of what is shown, since 1970; 0: nothing is yet */

#endif
