/*
 * How to reach an API server, from kubeconfig files or from within a pod, and credentials, which may change at any
 * time.
 *
 * kubeconfig: KUBECONFIG (a ':' list, merged, the first wins per name), --kubeconfig, ~/.kube/config; context; cluster
 * CA, client certificate and key by data or file (relative to the file that names it), token, tokenFile, exec
 * credential plug-ins, tls-server-name, proxy-url, insecure-skip-tls-verify, disable-compression. In a pod: the mounted
 * token, CA and namespace. Files are read again each minute and after a 401. If a file cannot be read, the old value
 * stays.
 */
#ifndef HALFLIFE_KUBE_ACCESS_H
#define HALFLIFE_KUBE_ACCESS_H

#include "base/clock.h"
#include "base/err.h"
#include "net/http.h"

struct access_options {
        const char *kubeconfig; /* NULL: KUBECONFIG, ~/.kube/config, else in-cluster */
        const char *context;    /* NULL: current-context */
};

struct access;
/* Load the configuration. An exec plug-in is run and waited for, 30 s at most. */
int access_load(const struct access_options *o, struct access **ret, struct err *err);
void access_free(struct access *a);

/*
 * Renew the credentials that are due; with `force`, after a 401, all of them. An exec plug-in is started (30 s at most,
 * bounded output) and runs beside the loop, while the old credentials stay in use. While access_busy is true, call this
 * again within a second. The peer's revision grows if its certificates change. Returns < 0 if something could not be
 * renewed; the old value stays until a later try succeeds.
 */
int access_refresh(struct access *a, struct now now, bool force, struct err *err);
bool access_busy(const struct access *a); /* a plug-in is running */
const struct http_peer *access_peer(const struct access *a);
const char *access_bearer(const struct access *a); /* the token, never to be logged; NULL: none */
/* Namespace of the context or the pod; "default" if neither has one. */
const char *access_namespace(const struct access *a);
const char *
access_source(const struct access *a); /* for people: "context 'dev' of /home/…/config", "the pod's service account" */
bool access_in_cluster(const struct access *a);
const char *access_warning(const struct access *a); /* NULL, or one sentence to log (insecure-skip-tls-verify) */

#endif
