/*
 * The registration of the API group custom.metrics.k8s.io in a cluster. The group's APIServices name the one Service to
 * which the API server's front proxy sends requests for the group. If they name another Service than halflife's,
 * halflife serves no custom metrics. This module only reads the APIServices; `halflife rotate` writes their caBundle
 * (serving/certificate_rotator.h).
 */
#ifndef HALFLIFE_CUSTOM_METRICS_API_REGISTRATION_H
#define HALFLIFE_CUSTOM_METRICS_API_REGISTRATION_H

#include "kube/client.h"

struct front_proxy;

/*
 * Whether an APIService, as read from the API server, names the Service `name` in namespace `ns`. Returns 0 if so.
 * ERR_CONFLICT: the APIService names another Service, or none; the message says which one and what to do. ERR_RETRY:
 * the object is not an APIService.
 */
int api_registration_owner(const json_t *api_service, const char *ns, const char *name, struct err *err);

/* Read the group's APIServices of both versions; the call runs the client's loop until that is done. *ret_ours is the
 * number of versions whose APIService names this Service. Returns 0, also if nobody has registered the group;
 * ERR_CONFLICT as above; or the client's error. */
int api_registration_check(struct client *c, const char *ns, const char *name, int *ret_ours, struct err *err);

struct api_registration_options {
        const char *ns, *service; /* the Service that the APIServices have to name */
        /* Called when the front proxy's identity changes; the callee takes ownership of f. f NULL: trust nobody, for
         * the reason `why`. */
        void (*trust)(void *arg, struct front_proxy *f, const char *why);
        void *arg;
};

/*
 * Once a minute, read the front proxy's identity (ConfigMap extension-apiserver-authentication), then the
 * APIServices, to see whether they name another Service. A pass that cannot read changes nothing, and is repeated soon.
 */
struct api_registration;
/* The caller keeps the strings of *o alive until api_registration_free. */
struct api_registration *api_registration_new(struct client *c, const struct api_registration_options *o);
void api_registration_free(struct api_registration *a); /* NULL is fine */
/* Start a pass now, or anew if one is in progress. The timer and tests call it. */
void api_registration_look(struct api_registration *a);

#endif
