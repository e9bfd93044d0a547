#include "core/kill_cause.h"

#include <assert.h>

enum { SIGKILLED = 137, NEAR_PERCENT = 80, BAND_SHARE = 20 };

static bool has_limit(const struct kill_facts *f)
{
        return f->limit.set && f->limit.value > 0;
}

static bool near_limit(const struct kill_facts *f)
{
        return has_limit(f) && f->used >= 0 && (__int128)f->used * 100 >= (__int128)f->limit.value * NEAR_PERCENT;
}

static bool is_believed(const struct kill_facts *f)
{
        if (f->deleting && f->exit_code == 0)
                return false;
        bool killed = f->exit_code == SIGKILLED || f->exit_code == KILL_EXIT_UNTOLD;
        return (killed && !f->deleting && !f->by_kubelet) || near_limit(f);
}

/* Usage jumped since the last sample: did the container reach its limit, or did its node run out of memory first? */
static enum kill_cause judge_jump(const struct kill_facts *f)
{
        if (f->node_short)
                return KILL_ROOM;
        if (!f->allocatable.set || f->allocatable.value <= 0)
                return KILL_UNKNOWN;
        __int128 room = f->allocatable.value, band = room / BAND_SHARE;
        __int128 full = (__int128)f->limit.value + (f->others > 0 ? f->others : 0);
        if (full > room + band) /* also where the other containers were not measured, because they use more than 0 */
                return KILL_ROOM;
        return f->others >= 0 && full < room - band ? KILL_LIMIT : KILL_UNKNOWN;
}

enum kill_cause kill_judge(const struct kill_facts *f)
{
        if (f->evicted)
                return KILL_EVICTION;
        if (!is_believed(f))
                return KILL_NOT_BELIEVED;
        if (!has_limit(f))
                return KILL_ROOM;
        return near_limit(f) ? KILL_LIMIT : judge_jump(f);
}

const char *kill_cause_name(enum kill_cause c)
{
        static const char *const name[KILL_CAUSES] = {
                [KILL_NOT_BELIEVED] = "none", [KILL_LIMIT] = "limit",       [KILL_ROOM] = "room",
                [KILL_UNKNOWN] = "unknown",   [KILL_EVICTION] = "eviction",
        };
        assert(c < KILL_CAUSES);
        return name[c];
}
