/*
 * The connection of a command to the API server: loop, credentials and client, and the options that choose the server.
 */
#ifndef HALFLIFE_CLI_SESSION_H
#define HALFLIFE_CLI_SESSION_H

#include "cli/options.h"
#include "kube/client.h"

/* The options that choose server and credentials; NULL: not given. */
struct session_options {
        const char *kubeconfig, *context;
};
/* clang-format off */
#define SESSION_OPTIONS(type, m)                                                                                       \
        {.name = "kubeconfig", .value = "FILE", OPTION_IN(type, m.kubeconfig),                                         \
         .help = "kubeconfig; default: $KUBECONFIG, ~/.kube/config, or the pod's service account"},                    \
        {.name = "context", .value = "NAME", OPTION_IN(type, m.context),                                               \
         .help = "context of the kubeconfig; default: its current context"}
/* clang-format on */

struct session {
        struct loop *loop;
        struct access *access;
        struct client *client;
};

/* Load the credentials and make the client. kubeconfig and context may be NULL. Returns 0 or the error of access_load;
 * call session_release in either case. */
int session_open(struct session *s, const char *kubeconfig, const char *context, struct err *err);
/* Open a session by the options. The environment variables HALFLIFE_KUBECONFIG and HALFLIFE_CONTEXT stand in for
 * options that are not given, as for settings. */
int session_open_given(struct session *s, const struct session_options *o, struct err *err);
/* Open a session by the options, for a command with --server, which needs no API server. If no credentials can be
 * loaded, s->access stays NULL, and 0 is returned; but a kubeconfig or context given by an option must exist. */
int session_open_optional(struct session *s, const struct session_options *o, struct err *err);
void session_release(struct session *s);
/* Whether err is the HTTP 404 of an API group, not of an object, so that the group's CRDs are not installed. */
bool session_no_kinds(const struct err *err);
/* Append advice to the error of a call to the API server, if the server was not reached, rejected the credentials, or
 * lacks halflife's CRDs. Other errors stay as they are. Returns the error's code. */
int session_advise(struct err *err);

#endif
