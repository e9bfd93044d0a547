/*
 * What was decided about one target: the only thing that crosses from deciding to doing. A plan lives in the arena it
 * was made in.
 */
#ifndef HALFLIFE_PLAN_PLAN_H
#define HALFLIFE_PLAN_PLAN_H

#include "cache/cache.h"
#include "core/advise.h"

struct plan_container {
        const char *name;
        enum container_role role;
        struct advise_container facts;
        struct advice advice;
        struct amount running[RESOURCES]; /* the newest pod's request; without pods the template's */
        struct amount raw[RESOURCES];     /* the request as the owner set it, for the record: absent stays absent */
        struct amount raw_limit[RESOURCES];
        bool ours[RESOURCES];  /* the template's request is one we wrote */
        bool reset[RESOURCES]; /* we wrote it once and it is back at the original */
};

/* Under InPlace: how far the pods are from what is set. */
struct plan_resize {
        struct pod *next;                  /* to be resized now; NULL: none */
        bool raises;                       /* next uses more than it asks for */
        bool goes_on;                      /* pods are yet to be resized, and nothing holds that */
        bool stuck;                        /* some stay as they are: condition Applied says why */
        bool unserved;                     /* the server cannot resize pods */
        int pods, behind, refused, others; /* running; to be resized; refused; whose requests somebody else set */
        int first_behind;                  /* of those tried first, that do not have it yet */
        int unplaced;                      /* that no node has room for, as they came with the original */
        int progress[RESIZE_PROGRESSES];   /* of those that have it */
        int verdict[RESIZE_VERDICTS];
        enum resize_progress worst;
        const char *verdict_text, *refusal; /* the kubelet's words on the worst, the server's; NULL: none */
};

enum { PLAN_CONDITIONS = 20, PLAN_WORDS = 320 };
struct plan_condition {
        const char *type;
        bool status;
        const char *reason;
        char message[PLAN_WORDS];
};

struct plan {
        struct target *target;
        struct wall now;
        enum state state;
        struct plan_container *container;
        int containers;
        bool apply;   /* something is to be written into the template now */
        bool carries; /* the template carries values of ours */
        bool orphaned, contested, managed, held, guarded;
        bool unrecorded;                    /* held, because the template's annotations of ours cannot be read */
        char blocked[160];                  /* why the rollout is blocked; "" */
        char no_room[160];                  /* which quota would refuse pods of it, and what is missing; "" */
        const char *opted_out;              /* what opts it out; NULL: nothing */
        struct plan_autoscaler *autoscaler; /* autoscaler_plan.h: those that go by utilization, or that we wrote once */
        int autoscalers;
        bool hpa_holds[RESOURCES], hpa_stands[RESOURCES]; /* as core/rules.h has them */
        struct plan_resize resize;
        enum reason hold; /* the first hold of what would be changed; REASON_NONE */
        struct plan_condition condition[PLAN_CONDITIONS];
        int conditions;
        int64_t samples, since_ms, last_ms;
        int64_t kills; /* out-of-memory kills and evictions for memory, ever */
        int confidence_percent;
        struct amount quota_hard[RESOURCES],
                quota_used[RESOURCES]; /* of a namespace's ResourceQuota; set where it has one */
};

/* Workload-wide facts that are not in the world: settings and what the loop knows. */
struct plan_facts {
        struct now now;
        int64_t interval_ms;
        bool apply_never; /* the setting */
        bool source_away; /* usage cannot be read, or what holds a change cannot be seen */
        bool fuse_blown;  /* too many changes went wrong: nothing new */
};

/* Judge one target, which has a workload: reads the cache and writes nothing but its own plan, in the arena. What is
 * asked of the whole plan may hold it then (plan_hold), and plan_finish says what comes of it. */
void plan_judge(struct cache *w, struct target *t, const struct plan_facts *f, struct arena *a, struct plan *ret);
void plan_finish(struct cache *w, const struct plan_facts *f, struct arena *a, struct plan *p);

/* What a plan changes that all gates let pass is held: by `Budget` its decreases, by `Quota` all but the way back of a
 * change that did harm. Not under OnDeploy, which starts nothing. */
void plan_hold(struct plan *p, enum reason why);

/* Kubernetes' effective request of the pod over one amount of each container: init containers and sidecars as the
 * scheduler counts. */
enum plan_amount { PLAN_ORIGINAL, PLAN_CURRENT, PLAN_MODEL, PLAN_TARGET, PLAN_LOWER, PLAN_UPPER };
struct amount plan_amount_of(const struct plan_container *c, enum resource r, enum plan_amount which);
struct amount plan_pod_amount(const struct plan *p, enum resource r, enum plan_amount which);

/* (original - target) * replicas, at least 0. */
int64_t plan_saving(const struct plan *p, enum resource r);

/* What the owner of a pod's container asks for, as the template of its target has it, else (injected, or no target) as
 * the pod has. */
void plan_originals(struct cache *w, const struct target *t, const struct pod_container *pc,
                    struct amount ret[static RESOURCES]);
/* The original CPU request of a target's container in cores, as the template has it, else (injected) as the pod has; 0:
 * none. */
double plan_cpu_weight(struct cache *w, const struct target *t, const struct pod_container *pc);

/* Is it one of those that the profile sets, and that run beside each other? */
bool plan_counts(const struct plan_container *c);

/* Would the template change for this resource, were it not held? */
bool plan_wants_change(const struct plan_container *c, enum resource r);

/* quota_plan.c: where a quota of its namespace would not take the pods of a rollout to what the plan writes now, the
 * plan is held by `Quota`; no_room says which. */
void plan_ask_quota(struct cache *w, struct plan *p);
/* How many pods a rollout of so many makes beside those that run. */
int64_t rollout_surge(const struct workload *wl, int64_t replicas);

/* messages.c: what conditions say of those who hold */
void words_of_other_autoscaler(const struct other_autoscaler *r, char out[static PLAN_WORDS]);
/* The reason of condition PodLevel: the resources that its pods ask for as a whole; NULL: none. */
const char *pod_asks_word(const struct workload *wl);
/* Of the newest kill that is held: says its condition's reason, NULL: none is. */
const char *words_of_kill(const struct plan *p, char out[static PLAN_WORDS]);
void words_of_pod(const struct workload *wl, char out[static PLAN_WORDS]);

/* conditions.c: what is said of a plan */
void conditions_say(struct plan *p); /* once all else of it is decided */
struct plan_condition *plan_say(struct plan *plan, const char *type, bool status, const char *reason);
/* The condition of a type; NULL: it says none. */
const struct plan_condition *plan_condition(const struct plan *p, const char *type);

/* canary_plan.c: who is changed first, and what is said of it */
bool canary_among(const struct profile *p); /* it tries changes on some of its workloads first */
void canary_mark(struct target *t);         /* its pods that come first, while it has a trial */
/* What a pod is to have of what was applied: the setting or, of one that comes later, what stood before. */
struct amount canary_share_of(const struct target *t, const struct plan_container *c, const struct pod *pod,
                              enum resource r);
void canary_says(struct plan *p);    /* condition Canary, where there is something to wait for */
bool canary_applies(struct plan *p); /* says Applied of pods that wait for others, if any */

/* guard_plan.c: changes of ours that did harm */
const struct guard_policy *guard_policy_of(const struct target *t); /* NULL: nothing of it is watched */
bool guard_holds(const struct target *t, struct wall now);          /* it is left alone, because one did */
void guard_says(struct plan *p);                                    /* condition Guarded, of one that is */

/* InPlace (resize_plan.c) */
bool in_place(const struct target *t); /* its profile resizes pods */
void resize_setting(const struct target *t,
                    struct plan_container *c); /* what is in force of a container is the setting */
void resize_survey(const struct cache *w, const struct plan_facts *f, struct plan *p);
int64_t resize_set_ms(const struct plan *p); /* what a pod is to be resized to is since then */
bool resize_says(struct plan *p);            /* says Applied of pods that do not have it, if any */
/* Does a node lack the room for what a pod is to have? Who needs more and does not get it is told before what a target
 * waits for. */
bool resize_lacks_room(const struct plan *p);
/* How far the originals are back in the running pods of one whose change is taken back: "; given back to 1 of 3 pods, 2
 * wait for room on their nodes"; "" : in all of them, or no pod is resized for it. */
void resize_given_back(const struct plan *p, char *out, size_t size);
bool resize_stands(const struct target *t); /* some pod of it still has less than its template asks for, by us */
bool resize_is_raised(const struct plan *p, const struct pod *pod); /* since the last setting */
/* What a container of a pod is to ask for; unset: it stays. *ret_other: somebody else set it. */
struct amount resize_want(const struct plan *p, const struct plan_container *c, const struct pod *pod, int container,
                          enum resource r, bool *ret_other);

/* Targets of other dimensions (pod_namespace_plan.c). */

/* How long it has been without a sample though it runs. */
int64_t dimension_silence(struct cache *w, const struct target *t, const struct history *h, struct wall now);
/* The row of a pod, or of a namespace, as a whole; of a pod behind those of its containers. */
void dimension_whole(struct cache *w, const struct target *t, const struct plan *plan, struct plan_container *ret);
/* What the namespace's ResourceQuotas allow its pods to request, and what they count: of several the one that leaves
 * less. One of a scope bounds some pods only, and is left out. Unset: none bounds it. */
void dimension_quota(const struct cache *w, const struct target *t, struct amount ret_hard[static RESOURCES],
                     struct amount ret_used[static RESOURCES]);

#endif
