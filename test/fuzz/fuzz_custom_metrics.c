/*
 * Any request to the custom metrics API: the first line is the path, the second labelSelector, the third
 * metricLabelSelector. Every answer is JSON with a valid status, and has only pods of the requested namespace.
 */
#include <jansson.h>

#include "base/yaml.h"
#include "custom_metrics/custom_metrics.h"
#include "fuzz.h"

static const struct snapshot_pod pods[] = {
        {.ns = "shop",
         .name = "web-1",
         .labels = "app\0web",
         .labels_size = 8,
         .at_ms = 1763700000000,
         .utilization = {632, 250}},
        {.ns = "shop", .name = "web-2", .labels = "", .at_ms = 1763700000000, .utilization = {1, -1}},
};

static char *line_of(const uint8_t **at, size_t *left)
{
        const uint8_t *end = *left ? memchr(*at, '\n', *left) : NULL;
        size_t len = end ? (size_t)(end - *at) : *left;
        char *line = mem_string_n((const char *)*at, len);
        *at += len + (end != NULL);
        *left -= len + (end != NULL);
        return line;
}

static void check(const struct custom_answer *a, const char *path)
{
        AUTO(json_decref) json_t *got = json_loadb(a->body, a->len, JSON_REJECT_DUPLICATES, NULL);
        const char *kind = json_string_value(json_object_get(got, "kind"));
        json_t *item;
        size_t i;
        MUST(a->status == 200 || a->status == 400 || a->status == 404);
        MUST(kind && (strcmp(kind, "Status") == 0) == (a->status != 200));
        json_array_foreach(json_object_get(got, "items"), i, item)
        {
                MUST(strstr(path, "/shop/"));
                MUST(json_string_value(json_object_get(item, "value")));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct snapshot *v = snapshot_new();
        AUTO(mem_free) char *path = line_of(&data, &size);
        AUTO(mem_free) char *labels = line_of(&data, &size);
        AUTO(mem_free) char *metric = line_of(&data, &size);
        const struct custom_request r = {
                .method = "GET", .path = path, .label_selector = labels, .metric_selector = metric};
        struct custom_answer a = {0};
        v->pod = pods;
        v->pods = sizeof pods / sizeof pods[0];
        v->ready = true;
        snapshot_finish(v);
        custom_metrics_answer(&r, v, &a);
        check(&a, path);
        free(a.body);
        snapshot_drop(v);
        return 0;
}
