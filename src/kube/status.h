/*
 * What an answer of the API server means: its Status object, or the plain text that proxies and a busy server send.
 */
#ifndef HALFLIFE_SRC_KUBE_STATUS_H
#define HALFLIFE_SRC_KUBE_STATUS_H

#include "kube/client.h"

/* Judge a reply and its body: sets status, date, retry_after_ms, body and err of *ret. what names the request for
 * people ("GET /api/v1/pods"); json_patch: it sent one, whose 422 can mean that a test failed. */
void answer_judge(struct client_answer *ret, const struct http_reply *reply, struct text body, const char *what,
                  bool json_patch);

#endif
