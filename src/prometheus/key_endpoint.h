/*
 * The endpoints that give keys for Prometheus, where the environment names them.
 */
#ifndef HALFLIFE_PROMETHEUS_KEY_ENDPOINT_H
#define HALFLIFE_PROMETHEUS_KEY_ENDPOINT_H

#include "base/err.h"

/* Whether keys may cross the way to a URL, which that variable of the environment gives: by TLS, or without it within
 * the pod and its node, as in AWS' own programs. Returns 0, or ERR_INVALID. */
int key_endpoint_check(const char *variable, const char *url, struct err *err);

#endif
