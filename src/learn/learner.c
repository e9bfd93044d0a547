#include "learner_private.h"
#include "node_prices.h"
#include "throttling.h"

struct learner *learner_new(const struct learner_options *o)
{
        struct learner *learner = MEM_NEW(struct learner);
        *learner = (struct learner){
                .loop = o->loop,
                .client = o->client,
                .cache = o->cache,
                .live = o->live,
                .checkpointer = o->checkpointer,
                .skew = o->skew,
                .leadership = o->leadership,
                .notices = o->notices,
                .safety = o->safety,
                .options = *o,
        };
        return learner;
}

static struct usage_source *learner_source(const struct learner *learner)
{
        switch (learner->options.usage_from) {
        case USAGE_FROM_METRICS_SERVER:
                return metrics_source_new(learner->client);
        case USAGE_FROM_PROMETHEUS:
                return prometheus_source_new(learner->prometheus, learner->loop, learner->cache, learner->live);
        }
        return NULL;
}

int learner_connect(struct learner *learner, struct err *err)
{
        const struct learner_options *o = &learner->options;
        if (o->usage_from == USAGE_FROM_PROMETHEUS && !o->prometheus->url)
                return err_set(err, ERR_INVALID, "usage-source is prometheus, but prometheus-url is not set");
        int rc = o->prometheus->url ? prometheus_new(learner->loop, o->prometheus, &learner->prometheus, err) : 0;
        if (rc == 0 && o->prices)
                rc = node_prices_new(learner, o->prices, &learner->prices, err);
        if (rc < 0)
                return rc;
        if (learner->prometheus && o->history_ms > 0)
                learner->backfill = backfill_new(learner, learner->prometheus, o->history_ms, o->step_ms);
        if (o->usage_from == USAGE_FROM_PROMETHEUS)
                learner->throttling = throttling_new(learner);
        learner->source = learner_source(learner);
        return 0;
}

void learner_stop(struct learner *learner)
{
        if (learner->source)
                learner->source->stop(learner->source);
        throttling_stop(learner->throttling);
        node_prices_stop(learner->prices);
}

void learner_free(struct learner *learner)
{
        if (!learner)
                return;
        if (learner->source)
                learner->source->free(learner->source);
        backfill_free(learner->backfill);
        throttling_free(learner->throttling);
        node_prices_free(learner->prices);
        prometheus_free(learner->prometheus);
        probes_release(learner);
        mem_free(learner->poll_ns);
        mem_free(learner);
}

void learner_backfill(struct learner *learner)
{
        if (learner->backfill)
                backfill_tick(learner->backfill);
}

void learner_throttling(struct learner *learner)
{
        if (learner->throttling)
                throttling_tick(learner->throttling, loop_now(learner->loop).mono);
}

void learner_ask_prices(struct learner *learner)
{
        if (learner->prices)
                node_prices_tick(learner->prices, loop_now(learner->loop).mono);
}

const struct prices *learner_prices(const struct learner *learner)
{
        return learner->prices ? node_prices_now(learner->prices) : NULL;
}

const struct learner_counts *learner_counts(const struct learner *learner)
{
        return &learner->count;
}

const struct backfill *learner_backfills(const struct learner *learner)
{
        return learner->backfill;
}
