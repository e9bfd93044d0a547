/*
 * Client of halflife's REST API. The client reaches halflife by halflife's own address, or through the API server's
 * service proxy.
 */
#ifndef HALFLIFE_CLI_API_CLIENT_H
#define HALFLIFE_CLI_API_CLIENT_H

#include <jansson.h>

#include "base/buf.h"
#include "cli/session.h"

/* The options that choose a server or a database; NULL: not given. */
struct api_client_options {
        const char *server, *server_ca, *token_file, *ns, *database;
};
/* clang-format off */
#define REMOTE_ADDRESS_OPTIONS(type, m)                                                                                \
        {.name = "server", .value = "URL", OPTION_IN(type, m.server),                                                  \
         .help = "address of the halflife to ask (its --serve-listen), such as https://halflife.halflife.svc; "        \
                 "default: through the API server's proxy to services"},                                               \
        {.name = "server-ca", .value = "FILE", OPTION_IN(type, m.server_ca),                                           \
         .help = "CA (PEM) that verifies the certificate of --server; default: the system's CAs"},                     \
        {.name = "token-file", .value = "FILE", OPTION_IN(type, m.token_file),                                         \
         .help = "token file for halflife; default: $HALFLIFE_TOKEN, else for --server the kubeconfig's token"},       \
        {.name = "halflife-namespace", .value = "NAME", .shape = OPTION_NAMESPACE, OPTION_IN(type, m.ns),              \
         .help = "namespace of the Service halflife (default halflife)"}
#define REMOTE_OPTIONS(type, m)                                                                                        \
        REMOTE_ADDRESS_OPTIONS(type, m),                                                                               \
        {.name = "database", .value = "FILE", OPTION_IN(type, m.database),                                             \
         .help = "read this database file and ask no server; the file is not changed"}
/* clang-format on */

struct api_client {
        struct loop *loop; /* freed with the client if own_loop, else the session's loop */
        struct http *http;
        struct http_peer peer;
        char *base, *ca, *prefix;
        char *bearer, *passed;
        bool own_loop;
};

/* A printf format, for halflife's namespace: the command that lets a group use the API server's proxy to halflife's
 * Service. */
#define API_CLIENT_GRANT "kubectl create rolebinding halflife-rest-proxy -n %s --role=halflife-rest-proxy --group=GROUP"

/* The namespace of the Service halflife: that of the options, else "halflife". */
const char *api_client_namespace(const struct api_client_options *o);
/* Whether err says that the API server denies the use of its proxy to services. Then a token for halflife does not
 * help. */
bool api_client_no_proxy(const struct err *err);
/* Returns 0, or ERR_INVALID if api_client_open would refuse the address. */
int api_client_check(const char *url, struct err *err);
/* Open a client by halflife's address: "https://halflife.halflife.svc", or http:// on loopback. ca: PEM file of the CA
 * that verifies the server's certificate; NULL: the system's CAs. token: the bearer token; NULL: none. Returns 0,
 * ERR_INVALID for a wrong address, or the error of reading ca. Call api_client_release in any case.
 */
int api_client_open(struct api_client *r, const char *url, const char *ca, const char *token, struct err *err);
/* Open a client that goes through the API server: port "https" of the Service halflife in namespace ns
 * (manifests/base). The proxy does not forward the session's credentials, so token identifies the caller to halflife.
 */
void api_client_through(struct api_client *r, const struct session *s, const char *ns, const char *token);
/* Open a client as the options say. With --server, it goes to that address, with the kubeconfig's token if `token` is
 * NULL, and needs no kubeconfig. Else it goes through the API server. s must outlive r. Returns 0 or an error; release
 * both in any case. */
int api_client_connect(struct api_client *r, struct session *s, const struct session_options *where,
                       const struct api_client_options *from, const char *token, struct err *err);
void api_client_release(struct api_client *r);

/* Add "?name=value" to a path, or "&name=value" if the path has a parameter already; `value` is escaped here. A NULL
 * value adds nothing. */
void api_client_add_parameter(struct buf *path, const char *name, const char *value);
/* GET a path of halflife as JSON. Returns the caller's reference, or NULL with an error whose text ends with the
 * server's message: ERR_NOTFOUND, ERR_DENIED (401 or 403), ERR_INVALID (other 4xx), else ERR_RETRY. */
json_t *api_client_get(struct api_client *r, const char *path_query, struct err *err);

/* One GET of a command, which opens a connection for it. */
struct api_client_question {
        const struct session_options *where;
        const struct api_client_options *from;
        const char *path_query;
        const char *may;     /* what the caller must be allowed to do, such as "list nodes" */
        bool keeps_refusals; /* ERR_INVALID and ERR_NOTFOUND concern path_query, so they get no advice */
};
/* Connect and GET. Returns the caller's reference, or NULL with an error. The error names the server of --server;
 * without that option it says what to do if the API server's proxy, or halflife behind it, refused. */
json_t *api_client_ask(const struct api_client_question *q, struct err *err);

/* POST a text to halflife. *ret is the answer, NUL-terminated and the caller's (mem_free). Errors are those of
 * api_client_get, except that the text of a 400 is only the server's message, which names the place in the input.
 */
int api_client_post(struct api_client *r, const char *path_query, const char *content_type, struct text body,
                    char **ret, size_t *ret_len, struct err *err);

/* Read the token from the file (at most 64 KiB; "-" is not stdin), else from HALFLIFE_TOKEN; *ret is NULL without
 * either, else the caller's (mem_free). Returns 0 or an error. */
int api_client_token(const char *file, char **ret, struct err *err);

#endif
