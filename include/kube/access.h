/*
 * How to reach an API server: from kubeconfig files or from within a pod; and the credentials, which rotate under us.
 *
 * kubeconfig: KUBECONFIG (a ':' list, merged, the first wins per name), --kubeconfig, ~/.kube/config; context; cluster
 * CA, client certificate and key by data or file (relative to the file that names it), token, tokenFile, exec
 * credential plug-ins, tls-server-name, proxy-url, insecure-skip-tls-verify. In a pod: the mounted token, CA and
 * namespace. Files are re-read each minute and once after a 401; what cannot be read keeps the old value.
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
/* An exec plug-in is waited for here, 30 s at most. */
int access_load(const struct access_options *o, struct access **ret, struct err *err);
void access_free(struct access *a);

/*
 * Re-read what has become due; force after a 401. An exec plug-in is started again (30 s at most, its output bounded)
 * and runs beside the loop while the old credentials stand: as long as access_busy says so, call again within a second.
 * Changes the peer's revision where it has to. < 0: something could not be renewed, and stays as it was until a
 * later try succeeds.
 */
int access_refresh(struct access *a, struct now now, bool force, struct err *err);
bool access_busy(const struct access *a); /* a plug-in is under way */
const struct http_peer *access_peer(const struct access *a);
const char *access_bearer(const struct access *a);    /* NULL: none; never logged */
const char *access_namespace(const struct access *a); /* of the context or the pod; "default" where neither says */
const char *
access_source(const struct access *a); /* for people: "context 'dev' of /home/…/config", "the pod's service account" */
bool access_in_cluster(const struct access *a);
const char *access_warning(const struct access *a); /* NULL, or one sentence to log (insecure-skip-tls-verify) */

#endif
