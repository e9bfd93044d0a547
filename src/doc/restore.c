#include "doc/restore.h"

#include <stdio.h>
#include <string.h>

#include "base/yaml.h"
#include "core/origin.h"
#include "core/quantity.h"
#include "doc/patch.h"

/* What of an object tells the way back: a workload's template, or a pod. */
struct carrier {
        struct arena arena;
        const struct object_view *meta;
        const struct our_annotations *note;
        const struct container_view *container;
        int containers;
        struct recorded original[VIEW_CONTAINERS], applied[VIEW_CONTAINERS];
        int originals, applieds;
};

/* --- reading --- */

struct rows {
        struct recorded *row;
        int *rows;
};

static int take_row(void *arg, const struct recorded *r)
{
        struct rows *to = arg;
        to->row[(*to->rows)++] = *r; /* record_read bounds them */
        return 0;
}

static int read_record(struct carrier *c, struct text annotation, struct recorded *row, int *rows, struct err *err)
{
        struct rows to = {row, rows};
        return annotation.len ? record_read(annotation, &c->arena, take_row, &to, err) : 0;
}

static int read_object(struct carrier *c, struct text object, const char *template_path, struct err *err)
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
        int rc = read_object(c, object, template_path, err);
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

static const char *spell(enum resource r, struct amount a, char text[static QUANTITY_TEXT_MAX])
{
        return a.set ? amount_print(r, a.value, text) : "none";
}

static void add_text(char to[static RESTORE_TEXT], const char *text)
{
        size_t at = strlen(to);
        snprintf(to + at, RESTORE_TEXT - at, "%s%s", at ? ", " : "", text);
}

static void tell(struct restore *ret, bool back, struct text container, enum resource r, struct amount now,
                 struct amount other)
{
        char line[RESTORE_TEXT], a[QUANTITY_TEXT_MAX], b[QUANTITY_TEXT_MAX];
        snprintf(line, sizeof line, back ? "%.*s %s %s -> %s" : "%.*s %s is %s, not the %s that halflife set",
                 TEXT_ARG(container), resource_name(r), spell(r, now, a), spell(r, other, b));
        add_text(back ? ret->changes : ret->stands, line);
        *(back ? &ret->back : &ret->stand) += 1;
}

/* --- requests --- */

static void judge(const struct carrier *c, const struct container_view *v, enum resource r, struct restore *ret,
                  struct patch_container *to)
{
        const struct recorded *applied = find_row(c->applied, c->applieds, v->name);
        const struct recorded *original = find_row(c->original, c->originals, v->name);
        if (!applied || !applied->request[r].set || !original)
                return;
        const struct origin o = origin(&(struct origin_facts){
                .request = v->request[r],
                .limit = v->limit[r],
                .applied = applied->request[r],
                .recorded = true,
                .original = original->request[r],
        });
        if (o.ours && !amount_equal(o.raw, v->request[r])) {
                to->write[r] = true;
                to->to[r] = o.raw;
                tell(ret, true, v->name, r, v->request[r], o.raw);
        } else if (!o.ours && !o.reset) {
                tell(ret, false, v->name, r, v->request[r], applied->request[r]);
        }
}

static const char *string_in(struct carrier *c, struct text t)
{
        return t.len ? arena_text(&c->arena, t) : NULL;
}

/* keep: the annotations as they are. */
static int build(struct carrier *c, struct text object, const char *template_path, bool keep, struct restore *ret,
                 json_t **ret_patch, struct err *err)
{
        struct patch_container *to = arena_new(&c->arena, (size_t)(c->containers + 1) * sizeof *to);
        int count = 0;
        memset(ret, 0, sizeof *ret);
        ret->noted = c->note->applied.len > 0 || c->note->original.len > 0;
        for (int i = 0; i < c->containers; i++) {
                to[count].name = arena_text(&c->arena, c->container[i].name);
                for (enum resource r = CPU; r < RESOURCES; r++)
                        judge(c, &c->container[i], r, ret, &to[count]);
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
                .basis_stands = keep || c->meta->annotation.basis.len == 0, /* ours has a copy on the workload */
        };
        *ret_patch = patch_build(&p, err);
        return *ret_patch ? 0 : err->code;
}

static int restore_from(struct text object, const char *template_path, bool keep, struct restore *ret,
                        json_t **ret_patch, struct err *err)
{
        struct carrier *c = MEM_NEW(struct carrier);
        int rc = carrier_read(c, object, template_path, err);
        if (rc == 0)
                rc = build(c, object, template_path, keep, ret, ret_patch, err);
        arena_release(&c->arena);
        mem_free(c);
        return rc;
}

int restore_template(struct text object, const char *template_path, struct restore *ret, json_t **ret_patch,
                     struct err *err)
{
        return restore_from(object, template_path, false, ret, ret_patch, err);
}

int restore_pod_requests(struct text pod, struct restore *ret, json_t **ret_patch, struct err *err)
{
        return restore_from(pod, "", true, ret, ret_patch, err);
}

int restore_pod_notes(struct text pod, json_t **ret_patch, struct err *err)
{
        struct arena arena = {0};
        struct object_view meta;
        int rc = decode_object(pod, &arena, &meta, err);
        *ret_patch = NULL;
        if (rc == 0) {
                const struct patch_resources p = {.template_path = "",
                                                  .object = pod,
                                                  .version = arena_text(&arena, meta.version),
                                                  .basis_stands = true,
                                                  .deploys = true};
                json_t *patch = patch_build(&p, err);
                rc = patch ? 0 : err->code;
                if (json_array_size(patch) > 1) /* more than the test of its version */
                        *ret_patch = json_incref(patch);
                json_decref(patch);
        }
        arena_release(&arena);
        return rc;
}

/* --- autoscalers --- */

static void add_op(json_t *ops, const char *op, const char *path, json_t *value)
{
        json_t *o = json_pack("{s:s, s:s}", "op", op, "path", path);
        if (value)
                json_object_set_new(o, "value", value);
        json_array_append_new(ops, o);
}

/* "ContainerResource/app/cpu", and the member that holds its target; NULL: it is none of these. */
static const char *metric_key(const json_t *metric, char key[static 512])
{
        const char *type = json_string_value(json_object_get(metric, "type"));
        bool whole = type && strcmp(type, "Resource") == 0;
        if (!type || (!whole && strcmp(type, "ContainerResource") != 0))
                return NULL;
        const char *member = whole ? "resource" : "containerResource";
        const json_t *of = json_object_get(metric, member);
        const char *name = json_string_value(json_object_get(of, "name"));
        const char *container = json_string_value(json_object_get(of, "container"));
        snprintf(key, 512, "%s/%s%s%s", type, whole || !container ? "" : container, whole ? "" : "/", name ? name : "");
        return member;
}

struct scaler {
        json_t *ops;
        const json_t *was, *made; /* made NULL: not recorded, then what stands is ours */
        struct restore *ret;
};

static void restore_metric(const struct scaler *s, size_t i, const json_t *metric)
{
        char key[512], path[128], line[RESTORE_TEXT];
        const char *member = metric_key(metric, key);
        json_t *was = member ? json_object_get(s->was, key) : NULL,
               *made = member ? json_object_get(s->made, key) : NULL;
        json_t *now = json_object_get(json_object_get(json_object_get(metric, member), "target"), "averageUtilization");
        if (!json_is_integer(was) || !json_is_integer(now) || json_equal(was, now))
                return;
        long long from = json_integer_value(now), to = json_integer_value(was);
        if (made && !json_equal(made, now)) {
                snprintf(line, sizeof line, "%.300s is %lld%%, not what halflife set", key, from);
                add_text(s->ret->stands, line);
                s->ret->stand++;
                return;
        }
        snprintf(path, sizeof path, "/spec/metrics/%zu/%s/target/averageUtilization", i, member);
        add_op(s->ops, "test", path, json_incref(now));
        add_op(s->ops, "replace", path, json_incref(was));
        snprintf(line, sizeof line, "%.300s %lld%% -> %lld%%", key, from, to);
        add_text(s->ret->changes, line);
        s->ret->back++;
}

#define NOTE_PATH "/metadata/annotations/halflife.dev~1"

static json_t *read_targets(const json_t *notes, const char *key)
{
        const char *text = json_string_value(json_object_get(notes, key));
        return text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

int restore_hpa(struct text hpa, struct restore *ret, json_t **ret_patch, struct err *err)
{
        AUTO(json_decref) json_t *object = json_loadb(hpa.p, hpa.len, JSON_REJECT_DUPLICATES, NULL);
        const json_t *meta = json_object_get(object, "metadata"), *notes = json_object_get(meta, "annotations");
        AUTO(json_decref) json_t *was = read_targets(notes, ANNOTATION_TARGETS);
        AUTO(json_decref) json_t *made = read_targets(notes, ANNOTATION_TARGETS_APPLIED);
        json_t *metric;
        size_t i;
        *ret = (struct restore){.noted = json_object_get(notes, ANNOTATION_TARGETS) != NULL};
        *ret_patch = NULL;
        if (!json_is_object(object))
                return err_set(err, ERR_INVALID, "the autoscaler is not JSON");
        if (!ret->noted)
                return 0;
        if (!json_is_object(was))
                return err_set(err, ERR_INVALID, "annotation '" ANNOTATION_TARGETS "' cannot be read");
        const struct scaler s = {json_array(), was, made, ret};
        add_op(s.ops, "test", "/metadata/resourceVersion", json_incref(json_object_get(meta, "resourceVersion")));
        json_array_foreach(json_object_get(json_object_get(object, "spec"), "metrics"), i, metric)
                restore_metric(&s, i, metric);
        add_op(s.ops, "remove", NOTE_PATH "original-targets", NULL);
        if (json_object_get(notes, ANNOTATION_TARGETS_APPLIED))
                add_op(s.ops, "remove", NOTE_PATH "applied-targets", NULL);
        *ret_patch = s.ops;
        return 0;
}
