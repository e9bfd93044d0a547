/*
 * VerticalPodAutoscalers, which set requests as halflife does.
 */
#include "decoder.h"

/* An absent or null controlledResources stands for CPU and memory; an empty list for neither. */
static void vpa_read_controlled(struct decoder *d, void *to)
{
        bool *sets = to;
        if (json_peek(&d->j) == '[')
                sets[CPU] = sets[MEMORY] = false;
        if (json_enter(&d->j, '['))
                while (json_item(&d->j)) {
                        struct text name = json_text(&d->j, d->arena);
                        for (enum resource r = CPU; r < RESOURCES; r++)
                                sets[r] |= text_is(name, resource_name(r));
                }
}

/* Does not read controlledValues, which decides about limits alone. */
static void vpa_read_policies(struct decoder *d, void *to)
{
        struct container_policy {
                struct text container, mode;
                bool sets[RESOURCES];
        };
        static const struct decoder_field table[] = {
                {"containerName", decoder_field_text, offsetof(struct container_policy, container)},
                {"mode", decoder_field_text, offsetof(struct container_policy, mode)},
                {"controlledResources", vpa_read_controlled, offsetof(struct container_policy, sets)},
                {0},
        };
        struct vpa_policy *p = arena_new(d->arena, sizeof *p + VPA_POLICY_ROWS * sizeof p->row[0]);
        int count = 0;
        vpa_policy_begin(p);
        if (json_enter(&d->j, '['))
                for (; decoder_item_cut(d, "containerPolicies", count, VPA_POLICY_ROWS + 1, NULL); count++) {
                        struct container_policy c = {{"", 0}, {"", 0}, {true, true}};
                        decoder_fields(d, table, &c);
                        if (text_is(c.mode, "Off"))
                                c.sets[CPU] = c.sets[MEMORY] = false;
                        if (count < VPA_POLICY_ROWS)
                                vpa_policy_add(p, c.container, c.sets);
                }
        if (count > VPA_POLICY_ROWS) /* a policy beyond the bound may set any request, so all count as set */
                vpa_policy_begin(p);
        *(struct vpa_policy **)to = p;
}

static const struct decoder_field vpa_table[] = {
        {"metadata", decoder_meta, offsetof(struct vpa_view, meta)},
        {"spec.targetRef", decoder_reference, offsetof(struct vpa_view, target)},
        {"spec.updatePolicy.updateMode", decoder_field_text, offsetof(struct vpa_view, mode)},
        {"spec.resourcePolicy.containerPolicies", vpa_read_policies, offsetof(struct vpa_view, policy)},
        {0},
};

int decode_vpa(struct text json, struct arena *a, struct vpa_view *ret, struct err *err)
{
        static const struct decoder_kind kind = {"VerticalPodAutoscaler", sizeof *ret, vpa_table};
        int rc = decoder_view(&kind, json, a, ret, NULL, err);
        if (rc < 0)
                return rc;
        ret->sets = (!ret->policy || vpa_policy_settle(ret->policy)) && !text_is(ret->mode, "Off");
        if (vpa_policy_sets_all(ret->policy))
                ret->policy = NULL;
        return 0;
}
