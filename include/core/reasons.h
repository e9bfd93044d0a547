/*
 * The closed list of reasons: why a target has its value, or why a change is held back. The file reasons.def has the
 * rows.
 */
#ifndef HALFLIFE_CORE_REASONS_H
#define HALFLIFE_CORE_REASONS_H

#include <stdbool.h>

enum reason {
        REASON_NONE,
#define REASON(id, name, event, meaning, condition, render) REASON_##id,
#include "core/reasons.def"
#undef REASON
        REASONS
};

const char *reason_name(enum reason r);      /* the reason's name: "Lowered", …; "" for REASON_NONE */
enum reason reason_find(const char *name);   /* by its name; REASON_NONE: no reason has that name */
const char *reason_meaning(enum reason r);   /* what the reason means, for people; "" for REASON_NONE */
const char *reason_condition(enum reason r); /* the message of condition Applied; NULL: the row has none */
const char *reason_render(enum reason r);    /* why render leaves a workload as it is; NULL: the row has none */
/* Whether a target of that reason acts at deploys only: halflife starts no change for it. */
static inline bool reason_acts_at_deploys(enum reason r)
{
        return r == REASON_STATIC || r == REASON_EARLY;
}
bool reason_worth_event(enum reason r); /* whether an Event tells the owner that the reason holds a change */

#endif
