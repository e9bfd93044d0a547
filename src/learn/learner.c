#include "learner_private.h"

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
                .report = o->report,
                .safety = o->safety,
                .options = *o,
        };
        return learner;
}

int learner_connect(struct learner *learner, struct err *err)
{
        const struct learner_options *o = &learner->options;
        if (o->usage_from_prometheus && !o->prometheus->url)
                return err_set(err, ERR_INVALID, "usage-source is prometheus, and no prometheus-url says where it is");
        if (!o->prometheus->url)
                return 0;
        int rc = prometheus_new(learner->loop, o->prometheus, &learner->prometheus, err);
        if (rc == 0 && o->history_ms > 0)
                learner->backfill = backfill_new(learner, learner->prometheus, o->history_ms, o->step_ms);
        return rc;
}

void learner_stop(struct learner *learner)
{
        if (learner->poll)
                metrics_cancel(learner->poll);
        learner->poll = NULL;
        scrape_stop(learner);
}

void learner_free(struct learner *learner)
{
        if (!learner)
                return;
        scrape_stop(learner);
        backfill_free(learner->backfill);
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

const struct learner_counts *learner_counts(const struct learner *learner)
{
        return &learner->count;
}

const struct backfill *learner_backfills(const struct learner *learner)
{
        return learner->backfill;
}
