/*
 * Usage of nodes, read once in each cycle. Decisions wait for the usage of pods, but nothing waits for the usage of
 * nodes.
 */
#include "learner_private.h"

/* Log a warning at the first measurement of each verdict that refuses or bounds it. */
static void node_usage_tell(struct learner *learner, const struct node *n, const struct node_metrics_view *m,
                            enum node_verdict v)
{
        static const char *const why[NODE_VERDICTS] = {
                [NODE_BOUNDED] = "a node's usage is above its capacity: it counts as the capacity",
                [NODE_FUTURE] = "a node's usage is dated ahead of every clock, and refused: correct the node's clock",
                [NODE_INVALID] =
                        "a node's usage is negative or lacks a value, and is refused: does its kubelet report?",
                [NODE_NO_CAPACITY] = "a node has no capacity, so its usage says nothing: does its kubelet report?",
        };
        char at[WALL_TEXT_MAX];
        if (!why[v] || learner->nodes.told[v])
                return;
        learner->nodes.told[v] = true;
        log_warn(why[v], KV("node", n->name), KV_INT("millicores", m->has[CPU] ? m->cpu_nano / 1000000 : -1),
                 KV_INT("bytes", m->has[MEMORY] ? m->memory_bytes : -1), KV("time", wall_print(m->at, at)),
                 KV("more", "only counted"));
}

static int64_t node_usage_milli(int64_t nano)
{
        enum { NANO = 1000000 };
        return nano <= 0 ? nano : nano / NANO + (nano % NANO > 0);
}

void node_usage_fold(void *arg, const struct node_metrics_view *m, struct wall date)
{
        struct learner *learner = arg;
        struct wall latest = clock_skew_judging(learner->skew, date);
        const struct node *n = map_get(&learner->cache->nodes.by_name, m->name);
        const struct node_usage u = {
                m->at, {m->has[CPU] ? node_usage_milli(m->cpu_nano) : -1, m->has[MEMORY] ? m->memory_bytes : -1}};
        if (!n || !n->facts) {
                learner->count.unknown_nodes++;
                return;
        }
        enum node_verdict v = node_ring_add(&n->facts->ring, &u, n->facts->capacity, latest);
        learner->count.nodes[v]++;
        node_usage_tell(learner, n, m, v);
}

static void node_usage_away(struct learner *learner, const struct metrics_result *r)
{
        if (learner->nodes.away || notice_usage_source(learner->notices)->away ||
            notice_outage_told(learner->notices, &r->err)) /* the log has reported this failure already */
                return;
        learner->nodes.away = true;
        log_warn("usage of nodes cannot be read: halflife nodes lacks it until it can; nothing else is held",
                 KV("error", r->err.text), KV("hint", r->absent ? learner->source->if_absent : ""));
}

static void node_usage_back(struct learner *learner, const struct metrics_result *r)
{
        if (learner->nodes.away)
                log_info("usage of nodes can be read again", KV_INT("nodes", r->pods));
        learner->nodes.away = false;
}

static void node_usage_polled(void *arg, const struct metrics_result *r)
{
        struct learner *learner = arg;
        learner->nodes.polling = false;
        learner->count.unread_items += (uint64_t)r->refused;
        if (r->err.code && r->pods == 0)
                node_usage_away(learner, r);
        else
                node_usage_back(learner, r);
        if (learner->options.nodes_polled)
                learner->options.nodes_polled(learner->options.arg);
}

/* Warn once if there are too many nodes. The nodes beyond the bound have no facts. */
static void node_usage_tell_full(struct learner *learner)
{
        if (learner->nodes.full_told || learner->cache->nodes.with_facts < NODES_MOST ||
            learner->cache->nodes.by_name.count == learner->cache->nodes.with_facts)
                return;
        learner->nodes.full_told = true;
        log_warn("there are more nodes than halflife keeps usage for: the others are left out",
                 KV_INT("kept", NODES_MOST), KV_INT("nodes", learner->cache->nodes.by_name.count));
}

void node_usage_start(struct learner *learner, int64_t deadline_ms)
{
        node_usage_tell_full(learner);
        if (learner->nodes.polling || learner->cache->nodes.with_facts == 0)
                return;
        learner->nodes.polling = true;
        learner->source->poll_nodes(learner->source, deadline_ms,
                                    (struct node_usage_sink){node_usage_fold, node_usage_polled, learner});
}

/* --- the database --- */

static const char note_name[] = "nodes";

void node_usage_store(struct learner *learner)
{
        struct buf text __attribute__((cleanup(buf_release_auto))) = {0};
        if (learner->cache->nodes.with_facts == 0)
                return;
        buf_init(&text, STORE_NOTE_MAX);
        node_samples_print(learner->cache, loop_now(learner->loop).wall, &text);
        checkpointer_note(learner->checkpointer, note_name, buf_text(&text));
}

void node_usage_load(struct learner *learner, struct text name, struct text value)
{
        struct err err = {0};
        if (text_is(name, note_name) &&
            node_samples_parse(learner->cache, value, loop_now(learner->loop).wall, &err) < 0)
                log_warn("the usage of nodes in the database is damaged: it is learned anew", KV("error", err.text));
}
