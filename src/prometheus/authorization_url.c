/* Check that credentials may be sent to a URL that an environment variable gives. */
#include <arpa/inet.h>
#include <string.h>

#include "authorization.h"

static bool authorization_is_loopback(struct text host)
{
        char address[INET_ADDRSTRLEN];
        struct in_addr in;
        if (host.len >= sizeof address)
                return false;
        memcpy(address, host.p, host.len);
        address[host.len] = '\0';
        return inet_pton(AF_INET, address, &in) == 1 && ntohl(in.s_addr) >> 24 == IN_LOOPBACKNET;
}

static bool authorization_is_near(struct text host)
{
        static const char *const near[] = {"localhost", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
        for (size_t i = 0; i < sizeof near / sizeof near[0]; i++)
                if (text_is(host, near[i]))
                        return true;
        return authorization_is_loopback(host);
}

int authorization_check_url(const char *variable, const char *url, struct err *err)
{
        static const char clear[] = "http://", tls[] = "https://";
        bool is_tls = strncmp(url, tls, sizeof tls - 1) == 0, is_clear = strncmp(url, clear, sizeof clear - 1) == 0;
        const char *host = url + (is_tls ? sizeof tls - 1 : is_clear ? sizeof clear - 1 : 0);
        size_t authority = strcspn(host, "/?#"), len = strcspn(host, *host == '[' ? "]" : ":/?#") + (*host == '[');
        bool sound = (is_tls || is_clear) && len <= authority && !memchr(host, '@', authority);
        if (sound && (is_tls || authorization_is_near((struct text){host, len})))
                return 0;
        return err_set(err, ERR_INVALID,
                       "%s is neither https:// nor an address of the pod or its node, or it has a user", variable);
}
