#include <stdio.h>

#include "json_patch_builder.h"
#include "objects/annotation_record.h"
#include "objects/patch.h"

/* The utilization target of a KEDA trigger is a text, not a number. */
static int set_trigger(struct builder *b, const struct patch_target *t)
{
        char value[24];
        builder_stand_at(b, "/spec/triggers/%d/metadata", t->index);
        json_t *of = builder_at(b->object, b->path.data), *old = json_object_get(of, "value");
        if (!json_is_string(old))
                return err_set(b->err, ERR_STALE, "there is no utilization target at '%s'", b->path.data);
        snprintf(value, sizeof value, "%lld", (long long)t->to);
        if (strcmp(json_string_value(old), value) != 0)
                builder_set(b, of, "value", json_string(value));
        return 0;
}

static int autoscaler_patch_set_target(struct builder *b, const struct patch_target *t)
{
        builder_stand_at(b, "/spec/metrics/%d/%s/target", t->index, t->container ? "containerResource" : "resource");
        json_t *target = builder_at(b->object, b->path.data), *old = json_object_get(target, "averageUtilization");
        if (!json_is_integer(old))
                return err_set(b->err, ERR_STALE, "there is no utilization target at '%s'", b->path.data);
        if (json_integer_value(old) != t->to)
                builder_set(b, target, "averageUtilization", json_integer(t->to));
        return 0;
}

static int autoscaler_patch_build(struct builder *b, const struct patch_targets *p)
{
        static const char *const key[] = {ANNOTATION_TARGETS, ANNOTATION_TARGETS_APPLIED};
        const char *const text[] = {p->original, p->applied};
        size_t nothing = json_array_size(b->ops);
        int rc = 0;
        for (int i = 0; i < p->targets && rc == 0; i++)
                rc = p->triggers ? set_trigger(b, &p->target[i]) : autoscaler_patch_set_target(b, &p->target[i]);
        if (rc == 0)
                rc = builder_annotate(b, b->object, "", key, text, 2);
        return rc == 0 && json_array_size(b->ops) == nothing ? json_array_clear(b->ops) : rc;
}

json_t *patch_targets_build(const struct patch_targets *p, struct err *err)
{
        struct err ignored;
        struct builder b;
        int rc = builder_begin(&b, p->object, p->version, err ? err : &ignored);
        return builder_end(&b, rc < 0 ? rc : autoscaler_patch_build(&b, p));
}
