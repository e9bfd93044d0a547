#include "custom_metrics/api_registration.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "custom_metrics/custom_metrics.h"
#include "custom_metrics/front_proxy.h"
#include "kube/known_resource.h"

enum { LOOK_MS = MINUTE_MS, RETRY_MS = 5 * SECOND_MS, ASK_MS = 10 * SECOND_MS, VERSIONS = 2 };

#define CONFIG "extension-apiserver-authentication"

static const char *const name_of[VERSIONS] = {CUSTOM_METRICS_V1 "." CUSTOM_METRICS_GROUP,
                                              CUSTOM_METRICS_V2 "." CUSTOM_METRICS_GROUP};

static char *service_path(int version)
{
        return known_resource_path(KNOWN_APISERVICES, NULL, name_of[version], NULL);
}

/* --- which service has the group --- */

int api_registration_owner(const json_t *api_service, const char *ns, const char *name, struct err *err)
{
        const json_t *service = json_object_get(json_object_get(api_service, "spec"), "service");
        const char *is_ns = json_string_value(json_object_get(service, "namespace"));
        const char *is_name = json_string_value(json_object_get(service, "name"));
        const char *which = json_string_value(json_object_get(json_object_get(api_service, "metadata"), "name"));
        if (!which)
                return err_set(err, ERR_RETRY, "the API server's answer is not an APIService");
        if (is_ns && is_name && strcmp(is_ns, ns) == 0 && strcmp(is_name, name) == 0)
                return 0;
        AUTO(mem_free)
        char *whose = is_ns && is_name ? mem_printf("belongs to service '%s/%s'", is_ns, is_name)
                                       : mem_string("leads to no service");
        return err_set(err, ERR_CONFLICT,
                       "APIService '%s' %s, not to '%s/%s': a cluster has one server of custom metrics; leave "
                       "--custom-metrics-listen unset and let that server read halflife's series "
                       "(manifests/prometheus-adapter), or delete the APIService first",
                       which, whose, ns, name);
}

int api_registration_check(struct client *c, const char *ns, const char *name, int *ret_ours, struct err *err)
{
        int ours = 0;
        for (int i = 0; i < VERSIONS; i++) {
                AUTO(mem_free) char *path = service_path(i), *body = NULL;
                size_t len;
                const struct call call = {.method = HTTP_GET, .path = path, .deadline_ms = ASK_MS, .urgent = true};
                int rc = client_wait(c, &call, &body, &len, err);
                if (rc == ERR_NOTFOUND)
                        continue;
                AUTO(json_decref) json_t *object = rc == 0 ? json_loadb(body, len, 0, NULL) : NULL;
                rc = rc < 0 ? rc : api_registration_owner(object, ns, name, err);
                if (rc < 0)
                        return rc;
                ours++;
        }
        *ret_ours = ours;
        return 0;
}

/* --- one pass --- */

struct api_registration {
        struct client *client;
        struct api_registration_options o;
        struct loop_timer again;
        struct client_call *call; /* NULL: no request is in progress */
        char *config_path, *path[VERSIONS];
        json_t *known; /* the ConfigMap's data when `trust` was last called; NULL: nobody is trusted */
        char trouble[ERR_TEXT_MAX];
        bool told;

        /* about the current pass */
        json_t *map; /* the ConfigMap as read; NULL: not read */
        int version, ours;
};

static void registration_look(void *arg);

static void registration_forget(struct api_registration *a)
{
        json_decref(a->map);
        a->map = NULL;
        a->version = a->ours = 0;
}

static void registration_finish(struct api_registration *a, int64_t after_ms)
{
        registration_forget(a);
        loop_timer_set(client_loop(a->client), &a->again, after_ms, registration_look, a);
}

static bool is_news(struct api_registration *a, const char *text)
{
        bool news = strcmp(a->trouble, text) != 0;
        snprintf(a->trouble, sizeof a->trouble, "%s", text);
        return news;
}

/* Try again later, and keep serving, because the front proxy's CA does not change only because the API server is
 * unreachable. */
static void registration_fail(struct api_registration *a, const struct err *why, const char *what)
{
        if (is_news(a, why->text))
                log_warn("the registration of custom metrics cannot be checked, will try again", KV("what", what),
                         KV("error", why->text));
        registration_finish(a, RETRY_MS);
}

static void registration_refuse(struct api_registration *a, const struct err *why)
{
        if (is_news(a, why->text))
                log_error("custom metrics are not served: they belong to another service", KV("error", why->text));
        json_decref(a->known);
        a->known = NULL;
        a->o.trust(a->o.arg, NULL, why->text);
        registration_finish(a, LOOK_MS);
}

/* Trust the front proxy. Call this only after checking that no other service has the group. */
static int registration_trust(struct api_registration *a, struct err *err)
{
        struct front_proxy *f = NULL;
        json_t *data = json_object_get(a->map, "data");
        if (a->known && json_equal(a->known, data))
                return 0;
        int rc = front_proxy_read(a->map, &f, err);
        if (rc < 0)
                return rc;
        json_decref(a->known);
        a->known = json_incref(data);
        a->o.trust(a->o.arg, f, NULL);
        return 0;
}

static void registration_tell(struct api_registration *a)
{
        struct err err = {0};
        if (registration_trust(a, &err) < 0) {
                registration_fail(a, &err, CONFIG);
                return;
        }
        if (a->ours == 0 && is_news(a, "no APIService"))
                log_warn("no APIService names halflife, so no client reaches its custom metrics",
                         KV("service", a->o.service), KV("cure", "kubectl apply -k manifests/overlays/custom-metrics"));
        else if (a->ours > 0 && (is_news(a, "") || !a->told))
                log_info("custom metrics are served to the API server", KV_INT("versions", a->ours));
        a->told = true;
        registration_finish(a, LOOK_MS);
}

/* --- APIServices --- */

static void read_next(struct api_registration *a);

static void service_read(void *arg, const struct client_answer *answer)
{
        struct api_registration *a = arg;
        struct err err = {0};
        bool there = answer->err.code != ERR_NOTFOUND;
        a->call = NULL;
        if (there && answer->err.code) {
                registration_fail(a, &answer->err, name_of[a->version]);
                return;
        }
        AUTO(json_decref) json_t *object = there ? json_loadb(answer->body.p, answer->body.len, 0, NULL) : NULL;
        int rc = there ? api_registration_owner(object, a->o.ns, a->o.service, &err) : 0;
        if (rc == ERR_CONFLICT) {
                registration_refuse(a, &err);
                return;
        }
        if (rc < 0) {
                registration_fail(a, &err, name_of[a->version]);
                return;
        }
        a->ours += there;
        a->version++;
        read_next(a);
}

static void read_next(struct api_registration *a)
{
        if (a->version == VERSIONS) {
                registration_tell(a);
                return;
        }
        const struct call call = {.method = HTTP_GET, .path = a->path[a->version], .urgent = true};
        a->call = client_start(a->client, &call, service_read, a);
}

/* --- the front proxy --- */

static void config_read(void *arg, const struct client_answer *answer)
{
        struct api_registration *a = arg;
        a->call = NULL;
        if (answer->err.code) {
                registration_fail(a, &answer->err, CONFIG);
                return;
        }
        a->map = json_loadb(answer->body.p, answer->body.len, 0, NULL);
        read_next(a);
}

void api_registration_look(struct api_registration *a)
{
        const struct call call = {.method = HTTP_GET, .path = a->config_path, .urgent = true};
        loop_timer_stop(client_loop(a->client), &a->again);
        if (a->call)
                client_cancel(a->client, a->call);
        registration_forget(a);
        a->call = client_start(a->client, &call, config_read, a);
}

static void registration_look(void *api)
{
        api_registration_look(api);
}

/* --- from start to end --- */

struct api_registration *api_registration_new(struct client *c, const struct api_registration_options *o)
{
        struct api_registration *a = MEM_NEW(struct api_registration);
        a->client = c;
        a->o = *o;
        a->config_path = known_resource_path(KNOWN_CONFIGMAPS, "kube-system", CONFIG, NULL);
        for (int i = 0; i < VERSIONS; i++)
                a->path[i] = service_path(i);
        registration_finish(a, 0);
        return a;
}

void api_registration_free(struct api_registration *a)
{
        if (!a)
                return;
        loop_timer_stop(client_loop(a->client), &a->again);
        if (a->call)
                client_cancel(a->client, a->call);
        registration_forget(a);
        json_decref(a->known);
        mem_free(a->config_path);
        for (int i = 0; i < VERSIONS; i++)
                mem_free(a->path[i]);
        mem_free(a);
}
