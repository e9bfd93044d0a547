/*
 * Which proxy a request takes. The rule is that of kubectl and other Go programs (ProxyFromEnvironment of net/http): a
 * peer's own proxy first, else HTTPS_PROXY for https:// and HTTP_PROXY for http://, except for localhost, loopback
 * addresses and hosts that NO_PROXY lists. A variable's lower-case name counts where the upper-case one is unset or
 * empty.
 *
 * Two differences: an unusable proxy is an error, not silence, and names of NO_PROXY beyond ASCII are not converted.
 */
#ifndef HALFLIFE_NET_PROXY_H
#define HALFLIFE_NET_PROXY_H

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"

struct proxy_variable {
        const char *name, *value; /* value NULL: unset */
};
struct proxy_settings {
        struct proxy_variable https, http, except;
        bool cgi; /* the process answers a CGI request, whose header "Proxy:" would be HTTP_PROXY */
};
/* Read the settings. `variable` returns an environment variable's value, as getenv does (tests have their own); the
 * values must live as long as the settings. */
void proxy_settings_read(struct proxy_settings *ret, const char *(*variable)(const char *name));
/* The settings of this process, read at the first call. */
const struct proxy_settings *proxy_settings_of_process(void);

/* A proxy's address; the texts point into the text that was parsed. */
struct proxy_url {
        const char *scheme; /* "http", "https" or "socks5h": the proxy resolves names, as Go has it for socks5 */
        struct text login;  /* "user:password", percent-encoded; len 0: none; never to be logged */
        struct text host;   /* without brackets */
        int port;
};
/* Parse "scheme://user:password@host:port"; scheme and port may be missing. Returns 0, or ERR_INVALID; the message
 * quotes at most the scheme of s, because the rest may be a password. */
int proxy_url_parse(const char *s, struct proxy_url *ret, struct err *err);
char *proxy_url_text(const struct proxy_url *u); /* for people, without the login; the caller frees it (mem_free) */
char *proxy_url_full(const struct proxy_url *u); /* for libcurl, with the login; the caller wipes and frees it */

enum proxy_reason {
        PROXY_NONE,         /* no variable is set for the URL's scheme */
        PROXY_GIVEN,        /* the peer's own proxy, http_peer.proxy_url */
        PROXY_BY_VARIABLE,  /* HTTPS_PROXY or HTTP_PROXY */
        PROXY_NOT_LOOPBACK, /* a variable is set, but the host is localhost or a loopback address */
        PROXY_EXCEPTED,     /* a variable is set, but NO_PROXY lists the host */
};
struct proxy_choice {
        enum proxy_reason reason;
        const char *variable; /* HTTPS_PROXY, HTTP_PROXY or the lower-case name; NULL: PROXY_NONE, PROXY_GIVEN */
        const char *except;   /* PROXY_EXCEPTED: NO_PROXY or no_proxy */
        struct text entry;    /* PROXY_EXCEPTED: the entry that lists the host */
        struct proxy_url url; /* PROXY_GIVEN, PROXY_BY_VARIABLE */
};
/*
 * The proxy for requests to url (http:// or https://). `given`: the peer's own proxy; NULL: none. Returns 0; or
 * ERR_INVALID when the proxy is unusable, or when HTTP_PROXY would be used in CGI; err then names the variable.
 */
int proxy_choose(const struct proxy_settings *s, const char *given, const char *url, struct proxy_choice *ret,
                 struct err *err);
static inline bool proxy_is_used(const struct proxy_choice *c)
{
        return c->reason == PROXY_GIVEN || c->reason == PROXY_BY_VARIABLE;
}
/* Describe the choice for people, such as "through proxy http://proxy:3128 (HTTPS_PROXY)". NULL: PROXY_NONE. The caller
 * frees the text (mem_free). */
char *proxy_choice_text(const struct proxy_choice *c);

#endif
