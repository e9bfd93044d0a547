#include "custom_metrics/custom_metrics.h"

#include <jansson.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "core/quantity.h"
#include "core/utilization_basis.h"
#include "objects/label_selector.h"

enum { PARTS = 8, SELECTOR_MAX = 8 << 10 };

/* --- answers --- */

static void custom_metrics_say(unsigned status, json_t *object, struct custom_answer *ret)
{
        ret->status = status;
        ret->body = json_dumps(object, JSON_COMPACT);
        ret->len = strlen(ret->body);
        json_decref(object);
}

static const char *custom_metrics_reason_of(unsigned status)
{
        static const struct {
                unsigned status;
                const char *reason;
        } row[] = {
                {MHD_HTTP_BAD_REQUEST, "BadRequest"},
                {MHD_HTTP_UNAUTHORIZED, "Unauthorized"},
                {MHD_HTTP_FORBIDDEN, "Forbidden"},
                {MHD_HTTP_NOT_FOUND, "NotFound"},
                {MHD_HTTP_METHOD_NOT_ALLOWED, "MethodNotAllowed"},
                {MHD_HTTP_SERVICE_UNAVAILABLE, "ServiceUnavailable"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if (row[i].status == status)
                        return row[i].reason;
        return "Unknown";
}

void custom_metrics_refuse(unsigned status, const char *text, struct custom_answer *ret)
{
        enum { TEXT_MOST = 1024 };
        char cut[TEXT_MOST];
        snprintf(cut, sizeof cut, "%s", text);
        json_t *message = json_string(cut); /* NULL if `text` quotes bytes of a request that are not UTF-8 */
        custom_metrics_say(status,
                           json_pack("{s:s, s:s, s:{}, s:s, s:o, s:s, s:i}", "kind", "Status", "apiVersion", "v1",
                                     "metadata", "status", "Failure", "message",
                                     message ? message : json_string("the request cannot be read"), "reason",
                                     custom_metrics_reason_of(status), "code", (int)status),
                           ret);
}

/* --- discovery --- */

static json_t *version_row(const char *version)
{
        return json_pack("{s:s+, s:s}", "groupVersion", CUSTOM_METRICS_GROUP "/", version, "version", version);
}

static json_t *group_row(void)
{
        return json_pack("{s:s, s:[o, o], s:o}", "name", CUSTOM_METRICS_GROUP, "versions",
                         version_row(CUSTOM_METRICS_V2), version_row(CUSTOM_METRICS_V1), "preferredVersion",
                         version_row(CUSTOM_METRICS_V2));
}

static void say_groups(struct custom_answer *ret)
{
        custom_metrics_say(
                MHD_HTTP_OK,
                json_pack("{s:s, s:s, s:[o]}", "kind", "APIGroupList", "apiVersion", "v1", "groups", group_row()), ret);
}

static void say_group(struct custom_answer *ret)
{
        json_t *group = group_row();
        json_object_set_new(group, "kind", json_string("APIGroup"));
        json_object_set_new(group, "apiVersion", json_string("v1"));
        custom_metrics_say(MHD_HTTP_OK, group, ret);
}

static void say_resources(const char *version, struct custom_answer *ret)
{
        json_t *rows = json_array();
        for (enum resource r = CPU; r < RESOURCES; r++)
                json_array_append_new(rows, json_pack("{s:s+, s:s, s:b, s:s, s:[s]}", "name", "pods/",
                                                      custom_metric_name(r), "singularName", "", "namespaced", 1,
                                                      "kind", "MetricValueList", "verbs", "get"));
        custom_metrics_say(MHD_HTTP_OK,
                           json_pack("{s:s, s:s, s:s+, s:o}", "kind", "APIResourceList", "apiVersion", "v1",
                                     "groupVersion", CUSTOM_METRICS_GROUP "/", version, "resources", rows),
                           ret);
}

/* --- values --- */

struct asked {
        const char *version, *ns, *name, *metric;
        enum resource resource;
        const struct selector *labels; /* NULL: all pods */
        bool none;                     /* metricLabelSelector requires a label, so nothing matches */
        bool all;                      /* select pods by labels, not one pod by name */
};

static json_t *custom_metrics_value_of(const struct asked *q, const struct snapshot_pod *p)
{
        char at[WALL_TEXT_MAX], quantity[QUANTITY_TEXT_MAX];
        json_t *item =
                json_pack("{s:{s:s, s:s, s:s, s:s}, s:s, s:s}", "describedObject", "kind", "Pod", "namespace", p->ns,
                          "name", p->name, "apiVersion", "v1", "timestamp", wall_print((struct wall){p->at_ms}, at),
                          "value", quantity_print_cpu(p->utilization[q->resource], quantity));
        if (strcmp(q->version, CUSTOM_METRICS_V1) == 0)
                json_object_set_new(item, "metricName", json_string(q->metric));
        else
                json_object_set_new(item, "metric", json_pack("{s:s}", "name", q->metric));
        return item;
}

static bool is_asked(const struct asked *q, const struct snapshot_pod *p)
{
        struct label_pair label[VIEW_LABELS_MAX];
        if (q->none || p->utilization[q->resource] < 0)
                return false;
        if (!q->all)
                return strcmp(p->name, q->name) == 0;
        size_t labels = snapshot_unpack_labels(p->labels, p->labels_size, label, VIEW_LABELS_MAX);
        return selector_match(q->labels, label, labels);
}

/* The index of a namespace's first pod, by binary search: the snapshot's pods are sorted by namespace. */
static size_t pods_from(const struct snapshot *v, const char *ns)
{
        size_t low = 0, high = v->pods;
        while (low < high) {
                size_t mid = low + (high - low) / 2;
                if (strcmp(v->pod[mid].ns, ns) < 0)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

static void say_values(const struct asked *q, const struct snapshot *v, struct custom_answer *ret)
{
        json_t *items = json_array();
        for (size_t i = pods_from(v, q->ns); i < v->pods && strcmp(v->pod[i].ns, q->ns) == 0; i++)
                if (is_asked(q, &v->pod[i]))
                        json_array_append_new(items, custom_metrics_value_of(q, &v->pod[i]));
        if (!q->all && json_array_size(items) == 0) {
                char text[512];
                snprintf(
                        text, sizeof text,
                        "there is no %s for pod '%.253s' in namespace '%.63s': is apply.hpa of its profile LimitBasis, "
                        "does each container have a limit, and was the pod sampled recently?",
                        q->metric, q->name, q->ns);
                json_decref(items);
                custom_metrics_refuse(MHD_HTTP_NOT_FOUND, text, ret);
                return;
        }
        custom_metrics_say(MHD_HTTP_OK,
                           json_pack("{s:s, s:s+, s:{}, s:o}", "kind", "MetricValueList", "apiVersion",
                                     CUSTOM_METRICS_GROUP "/", q->version, "metadata", "items", items),
                           ret);
}

/* Read both selectors into *q. ERR_INVALID: a selector is too long or cannot be parsed; the message says why. */
static int read_selectors(const struct custom_request *r, struct arena *a, struct asked *q, struct err *err)
{
        struct selector *labels = NULL, *own = NULL;
        const char *of_pods = r->label_selector ? r->label_selector : "";
        const char *of_metric = r->metric_selector ? r->metric_selector : "";
        if (strlen(of_pods) > SELECTOR_MAX || strlen(of_metric) > SELECTOR_MAX)
                return err_set(err, ERR_INVALID, "a selector has more than %d bytes", SELECTOR_MAX);
        if (selector_parse(text_of(of_pods), a, &labels, err) < 0)
                return err_wrap(err, "labelSelector");
        if (selector_parse(text_of(of_metric), a, &own, err) < 0)
                return err_wrap(err, "metricLabelSelector");
        q->labels = labels;
        q->none = !selector_match(own, NULL, 0);
        return 0;
}

static void answer_values(const struct custom_request *r, struct asked *q, const struct snapshot *v,
                          struct custom_answer *ret)
{
        struct arena a = {0};
        struct err err = {0};
        while (q->resource < RESOURCES && strcmp(custom_metric_name(q->resource), q->metric) != 0)
                q->resource++;
        q->all = strcmp(q->name, "*") == 0;
        if (q->resource == RESOURCES)
                custom_metrics_refuse(MHD_HTTP_NOT_FOUND,
                                      "there is no such metric for pods; there are halflife_pod_cpu_utilization and "
                                      "halflife_pod_memory_utilization",
                                      ret);
        else if (!v->ready)
                custom_metrics_refuse(MHD_HTTP_SERVICE_UNAVAILABLE, "the first cycle is not over yet: try again", ret);
        else if (read_selectors(r, &a, q, &err) < 0)
                custom_metrics_refuse(MHD_HTTP_BAD_REQUEST, err.text, ret);
        else
                say_values(q, v, ret);
        arena_release(&a);
}

/* --- the path --- */

/* Split a path such as "/a/b/c" in place. Returns the number of parts, or PARTS + 1 if there are more than any path of
 * this API has. */
static int custom_metrics_split(char *buf, char *part[static PARTS])
{
        int count = 0;
        char *rest, *p = strtok_r(buf, "/", &rest);
        for (; p && count < PARTS; p = strtok_r(NULL, "/", &rest))
                part[count++] = p;
        return p ? PARTS + 1 : count;
}

static void answer_parts(const struct custom_request *r, char *const part[static PARTS], int parts,
                         const struct snapshot *v, struct custom_answer *ret)
{
        enum { APIS, GROUP, VERSION, NAMESPACES, NS, RESOURCE, NAME, METRIC };
        bool ours = parts >= 1 && strcmp(part[APIS], "apis") == 0 &&
                    (parts <= GROUP || strcmp(part[GROUP], CUSTOM_METRICS_GROUP) == 0) &&
                    (parts <= VERSION || strcmp(part[VERSION], CUSTOM_METRICS_V1) == 0 ||
                     strcmp(part[VERSION], CUSTOM_METRICS_V2) == 0);
        if (ours && parts == GROUP)
                say_groups(ret);
        else if (ours && parts == VERSION)
                say_group(ret);
        else if (ours && parts == NAMESPACES)
                say_resources(part[VERSION], ret);
        else if (ours && parts == PARTS && strcmp(part[NAMESPACES], "namespaces") == 0 &&
                 strcmp(part[RESOURCE], "pods") == 0)
                answer_values(
                        r,
                        &(struct asked){
                                .version = part[VERSION], .ns = part[NS], .name = part[NAME], .metric = part[METRIC]},
                        v, ret);
        else
                custom_metrics_refuse(MHD_HTTP_NOT_FOUND,
                                      "there is /apis/" CUSTOM_METRICS_GROUP "/" CUSTOM_METRICS_V2
                                      "/namespaces/NAMESPACE/pods/*/METRIC",
                                      ret);
}

void custom_metrics_answer(const struct custom_request *r, const struct snapshot *v, struct custom_answer *ret)
{
        char *part[PARTS] = {0};
        if (strcmp(r->method, MHD_HTTP_METHOD_GET) != 0 || r->watch) {
                custom_metrics_refuse(MHD_HTTP_METHOD_NOT_ALLOWED, "metrics support only GET, without watch", ret);
                return;
        }
        AUTO(mem_free) char *path = mem_string(r->path);
        int parts = custom_metrics_split(path, part);
        answer_parts(r, part, parts, v, ret);
}
