/*
 * The plan for one target: everything that halflife decides about the target at one time. The code that applies it
 * reads the plan. A plan lives in the arena in which it was made.
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
        bool raises;            /* the pod `next` gets larger requests, because it uses more than it requests */
        bool starts;            /* the pod `next` gets originals as it starts, or target values as it has started */
        bool goes_on;           /* resizes are under way or due, and nothing holds them back */
        bool stuck;             /* some pods keep their requests; condition Applied says why */
        bool unserved;          /* the API server cannot resize pods */
        /* pods: that run; yet to be resized; whose resize the API server refused; with requests set by others */
        int pods, behind, refused, others;
        int invalid;        /* pods whose resize the API server finds invalid: no retry can succeed */
        int cut;            /* pods with more containers than halflife reads, so it resizes none of them */
        int first_behind;   /* canary pods that are not resized yet */
        int starting, late; /* pods above the target values: as they start; as they are not Ready in time */
        int unplaced;       /* new pods with the original requests, for which no node has room */
        int progress[RESIZE_PROGRESSES]; /* pods with the new requests in their spec, by the kubelet's progress */
        int verdict[RESIZE_VERDICTS];
        enum resize_progress worst;
        /* the kubelet's message for `worst`; why the API server refused a resize; NULL: no message */
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
        bool apply;   /* halflife has to set new requests now: in the template, or on pods (InPlace) */
        bool carries; /* the template or a pod has requests that halflife set */
        bool orphaned, contested, managed, held, guarded;
        bool starts; /* new pods start with their original requests (apply.startup) */
        /* Why new pods start with the target values although the profile asks for originals, as the reason of condition
         * Startup. NULL: nothing prevents originals, or the profile does not ask for them. */
        const char *startup_bar;
        bool unrecorded;   /* held, because halflife's annotations on the template cannot be read */
        char blocked[160]; /* why the workload's rollout is blocked; "": it is not */
        char no_room[160]; /* which ResourceQuota would refuse the rollout's pods, and how much is missing; "": none */
        const char *unfilled;  /* why the target's past usage is not loaded from Prometheus yet; NULL: nothing fails */
        char over_budget[192]; /* which budget is used up, and until when, where that is known; "": none is */
        const char *opted_out; /* what opts the workload out of changes; NULL: nothing */
        /* the workload's autoscalers that scale by utilization, or that carry halflife's annotations
         * (autoscaler_plan.h) */
        struct plan_autoscaler *autoscaler;
        int autoscalers;
        /* By resource: the facts of the same names in struct gate_facts (core/gates.h). */
        bool hpa_holds[RESOURCES], hpa_shared[RESOURCES], hpa_stands[RESOURCES];
        struct plan_resize resize;
        enum reason hold; /* why the first wanted change is held back; REASON_NONE: it is not */
        struct plan_condition condition[PLAN_CONDITIONS];
        int conditions;
        int64_t samples, since_ms, last_ms;
        int64_t kills; /* out-of-memory kills and evictions for memory in the histories */
        int confidence_percent;
        /* For a namespace as target: the limit of its ResourceQuota on requests, and the requests used; unset: no
         * quota. */
        struct amount quota_hard[RESOURCES], quota_used[RESOURCES];
        const struct node *node; /* the node that is the target; NULL: the target is no node, or the node is gone */
};

/* Facts for a plan that are not in the cache: settings, and state of the control loop. */
struct plan_facts {
        struct now now;
        int64_t interval_ms;
        bool apply_never; /* nothing may be applied, by the setting apply: never or as the namespace is exempt */
        bool source_away; /* usage cannot be read, or a kind that may hold back changes cannot be watched */
        bool fuse_blown;  /* the cluster's fuse is blown (too many changes were taken back): no request is lowered */
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

/* An amount of one container, or of the whole pod: the effective request in Kubernetes, which counts init containers
 * and sidecars as the scheduler does. */
enum plan_amount { PLAN_ORIGINAL, PLAN_CURRENT, PLAN_MODEL, PLAN_TARGET, PLAN_LOWER, PLAN_UPPER };
struct amount plan_amount_of(const struct plan_container *c, enum resource r, enum plan_amount which);
struct amount plan_pod_amount(const struct plan *p, enum resource r, enum plan_amount which);

/* plan_status.c: the plan as the status of its Recommendation, a copy of the facts at this moment. Lists are in the
 * arena; texts belong to the plan and its target. */
void plan_status(const struct plan *p, struct arena *a, struct recommendation_status *ret);

/* limit_plan.c: the limits that the plan advises; NULL: it advises none. The list is in the arena. */
struct status_limits *plan_limits(const struct plan *p, struct arena *a);
/* The container whose memory limit is too low: the limit caused a kill, and is still below the limit advised since. Of
 * several containers, the one killed last. NULL: there is none, and *ret_kill and *ret_advised are unset. */
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
/* Whether the original has to come back although the target value is in force: for an autoscaler, for a reader, or
 * because a change did harm. A gate may still hold this back. */
bool plan_puts_back(const struct plan_container *c, enum resource r);

/* quota_plan.c: hold the plan back by gate Quota, if a ResourceQuota of the namespace would refuse pods of the plan's
 * rollout; p->no_room then names the quota. */
void plan_ask_quota(const struct cache *w, struct plan *p);
/* How many pods a rollout may create beyond the replicas (maxSurge, rounded up). */
int64_t rollout_surge(const struct workload *wl, int64_t replicas);

/* hold_messages.c: messages about what holds back a change; `out` gets at most PLAN_WORDS bytes with the NUL */
/* What keeps halflife from applying anything to the workload; NULL: nothing. */
const char *opted_out_word(const struct workload *wl, const struct ns *ns, bool apply_never);
/* The message of condition OtherAutoscaler. Returns false, with `out` unset, if no other autoscaler sets a request that
 * halflife would set. */
bool words_of_other_autoscaler(const struct plan *p, char out[static PLAN_WORDS]);
/* The reason of condition PodLevel: the resources with a pod-level request; NULL: the pod has none. */
const char *pod_asks_word(const struct workload *wl);
/* The reason of condition OutOfMemory, with its message in `out`, for the newest kill whose hold of memory still lasts.
 * NULL: there is none, and `out` is unset. While a limit that caused a kill is lower than advised, the message is about
 * that limit. */
const char *words_of_kill(const struct plan *p, char out[static PLAN_WORDS]);
/* Write the message of condition PodLevel. Call only where pod_asks_word returns a reason. */
void words_of_pod(const struct workload *wl, char out[static PLAN_WORDS]);

/* What reads a request that halflife would lower, or has lowered, so that the reader would get another value; NULL:
 * nothing does, or the profile ignores runtimes. */
const char *plan_reader(const struct plan *p, const struct plan_container *c, enum resource r);

/* conditions.c: the conditions of a plan */
void conditions_say(struct plan *p); /* adds the remaining conditions; call it after all else is decided */
/* Add a condition. Returns it, so that the caller writes its message. type and reason are not copied. */
struct plan_condition *plan_say(struct plan *plan, const char *type, bool status, const char *reason);
/* The plan's condition of this type; NULL: it has none. */
const struct plan_condition *plan_condition(const struct plan *p, const char *type);
/* Does a pod that is created get other requests than the template's, by a profile with OnDeploy at Pod? */
bool plan_deploys(const struct plan *p);

/* canary_plan.c: which pods and workloads are changed first, and the conditions about that */
bool canary_among(const struct profile *p); /* whether the profile changes some of its workloads first */
void canary_mark(struct target *t);         /* choose the target's canary pods, if a pod canary is under way */
/* The request that a pod is to have during a pod canary: a canary pod the new one, another pod the one from before the
 * change. */
struct amount canary_share_of(const struct target *t, const struct plan_container *c, const struct pod *pod,
                              enum resource r);
void canary_says(struct plan *p); /* add condition Canary, while the target waits for canaries or is watched as one */
bool canary_applies(struct plan *p); /* condition Applied about pods that wait for canary pods; false: no pod waits */

/* startup_plan.c: pods that start with their originals */

/* Fill in p->starts and p->startup_bar by the profile and the kind, before the plan is judged. */
void startup_begin(const struct cache *w, struct plan *p);
/* Correct p->starts and p->startup_bar by the judged plan and by the newest pod. newest NULL: no pod runs. */
void startup_judge(struct plan *p, const struct pod *newest);
enum startup_stage startup_stage_in(const struct plan *p, const struct pod *pod);

/* guard_hold.c: changes by halflife that did harm */
const struct guard_policy *guard_policy_of(const struct target *t); /* NULL: the guard does not watch t */
bool guard_holds(const struct target *t, struct wall now);          /* a change did harm, and the guard still holds t */
void guard_says(struct plan *p);                                    /* add condition Guarded, if the plan is guarded */

/* InPlace (resize_plan.c) */
bool in_place(const struct target *t); /* t's profile has mode InPlace, and halflife may write t */
/* Take the current requests of a container from what halflife set on the pods, instead of from the template. */
void resize_setting(const struct target *t, struct plan_container *c);
/* Fill in p->resize: the pod to resize next, and how many pods lack the new requests. */
void resize_survey(const struct cache *w, const struct plan_facts *f, struct plan *p);
int64_t resize_set_ms(const struct plan *p); /* when halflife set the pods' present or coming requests, wall ms */
bool resize_says(struct plan *p); /* add condition Applied, if some pods lack the new requests; false: none does */
/* Does some pod's node lack the room for its resize? Condition Applied reports that first, because such a pod needs
 * more than it gets. */
bool resize_lacks_room(const struct plan *p);
/* How many running pods have the original requests again, after a change was taken back: "; given back to 1 of 3 pods,
 * 2 wait for room on their nodes". "": all pods have them, or no pod is resized. */
void resize_given_back(const struct plan *p, char *out, size_t size);
bool resize_stands(const struct target *t); /* a running pod still has a request that a resize set */
bool resize_is_raised(const struct plan *p, const struct pod *pod); /* was the pod raised since the last change? */
/* The request that a pod's container is to get; unset: the request stays. Sets *ret_other if somebody else set it. */
struct amount resize_want(const struct plan *p, const struct plan_container *c, const struct pod *pod, int container,
                          enum resource r, bool *ret_other);

/* Targets of the dimensions Pod, Namespace and Node (pod_namespace_plan.c). */

/* How long, in ms, the target has run without a sample of this history; 0: it does not run. */
int64_t dimension_silence(const struct cache *w, const struct target *t, const struct history *h, struct wall now);
/* Fill in the row of the whole pod, namespace or node. A pod's row follows the rows of its containers, which it sums
 * up. */
void dimension_whole(const struct cache *w, const struct target *t, const struct plan *plan,
                     struct plan_container *ret);
/* Fill in the plan's node, or its quota: the limit on requests in the namespace's ResourceQuotas, and the requests
 * used. Of several quotas, the one with the least left counts. Quotas with scopes count only some pods and are skipped.
 * An amount stays unset if no quota limits the resource. */
void dimension_bounds(const struct cache *w, struct plan *ret);

#endif
