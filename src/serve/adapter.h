/*
 * The listener of the API of custom metrics: TLS, a thread of its own, and nobody but the front proxy. It answers from
 * the same view as everything else.
 */
#ifndef HALFLIFE_SRC_SERVE_ADAPTER_H
#define HALFLIFE_SRC_SERVE_ADAPTER_H

#include "serve/server.h"
#include "slot.h"

struct adapter;
/* trouble and renewed of calls are called on its thread. */
int adapter_open(const struct custom_options *o, struct slot *views, struct adapter **ret, struct err *err);
void adapter_close(struct adapter *a);
const char *adapter_address(const struct adapter *a);
void adapter_counts(const struct adapter *a, uint64_t ret[static 6]); /* as server_custom_counts */
/* Any thread. */
int adapter_set_certificate(struct adapter *a, const char *cert_pem, const char *key_pem, struct err *err);
void adapter_trust(struct adapter *a, struct front_proxy *f, const char *why); /* see server_trust */

#endif
