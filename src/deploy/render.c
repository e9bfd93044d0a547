#include "deploy/render.h"

#include <assert.h>
#include <stdio.h>

#include "core/kind.h"
#include "deploy/deploy_answer.h"
#include "manifest/pod_template.h"
#include "render_private.h"

enum { OWNERS_MAX = 64 };

struct render {
        const struct snapshot *v;
        struct render_options o;
        struct doc **doc;
        size_t docs;
        struct scalers scalers;
        struct arena arena, scratch; /* arena: owns the report; scratch: the current object only */
        struct render_row *row;
        size_t rows, cap, changed;
};

struct render *render_new(const struct render_options *o)
{
        struct render *r = MEM_NEW(struct render);
        r->o = *o;
        return r;
}

void render_free(struct render *r)
{
        if (!r)
                return;
        for (size_t i = 0; i < r->docs; i++)
                doc_free(r->doc[i]);
        mem_free(r->doc);
        mem_free(r->row);
        scalers_release(&r->scalers);
        arena_release(&r->arena);
        arena_release(&r->scratch);
        mem_free(r);
}

int render_add(struct render *r, struct text text, struct err *err)
{
        struct doc *d = doc_new(text.p, text.len, err);
        if (!d)
                return err->code;
        r->doc = mem_resize(r->doc, r->docs + 1, sizeof *r->doc);
        r->doc[r->docs++] = d;
        return 0;
}

/* --- the report --- */

static struct render_row *render_report_object(struct render *r, struct render_row row)
{
        if (r->rows == r->cap) {
                r->cap = r->cap ? r->cap * 2 : 16;
                r->row = mem_resize(r->row, r->cap, sizeof *r->row);
        }
        r->row[r->rows] = row;
        return &r->row[r->rows++];
}

/* --- one object --- */

struct work {
        struct render *r;
        struct doc *d;
        const struct doc_object *o;
        size_t object;
        struct render_row row;
        struct template_view *template;
        struct deploy_subject subject;
        struct deploy_answer answer;
};

static void render_leave(struct work *w, const char *reason, const char *detail)
{
        w->row.reason = reason;
        w->row.detail = detail;
        render_report_object(w->r, w->row);
}

static void leave_trouble(struct work *w, const char *reason, const char *detail)
{
        w->row.trouble = true;
        render_leave(w, reason, arena_text(&w->r->arena, text_of(detail)));
}

static void leave_refused(struct work *w, const char *detail)
{
        leave_trouble(w, w->o->templated ? "Templated" : "NotEditable", detail);
}

/* --- which objects are judged --- */

/* Does a Profile of namespace `ns` name the kind in its targets? With `ns` {NULL, 0}: does a ClusterProfile? */
static bool render_is_named(const struct snapshot *v, struct text ns, struct text group, struct text kind)
{
        size_t first, count = snapshot_profiles_of(v, ns, &first);
        for (size_t i = first; i < first + count; i++) {
                const struct profile_spec *p = v->profile[i]->spec;
                for (int k = 0; p->dimension == DIMENSION_WORKLOAD && k < p->targets; k++)
                        if (text_is(kind, p->target[k].kind) &&
                            text_equal(group, kind_group(text_of(p->target[k].api_version))))
                                return true;
        }
        return false;
}

/* Where objects of this kind hold their pod template; NULL: nowhere. */
static const char *template_path(const struct snapshot *v, struct text ns, struct text group, struct text kind)
{
        const struct kind *k = kind_find(group, kind);
        bool named = !k && (render_is_named(v, ns, group, kind) || render_is_named(v, (struct text){0}, group, kind));
        return k ? k->template_path : named ? "/spec/template" : NULL;
}

static bool render_has_controller(const struct work *w)
{
        uint32_t owner[OWNERS_MAX];
        uint32_t owners = render_at(w->d, render_at(w->d, w->o->root, "metadata"), "ownerReferences");
        int n = doc_items(w->d, owners, OWNERS_MAX, owner, NULL);
        for (int i = 0; i < n; i++)
                if (text_is(render_text(w->d, owner[i], "controller"), "true"))
                        return true;
        return n < 0;
}

/* Does the object run the template of another object? That object is judged on its own. */
static bool runs_another(const struct work *w)
{
        return render_at(w->d, render_at(w->d, w->o->root, "spec"), "workloadRef") != DOC_NONE;
}

/* --- reading an object --- */

static int add_labels(struct work *w, uint32_t labels, struct label_pair *label, struct err *err)
{
        size_t room = VIEW_LABELS_MAX - w->subject.labels;
        struct doc_member *member = arena_new(&w->r->scratch, (room + 1) * sizeof *member);
        int n = doc_members(w->d, labels, room, member, err);
        for (int i = 0; i < n; i++)
                label[w->subject.labels++] = (struct label_pair){member[i].key, doc_text(w->d, member[i].value)};
        return n < 0 ? n : 0;
}

static int render_read_labels(struct work *w, uint32_t metadata, struct err *err)
{
        struct label_pair *label = arena_new(&w->r->scratch, VIEW_LABELS_MAX * sizeof *label);
        w->subject.label = label;
        int rc = add_labels(w, render_at(w->d, metadata, "labels"), label, err);
        return rc < 0 ? rc : add_labels(w, w->template->labels, label, err);
}

static struct deploy_container *render_read_containers(const struct work *w)
{
        const struct template_view *t = w->template;
        struct deploy_container *to = arena_new(&w->r->scratch, (size_t)(t->containers + 1) * sizeof *to);
        for (int i = 0; i < t->containers; i++) {
                to[i].name = t->container[i].name;
                to[i].role = t->container[i].role;
                memcpy(to[i].request, t->container[i].request, sizeof to[i].request);
                memcpy(to[i].limit, t->container[i].limit, sizeof to[i].limit);
                memcpy(to[i].read, t->container[i].read, sizeof to[i].read);
                to[i].heap = t->container[i].heap;
        }
        return to;
}

static int read_records(const struct work *w, struct deploy_container *c, struct err *err)
{
        const uint32_t notes = w->template->annotations;
        const struct our_annotations ours = {
                .original = render_text(w->d, notes, ANNOTATION_ORIGINAL),
                .applied = render_text(w->d, notes, ANNOTATION_APPLIED),
        };
        return deploy_recall(c, (size_t)w->template->containers, &ours, &w->r->scratch, err);
}

/* Read the annotation halflife.dev/apply. If it is ambiguous, nothing may be written, so an error is returned. */
static int read_opt_out(struct work *w, uint32_t metadata, struct err *err)
{
        uint32_t notes = DOC_NONE, apply = DOC_NONE;
        int rc = doc_find(w->d, metadata, TEXT("annotations"), &notes, err);
        if (rc == 0)
                rc = doc_find(w->d, notes, TEXT(ANNOTATION_APPLY), &apply, err);
        w->subject.apply_never = doc_text(w->d, apply).len > 0;
        return rc;
}

/* Has the workload OpenKruise's in-place-only update strategy, in the spelling of either API version? */
static bool is_in_place_only(const struct work *w)
{
        uint32_t strategy = render_at(w->d, render_at(w->d, w->o->root, "spec"), "updateStrategy");
        uint32_t rolling = render_at(w->d, strategy, "rollingUpdate");
        return text_is(render_text(w->d, strategy, "type"), "InPlaceOnly") ||
               text_is(render_text(w->d, rolling, "podUpdatePolicy"), "InPlaceOnly");
}

/* Mark the resources for which autoscalers of other workloads will count the object's pods. A Job ends soon, and 0
 * replicas have no pods, so both are left out. */
static void render_mark_counted(struct work *w)
{
        struct doc_member *member = arena_new(&w->r->scratch, VIEW_LABELS_MAX * sizeof *member);
        struct label_pair *label = arena_new(&w->r->scratch, VIEW_LABELS_MAX * sizeof *label);
        int n = doc_members(w->d, w->template->labels, VIEW_LABELS_MAX, member, NULL);
        for (int i = 0; i < n; i++)
                label[i] = (struct label_pair){member[i].key, doc_text(w->d, member[i].value)};
        bool none = text_is(w->o->kind, "Job") ||
                    text_is(render_text(w->d, render_at(w->d, w->o->root, "spec"), "replicas"), "0");
        if (!none && n >= 0)
                scalers_mark_counted(&w->r->scalers, &w->subject, label, (size_t)n, &w->r->scratch);
}

static bool read_subject(struct work *w, const char *path)
{
        struct err err = {0};
        uint32_t metadata = render_at(w->d, w->o->root, "metadata");
        w->template = arena_new(&w->r->scratch, sizeof *w->template);
        w->subject = (struct deploy_subject){
                .ns = w->row.ns,
                .group = kind_group(w->o->api_version),
                .kind = w->o->kind,
                .name = w->o->name,
        };
        int rc = template_read(w->d, w->object, path, w->template, &err);
        if (rc == 0)
                rc = read_opt_out(w, metadata, &err);
        if (rc == 0)
                rc = render_read_labels(w, metadata, &err);
        if (rc < 0) {
                leave_refused(w, w->o->refused ? w->o->refused : err.text);
                return false;
        }
        struct deploy_container *c = render_read_containers(w);
        for (enum resource r = CPU; r < RESOURCES; r++)
                w->subject.pod_asks[r] = w->template->pod_asks[r].set;
        w->subject.container = c;
        w->subject.containers = (size_t)w->template->containers;
        if (read_records(w, c, &err) < 0) {
                leave_trouble(w, "UnreadableRecord", err.text);
                return false;
        }
        w->subject.in_place_only = is_in_place_only(w);
        const struct scaler *s = scalers_find(&w->r->scalers, w->subject.ns, w->subject.group, w->subject.kind,
                                              w->subject.name, &w->r->scratch);
        if (s) {
                memcpy(w->subject.hpa, s->utilization, sizeof w->subject.hpa);
                w->subject.other_autoscaler = s->sets_requests;
                w->subject.left = s->left;
        }
        render_mark_counted(w);
        return true;
}

/* --- why nothing changes --- */

/* The reason to report for the whole object: the first that is more than "turned off" or "an init container". */
static enum reason main_reason(const struct work *w)
{
        enum reason off = REASON_NONE;
        for (size_t i = 0; i < w->subject.containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        enum reason why = w->answer.advice[i].reason[r];
                        if (why == REASON_CPU_OFF || why == REASON_MEMORY_OFF || why == REASON_INIT ||
                            why == REASON_CONTAINER_IGNORED || why == REASON_NONE)
                                off = off ? off : why;
                        else
                                return why;
                }
        return off;
}

/* Name the variable or file that reads the first request that is held because a container reads it. */
static const char *render_reader(struct work *w)
{
        char reader[REQUEST_READING_TEXT_MAX], text[2 * REQUEST_READING_TEXT_MAX];
        for (size_t i = 0; i < w->subject.containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        const struct deploy_container *c = &w->subject.container[i];
                        if (w->answer.advice[i].reason[r] != REASON_READ_BY_CONTAINER)
                                continue;
                        snprintf(text, sizeof text, "%s reads the %s request of container '%.*s'",
                                 request_reading_print(&c->read[r], reader), resource_name(r), TEXT_ARG(c->name));
                        return arena_text(&w->r->arena, text_of(text));
                }
        return reason_render(REASON_READ_BY_CONTAINER);
}

static void leave_by_rule(struct work *w)
{
        const struct snapshot_target *t = w->answer.target;
        enum reason why = main_reason(w);
        if (w->answer.any || why == REASON_NONE)
                render_leave(w, "Stands", "it has the right requests already");
        else if (why == REASON_PAUSED && t && t->hold)
                render_leave(w, reason_name(why), t->hold);
        else if (why == REASON_READ_BY_CONTAINER)
                render_leave(w, reason_name(why), render_reader(w));
        else
                render_leave(w, reason_name(why), reason_render(why) ? reason_render(why) : reason_meaning(why));
}

/* --- what changes --- */

/* List the requests that change, in w->row and as template changes. Returns the number of containers that change. */
static size_t render_find_changes(struct work *w, struct template_change *ret)
{
        size_t count = 0, most = w->subject.containers * RESOURCES;
        struct render_change *row = arena_new(&w->r->scratch, (most + 1) * sizeof *row);
        w->row.change = row;
        for (size_t i = 0; i < w->subject.containers; i++) {
                const struct deploy_container *c = &w->subject.container[i];
                struct template_change change = {.container = (int)i};
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        change.to[r] = deploy_request(&w->answer, i, r);
                        change.write[r] = !amount_equal(change.to[r], c->request[r]);
                        if (change.write[r])
                                row[w->row.changes++] = (struct render_change){c->name, r, c->request[r], change.to[r],
                                                                               w->answer.advice[i].reason[r]};
                }
                if (change.write[CPU] || change.write[MEMORY])
                        ret[count++] = change;
        }
        return count;
}

static void keep_changes(struct work *w)
{
        size_t size = w->row.changes * sizeof *w->row.change;
        struct render_change *kept = arena_new(&w->r->arena, size);
        memcpy(kept, w->row.change, size);
        w->row.change = kept;
        w->r->changed++;
        render_report_object(w->r, w->row);
}

static void render_change_object(struct work *w)
{
        struct err err = {0};
        struct template_change *change = arena_new(&w->r->scratch, TEMPLATE_CONTAINERS * sizeof *change);
        size_t count = render_find_changes(w, change);
        left_list(&w->subject, &w->answer, w->template->pod_asks, &w->r->arena, &w->row);
        if (count == 0) {
                leave_by_rule(w);
                return;
        }
        const struct deploy_notes notes = deploy_record(&w->subject, &w->answer, &w->r->scratch);
        const struct template_note note[] = {{ANNOTATION_ORIGINAL, notes.original},
                                             {ANNOTATION_APPLIED, notes.applied},
                                             {ANNOTATION_BASIS, notes.basis}};
        const size_t notes_of_ours = apply_policy_owns_no_basis(&w->answer.profile->spec->apply) ? 2 : 3;
        if (template_edit(w->d, w->object, w->template, change, count, note, notes_of_ours, &err) < 0) {
                w->row.changes = w->row.lefts = 0;
                leave_refused(w, err.text);
        } else {
                keep_changes(w);
        }
}

/* Report an object of a kind without a known template, if it has requests. No profile was asked, so its row has no
 * namespace. */
static void leave_unknown(struct work *w)
{
        uint32_t template = render_at(w->d, render_at(w->d, w->o->root, "spec"), "template");
        if (!template_asks(w->d, w->object))
                return;
        w->row.ns = TEXT("");
        if (w->o->refused && !w->o->templated)
                leave_refused(w, w->o->refused);
        else if (render_at(w->d, template, "spec") != DOC_NONE)
                render_leave(w, "UnknownKind", "halflife does not know its kind, and no profile names it in targets");
        else
                render_leave(w, "UnknownKind", "objects of this kind hold their requests where halflife knows nothing");
}

static void render_judge(struct work *w)
{
        const struct render *r = w->r;
        struct text group = kind_group(w->o->api_version);
        struct text ns = w->o->namespace.len ? w->o->namespace : r->o.ns;
        const char *path = template_path(r->v, ns, group, w->o->kind);
        bool pod = group.len == 0 && text_is(w->o->kind, "Pod");
        if (w->o->root == DOC_NONE) {
                leave_refused(w, w->o->refused);
                return;
        }
        if (!path && !pod) {
                leave_unknown(w);
                return;
        }
        w->row.ns = ns;
        if (r->o.one_ns && !text_equal(w->row.ns, r->o.ns))
                render_leave(w, "OtherNamespace", "it is in another namespace than the one asked about");
        else if (pod)
                render_leave(w, "NoTarget", "a Pod without a workload is not a target");
        else if (render_has_controller(w))
                render_leave(w, "Managed", "another controller writes its template");
        else if (runs_another(w))
                render_leave(w, "NoTarget", "it runs the template of the workload that it refers to");
        else if (read_subject(w, path)) {
                deploy_answer(r->v, &w->subject, &w->r->scratch, &w->answer);
                if (!w->answer.profile)
                        render_leave(w, "NoProfile", "no profile selects it");
                else if (w->answer.profile->spec->apply.mode == APPLY_RECOMMEND)
                        render_leave(w, reason_name(REASON_RECOMMEND_ONLY), reason_render(REASON_RECOMMEND_ONLY));
                else if (w->answer.profile->spec->apply.mode == APPLY_IN_PLACE)
                        render_leave(w, "InPlace", "its pods get their requests at creation and while they run");
                else
                        render_change_object(w);
        }
}

/* --- all objects --- */

static bool render_matters(const struct doc *d, const struct doc_object *o)
{
        uint32_t spec = render_at(d, o->root, "spec");
        return kind_find(kind_group(o->api_version), o->kind) || render_at(d, spec, "template") != DOC_NONE ||
               render_at(d, spec, "scaleTargetRef") != DOC_NONE;
}

size_t render_namespaces(const struct render *r, struct text *ret, size_t max)
{
        size_t count = 0;
        for (size_t i = 0; i < r->docs; i++)
                for (size_t k = 0; k < doc_count(r->doc[i]); k++) {
                        const struct doc_object *o = doc_object(r->doc[i], k);
                        struct text ns = o->namespace.len ? o->namespace : r->o.ns;
                        size_t at = 0;
                        if (!render_matters(r->doc[i], o))
                                continue;
                        while (at < count && !text_equal(ret[at], ns))
                                at++;
                        if (at == max)
                                return max + 1;
                        ret[at] = ns;
                        count += at == count;
                }
        return count;
}

void render_run(struct render *r, const struct snapshot *v)
{
        r->v = v;
        for (size_t i = 0; i < r->docs; i++)
                for (size_t k = 0; k < doc_count(r->doc[i]); k++)
                        scalers_add(&r->scalers, r->doc[i], doc_object(r->doc[i], k), r->o.ns);
        scalers_add_of_cluster(&r->scalers, v, r->o.one_ns ? r->o.ns : (struct text){0});
        for (size_t i = 0; i < r->docs && r->scalers.counting.count; i++)
                for (size_t k = 0; k < doc_count(r->doc[i]); k++)
                        scalers_add_selector(&r->scalers, r->doc[i], doc_object(r->doc[i], k), r->o.ns);
        for (size_t i = 0; i < r->docs; i++)
                for (size_t k = 0; k < doc_count(r->doc[i]); k++) {
                        const struct doc_object *o = doc_object(r->doc[i], k);
                        struct work w = {.r = r, .d = r->doc[i], .o = o, .object = k};
                        w.row = (struct render_row){
                                .input = i, .line = o->line, .kind = o->kind, .ns = o->namespace, .name = o->name};
                        render_judge(&w);
                        arena_reset(&r->scratch);
                }
}

int render_write(const struct render *r, size_t input, struct buf *out, struct err *err)
{
        assert(input < r->docs);
        return doc_write(r->doc[input], out, err);
}

const struct render_row *render_rows(const struct render *r, size_t *ret_count)
{
        *ret_count = r->rows;
        return r->row;
}

size_t render_changed(const struct render *r)
{
        return r->changed;
}
