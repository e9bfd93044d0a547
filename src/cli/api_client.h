/*
 * A halflife that runs somewhere, asked for JSON by its REST doors: by its own address, or through the API server's
 * proxy to services.
 */
#ifndef HALFLIFE_CLI_API_CLIENT_H
#define HALFLIFE_CLI_API_CLIENT_H

#include <jansson.h>

#include "cli/session.h"

/* The options that say where halflife is: of whoever asks it, or reads what it wrote, in this order. */
/* clang-format off */
#define REMOTE_OPTIONS                                                                                                 \
        {.name = "server", .value = "URL",                                                                             \
         .help = "ask the halflife at this address (its --serve-listen), such as https://halflife.halflife.svc; else " \
                 "it is asked through the API server's proxy to services"},                                            \
        {.name = "server-ca", .value = "FILE",                                                                         \
         .help = "CA (PEM) that the certificate of --server is checked with; else the system's"},                      \
        {.name = "token-file", .value = "FILE",                                                                        \
         .help = "token to show to halflife; else HALFLIFE_TOKEN, and to --server else the kubeconfig's"},             \
        {.name = "halflife-namespace", .value = "NAME", .shape = OPTION_NAMESPACE,                                     \
         .help = "namespace of the service halflife (default halflife)"},                                              \
        {.name = "database", .value = "FILE", .help = "read this database, and ask nobody; it is not changed"}
/* clang-format on */

struct remote {
        struct loop *loop; /* borrowed, or own */
        struct http *http;
        struct http_peer peer;
        char *base, *ca, *prefix;
        char *bearer, *passed;
        bool own_loop;
};

/* 0, or ERR_INVALID for what is no address that remote_open takes. */
int remote_check(const char *url, struct err *err);
/*
 * By its address: "https://halflife.halflife.svc", or http:// where it is loopback. ca: a PEM file that its
 * certificate is checked with, NULL: the system's. token: shown to it; NULL: none. 0, ERR_INVALID for an address that
 * is none, or what reading ca said. Release in any case.
 */
int remote_open(struct remote *r, const char *url, const char *ca, const char *token, struct err *err);
/* Through the API server: port "https" of the service halflife in namespace ns (manifests/base). It shows its own
 * credentials to the API server alone, so who asks is told by token. */
void remote_through(struct remote *r, const struct session *s, const char *ns, const char *token);
void remote_release(struct remote *r);

/* The caller's reference; NULL with an error whose text ends with the server's own words. ERR_NOTFOUND, ERR_DENIED (401
 * or 403), ERR_INVALID (other 4xx), else ERR_RETRY. */
json_t *remote_get(struct remote *r, const char *path_query, struct err *err);

/*
 * POST a text; what came back, NUL-terminated and the caller's. Errors are remote_get's, but of a 400 the text is the
 * server's own words alone: they tell the place.
 */
int remote_post(struct remote *r, const char *path_query, const char *content_type, struct text body, char **ret,
                size_t *ret_len, struct err *err);

/* The token to show: of the file (at most 64 KiB; "-" is no file), else of HALFLIFE_TOKEN; *ret NULL where neither says
 * one. The caller's (mem_free). 0 or an error. */
int remote_token(const char *file, char **ret, struct err *err);

#endif
