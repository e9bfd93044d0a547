/*
 * Leader election by a Lease, after client-go's rules: 15 s lease, renewed every 2 s, given up after 10 s without
 * success. Expiry is judged by this process's own clock, from when a change of the Lease was seen. The holder may write
 * while lease_holds is true, which ends before another process can take the Lease.
 */
#ifndef HALFLIFE_KUBE_LEASE_H
#define HALFLIFE_KUBE_LEASE_H

#include "kube/client.h"

struct lease_options {
        const char *ns, *name;
        const char *identity; /* unique: host or pod name and a random part */
        void (*gained)(void *arg);
        void (*lost)(void *arg, const struct err *why);    /* called before another process can take the Lease */
        void (*trouble)(void *arg, const struct err *err); /* a request failed; may be NULL */
        void *arg;
        const char *note; /* key of an annotation that the holder keeps on the Lease; NULL: none */
        /* Called each time the Lease was read, even if another process holds it, with its UID and the annotation's
         * value (NULL: absent). Returns the value to write with this process's next renewal, or NULL to leave the
         * annotation. */
        const char *(*noted)(void *arg, const char *uid, const char *note);
};
struct lease;
struct lease *lease_new(struct client *c, const struct lease_options *o);
/* Does this process hold the Lease? Every call reads the clock; ask right before every write. */
bool lease_holds(const struct lease *l);
const char *lease_holder(const struct lease *l); /* the holder's identity as last seen; "" if unknown */
/* Give the Lease up (holderIdentity "") after all work has stopped; done may be NULL. */
void lease_release(struct lease *l, void (*done)(void *arg), void *arg);
void lease_free(struct lease *l);

#endif
