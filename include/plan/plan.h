/*
 * The plan for one target: everything that is decided about the target, for the code that then applies it. A plan lives
 * in the arena it was made in.
 */
#ifndef HALFLIFE_PLAN_PLAN_H
#define HALFLIFE_PLAN_PLAN_H

#include "cache/cache.h"
#include "core/decide_requests.h"
#include "core/startup_stage.h"
#include "objects/recommendation_status.h"

struct plan_container {
        const char *name;
        enum container_role role;
        struct decide_container facts;
        struct advice advice;
        struct amount running[RESOURCES]; /* the newest pod's request; without pods the template's */
        struct amount raw[RESOURCES]; /* the owner's request, for the annotation record; unset: the owner set none */
        struct amount raw_limit[RESOURCES];
        bool ours[RESOURCES];  /* halflife wrote the request that is set now */
        bool reset[RESOURCES]; /* halflife wrote a request, and somebody restored the original */
};

/* Mode InPlace: how many pods do not have the requests that halflife set for them, and why. Counts are of pods. */
struct plan_resize {
        const struct pod *next; /* the pod to resize now; NULL: none */
        bool raises;            /* next gets a raise, because it uses more than its request */
        bool starts;   /* the pod next gets its originals because it starts, or its targets because it has started */
        bool goes_on;  /* resizes are under way or due, and nothing holds them back */
        bool stuck;    /* some pods keep their requests; condition Applied says why */
        bool unserved; /* the API server cannot resize pods */
        /* running; to be resized; resize refused by the API server; requests set by others */
        int pods, behind, refused, others;
        int invalid;                     /* the API server's validation refuses their resize, now and later */
        int cut;                         /* pods of which not all containers are known, so that they stay */
        int first_behind;                /* canary pods that are not resized yet */
        int starting, late;              /* pods above their target: they start; they are not Ready in time */
        int unplaced;                    /* new pods with the original requests, for which no node has room */
        int progress[RESIZE_PROGRESSES]; /* of the pods whose spec has the new requests */
        int verdict[RESIZE_VERDICTS];
        enum resize_progress worst;
        /* the kubelet's message for `worst`; the API server's refusal; NULL: none */
        const char *verdict_text, *refusal;
};

enum { PLAN_CONDITIONS = 22, PLAN_WORDS = 320 };
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
        bool apply;   /* the template is to be written now */
        bool carries; /* the template, or some pod under InPlace, has requests that halflife set */
        bool orphaned, contested, managed, held, guarded;
        bool starts;             /* pods start with their originals (apply.startup) */
        const char *startup_bar; /* why new pods start with the target values all the same, as the reason of condition
                                    Startup; NULL: nothing bars them, or the profile does not ask for it */
        bool unrecorded;         /* held, because halflife's annotations on the template cannot be read */
        char blocked[160];       /* why the rollout is blocked; "" */
        char no_room[160];       /* which ResourceQuota would refuse its pods, and how much is missing; "" */
        const char *unfilled;    /* why its usage of the past is not loaded from Prometheus yet; NULL: nothing fails */
        char over_budget[192];   /* which budget is used up, and until when, where that is known; "" */
        const char *opted_out;   /* what opts the workload out of changes; NULL: nothing */
        /* the workload's autoscalers that scale by utilization, or that carry halflife's annotations
         * (autoscaler_plan.h) */
        struct plan_autoscaler *autoscaler;
        int autoscalers;
        bool hpa_holds[RESOURCES], hpa_shared[RESOURCES], hpa_stands[RESOURCES]; /* defined in core/gates.h */
        struct plan_resize resize;
        enum reason hold; /* why the first wanted change is held back; REASON_NONE: it is not */
        struct plan_condition condition[PLAN_CONDITIONS];
        int conditions;
        int64_t samples, since_ms, last_ms;
        int64_t kills; /* out-of-memory kills and evictions for memory, ever */
        int confidence_percent;
        struct amount quota_hard[RESOURCES],
                quota_used[RESOURCES]; /* of the ResourceQuota of a namespace target; unset: none */
        const struct node *node;       /* of a node target; NULL: the target is no node, or it is gone */
};

/* Facts that are not in the cache: settings, and state of the control loop. */
struct plan_facts {
        struct now now;
        int64_t interval_ms;
        bool apply_never; /* the setting apply: never, or the namespace is exempt */
        bool source_away; /* usage cannot be read, or a kind that may hold back changes cannot be watched */
        bool fuse_blown;  /* too many changes were taken back: no new change starts */
};

/* Judge one target, which must have a workload. Reads the cache and writes only *ret, whose lists are in the arena.
 * The caller may then hold the plan back (plan_hold), and calls plan_finish. */
void plan_judge(const struct cache *w, struct target *t, const struct plan_facts *f, struct arena *a, struct plan *ret);
/* Complete a judged plan: autoscaler targets, pods to resize, and conditions. */
void plan_finish(const struct cache *w, const struct plan_facts *f, struct arena *a, struct plan *p);

/*
 * Hold back the plan's changes by a gate that judges a whole plan after all other gates passed (Quota, Budget). A gate
 * for decreases holds back only decreases. Any other gate holds back every change, except taking back a change that did
 * harm. Do not call it for a plan under OnDeploy, which starts no change.
 */
void plan_hold(struct plan *p, enum gate gate);

/* The mode in force: the profile's, but Recommend for a target that is never written, and without a profile. */
enum apply_mode plan_mode_of(const struct target *t);

/* The amounts of a container, and of the pod: its effective request in Kubernetes, which counts init containers and
 * sidecars as the scheduler does. */
enum plan_amount { PLAN_ORIGINAL, PLAN_CURRENT, PLAN_MODEL, PLAN_TARGET, PLAN_LOWER, PLAN_UPPER };
struct amount plan_amount_of(const struct plan_container *c, enum resource r, enum plan_amount which);
struct amount plan_pod_amount(const struct plan *p, enum resource r, enum plan_amount which);

/* plan_status.c: the plan as the status of its Recommendation, a copy of the facts at this moment. Lists are in the
 * arena; texts belong to the plan and its target. */
void plan_status(const struct plan *p, struct arena *a, struct recommendation_status *ret);

/* limit_plan.c: the limits that are advised; NULL: none is. The list is in the arena. */
struct status_limits *plan_limits(const struct plan *p, struct arena *a);
/* The container whose memory limit is too low: it killed, and is still below what is then advised; the one killed last.
 * NULL: none is, and *ret_kill and *ret_advised are unset. */
const struct plan_container *plan_limit_too_low(const struct plan *p, struct limit_kill *ret_kill,
                                                int64_t *ret_advised);

/* The saving of all pods: (original - target) * replicas, at least 0; millicores or bytes. */
int64_t plan_saving(const struct plan *p, enum resource r);

/* The original requests of a pod's container: from the template of its target. Without a target, or for an injected
 * container, from the pod itself. */
void plan_originals(const struct cache *w, const struct target *t, const struct pod_container *pc,
                    struct amount ret[static RESOURCES]);
/* The original CPU request of a container in cores, taken as by plan_originals; 0: none. */
double plan_cpu_weight(const struct cache *w, const struct target *t, const struct pod_container *pc);

/* Does halflife set this container's requests? True for main containers and sidecars that the profile does not ignore.
 */
bool plan_counts(const struct plan_container *c);

/* Does the target value differ from the request that is set? True also where the change is held back. */
bool plan_wants_change(const struct plan_container *c, enum resource r);
/* The target is in force, but the original is to come back: for an autoscaler or a reader, or as a change did harm. It
 * may wait for a gate. */
bool plan_puts_back(const struct plan_container *c, enum resource r);

/* quota_plan.c: hold the plan back by gate Quota where a ResourceQuota of the namespace would refuse pods of its
 * rollout; no_room then names the quota. */
void plan_ask_quota(const struct cache *w, struct plan *p);
/* The pods that a rollout may create beyond the replicas (maxSurge, rounded up). */
int64_t rollout_surge(const struct workload *wl, int64_t replicas);

/* hold_messages.c: messages about what holds back a change; out gets at most PLAN_WORDS bytes with the NUL */
/* What keeps halflife from applying anything to the workload; NULL: nothing. */
const char *opted_out_word(const struct workload *wl, const struct ns *ns, bool apply_never);
/* The message of condition OtherAutoscaler. Returns false, with out unset, where none sets a request of a container
 * that counts. */
bool words_of_other_autoscaler(const struct plan *p, char out[static PLAN_WORDS]);
/* The reason of condition PodLevel: the resources with a pod-level request; NULL: none. */
const char *pod_asks_word(const struct workload *wl);
/* The reason of condition OutOfMemory, for the newest kill that still holds memory up; NULL: none, and out is unset. A
 * limit that killed comes first, until it is as high as advised. */
const char *words_of_kill(const struct plan *p, char out[static PLAN_WORDS]);
/* The message of condition PodLevel; only where pod_asks_word returns a reason. */
void words_of_pod(const struct workload *wl, char out[static PLAN_WORDS]);

/* What reads a request that halflife would lower, or has lowered, so that the reader would get another value; NULL:
 * nothing does, or the profile ignores runtimes. */
const char *plan_reader(const struct plan *p, const struct plan_container *c, enum resource r);

/* conditions.c: the conditions of a plan */
void conditions_say(struct plan *p); /* adds the remaining conditions; call it after all else is decided */
/* Add a condition. Returns it, so that the caller writes its message. type and reason are not copied. */
struct plan_condition *plan_say(struct plan *plan, const char *type, bool status, const char *reason);
/* The condition of a type; NULL: the plan has none. */
const struct plan_condition *plan_condition(const struct plan *p, const char *type);
/* Does a pod that is created get other requests than the template's, by a profile with OnDeploy at Pod? */
bool plan_deploys(const struct plan *p);

/* canary_plan.c: which pods and workloads are changed first, and the conditions about that */
bool canary_among(const struct profile *p); /* the profile changes some of its workloads first */
void canary_mark(struct target *t);         /* choose the target's canary pods, while a change is on a pod canary */
/* The request a pod is to have during a pod canary: the applied one for canary pods, the one before for the others. */
struct amount canary_share_of(const struct target *t, const struct plan_container *c, const struct pod *pod,
                              enum resource r);
void canary_says(struct plan *p);    /* condition Canary, while the target waits or is watched */
bool canary_applies(struct plan *p); /* condition Applied for pods that wait for canary pods; false: none waits */

/* startup_plan.c: pods that start with their originals */

/* Fill in p->starts and p->startup_bar by the profile and the kind, before the plan is judged. */
void startup_begin(const struct cache *w, struct plan *p);
/* The same by the advice and the newest pod, afterwards. newest NULL: no pod runs. */
void startup_judge(struct plan *p, const struct pod *newest);
enum startup_stage startup_stage_in(const struct plan *p, const struct pod *pod);

/* guard_hold.c: changes by halflife that did harm */
const struct guard_policy *guard_policy_of(const struct target *t); /* NULL: the guard does not watch it */
bool guard_holds(const struct target *t, struct wall now);          /* a change did harm, and its hold has not ended */
void guard_says(struct plan *p);                                    /* condition Guarded, where the plan is guarded */

/* InPlace (resize_plan.c) */
bool in_place(const struct target *t); /* its profile's mode is InPlace, and halflife may write the target */
/* Take the current requests of a container from what halflife set on the pods, instead of from the template. */
void resize_setting(const struct target *t, struct plan_container *c);
/* Fill in p->resize. */
void resize_survey(const struct cache *w, const struct plan_facts *f, struct plan *p);
int64_t resize_set_ms(const struct plan *p); /* when halflife set the requests that the pods have or are about to get */
bool resize_says(struct plan *p); /* condition Applied about pods without the new requests; false: all have them */
/* Does some pod's node lack the room for its resize? Condition Applied reports that first, because such a pod needs
 * more than it gets. */
bool resize_lacks_room(const struct plan *p);
/* How many running pods have the original requests again, after a change was taken back: "; given back to 1 of 3 pods,
 * 2 wait for room on their nodes". "": all pods have them, or no pod is resized. */
void resize_given_back(const struct plan *p, char *out, size_t size);
bool resize_stands(const struct target *t); /* some running pod still has a request that halflife set by a resize */
bool resize_is_raised(const struct plan *p, const struct pod *pod); /* it was raised since the last change */
/* The request that a pod's container is to get; unset: leave it. Sets *ret_other if somebody else set the request. */
struct amount resize_want(const struct plan *p, const struct plan_container *c, const struct pod *pod, int container,
                          enum resource r, bool *ret_other);

/* Targets of other dimensions (pod_namespace_plan.c). */

/* How long, in ms, the target has run without a sample of this history; 0: it does not run. */
int64_t dimension_silence(const struct cache *w, const struct target *t, const struct history *h, struct wall now);
/* Fill in the row of the whole pod, namespace or node. A pod's row follows the rows of its containers, which it sums
 * up. */
void dimension_whole(const struct cache *w, const struct target *t, const struct plan *plan,
                     struct plan_container *ret);
/* Fill in the plan's node, or its quota: the limit on requests in the namespace's ResourceQuotas, and the requests
 * used. Of several quotas, the one with the least left. Quotas with scopes count only some pods and are skipped. Unset:
 * no quota limits the resource. */
void dimension_bounds(const struct cache *w, struct plan *ret);

#endif
