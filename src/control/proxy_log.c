#include "control/proxy_log.h"

#include "base/log.h"
#include "base/mem.h"
#include "net/proxy.h"

void proxy_log(const char *what, const char *url, const char *given)
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
