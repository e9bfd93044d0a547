/*
 * A REST listener on 127.0.0.1 with a view of a few workloads, and a judge of tokens in place of the API server: "good"
 * and "other" may all, "narrow" may read web-0 alone, "poor" may nothing, "lost" finds nobody to ask, any other is a
 * stranger's. So it is seen without a controller.
 */
#ifndef HALFLIFE_TEST_SUPPORT_STAND_H
#define HALFLIFE_TEST_SUPPORT_STAND_H

#include <pthread.h>
#include <stdbool.h>

#include "fetch.h"
#include "http/server.h"

enum { STAND_HELD_MAX = 256 };

struct stand {
        struct server *server;
        const char *address; /* of the listener */
        pthread_mutex_t lock;
        bool hold; /* questions wait for stand_release */
        struct auth_key held[STAND_HELD_MAX];
        enum server_verdict verdict[STAND_HELD_MAX];
        int holds, asked, withdrawn, recalled, owners, troubles, renewals;
        int admitted[ADMISSION_RESULTS];
        bool no_answer; /* nothing is ever recalled, no owner found */
        bool late; /* what was asked last is recalled as soon as something is admitted, by the server's own thread */
        uint64_t ticket; /* of what was asked last */
        bool learned;    /* set before stand_publish: a profile selects the workloads, percentiles can be tried, changes
                            are logged */
        struct percentile_table *percentiles; /* NULL: none can be tried */
        char trouble[ERR_TEXT_MAX];
};

/* calls are filled in, but for relay: where there is one (its arg is the stand), it is asked instead of recall; listen
 * where it is NULL, and request_ms where it is 0, with more than any request takes. Aborts where it cannot start. */
void stand_begin(struct stand *s, const struct rest_listener_options *o);
void stand_end(struct stand *s);
/* A view with so many Deployments "web-0", "web-1", … in namespace shop; source_error NULL: all is well. */
void stand_publish(struct stand *s, int workloads, const char *source_error);
void stand_release(struct stand *s); /* what is held is judged, and nothing is held any more */
int stand_asked(struct stand *s);
/* One request, by http; what is asked for but the URL is in f. */
struct got stand_ask(const struct stand *s, const char *path, struct fetch f);
/* Wait until it holds; false: it did not in time. */
bool stand_until(struct stand *s, bool (*holds)(struct stand *s), int64_t timeout_ms);

#define STAND_GET_WEB(more) "GET " STAND_WEB " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n" more "\r\n"
#define STAND_WEB           "/api/v1/namespaces/shop/workloads/Deployment/web-0"

/* A pod of namespace shop at admission; STAND_OWNED: of a ReplicaSet. */
#define STAND_REVIEW(owner)                                                                                            \
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u-1\",\"kind\":{" \
        "\"group\":\"\",\"version\":\"v1\",\"kind\":\"Pod\"},\"operation\":\"CREATE\",\"namespace\":\"shop\","         \
        "\"userInfo\":{"                                                                                               \
        "\"username\":\"system:serviceaccount:kube-system:replicaset-controller\"},\"dryRun\":true,\"object\":{"       \
        "\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"generateName\":\"web-0-\"" owner                       \
        "},\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}}}"
#define STAND_OWNED                                                                                                    \
        ",\"ownerReferences\":[{\"apiVersion\":\"apps/"                                                                \
        "v1\",\"kind\":\"ReplicaSet\",\"name\":\"web-0-1\",\"uid\":\"r\","                                             \
        "\"controller\":true}]"

#endif
