#ifndef HALFLIFE_LEARN_LEARNER_PRIVATE_H
#define HALFLIFE_LEARN_LEARNER_PRIVATE_H

#include "base/log.h"
#include "cache/bookkeeping.h"
#include "core/pod_aggregate.h"
#include "learn/learner.h"
#include "usage_source.h"

enum { PER_NAMESPACE_POLLS = 16 };

/* A request for a pod's Events, to learn whether the kubelet itself killed containers of the pod (killing_events.c). */
enum { PROBE_QUESTIONS = 16 };
struct probe_question {
        struct learner *learner;
        char *pod; /* the pod's key; NULL: this place is free */
        uint8_t uid[UID_BYTES];
};

struct learner {
        struct loop *loop;
        struct client *client;
        struct cache *cache;
        const struct live_settings *live;
        struct checkpointer *checkpointer;
        struct clock_skew *skew;
        struct leadership *leadership;
        struct notices *notices;
        struct safety *safety;
        struct learner_options options;
        struct prometheus *prometheus; /* client of Prometheus; NULL: none is configured */
        struct backfill *backfill;     /* the back-fill; NULL: there is none */
        struct throttling *throttling; /* NULL: Prometheus is not the usage source */
        struct node_prices *prices;    /* NULL: the setting prices is not set */
        struct usage_source *source;   /* where usage is read; NULL before learner_connect */
        const char **poll_ns;          /* namespaces to poll one by one; NULL: one list for the whole cluster */
        size_t poll_left;              /* namespaces of poll_ns that are still to be polled */
        size_t cursor;                 /* place in cache.order where the next pod_at searches on */
        struct wall date;              /* Date header of the last answer of this cycle; 0: no answer yet */
        struct mono poll_until;        /* deadline for all polls of a cycle */
        /* Called at the end of the poll that ingest_poll has started. */
        void (*poll_done)(void *arg, const struct metrics_result *r);
        void *poll_arg;
        bool synced; /* all kinds were listed, so oom_seen_now counts kills */
        struct probe_question question[PROBE_QUESTIONS];
        int command_answers;   /* answers to annotation commands that are being written */
        size_t command_at;     /* place in cache.published of the next Recommendation to look at */
        uint64_t command_pass; /* number of the pass of annotation commands */
        bool commands_await;   /* commands wait, because ANSWERS_AT_ONCE answers are being written */
        struct node_usage_state {
                bool polling;             /* a poll of the nodes is under way */
                bool away;                /* the last poll of the nodes failed, and the log has reported that */
                bool full_told;           /* the log has reported that there are too many nodes */
                bool told[NODE_VERDICTS]; /* the log has reported a measurement with this verdict */
                bool sum_told;            /* the log has reported that pods use more than their node has */
        } nodes;
        struct learner_counts count;
};

/* ingest.c */
/* The history of a pod's container, created if there is none. NULL: the pod has no target, or the target has no
 * profile. */
struct history *ingest_history(struct learner *learner, const struct pod *p, struct pod_container *pc);
/* ingest_count counts a sample's verdict, and keeps for the target why it was refused. ingest_put adds a sample to a
 * history, and gives the history's histograms more room where needed. A history that took the sample is marked for the
 * next checkpoint. */
void ingest_count(struct learner *learner, struct target *t, const struct pod *p, const struct history *h,
                  enum sample_verdict verdict);
enum sample_verdict ingest_put(struct learner *learner, struct history *h, struct sample_watermark *watermark,
                               const struct sample *s);
/* Mark in s which values are of the container's start, by the profile's ignoreFirst: they do not move the target. A
 * sample from before began_ms is of an earlier process, whose start is not known, so it counts. */
void ingest_judge_start(const struct usage *u, const struct resource_policy policy[static RESOURCES], int64_t began_ms,
                        struct sample *s);
void ingest_lend(struct usage *u, const struct usage_room *room); /* give u's histogram the room that it lacks */

/* node_usage.c: start a cycle's poll of the nodes, unless the poll before is still under way. */
void node_usage_start(struct learner *learner, int64_t deadline_ms);
void node_usage_fold(void *learner, const struct node_metrics_view *m, struct wall date);

/* pod_namespace_usage.c: usage of pods, namespaces and nodes that are targets themselves. dimension_fold adds the
 * measurement of one pod, whose p->more must be set. */
void dimension_fold(struct learner *learner, struct pod *p, const struct pod_metrics_view *m);
/* Call after a whole poll: adds the sums over namespaces to their histories, and counts the minutes in which pods
 * ran. */
void dimension_polled(struct learner *learner);
/* Add a sum over running pods to the target's history, unless usage of some pods is missing. most: the most that a sum
 * can count as, in millicores and bytes. Returns whether the sum was larger. */
bool dimension_take_sum(struct learner *learner, struct target *t, const struct pod_aggregate *all,
                        const int64_t most[static RESOURCES]);
/* Count a kill in the history of the pod, if the pod is a target itself. False: it is none. */
bool dimension_kill(struct learner *learner, const struct pod *p, const struct pod_container *pc,
                    const struct oom_kill *k);
/* Store the restart count of a kill that was not believed, so that halflife does not judge the kill again after its own
 * restart. */
void dimension_disbelieve(struct learner *learner, const struct pod *p, const struct pod_container *pc);

/* killing_events.c: ask the API server for Events about containers of p that the kubelet itself killed.
 * oom_probe_told is called at the end, also after an error. False: PROBE_QUESTIONS requests are under way already. */
bool probe_ask(struct learner *learner, struct pod *p);
void oom_probe_told(struct learner *learner, struct pod *p);
void probes_release(struct learner *learner);

/* raise_samples.c */
/* After a sample of one of a pod's containers, decide whether the pod needs larger requests at once. h must have
 * originals, and its target a profile. */
void raise_see(const struct history *h, struct pod *p, int container, const struct pod_metrics_container_view *v,
               struct wall at);

/* adopt_history.c, import_history.c: run an annotation command on a target. Returns the answer; the caller frees it. */
char *adopt_judge(struct learner *learner, struct target *t, const char *recommendation);
char *import_judge(struct learner *learner, struct target *t, const char *lines);

#endif
