#include "kube/pod_metrics.h"

#include "base/mem.h"
#include "kube/known_resource.h"
#include "net/stream.h"

struct metrics_poll {
        struct client *client;
        struct client_call *call;
        struct stream stream;
        struct arena arena; /* reset for each item */
        struct metrics_result result;
        void (*each)(void *arg, const struct pod_metrics_view *m, struct wall date);
        void (*done)(void *arg, const struct metrics_result *r);
        void *arg;
};

static int poll_item(void *arg, struct text item)
{
        struct metrics_poll *p = arg;
        struct pod_metrics_view view;
        arena_reset(&p->arena);
        if (decode_pod_metrics(item, &p->arena, &view, NULL) < 0) {
                p->result.refused++;
                return 0;
        }
        p->result.pods++;
        p->each(p->arg, &view, p->result.date);
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
        mem_free(p);
}

static void poll_done(void *arg, const struct client_answer *a, bool whole)
{
        struct metrics_poll *p = arg;
        struct metrics_result *r = &p->result;
        r->absent = a->err.code == ERR_NOTFOUND;
        if (r->err.code == 0)
                r->err = a->err;
        if (r->err.code == 0 && !whole)
                err_set(&r->err, ERR_RETRY, "the answer is incomplete");
        r->whole = r->err.code == 0 && stream_end(&p->stream, &r->err) == 0;
        if (r->err.code)
                err_wrap(&r->err, "read usage from metrics.k8s.io");
        p->done(p->arg, r);
        poll_release(p);
}

struct metrics_poll *metrics_poll(struct client *c, const char *ns, int64_t deadline_ms,
                                  void (*each)(void *arg, const struct pod_metrics_view *m, struct wall date),
                                  void (*done)(void *arg, const struct metrics_result *r), void *arg)
{
        struct metrics_poll *p = MEM_NEW(struct metrics_poll);
        p->client = c;
        p->each = each;
        p->done = done;
        p->arg = arg;
        stream_init(&p->stream, STREAM_LIST, STREAM_ITEM_MAX, STREAM_LIST_MAX, poll_item, p);
        AUTO(mem_free) char *path = known_resource_path(KNOWN_POD_METRICS, ns, NULL, NULL);
        const struct client_stream_request r = {.path = path,
                                                .deadline_ms = deadline_ms,
                                                .head = poll_head,
                                                .data = poll_data,
                                                .done = poll_done,
                                                .arg = p};
        p->call = client_stream(c, &r);
        return p;
}

void metrics_cancel(struct metrics_poll *p)
{
        client_cancel(p->client, p->call);
        poll_release(p);
}
