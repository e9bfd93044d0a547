/*
 * Learning polls usage each cycle and adds it to histories, counts out-of-memory kills, back-fills histories from
 * Prometheus, and joins imported and adopted histories. All functions run on the loop's thread.
 */
#ifndef HALFLIFE_LEARN_LEARNER_H
#define HALFLIFE_LEARN_LEARNER_H

#include "cache/checkpointer.h"
#include "kube/pod_metrics.h"
#include "learn/backfill.h"
#include "learn/usage_from.h"
#include "ledger/prices.h"
#include "notices/notices.h"
#include "prometheus/prometheus.h"
#include "safety/safety.h"
#include "store/transfer.h"

struct learner;
struct learner_options { /* everything belongs to the caller and must stay valid until learner_free */
        struct loop *loop;
        struct client *client;
        struct cache *cache;
        const struct live_settings *live;
        struct checkpointer *checkpointer;
        struct clock_skew *skew;
        struct leadership *leadership;
        struct notices *notices;
        struct safety *safety;
        const struct prometheus_options *prometheus; /* url NULL: no Prometheus */
        const char *prices;                          /* as ledger/prices.h reads them; NULL: none */
        enum usage_from usage_from;
        int64_t history_ms;        /* how far back histories are back-filled; 0: no back-fill */
        int64_t step_ms;           /* between two points of a back-filled series */
        void (*polled)(void *arg); /* the poll of this cycle has ended, with usage or an error */
        /* The same of the nodes' usage. Not NULL: it is read even while no workload has a profile. */
        void (*nodes_polled)(void *arg);
        void *arg;
};
struct learner *learner_new(const struct learner_options *o);
/* Set up Prometheus, the back-fill and the usage source, as the options say. Call once, before ingest_start.
 * ERR_INVALID: USAGE_FROM_PROMETHEUS, or prices from there, without a url; prices that cannot be read. */
int learner_connect(struct learner *learner, struct err *err);
void learner_stop(struct learner *learner); /* end the poll under way; no further callback */
/* NULL: does nothing. No request of the client may end after it: free the client first, or turn the loop no more. */
void learner_free(struct learner *learner);

/* --- usage (ingest.c) --- */

/* Start the poll of a cycle; options.polled is called at its end, or from within where no workload has a profile. */
void ingest_start(struct learner *learner);
/*
 * Without cycles: poll the usage of one namespace, or of all (ns NULL; else interned by the cache), and add it to the
 * histories. done is called once, from the loop. One poll at a time, never beside ingest_start. After the last poll
 * ingest_running counts the minute.
 */
void ingest_poll(struct learner *learner, const char *ns, int64_t deadline_ms,
                 void (*done)(void *arg, const struct metrics_result *r), void *arg);
void ingest_running(struct learner *learner); /* count a minute in which the pods that run now ran */
/* Add the measurement of one pod to its histories. date: the Date header of the answer that contained it. */
void ingest_fold(void *learner, const struct pod_metrics_view *m, struct wall date);

/* --- usage of nodes (node_usage.c) --- */

void node_usage_store(struct learner *learner); /* with a checkpoint: store the nodes' samples */
/* At the start: take a note of the database, if it is such samples. */
void node_usage_load(struct learner *learner, struct text name, struct text value);
/* After a poll: add what the pods of a node use together to its history, for targets of dimension Node (node_sums.c).
 */
void node_sums_polled(struct learner *learner);

/* --- kills (oom_kills.c) --- */

void oom_begin(struct learner *learner);    /* once everything was listed: from now on oom_seen_now counts kills */
void oom_count(struct learner *learner);    /* after the cache was settled: count the kills still pending */
void oom_seen_now(struct learner *learner); /* after a pod was added, changed or removed: count its kills at once */

bool oom_asks(const struct learner *learner); /* some kill waits for the Events of its pod, which were asked for */

/* --- histories from elsewhere --- */

/* Once a pass: run the annotation commands (adopt, import) on Recommendations and write their answers. */
void annotation_commands_settle(struct learner *learner);
/* Once a cycle: backfill_tick, where there is a back-fill. */
void learner_backfill(struct learner *learner);
/* Once a cycle: ask Prometheus which containers are throttled, where it is the usage source and it is time. */
void learner_throttling(struct learner *learner);
/* Once a cycle: ask Prometheus for prices, where the setting says so and it is time. */
void learner_ask_prices(struct learner *learner);
const struct prices *learner_prices(const struct learner *learner); /* of now; NULL: none are known */
/* Identify the histories whose samples h contains: h itself first, then the imported ones. Returns their number. */
int import_sources(const struct history *h, uint64_t ret[static TRANSFER_SOURCES]);

struct learner_counts { /* since the start */
        uint64_t samples[SAMPLE_VERDICTS], unknown_pods, unread_items, odd_containers, polls_failed, kills,
                kills_not_believed;
        uint64_t nodes[NODE_VERDICTS], unknown_nodes; /* measurements of nodes */
};
const struct learner_counts *learner_counts(const struct learner *learner);
const struct backfill *learner_backfills(const struct learner *learner); /* NULL: there is no back-fill */

#endif
