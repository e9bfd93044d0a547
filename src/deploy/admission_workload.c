/*
 * Admission of workloads that their owners write. A template that differs from the previous template only in halflife's
 * values is not a deploy, so the previous values stay. Any other template gets the requests decided now.
 */
#include <string.h>

#include "admission_private.h"
#include "base/yaml.h"

/* --- comparing templates without halflife's values --- */

static json_t *at_pointer(json_t *from, const char *pointer)
{
        while (from && *pointer == '/') {
                size_t len = strcspn(++pointer, "/");
                from = json_object_getn(from, pointer, len);
                pointer += len;
        }
        return from;
}

static json_t *container_named(json_t *template, struct text name)
{
        static const char *const lists[] = {"containers", "initContainers"};
        for (size_t l = 0; l < 2; l++) {
                size_t i;
                json_t *c;
                json_array_foreach(json_object_get(json_object_get(template, "spec"), lists[l]), i, c)
                {
                        const char *found = json_string_value(json_object_get(c, "name"));
                        if (found && text_is(name, found))
                                return c;
                }
        }
        return NULL;
}

/* Drop a null or an empty object, which the API server treats as absent. */
static void drop_empty(json_t *parent, const char *key)
{
        json_t *child = json_object_get(parent, key);
        if (child && (json_is_null(child) || (json_is_object(child) && json_object_size(child) == 0)))
                json_object_del(parent, key);
}

/* Restore a container's requests to the owner's originals, in canonical notation. */
static void admission_workload_put_back(json_t *container, const struct deploy_row *row)
{
        char text[QUANTITY_TEXT_MAX];
        json_t *resources = json_object_get(container, "resources"), *requests = json_object_get(resources, "requests");
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct amount raw = row->origin[r].raw;
                if (raw.set)
                        json_object_set_new(requests, resource_name(r), json_string(amount_print(r, raw.value, text)));
                else
                        json_object_del(requests, resource_name(r));
        }
        drop_empty(resources, "requests");
        drop_empty(container, "resources");
}

/* The template as its owner wrote it: with the original requests, without halflife's annotations. */
static json_t *owners_template(const json_t *object, const char *template_path, const struct deploy_subject *s,
                               const struct deploy_row *row)
{
        json_t *template = json_deep_copy(at_pointer((json_t *)(uintptr_t)object, template_path));
        json_t *meta = json_object_get(template, "metadata"), *notes = json_object_get(meta, "annotations");
        json_object_del(notes, ANNOTATION_ORIGINAL);
        json_object_del(notes, ANNOTATION_APPLIED);
        json_object_del(notes, ANNOTATION_BASIS);
        drop_empty(meta, "annotations");
        for (size_t i = 0; i < s->containers; i++) {
                json_t *container = container_named(template, s->container[i].name);
                if (container)
                        admission_workload_put_back(container, &row[i]);
        }
        return template;
}

/* --- one version of the object: previous or new --- */

struct side {
        struct workload_view *view;
        struct deploy_subject subject;
        struct deploy_answer answer;
        json_t *object;
};

static size_t admission_workload_union_labels(const struct workload_view *v, struct label_pair *ret)
{
        size_t count = 0;
        for (int i = 0; i < v->meta.labels && count < VIEW_LABELS_MAX; i++)
                ret[count++] = (struct label_pair){v->meta.label[i].key, v->meta.label[i].value};
        for (int i = 0; i < v->template_labels && count < VIEW_LABELS_MAX; i++)
                ret[count++] = (struct label_pair){v->template_label[i].key, v->template_label[i].value};
        return count;
}

static bool read_side(const struct admission_work *w, struct text object, const char *template_path, struct side *ret)
{
        const struct admission *r = w->request;
        struct workload_view *v = arena_new(w->arena, sizeof *v);
        if (decode_workload(object, template_path, "", w->arena, v, NULL) < 0)
                return false;
        struct label_pair *label = arena_new(w->arena, VIEW_LABELS_MAX * sizeof *label);
        ret->view = v;
        ret->subject = (struct deploy_subject){
                .ns = r->ns,
                .group = r->group,
                .kind = r->kind,
                .name = v->meta.name,
                .label = label,
                .labels = admission_workload_union_labels(v, label),
                .apply_never = v->meta.labels_cut || v->containers_cut || v->meta.annotation.apply.len > 0,
                .pod_asks = {v->pod_asks[CPU].set, v->pod_asks[MEMORY].set},
                .container = admission_containers(w->arena, v->container, v->containers, &v->template_annotation),
                .containers = (size_t)v->containers,
        };
        if (!ret->subject.container)
                return false;
        deploy_answer(w->view, &ret->subject, w->arena, &ret->answer);
        ret->object = json_loadb(object.p, object.len, 0, NULL);
        return ret->object != NULL;
}

static bool is_same_template(const struct side *a, const struct side *b, const char *template_path)
{
        AUTO(json_decref) json_t *x = owners_template(a->object, template_path, &a->subject, a->answer.row);
        AUTO(json_decref) json_t *y = owners_template(b->object, template_path, &b->subject, b->answer.row);
        return x && y && json_equal(x, y);
}

/* --- deciding --- */

static bool sets_templates(const struct deploy_answer *d)
{
        const struct apply_policy *apply = &d->profile->spec->apply;
        return apply->mode == APPLY_ROLLOUT || (apply->mode == APPLY_ON_DEPLOY && apply->at == AT_WORKLOAD);
}

/* Replace the answer for the new version by the requests and originals of the previous version. */
static void keep_before(const struct side *before, struct side *now)
{
        for (size_t i = 0; i < now->subject.containers; i++)
                for (size_t k = 0; k < before->subject.containers; k++) {
                        if (!text_equal(now->subject.container[i].name, before->subject.container[k].name))
                                continue;
                        for (enum resource r = CPU; r < RESOURCES; r++) {
                                const struct original_request *was = &before->answer.row[k].origin[r];
                                now->answer.advice[i].ours[r] = was->ours;
                                now->answer.advice[i].request[r] = was->ours ? was->current : was->effective;
                                now->answer.row[i].origin[r].raw = was->raw;
                        }
                }
}

static const char *note_of(const struct admission_work *w, struct text note)
{
        return note.len ? arena_text(w->arena, note) : NULL;
}

static void admission_workload_settle(struct admission_work *w, struct side *now, const struct side *before,
                                      const char *template_path)
{
        struct deploy_notes notes = {0};
        if (before) {
                const struct our_annotations *a = &before->view->template_annotation;
                keep_before(before, now);
                notes = (struct deploy_notes){note_of(w, a->original), note_of(w, a->applied), note_of(w, a->basis)};
        }
        w->patch = admission_patch(w, w->request->object, template_path, &now->subject, &now->answer,
                                   before ? &notes : NULL);
        w->result = !w->patch                   ? ADMISSION_UNREADABLE
                    : json_array_size(w->patch) ? ADMISSION_PATCHED
                    : before                    ? ADMISSION_KEPT
                                                : ADMISSION_STANDS;
}

static void admission_workload_judge(struct admission_work *w, struct side *now, const char *template_path)
{
        struct side before = {0};
        bool update = text_is(w->request->operation, "UPDATE");
        bool has_template = now->subject.containers > 0; /* a Rollout with a workloadRef has no template */
        bool sticks = now->view->in_place_only;          /* the in-place-only strategy could not undo a change either */
        if (!has_template || !now->answer.profile || !sets_templates(&now->answer) || sticks) {
                w->result = has_template && now->answer.profile ? ADMISSION_OTHER_MODE : ADMISSION_NO_TARGET;
                return;
        }
        bool same = update && read_side(w, w->request->old_object, template_path, &before) &&
                    is_same_template(&before, now, template_path);
        if (same && now->answer.target && now->answer.target->hold)
                w->result = ADMISSION_STANDS; /* the hold may come from a restore, whose writes must pass unchanged */
        else
                admission_workload_settle(w, now, same ? &before : NULL, template_path);
        json_decref(before.object);
}

void admission_workload(struct admission_work *w, const char *template_path)
{
        struct side now = {0};
        w->result = ADMISSION_NO_TARGET;
        if (w->request->owner.kind.len > 0)
                return; /* another controller writes the workload's template */
        if (read_side(w, w->request->object, template_path, &now))
                admission_workload_judge(w, &now, template_path);
        else
                w->result = ADMISSION_UNREADABLE;
        json_decref(now.object);
}
