/*
 * Finds a Prometheus among the cluster's services by its well-known name, and asks it through the API server's service
 * proxy, with the credentials for the API server.
 */
#ifndef HALFLIFE_SCAN_PROMETHEUS_SERVICE_H
#define HALFLIFE_SCAN_PROMETHEUS_SERVICE_H

#include "kube/client.h"
#include "prometheus/prometheus.h"

struct prometheus_service {
        char *ns, *name;
        char *prefix; /* prefix of Prometheus' paths at the API server: "/api/v1/namespaces/…/services/…/proxy" */
        char *url;    /* `prefix` behind the API server's address, for messages */
        const char *product; /* what the name belongs to: "Prometheus operator", "Thanos query", … */
        size_t others;       /* number of other services with a well-known name */
        struct prometheus_via via;
};

/*
 * Look through the services of the cluster. If the credentials may not list them all, look through namespace ns (NULL:
 * none) and the namespaces where monitoring usually runs. Of several services, the name that comes first in the table
 * of names wins, then the first by namespace and name. access stays the caller's and must outlive *ret. Returns 0;
 * ERR_NOTFOUND if no service has a well-known name; or the error. The caller releases *ret.
 */
int prometheus_service_find(struct client *c, struct access *access, const char *ns, struct prometheus_service *ret,
                            struct err *err);
void prometheus_service_release(struct prometheus_service *s);

#endif
