/*
 * Restoring of the owners' values with only the API server. halflife restore finds the workloads, sets a hold on each,
 * and restores them, a limited number at the same time.
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

/* The workloads that the options choose. */
struct restore_scope {
        struct workload word[RESTORE_WORDS]; /* workloads given by name, in ns */
        int words;
        const char *ns;     /* NULL: all namespaces */
        const char *labels; /* label selector for the workloads; NULL: any */
        bool everywhere;    /* the option --all was given */
        bool orphaned;      /* only workloads that have lost their profile */
};
/* The options of restore and resume that choose workloads. */
/* clang-format off */
#define RESTORE_SCOPE_OPTIONS(type, m)                                                                                 \
        {.name = "namespace", .letter = 'n', .value = "NAME", .shape = OPTION_NAMESPACE, OPTION_IN(type, m.ns),        \
         .help = "namespace of the workloads; default with KIND/NAME or --selector: the context's"},                   \
        {.name = "all", .letter = 'A', OPTION_IN(type, m.everywhere),                                                  \
         .help = "all workloads in every namespace of the cluster"},                                                   \
        {.name = "selector", .letter = 'l', .value = "LABELS", .shape = OPTION_LABELS, OPTION_IN(type, m.labels),      \
         .help = "only workloads with these labels (their own, not their pods')"},                                     \
        {.name = "orphaned", OPTION_IN(type, m.orphaned),                                                              \
         .help = "only workloads that carry halflife's values but match no profile any more; in all namespaces, or "   \
                 "in that of -n"}
/* clang-format on */
/* Returns 0, or ERR_INVALID: options exclude each other, or none chooses a workload. words are borrowed. */
int restore_scope_read(struct restore_scope *s, const struct option_words *words, struct err *err);
/* If the options choose no namespace, set s->ns to the context's, except with --all or --orphaned. */
void restore_scope_settle(struct restore_scope *s, const struct session *session);
enum restore_purpose { TO_RESTORE, TO_RESUME };
/* "nothing to restore: no workload in namespace 'shop' carries values of halflife"; the caller frees it. Call it after
 * restore_scope_settle. */
char *restore_scope_nothing(const struct restore_scope *s, enum restore_purpose purpose);

/* A kind of workload, as the API server has it. */
struct restore_kind {
        struct api_resource is;
        const struct kind *row; /* the kind's row in the table of kinds; NULL: not in the table */
        const char *template_path;
        bool absent; /* the API server does not serve this kind */
};

struct restore_pod {
        char *name, *uid;
        bool left;
};

enum restore_step {
        STEP_WAITING, /* the target is not begun */
        STEP_SCALERS, /* autoscalers first: lower targets can only make more pods */
        STEP_TEMPLATE,
        STEP_ROLLOUT,
        STEP_PODS,
        STEP_VERDICT, /* wait for the kubelets to accept the resizes */
        STEP_RESTART,
        STEP_END,
};
enum restore_result { RESULT_NONE, RESULT_UNCHANGED, RESULT_RESTORED, RESULT_LEFT, RESULT_FAILED };

struct restore_target {
        char *key; /* namespace, group, kind, name: "web/apps/Deployment/shop" */
        char *ns, *name;
        const struct restore_kind *kind;
        char *recommendation; /* name of the target's Recommendation; NULL: there is none */
        json_t *admitted;     /* the Recommendation's status.applied.admitted; NULL: none */
        char *hold;           /* reason of the target's hold; NULL: it is not held */
        bool missing;         /* the workload does not exist */
        bool carries;         /* the pod template has annotations of halflife */
        bool rolling;         /* the target was held at the start, and its last rollout is not complete */
        struct restore_pod *pod;
        int pods;
        struct restore_scaler {
                const char *word; /* the kind of autoscaler: "HPA" or "ScaledObject" */
                bool triggers;
                char *name, *path;
        } * scaler;
        int scalers;
        /* the progress and the result of the restore */
        enum restore_step step;
        enum restore_result result;
        char *changes, *left; /* changes: "app cpu 454m -> 2"; left: what still has halflife's values; NULL: nothing */
        char *why;            /* why the restore failed; NULL: it did not fail */
        bool restarted;
        struct mono moved;  /* time of the target's last progress */
        int64_t seen[3];    /* numbers of updated, available and all pods at the last poll */
        int next_pod;       /* next index of pod, in STEP_PODS and STEP_VERDICT */
        struct err trouble; /* why the last attempt of the step failed, which is tried again */
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
        struct restore_target **target; /* all targets, in the order of their keys */
        size_t targets;
        struct map by_key, links; /* links: owners already read, by UID */
        size_t wanted;            /* number of targets that carry values of halflife */
        size_t bare;              /* number of the wanted targets without a Recommendation to hold */
        bool no_crds;
        bool interrupted;
        bool stopped;             /* a target failed, so no other target is begun */
        bool discovered, resizes; /* resizes: the server may have pods/resize; discovered: it has said so */
        void (*ended)(struct restoring *r, const struct restore_target *t);
        void (*looked)(struct restoring *r); /* called after each poll, to show progress */
        void *arg;
};
void restoring_release(struct restoring *r);

/* --- finding: fills target --- */

/* Find all targets of the scope, by Recommendations, templates, pods and autoscalers. Returns 0, or the error of a
 * read. */
int restore_find(struct restoring *r, struct err *err);
/* Check that the scope's names exist, after restore_find or restore_find_recommendations. Returns 0; ERR_NOTFOUND: a
 * workload given by name does not exist, or nothing was found because the namespace does not exist; or the error of a
 * read. Sends requests only if something is missing. */
int restore_scope_check(struct restoring *r, struct err *err);
/* Find targets once more, because halflife may have set values before it saw the holds. Returns the number of targets
 * to restore again, or the error. */
int restore_find_again(struct restoring *r, struct err *err);
/* Find targets only by Recommendations, with their holds. */
int restore_find_recommendations(struct restoring *r, struct err *err);
struct restore_target *restore_target_get(struct restoring *r, const char *ns, const struct restore_kind *k,
                                          const char *name);
/* Find or add a kind; discovery tells a custom kind's version and plural. Returns NULL with err if discovery fails. The
 * kind is absent if the server does not serve it. */
struct restore_kind *restore_kind_get(struct restoring *r, struct text group, struct text kind, struct err *err);
/* The target that an object with this metadata belongs to: its highest owner that is a target. If the scope names no
 * workloads, the highest owner whose kind is in the table becomes a target. NULL: none. */
struct restore_target *restore_owner_target(struct restoring *r, const char *ns, const json_t *meta);
/* Whether halflife set the pod's annotation utilization-basis, which is so if the pod has halflife's record of applied
 * requests, and the template of the pod's owner lacks the annotation. False for a pod without an owner. */
bool restore_basis_is_ours(struct restoring *r, const char *ns, const json_t *pod_meta);
/* Whether the annotations that record halflife's requests are the pod's own, which is so if the template of the pod's
 * owner has none, or the pod has no owner. */
bool restore_records_are_own(struct restoring *r, const char *ns, const json_t *pod_meta);
/* Whether the target, its pods or its autoscalers carry a value of halflife. */
bool restore_wanted(const struct restore_target *t);

/* --- holding --- */

/* Set the hold on all targets not held yet (restore_hold), or lift the hold of t (restore_resume). Returns the number
 * of Recommendations changed, or the error. */
int restore_hold(struct restoring *r, struct err *err);
int restore_resume(struct restoring *r, const struct restore_target *t, struct err *err);

/* --- putting back --- */

/* The state of the rollout of a workload of kind k, from its decoded object v. */
struct rollout restore_rollout(const struct restore_kind *k, const struct workload_view *v);
/* Why the workload's pods will not follow its template until somebody acts, a constant text; NULL: they follow. */
const char *restore_stands_still(const struct rollout *r);

/* Restore all targets, at most budget at the same time. Each target gets a result, except those not begun when a
 * failure or a signal stops the run. */
void restore_run(struct restoring *r);
/* Take the steps STEP_PODS and STEP_VERDICT of a target. Return true after progress. */
bool restore_step_pods(struct restoring *r, struct restore_target *t);
bool restore_step_verdict(struct restoring *r, struct restore_target *t);
/* Note that the target is restarted, which gives new pods in place of those with values of halflife. */
void restore_restarted(struct restore_target *t);

/* restore_add appends to t->changes or t->left; the others end a target, with its result or as failed. */
void restore_add(char **to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void restore_end(struct restore_target *t, enum restore_result result);
void restore_fail(struct restore_target *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Handle a failed HTTP request to the API server. ERR_RETRY and ERR_STALE are tried again until the timeout; any other
 * error ends the target. Returns true if it ended. */
bool restore_troubled(struct restore_target *t, const struct err *err, const char *what);
/* Why a workload's new pods do not start, from the object, its pods or its Events. The caller's; NULL: unknown. */
char *restore_found_data(struct restoring *r, const struct restore_target *t, const json_t *object);

/* Send a GET or PATCH to the API server and wait for the answer. Returns the answer's text, which the caller frees, or
 * NULL with err. */
char *restore_get(struct restoring *r, const char *path, struct err *err);
char *restore_patch(struct restoring *r, const char *path, const char *type, json_t *patch, struct err *err);
char *restore_path(const struct restore_target *t);
/* The text at a path of keys ("spec.targetRef.name"); "" if there is none. */
const char *restore_text(const json_t *value, const char *path);

/* --- printing --- */

void restore_print(FILE *to, const struct restore_target *t, bool dry_run);
json_t *restore_json(const struct restore_target *t, bool dry_run);

#endif
