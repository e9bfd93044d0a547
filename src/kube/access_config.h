/*
 * Where an API server is and how to prove who we are, as files say it: from kubeconfig or from a pod's mounts.
 */
#ifndef HALFLIFE_SRC_KUBE_ACCESS_CONFIG_H
#define HALFLIFE_SRC_KUBE_ACCESS_CONFIG_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/* A text given in place, or by a file that may change; both NULL: absent. */
struct access_text {
        char *text; /* as last read */
        char *path; /* NULL: fixed */
};

/* How to run a credential plug-in; strings are its own, arrays end with NULL. */
struct exec_spec {
        char *command; /* NULL: there is none */
        char **argument, **environment;
        char *api_version;
        char *hint;      /* how to install it, or NULL */
        json_t *cluster; /* what it is told of the cluster, or NULL */
};

struct access_config {
        char *source; /* for people */
        char *ns;     /* NULL: none is named */
        char *server; /* "https://host:port", no slash behind */
        char *server_name, *proxy_url;
        bool insecure, in_cluster;
        struct access_text ca, cert, key, token;
        struct exec_spec exec;
};

enum { CREDENTIAL_BYTES_MAX = 1 << 20 };

/* list: paths with ':' between; context NULL: the current one. Files named in place are read. */
int kubeconfig_load(const char *list, const char *context, struct access_config *ret, struct err *err);
/* dir: where the service account is mounted; host and port as KUBERNETES_SERVICE_HOST and _PORT tell them. */
int pod_config_load(const char *dir, const char *host, const char *port, struct access_config *ret, struct err *err);
void access_config_release(struct access_config *c);

/* Read a text's file again. 1: it changed, 0: as before, < 0: it stays as it was (PEM and tokens are looked at). */
enum credential { CREDENTIAL_PEM, CREDENTIAL_TOKEN };
int access_text_read(struct access_text *t, enum credential what, struct err *err);
/* Check and take over text; ERR_INVALID when it is no PEM, or no token an HTTP header could carry. */
int credential_check(char *text, enum credential what, struct err *err);

#endif
