/*
 * Learning: usage is polled each cycle and folded into histories, kills for lack of memory are counted, histories from
 * before are loaded, and those from elsewhere joined. One loop thread.
 */
#ifndef HALFLIFE_LEARN_LEARNER_H
#define HALFLIFE_LEARN_LEARNER_H

#include "cache/checkpointer.h"
#include "kube/pod_metrics.h"
#include "learn/backfill.h"
#include "prometheus/prometheus.h"
#include "report/report.h"
#include "safety/safety.h"
#include "store/transfer.h"

struct learner;
struct learner_options { /* all is the caller's and stays */
        struct loop *loop;
        struct client *client;
        struct cache *cache;
        const struct live_settings *live;
        struct checkpointer *checkpointer;
        struct clock_skew *skew;
        struct leadership *leadership;
        struct report *report;
        struct safety *safety;
        const struct prometheus_options *prometheus; /* url NULL: none */
        bool usage_from_prometheus;                  /* each cycle, in place of metrics-server */
        int64_t history_ms;                          /* how far back histories of before are loaded; 0: not at all */
        int64_t step_ms;                             /* between their points */
        void (*polled)(void *arg);                   /* usage of this cycle has come, or will not */
        void *arg;
};
struct learner *learner_new(const struct learner_options *o);
/* Prometheus, where there is one. */
int learner_connect(struct learner *learner, struct err *err);
void learner_stop(struct learner *learner); /* polls no more */
void learner_free(struct learner *learner); /* after the client; NULL: nothing */

/* --- usage (ingest.c) --- */

void ingest_start(struct learner *learner);                                          /* poll; calls polled at the end */
void ingest_fold(void *learner, const struct pod_metrics_view *m, struct wall date); /* one item of the poll */

/* --- kills (oom.c) --- */

void oom_begin(struct learner *learner);    /* everything was listed once: kills are counted as they are seen */
void oom_count(struct learner *learner);    /* after a settle */
void oom_seen_now(struct learner *learner); /* after a pod was taken in, or out */

/* --- histories from elsewhere --- */

/* Once a cycle: what annotations on Recommendations ask for is done, and answered. */
void annotation_commands_settle(struct learner *learner);
void learner_backfill(
        struct learner *learner); /* once a cycle, after everything was settled: begins with what is due */
/* Whose samples a history holds, itself first; returns how many. */
int import_sources(const struct history *h, uint64_t ret[static TRANSFER_SOURCES]);

struct learner_counts { /* since the start */
        uint64_t samples[SAMPLE_VERDICTS], unknown_pods, unread_items, polls_failed, kills, kills_not_believed;
};
const struct learner_counts *learner_counts(const struct learner *learner);
const struct backfill *learner_backfills(const struct learner *learner); /* NULL: nothing is asked of before */

#endif
