#include "load_watcher/load_listener.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "core/node_ring.h"
#include "http/plain_listener.h"
#include "load_watcher/load_document.h"

enum {
        CONNECTIONS = 64,
        BLOCK_BYTES = 128 << 10, /* of a document, sent at once */
        HOST_MOST = 253          /* bytes of an unknown host's name that the answer repeats */
};

struct load_listener {
        struct plain_listener plain;
        pthread_mutex_t lock;           /* protects `document`, `made` and `sendings` */
        struct load_document *document; /* NULL: no node was measured yet */
        struct mono made;
        LIST_HEAD(, load_sending) sendings;
        _Atomic uint64_t answers[6]; /* by the first digit of the status */
};

/* A whole document that is being sent, block by block. */
struct load_sending {
        LIST_ENTRY(load_sending) link;
        struct load_listener *listener;
        struct load_document *document; /* NULL: taken back, so the sending ends */
};

/* --- the document --- */

/* Take all documents but `last` from their sendings, so that clients that read slowly keep no more documents in
 * memory. */
static void load_listener_take_back(struct load_listener *l, const struct load_document *last)
{
        struct load_sending *s;
        LIST_FOREACH (s, &l->sendings, link)
                if (s->document != last) {
                        load_document_drop(s->document);
                        s->document = NULL;
                }
}

void load_listener_publish(struct load_listener *l, struct load_document *d, struct mono made)
{
        struct load_document *last = d;
        pthread_mutex_lock(&l->lock);
        if (l->document || load_document_nodes(d) > 0) {
                last = l->document;
                load_listener_take_back(l, last);
                l->document = d;
                l->made = made;
        }
        pthread_mutex_unlock(&l->lock);
        load_document_drop(last);
}

/* A reference to the current document, or NULL. *ret_silent: the document is too old, and counts as one without
 * nodes. */
static struct load_document *load_listener_take(struct load_listener *l, bool *ret_silent)
{
        pthread_mutex_lock(&l->lock);
        struct load_document *d = l->document ? load_document_hold(l->document) : NULL;
        *ret_silent = (mono_read().ns - l->made.ns) / 1000000 > NODE_SILENT_MS;
        pthread_mutex_unlock(&l->lock);
        return d;
}

/* --- answers --- */

static enum MHD_Result load_listener_send(struct load_listener *l, struct MHD_Connection *c, unsigned status,
                                          const char *type, struct MHD_Response *r)
{
        if (!r)
                return MHD_NO;
        atomic_fetch_add(&l->answers[status / 100], 1);
        MHD_add_response_header(r, "Content-Type", type);
        MHD_add_response_header(r, "Cache-Control", "no-store");
        MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
        if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
                MHD_add_response_header(r, "Allow", "GET, HEAD");
        enum MHD_Result rc = MHD_queue_response(c, status, r);
        MHD_destroy_response(r);
        return rc;
}

static enum MHD_Result load_listener_text(struct load_listener *l, struct MHD_Connection *c, unsigned status,
                                          struct text t)
{
        return load_listener_send(
                l, c, status, "text/plain; charset=utf-8",
                MHD_create_response_from_buffer(t.len, (void *)(uintptr_t)t.p, MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result load_listener_say(void *listener, struct MHD_Connection *c, unsigned status, const char *text)
{
        return load_listener_text(listener, c, status, text_of(text));
}

/* Send a JSON body, and take ownership of it. */
static enum MHD_Result load_listener_give(struct load_listener *l, struct MHD_Connection *c, char *body, size_t len)
{
        struct MHD_Response *r = MHD_create_response_from_buffer(len, body, MHD_RESPMEM_MUST_FREE);
        if (!r)
                mem_free(body);
        return load_listener_send(l, c, MHD_HTTP_OK, "application/json", r);
}

static ssize_t load_sending_read(void *arg, uint64_t at, char *out, size_t max)
{
        struct load_sending *s = arg;
        ssize_t len = MHD_CONTENT_READER_END_WITH_ERROR;
        pthread_mutex_lock(&s->listener->lock);
        if (s->document) {
                struct text all = load_document_whole(s->document);
                len = (ssize_t)(all.len - at < max ? all.len - at : max);
                memcpy(out, all.p + at, (size_t)len);
        }
        pthread_mutex_unlock(&s->listener->lock);
        return len;
}

static void load_sending_free(void *arg)
{
        struct load_sending *s = arg;
        pthread_mutex_lock(&s->listener->lock);
        LIST_REMOVE(s, link);
        pthread_mutex_unlock(&s->listener->lock);
        load_document_drop(s->document);
        mem_free(s);
}

static enum MHD_Result load_listener_whole(struct load_listener *l, struct MHD_Connection *c, struct load_document *d)
{
        struct load_sending *s = MEM_NEW(struct load_sending);
        s->listener = l;
        s->document = load_document_hold(d);
        pthread_mutex_lock(&l->lock);
        LIST_INSERT_HEAD(&l->sendings, s, link);
        pthread_mutex_unlock(&l->lock);
        struct MHD_Response *r = MHD_create_response_from_callback(load_document_whole(d).len, BLOCK_BYTES,
                                                                   load_sending_read, s, load_sending_free);
        if (!r)
                load_sending_free(s);
        return load_listener_send(l, c, MHD_HTTP_OK, "application/json", r);
}

static enum MHD_Result load_listener_unknown(struct load_listener *l, struct MHD_Connection *c, struct text host)
{
        char text[HOST_MOST + 64];
        int len = snprintf(text, sizeof text, "No metrics found for host ");
        size_t more = host.len < HOST_MOST ? host.len : HOST_MOST;
        memcpy(text + len, host.p, more);
        return load_listener_text(l, c, MHD_HTTP_NOT_FOUND, (struct text){text, (size_t)len + more});
}

/* Answer with the node named `host` alone. d NULL: there is no node, so the answer is 404. */
static enum MHD_Result load_listener_one(struct load_listener *l, struct MHD_Connection *c,
                                         const struct load_document *d, struct text host)
{
        size_t len = 0;
        char *body = d ? load_document_one(d, host, &len) : NULL;
        return body ? load_listener_give(l, c, body, len) : load_listener_unknown(l, c, host);
}

static enum MHD_Result load_listener_none(struct load_listener *l, struct MHD_Connection *c,
                                          const struct load_document *d)
{
        size_t len;
        char *body = load_document_none(d, &len);
        return load_listener_give(l, c, body, len);
}

static struct text load_listener_host(struct MHD_Connection *c)
{
        const char *value = NULL;
        size_t len = 0;
        (void)MHD_lookup_connection_value_n(c, MHD_GET_ARGUMENT_KIND, "host", strlen("host"), &value, &len);
        return value ? (struct text){value, len} : (struct text){"", 0};
}

static enum MHD_Result load_listener_watcher(void *listener, struct MHD_Connection *c)
{
        struct load_listener *l = listener;
        struct text host = load_listener_host(c);
        enum MHD_Result rc;
        bool silent;
        struct load_document *d = load_listener_take(l, &silent);
        if (!d)
                rc = load_listener_say(l, c, MHD_HTTP_INTERNAL_SERVER_ERROR, "");
        else if (host.len)
                rc = load_listener_one(l, c, silent ? NULL : d, host);
        else if (silent)
                rc = load_listener_none(l, c, d);
        else
                rc = load_listener_whole(l, c, d);
        load_document_drop(d);
        return rc;
}

static enum MHD_Result load_listener_health(void *listener, struct MHD_Connection *c)
{
        struct load_listener *l = listener;
        bool silent;
        struct load_document *d = load_listener_take(l, &silent);
        bool tells = d && !silent && load_document_nodes(d) > 0;
        load_document_drop(d);
        return load_listener_say(l, c, tells ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, "");
}

static const struct plain_route routes[] = {{"/watcher", load_listener_watcher},
                                            {"/watcher/health", load_listener_health}};

/* --- from start to stop --- */

int load_listener_open(const char *listen, struct load_listener **ret, struct err *err)
{
        struct load_listener *l = MEM_NEW(struct load_listener);
        pthread_mutex_init(&l->lock, NULL);
        const struct plain_answers answers = {.route = routes,
                                              .routes = sizeof routes / sizeof routes[0],
                                              .not_found = "404 page not found\n",
                                              .say = load_listener_say,
                                              .arg = l};
        int rc = plain_listener_start(&l->plain, listen, CONNECTIONS, &answers, err);
        if (rc < 0) {
                load_listener_close(l);
                return rc;
        }
        *ret = l;
        return 0;
}

void load_listener_close(struct load_listener *l)
{
        if (!l)
                return;
        plain_listener_stop(&l->plain);
        load_document_drop(l->document);
        pthread_mutex_destroy(&l->lock);
        mem_free(l);
}

const char *load_listener_address(const struct load_listener *l)
{
        return l ? l->plain.address : "";
}

void load_listener_counts(const struct load_listener *l, uint64_t ret[static 6])
{
        for (int i = 0; i < 6; i++)
                ret[i] = l ? atomic_load(&l->answers[i]) : 0;
}
