#include "custom_metrics/custom_metrics_server.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "custom_metrics/api_registration.h"
#include "custom_metrics/custom_metrics.h"
#include "custom_metrics/custom_metrics_listener.h"

struct custom_metrics_server {
        struct custom_metrics_listener *adapter;
        struct api_registration *api;
};

static void custom_trust(void *arg, struct front_proxy *f, const char *why)
{
        struct custom_metrics_server *s = arg;
        custom_metrics_listener_trust(s->adapter, f, why);
}

int custom_metrics_server_new(struct client *c, const struct custom_metrics_server_options *o,
                              struct snapshot_ref *views, struct custom_metrics_server **ret, struct err *err)
{
        const struct custom_metrics_listener_options listener = {
                .listen = o->listen, .cert_file = o->cert_file, .key_file = o->key_file};
        struct custom_metrics_server *s = MEM_NEW(struct custom_metrics_server);
        const struct api_registration_options api = {
                .ns = o->ns, .service = o->service, .trust = custom_trust, .arg = s};
        int rc = custom_metrics_listener_open(&listener, views, &s->adapter, err);
        if (rc < 0) {
                mem_free(s);
                return rc;
        }
        s->api = api_registration_new(c, &api);
        log_info("serves " CUSTOM_METRICS_GROUP, KV("address", custom_metrics_listener_address(s->adapter)));
        *ret = s;
        return 0;
}

void custom_metrics_server_free(struct custom_metrics_server *s)
{
        if (!s)
                return;
        api_registration_free(s->api);
        custom_metrics_listener_close(s->adapter);
        mem_free(s);
}

const char *custom_metrics_server_address(const struct custom_metrics_server *s)
{
        return s ? custom_metrics_listener_address(s->adapter) : "";
}

int custom_metrics_server_set_certificate(struct custom_metrics_server *s, const char *cert_pem, const char *key_pem,
                                          struct err *err)
{
        return s ? custom_metrics_listener_set_certificate(s->adapter, cert_pem, key_pem, err) : 0;
}

void custom_metrics_server_counts(const struct custom_metrics_server *s, uint64_t ret[static 6])
{
        memset(ret, 0, 6 * sizeof *ret);
        if (s)
                custom_metrics_listener_counts(s->adapter, ret);
}
