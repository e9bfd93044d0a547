/*
 * InPlace, the facts: what is set on a workload's pods, how far each is from it, and what is said of that. No I/O.
 */
#include <stdio.h>
#include <string.h>

#include "cache/guard_state.h"
#include "cache/pod_canary.h"
#include "cache/pod_namespace_targets.h"
#include "plan/plan.h"

enum { PODS_AT_ONCE = 10 }; /* of one workload, that the kubelet is at */

bool in_place(const struct target *t)
{
        return t->profile && dimension_writes(t) && t->profile->spec->apply.mode == APPLY_IN_PLACE;
}

/* Nothing is below the original that its owner lowered since. */
void resize_setting(const struct target *t, struct plan_container *c)
{
        const struct record_row *row = target_setting(t, c->name);
        if (!t->apply_state.in_place)
                return; /* what the template has, from a rollout of ours before, stands */
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
                            resize_is_of(c, pod_canary_resting(t, c->name)))
                                return true;
                }
        return false;
}

/* --- taking back --- */

/* OnDeploy starts nothing, but for taking back. */
static bool takes_back(const struct plan *p)
{
        return p->guarded && p->target->profile->spec->apply.mode == APPLY_ON_DEPLOY;
}

int64_t resize_set_ms(const struct plan *p)
{
        return takes_back(p) ? p->target->apply_state.guard->fired_ms : p->target->apply_state.changed_ms;
}

/* --- one pod --- */

bool resize_is_raised(const struct plan *p, const struct pod *pod)
{
        return pod->resizing && pod->resizing->raised_ms > p->target->apply_state.changed_ms;
}

/* A pod that was raised once is not lowered below what it uses now. Without a sample that is not known. */
static bool still_uses_more(const struct plan *p, const struct pod *pod, int container, enum resource r, int64_t than)
{
        const struct resizing *kept = pod->resizing;
        if (!kept || !kept->raised_ms || !p->target->profile->spec->apply.raise.enabled)
                return false;
        const struct raising *raising = &kept->raising[(size_t)container * RESOURCES + r];
        return !raising->sampled || raising->used > than;
}

static int64_t raise_to(const struct plan *p, const struct pod *pod, int container, enum resource r)
{
        bool raises = pod->resizing && !p->guarded && p->target->profile->spec->apply.raise.enabled;
        return raises ? pod->resizing->raising[(size_t)container * RESOURCES + r].to : 0;
}

/*
 * The setting, else the original; of one whose change is taken back the original. What a pod was raised to stands until
 * the next setting, and beyond it for as long as the pod uses more than that; a raise that is due comes first. A pod
 * whose request is neither its template's nor recorded as ours is somebody else's.
 */
struct amount resize_want(const struct plan *p, const struct plan_container *c, const struct pod *pod, int container,
                          enum resource r, bool *ret_other)
{
        struct amount original = c->facts.original[r], has = pod_request(&pod->container[container], r);
        struct amount want = p->guarded ? original : canary_share_of(p->target, c, pod, r);
        if (c->role == ROLE_INIT || c->role == ROLE_INJECTED || !want.set || !has.set || !original.set)
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

static const struct plan_container *resize_planned(const struct plan *p, const char *container)
{
        for (int i = 0; i < p->containers; i++)
                if (p->container[i].name == container)
                        return &p->container[i];
        return NULL;
}

struct seen {
        enum resize_verdict verdict;
        bool other;   /* somebody else set a request of it */
        bool raises;  /* it is to be raised */
        bool lowered; /* some request is below its original */
        bool falls;   /* some request is to be lower */
};

static struct seen resize_look_at(const struct plan *p, const struct pod *pod)
{
        struct seen seen = {0};
        struct resize_container c[VIEW_CONTAINERS];
        for (int i = 0; i < pod->containers; i++) {
                const struct pod_container *pc = &pod->container[i];
                const struct plan_container *of = resize_planned(p, pc->name);
                c[i] = (struct resize_container){.role = pc->role};
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        c[i].request[r] = pod_request(pc, r);
                        c[i].limit[r] = pod_limit(pc, r);
                        c[i].restarts[r] = pc->restarts[r];
                        if (of)
                                c[i].want[r] = resize_want(p, of, pod, i, r, &seen.other);
                        if (!c[i].want[r].set)
                                continue;
                        seen.raises |= raise_to(p, pod, i, r) > c[i].request[r].value;
                        seen.falls |= c[i].want[r].value < c[i].request[r].value;
                        seen.lowered |= c[i].request[r].value < of->facts.original[r].value;
                }
        }
        seen.verdict = resize_judge(c, (size_t)pod->containers);
        return seen;
}

/* --- all of them --- */

static void count_progress(struct plan_resize *s, const struct pod *pod)
{
        enum resize_progress progress = (enum resize_progress)pod->resize;
        s->progress[progress]++;
        if (progress <= s->worst)
                return;
        s->worst = progress;
        s->verdict_text = pod->resizing ? pod->resizing->message : NULL;
}

static void resize_count_pod(struct plan *p, const struct plan_facts *f, struct pod *pod)
{
        static const struct resizing nothing;
        struct plan_resize *s = &p->resize;
        const struct resizing *kept =
                pod->resizing && pod->resizing->set_ms == resize_set_ms(p) ? pod->resizing : &nothing;
        const struct seen seen = resize_look_at(p, pod);
        bool writes = seen.verdict == RESIZE_WRITES;
        s->pods++;
        s->verdict[seen.verdict]++;
        if (seen.verdict == RESIZE_STANDS && seen.other)
                s->others++;
        else if (seen.verdict == RESIZE_STANDS)
                count_progress(s, pod);
        if (writes) {
                s->others += kept->left;
                s->refused += !kept->left && kept->refused;
                s->behind += !kept->left && !kept->refused;
                if (kept->refused && !s->refusal)
                        s->refusal = kept->refused;
        }
        bool has = !writes && !(seen.verdict == RESIZE_STANDS && pod->resize == RESIZE_GOES_ON);
        s->first_behind += pod->canary && !has && !kept->left;
        bool forgets = seen.verdict == RESIZE_STANDS && pod->ours && !seen.lowered;
        bool fused = f->fuse_blown && writes && seen.falls;
        bool due = !fused && (writes || forgets) && !kept->left && f->now.mono.ns >= kept->again.ns;
        if (due && (!s->next || (seen.raises && !s->raises))) {
                s->next = pod;
                s->raises = seen.raises;
        }
}

static bool any_ours(const struct target *t)
{
        const struct pod *p = t->pods;
        while (p && !(p->running && p->ours))
                p = p->next_of_target;
        return p != NULL;
}

/* A new pod that no admission set: it asks for more than those that run, and the room may be gone that they left. */
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

/* What is set is followed by the running pods where a change of ours may be started at all. */
static bool may_follow(const struct plan *p, const struct plan_facts *f)
{
        const struct target *t = p->target;
        return (p->guarded || (p->state == STATE_READY && !f->source_away)) && !p->opted_out &&
               !t->profile->spec->paused && !t->profile->error && !p->held && !p->contested && !t->workload->rival;
}

void resize_survey(const struct cache *w, const struct plan_facts *f, struct plan *p)
{
        struct plan_resize *s = &p->resize;
        *s = (struct plan_resize){0};
        if (!(in_place(p->target) || takes_back(p)) || (!p->carries && !p->guarded && !any_ours(p->target)))
                return;
        for (struct pod *pod = p->target->pods; pod; pod = pod->next_of_target) {
                if (pod->running)
                        resize_count_pod(p, f, pod);
                s->unplaced += is_unplaced(p, pod);
        }
        s->unserved = w->resize == RESIZE_ABSENT;
        bool follows = may_follow(p, f) && w->resize == RESIZE_SERVED;
        s->goes_on = follows && ((s->behind && !f->fuse_blown) || s->progress[RESIZE_GOES_ON]);
        if (!follows || (s->progress[RESIZE_GOES_ON] >= PODS_AT_ONCE && !s->raises))
                s->next = NULL;
}

/* --- what is said --- */

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
        int stay = s->others + s->verdict[RESIZE_QOS] + s->verdict[RESIZE_RESTARTS] + s->progress[RESIZE_INFEASIBLE];
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
                         "%d new pods came with the original, and no node has the room: the admission webhook "
                         "(manifests/overlays/admission) is not installed, or did not see them",
                         s->unplaced);
                s->stuck = true;
                return true;
        }
        if (s->unserved && wait)
                return resize_stuck(p, "ResizeUnsupported", wait,
                                    "stay as they are, for this server cannot resize pods; new ones come with it",
                                    NULL);
        if (s->goes_on) {
                struct plan_condition *c = plan_say(p, "Applied", false, "Resizing");
                snprintf(c->message, sizeof c->message, "running pods are being resized, %d at once", PODS_AT_ONCE);
                return true;
        }
        return resize_stuck(p, "ResizeRefused", s->refused, "are refused, and tried again", s->refusal) ||
               resize_stuck(p, "Infeasible", s->progress[RESIZE_INFEASIBLE],
                            "stay as they are until the next setting, their nodes never have the room",
                            s->verdict_text) ||
               resize_stuck(p, "Deferred", s->progress[RESIZE_DEFERRED], "wait for room on their nodes",
                            s->verdict_text) ||
               resize_stuck(p, "ResizeFails", s->progress[RESIZE_FAILS], "are tried again by their nodes",
                            s->verdict_text) ||
               resize_stuck(p, "QoS", s->verdict[RESIZE_QOS],
                            "stay as they are, because a resize may not change their QoS class; new ones come with it",
                            NULL) ||
               resize_stuck(
                       p, "RestartRequired", s->verdict[RESIZE_RESTARTS],
                       "stay as they are, because their resizePolicy would restart containers; new ones come with it",
                       NULL) ||
               resize_stuck(p, "SetByOthers", s->others, "have requests that somebody else set", NULL) ||
               resize_stuck(p, "Waiting", s->behind, "are yet to be resized, and nothing is changed at present",
                            NULL) ||
               canary_applies(p);
}
