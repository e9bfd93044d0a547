/*
 * Admission of new pods. The template stays as its owner wrote it; only the pod gets halflife's values and annotations.
 */
#include "admission_private.h"
#include "base/yaml.h"
#include "core/kind.h"

static bool is_alone(const struct admission_work *w)
{
        return w->request->owner.kind.len == 0;
}

/* The highest owner that holds a template; for a pod without owner, the pod itself. False if that has no name yet (a
 * pod with generateName). */
static bool admission_pod_find_owner(const struct admission_work *w, struct admission_owner *ret)
{
        const struct owner_ref *owner = &w->request->owner;
        if (is_alone(w))
                *ret = (struct admission_owner){.group = TEXT(""), .kind = TEXT("Pod"), .name = w->request->name};
        else if (w->owner)
                *ret = *w->owner;
        else
                *ret = (struct admission_owner){
                        .group = kind_group(owner->api_version), .kind = owner->kind, .name = owner->name};
        return ret->kind.len > 0 && ret->name.len > 0;
}

/* The labels by which profiles select: the workload's own, then its template's, which the pod carries. A pod without
 * owner has only its own. */
static size_t admission_pod_union_labels(const struct admission_work *w, const struct admission_owner *owner,
                                         const struct pod_view *pod, struct label_pair *ret)
{
        const struct snapshot_target *t =
                is_alone(w) ? NULL : snapshot_find(w->view, w->request->ns, owner->group, owner->kind, owner->name);
        size_t count = t ? snapshot_unpack_labels(t->labels, t->labels_size, ret, VIEW_LABELS_MAX) : 0;
        for (size_t i = 0; !t && i < owner->labels && count < VIEW_LABELS_MAX; i++)
                ret[count++] = owner->label[i];
        for (int i = 0; i < pod->meta.labels && count < VIEW_LABELS_MAX; i++)
                ret[count++] = (struct label_pair){pod->meta.label[i].key, pod->meta.label[i].value};
        return count;
}

static bool admission_pod_sets_pods(const struct deploy_answer *d)
{
        const struct apply_policy *apply = &d->profile->spec->apply;
        return apply->mode == APPLY_IN_PLACE || (apply->mode == APPLY_ON_DEPLOY && apply->at == AT_POD);
}

void admission_pod(struct admission_work *w)
{
        const struct admission *r = w->request;
        struct admission_owner owner;
        struct pod_view *pod = arena_new(w->arena, sizeof *pod);
        w->result = ADMISSION_NO_TARGET;
        if (!text_is(r->operation, "CREATE") || !admission_pod_find_owner(w, &owner))
                return;
        bool known = snapshot_find(w->view, r->ns, owner.group, owner.kind, owner.name) != NULL;
        if (w->owner ? owner.unseen && !known : admission_wants_owner(r, w->view)) {
                w->result = ADMISSION_NO_OWNER;
                return;
        }
        w->result = is_alone(w) ? ADMISSION_NO_TARGET : ADMISSION_UNREADABLE;
        if (decode_pod(r->object, w->arena, pod, NULL) < 0)
                return;
        struct label_pair *label = arena_new(w->arena, VIEW_LABELS_MAX * sizeof *label);
        struct deploy_subject s = {
                .ns = r->ns,
                .group = owner.group,
                .kind = owner.kind,
                .name = owner.name,
                .label = label,
                .labels = admission_pod_union_labels(w, &owner, pod, label),
                .pod = true,
                .apply_never = owner.apply_never || pod->meta.annotation.apply.len > 0 || pod->meta.labels_cut ||
                               pod->containers_cut,
                .pod_asks = {pod->pod_asks[CPU].set, pod->pod_asks[MEMORY].set},
                .container = admission_containers(w->arena, pod->container, pod->containers, &pod->meta.annotation),
                .containers = (size_t)pod->containers,
        };
        struct deploy_answer d;
        if (!s.container)
                return;
        deploy_answer(w->view, &s, w->arena, &d);
        w->result = d.profile ? ADMISSION_OTHER_MODE : ADMISSION_NO_TARGET;
        if (!d.profile || !admission_pod_sets_pods(&d))
                return;
        deploy_start_original(&s, &d);
        w->patch = admission_patch(w, r->object, "", &s, &d, NULL);
        w->result = !w->patch ? ADMISSION_UNREADABLE : json_array_size(w->patch) ? ADMISSION_PATCHED : ADMISSION_STANDS;
}
