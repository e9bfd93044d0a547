/*
 * The I/O of the reflector: one streamed request at a time, with a timer between requests.
 */
#include "kube/informer.h"

#include "reflector.h"

enum {
        QUERY_MAX = 64 << 10,
        LIST_SILENCE_MS = 60000,
        STEADY_MS = 1500,
        WATCH_MS = 11 * MINUTE_MS, /* a watch's deadline, in case the server does not end it after ten minutes */
        WATCH_SILENCE_MS = 90000,  /* bookmarks come each minute, so the connection is dead after this long silence */
};

struct informer {
        struct client *client;
        struct client_call *call; /* NULL: no request is in progress */
        struct loop_timer again, steady;
        struct reflector reflector;
        char *path, *selector;
};

static void informer_ask(void *arg);

static void informer_steady(void *arg)
{
        struct informer *in = arg;
        reflector_steady(&in->reflector);
}

/* A watch that the server accepted and did not end at once works, even if the first event takes long. */
static void informer_head(void *arg, struct wall date)
{
        struct informer *in = arg;
        (void)date;
        loop_timer_set(client_loop(in->client), &in->steady, STEADY_MS, informer_steady, in);
}

static int informer_data(void *arg, const char *p, size_t len)
{
        struct informer *in = arg;
        return reflector_data(&in->reflector, p, len, loop_now(client_loop(in->client)).mono);
}

static void informer_done(void *arg, const struct client_answer *a, bool whole)
{
        struct informer *in = arg;
        struct loop *l = client_loop(in->client);
        in->call = NULL;
        loop_timer_stop(l, &in->steady);
        int64_t wait_ms = reflector_end(&in->reflector, a, whole, loop_now(l).mono);
        loop_timer_set(l, &in->again, wait_ms, informer_ask, in);
}

static void informer_ask(void *arg)
{
        struct informer *in = arg;
        struct buf query;
        buf_init(&query, QUERY_MAX);
        bool watch = reflector_begin(&in->reflector, loop_now(client_loop(in->client)).mono, &query);
        const struct client_stream_request r = {
                .path = in->path,
                .query = query.data,
                .watch = watch,
                .gzip = !watch,
                .deadline_ms = watch ? WATCH_MS : 0,
                .silence_ms = watch ? WATCH_SILENCE_MS : LIST_SILENCE_MS,
                .head = informer_head,
                .data = informer_data,
                .done = informer_done,
                .arg = in,
        };
        in->call = client_stream(in->client, &r);
        buf_release(&query);
}

struct informer *informer_new(struct client *c, const char *path, const char *selector,
                              const struct informer_owner *owner)
{
        struct informer *in = MEM_NEW(struct informer);
        in->client = c;
        in->path = mem_string(path);
        in->selector = mem_string(selector);
        reflector_init(&in->reflector, in->path, in->selector, owner);
        informer_ask(in);
        return in;
}

void informer_free(struct informer *in)
{
        if (!in)
                return;
        if (in->call)
                client_cancel(in->client, in->call);
        loop_timer_stop(client_loop(in->client), &in->again);
        loop_timer_stop(client_loop(in->client), &in->steady);
        reflector_release(&in->reflector);
        mem_free(in->path);
        mem_free(in->selector);
        mem_free(in);
}

void informer_hurry(struct informer *in)
{
        if (!in->call)
                loop_timer_set(client_loop(in->client), &in->again, 0, informer_ask, in);
}

void informer_relist(struct informer *in)
{
        if (in->call)
                client_cancel(in->client, in->call);
        in->call = NULL;
        loop_timer_stop(client_loop(in->client), &in->steady);
        reflector_relist(&in->reflector);
        informer_hurry(in);
}

const struct informer_stats *informer_stats(const struct informer *in)
{
        return &in->reflector.stats;
}

const char *informer_path(const struct informer *in)
{
        return in->path;
}
