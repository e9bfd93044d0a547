/* What the API server fills in for built-in kinds, as far as somebody looks at it. */
#include <string.h>

#include "core/quantity.h"
#include "fake.h"

static void fill(json_t *o, const char *name, json_t *value)
{
        if (json_object_get(o, name))
                json_decref(value);
        else
                json_object_set_new(o, name, value);
}

/* Resources are stored as canonical text. */
static void canonical_list(json_t *list)
{
        const char *name;
        json_t *v;
        json_object_foreach(list, name, v)
        {
                char out[QUANTITY_TEXT_MAX];
                AUTO(mem_free)
                char *number = json_is_integer(v) ? mem_printf("%" JSON_INTEGER_FORMAT, json_integer_value(v)) : NULL;
                const char *s = number ? number : json_string_value(v);
                if (s && quantity_canonical(s, strlen(s), out) == 0)
                        json_object_set_new(list, name, json_string(out));
        }
}

static void fill_container(json_t *c, bool pod)
{
        fill(c, "terminationMessagePath", json_string("/dev/termination-log"));
        fill(c, "terminationMessagePolicy", json_string("File"));
        fill(c, "imagePullPolicy", json_string("IfNotPresent"));
        fill(c, "resources", json_object());
        json_t *r = json_object_get(c, "resources"), *limits = json_object_get(r, "limits"), *v;
        const char *name;
        canonical_list(limits);
        canonical_list(json_object_get(r, "requests"));
        if (!pod || !limits)
                return;
        fill(r, "requests", json_object());
        json_object_foreach(limits, name, v) fill(json_object_get(r, "requests"), name, json_incref(v));
}

static void fill_pod_spec(json_t *spec, bool pod)
{
        static const char *const lists[] = {"containers", "initContainers"};
        size_t i;
        json_t *c;
        if (!json_is_object(spec))
                return;
        fill(spec, "restartPolicy", json_string("Always"));
        fill(spec, "terminationGracePeriodSeconds", json_integer(30));
        fill(spec, "dnsPolicy", json_string("ClusterFirst"));
        fill(spec, "schedulerName", json_string("default-scheduler"));
        fill(spec, "securityContext", json_object());
        for (size_t list = 0; list < 2; list++)
                json_array_foreach(json_object_get(spec, lists[list]), i, c) fill_container(c, pod);
}

static void fill_deployment(json_t *spec)
{
        fill(spec, "replicas", json_integer(1));
        fill(spec, "revisionHistoryLimit", json_integer(10));
        fill(spec, "progressDeadlineSeconds", json_integer(600));
        fill(spec, "strategy", json_object());
        json_t *strategy = json_object_get(spec, "strategy");
        fill(strategy, "type", json_string("RollingUpdate"));
        if (strcmp(text_at(strategy, "type"), "RollingUpdate") == 0)
                fill(strategy, "rollingUpdate", json_pack("{s:s, s:s}", "maxUnavailable", "25%", "maxSurge", "25%"));
}

static void fill_update_strategy(json_t *spec, const char *rolling, json_t *value)
{
        fill(spec, "revisionHistoryLimit", json_integer(10));
        fill(spec, "updateStrategy", json_object());
        json_t *strategy = json_object_get(spec, "updateStrategy");
        fill(strategy, "type", json_string("RollingUpdate"));
        if (strcmp(text_at(strategy, "type"), "RollingUpdate") != 0) {
                json_decref(value);
                return;
        }
        fill(strategy, "rollingUpdate", json_object());
        fill(json_object_get(strategy, "rollingUpdate"), rolling, value);
}

static void fill_workload(const struct kind *k, json_t *spec)
{
        if (strcmp(k->name, "Deployment") == 0)
                fill_deployment(spec);
        else if (strcmp(k->name, "StatefulSet") == 0 || strcmp(k->name, "ReplicaSet") == 0)
                fill(spec, "replicas", json_integer(1));
        if (strcmp(k->name, "StatefulSet") == 0) {
                fill(spec, "podManagementPolicy", json_string("OrderedReady"));
                fill_update_strategy(spec, "partition", json_integer(0));
        }
        if (strcmp(k->name, "DaemonSet") == 0)
                fill_update_strategy(spec, "maxUnavailable", json_integer(1));
        if (strcmp(k->name, "CronJob") == 0) {
                fill(spec, "suspend", json_false());
                fill(spec, "concurrencyPolicy", json_string("Allow"));
        }
        if (strcmp(k->name, "HorizontalPodAutoscaler") == 0)
                fill(spec, "minReplicas", json_integer(1));
}

static void fill_limit_range(json_t *spec)
{
        static const char *const lists[] = {"default", "defaultRequest", "min", "max", "maxLimitRequestRatio"};
        size_t i;
        json_t *limit;
        json_array_foreach(json_object_get(spec, "limits"), i, limit) for (size_t n = 0;
                                                                           n < sizeof lists / sizeof *lists; n++)
                canonical_list(json_object_get(limit, lists[n]));
}

void defaults_set(const struct kind *k, json_t *object)
{
        json_t *spec = json_object_get(object, "spec"), *meta = json_object_get(object, "metadata");
        if (k->custom) {
                schema_default(k->schema, object);
                return;
        }
        if (strcmp(k->name, "Namespace") == 0) {
                fill(meta, "labels", json_object());
                json_object_set_new(json_object_get(meta, "labels"), "kubernetes.io/metadata.name",
                                    json_string(object_name(object)));
                fill(object, "status", json_pack("{s:s}", "phase", "Active"));
        }
        if (!json_is_object(spec))
                return;
        fill_workload(k, spec);
        if (strcmp(k->name, "Pod") == 0)
                fill_pod_spec(spec, true);
        if (strcmp(k->name, "LimitRange") == 0)
                fill_limit_range(spec);
        fill_pod_spec(json_at(spec, "template.spec"), false);
        fill_pod_spec(json_at(spec, "jobTemplate.spec.template.spec"), false);
}
