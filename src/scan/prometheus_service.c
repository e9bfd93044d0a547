#include "scan/prometheus_service.h"

#include <fnmatch.h>
#include <string.h>

#include "base/yaml.h"
#include "kube/collection.h"
#include "kube/known_resource.h"

/* The service names that operators and charts give, the preferred ones first. path: prefix of the product's paths,
 * before /api/v1. */
static const struct prometheus_product {
        const char *pattern, *product, *path;
} prometheus_products[] = {
        {"prometheus-operated", "Prometheus operator", ""},
        {"*kube-prometheus-*prometheus", "kube-prometheus-stack", ""},
        {"prometheus-k8s", "kube-prometheus", ""},
        {"prometheus-server", "Prometheus chart", ""},
        {"*-prometheus-server", "Prometheus chart", ""},
        {"thanos-query", "Thanos query", ""},
        {"*-thanos-query", "Thanos query", ""},
        {"thanos-query-frontend", "Thanos query frontend", ""},
        {"*-thanos-query-frontend", "Thanos query frontend", ""},
        {"vmsingle-*", "VictoriaMetrics single", ""},
        {"*victoria-metrics-single-server", "VictoriaMetrics single", ""},
        {"vmselect-*", "VictoriaMetrics select", "/select/0/prometheus"},
        {"*-cluster-vmselect", "VictoriaMetrics select", "/select/0/prometheus"},
};
enum { PRODUCTS = sizeof prometheus_products / sizeof prometheus_products[0] };

/* Where monitoring usually runs, for a person who may not list the services of the whole cluster. */
static const char *const prometheus_namespaces[] = {"monitoring", "prometheus", "observability", "victoria-metrics"};
enum { NAMESPACES = sizeof prometheus_namespaces / sizeof prometheus_namespaces[0] };

struct prometheus_search {
        struct prometheus_service *best;
        int rank; /* row of best in the table of products; PRODUCTS: none was found */
        size_t found;
};

/* --- ports --- */

static bool port_is_named(const json_t *port, const char *name)
{
        const char *is = json_string_value(json_object_get(port, "name"));
        return is && strcmp(is, name) == 0;
}

/* Choose the port of the HTTP API by its usual names, because gRPC and a config reloader may have ports too. */
static const json_t *service_port(const json_t *ports)
{
        static const char *const names[] = {"http-web", "web", "https", "http"};
        size_t i;
        json_t *port;
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
                json_array_foreach((json_t *)(uintptr_t)ports, i, port) if (port_is_named(port, names[n])) return port;
        json_array_foreach((json_t *)(uintptr_t)ports, i, port)
        {
                const char *name = json_string_value(json_object_get(port, "name"));
                if (!name || !strstr(name, "grpc"))
                        return port;
        }
        return NULL;
}

/* --- services --- */

static int product_rank(const char *name)
{
        int rank = 0;
        while (rank < PRODUCTS && fnmatch(prometheus_products[rank].pattern, name, 0) != 0)
                rank++;
        return rank;
}

static bool service_is_better(const struct prometheus_search *s, int rank, const char *ns, const char *name)
{
        if (rank != s->rank)
                return rank < s->rank;
        int way = strcmp(ns, s->best->ns);
        return way < 0 || (way == 0 && strcmp(name, s->best->name) < 0);
}

static void service_take(struct prometheus_search *s, int rank, const char *ns, const char *name, const json_t *port)
{
        bool tls = port_is_named(port, "https");
        prometheus_service_release(s->best);
        s->rank = rank;
        *s->best = (struct prometheus_service){
                .ns = mem_string(ns), .name = mem_string(name), .product = prometheus_products[rank].product};
        AUTO(mem_free)
        char *of_port = mem_printf("%s%s:%lld", tls ? "https:" : "", name,
                                   (long long)json_integer_value(json_object_get(port, "port")));
        AUTO(mem_free) char *path = path_of("", "v1", ns, "services", of_port, "proxy");
        s->best->prefix = mem_printf("%s%s", path, prometheus_products[rank].path);
}

static void service_each(void *arg, struct text object)
{
        struct prometheus_search *s = arg;
        AUTO(json_decref) json_t *service = json_loadb(object.p, object.len, 0, NULL);
        const json_t *meta = json_object_get(service, "metadata");
        const char *ns = json_string_value(json_object_get(meta, "namespace"));
        const char *name = json_string_value(json_object_get(meta, "name"));
        const json_t *port = service_port(json_object_get(json_object_get(service, "spec"), "ports"));
        int rank = name ? product_rank(name) : PRODUCTS;
        if (!ns || rank == PRODUCTS || !port)
                return;
        s->found++;
        if (service_is_better(s, rank, ns, name))
                service_take(s, rank, ns, name, port);
}

static int service_list(struct client *c, const char *ns, struct prometheus_search *s, struct err *err)
{
        AUTO(mem_free) char *path = known_resource_path(KNOWN_SERVICES, ns, NULL, NULL);
        const struct collection all = {.path = path, .each = service_each, .arg = s};
        return collection_read(c, &all, err);
}

/* List the services of namespace ns and of the usual namespaces, except where that is denied. */
static int service_list_usual(struct client *c, const char *ns, struct prometheus_search *s, struct err *err)
{
        struct err denied = *err;
        int rc = 0;
        bool any = false;
        for (int i = -1; i < NAMESPACES && (rc == 0 || rc == ERR_DENIED); i++) {
                const char *of = i < 0 ? ns : prometheus_namespaces[i];
                if (!of || (i >= 0 && ns && strcmp(of, ns) == 0))
                        continue;
                rc = service_list(c, of, s, err);
                any |= rc == 0;
        }
        if (rc == ERR_DENIED || rc == 0)
                return any ? 0 : err_copy(err, &denied);
        return rc;
}

/* --- asking through the API server --- */

static const struct http_peer *service_peer(void *access)
{
        return access_peer(access);
}

static const char *service_bearer(void *access)
{
        return access_bearer(access);
}

int prometheus_service_find(struct client *c, struct access *access, const char *ns, struct prometheus_service *ret,
                            struct err *err)
{
        struct prometheus_search s = {.best = ret, .rank = PRODUCTS};
        *ret = (struct prometheus_service){0};
        int rc = service_list(c, NULL, &s, err);
        if (rc == ERR_DENIED)
                rc = service_list_usual(c, ns, &s, err);
        if (rc < 0)
                return err_wrap(err, "look for a Prometheus among the services");
        if (!s.found)
                return err_set(err, ERR_NOTFOUND, "no service has the name of a Prometheus that halflife knows");
        ret->others = s.found - 1;
        ret->url = mem_printf("%s%s", access_peer(access)->base_url, ret->prefix);
        ret->via = (struct prometheus_via){ret->prefix, service_peer, service_bearer, access};
        return 0;
}

void prometheus_service_release(struct prometheus_service *s)
{
        mem_free(s->ns);
        mem_free(s->name);
        mem_free(s->prefix);
        mem_free(s->url);
        *s = (struct prometheus_service){0};
}
