/*
 * Usage from metrics-server, which halflife reads through the API server.
 */
#include "base/mem.h"
#include "usage_source.h"

struct metrics_source {
        struct usage_source source;
        struct client *client;
        struct metrics_poll *poll, *node_poll; /* the polls of pods and of nodes under way; NULL: none */
        struct usage_sink to;
        struct node_usage_sink nodes_to;
};

static void metrics_source_each(void *arg, const struct pod_metrics_view *m, struct wall date)
{
        const struct metrics_source *s = arg;
        s->to.each(s->to.arg, m, date);
}

static void metrics_source_done(void *arg, const struct metrics_result *r)
{
        struct metrics_source *s = arg;
        s->poll = NULL;
        s->to.done(s->to.arg, r);
}

static void metrics_source_poll(struct usage_source *source, const char *ns, int64_t deadline_ms, struct usage_sink to)
{
        struct metrics_source *s = (struct metrics_source *)source;
        s->to = to;
        s->poll = metrics_poll(s->client, ns, deadline_ms, metrics_source_each, metrics_source_done, s);
}

static void metrics_source_each_node(void *arg, const struct node_metrics_view *m, struct wall date)
{
        const struct metrics_source *s = arg;
        s->nodes_to.each(s->nodes_to.arg, m, date);
}

static void metrics_source_nodes_done(void *arg, const struct metrics_result *r)
{
        struct metrics_source *s = arg;
        s->node_poll = NULL;
        s->nodes_to.done(s->nodes_to.arg, r);
}

static void metrics_source_poll_nodes(struct usage_source *source, int64_t deadline_ms, struct node_usage_sink to)
{
        struct metrics_source *s = (struct metrics_source *)source;
        s->nodes_to = to;
        s->node_poll =
                metrics_poll_nodes(s->client, deadline_ms, metrics_source_each_node, metrics_source_nodes_done, s);
}

static void metrics_source_stop(struct usage_source *source)
{
        struct metrics_source *s = (struct metrics_source *)source;
        if (s->poll)
                metrics_cancel(s->poll);
        if (s->node_poll)
                metrics_cancel(s->node_poll);
        s->poll = s->node_poll = NULL;
}

static void metrics_source_free(struct usage_source *source)
{
        mem_free(source);
}

struct usage_source *metrics_source_new(struct client *client)
{
        struct metrics_source *s = MEM_NEW(struct metrics_source);
        *s = (struct metrics_source){.source = {.if_absent = "; is metrics-server installed?",
                                                .poll = metrics_source_poll,
                                                .poll_nodes = metrics_source_poll_nodes,
                                                .stop = metrics_source_stop,
                                                .free = metrics_source_free},
                                     .client = client};
        return &s->source;
}
