/*
 * Interprets a response of the API server: its Status object, or the plain text that proxies and a busy server send.
 */
#ifndef HALFLIFE_SRC_KUBE_ANSWER_STATUS_H
#define HALFLIFE_SRC_KUBE_ANSWER_STATUS_H

#include "kube/client.h"

/* Fill *ret from a response and its body. what names the request in error texts ("GET /api/v1/pods"). json_patch: the
 * request was a JSON patch, so a 422 may mean that a test of the patch failed. */
void answer_judge(struct client_answer *ret, const struct http_reply *reply, struct text body, const char *what,
                  bool json_patch);

#endif
