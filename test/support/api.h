/* A test API server and a client of it on a loop: what scenarios begin with. */
#ifndef HALFLIFE_TEST_SUPPORT_API_H
#define HALFLIFE_TEST_SUPPORT_API_H

#include "../fake/apiserver.h"
#include "kube/client.h"
#include "net/loop.h"

struct api {
        struct fake *fake;
        struct loop *loop;
        struct access *access;
        struct client *client;
};
/* Aborts where it cannot begin. */
void api_begin(struct api *a, const struct fake_options *o);
void api_end(struct api *a);
/* Turn the loop until it holds; false: it did not within a minute. */
bool api_until(struct api *a, bool (*holds)(void *arg), void *arg);
/* Turn the loop for so long, holding or not: for what must not happen. */
void api_turn(struct api *a, int64_t ms);
/* Put the APIService of a version of custom.metrics.k8s.io. service: in namespace halflife; more: members of the spec,
 * each behind a comma. */
void api_put_service(struct api *a, const char *version, const char *service, const char *more);

#endif
