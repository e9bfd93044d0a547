/*
 * Manifests with the requests to deploy with, as pure functions: texts and a view in, the same bytes out but for
 * requests and our annotations, and a report of what was changed and what was left, and why.
 *
 *     struct render *r AUTO(render_free) = render_new(&options);
 *     … render_add(r, text, &err) for each text …
 *     render_run(r, view);
 *     … render_write(r, i, &out, &err), render_rows(r, &rows) …
 *
 * - Judged is every object of a kind that holds a pod template, by the table of kinds or because a profile names it.
 *   Everything else passes as it is and is not reported, but for Pods (they have no target) and documents that are text
 *   still to be rendered by another program.
 * - What is asked is deploy/deploy.h, as at admission: labels are the object's own, then its template's; its annotation
 *   halflife.dev/apply: Never counts; its template's records make what was rendered before render to itself.
 * - Autoscalers of the same texts count as if they were in the cluster already: HorizontalPodAutoscalers of all
 *   versions with a utilization metric of cpu or memory (of one without metrics the API server makes cpu), and KEDA's
 *   ScaledObjects with a cpu or memory trigger of metricType Utilization.
 * - Rewritten is under apply.mode OnDeploy, at Pod and at Workload alike, and Rollout. Under Recommend, and where no
 *   profile selects the workload, the same bytes come out. Where a request changes, the three annotations are set on
 * the template with a copy on the object.
 */
#ifndef HALFLIFE_DEPLOY_RENDER_H
#define HALFLIFE_DEPLOY_RENDER_H

#include "base/buf.h"
#include "core/rules.h"
#include "snapshot/snapshot.h"

struct render_options {
        struct text ns; /* of objects that name none */
        bool one_ns;    /* objects of other namespaces are left: the caller may ask about this one only */
};

struct render_change {
        struct text container;
        enum resource resource;
        struct amount from, to; /* not set: there is no request */
        enum reason reason;
};

/* An object. Texts point into what was given. */
struct render_row {
        size_t input; /* of the texts, in the order in which they were added */
        uint32_t line;
        struct text kind, ns, name; /* "" where they are not known */
        /* Why it was left, in one word for programs and in a sentence; NULL: it was changed. Of core's reasons, or
         * Stands (it has these requests already), NoProfile, OtherNamespace, Managed (another controller writes it),
         * NoTarget (a Pod; a Rollout with a workloadRef), Templated, NotEditable, UnreadableRecord. */
        const char *reason, *detail;
        bool trouble; /* left, because something is wrong with the text */
        const struct render_change *change;
        size_t changes;
};

struct render;
/* The options' texts are the caller's until render_free. */
struct render *render_new(const struct render_options *o);
void render_free(struct render *r);
MEM_AUTO(render_free, struct render *)

/* One more text, which has to stay until render_free. What doc_new says: ERR_INVALID "line L, column C: reason",
 * ERR_TOOBIG. */
int render_add(struct render *r, struct text text, struct err *err);
/* The namespaces that a view has to tell of, each once: those of objects that may hold a pod template, and of
 * autoscalers. At most max; returns how many there are, max + 1 where more. */
size_t render_namespaces(const struct render *r, struct text *ret, size_t max);
/* Once, after all texts. Rows point into the view. */
void render_run(struct render *r, const struct snapshot *v);
/* A text as it is now. ERR_TOOBIG when out is too small for it. */
int render_write(const struct render *r, size_t input, struct buf *out, struct err *err);
const struct render_row *render_rows(const struct render *r, size_t *ret_count);
/* Objects changed; the other rows were left. */
size_t render_changed(const struct render *r);

/*
 * The report of one text as a JSON list: [{"line", "kind", "namespace", "name", "changes": [{"container",
 * "resource", "from", "to", "reason"}]} or {…, "reason", "detail"}]; absent requests are left out. Names are cut to 253
 * bytes, details to 1024. ERR_TOOBIG when it is larger than RENDER_REPORT_MAX; out has room for that.
 */
enum { RENDER_REPORT_MAX = 32 << 20 };
int render_report(const struct render *r, size_t input, struct buf *out, struct err *err);

#endif
