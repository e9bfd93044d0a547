#include "key_endpoint.h"

#include <string.h>

#include "base/text.h"

/* The host of a URL without TLS; {NULL, 0}: it has TLS, or a user, behind whom the host only seems to be another. */
static struct text key_endpoint_clear_host(const char *url)
{
        static const char scheme[] = "http://";
        if (strncmp(url, scheme, strlen(scheme)) != 0)
                return (struct text){0};
        const char *at = url + strlen(scheme);
        if (memchr(at, '@', strcspn(at, "/?#")))
                return (struct text){0};
        return (struct text){at, *at == '[' ? strcspn(at, "]") + 1 : strcspn(at, ":/?#")};
}

static bool key_endpoint_is_near(struct text host)
{
        static const char *const near[] = {"localhost", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
        static const char loopback[] = "127.";
        for (size_t i = 0; i < sizeof near / sizeof near[0]; i++)
                if (text_is(host, near[i]))
                        return true;
        return host.len > strlen(loopback) && memcmp(host.p, loopback, strlen(loopback)) == 0 &&
               strspn(host.p, "0123456789.") >= host.len;
}

int key_endpoint_check(const char *variable, const char *url, struct err *err)
{
        if (strncmp(url, "https://", 8) == 0 || key_endpoint_is_near(key_endpoint_clear_host(url)))
                return 0;
        return err_set(err, ERR_INVALID, "%s '%s' is neither https:// nor an address of the pod or its node", variable,
                       url);
}
