/*
 * Render manifests: put into them the CPU and memory requests to deploy with. The functions are pure: they take texts
 * and a snapshot and give the same bytes except for requests and halflife's annotations. A report lists each changed
 * object, and why other objects were left unchanged.
 *
 *     struct render *r AUTO(render_free) = render_new(&options);
 *     … render_add(r, text, &err) for each text …
 *     render_run(r, view);
 *     … render_write(r, i, &out, &err), render_rows(r, &rows) …
 *
 * - An object is judged if its kind holds a pod template, by the table of kinds or because a profile names the kind.
 *   All other objects pass unchanged. The report still lists Pods, documents that another program has to render first,
 *   and objects with requests somewhere.
 * - deploy/deploy_answer.h decides, as at admission. The labels for profiles are the object's own, then its template's.
 *   The object's annotation "halflife.dev/apply: Never" is obeyed. The template's annotations record the originals, so
 *   rendering a rendered text again changes nothing.
 * - Autoscalers in the same texts count as if they were in the cluster: HorizontalPodAutoscalers of all versions with a
 *   utilization metric for cpu or memory (without metrics the API server assumes cpu), KEDA's ScaledObjects with a cpu
 *   or memory trigger of metricType Utilization, and VerticalPodAutoscalers whose updateMode is not Off.
 * - Requests are written under apply.mode OnDeploy, for apply.at Pod as well as Workload, and under Rollout. In other
 *   modes, and if no profile selects the workload, the bytes stay the same. If a request changes, halflife's three
 *   annotations are set on the template, with a copy on the object.
 */
#ifndef HALFLIFE_DEPLOY_RENDER_H
#define HALFLIFE_DEPLOY_RENDER_H

#include "base/buf.h"
#include "core/rules.h"
#include "snapshot/snapshot.h"

struct render_options {
        struct text ns; /* the namespace of objects that name no namespace */
        bool one_ns;    /* leave objects of other namespaces unchanged, since the caller may see only ns */
};

struct render_change {
        struct text container;
        enum resource resource;
        struct amount from, to; /* an amount that is not set means no request */
        enum reason reason;
};

/* A request, of a container or of the pod as a whole, that stays as it is. */
struct render_left {
        struct text container; /* "": the pod as a whole requests the resource (spec.resources) */
        enum resource resource;
        struct amount request; /* not set: the API server will set it to the limit, or to a LimitRange's default */
        const char *reason, *detail; /* why it stays: the words of struct render_row; never NULL */
};

/* The report on one object. Its texts are valid until render_free. */
struct render_row {
        size_t input; /* index of the object's text, in the order of render_add */
        uint32_t line;
        struct text kind, ns, name; /* "" if unknown */
        /* Why the object was left: a word for programs and a sentence for people; both NULL if it was changed. The word
         * is one of core's reasons, or Stands (the object has the right requests already), NoProfile, OtherNamespace,
         * Managed (another controller writes it), InPlace (the profile's mode), NoTarget (a Pod; a Rollout with a
         * workloadRef), Templated, NotEditable, UnreadableRecord, UnknownKind (halflife does not know where an object
         * of this kind has its requests). */
        const char *reason, *detail;
        bool trouble; /* the object was left because something is wrong with its text */
        const struct render_change *change;
        size_t changes;
        const struct render_left *left; /* the requests that the rules judged and did not change; */
        size_t lefts;                   /* 0 where the object's reason holds for all its requests */
};

struct render;
/* The caller keeps the options' texts until render_free. */
struct render *render_new(const struct render_options *o);
void render_free(struct render *r);
MEM_AUTO(render_free, struct render *)

/* Add a text, which the caller keeps unchanged until render_free. Errors are doc_new's: ERR_INVALID "line L, column C:
 * reason", ERR_TOOBIG. */
int render_add(struct render *r, struct text text, struct err *err);
/* List the namespaces that the snapshot has to cover, each once: those of autoscalers and of objects that may hold a
 * pod template. Returns their number, or max + 1 if there are more than max. */
size_t render_namespaces(const struct render *r, struct text *ret, size_t max);
/* Judge and change all objects; call it once, after all texts. Rows point into the snapshot. */
void render_run(struct render *r, const struct snapshot *v);
/* Append a text with its changes to `out`. Returns 0, or ERR_TOOBIG if the text exceeds the limit of `out`. */
int render_write(const struct render *r, size_t input, struct buf *out, struct err *err);
const struct render_row *render_rows(const struct render *r, size_t *ret_count);
/* The number of objects changed; all other rows were left. */
size_t render_changed(const struct render *r);

/*
 * Append the report on one text as a JSON list: [{"line", "kind", "namespace", "name", "changes": [{"container",
 * "resource", "from", "to", "reason"}]} or {…, "reason", "detail"}], both with "left": [{"container", "resource",
 * "request", "reason", "detail"}] if a request was left. Absent requests are left out. Names are cut to 253 bytes,
 * details of an object to 1024, details of a request to 256. Returns 0, or ERR_TOOBIG if the report exceeds
 * RENDER_REPORT_MAX bytes; `out` must have room for that many.
 */
enum { RENDER_REPORT_MAX = 32 << 20 };
int render_report(const struct render *r, size_t input, struct buf *out, struct err *err);

#endif
