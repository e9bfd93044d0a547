/*
 * Events on a target: what was done to it, and what holds a change back.
 */
#include <string.h>

#include "controller_private.h"

void tell_event(struct controller *c, const struct target *t, bool warning, const char *reason, const char *note)
{
        char *api_version = *t->group ? mem_printf("%s/%s", t->group, t->version) : mem_string(t->version);
        struct event e = {
                .api_version = api_version,
                .kind = t->kind,
                .ns = t->ns,
                .name = t->name,
                .uid = t->workload ? t->workload->uid_text : NULL,
                .warning = warning,
                .reason = reason,
                .action = "Apply",
                .note = note,
        };
        if (may_write(c))
                event_emit(c->events, &e, loop_now(c->loop));
        mem_free(api_version);
}

/* What an owner wants to hear of. A young history, a small change, a cooldown are the way of the thing; they are in the
 * status. */
static bool worth_telling(enum reason hold)
{
        return hold == REASON_HPA_HOLD || hold == REASON_ROLLOUT_BLOCKED || hold == REASON_ORPHANED ||
               hold == REASON_MANAGED || hold == REASON_CONTESTED || hold == REASON_BUDGET;
}

/* Once, when it begins: when the condition that is about to be written says another reason than the one that stands. */
void tell_hold(struct controller *c, const struct target *t, const struct plan *p)
{
        const struct plan_condition *applied = plan_condition(p, "Applied");
        enum reason hold = p->orphaned ? REASON_ORPHANED : p->hold;
        const struct published *before = t->published;
        if (!applied || applied->status || !worth_telling(hold))
                return;
        for (int i = 0; before && i < before->conditions; i++)
                if (strcmp(before->condition[i].type, "Applied") == 0 &&
                    strcmp(before->condition[i].reason, applied->reason) == 0)
                        return;
        tell_event(c, t, hold == REASON_CONTESTED || hold == REASON_ORPHANED, applied->reason, applied->message);
}
