/*
 * The API group custom.metrics.k8s.io in a cluster: it belongs to one service, by its APIServices, and is served for
 * the API server's front proxy. Where another service has it, halflife keeps out: nothing is served and nothing
 * written.
 */
#ifndef HALFLIFE_CUSTOM_METRICS_API_REGISTRATION_H
#define HALFLIFE_CUSTOM_METRICS_API_REGISTRATION_H

#include "kube/client.h"

struct front_proxy;

/*
 * Does an APIService, as the API server has it, lead to the Service name in namespace ns? 0, or ERR_CONFLICT: to
 * another, which the text names with the way out; ERR_RETRY: it is no APIService.
 */
int api_registration_owner(const json_t *api_service, const char *ns, const char *name, struct err *err);

/* For a start, and for commands: ask for both versions, and turn the client's loop meanwhile. 0 also where nobody has
 * the group; *ret_ours counts the versions that lead to us. ERR_CONFLICT as above; else what the client says. */
int api_registration_check(struct client *c, const char *ns, const char *name, int *ret_ours, struct err *err);

struct api_registration_options {
        const char *ns, *service; /* whom the APIServices have to name */
        /* Who the front proxy is from now on, to be taken over; NULL: nobody, because of why. Told when it changes. */
        void (*trust)(void *arg, struct front_proxy *f, const char *why);
        void *arg;
};

/*
 * Looks once a minute, level-triggered: reads who the front proxy is (ConfigMap extension-apiserver-authentication) and
 * whose the APIServices are, and writes who vouches for our certificate into those that are ours.
 */
struct api_registration;
struct api_registration *api_registration_new(struct client *c,
                                              const struct api_registration_options *o); /* strings are the caller's */
void api_registration_free(struct api_registration *a);                                  /* NULL is fine */
void api_registration_look(
        struct api_registration *a); /* now; one that is under way begins afresh. Its timer calls it, and tests do */
/* Who vouches for our certificate (PEM, copied): looks at once. Never called: caBundle is left as it is. */
void api_registration_vouched_by(struct api_registration *a, const char *roots_pem);

#endif
