#include "custom_metrics/custom_metrics_listener.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "custom_metrics/custom_metrics.h"
#include "custom_metrics/front_proxy.h"
#include "http/connection_places.h"
#include "http/listen_socket.h"
#include "http/tls_certificate.h"

enum { CONNECTIONS = 64, CONNECTION_BYTES = 32 << 10, IDLE_SECONDS = 60, LOOK_MS = 1000 };

struct custom_metrics_listener {
        struct custom_metrics_listener_options o;
        struct MHD_Daemon *daemon;
        struct connection_places places;
        struct snapshot_ref *views;
        struct certificate *certificate;
        struct mono looked; /* when the certificate's files were last checked */
        pthread_mutex_t lock;
        struct front_proxy *trusted; /* NULL: nobody may ask, for the reason in `why` */
        char why[256];
        char address[96];
        _Atomic uint64_t answers[6]; /* by the first digit of the status */
};

/* --- one request --- */

static const char *header_of(void *connection, const char *name)
{
        return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static gnutls_session_t session_of(struct MHD_Connection *c)
{
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        return info ? info->tls_session : NULL;
}

/* Returns 0 if the peer may ask, else the HTTP status of the refusal, with the reason in *ret_why. */
static unsigned custom_listener_judge(struct custom_metrics_listener *a, struct MHD_Connection *c, struct err *ret_why)
{
        unsigned count = 0, status = MHD_HTTP_SERVICE_UNAVAILABLE;
        const gnutls_datum_t *chain = gnutls_certificate_get_peers(session_of(c), &count);
        pthread_mutex_lock(&a->lock);
        if (a->trusted)
                status = front_proxy_judge(a->trusted, chain, count, header_of, c, ret_why);
        else
                err_set(ret_why, ERR_RETRY, "%s", a->why);
        pthread_mutex_unlock(&a->lock);
        return status;
}

static bool is_yes(const char *value)
{
        return value && *value && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}

static void custom_listener_answer(struct custom_metrics_listener *a, struct MHD_Connection *c, const char *url,
                                   const char *method, struct custom_answer *ret)
{
        struct err why = {0};
        unsigned refused = custom_listener_judge(a, c, &why);
        if (refused) {
                custom_metrics_refuse(refused, why.text, ret);
                return;
        }
        const struct custom_request r = {
                .method = method,
                .path = url,
                .label_selector = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "labelSelector"),
                .metric_selector = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "metricLabelSelector"),
                .watch = is_yes(MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "watch")),
        };
        struct snapshot *v = snapshot_ref_take(a->views);
        custom_metrics_answer(&r, v, ret);
        snapshot_drop(v);
}

static enum MHD_Result custom_listener_send_answer(struct custom_metrics_listener *a, struct MHD_Connection *c,
                                                   const struct custom_answer *answer)
{
        atomic_fetch_add(&a->answers[answer->status / 100], 1);
        struct MHD_Response *r = MHD_create_response_from_buffer(answer->len, answer->body, MHD_RESPMEM_MUST_FREE);
        if (!r) {
                free(answer->body);
                return MHD_NO;
        }
        MHD_add_response_header(r, "Content-Type", "application/json");
        MHD_add_response_header(r, "Cache-Control", "no-store");
        if (answer->status == MHD_HTTP_SERVICE_UNAVAILABLE)
                MHD_add_response_header(r, "Retry-After", "1");
        if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
                MHD_add_response_header(r, "Allow", "GET");
        enum MHD_Result rc = MHD_queue_response(c, answer->status, r);
        MHD_destroy_response(r);
        return rc;
}

static enum MHD_Result custom_listener_handle(void *adapter, struct MHD_Connection *c, const char *url,
                                              const char *method, const char *version, const char *upload,
                                              size_t *upload_size, void **state)
{
        static int seen;
        struct custom_answer is = {0};
        (void)version, (void)upload;
        if (*state == NULL || *upload_size > 0) { /* skip the body, and answer only after its end */
                *state = &seen;
                *upload_size = 0;
                return MHD_YES;
        }
        custom_listener_answer(adapter, c, url, method, &is);
        return custom_listener_send_answer(adapter, c, &is);
}

/* --- connections --- */

static void custom_listener_look_at_certificate(struct custom_metrics_listener *a)
{
        struct err err = {0};
        struct mono now = mono_read();
        if (now.ns - a->looked.ns < (int64_t)LOOK_MS * 1000000)
                return;
        a->looked = now;
        if (certificate_look(a->certificate, now, &err) == CERTIFICATE_REFUSED && a->o.trouble)
                a->o.trouble(a->o.arg, &err);
}

/* Request a client certificate without requiring it. A peer without a certificate then gets an answer that says why
 * halflife refuses; a failed handshake would not tell. */
static void custom_listener_came(void *adapter, struct MHD_Connection *c, void **context,
                                 enum MHD_ConnectionNotificationCode what)
{
        struct custom_metrics_listener *a = adapter;
        connection_places_notify(&a->places, c, context, what);
        if (what != MHD_CONNECTION_NOTIFY_STARTED)
                return;
        certificate_mine(a->certificate);
        custom_listener_look_at_certificate(a);
        gnutls_session_t session = session_of(c);
        if (session)
                gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
}

/* --- from start to stop --- */

static int custom_listener_start_daemon(struct custom_metrics_listener *a, int fd, struct err *err)
{
        connection_places_init(&a->places, CONNECTIONS);
        a->daemon =
                MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TLS | MHD_USE_ITC, 0, NULL, NULL,
                                 custom_listener_handle, a, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                                 (unsigned)(CONNECTIONS + CONNECTION_PLACES_SPARE), MHD_OPTION_CONNECTION_TIMEOUT,
                                 (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
                                 MHD_OPTION_NOTIFY_CONNECTION, custom_listener_came, a, MHD_OPTION_HTTPS_CERT_CALLBACK,
                                 certificate_retrieve, MHD_OPTION_HTTPS_PRIORITIES, TLS_PRIORITIES, MHD_OPTION_END);
        return a->daemon ? 0 : err_set(err, ERR_IO, "the HTTP server does not start: %m");
}

static int custom_listener_start(struct custom_metrics_listener *a, struct err *err)
{
        if ((a->o.cert_file == NULL) != (a->o.key_file == NULL))
                return err_set(err, ERR_INVALID, "a certificate and its key belong together: one of them is missing");
        int rc = certificate_new(a->o.cert_file, a->o.key_file, &a->certificate, err);
        int fd = rc < 0 ? rc : socket_listen(a->o.listen, err);
        if (fd < 0)
                return fd;
        socket_describe(fd, a->address, sizeof a->address);
        rc = custom_listener_start_daemon(a, fd, err);
        if (rc < 0)
                close(fd);
        return rc;
}

int custom_metrics_listener_open(const struct custom_metrics_listener_options *o, struct snapshot_ref *views,
                                 struct custom_metrics_listener **ret, struct err *err)
{
        struct custom_metrics_listener *a = MEM_NEW(struct custom_metrics_listener);
        a->o = *o;
        a->views = views;
        pthread_mutex_init(&a->lock, NULL);
        snprintf(a->why, sizeof a->why, "the front proxy's CA was not read from the API server yet: try again");
        int rc = custom_listener_start(a, err);
        if (rc < 0) {
                custom_metrics_listener_close(a);
                return err_wrap(err, "listen on '%s'", o->listen);
        }
        *ret = a;
        return 0;
}

void custom_metrics_listener_close(struct custom_metrics_listener *a)
{
        if (!a)
                return;
        if (a->daemon)
                MHD_stop_daemon(a->daemon);
        connection_places_release(&a->places);
        certificate_free(a->certificate);
        front_proxy_free(a->trusted);
        pthread_mutex_destroy(&a->lock);
        mem_free(a);
}

const char *custom_metrics_listener_address(const struct custom_metrics_listener *a)
{
        return a->address;
}

int custom_metrics_listener_set_certificate(struct custom_metrics_listener *a, const char *cert_pem,
                                            const char *key_pem, struct err *err)
{
        return certificate_set(a->certificate, cert_pem, key_pem, err);
}

void custom_metrics_listener_trust(struct custom_metrics_listener *a, struct front_proxy *f, const char *why)
{
        pthread_mutex_lock(&a->lock);
        struct front_proxy *was = a->trusted;
        a->trusted = f;
        if (why)
                snprintf(a->why, sizeof a->why, "%s", why);
        pthread_mutex_unlock(&a->lock);
        front_proxy_free(was);
}

void custom_metrics_listener_counts(const struct custom_metrics_listener *a, uint64_t ret[static 6])
{
        for (int i = 0; i < 6; i++)
                ret[i] = atomic_load(&a->answers[i]);
}
