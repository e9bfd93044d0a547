/* Updates of pods: the subresource resize alone changes what their containers ask for, and nothing else. */
#include <string.h>

#include "core/amount.h"
#include "write.h"

enum qos { BEST_EFFORT, BURSTABLE, GUARANTEED };

static int64_t amount_at(const json_t *container, const char *list, enum resource r)
{
        struct amount a = {0};
        const json_t *of = json_object_get(json_object_get(container, "resources"), list);
        (void)amount_parse(text_of(json_string_value(json_object_get(of, resource_name(r)))), r, &a);
        return a.value;
}

static enum qos class_of(const json_t *pod)
{
        static const char *const lists[] = {"spec.containers", "spec.initContainers"};
        bool fixed = true, any = false;
        size_t i;
        json_t *c;
        for (size_t l = 0; l < 2; l++)
                json_array_foreach(json_at(pod, lists[l]), i, c) for (enum resource r = CPU; r < RESOURCES; r++)
                {
                        int64_t request = amount_at(c, "requests", r), limit = amount_at(c, "limits", r);
                        any |= request > 0 || limit > 0;
                        fixed &= limit > 0 && request == limit;
                }
        return !any ? BEST_EFFORT : fixed ? GUARANTEED : BURSTABLE;
}

/* The spec without what a resize may change. */
static json_t *rest_of(const json_t *pod)
{
        static const char *const lists[] = {"containers", "initContainers"};
        json_t *spec = json_deep_copy(json_object_get(pod, "spec")), *c;
        size_t i;
        for (size_t l = 0; l < 2; l++)
                json_array_foreach(json_object_get(spec, lists[l]), i, c) json_object_del(c, "resources");
        return spec;
}

static void refuse(struct writing *w, const char *why)
{
        reply_refuse(w->rp, 422, "Invalid", w->t, NULL, "Pod \"%s\" is invalid: spec: %s", w->t->name, why);
}

bool pod_update(struct writing *w, const json_t *before, json_t *after)
{
        static const char *const kept[] = {"labels", "annotations", "ownerReferences", "finalizers"};
        bool resize = strcmp(w->t->sub, "resize") == 0;
        AUTO(json_decref) json_t *was = rest_of(before), *is = rest_of(after);
        if (!resize) {
                bool same = json_same(json_object_get(before, "spec"), json_object_get(after, "spec"));
                if (!same && json_same(was, is))
                        refuse(w, "Forbidden: pod updates may not change fields other than "
                                  "`spec.containers[*].image`,`spec.tolerations`");
                return same || !json_same(was, is);
        }
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
                json_t *old = json_object_get(json_object_get(before, "metadata"), kept[i]);
                if (old)
                        json_object_set_new(json_object_get(after, "metadata"), kept[i], json_deep_copy(old));
                else
                        json_object_del(json_object_get(after, "metadata"), kept[i]);
        }
        if (!json_same(was, is))
                refuse(w, "Forbidden: only cpu and memory resources are mutable");
        else if (class_of(before) != class_of(after))
                refuse(w, "Invalid value: Pod QOS Class may not change as a result of resizing");
        else
                return true;
        return false;
}
