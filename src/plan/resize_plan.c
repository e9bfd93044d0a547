/*
 * Mode InPlace in a plan: the requests that pods are to have, the pods that lack them, and condition Applied. No I/O.
 */
#include <stdio.h>
#include <string.h>

#include "base/noun.h"
#include "cache/guard_state.h"
#include "cache/pod_canary.h"
#include "cache/pod_namespace_targets.h"
#include "cache/profile_fuse.h"
#include "plan/plan.h"

enum { PODS_AT_ONCE = 10 }; /* most pods of one workload that are being resized at the same time */

bool in_place(const struct target *t)
{
        return t->profile && dimension_writes(t) && t->profile->spec->apply.mode == APPLY_IN_PLACE;
}

/* A request that halflife set counts only below the original: the owner may have lowered the original since. */
void resize_setting(const struct target *t, struct plan_container *c)
{
        const struct record_row *row = target_setting(t, c->name);
        if (!t->apply_state.in_place)
                return; /* the template's requests, from an earlier rollout by halflife, stay in force */
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct amount original = c->facts.original[r], set = row ? row->request[r] : (struct amount){0};
                c->ours[r] = set.set && original.set && set.value < original.value;
                c->facts.current[r] = c->ours[r] ? set : original;
        }
}

static bool resize_is_of(const struct pod_container *c, const struct record_row *row)
{
        for (enum resource r = CPU; row && r < RESOURCES; r++)
                if (row->request[r].set && pod_request(c, r).value == row->request[r].value)
                        return true;
        return false;
}

bool resize_stands(const struct target *t)
{
        for (const struct pod *p = t->pods; t->apply_state.in_place && p; p = p->next_of_target)
                for (int i = 0; p->running && p->ours && i < p->containers; i++) {
                        const struct pod_container *c = &p->container[i];
                        if (resize_is_of(c, target_setting(t, c->name)) ||
                            resize_is_of(c, pod_canary_baseline(t, c->name)))
                                return true;
                }
        return false;
}

/* --- taking back --- */

/* Is a change taken back in mode OnDeploy? Then halflife resizes the running pods to their originals. */
static bool takes_back(const struct plan *p)
{
        return p->guarded && p->target->profile->spec->apply.mode == APPLY_ON_DEPLOY;
}

int64_t resize_set_ms(const struct plan *p)
{
        return takes_back(p) ? p->target->apply_state.guard->fired_ms : p->target->apply_state.changed_ms;
}

/* --- one pod --- */

/* When the pod was last raised, wall ms; 0: never, or before its last start. A start ends a raise: the pod gets its
 * originals first, and halflife's request after. */
static int64_t raised_ms_of(const struct plan *p, const struct pod *pod)
{
        int64_t raised_ms = pod->resizing ? pod->resizing->raised_ms : 0;
        return p->starts && raised_ms < pod_began_ms(pod) ? 0 : raised_ms;
}

bool resize_is_raised(const struct plan *p, const struct pod *pod)
{
        return raised_ms_of(p, pod) > p->target->apply_state.changed_ms;
}

/* Does a raised pod use more than `than`, so that it must not be lowered to that? True without a sample, as the usage
 * is then unknown. */
static bool still_uses_more(const struct plan *p, const struct pod *pod, int container, enum resource r, int64_t than)
{
        if (!raised_ms_of(p, pod) || !p->target->profile->spec->apply.raise.enabled)
                return false;
        const struct raising *raising = &pod->resizing->raising[(size_t)container * RESOURCES + r];
        return !raising->sampled || raising->used > than;
}

static int64_t raise_to(const struct plan *p, const struct pod *pod, int container, enum resource r)
{
        bool raises = pod->resizing && !p->guarded && p->target->profile->spec->apply.raise.enabled;
        return raises ? pod->resizing->raising[(size_t)container * RESOURCES + r].to : 0;
}

/*
 * The request that halflife set for the pod. In mode OnDeploy a pod keeps the requests of its deploy. Only a pod that
 * was created with its originals gets what a deploy would give it now.
 */
static struct amount resize_set_for(const struct plan *p, const struct plan_container *c, const struct pod *pod,
                                    struct amount has, enum resource r)
{
        if (p->guarded)
                return c->facts.original[r];
        if (in_place(p->target))
                return canary_share_of(p->target, c, pod, r);
        return pod_has_originals(pod) && c->facts.original[r].set ? (struct amount){true, c->advice.gate[r].value}
                                                                  : has;
}

/*
 * The request for a started pod: the one that halflife set, else the original; also the original if the change is taken
 * back. A raised request stays until the next change, and longer while the pod uses more than the next change allows.
 * If a raise is due, its request counts where it is larger. No request exceeds the original. A request that is neither
 * the template's nor recorded as halflife's was set by somebody else and stays.
 */
static struct amount resize_target(const struct plan *p, const struct plan_container *c, const struct pod *pod,
                                   int container, enum resource r, bool *ret_other)
{
        struct amount original = c->facts.original[r], has = pod_request(&pod->container[container], r);
        struct amount want = resize_set_for(p, c, pod, has, r);
        bool others = c->role == ROLE_INIT || c->role == ROLE_INJECTED || c->facts.other_autoscaler[r];
        if (others || !want.set || !has.set || !original.set)
                return (struct amount){0};
        if (!pod->ours && has.value != original.value) {
                *ret_other |= has.value != want.value;
                return (struct amount){0};
        }
        bool stays = resize_is_raised(p, pod) || still_uses_more(p, pod, container, r, want.value);
        if (stays && has.value > want.value)
                want.value = has.value;
        if (raise_to(p, pod, container, r) > want.value)
                want.value = raise_to(p, pod, container, r);
        if (want.value > original.value)
                want.value = original.value;
        return want;
}

struct amount resize_want(const struct plan *p, const struct plan_container *c, const struct pod *pod, int container,
                          enum resource r, bool *ret_other)
{
        struct amount want = resize_target(p, c, pod, container, r, ret_other);
        if (want.set)
                want.value = startup_want(startup_stage_in(p, pod), pod_request(&pod->container[container], r).value,
                                          want.value, c->facts.original[r].value);
        return want;
}

static const struct plan_container *resize_planned(const struct plan *p, const char *container)
{
        for (int i = 0; i < p->containers; i++)
                if (p->container[i].name == container)
                        return &p->container[i];
        return NULL;
}

struct seen {
        enum resize_verdict verdict;
        bool other;   /* somebody else set a request of the pod */
        bool raises;  /* the pod needs a raise, because it uses more than it requests */
        bool lowered; /* some request of the pod is below its original */
        bool falls;   /* some request of the pod has to be lowered */
        bool kept;    /* some request is above the target, because the pod starts or is late */
        bool left;    /* a VerticalPodAutoscaler sets some request of the pod */
        enum startup_stage stage;
};

static struct seen resize_look_at(const struct plan *p, const struct pod *pod)
{
        struct seen seen = {.stage = startup_stage_in(p, pod)};
        struct resize_container c[VIEW_CONTAINERS];
        for (int i = 0; i < pod->containers; i++) {
                const struct pod_container *pc = &pod->container[i];
                const struct plan_container *of = resize_planned(p, pc->name);
                c[i] = (struct resize_container){.role = pc->role};
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        c[i].request[r] = pod_request(pc, r);
                        c[i].limit[r] = pod_limit(pc, r);
                        c[i].restarts[r] = pod_container_restarts(pc, r);
                        struct amount target = of ? resize_target(p, of, pod, i, r, &seen.other) : (struct amount){0};
                        seen.left |= of && of->facts.other_autoscaler[r];
                        if (!target.set)
                                continue;
                        c[i].want[r] = (struct amount){true, startup_want(seen.stage, c[i].request[r].value,
                                                                          target.value, of->facts.original[r].value)};
                        seen.kept |= c[i].want[r].value > target.value;
                        seen.raises |= raise_to(p, pod, i, r) > c[i].request[r].value;
                        seen.falls |= c[i].want[r].value < c[i].request[r].value;
                        seen.lowered |= c[i].request[r].value < of->facts.original[r].value;
                }
        }
        seen.verdict = resize_judge(c, (size_t)pod->containers);
        return seen;
}

/* --- all pods --- */

static void count_progress(struct plan_resize *s, const struct pod *pod)
{
        enum resize_progress progress = (enum resize_progress)pod->resize;
        s->progress[progress]++;
        if (progress <= s->worst)
                return;
        s->worst = progress;
        s->verdict_text = pod->resizing ? pod->resizing->message : NULL;
}

static bool resize_fused(const struct plan *p, const struct plan_facts *f)
{
        return f->fuse_blown || target_fused(p->target);
}

static void resize_count_pod(struct plan *p, const struct plan_facts *f, const struct pod *pod)
{
        static const struct resizing nothing;
        struct plan_resize *s = &p->resize;
        const struct resizing *kept =
                pod->resizing && pod->resizing->set_ms == resize_set_ms(p) ? pod->resizing : &nothing;
        s->pods++;
        if (pod->containers_cut) {
                s->cut++;
                return;
        }
        const struct seen seen = resize_look_at(p, pod);
        bool writes = seen.verdict == RESIZE_WRITES;
        bool starts = startup_holds_original(seen.stage) || (seen.stage == STARTUP_OVER && pod_has_originals(pod));
        s->starting += seen.kept && startup_holds_original(seen.stage);
        s->late += seen.kept && seen.stage == STARTUP_LATE;
        s->verdict[seen.verdict]++;
        if (seen.verdict == RESIZE_STANDS && seen.other)
                s->others++;
        else if (seen.verdict == RESIZE_STANDS)
                count_progress(s, pod);
        if (writes) {
                s->others += kept->left && !kept->refused;
                s->invalid += kept->left && kept->refused;
                s->refused += !kept->left && kept->refused;
                s->behind += !kept->left && !kept->refused && !starts;
                if (kept->refused && !s->refusal)
                        s->refusal = kept->refused;
        }
        bool has = !writes && !(seen.verdict == RESIZE_STANDS && pod->resize == RESIZE_GOES_ON);
        s->first_behind += pod->canary && !(has && !seen.kept) && !kept->left;
        bool forgets = seen.verdict == RESIZE_STANDS && pod->ours && !seen.lowered && !seen.left;
        bool fused = resize_fused(p, f) && writes && seen.falls;
        bool due = !fused && (writes || forgets) && !kept->left && f->now.mono.ns >= kept->again.ns;
        bool first = starts ? !s->starts : seen.raises && !s->raises && !s->starts;
        if (due && (!s->next || first)) {
                s->next = pod;
                s->raises = seen.raises;
                s->starts = starts;
        }
}

static bool any_ours(const struct target *t)
{
        const struct pod *p = t->pods;
        while (p && !(p->running && p->ours))
                p = p->next_of_target;
        return p != NULL;
}

/* Does a new pod find no node with room, because admission did not lower its requests? It then requests more than the
 * pods that run. */
static bool is_unplaced(const struct plan *p, const struct pod *pod)
{
        if (!pod->lacks_room || pod->ours)
                return false;
        for (int i = 0; i < pod->containers; i++) {
                const struct plan_container *of = resize_planned(p, pod->container[i].name);
                for (enum resource r = CPU; of && r < RESOURCES; r++)
                        if (of->ours[r] && pod_request(&pod->container[i], r).value > of->facts.current[r].value)
                                return true;
        }
        return false;
}

/* May halflife resize running pods to requests that it has set before? */
static bool may_resize(const struct plan *p)
{
        const struct target *t = p->target;
        return !p->opted_out && !t->profile->spec->paused && !t->profile->error && !p->held && !p->contested;
}

/* Whether halflife may resize the running pods to changed requests: only if it may start a change, or takes one
 * back. */
static bool may_follow(const struct plan *p, const struct plan_facts *f)
{
        return (p->guarded || (p->state == STATE_READY && !f->source_away)) && may_resize(p);
}

/* Whether halflife may resize this pod in the mode of its profile. */
static bool resize_counts(const struct plan *p, const struct pod *pod)
{
        return pod->running && (in_place(p->target) || p->guarded || pod->original);
}

void resize_survey(const struct cache *w, const struct plan_facts *f, struct plan *p)
{
        struct plan_resize *s = &p->resize;
        *s = (struct plan_resize){0};
        if (!(in_place(p->target) || takes_back(p) || p->starts) ||
            (!p->carries && !p->guarded && !p->starts && !any_ours(p->target)))
                return;
        for (const struct pod *pod = p->target->pods; pod; pod = pod->next_of_target) {
                if (resize_counts(p, pod))
                        resize_count_pod(p, f, pod);
                s->unplaced += !p->starts && is_unplaced(p, pod);
        }
        s->unserved = w->resize == RESIZE_ABSENT;
        bool follows = may_follow(p, f) && w->resize == RESIZE_SERVED;
        s->goes_on = follows && ((s->behind && !resize_fused(p, f)) || s->progress[RESIZE_GOES_ON]);
        bool full = s->progress[RESIZE_GOES_ON] >= PODS_AT_ONCE && !s->raises;
        /* A pod whose start is over is resized at its time, as if a deploy had set it: even while usage cannot be read,
         * or as many pods as may be are being resized. */
        bool may = s->starts ? may_resize(p) && w->resize == RESIZE_SERVED : follows && !full;
        if (!may)
                s->next = NULL;
}

/* --- conditions --- */

static bool resize_stuck(struct plan *p, const char *reason, int pods, const char *what, const char *why)
{
        if (!pods)
                return false;
        struct plan_condition *c = plan_say(p, "Applied", false, reason);
        snprintf(c->message, sizeof c->message, "%d of %d pods %s%s%.190s", pods, p->resize.pods, what, why ? ": " : "",
                 why ? why : "");
        p->resize.stuck = true;
        return true;
}

static int add_count(char *out, size_t size, int at, int pods, const char *what)
{
        return pods && (size_t)at < size ? at + snprintf(out + at, size - (size_t)at, ", %d %s", pods, what) : at;
}

void resize_given_back(const struct plan *p, char *out, size_t size)
{
        const struct plan_resize *s = &p->resize;
        int goes_on = s->behind + s->progress[RESIZE_GOES_ON] + s->progress[RESIZE_FAILS];
        int stay = s->others + s->invalid + s->cut + s->verdict[RESIZE_QOS] + s->verdict[RESIZE_RESTARTS] +
                   s->progress[RESIZE_INFEASIBLE];
        int back = s->pods - goes_on - stay - s->progress[RESIZE_DEFERRED] - s->refused;
        out[0] = '\0';
        if (back == s->pods)
                return;
        int at = snprintf(out, size, "; given back to %d of %d pods", back > 0 ? back : 0, s->pods);
        at = add_count(out, size, at, s->progress[RESIZE_DEFERRED], "wait for room on their nodes");
        at = add_count(out, size, at, goes_on, "are under way");
        at = add_count(out, size, at, s->refused, "are refused");
        (void)add_count(out, size, at, stay, "stay as they are");
}

bool resize_lacks_room(const struct plan *p)
{
        return p->resize.progress[RESIZE_DEFERRED] || p->resize.progress[RESIZE_INFEASIBLE];
}

bool resize_says(struct plan *p)
{
        struct plan_resize *s = &p->resize;
        int wait = s->behind + s->refused;
        if (s->unplaced) {
                struct plan_condition *c = plan_say(p, "Applied", false, "Unschedulable");
                snprintf(c->message, sizeof c->message,
                         "no node has room for %s with the original requests: the admission webhook "
                         "(manifests/overlays/admission) is not installed, or did not see them",
                         NOUN_COUNT(s->unplaced, "new pod"));
                s->stuck = true;
                return true;
        }
        if (s->unserved && wait)
                return resize_stuck(
                        p, "ResizeUnsupported", wait,
                        "stay as they are, because this API server cannot resize pods; new pods get the change", NULL);
        if (s->goes_on) {
                struct plan_condition *c = plan_say(p, "Applied", false, "Resizing");
                snprintf(c->message, sizeof c->message, "running pods are being resized, %d at once", PODS_AT_ONCE);
                return true;
        }
        return resize_stuck(p, "ResizeRefused", s->refused, "were refused by the API server, and are tried again",
                            s->refusal) ||
               resize_stuck(p, "Infeasible", s->invalid,
                            "stay as they are until the next change, because the API server refuses their resize",
                            s->refusal) ||
               resize_stuck(p, "Infeasible", s->progress[RESIZE_INFEASIBLE],
                            "stay as they are until the next change, as their nodes can never have the room",
                            s->verdict_text) ||
               resize_stuck(p, "Deferred", s->progress[RESIZE_DEFERRED], "wait for room on their nodes",
                            s->verdict_text) ||
               resize_stuck(p, "ResizeFails", s->progress[RESIZE_FAILS], "failed to resize, and their nodes try again",
                            s->verdict_text) ||
               resize_stuck(
                       p, "QoS", s->verdict[RESIZE_QOS],
                       "stay as they are, because a resize may not change their QoS class; new pods get the change",
                       NULL) ||
               resize_stuck(
                       p, "RestartRequired", s->verdict[RESIZE_RESTARTS],
                       "stay as they are, because their resizePolicy would restart containers; new pods get the change",
                       NULL) ||
               resize_stuck(p, "TooManyContainers", s->cut,
                            "stay as they are, because they have more than 64 containers, the most that halflife reads",
                            NULL) ||
               resize_stuck(p, "SetByOthers", s->others, "have requests that somebody else set", NULL) ||
               resize_stuck(p, "Waiting", s->behind, "are yet to be resized, but nothing may be changed at present",
                            NULL) ||
               canary_applies(p);
}
