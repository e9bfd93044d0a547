#include "check_apis.h"

#include <stdio.h>

#include "base/mem.h"
#include "kube/known_resource.h"
#include "kube/pod_metrics.h"
#include "kube/resource_list.h"

/* Returns 0 if the server has the wanted resources of one API group in this version, else an error. KNOWN_RESOURCES
 * ends `wanted`. */
static int check_served(struct checking *c, const enum known_resource_id *wanted, const char *version, struct err *err)
{
        AUTO(mem_free) char *path = path_of(known_resources[*wanted].group, version, NULL, NULL, NULL, NULL);
        AUTO(json_decref) json_t *list = check_ask(c, HTTP_GET, path, NULL, err);
        for (; list && *wanted != KNOWN_RESOURCES; wanted++)
                if (!resource_list_find(list, known_resources[*wanted].plural, NULL))
                        return err_set(err, ERR_NOTFOUND, "the server has no '%s'", known_resources[*wanted].plural);
        return err->code;
}

/* Print the result of check_served, which is in err. */
static void check_tell_served(struct checking *c, const char *what, const char *way_out, const struct err *err)
{
        char line[ERR_TEXT_MAX + 128];
        if (err->code == 0) {
                check_tell(c, GOOD, what, NULL);
                return;
        }
        snprintf(line, sizeof line, "%s: %s", what, err->text);
        check_tell(c, BAD, line,
                   err->code == ERR_DENIED ? "the server denies access: does the kubeconfig hold credentials of an "
                                             "account of this cluster?"
                                           : way_out);
}

/* Check halflife's CRDs. halflife works with those of the previous halflife, but they lack fields, and the API version
 * that people write. */
static void check_crds(struct checking *c)
{
        static const enum known_resource_id ours[] = {KNOWN_CLUSTERPROFILES, KNOWN_PROFILES, KNOWN_RECOMMENDATIONS,
                                                      KNOWN_RESOURCES};
        struct err err = {0};
        if (check_served(c, ours, OWN_VERSION, &err) == 0 &&
            check_served(c, ours, OWN_PRESENT_VERSION, &err) == ERR_NOTFOUND)
                check_tell(c, DOUBTFUL,
                           "halflife's CRDs are older than this halflife: they lack " OWN_GROUP "/" OWN_PRESENT_VERSION,
                           "kubectl apply -k crds; until then fields that they lack are dropped, and profiles of that "
                           "version refused");
        else
                check_tell_served(c, "halflife's CRDs", "kubectl apply -k manifests, or -f crds", &err);
}

/* Check the metrics API, unless usage comes from Prometheus: then halflife needs no metrics-server. */
static void check_metrics_api(struct checking *c)
{
        if (c->settings.controller.usage_from != USAGE_FROM_METRICS_SERVER)
                return;
        static const enum known_resource_id metrics[] = {KNOWN_POD_METRICS, KNOWN_RESOURCES};
        const char *version = metrics_version_wait(c->session.client);
        char what[64];
        struct err err = {0};
        snprintf(what, sizeof what, "metrics API %s/%s", known_resources[*metrics].group, version);
        (void)check_served(c, metrics, version, &err);
        check_tell_served(c, what, "install metrics-server: without it halflife learns and applies nothing", &err);
}

void check_apis(struct checking *c)
{
        check_crds(c);
        check_metrics_api(c);
}
