/*
 * What has to change in an object that names halflife's Service, as a JSON patch: the caBundle by which the API server
 * verifies halflife, in a MutatingWebhookConfiguration or an APIService, and the path at which webhooks call admission.
 * Pure functions; certificate_rotator.c sends the patch.
 */
#ifndef HALFLIFE_SRC_SERVING_CA_BUNDLE_PATCH_H
#define HALFLIFE_SRC_SERVING_CA_BUNDLE_PATCH_H

#include <jansson.h>
#include <stdbool.h>

/* All pointers are borrowed. */
struct ca_bundle_facts {
        const char *ns;
        char *const *name; /* DNS names of the Services, "SERVICE.NAMESPACE.svc" */
        int names;
        const char *roots; /* PEM */
        bool given; /* Another program, such as cert-manager, writes the Secret. The former root then stays beside the
                       new one, and the path is the well-known one, because replicas know no other. */
        const char *path; /* path of admission without its slash; NULL: leave the path as it is. Unused if `given`. */
};

/* Add to `patch` what has to change in each webhook that calls a Service in f. If *in_force is NULL, *in_force is set
 * to the path of the first of these webhooks, or "" if that has no path; the caller owns this text. */
void ca_bundle_add_to_webhooks(const struct ca_bundle_facts *f, json_t *patch, const json_t *configuration,
                               char **in_force);
/* Add to `patch` the caBundle of an APIService. One that skips verification of TLS gets no caBundle, because the API
 * server refuses both together. */
void ca_bundle_add_to_api_service(const struct ca_bundle_facts *f, json_t *patch, const json_t *object);

#endif
