#include "custom_metrics/custom_metrics_server.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "custom_metrics/api_registration.h"
#include "custom_metrics/custom_metrics.h"
#include "custom_metrics/custom_metrics_listener.h"

struct custom_server {
        struct adapter *adapter;
        struct custom_api *api;
};

static void custom_trust(void *arg, struct front_proxy *f, const char *why)
{
        struct custom_server *s = arg;
        adapter_trust(s->adapter, f, why);
}

int custom_server_new(struct client *c, const struct custom_server_options *o, struct snapshot_ref *views,
                      struct custom_server **ret, struct err *err)
{
        const struct adapter_options listener = {
                .listen = o->listen, .cert_file = o->cert_file, .key_file = o->key_file};
        struct custom_server *s = MEM_NEW(struct custom_server);
        const struct custom_api_options api = {.ns = o->ns, .service = o->service, .trust = custom_trust, .arg = s};
        int rc = adapter_open(&listener, views, &s->adapter, err);
        if (rc < 0) {
                mem_free(s);
                return rc;
        }
        s->api = custom_api_new(c, &api);
        log_info("serves " CUSTOM_METRICS_GROUP, KV("address", adapter_address(s->adapter)));
        *ret = s;
        return 0;
}

void custom_server_free(struct custom_server *s)
{
        if (!s)
                return;
        custom_api_free(s->api);
        adapter_close(s->adapter);
        mem_free(s);
}

const char *custom_server_address(const struct custom_server *s)
{
        return s ? adapter_address(s->adapter) : "";
}

int custom_server_set_certificate(struct custom_server *s, const char *cert_pem, const char *key_pem, struct err *err)
{
        return s ? adapter_set_certificate(s->adapter, cert_pem, key_pem, err) : 0;
}

void custom_server_vouched_by(struct custom_server *s, const char *roots_pem)
{
        if (s)
                custom_api_vouched_by(s->api, roots_pem);
}

void custom_server_counts(const struct custom_server *s, uint64_t ret[static 6])
{
        memset(ret, 0, 6 * sizeof *ret);
        if (s)
                adapter_counts(s->adapter, ret);
}
