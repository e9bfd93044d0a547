#include "explain_data.h"

#include "api_client.h"
#include "base/buf.h"
#include "base/mem.h"
#include "database_source.h"
#include "kube/client.h"

enum { CONTAINERS_MAX = OFFLINE_CONTAINERS };

void explain_data_release(struct explain_data *e)
{
        json_decref(e->explain);
        json_decref(e->histograms);
        json_decref(e->recommendation);
        mem_free(e->note);
        *e = (struct explain_data){0};
}

/* --- the REST endpoints --- */

static void begin_url(struct buf *b, const struct explain_arguments *q, const char *what)
{
        AUTO(mem_free) char *word = mem_string_n(q->workload.word.p, q->workload.word.len);
        AUTO(mem_free) char *ns = path_escape(q->ns), *kind = path_escape(word), *name = path_escape(q->workload.name);
        buf_init(b, 8 << 10);
        buf_printf(b, "/api/v1/namespaces/%s/workloads/%s/%s/%s", ns, kind, name, what);
}

static json_t *ask_explain(explain_data_route *get, void *arg, const struct explain_arguments *q, struct err *err)
{
        struct buf b __attribute__((cleanup(buf_release_auto)));
        begin_url(&b, q, "explain");
        api_client_add_parameter(&b, "container", q->container);
        api_client_add_parameter(&b, "resource", q->resource);
        api_client_add_parameter(&b, "percentile", q->percentile);
        api_client_add_parameter(&b, "halfLife", q->half_life);
        api_client_add_parameter(&b, "multiplier", q->multiplier);
        return get(arg, b.data, err);
}

static json_t *ask_histogram(explain_data_route *get, void *arg, const struct explain_arguments *q,
                             const char *container, const char *resource, struct err *err)
{
        struct buf b __attribute__((cleanup(buf_release_auto)));
        begin_url(&b, q, "histogram");
        api_client_add_parameter(&b, "container", container);
        api_client_add_parameter(&b, "resource", resource);
        return get(arg, b.data, err);
}

/* Whether a container has samples of a resource, and so a histogram to ask for. */
static bool explain_data_has_samples(const json_t *number)
{
        const json_t *samples = json_array_get(json_object_get(number, "steps"), 0);
        return json_integer_value(json_object_get(samples, "samples")) > 0;
}

int explain_data_collect(explain_data_route *get, void *arg, const struct explain_arguments *q,
                         struct explain_data *ret, struct err *err)
{
        struct explain_data e = {.explain = ask_explain(get, arg, q, err), .histograms = json_object()};
        const json_t *containers = json_object_get(e.explain, "containers");
        int rc = e.explain ? 0 : err->code;
        for (size_t i = 0; rc == 0 && i < json_array_size(containers) && i < CONTAINERS_MAX; i++) {
                const json_t *container = json_array_get(containers, i);
                const char *name = json_string_value(json_object_get(container, "name"));
                for (enum resource r = CPU; rc == 0 && name && r < RESOURCES; r++) {
                        if (!explain_data_has_samples(json_object_get(container, resource_name(r))))
                                continue;
                        AUTO(mem_free) char *key = mem_printf("%s/%s", name, resource_name(r));
                        json_t *h = ask_histogram(get, arg, q, name, resource_name(r), err);
                        if (h)
                                json_object_set_new(e.histograms, key, h);
                        rc = h ? 0 : err->code;
                }
        }
        if (rc < 0)
                explain_data_release(&e);
        else
                *ret = e;
        return rc;
}

static json_t *get_remote(void *arg, const char *path_query, struct err *err)
{
        return api_client_get(arg, path_query, err);
}

int explain_data_ask(struct api_client *r, const struct explain_arguments *q, struct explain_data *ret, struct err *err)
{
        return explain_data_collect(get_remote, r, q, ret, err);
}

/* Rules and gates judge facts that a database does not have. Keep only the steps of the arithmetic, with the last
 * value. */
static void keep_arithmetic(json_t *number)
{
        json_t *steps = json_object_get(number, "steps");
        for (size_t i = json_array_size(steps); i-- > 0;) {
                const json_t *step = json_array_get(steps, i);
                const char *kind = json_string_value(json_object_get(step, "step"));
                if (kind && strcmp(kind, "rounding") == 0)
                        json_object_set(number, "target", json_object_get(step, "value"));
                if (!kind || strcmp(kind, "rule") == 0 || strcmp(kind, "gate") == 0 || strcmp(kind, "deployGate") == 0)
                        json_array_remove(steps, i);
        }
        json_object_del(number, "reason");
        json_object_del(number, "deploy");
        json_object_del(number, "deployReason");
}

static void keep_what_is_known(json_t *explain)
{
        size_t i;
        json_t *container;
        json_array_foreach(json_object_get(explain, "containers"), i, container)
        {
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        json_t *number = json_object_get(container, resource_name(r));
                        keep_arithmetic(number);
                        keep_arithmetic(json_object_get(number, "whatIf"));
                }
        }
        json_object_del(explain, "note");
        json_object_del(explain, "state");
}

static json_t *get_from_database(void *arg, const char *path_query, struct err *err)
{
        return database_source_get(arg, path_query, err);
}

int explain_data_read(const char *path, const struct explain_arguments *q, struct explain_data *ret, struct err *err)
{
        struct database_source *o = NULL;
        struct explain_arguments of = *q;
        int rc = database_source_open(path, q->ns, &q->workload, &o, err);
        if (rc < 0)
                return rc;
        of.ns = database_source_namespace(o);
        rc = explain_data_collect(get_from_database, o, &of, ret, err);
        if (rc == 0) {
                const char *refused = database_source_refused(o);
                ret->database_source = true;
                keep_what_is_known(ret->explain);
                ret->note = mem_printf("A database contains neither profiles nor workloads: this uses a profile's "
                                       "defaults, without rules and gates.%s%s",
                                       refused ? " Not readable: " : "", refused ? refused : "");
        }
        database_source_close(o);
        return rc;
}
