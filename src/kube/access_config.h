/*
 * The API server's address and the credentials, read from kubeconfig files or from a pod's mounts.
 */
#ifndef HALFLIFE_SRC_KUBE_ACCESS_CONFIG_H
#define HALFLIFE_SRC_KUBE_ACCESS_CONFIG_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/* A text given inline, or by a file that may change; both NULL: absent. */
struct access_text {
        char *text; /* as last read */
        char *path; /* the file; NULL: the text was given inline */
};

/* How to run a credential plug-in. The struct owns its strings; arrays end with NULL. */
struct exec_spec {
        char *command; /* NULL: there is no plug-in */
        char **argument, **environment;
        char *api_version;
        char *hint;      /* how to install the plug-in, or NULL */
        json_t *cluster; /* the cluster's settings without its CA, passed to the plug-in; or NULL */
};

struct access_config {
        char *source; /* where the configuration is from, in words: see access_source */
        char *ns;     /* namespace; NULL: none is named */
        char *server; /* "https://host:port" without a slash at the end */
        char *server_name, *proxy_url;
        bool insecure, no_gzip, in_cluster;
        struct access_text ca, cert, key, token;
        struct exec_spec exec;
};

enum {
        CREDENTIAL_BYTES_MAX = 1 << 20, /* longest credential file, and longest base64 text */
        TOKEN_BYTES_MAX = 32 << 10,     /* HTTP/2 libraries send 64 KiB of headers at most */
};

/* Load kubeconfig files and the credential files that they name. list: paths separated by ':'; context NULL: the
 * current context. */
int kubeconfig_load(const char *list, const char *context, struct access_config *ret, struct err *err);
/* dir: where the service account is mounted; host and port: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. */
int pod_config_load(const char *dir, const char *host, const char *port, struct access_config *ret, struct err *err);
void access_config_release(struct access_config *c);

/* Read a text's file again, and check it as PEM or as a token. Returns 1 if it changed, 0 if not, < 0 on an error,
 * which leaves the text unchanged. */
enum credential { CREDENTIAL_PEM, CREDENTIAL_TOKEN };
int access_text_read(struct access_text *t, enum credential what, struct err *err);
/* Check a text; white space around a token is cut in place. ERR_INVALID if it is not PEM, or not a token that an HTTP
 * header can carry; ERR_TOOBIG: it is too long a token. */
int credential_check(char *text, enum credential what, struct err *err);
/* Decode base64, ignoring line breaks. The caller frees the text; NULL: s is not base64. */
char *credential_decode(const char *s);

#endif
