/*
 * The registration of the API group custom.metrics.k8s.io in a cluster. The group's APIServices name the one service
 * that serves it, on behalf of the API server's front proxy. If they name another service, halflife serves nothing. It
 * only reads them: halflife rotate writes their caBundle (serving/certificate_rotator.h).
 */
#ifndef HALFLIFE_CUSTOM_METRICS_API_REGISTRATION_H
#define HALFLIFE_CUSTOM_METRICS_API_REGISTRATION_H

#include "kube/client.h"

struct front_proxy;

/*
 * Does an APIService, as read from the API server, name the Service name in namespace ns? Returns 0 if so.
 * ERR_CONFLICT: it names another, or none; the text says which and what to do. ERR_RETRY: the object is not an
 * APIService.
 */
int api_registration_owner(const json_t *api_service, const char *ns, const char *name, struct err *err);

/* Read the APIServices of both versions, at a start or in a command; the client's loop turns meanwhile. *ret_ours is
 * the number of versions that name this Service. Returns 0, also if nobody has registered the group; ERR_CONFLICT as
 * above; or the client's error. */
int api_registration_check(struct client *c, const char *ns, const char *name, int *ret_ours, struct err *err);

struct api_registration_options {
        const char *ns, *service; /* the Service that the APIServices have to name */
        /* Called when the front proxy's identity changes; the callee owns f. f NULL: trust nobody, and why says why. */
        void (*trust)(void *arg, struct front_proxy *f, const char *why);
        void *arg;
};

/*
 * Once a minute, read the front proxy's identity (ConfigMap extension-apiserver-authentication) and the Services that
 * the APIServices name. Each pass depends only on what it reads.
 */
struct api_registration;
struct api_registration *api_registration_new(struct client *c,
                                              const struct api_registration_options *o); /* strings are the caller's */
void api_registration_free(struct api_registration *a);                                  /* NULL is fine */
void api_registration_look(
        struct api_registration *a); /* start a pass now; a pass in progress starts again. For the timer and tests */

#endif
