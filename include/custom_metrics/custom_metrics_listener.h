/*
 * The listener of the API of custom metrics: TLS, a thread of its own, and nobody but the front proxy. It answers from
 * the same view as everything else (custom_metrics/custom_metrics.h). Until adapter_trust tells who the front proxy is
 * (custom_metrics/front_proxy.h), 503. Refusals are Status objects. 64 connections, 32 KiB of request line and headers.
 */
#ifndef HALFLIFE_CUSTOM_METRICS_CUSTOM_METRICS_LISTENER_H
#define HALFLIFE_CUSTOM_METRICS_CUSTOM_METRICS_LISTENER_H

#include <stdint.h>

#include "base/err.h"
#include "snapshot/snapshot_ref.h"

struct front_proxy;
struct adapter_options {
        const char *listen;               /* "127.0.0.1:6443", ":6443" */
        const char *cert_file, *key_file; /* PEM, looked at each second; NULL: adapter_set_certificate */
        void (*trouble)(void *arg,
                        const struct err *why); /* a certificate that cannot be used, on its thread; or NULL */
        void *arg;
};

struct adapter;
/* Texts of options are the caller's, and views too: kept until adapter_close. */
int adapter_open(const struct adapter_options *o, struct snapshot_ref *views, struct adapter **ret, struct err *err);
void adapter_close(struct adapter *a);
const char *adapter_address(const struct adapter *a); /* "127.0.0.1:41234": the port bound */
/* Answers since the start, by the first digit of the status. */
void adapter_counts(const struct adapter *a, uint64_t ret[static 6]);
/* What new handshakes get from now on. Any thread. ERR_INVALID: the old pair is kept. */
int adapter_set_certificate(struct adapter *a, const char *cert_pem, const char *key_pem, struct err *err);
/* Who the front proxy is, from now on: the adapter's, NULL for nobody, of which why is told. Any thread. */
void adapter_trust(struct adapter *a, struct front_proxy *f, const char *why);

#endif
