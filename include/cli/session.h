/*
 * What a command that asks the API server needs: a loop, credentials, a client; and the options that say which server.
 */
#ifndef HALFLIFE_CLI_SESSION_H
#define HALFLIFE_CLI_SESSION_H

#include "cli/options.h"
#include "kube/client.h"

#define SESSION_OPTIONS                                                                                                \
        {.name = "kubeconfig",                                                                                         \
         .value = "FILE",                                                                                              \
         .help = "kubeconfig; else KUBECONFIG, ~/.kube/config, or the pod's service account"},                         \
        {                                                                                                              \
                .name = "context", .value = "NAME", .help = "context of the kubeconfig; else its current one"          \
        }

struct session {
        struct loop *loop;
        struct access *access;
        struct client *client;
};

/* kubeconfig and context may be NULL. 0 or what access_load says; release in any case. */
int session_open(struct session *s, const char *kubeconfig, const char *context, struct err *err);
/* As the settings of the same name are: what was given, else HALFLIFE_KUBECONFIG and HALFLIFE_CONTEXT. */
int session_open_given(struct session *s, const char *kubeconfig, const char *context, struct err *err);
void session_release(struct session *s);
/* A 404 of the group, not of an object: halflife's CRDs are not there. */
bool session_no_kinds(const struct err *err);
/* The way out behind the text of an error that asking the API server gave: it was not reached, does not know who asks,
 * or has none of halflife's kinds; others stay as they are. Returns its code. */
int session_advise(struct err *err);

#endif
