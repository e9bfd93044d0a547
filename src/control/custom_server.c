/*
 * Custom metrics in the controller: whether they may be served, and who is let in.
 */
#include "controller_private.h"
#include "serve/custom_metrics.h"

static void custom_trust(void *arg, struct front_proxy *f, const char *why)
{
        struct controller *c = arg;
        adapter_trust(c->adapter, f, why);
}

/* It has the door's certificate. Whose the API is is asked first: where it is another's, nothing begins at all; where
 * nobody can be asked, the look at it each minute finds out. */
int custom_check(struct controller *c, struct err *err)
{
        const struct controller_options *co = &c->options;
        struct err why = {0};
        int ours;
        if (!co->custom_listen)
                return 0;
        if (co->certificate == CERTIFICATE_FILES && !co->tls_cert)
                return err_set(err, ERR_INVALID,
                               "--custom-metrics-listen needs a certificate: --webhook-certificate self, or --tls-cert "
                               "and --tls-key");
        if (custom_api_check(c->client, co->ns, co->custom_service, &ours, &why) == ERR_CONFLICT)
                return err_set(err, ERR_CONFLICT, "%s", why.text);
        return 0;
}

int custom_start(struct controller *c, struct err *err)
{
        const struct controller_options *co = &c->options;
        const struct adapter_options listener = {
                .listen = co->custom_listen, .cert_file = co->tls_cert, .key_file = co->tls_key};
        const struct custom_api_options api = {
                .ns = co->ns, .service = co->custom_service, .trust = custom_trust, .arg = c};
        if (!co->custom_listen)
                return 0;
        int rc = adapter_open(&listener, server_views(c->server), &c->adapter, err);
        if (rc < 0)
                return rc;
        c->custom_api = custom_api_new(c->client, &api);
        log_info("serves " CUSTOM_METRICS_GROUP, KV("address", custom_address(c)));
        return 0;
}

const char *custom_address(const struct controller *c)
{
        return c->adapter ? adapter_address(c->adapter) : "";
}

void custom_stop(struct controller *c)
{
        adapter_close(c->adapter);
}
