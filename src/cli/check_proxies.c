#include "check_proxies.h"

#include "net/proxy.h"

/* If a proxy is set, print whether requests to url use it. An unusable proxy is not reported here but by the check that
 * needs it. */
static void check_proxy(struct checking *c, const char *what, const char *url, const char *given)
{
        struct proxy_choice choice;
        struct err err = {0};
        if (!url || proxy_choose(proxy_settings_of_process(), given, url, &choice, &err) < 0)
                return;
        AUTO(mem_free) char *how = proxy_choice_text(&choice);
        AUTO(mem_free) char *line = how ? mem_printf("%s %s is asked %s", what, url, how) : NULL;
        if (line)
                check_tell(c, GOOD, line, NULL);
}

void check_proxies(struct checking *c)
{
        const struct http_peer *server = access_peer(c->session.access);
        check_proxy(c, "API server", server->base_url, server->proxy_url);
        check_proxy(c, "Prometheus", c->settings.controller.prometheus.url, NULL);
        check_proxy(c, "upstream", c->settings.controller.upstream_url, NULL);
}
