/*
 * Leader election by a Lease, after client-go's rules (15 s lease, renewed each 2 s, given up after 10 s without
 * success): expiry is judged by changes seen on our own clock only. Who holds it may write until lease_holds says no;
 * that turns false before anyone else can take it.
 */
#ifndef HALFLIFE_KUBE_LEASE_H
#define HALFLIFE_KUBE_LEASE_H

#include "kube/client.h"

struct lease_options {
        const char *ns, *name;
        const char *identity; /* unique: host or pod name and a random part */
        void (*gained)(void *arg);
        void (*lost)(void *arg, const struct err *why);    /* at once, before the lease can be another's */
        void (*trouble)(void *arg, const struct err *err); /* a try failed; may be NULL */
        void *arg;
        const char *note; /* an annotation to be kept on it; NULL: none */
        /* Each time the Lease was seen, held by whomever: its UID and what the annotation says (NULL: there is none).
         * Returns what it is to say instead, written with the next renewal of our own; NULL: it may stay. */
        const char *(*noted)(void *arg, const char *uid, const char *note);
};
struct lease;
struct lease *lease_new(struct client *c, const struct lease_options *o);
/* Judged against the clock at each call: asked right before every write. */
bool lease_holds(const struct lease *l);
const char *lease_holder(const struct lease *l); /* who, as last seen; "" unknown */
/* Give it up (holderIdentity "") once work has stopped; done may be NULL. */
void lease_release(struct lease *l, void (*done)(void *arg), void *arg);
void lease_free(struct lease *l);

#endif
