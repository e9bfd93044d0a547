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
        const struct prometheus_options *prometheus; /* its url NULL: no Prometheus is configured */
        const char *prices; /* the setting prices, as ledger/prices.h reads it; NULL: no prices */
        enum usage_from usage_from;
        int64_t history_ms;        /* how far back histories are back-filled; 0: no back-fill */
        int64_t step_ms;           /* the time between two points of a back-filled series */
        void (*polled)(void *arg); /* called when a cycle's poll of the pods has ended, with usage or an error */
        /* Called when a cycle's poll of the nodes has ended. If this is not NULL, nodes are polled even while no
         * workload has a profile. */
        void (*nodes_polled)(void *arg);
        void *arg;
};
struct learner *learner_new(const struct learner_options *o);
/* Set up Prometheus, the back-fill and the usage source, as the options say. Call once, before ingest_start.
 * ERR_INVALID: USAGE_FROM_PROMETHEUS, or prices from there, without a url; prices that cannot be read. */
int learner_connect(struct learner *learner, struct err *err);
void learner_stop(struct learner *learner); /* ends the polls and queries under way, without further callbacks */
/* learner_free(NULL) does nothing. No request of the client may end after this call: free the client first, or turn the
 * loop no more. */
void learner_free(struct learner *learner);

/* --- usage (ingest.c) --- */

/* Start a cycle's poll of usage. options.polled is called at its end, or before ingest_start returns if no workload has
 * a profile. */
void ingest_start(struct learner *learner);
/*
 * For a halflife without cycles: poll the usage of one namespace (ns, interned by the cache) or of all (ns NULL), and
 * add it to the histories. `done` is called once, from the loop. Only one poll may be under way, and none of
 * ingest_start beside it. Call ingest_running after the last poll.
 */
void ingest_poll(struct learner *learner, const char *ns, int64_t deadline_ms,
                 void (*done)(void *arg, const struct metrics_result *r), void *arg);
void ingest_running(struct learner *learner); /* count this minute as one in which the running pods ran */
/* Add the measurement of one pod to its histories. date: the Date header of the answer that contained it. */
void ingest_fold(void *learner, const struct pod_metrics_view *m, struct wall date);

/* --- usage of nodes (node_usage.c) --- */

void node_usage_store(struct learner *learner); /* store the nodes' samples, together with a checkpoint */
/* Call at the start with each note of the database: takes the note of the nodes' samples, and ignores all other
 * notes. */
void node_usage_load(struct learner *learner, struct text name, struct text value);
/* Call after a poll of the pods: adds what a node's pods use together to the node's history, for targets of dimension
 * Node (node_sums.c). */
void node_sums_polled(struct learner *learner);

/* --- kills (oom_kills.c) --- */

void oom_begin(struct learner *learner);    /* all kinds are listed: from now on oom_seen_now counts kills */
void oom_count(struct learner *learner);    /* call after the cache was settled: counts all pending kills */
void oom_seen_now(struct learner *learner); /* after a watch added, changed or removed a pod: count its kills */

bool oom_asks(const struct learner *learner); /* whether a request for a pod's Events is under way, for its kills */

/* --- histories from elsewhere --- */

/* Once a pass: run the annotation commands (adopt, import) on Recommendations and write their answers. */
void annotation_commands_settle(struct learner *learner);
/* Call once a cycle: calls backfill_tick, if there is a back-fill. */
void learner_backfill(struct learner *learner);
/* Call once a cycle: asks Prometheus which containers are throttled, if Prometheus is the usage source and the query is
 * due. */
void learner_throttling(struct learner *learner);
/* Call once a cycle: asks Prometheus for prices, if the setting prices says so and the query is due. */
void learner_ask_prices(struct learner *learner);
const struct prices *learner_prices(const struct learner *learner); /* the prices known now; NULL: none */
/* Set ret to the identities of the histories whose samples h contains: h itself first, then the imported ones. Returns
 * their number. */
int import_sources(const struct history *h, uint64_t ret[static TRANSFER_SOURCES]);

struct learner_counts { /* what was learned or refused since this process started */
        uint64_t samples[SAMPLE_VERDICTS], unknown_pods, unread_items, odd_containers, polls_failed, kills,
                kills_not_believed;
        uint64_t nodes[NODE_VERDICTS], unknown_nodes; /* measurements of nodes: by verdict, and of unknown nodes */
};
const struct learner_counts *learner_counts(const struct learner *learner);
const struct backfill *learner_backfills(const struct learner *learner); /* the back-fill; NULL: there is none */

#endif
