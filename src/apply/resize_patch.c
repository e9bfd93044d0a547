#include "resize_patch.h"

#include <stdio.h>
#include <string.h>

#include "base/yaml.h"
#include "core/amount.h"
#include "objects/annotation_record.h"
#include "objects/resize_manager.h"

/* --- the requests wanted --- */

struct resize_wanted *resize_patch_wanted(const struct resize_goal *goal, struct text container)
{
        for (int i = 0; i < goal->wants; i++)
                if (text_is(container, goal->wanted[i].container))
                        return &goal->wanted[i];
        return NULL;
}

void resize_patch_note(char *note, size_t size, const char *container, enum resource r, int64_t from, int64_t to)
{
        char before[QUANTITY_TEXT_MAX], after[QUANTITY_TEXT_MAX];
        size_t at = strlen(note);
        snprintf(note + at, size - at, "%s%s %s %s -> %s", at ? ", " : "", container, resource_name(r),
                 amount_print(r, from, before), amount_print(r, to, after));
}

/* The pod's containers with the requests wanted for them, without those that somebody else resized. *ret_foreign: set
 * if there are such requests. */
static struct resize_container *resize_patch_containers(const struct resize_goal *goal, const struct pod_view *v,
                                                        struct text body, struct arena *a, bool *ret_foreign)
{
        AUTO(json_decref) json_t *pod = json_loadb(body.p, body.len, 0, NULL);
        struct resize_container *c = arena_new(a, ((size_t)v->containers + 1) * sizeof *c);
        for (int i = 0; i < v->containers; i++) {
                const struct resize_wanted *want = resize_patch_wanted(goal, v->container[i].name);
                c[i] = (struct resize_container){.role = v->container[i].role};
                memcpy(c[i].request, v->container[i].request, sizeof c[i].request);
                memcpy(c[i].limit, v->container[i].limit, sizeof c[i].limit);
                memcpy(c[i].restarts, v->container[i].restarts, sizeof c[i].restarts);
                for (enum resource r = CPU; want && r < RESOURCES; r++) {
                        if (!want->to[r].set || c[i].request[r].value == want->to[r].value)
                                continue;
                        if (resize_manager_is_other(pod, want->container, r))
                                *ret_foreign = true;
                        else
                                c[i].want[r] = want->to[r];
                }
        }
        return c;
}

/* --- the pod's annotations --- */

struct remembered { /* the original requests recorded in the pod's annotation */
        struct recorded row[VIEW_CONTAINERS];
        size_t rows;
};

static int remember_row(void *arg, const struct recorded *row)
{
        struct remembered *to = arg;
        if (to->rows < VIEW_CONTAINERS)
                to->row[to->rows++] = *row;
        return 0;
}

static const struct recorded *remembered_of(const struct remembered *all, struct text container)
{
        for (size_t i = 0; i < all->rows; i++)
                if (text_equal(all->row[i].container, container))
                        return &all->row[i];
        return NULL;
}

/* A container's original requests: those that the pod's annotation records, else its present ones, as halflife has not
 * changed them. */
static struct recorded original_of(const struct remembered *originals, const struct container_view *v)
{
        const struct recorded *known = remembered_of(originals, v->name);
        struct recorded row = {.container = v->name};
        if (known)
                return *known;
        memcpy(row.request, v->request, sizeof row.request);
        memcpy(row.limit, v->limit, sizeof row.limit);
        return row;
}

static bool is_below(const struct recorded *original, enum resource r, struct amount to)
{
        struct amount was = original->request[r].set ? original->request[r] : original->limit[r];
        return to.set && was.set && to.value < was.value;
}

struct notes {
        const char *original, *applied, *raised; /* values of the pod's annotations, in the arena; NULL: none */
};

static const char *notes_print(struct arena *a, const struct recorded *row, size_t rows)
{
        AUTO(mem_free) char *text = record_print(row, rows);
        return text ? arena_text(a, text_of(text)) : NULL;
}

static const char *notes_keep(struct arena *a, struct text annotation)
{
        return annotation.len ? arena_text(a, annotation) : NULL;
}

/* The text of the annotation that records when the pod was raised; NULL: none. It is kept even if the raise reached the
 * original requests, so that the next pass does not lower the pod again. */
static const char *notes_raised(const struct resize_goal *goal, bool ours, struct arena *a)
{
        char time[WALL_TEXT_MAX];
        if (!goal->raised_ms || (!ours && !goal->stays_raised))
                return NULL;
        return arena_text(a, text_of(wall_print((struct wall){goal->raised_ms}, time)));
}

/* The annotations that the pod is to have once it is resized. ERR_INVALID: halflife's own annotation on the pod cannot
 * be read. */
static int notes_after(const struct resize_goal *goal, const struct pod_view *v, const struct resize_container *c,
                       struct arena *a, struct notes *ret, struct err *err)
{
        struct remembered *originals = arena_new(a, sizeof *originals);
        struct recorded *original = arena_new(a, ((size_t)v->containers + 1) * sizeof *original);
        struct recorded *applied = arena_new(a, ((size_t)v->containers + 1) * sizeof *applied);
        const struct our_annotations *ours = &v->meta.annotation;
        size_t rows = 0;
        if (ours->original.len && record_read(ours->original, a, remember_row, originals, err) < 0)
                return ERR_INVALID;
        for (int i = 0; i < v->containers; i++) {
                if (c[i].role == ROLE_INIT)
                        continue;
                original[rows] = original_of(originals, &v->container[i]);
                applied[rows] = (struct recorded){.container = v->container[i].name};
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        struct amount after = c[i].to[r].set ? c[i].to[r] : c[i].request[r];
                        if (is_below(&original[rows], r, after))
                                applied[rows].request[r] = after;
                }
                rows += applied[rows].request[CPU].set || applied[rows].request[MEMORY].set;
        }
        *ret = (struct notes){notes_print(a, original, rows), notes_print(a, applied, rows),
                              notes_raised(goal, rows > 0, a)};
        if (goal->starts && rows == 0)
                ret->original = notes_keep(a, ours->original); /* so that halflife lowers the pod once it has started */
        return 0;
}

/* The annotations to write before the requests. They stay as long as some request on the pod is halflife's. */
static struct notes notes_before(const struct resize_goal *goal, const struct our_annotations *ours,
                                 const struct notes *after, struct arena *a)
{
        if (after->applied)
                return *after;
        return (struct notes){notes_keep(a, ours->original), notes_keep(a, ours->applied), notes_raised(goal, true, a)};
}

/* --- the patches --- */

static struct patch_resources patch_of(const struct pod_view *v, struct text body, const struct notes *n,
                                       bool basis_stands, struct arena *a)
{
        return (struct patch_resources){
                .template_path = "",
                .object = body,
                .version = arena_text(a, v->meta.version),
                .original = n->original,
                .applied = n->applied,
                .basis = n->original ? BASIS_REQUEST : NULL,
                .basis_stands = basis_stands,
                .raised = n->raised,
                .deploys = true,
        };
}

/* A patch of the pod's annotations only; NULL: they are right already, or *err is set. */
static json_t *patch_annotations(const struct patch_resources *want, struct err *err)
{
        json_t *patch = patch_build(want, err);
        if (patch && json_array_size(patch) > 1) /* the first operation only tests the version */
                return patch;
        json_decref(patch);
        return NULL;
}

/* A patch of the pod's requests only, for the resize subresource; the annotations stay as they are. */
static json_t *patch_requests(struct resize_goal *goal, const struct pod_view *v, struct text body,
                              const struct resize_container *c, bool basis_stands, struct arena *a, struct err *err)
{
        const struct our_annotations *ours = &v->meta.annotation;
        struct notes stand = {notes_keep(a, ours->original), notes_keep(a, ours->applied), notes_keep(a, ours->raised)};
        struct patch_resources want = patch_of(v, body, &stand, basis_stands, a);
        struct patch_container *pc = arena_new(a, ((size_t)v->containers + 1) * sizeof *pc);
        goal->note[0] = '\0';
        for (int i = 0; i < v->containers; i++) {
                struct patch_container *to = &pc[want.containers];
                struct resize_wanted *wanted = resize_patch_wanted(goal, v->container[i].name);
                if (wanted) {
                        memcpy(wanted->sent, c[i].to, sizeof wanted->sent);
                        memcpy(wanted->before, c[i].request, sizeof wanted->before);
                }
                *to = (struct patch_container){.name = arena_text(a, v->container[i].name)};
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        to->write[r] = c[i].to[r].set;
                        to->to[r] = c[i].to[r];
                        if (to->write[r])
                                resize_patch_note(goal->note, sizeof goal->note, to->name, r, c[i].request[r].value,
                                                  c[i].to[r].value);
                }
                want.containers += to->write[CPU] || to->write[MEMORY];
        }
        want.container = pc;
        want.basis = notes_keep(a, ours->basis);
        return patch_build(&want, err);
}

/* Why the pod cannot be resized; NULL: it can, or nothing is left to write. */
static const char *stays_by(enum resize_verdict verdict, bool foreign)
{
        bool unfit = verdict == RESIZE_QOS || verdict == RESIZE_RESTARTS;
        if (!unfit && !(foreign && verdict == RESIZE_STANDS))
                return NULL;
        return foreign ? "somebody else resized it" : "a resize would change its QoS class or restart a container";
}

int resize_patch_next(struct resize_goal *goal, const struct pod_view *v, struct text body, bool basis_stands,
                      struct arena *a, struct resize_next *ret, struct err *err)
{
        struct err unread = {0};
        struct notes after = {0};
        bool foreign = false;
        struct resize_container *c = resize_patch_containers(goal, v, body, a, &foreign);
        enum resize_verdict verdict = resize_judge(c, (size_t)v->containers);
        *ret = (struct resize_next){.stands = verdict == RESIZE_STANDS && !foreign,
                                    .stays = stays_by(verdict, foreign)};
        if (!ret->stays && notes_after(goal, v, c, a, &after, &unread) < 0)
                ret->stays = arena_text(a, text_of(unread.text));
        if (ret->stays)
                return 0;
        const struct notes notes =
                verdict == RESIZE_WRITES ? notes_before(goal, &v->meta.annotation, &after, a) : after;
        const struct patch_resources want = patch_of(v, body, &notes, basis_stands, a);
        struct err failed = {0};
        ret->patch = patch_annotations(&want, &failed);
        ret->requests = !ret->patch && failed.code == 0 && verdict == RESIZE_WRITES;
        if (ret->requests)
                ret->patch = patch_requests(goal, v, body, c, basis_stands, a, &failed);
        if (failed.code != 0)
                *err = failed;
        return failed.code;
}
