#include "core/rollout.h"

enum rollout_phase rollout_phase_read(struct text phase)
{
        static const struct {
                const char *name;
                enum rollout_phase phase;
        } known[] = {
                {"", ROLLOUT_PHASE_NONE},
                {"Healthy", ROLLOUT_PHASE_HEALTHY},
                {"Paused", ROLLOUT_PHASE_PAUSED},
                {"Degraded", ROLLOUT_PHASE_DEGRADED},
        };
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
                if (text_is(phase, known[i].name))
                        return known[i].phase;
        return ROLLOUT_PHASE_OTHER;
}

bool rollout_is_done(const struct rollout *r)
{
        if (r->none)
                return true;
        if (r->phase)
                return r->observed >= r->generation && r->phase == ROLLOUT_PHASE_HEALTHY;
        bool tells = r->observed > 0 || r->pods > 0;
        if (!tells && !r->told)
                return true;
        return r->observed >= r->generation && r->updated == r->pods && r->available == r->pods && r->pods == r->wanted;
}

enum rollout_block rollout_block(const struct rollout *r)
{
        if (r->none)
                return ROLLOUT_FREE;
        if (r->paused || r->phase == ROLLOUT_PHASE_PAUSED)
                return ROLLOUT_PAUSED;
        if (r->on_delete)
                return ROLLOUT_ON_DELETE;
        if (r->recreate)
                return ROLLOUT_RECREATE;
        if (r->partition > 0)
                return ROLLOUT_PARTITION;
        if (r->late)
                return ROLLOUT_LATE;
        if (r->phase == ROLLOUT_PHASE_DEGRADED)
                return ROLLOUT_DEGRADED;
        return rollout_is_done(r) ? ROLLOUT_FREE : ROLLOUT_UNDER_WAY;
}
