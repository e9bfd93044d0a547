/* metrics.k8s.io as metrics-server serves it, in the versions that it is told: from the last scrape, sorted by
 * namespace and name, no version, no watch. Nodes use what their annotations say. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/quantity.h"
#include "fake.h"

static const char group[] = "metrics.k8s.io", base[] = "/apis/metrics.k8s.io/";

struct scrape {
        struct stream stream;
        struct version **pod; /* NULL: the crowd's */
        size_t at, end;
        struct fake_selector *selector;
        char *ns;
        char version[sizeof((struct metrics_version *)0)->name];
        int64_t at_ms;
        bool begun, any, done;
};

enum { BATCH = 64 * 1024 };

static int64_t scrape_time(const struct fake *f)
{
        int64_t step = f->metrics.step_ms, now = fake_wall(f) - f->metrics.late_ms;
        return f->metrics.mode == FAKE_METRICS_FROZEN ? f->frozen_ms : now - now % step;
}

void fake_set_metrics(struct fake *f, const struct fake_metrics *m)
{
        fake_lock(f);
        struct fake_metrics new = *m;
        if (new.step_ms == 0)
                new.step_ms = 15000;
        if (new.mode == FAKE_METRICS_FROZEN && f->metrics.mode != FAKE_METRICS_FROZEN)
                f->frozen_ms = scrape_time(f);
        f->metrics = new;
        fake_notify(f);
        fake_unlock(f);
}

void fake_scrape_every(struct fake *f, int64_t step_ms)
{
        fake_lock(f);
        struct fake_metrics m = f->metrics;
        m.step_ms = step_ms;
        fake_set_metrics(f, &m);
        fake_unlock(f);
}

void fake_freeze_metrics(struct fake *f, bool frozen)
{
        fake_lock(f);
        struct fake_metrics m = f->metrics;
        m.mode = frozen ? FAKE_METRICS_FROZEN : FAKE_METRICS_ON;
        fake_set_metrics(f, &m);
        fake_unlock(f);
}

/* --- versions --- */

bool metrics_version_at(const struct fake *f, size_t place, struct metrics_version *ret)
{
        const char *word = f->metrics.versions ? f->metrics.versions : "v1beta1";
        while (place-- > 0 && word)
                word = strchr(word, ' ') ? strchr(word, ' ') + 1 : NULL;
        if (!word || f->metrics.mode == FAKE_METRICS_MISSING)
                return false;
        ret->away = f->metrics.mode == FAKE_METRICS_UNAVAILABLE || *word == '-';
        snprintf(ret->name, sizeof ret->name, "%.*s", (int)strcspn(word + (*word == '-'), " "), word + (*word == '-'));
        return true;
}

static bool version_find(const struct fake *f, const char *name, struct metrics_version *ret)
{
        for (size_t i = 0; metrics_version_at(f, i, ret); i++)
                if (strcmp(ret->name, name) == 0)
                        return true;
        return false;
}

void metrics_refuse(struct reply *rp)
{
        rp->status = 503;
        rp->type = "text/plain; charset=utf-8";
        rp->text = strdup("service unavailable\n");
        rp->len = strlen(rp->text);
}

/* --- usage --- */

static int64_t annotated(const json_t *pod, const char *name, int digits, int64_t otherwise)
{
        const char *s = json_string_value(json_object_get(json_at(pod, "metadata.annotations"), name));
        int64_t value;
        return s && quantity_parse(s, strlen(s), digits, &value, NULL) == 0 ? value : otherwise;
}

static bool usage_of(const struct fake *f, const json_t *pod, const char *container, int64_t at_ms, int64_t *ret_nano,
                     int64_t *ret_bytes)
{
        if (f->metrics.usage)
                return f->metrics.usage(f->metrics.arg, object_ns(pod), object_name(pod), container, at_ms, ret_nano,
                                        ret_bytes);
        *ret_nano = annotated(pod, "kwok.x-k8s.io/usage-cpu", QUANTITY_NANO, 1000000);
        *ret_bytes = annotated(pod, "kwok.x-k8s.io/usage-memory", QUANTITY_WHOLE, 1 << 20);
        return true;
}

static void usage_texts(int64_t nano, int64_t bytes, char cpu[static QUANTITY_TEXT_MAX],
                        char memory[static QUANTITY_TEXT_MAX])
{
        AUTO(mem_free) char *text = mem_printf("%" PRId64 "n", nano);
        quantity_canonical(text, strlen(text), cpu);
        quantity_print_memory(bytes, memory);
}

static bool measured(const struct fake *f, const json_t *pod, int64_t at_ms)
{
        struct wall born = {0};
        const char *created = text_at(pod, "metadata.creationTimestamp");
        if (f->metrics.warmup_ms && wall_parse(created, strlen(created), &born) == 0 &&
            born.ms > at_ms - f->metrics.warmup_ms)
                return false;
        return strcmp(text_at(pod, "status.phase"), "Running") == 0;
}

static bool is_sidecar(const json_t *container)
{
        return strcmp(text_at(container, "restartPolicy"), "Always") == 0;
}

static bool add_container(const struct fake *f, const json_t *pod, const json_t *container, int64_t at_ms, json_t *list)
{
        int64_t nano, bytes;
        char cpu[QUANTITY_TEXT_MAX], memory[QUANTITY_TEXT_MAX];
        if (!usage_of(f, pod, text_at(container, "name"), at_ms, &nano, &bytes))
                return false;
        usage_texts(nano, bytes, cpu, memory);
        json_array_append_new(list, json_pack("{s:s, s:{s:s, s:s}}", "name", text_at(container, "name"), "usage", "cpu",
                                              cpu, "memory", memory));
        return true;
}

/* A runtime at fault: its annotation fake/usage-extra is a further container, as JSON. */
static void add_extra(const json_t *pod, json_t *list)
{
        const char *extra =
                json_string_value(json_object_get(json_at(pod, "metadata.annotations"), "fake/usage-extra"));
        if (extra)
                json_array_append_new(list, json_loads(extra, 0, NULL));
}

/* version NULL: without apiVersion and kind, as in a list */
static json_t *pod_metrics(const struct fake *f, const json_t *pod, int64_t at_ms, const char *version)
{
        json_t *list = json_array(), *c, *meta, *labels = json_at(pod, "metadata.labels"), *result;
        size_t i;
        char stamp[WALL_TEXT_MAX];
        bool all = measured(f, pod, at_ms);
        json_array_foreach(json_at(pod, "spec.containers"), i, c) all = all && add_container(f, pod, c, at_ms, list);
        json_array_foreach(json_at(pod, "spec.initContainers"), i, c) if (is_sidecar(c)) all =
                all && add_container(f, pod, c, at_ms, list);
        if (!all) {
                json_decref(list);
                return NULL;
        }
        add_extra(pod, list);
        at_ms += annotated(pod, "fake/usage-ahead-ms", QUANTITY_WHOLE, 0); /* its node's clock is ahead */
        AUTO(mem_free) char *window = mem_printf("%.3fs", (double)f->metrics.step_ms / 1000);
        meta = json_pack("{s:s, s:s, s:o}", "name", object_name(pod), "namespace", object_ns(pod), "creationTimestamp",
                         fake_time(f));
        if (labels)
                json_object_set_new(meta, "labels", json_deep_copy(labels));
        result = json_object();
        if (version) {
                json_object_set_new(result, "kind", json_string("PodMetrics"));
                json_object_set_new(result, "apiVersion", json_sprintf("%s/%s", group, version));
        }
        json_object_set_new(result, "metadata", meta);
        json_object_set_new(result, "timestamp", json_string(wall_print((struct wall){at_ms}, stamp)));
        json_object_set_new(result, "window", json_string(window));
        json_object_set_new(result, "containers", list);
        return result;
}

/* --- the list --- */

static void send_pod(struct fake *f, struct scrape *s, const json_t *pod, struct buf *out)
{
        AUTO(json_decref)
        json_t *m = fake_selector_matches(s->selector, pod) ? pod_metrics(f, pod, s->at_ms, NULL) : NULL;
        if (!m)
                return;
        char *text = json_dumps(m, JSON_COMPACT);
        buf_printf(out, "%s", s->any ? "," : "");
        buf_add_text(out, text);
        s->any = true;
        free(text);
}

static void send_crowd_pod(struct fake *f, struct scrape *s, const struct crowd *c, struct buf *out)
{
        if (*s->ns && strcmp(c->space(f, s->at), s->ns) != 0)
                return;
        if (s->any)
                buf_add_text(out, ",");
        s->any = true;
        crowd_metrics(f, s->at, s->at_ms, out);
}

static bool scrape_more(struct fake *f, struct stream *stream, struct buf *out)
{
        struct scrape *s = (struct scrape *)stream;
        if (s->done)
                return false;
        fake_lock(f);
        const struct kind *pods = fake_kind_find(f, "", "v1", "pods");
        if (!s->begun)
                buf_printf(out, "{\"kind\":\"PodMetricsList\",\"apiVersion\":\"%s/%s\",\"metadata\":{},\"items\":[",
                           group, s->version);
        s->begun = true;
        for (; s->at < s->end && out->len < BATCH; s->at++) {
                if (s->pod)
                        send_pod(f, s, s->pod[s->at]->object, out);
                else
                        send_crowd_pod(f, s, pods->crowd, out);
        }
        if (s->at >= s->end) {
                buf_add_text(out, "]}\n");
                s->done = true;
        }
        fake_unlock(f);
        return true;
}

static void scrape_free(struct fake *f, struct stream *stream)
{
        struct scrape *s = (struct scrape *)stream;
        fake_lock(f);
        for (size_t i = 0; s->pod && i < s->end; i++)
                version_drop(s->pod[i]);
        fake_unlock(f);
        fake_selector_free(s->selector);
        mem_free(s->pod);
        mem_free(s->ns);
        mem_free(s);
}

static int by_namespace_and_name(const void *a, const void *b)
{
        const struct version *x = *(struct version *const *)a, *y = *(struct version *const *)b;
        int way = strcmp(object_ns(x->object), object_ns(y->object));
        return way ? way : strcmp(object_name(x->object), object_name(y->object));
}

static void serve_list(struct fake *f, const struct request *rq, const struct kind *pods, const char *ns,
                       const struct metrics_version *v, struct reply *rp)
{
        char *error;
        struct fake_selector *selector =
                fake_selector_parse(query_get(rq, "labelSelector"), query_get(rq, "fieldSelector"), &error);
        if (error) {
                reply_error(rp, 400, "BadRequest", "%s", error);
                mem_free(error);
                return;
        }
        struct scrape *s = MEM_NEW(struct scrape);
        s->stream = (struct stream){scrape_more, scrape_free, -1};
        s->selector = selector;
        s->ns = mem_string(ns);
        memcpy(s->version, v->name, sizeof s->version);
        s->at_ms = scrape_time(f);
        if (pods->crowd) {
                s->end = pods->crowd->count;
        } else {
                s->pod = mem_new_array(pods->count + 1, sizeof *s->pod);
                for (size_t i = 0; i < pods->count; i++)
                        if (!*ns || strcmp(object_ns(pods->object[i].version->object), ns) == 0)
                                s->pod[s->end++] = version_take(pods->object[i].version);
                qsort(s->pod, s->end, sizeof *s->pod, by_namespace_and_name);
        }
        rp->status = 200;
        rp->type = "application/json";
        rp->stream = &s->stream;
}

static void serve_one(struct fake *f, const struct target *t, const struct kind *pods, const struct metrics_version *v,
                      struct reply *rp)
{
        const struct object *slot = store_find(pods, t->ns, t->name);
        json_t *m = slot ? pod_metrics(f, slot->version->object, scrape_time(f), v->name) : NULL;
        if (m)
                reply_json(rp, 200, m);
        else
                reply_refuse(rp, 404, "NotFound", t, NULL, "podmetrics.metrics.k8s.io \"%s/%s\" not found", t->ns,
                             t->name);
}

/* --- nodes --- */

static json_t *node_metrics(const struct fake *f, const json_t *node)
{
        int64_t at_ms = scrape_time(f) + annotated(node, "fake/usage-ahead-ms", QUANTITY_WHOLE, 0);
        char stamp[WALL_TEXT_MAX];
        const json_t *notes = json_at(node, "metadata.annotations");
        const char *cpu = json_string_value(json_object_get(notes, "kwok.x-k8s.io/usage-cpu")),
                   *memory = json_string_value(json_object_get(notes, "kwok.x-k8s.io/usage-memory"));
        return json_pack("{s:{s:s}, s:s, s:s, s:{s:s, s:s}}", "metadata", "name", object_name(node), "timestamp",
                         wall_print((struct wall){at_ms}, stamp), "window", "20s", "usage", "cpu", cpu ? cpu : "1",
                         "memory", memory ? memory : "1Gi");
}

/* A node with the annotation fake/silent is left out. */
static void serve_nodes(struct fake *f, const struct request *rq, const struct metrics_version *v, struct reply *rp)
{
        static struct kind kind = {.group = (char *)(uintptr_t) "metrics.k8s.io",
                                   .plural = (char *)(uintptr_t) "nodes",
                                   .name = (char *)(uintptr_t) "NodeMetrics"};
        struct target t = {.kind = &kind, .ns = "", .name = "", .sub = ""};
        if (!rq->inside && !access_allowed(f, rq, &t, rp))
                return;
        const struct kind *nodes = fake_kind_find(f, "", "v1", "nodes");
        json_t *items = json_array();
        for (size_t i = 0; i < nodes->count; i++) {
                const json_t *node = nodes->object[i].version->object;
                if (!json_object_get(json_at(node, "metadata.annotations"), "fake/silent"))
                        json_array_append_new(items, node_metrics(f, node));
        }
        AUTO(mem_free) char *version = mem_printf("%s/%s", group, v->name);
        reply_json(rp, 200,
                   json_pack("{s:s, s:s, s:{}, s:o}", "kind", "NodeMetricsList", "apiVersion", version, "metadata",
                             "items", items));
}

bool metrics_serve(struct fake *f, const struct request *rq, struct reply *rp)
{
        static struct kind podmetrics = {.group = (char *)(uintptr_t) "metrics.k8s.io",
                                         .plural = (char *)(uintptr_t) "pods",
                                         .name = (char *)(uintptr_t) "PodMetrics",
                                         .namespaced = true};
        char ns[254] = "", name[254] = "", version[16] = "";
        struct metrics_version v;
        const struct kind *pods = fake_kind_find(f, "", "v1", "pods");
        int len = 0;
        if (strncmp(rq->path, base, strlen(base)) != 0 ||
            sscanf(rq->path + strlen(base), "%15[^/]/%n", version, &len) != 1 || !len || !version_find(f, version, &v))
                return false;
        if (v.away) {
                metrics_refuse(rp);
                return true;
        }
        const char *rest = rq->path + strlen(base) + len;
        if (strcmp(rest, "nodes") == 0) {
                serve_nodes(f, rq, &v, rp);
                return true;
        }
        bool all = strcmp(rest, "pods") == 0;
        if (!all && sscanf(rest, "namespaces/%253[^/]/pods/%253[^/]", ns, name) < 1)
                return false;
        struct target t = {.kind = &podmetrics, .ns = ns, .name = name, .sub = ""};
        if (!rq->inside && !access_allowed(f, rq, &t, rp))
                return true;
        if (*name)
                serve_one(f, &t, pods, &v, rp);
        else
                serve_list(f, rq, pods, ns, &v, rp);
        return true;
}
