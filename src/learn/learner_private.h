#ifndef HALFLIFE_LEARN_LEARNER_PRIVATE_H
#define HALFLIFE_LEARN_LEARNER_PRIVATE_H

#include "base/log.h"
#include "learn/learner.h"

enum { PER_NAMESPACE_POLLS = 16 };

/* Whether the kubelet had containers of a pod killed (killing_events.c). */
enum { PROBE_QUESTIONS = 16 };
struct probe_question {
        struct learner *learner;
        char *pod; /* its key; NULL: the place is free */
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
        struct report *report;
        struct safety *safety;
        struct learner_options options;
        struct prometheus *prometheus; /* NULL: none is known */
        struct backfill *backfill;     /* NULL: nothing is asked of before */
        struct scrape *scrape;         /* usage being asked of Prometheus */
        struct metrics_poll *poll;
        const char **poll_ns; /* namespaces still to be polled; NULL: one list for all */
        size_t poll_left;
        size_t cursor;
        struct wall date;       /* the answer's Date header */
        struct mono poll_until; /* all polls of a cycle end by then */
        bool synced;            /* everything was listed once */
        struct probe_question question[PROBE_QUESTIONS];
        struct learner_counts count;
};

/* ingest.c */
/* The history of a pod's container, made when unknown; NULL: the pod has no target, or that has no profile any more. */
struct history *ingest_history(struct learner *learner, const struct pod *p, struct pod_container *pc);
/* Fold a sample, lending what it wants room for; the history is dirty where it was accepted. */
enum sample_verdict ingest_put(struct learner *learner, struct history *h, struct sample_watermark *watermark,
                               const struct sample *s);
void ingest_running(struct learner *learner);                     /* minutes with a running pod */
void ingest_lend(struct usage *u, const struct usage_room *room); /* more room for what it learned */

/* dimension_usage.c: the same for pods and namespaces that are targets themselves */
void dimension_fold(struct learner *learner, struct pod *p, const struct pod_metrics_view *m); /* the pod has more */
/* All of a poll is folded: the namespaces' sums, and minutes that ran. */
void dimension_polled(struct learner *learner);
/* A kill counts in the history of the pod as well. False: it has none. */
bool dimension_kill(struct learner *learner, const struct pod *p, const struct pod_container *pc,
                    const struct oom_kill *k);
/* Stores the number of a kill that was not believed. */
void dimension_disbelieve(struct learner *learner, const struct pod *p, const struct pod_container *pc);

/* prometheus_source.c: the same from Prometheus; calls done with the learner at the end */
void scrape_poll(struct learner *learner, const char *ns, int64_t deadline_ms,
                 void (*done)(void *arg, const struct metrics_result *r));
void scrape_stop(struct learner *learner);

/* killing_events.c: what the kubelet had killed of p is asked for; false: too many questions are under way.
 * oom_probe_told once it is known, or cannot be. */
bool probe_ask(struct learner *learner, struct pod *p);
void oom_probe_told(struct learner *learner, struct pod *p);
void probes_release(struct learner *learner);

/* raise.c */
/* A sample was accepted of a container whose history raises; its target has a profile. */
void raise_see(const struct history *h, struct pod *p, int container, const struct pod_metrics_container_view *v,
               struct wall at);

/* adopt_history.c, import_history.c: do what is asked of a target; the answer, the caller's. */
char *adopt_judge(struct learner *learner, struct target *t, const char *recommendation);
char *import_judge(struct learner *learner, struct target *t, const char *lines);

#endif
