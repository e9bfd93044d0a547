#include "proxy_log.h"

static void proxy_log_one(const char *what, const char *url, const char *given)
{
        struct proxy_choice choice;
        struct err err = {0};
        if (!url)
                return;
        if (proxy_choose(proxy_settings_of_process(), given, url, &choice, &err) < 0) {
                log_error("requests fail: their proxy is unusable", KV("to", what), KV("url", url),
                          KV("error", err.text));
                return;
        }
        AUTO(mem_free) char *how = proxy_choice_text(&choice);
        if (how)
                log_info("a proxy is set", KV("to", what), KV("url", url), KV("requests", how));
}

void proxy_log(const struct parts *p)
{
        const struct controller_options *o = &p->options;
        const struct http_peer *server = access_peer(p->access);
        proxy_log_one("API server", server->base_url, server->proxy_url);
        proxy_log_one("upstream", o->replica ? o->upstream_url : NULL, NULL);
        proxy_log_one("Prometheus", o->replica ? NULL : o->prometheus.url, NULL);
}
