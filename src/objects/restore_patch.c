#include "objects/restore_patch.h"

#include <stdio.h>
#include <string.h>

#include "base/yaml.h"
#include "core/autoscaler_target.h"
#include "core/original_request.h"
#include "core/quantity.h"
#include "objects/patch.h"
#include "objects/resize_manager.h"

/* The parts of a workload or pod that a restore needs. */
struct carrier {
        struct arena arena;
        const struct object_view *meta;
        const struct our_annotations *note;
        const struct container_view *container;
        int containers;
        struct recorded original[VIEW_CONTAINERS], applied[VIEW_CONTAINERS];
        int originals, applieds;
        const json_t *admitted; /* status.applied.admitted; NULL: none */
        json_t *own; /* the pod's JSON, if the annotations were written to the pod and not copied from its template;
                        else NULL */
};

/* --- reading --- */

struct rows {
        struct recorded *row;
        int *rows;
};

static int restore_patch_take_row(void *arg, const struct recorded *r)
{
        struct rows *to = arg;
        to->row[(*to->rows)++] = *r; /* record_read gives at most VIEW_CONTAINERS rows */
        return 0;
}

static int read_record(struct carrier *c, struct text annotation, struct recorded *row, int *rows, struct err *err)
{
        struct rows to = {row, rows};
        return annotation.len ? record_read(annotation, &c->arena, restore_patch_take_row, &to, err) : 0;
}

static int restore_patch_read_object(struct carrier *c, struct text object, const char *template_path, struct err *err)
{
        if (!*template_path) {
                struct pod_view *pod = arena_new(&c->arena, sizeof *pod);
                int rc = decode_pod(object, &c->arena, pod, err);
                c->meta = &pod->meta;
                c->note = &pod->meta.annotation;
                c->container = pod->container;
                c->containers = pod->containers;
                return rc;
        }
        struct workload_view *w = arena_new(&c->arena, sizeof *w);
        int rc = decode_workload(object, template_path, FIELD_MANAGER, &c->arena, w, err);
        c->meta = &w->meta;
        c->note = &w->template_annotation;
        c->container = w->container;
        c->containers = w->containers;
        return rc;
}

static int carrier_read(struct carrier *c, struct text object, const char *template_path, struct err *err)
{
        int rc = restore_patch_read_object(c, object, template_path, err);
        if (rc == 0)
                rc = read_record(c, c->note->original, c->original, &c->originals, err);
        if (rc == 0)
                rc = read_record(c, c->note->applied, c->applied, &c->applieds, err);
        return rc;
}

static const struct recorded *find_row(const struct recorded *row, int rows, struct text container)
{
        for (int i = 0; i < rows; i++)
                if (text_equal(row[i].container, container))
                        return &row[i];
        return NULL;
}

/* --- telling --- */

static const char *restore_patch_print(enum resource r, struct amount a, char text[static QUANTITY_TEXT_MAX])
{
        return a.set ? amount_print(r, a.value, text) : "none";
}

static void restore_patch_add_text(char to[static RESTORE_TEXT], const char *text)
{
        size_t at = strlen(to);
        snprintf(to + at, RESTORE_TEXT - at, "%s%s", at ? ", " : "", text);
}

static void restore_patch_tell(struct restore *ret, bool back, struct text container, enum resource r,
                               struct amount now, struct amount other)
{
        char line[RESTORE_TEXT], a[QUANTITY_TEXT_MAX], b[QUANTITY_TEXT_MAX];
        snprintf(line, sizeof line, back ? "%.*s %s %s -> %s" : "%.*s %s is %s, not the %s that halflife set",
                 TEXT_ARG(container), resource_name(r), restore_patch_print(r, now, a),
                 restore_patch_print(r, other, b));
        restore_patch_add_text(back ? ret->changes : ret->stands, line);
        *(back ? &ret->back : &ret->stand) += 1;
}

/* --- requests --- */

/* Reads from the Recommendation's `admitted` the request that admission made of halflife's; not set: admission removed
 * it. False: `admitted` has none. */
static bool restore_patch_row(const json_t *admitted, struct text container, enum resource r, struct amount *ret)
{
        size_t i;
        const json_t *row;
        json_array_foreach((json_t *)(uintptr_t)admitted, i, row)
        {
                const char *name = json_string_value(json_object_get(row, "name"));
                const char *request = json_string_value(json_object_get(row, resource_name(r)));
                if (!name || !text_is(container, name))
                        continue;
                return !request || amount_parse(text_of(request), r, ret) == 0;
        }
        return false;
}

/* Whether the pod still has the request that admission made of halflife's at the pod's creation. Only a resize changes
 * it, and no other manager resized it. */
static bool restore_patch_is_born(const struct carrier *c, const char *container, enum resource r)
{
        const json_t *managers = json_object_get(json_object_get(c->own, "metadata"), "managedFields");
        return json_array_size(managers) > 0 && !resize_manager_is_other(c->own, container, r);
}

static void restore_patch_judge(const struct carrier *c, const struct container_view *v, enum resource r,
                                struct restore *ret, struct patch_container *to)
{
        struct amount admitted = {0};
        const struct recorded *applied = find_row(c->applied, c->applieds, v->name);
        const struct recorded *original = find_row(c->original, c->originals, v->name);
        if (!applied || !applied->request[r].set || !original)
                return;
        bool born = restore_patch_is_born(c, to->name, r);
        const struct original_request o = original_request_read(&(struct original_request_facts){
                .request = v->request[r],
                .limit = v->limit[r],
                .applied = applied->request[r],
                .recorded = true,
                .original = original->request[r],
                .changed = born || restore_patch_row(c->admitted, v->name, r, &admitted),
                .admitted = born ? v->request[r] : admitted,
        });
        if (o.ours && !amount_equal(o.raw, v->request[r])) {
                to->write[r] = true;
                to->to[r] = o.raw;
                restore_patch_tell(ret, true, v->name, r, v->request[r], o.raw);
        } else if (!o.ours && !o.reset) {
                restore_patch_tell(ret, false, v->name, r, v->request[r], applied->request[r]);
        }
}

static const char *string_in(struct carrier *c, struct text t)
{
        return t.len ? arena_text(&c->arena, t) : NULL;
}

/* `keep`: the patch leaves the object's annotations as they are. */
static int restore_patch_build(struct carrier *c, struct text object, const char *template_path, bool keep,
                               struct restore *ret, json_t **ret_patch, struct err *err)
{
        struct patch_container *to = arena_new(&c->arena, (size_t)(c->containers + 1) * sizeof *to);
        int count = 0;
        memset(ret, 0, sizeof *ret);
        ret->noted = c->note->applied.len > 0 || c->note->original.len > 0;
        for (int i = 0; i < c->containers; i++) {
                to[count].name = arena_text(&c->arena, c->container[i].name);
                for (enum resource r = CPU; r < RESOURCES; r++)
                        restore_patch_judge(c, &c->container[i], r, ret, &to[count]);
                count += to[count].write[CPU] || to[count].write[MEMORY];
        }
        *ret_patch = NULL;
        if (ret->back == 0)
                return 0;
        const struct patch_resources p = {
                .template_path = template_path,
                .object = object,
                .version = string_in(c, c->meta->version),
                .container = to,
                .containers = count,
                .original = keep ? string_in(c, c->note->original) : NULL,
                .applied = keep ? string_in(c, c->note->applied) : NULL,
                /* The annotation utilization-basis is halflife's where it has a copy on the workload. */
                .basis_stands = keep || c->meta->annotation.basis.len == 0,
        };
        *ret_patch = patch_build(&p, err);
        return *ret_patch ? 0 : err->code;
}

static int restore_from(struct text object, const char *template_path, const json_t *admitted, bool own,
                        struct restore *ret, json_t **ret_patch, struct err *err)
{
        struct carrier *c = MEM_NEW(struct carrier);
        int rc = carrier_read(c, object, template_path, err);
        c->admitted = admitted;
        c->own = own ? json_loadb(object.p, object.len, 0, NULL) : NULL;
        if (rc == 0)
                rc = restore_patch_build(c, object, template_path, !*template_path, ret, ret_patch, err);
        json_decref(c->own);
        arena_release(&c->arena);
        mem_free(c);
        return rc;
}

int restore_template(struct text object, const char *template_path, const json_t *admitted, struct restore *ret,
                     json_t **ret_patch, struct err *err)
{
        return restore_from(object, template_path, admitted, false, ret, ret_patch, err);
}

int restore_pod_requests(struct text pod, const json_t *admitted, bool own, struct restore *ret, json_t **ret_patch,
                         struct err *err)
{
        return restore_from(pod, "", admitted, own, ret, ret_patch, err);
}

int restore_pod_notes(struct text pod, bool basis, json_t **ret_patch, struct err *err)
{
        struct arena arena = {0};
        struct object_view meta;
        int rc = decode_object(pod, &arena, &meta, err);
        *ret_patch = NULL;
        if (rc == 0) {
                const struct patch_resources p = {.template_path = "",
                                                  .object = pod,
                                                  .version = arena_text(&arena, meta.version),
                                                  .basis_stands = !basis,
                                                  .deploys = true};
                json_t *patch = patch_build(&p, err);
                rc = patch ? 0 : err->code;
                if (json_array_size(patch) > 1) /* the first operation only tests the version */
                        *ret_patch = json_incref(patch);
                json_decref(patch);
        }
        arena_release(&arena);
        return rc;
}

/* --- autoscalers --- */

/* The utilization target that an annotation records for a metric; not set: the annotation has none. */
static struct amount restore_patch_recorded_of(const struct recorded_target *row, int rows, const struct metric_view *m)
{
        for (int i = 0; i < rows; i++)
                if (row[i].resource == m->resource && text_equal(row[i].container, m->container))
                        return (struct amount){true, row[i].percent};
        return (struct amount){0};
}

struct scaler {
        struct arena arena;
        struct autoscaler_view view;
        struct recorded_target was[VIEW_METRICS], made[VIEW_METRICS];
        int wases, mades;
        struct patch_target target[VIEW_METRICS];
        int targets;
};

static int restore_patch_read_targets(struct scaler *s, struct text annotation, struct recorded_target *row,
                                      int *ret_rows, struct err *err)
{
        int rows = annotation.len ? record_targets_read(annotation, &s->arena, row, err) : 0;
        *ret_rows = rows < 0 ? 0 : rows;
        return rows < 0 ? rows : 0;
}

static void judge_metric(struct scaler *s, int i, struct restore *ret)
{
        const struct metric_view *m = &s->view.metric[i];
        bool container = m->source == METRIC_CONTAINER;
        struct amount was = restore_patch_recorded_of(s->was, s->wases, m),
                      made = restore_patch_recorded_of(s->made, s->mades, m);
        char line[RESTORE_TEXT];
        if (m->target != TARGET_UTILIZATION || !was.set || was.value == m->percent)
                return;
        const struct retune_origin o = retune_origin(&(struct retune_facts){m->percent, was, made});
        snprintf(line, sizeof line, o.ours ? "%.*s%s%s %lld%% -> %lld%%" : "%.*s%s%s is %lld%%, not what halflife set",
                 TEXT_ARG(m->container), container ? " " : "", resource_name(m->resource), (long long)m->percent,
                 (long long)was.value);
        restore_patch_add_text(o.ours ? ret->changes : ret->stands, line);
        *(o.ours ? &ret->back : &ret->stand) += 1;
        if (o.ours)
                s->target[s->targets++] = (struct patch_target){i, container, was.value};
}

static int restore_targets(struct scaler *s, struct text object, bool triggers, struct restore *ret, json_t **ret_patch,
                           struct err *err)
{
        int rc = triggers ? decode_scaled_object(object, FIELD_MANAGER, &s->arena, &s->view, err)
                          : decode_hpa(object, FIELD_MANAGER, &s->arena, &s->view, err);
        const struct our_annotations *note = &s->view.meta.annotation;
        if (rc == 0)
                rc = restore_patch_read_targets(s, note->targets, s->was, &s->wases, err);
        if (rc == 0)
                rc = restore_patch_read_targets(s, note->targets_applied, s->made, &s->mades, err);
        ret->noted = note->targets.len > 0;
        if (rc < 0 || !ret->noted)
                return rc;
        for (int i = 0; i < s->view.metrics; i++)
                judge_metric(s, i, ret);
        *ret_patch = patch_targets_build(&(struct patch_targets){.object = object,
                                                                 .version = arena_text(&s->arena, s->view.meta.version),
                                                                 .triggers = triggers,
                                                                 .target = s->target,
                                                                 .targets = s->targets},
                                         err);
        return *ret_patch ? 0 : err->code;
}

int restore_autoscaler(struct text object, bool triggers, struct restore *ret, json_t **ret_patch, struct err *err)
{
        struct scaler *s = MEM_NEW(struct scaler);
        memset(ret, 0, sizeof *ret);
        *ret_patch = NULL;
        int rc = restore_targets(s, object, triggers, ret, ret_patch, err);
        arena_release(&s->arena);
        mem_free(s);
        return rc;
}
