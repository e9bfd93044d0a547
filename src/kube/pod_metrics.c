#include "kube/pod_metrics.h"

#include <string.h>

#include "base/mem.h"
#include "kube/known_resource.h"
#include "net/stream.h"

/* The versions that decode_pod_metrics reads, the best first. */
static const char *const versions[] = {"v1", "v1beta1", NULL};

struct metrics_poll {
        struct client *client;
        const struct known_resource *resource;
        /* decode an item and pass it to each_pod or each_node */
        int (*take)(struct metrics_poll *p, struct text item);
        char *ns; /* NULL: all namespaces */
        struct mono until;
        bool found;                 /* discovery names the metrics API */
        bool known;                 /* discovery answered: a 404 says that there is no metrics API */
        bool repeated;              /* discovery was asked again after a 404 */
        struct loop_timer patience; /* set while discovery is asked */
        struct client_call *call;   /* NULL while discovery is asked */
        struct stream stream;
        struct arena arena; /* reset for each item */
        struct metrics_result result;
        void (*each_pod)(void *arg, const struct pod_metrics_view *m, struct wall date);
        void (*each_node)(void *arg, const struct node_metrics_view *m, struct wall date);
        void (*done)(void *arg, const struct metrics_result *r);
        void *arg;
};

static void poll_discover(struct metrics_poll *p);

/* The version to read. `r`: the kind as discovery found it; NULL: discovery did not find it, or did not answer. */
static const char *version_found(const struct api_resource *r)
{
        for (const char *const *v = versions; r && *v; v++)
                if (strcmp(*v, r->version) == 0)
                        return *v;
        return known_resources[KNOWN_POD_METRICS].version;
}

static int64_t poll_left_ms(const struct metrics_poll *p)
{
        int64_t left_ms = (p->until.ns - loop_now(client_loop(p->client)).mono.ns) / 1000000;
        return left_ms > 1 ? left_ms : 1;
}

/* --- the list --- */

static int poll_take_pod(struct metrics_poll *p, struct text item)
{
        struct pod_metrics_view view;
        int rc = decode_pod_metrics(item, &p->arena, &view, NULL);
        if (rc == 0)
                p->each_pod(p->arg, &view, p->result.date);
        return rc;
}

static int poll_take_node(struct metrics_poll *p, struct text item)
{
        struct node_metrics_view view;
        int rc = decode_node_metrics(item, &p->arena, &view, NULL);
        if (rc == 0)
                p->each_node(p->arg, &view, p->result.date);
        return rc;
}

static int poll_item(void *arg, struct text item)
{
        struct metrics_poll *p = arg;
        arena_reset(&p->arena);
        if (p->take(p, item) < 0)
                p->result.refused++;
        else
                p->result.pods++;
        return 0;
}

static void poll_head(void *arg, struct wall date)
{
        struct metrics_poll *p = arg;
        p->result.date = date;
}

static int poll_data(void *arg, const char *bytes, size_t len)
{
        struct metrics_poll *p = arg;
        return stream_feed(&p->stream, bytes, len, &p->result.err);
}

static void poll_release(struct metrics_poll *p)
{
        stream_release(&p->stream);
        arena_release(&p->arena);
        mem_free(p->ns);
        mem_free(p);
}

/* Whether to ask discovery again and repeat the poll, because the version that it named is gone (404). If the version's
 * server only fails, the next poll asks discovery. */
static bool poll_repeats(struct metrics_poll *p, const struct client_answer *a)
{
        bool gone = a->err.code == ERR_NOTFOUND;
        if (!p->found || (!gone && a->status < 500))
                return false;
        client_undiscover(p->client, p->resource->group);
        if (!gone || p->repeated)
                return false;
        p->repeated = true;
        return true;
}

static void poll_done(void *arg, const struct client_answer *a, bool whole)
{
        struct metrics_poll *p = arg;
        struct metrics_result *r = &p->result;
        p->call = NULL;
        if (poll_repeats(p, a)) {
                poll_discover(p);
                return;
        }
        r->absent = a->err.code == ERR_NOTFOUND && p->known && !p->found;
        if (r->err.code == 0)
                r->err = a->err;
        if (r->err.code == 0 && !whole)
                err_set(&r->err, ERR_RETRY, "the answer is incomplete");
        r->whole = r->err.code == 0 && stream_end(&p->stream, &r->err) == 0;
        if (r->err.code)
                err_wrap(&r->err, "read usage%s from metrics.k8s.io", p->each_node ? " of nodes" : "");
        p->done(p->arg, r);
        poll_release(p);
}

static void poll_list(struct metrics_poll *p)
{
        AUTO(mem_free)
        char *path = path_of(p->resource->group, p->result.version, p->ns, p->resource->plural, NULL, NULL);
        const struct client_stream_request r = {.path = path,
                                                .deadline_ms = poll_left_ms(p),
                                                .head = poll_head,
                                                .data = poll_data,
                                                .done = poll_done,
                                                .arg = p};
        p->call = client_stream(p->client, &r);
}

/* --- the version --- */

static void poll_discovered(void *arg, const struct api_resource *r, const struct err *err)
{
        struct metrics_poll *p = arg;
        loop_timer_stop(client_loop(p->client), &p->patience);
        p->result.version = version_found(r);
        p->found = r != NULL;
        p->known = r != NULL || err->code == ERR_NOTFOUND;
        poll_list(p);
}

static void poll_unanswered(void *arg)
{
        struct metrics_poll *p = arg;
        client_discover_cancel(p->client, p->resource->group, p);
        p->result.version = version_found(NULL);
        p->found = p->known = false;
        poll_list(p);
}

static void poll_discover(struct metrics_poll *p)
{
        loop_timer_set(client_loop(p->client), &p->patience, poll_left_ms(p) / 2, poll_unanswered, p);
        client_discover_version(p->client, p->resource->group, p->resource->kind, versions, poll_discovered, p);
}

/* `of`: a poll with the fields that differ between pods and nodes: the resource and the callbacks. */
static struct metrics_poll *poll_start(struct client *c, int64_t deadline_ms, const struct metrics_poll *of)
{
        struct metrics_poll *p = MEM_NEW(struct metrics_poll);
        *p = *of;
        p->client = c;
        p->until.ns = loop_now(client_loop(c)).mono.ns + deadline_ms * 1000000;
        stream_init(&p->stream, STREAM_LIST, STREAM_ITEM_MAX, STREAM_LIST_MAX, poll_item, p);
        poll_discover(p);
        return p;
}

struct metrics_poll *metrics_poll(struct client *c, const char *ns, int64_t deadline_ms,
                                  void (*each)(void *arg, const struct pod_metrics_view *m, struct wall date),
                                  void (*done)(void *arg, const struct metrics_result *r), void *arg)
{
        return poll_start(c, deadline_ms,
                          &(struct metrics_poll){.resource = &known_resources[KNOWN_POD_METRICS],
                                                 .take = poll_take_pod,
                                                 .ns = ns ? mem_string(ns) : NULL,
                                                 .each_pod = each,
                                                 .done = done,
                                                 .arg = arg});
}

struct metrics_poll *metrics_poll_nodes(struct client *c, int64_t deadline_ms,
                                        void (*each)(void *arg, const struct node_metrics_view *m, struct wall date),
                                        void (*done)(void *arg, const struct metrics_result *r), void *arg)
{
        return poll_start(c, deadline_ms,
                          &(struct metrics_poll){.resource = &known_resources[KNOWN_NODE_METRICS],
                                                 .take = poll_take_node,
                                                 .each_node = each,
                                                 .done = done,
                                                 .arg = arg});
}

void metrics_cancel(struct metrics_poll *p)
{
        if (p->call)
                client_cancel(p->client, p->call);
        client_discover_cancel(p->client, p->resource->group, p);
        loop_timer_stop(client_loop(p->client), &p->patience);
        poll_release(p);
}

/* --- for commands --- */

static void version_wait_found(void *arg, const struct api_resource *r, const struct err *err)
{
        const char **version = arg;
        (void)err;
        *version = version_found(r);
}

const char *metrics_version_wait(struct client *c)
{
        const char *version = NULL;
        client_discover_version(c, known_resources[KNOWN_POD_METRICS].group, known_resources[KNOWN_POD_METRICS].kind,
                                versions, version_wait_found, &version);
        while (!version)
                loop_turn(client_loop(c), -1);
        return version;
}
