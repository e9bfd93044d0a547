/*
 * Custom metrics in the controller: whether they may be served, and who is let in.
 */
#include "controller_private.h"
#include "serve/custom_metrics.h"

static void custom_trust(void *arg, struct front_proxy *f, const char *why)
{
        struct controller *c = arg;
        server_trust(c->server, f, why);
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

void custom_start(struct controller *c)
{
        const struct custom_api_options o = {
                .ns = c->options.ns, .service = c->options.custom_service, .trust = custom_trust, .arg = c};
        if (!c->options.custom_listen)
                return;
        c->custom_api = custom_api_new(c->client, &o);
        log_info("serves " CUSTOM_METRICS_GROUP, KV("address", server_custom_address(c->server)));
}
