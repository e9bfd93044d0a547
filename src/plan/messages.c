/*
 * What conditions say of those who hold a change: who it is, and the way out.
 */
#include <math.h>
#include <stdio.h>

#include "plan/plan.h"

enum { MEBIBYTE = 1 << 20 };

/* --- kills --- */

struct held_kill {
        const struct plan_container *of; /* NULL: none is held */
        int64_t at_ms, until_ms;
        double bytes;
};

/* The newest; of what is held of its container the largest counts. */
static struct held_kill newest_kill(const struct plan *p)
{
        struct held_kill k = {0};
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                const struct history *h = history_find(p->target, c->name);
                double held = h ? usage_kill_hold(&h->usage, &c->facts.policy[MEMORY], p->now) : 0;
                if (held <= 0 || h->usage.kill[0].at_ms <= k.at_ms)
                        continue;
                int64_t at = h->usage.kill[0].at_ms;
                k = (struct held_kill){c, at, at + c->facts.policy[MEMORY].oom_hold_ms, held};
        }
        return k;
}

const char *words_of_kill(const struct plan *p, char out[static PLAN_WORDS])
{
        char at[WALL_TEXT_MAX], until[WALL_TEXT_MAX], asks[QUANTITY_TEXT_MAX];
        const struct target *t = p->target;
        struct held_kill k = newest_kill(p);
        if (!k.of)
                return NULL;
        int64_t hold_ms = k.until_ms - k.at_ms;
        wall_print((struct wall){k.at_ms}, at);
        if (t->limit_of && p->now.ms - t->limit_ms <= hold_ms) {
                snprintf(out, PLAN_WORDS,
                         "container '%.63s' was killed at its memory limit at %s: limit too low: raise it by hand",
                         t->limit_of, wall_print((struct wall){t->limit_ms}, at));
                return "LimitTooLow";
        }
        bool wins = k.of->facts.learned.of[MEMORY].by_kill;
        snprintf(out, PLAN_WORDS,
                 "container '%.63s' was killed or evicted for lack of memory at %s: until %s it asks for %s, %s",
                 k.of->name, at, wall_print((struct wall){k.until_ms}, until),
                 amount_print(MEMORY, (int64_t)ceil(k.bytes / MEBIBYTE) * MEBIBYTE, asks),
                 wins ? "more than its percentile: that makes the model" : "no more than its percentile");
        return wins ? "KillMakesModel" : "PercentileMakesModel";
}

/* --- who else --- */

void words_of_other_autoscaler(const struct other_autoscaler *r, char out[static PLAN_WORDS])
{
        snprintf(out, PLAN_WORDS,
                 "VerticalPodAutoscaler '%.120s'%s%s sets these requests: they are left alone until its updateMode is "
                 "Off, or it is gone",
                 r->name, *r->mode ? ", updateMode " : "", r->mode);
}

const char *pod_asks_word(const struct workload *wl)
{
        const struct amount *asks = workload_more(wl)->pod_asks;
        if (asks[CPU].set)
                return asks[MEMORY].set ? "CPUAndMemory" : "CPU";
        return asks[MEMORY].set ? "Memory" : NULL;
}

void words_of_pod(const struct workload *wl, char out[static PLAN_WORDS])
{
        const struct amount *asks = workload_more(wl)->pod_asks;
        snprintf(out, PLAN_WORDS,
                 "the template asks for %s for the pod as a whole (spec.resources): schedulers and quotas count that, "
                 "so "
                 "the containers' requests are left alone; lower it there by hand, status.pod has the model",
                 !asks[MEMORY].set ? "cpu"
                 : asks[CPU].set   ? "cpu and memory"
                                   : "memory");
}
