/*
 * The TLS listener of the custom metrics API, on a thread of its own. Only the API server's front proxy may ask the
 * listener (custom_metrics/front_proxy.h); before custom_metrics_listener_trust names that proxy, every answer is 503.
 * Answers come from the current snapshot (custom_metrics/custom_metrics.h), and refusals are Status objects. Bounds: 64
 * connections, 32 KiB of request line and headers.
 */
#ifndef HALFLIFE_CUSTOM_METRICS_CUSTOM_METRICS_LISTENER_H
#define HALFLIFE_CUSTOM_METRICS_CUSTOM_METRICS_LISTENER_H

#include <stdint.h>

#include "base/err.h"
#include "snapshot/snapshot_ref.h"

struct front_proxy;
struct custom_metrics_listener_options {
        const char *listen;                                /* "127.0.0.1:6443", ":6443" */
        const char *cert_file, *key_file;                  /* PEM, checked for changes each second; NULL:
                                                              custom_metrics_listener_set_certificate sets the pair */
        void (*trouble)(void *arg, const struct err *why); /* the files hold an unusable certificate; runs on the
                                                              listener's thread; may be NULL */
        void *arg;
};

struct custom_metrics_listener;
/* The caller keeps the texts of *o, and `views`, until custom_metrics_listener_close. */
int custom_metrics_listener_open(const struct custom_metrics_listener_options *o, struct snapshot_ref *views,
                                 struct custom_metrics_listener **ret, struct err *err);
void custom_metrics_listener_close(struct custom_metrics_listener *a);
const char *
custom_metrics_listener_address(const struct custom_metrics_listener *a); /* "127.0.0.1:41234": the port bound */
/* Answers since the start, by the first digit of the status. */
void custom_metrics_listener_counts(const struct custom_metrics_listener *a, uint64_t ret[static 6]);
/* Set the certificate for new handshakes; callable on any thread. ERR_INVALID: the old certificate stays. */
int custom_metrics_listener_set_certificate(struct custom_metrics_listener *a, const char *cert_pem,
                                            const char *key_pem, struct err *err);
/* Trust this front proxy from now on, and take ownership of f. With f NULL nobody is trusted, and clients get the
 * reason `why`. Callable on any thread. */
void custom_metrics_listener_trust(struct custom_metrics_listener *a, struct front_proxy *f, const char *why);

#endif
