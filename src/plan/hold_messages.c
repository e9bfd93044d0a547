/*
 * Messages of conditions about what holds back a change: who or what it is, and what the user can do.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"

enum { MEBIBYTE = 1 << 20 };

/* --- kills --- */

struct held_kill {
        const struct plan_container *of; /* the killed container; NULL: no kill holds up a memory model */
        int64_t at_ms, until_ms;
        double bytes;
};

/* The newest kill that still holds up a memory model. bytes: the largest amount that any kill of its container
 * holds. */
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
        struct limit_kill by_limit;
        int64_t advised;
        struct held_kill k = newest_kill(p);
        if (!k.of)
                return NULL;
        const struct plan_container *low = plan_limit_too_low(p, &by_limit, &advised);
        if (low) {
                snprintf(out, PLAN_WORDS,
                         "container '%.63s' was killed at its memory limit at %s: the limit is too low: raise it by "
                         "hand, to %s or more",
                         low->name, wall_print((struct wall){by_limit.at_ms}, at), amount_print(MEMORY, advised, asks));
                return "LimitTooLow";
        }
        wall_print((struct wall){k.at_ms}, at);
        bool wins = k.of->facts.learned.of[MEMORY].by_kill;
        snprintf(out, PLAN_WORDS,
                 "container '%.63s' was killed or evicted for lack of memory at %s: until %s its model is at least %s, "
                 "%s",
                 k.of->name, at, wall_print((struct wall){k.until_ms}, until),
                 amount_print(MEMORY, (int64_t)ceil(k.bytes / MEBIBYTE) * MEBIBYTE, asks),
                 wins ? "more than the percentile of its usage" : "no more than the percentile of its usage");
        return wins ? "KillMakesModel" : "PercentileMakesModel";
}

/* --- other autoscalers, pod-level requests --- */

/* Which requests of a container the other autoscaler sets; NULL: none, or halflife would not set them either. */
static const char *left_of(const struct plan_container *c)
{
        const bool *left = c->facts.other_autoscaler;
        if (!plan_counts(c) || (!left[CPU] && !left[MEMORY]))
                return NULL;
        return !left[MEMORY] ? "cpu" : left[CPU] ? "cpu and memory" : "memory";
}

/* List resources by container, such as "memory of 'app', cpu and memory of 'side'". */
static void say_left(const struct plan *p, char *out, size_t size)
{
        static const char others[] = " and of others";
        size_t at = 0;
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                char one[96];
                if (!left_of(c))
                        continue;
                int n = snprintf(one, sizeof one, "%s%s of '%.63s'", at ? ", " : "", left_of(c), c->name);
                bool fits = at + (size_t)n + sizeof others <= size;
                snprintf(out + at, size - at, "%s", fits ? one : others);
                if (!fits)
                        return;
                at += (size_t)n;
        }
}

bool words_of_other_autoscaler(const struct plan *p, char out[static PLAN_WORDS])
{
        const struct other_autoscaler *r = p->target->workload->other_autoscaler;
        char what[128] = "";
        say_left(p, what, sizeof what);
        if (!r || !*what)
                return false;
        bool all = vpa_policy_sets_all(r->policy);
        snprintf(out, PLAN_WORDS, "VerticalPodAutoscaler '%.50s'%s%.20s sets %s: halflife leaves them alone%s", r->name,
                 *r->mode ? ", updateMode " : "", r->mode, all ? "these requests" : what,
                 all ? " until its updateMode is Off or it is deleted" : ", and sets the others");
        return true;
}

const char *plan_reader(const struct plan *p, const struct plan_container *c, enum resource r)
{
        const struct target *t = p->target;
        const struct amount least = c->facts.read_least[r], to = c->advice.of[r].target, from = c->facts.current[r];
        bool other = least.set && ((to.set && to.value < least.value) || (from.set && from.value < least.value));
        if (!other || !plan_counts(c) || !t->profile || t->profile->spec->apply.runtime != RUNTIME_RESPECT)
                return NULL;
        return request_readers_find(&workload_more(t->workload)->readers, c->name, r)->text;
}

const char *opted_out_word(const struct workload *wl, const struct ns *ns, bool apply_never)
{
        static const char *const by[] = {
                [NEVER_BY_ANNOTATION] = "the workload's annotation " ANNOTATION_APPLY,
                [NEVER_BY_LABELS] = "it has more than 256 labels, the most that halflife reads: a selector could err",
                [NEVER_BY_CONTAINERS] = "it has more than 64 containers, the most that halflife reads",
                [NEVER_BY_OWNERS] =
                        "its managedFields name more than 256 owners of requests, the most that halflife reads",
        };
        static_assert(VIEW_LABELS == 256 && VIEW_CONTAINERS == 64 && VIEW_OWNERS == 256, "as the words say");
        return ns->exempt        ? "the controller's own setting exempt-namespaces"
               : apply_never     ? "the controller's own setting apply: never"
               : wl->apply_never ? by[wl->apply_never]
               : ns->labels_cut
                       ? "its namespace has more than 256 labels, the most that halflife reads: a selector could err"
               : ns->apply_never ? "its namespace's annotation " ANNOTATION_APPLY
                                 : NULL;
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
                 "the template asks for %s for the pod as a whole (spec.resources): schedulers and quotas count only "
                 "that, so halflife leaves the containers' requests alone; lower it by hand, status.pod has the model",
                 !asks[MEMORY].set ? "cpu"
                 : asks[CPU].set   ? "cpu and memory"
                                   : "memory");
}
