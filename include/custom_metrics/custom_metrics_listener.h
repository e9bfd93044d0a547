/*
 * The listener of the API of custom metrics: TLS, a thread of its own, and nobody but the front proxy. It answers from
 * the same view as everything else (custom_metrics/custom_metrics.h). Until custom_metrics_listener_trust tells who the
 * front proxy is (custom_metrics/front_proxy.h), 503. Refusals are Status objects. 64 connections, 32 KiB of request
 * line and headers.
 */
#ifndef HALFLIFE_CUSTOM_METRICS_CUSTOM_METRICS_LISTENER_H
#define HALFLIFE_CUSTOM_METRICS_CUSTOM_METRICS_LISTENER_H

#include <stdint.h>

#include "base/err.h"
#include "snapshot/snapshot_ref.h"

struct front_proxy;
struct custom_metrics_listener_options {
        const char *listen; /* "127.0.0.1:6443", ":6443" */
        const char *cert_file,
                *key_file; /* PEM, looked at each second; NULL: custom_metrics_listener_set_certificate */
        void (*trouble)(void *arg,
                        const struct err *why); /* a certificate that cannot be used, on its thread; or NULL */
        void *arg;
};

struct custom_metrics_listener;
/* Texts of options are the caller's, and views too: kept until custom_metrics_listener_close. */
int custom_metrics_listener_open(const struct custom_metrics_listener_options *o, struct snapshot_ref *views,
                                 struct custom_metrics_listener **ret, struct err *err);
void custom_metrics_listener_close(struct custom_metrics_listener *a);
const char *
custom_metrics_listener_address(const struct custom_metrics_listener *a); /* "127.0.0.1:41234": the port bound */
/* Answers since the start, by the first digit of the status. */
void custom_metrics_listener_counts(const struct custom_metrics_listener *a, uint64_t ret[static 6]);
/* What new handshakes get from now on. Any thread. ERR_INVALID: the old pair is kept. */
int custom_metrics_listener_set_certificate(struct custom_metrics_listener *a, const char *cert_pem,
                                            const char *key_pem, struct err *err);
/* Who the front proxy is, from now on: the adapter's, NULL for nobody, of which why is told. Any thread. */
void custom_metrics_listener_trust(struct custom_metrics_listener *a, struct front_proxy *f, const char *why);

#endif
