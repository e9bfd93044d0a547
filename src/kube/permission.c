#include "kube/permission.h"

#define CAN(verb) (1u << VERB_##verb)
#define NEED(resource, sub, can, for_use, reason, ...)                                                                 \
        {                                                                                                              \
                .of = KNOWN_##resource, .subresource = sub, .verbs = can, .use = PERMISSION_##for_use, .why = reason,  \
                __VA_ARGS__                                                                                            \
        }
#define READ(resource) NEED(resource, NULL, CAN(LIST) | CAN(WATCH), ALWAYS, "reading")

const char *const permission_verb_name[PERMISSION_VERBS] = {
        [VERB_GET] = "get",       [VERB_LIST] = "list",   [VERB_WATCH] = "watch",   [VERB_CREATE] = "create",
        [VERB_UPDATE] = "update", [VERB_PATCH] = "patch", [VERB_DELETE] = "delete",
};

/* clang-format off */
const struct permission permissions[] = {
        READ(NAMESPACES),
        READ(PODS),
        READ(LIMITRANGES),
        READ(RESOURCEQUOTAS),
        READ(EVENTS),
        NEED(NODES, NULL, CAN(GET) | CAN(LIST) | CAN(WATCH), ALWAYS, "reading"),
        READ(HPAS),
        READ(VPAS),
        READ(SCALEDOBJECTS),
        READ(DEPLOYMENTS),
        READ(STATEFULSETS),
        READ(DAEMONSETS),
        READ(REPLICASETS),
        READ(CRONJOBS),
        READ(JOBS),
        READ(CLUSTERPROFILES),
        READ(PROFILES),
        READ(RECOMMENDATIONS),
        NEED(POD_METRICS, NULL, CAN(LIST), ALWAYS, "reading usage"),
        NEED(NODE_METRICS, NULL, CAN(LIST), ALWAYS, "reading the usage of nodes"),
        NEED(RECOMMENDATIONS, NULL, CAN(CREATE) | CAN(PATCH) | CAN(DELETE), ALWAYS, "publishing"),
        NEED(RECOMMENDATIONS, "status", CAN(PATCH), ALWAYS, "publishing"),
        NEED(CLUSTERPROFILES, "status", CAN(PATCH), ALWAYS, "publishing the status of profiles"),
        NEED(PROFILES, "status", CAN(PATCH), ALWAYS, "publishing the status of profiles"),
        NEED(NEW_EVENTS, NULL, CAN(CREATE) | CAN(PATCH), ALWAYS, "Events"),
        NEED(LEASES, NULL, CAN(GET) | CAN(CREATE) | CAN(UPDATE), ALWAYS, "leader election", .own_ns = true),

        NEED(REPLICASETS, NULL, CAN(GET), TO_SERVE, "serve-listen: owner lookup"),
        NEED(JOBS, NULL, CAN(GET), TO_SERVE, "serve-listen: owner lookup"),
        NEED(TOKENREVIEWS, NULL, CAN(CREATE), TO_SERVE, "serve-listen: checks of tokens"),
        NEED(SUBJECTACCESSREVIEWS, NULL, CAN(CREATE), TO_SERVE, "serve-listen: checks of callers' permissions"),

        NEED(DEPLOYMENTS, NULL, CAN(GET) | CAN(PATCH), TO_WRITE, "apply.mode Rollout"),
        NEED(STATEFULSETS, NULL, CAN(GET) | CAN(PATCH), TO_WRITE, "apply.mode Rollout"),
        NEED(DAEMONSETS, NULL, CAN(GET) | CAN(PATCH), TO_WRITE, "apply.mode Rollout"),
        NEED(CRONJOBS, NULL, CAN(GET) | CAN(PATCH), TO_WRITE, "apply.mode Rollout"),

        NEED(HPAS, NULL, CAN(GET) | CAN(PATCH), TO_RETUNE, "apply.hpa Retune"),
        NEED(SCALEDOBJECTS, NULL, CAN(GET) | CAN(PATCH), TO_RETUNE, "apply.hpa Retune"),

        NEED(PODS, NULL, CAN(GET) | CAN(PATCH), TO_RESIZE, "apply.mode InPlace"),
        NEED(PODS, "resize", CAN(PATCH), TO_RESIZE, "apply.mode InPlace"),

        NEED(CONFIGMAPS, NULL, CAN(GET), CUSTOM_METRICS, "custom metrics", .ns = "kube-system",
         .name = "extension-apiserver-authentication"),
        NEED(APISERVICES, NULL, CAN(GET), CUSTOM_METRICS, "custom metrics", .name = "v1beta1.custom.metrics.k8s.io"),
        NEED(APISERVICES, NULL, CAN(GET), CUSTOM_METRICS, "custom metrics", .name = "v1beta2.custom.metrics.k8s.io"),

        NEED(SECRETS, NULL, CAN(GET), CERTIFICATE, "the TLS certificate", .own_ns = true),
        NEED(SECRETS, NULL, CAN(GET) | CAN(UPDATE), ROTATE, "the TLS certificate", .own_ns = true),
        NEED(WEBHOOK_CONFIGURATIONS, NULL, CAN(GET) | CAN(PATCH), ROTATE_WEBHOOKS, "the caBundle of admission",
         .name = "halflife"),
        NEED(APISERVICES, NULL, CAN(GET) | CAN(PATCH), ROTATE_API_SERVICES, "the caBundle of custom metrics",
         .name = "v1beta1.custom.metrics.k8s.io"),
        NEED(APISERVICES, NULL, CAN(GET) | CAN(PATCH), ROTATE_API_SERVICES, "the caBundle of custom metrics",
         .name = "v1beta2.custom.metrics.k8s.io"),

        NEED(RECOMMENDATIONS, NULL, CAN(GET), UNCHECKED, NULL),
        NEED(SELFSUBJECTACCESSREVIEWS, NULL, CAN(CREATE), UNCHECKED, NULL),
};
/* clang-format on */
const size_t permissions_count = sizeof permissions / sizeof permissions[0];

const struct permission *permission_next(unsigned uses, size_t *at, enum permission_verb *ret_verb)
{
        while (*at < permissions_count * PERMISSION_VERBS) {
                const struct permission *p = &permissions[*at / PERMISSION_VERBS];
                *ret_verb = (enum permission_verb)(*at % PERMISSION_VERBS);
                ++*at;
                if (uses >> p->use & 1 && p->verbs >> *ret_verb & 1)
                        return p;
        }
        return NULL;
}
