/*
 * Taking halflife's values back, with nothing but the API server: what to restore is found, held, and put back workload
 * by workload.
 */
#ifndef HALFLIFE_CLI_RESTORE_H
#define HALFLIFE_CLI_RESTORE_H

#include <jansson.h>

#include "base/map.h"
#include "cli/options.h"
#include "cli/session.h"
#include "core/kind.h"
#include "core/rollout.h"
#include "objects/restore_patch.h"
#include "target_arg.h"

enum { RESTORE_WORDS = 32, RESTORE_KINDS = 128, RESTORE_ORDER_MAX = 10000 };

/* Which workloads are meant. */
struct restore_scope {
        struct workload word[RESTORE_WORDS]; /* by name, in ns */
        int words;
        const char *ns;     /* NULL: all namespaces */
        const char *labels; /* of the workload; NULL: any */
        bool everywhere;    /* all namespaces were asked for */
        bool orphaned;      /* only those that have lost their profile */
};
/* The options that say so, of restore and resume alike, in this order. */
enum { SCOPE_NAMESPACE, SCOPE_ALL, SCOPE_SELECTOR, SCOPE_ORPHANED, SCOPE_OPTIONS };
/* clang-format off */
#define RESTORE_SCOPE_OPTIONS                                                                                          \
        {.name = "namespace", .letter = 'n', .value = "NAME", .shape = OPTION_NAMESPACE,                               \
         .help = "of this namespace: without KIND/NAME all of it; with them, else the context's"},                     \
        {.name = "all", .letter = 'A', .help = "all there is, in every namespace of the cluster"},                     \
        {.name = "selector", .letter = 'l', .value = "LABELS", .shape = OPTION_LABELS,                                 \
         .help = "only workloads with these labels (their own, not their pods')"},                                     \
        {.name = "orphaned",                                                                                           \
         .help = "only workloads that still carry values of halflife but have lost their profile; of all namespaces, " \
                 "or of -n"}
/* clang-format on */
/* 0, or ERR_INVALID: what is said excludes something else, or nothing is said at all. words are borrowed. */
int restore_scope_read(const struct option_given *given, const struct option_words *words, struct restore_scope *ret,
                       struct err *err);
/* The namespace where none was named: the context's. */
void restore_scope_settle(struct restore_scope *s, const struct session *session);

/* A kind as the server has it. */
struct restore_kind {
        struct api_resource is;
        const struct kind *row; /* of the table of kinds; NULL: somebody's own */
        const char *template_path;
        bool absent; /* the server has none such */
};

struct restore_pod {
        char *name, *uid;
        bool left;
};

enum restore_step {
        STEP_WAITING, /* not begun */
        STEP_SCALERS, /* autoscalers first: lower targets can only make more pods */
        STEP_TEMPLATE,
        STEP_ROLLOUT,
        STEP_PODS,
        STEP_VERDICT, /* of the kubelets, on resized pods */
        STEP_RESTART,
        STEP_END,
};
enum restore_result { RESULT_NONE, RESULT_UNCHANGED, RESULT_RESTORED, RESULT_LEFT, RESULT_FAILED };

struct restore_target {
        char *key; /* "web/apps/Deployment/shop" */
        char *ns, *name;
        const struct restore_kind *kind;
        char *recommendation; /* NULL: there is none */
        char *hold;           /* why it is held; NULL: it is not */
        bool carries;         /* its template has annotations of ours */
        bool rolling;         /* it was held already, and its last rollout has not come to its end */
        struct restore_pod *pod;
        int pods;
        struct restore_scaler {
                const char *word; /* "HPA" or "ScaledObject" */
                bool triggers;
                char *name, *path;
        } * scaler;
        int scalers;
        /* what becomes of it */
        enum restore_step step;
        enum restore_result result;
        char *changes, *left; /* "app cpu 454m -> 2"; what stands, or runs on; NULL: nothing */
        char *why;            /* it failed */
        bool restarted;
        struct mono moved;  /* when it last came further */
        int64_t seen[3];    /* updated, available, pods at the last look */
        int next_pod;       /* to look at, in STEP_PODS and STEP_VERDICT */
        struct err trouble; /* of the last try that may do better */
};

struct restoring {
        struct session session;
        struct restore_scope scope;
        int budget;
        int64_t timeout_ms;
        bool dry_run, restart;
        const char *reason;
        struct restore_kind *kind[RESTORE_KINDS];
        int kinds;
        struct restore_target **target; /* in the order of their keys */
        size_t targets;
        struct map by_key, links; /* links: owners that were asked for, by UID */
        size_t bare;              /* carry something, and have no Recommendation that could be held */
        bool no_crds;
        bool interrupted;
        bool stopped; /* one has failed: no other is begun */
        void (*ended)(struct restoring *r, const struct restore_target *t);
        void (*looked)(struct restoring *r); /* progress, between looks */
        void *arg;
};
void restoring_init(struct restoring *r);
void restoring_release(struct restoring *r);

/* --- finding: fills target --- */

/* Everything that the scope means: by Recommendations, templates, pods and autoscalers. 0 or the error of what could
 * not be read; a name of which there is neither workload nor Recommendation is ERR_NOTFOUND. */
int restore_find(struct restoring *r, struct err *err);
/* Once more: what was admitted, or written, before the hold was heard of. Returns how many have to be begun again. */
int restore_find_again(struct restoring *r, struct err *err);
/* The Recommendations alone, with their holds. */
int restore_find_recommendations(struct restoring *r, struct err *err);
struct restore_target *restore_target_get(struct restoring *r, const char *ns, const struct restore_kind *k,
                                          const char *name);
/* Discovered where it has to be; NULL with err: it could not be asked. absent where there is none. */
struct restore_kind *restore_kind_get(struct restoring *r, struct text group, struct text kind, struct err *err);
/* The target of an object with this controller: the highest owner that is meant, or is a workload. NULL: none. */
struct restore_target *restore_owner_target(struct restoring *r, const char *ns, const json_t *meta);
/* Did halflife set the pod's utilization-basis, rather than its template? A pod of its own is its own template. */
bool restore_basis_is_ours(struct restoring *r, const char *ns, const json_t *pod_meta);
/* Anything that holds a value of ours. */
bool restore_wanted(const struct restore_target *t);

/* --- holding --- */

/* Sets the annotation on those not held yet, or lifts it. Returns how many were changed, or the error. */
int restore_hold(struct restoring *r, struct err *err);
int restore_resume(struct restoring *r, const struct restore_target *t, struct err *err);

/* --- putting back --- */

/* What a workload tells of its rollout. */
struct rollout restore_rollout(const struct restore_kind *k, const struct workload_view *v);
/* Why its rollout does not come of itself; "" : none comes of its kind; NULL: it does. */
const char *restore_stands_still(const struct restore_kind *k, const struct workload_view *v);

/* All targets, at most budget at once; each ends with a result, but for those not begun when it stopped. */
void restore_run(struct restoring *r);
/* The steps that are about pods; true: it came further. */
bool restore_step_pods(struct restoring *r, struct restore_target *t);
bool restore_step_verdict(struct restoring *r, struct restore_target *t);

/* Put into words: more of what changed or was left; the end. */
void restore_add(char **to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void restore_end(struct restore_target *t, enum restore_result result);
void restore_fail(struct restore_target *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A request that may do better later is tried again until the time is up, any other failed: true where it ended. */
bool restore_troubled(struct restore_target *t, const struct err *err, const char *what);
/* Why a workload's pods do not come: from the object, its pods, its events. The caller's; NULL: nothing tells. */
char *restore_evidence(struct restoring *r, const struct restore_target *t, const json_t *object);

/* A GET or a PATCH waited for; the answer's text, the caller's. NULL with err. */
char *restore_get(struct restoring *r, const char *path, struct err *err);
char *restore_patch(struct restoring *r, const char *path, const char *type, json_t *patch, struct err *err);
char *restore_path(const struct restore_target *t);
/* A text at a path of keys ("spec.targetRef.name"); "" where there is none. */
const char *restore_text(const json_t *value, const char *path);

/* --- telling --- */

void restore_print(FILE *to, const struct restore_target *t, bool dry_run);
json_t *restore_json(const struct restore_target *t, bool dry_run);

#endif
