#include "core/reasons.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { NO_EVENT = false, WORTH_EVENT = true };

static const struct {
        const char *name, *meaning, *condition, *render;
        bool event;
} reasons[REASONS] = {
        [REASON_NONE] = {.name = "", .meaning = ""},
#define REASON(id, name, event, meaning, condition, render) [REASON_##id] = {name, meaning, condition, render, event},
#include "core/reasons.def"
#undef REASON
};

const char *reason_name(enum reason r)
{
        assert(r < REASONS);
        return reasons[r].name;
}

enum reason reason_find(const char *name)
{
        for (enum reason r = REASON_NONE + 1; r < REASONS; r++)
                if (strcmp(reasons[r].name, name) == 0)
                        return r;
        return REASON_NONE;
}

const char *reason_meaning(enum reason r)
{
        assert(r < REASONS);
        return reasons[r].meaning;
}

const char *reason_condition(enum reason r)
{
        assert(r < REASONS);
        return reasons[r].condition;
}

const char *reason_render(enum reason r)
{
        assert(r < REASONS);
        return reasons[r].render;
}

bool reason_worth_event(enum reason r)
{
        assert(r < REASONS);
        return reasons[r].event;
}
