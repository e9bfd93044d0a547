/*
 * Resizing running pods (mode InPlace). Once the gates pass, the requests for all of a workload's pods are stored. Then
 * each running pod with other requests is read, annotated with its original requests, and resized. Whether the kubelet
 * could resize the pod shows later in the pod's status, through the watch.
 */
#include <stdio.h>
#include <string.h>

#include "applier_private.h"
#include "base/yaml.h"
#include "cache/apply_state.h"
#include "cache/change_log.h"
#include "cache/pod_canary.h"
#include "kube/known_resource.h"
#include "kube/resource_list.h"
#include "plan/admission_message.h"
#include "resize_patch.h"

enum { AGAIN_LEAST_MS = 10 * SECOND_MS, AGAIN_MOST_MS = HOUR_MS, ASK_AGAIN_MS = HOUR_MS, STEPS_MOST = 6 };

/* --- whether the server can resize --- */

static void resize_discovered(void *arg, const struct client_answer *answer)
{
        struct applier *applier = arg;
        applier->resize_asking = false;
        if (answer->err.code != 0)
                return; /* without an answer, the next cycle asks again */
        AUTO(json_decref) json_t *list = json_loadb(answer->body.p, answer->body.len, 0, NULL);
        bool served = resource_list_find(list, "pods/resize", NULL) != NULL;
        if (!served && applier->cache->resize != RESIZE_ABSENT)
                log_warn("this API server cannot resize pods: in mode InPlace only new pods get new requests; asking "
                         "again each hour");
        cache_set_resize(applier->cache, served ? RESIZE_SERVED : RESIZE_ABSENT);
        schedule_pass(applier->leadership);
}

/* Whether some profile may need to resize pods: by mode InPlace, or by OnDeploy with the guard, which gives running
 * pods their originals back, or with pods that start with their originals. */
static bool any_resizes(struct applier *applier)
{
        const struct profile *p;
        for (size_t at = 0; (p = map_each(&applier->cache->profiles, &at));)
                if (p->valid &&
                    (p->spec->apply.mode == APPLY_IN_PLACE ||
                     (p->spec->apply.mode == APPLY_ON_DEPLOY &&
                      (p->spec->apply.guard.enabled || p->spec->apply.startup.request == STARTUP_ORIGINAL))))
                        return true;
        return false;
}

void resize_settle(struct applier *applier)
{
        struct mono now = loop_now(applier->loop).mono;
        bool fresh = applier->resize_asked.ns && now.ns - applier->resize_asked.ns < (int64_t)ASK_AGAIN_MS * 1000000;
        if (applier->resize_asking || applier->cache->resize == RESIZE_SERVED ||
            (fresh && applier->cache->resize == RESIZE_ABSENT) || !any_resizes(applier))
                return;
        AUTO(mem_free) char *path = known_resource_version_path(KNOWN_PODS);
        struct call call = {.method = HTTP_GET, .path = path, .body_max = 1 << 20};
        applier->resize_asking = true;
        applier->resize_asked = now;
        client_start(applier->client, &call, resize_discovered, applier);
}

/* --- the requests for all pods --- */

/* The request to set for a container on all pods: the new step, else the present request. Unset if that is the
 * original, which needs no setting. */
static struct amount setting_of(const struct plan_container *c, enum resource r)
{
        const struct gate_verdict *g = &c->advice.gate[r];
        struct amount set = g->hold ? c->facts.current[r] : (struct amount){true, g->value};
        set.set = set.set && c->facts.original[r].set && set.value < c->facts.original[r].value;
        return set;
}

static void resize_note(struct applier *applier, const struct plan *p, const struct plan_container *c, enum resource r,
                        char *note, size_t size)
{
        int64_t from = c->facts.current[r].value, to = c->advice.gate[r].value;
        const struct change change = {.kind = CHANGE_APPLIED,
                                      .container = c->name,
                                      .resource = r,
                                      .from = from,
                                      .to = to,
                                      .by = CHANGE_BY_HALFLIFE,
                                      .reason = c->advice.reason[r] ? reason_name(c->advice.reason[r]) : ""};
        resize_patch_note(note, size, c->name, r, from, to);
        change_log_add(applier->cache, p->target, p->now, &change);
}

static json_t *resize_settings(struct applier *applier, const struct plan *p, char *note, size_t size)
{
        json_t *list = json_array();
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                json_t *row = json_pack("{s:s}", "name", c->name);
                for (enum resource r = CPU; r < RESOURCES && c->role != ROLE_INJECTED; r++) {
                        struct amount set = setting_of(c, r);
                        amount_put(row, resource_name(r), r, set);
                        if (!c->advice.gate[r].hold && c->facts.current[r].set)
                                resize_note(applier, p, c, r, note, size);
                }
                if (json_object_size(row) > 1)
                        json_array_append_new(list, row);
                else
                        json_decref(row);
        }
        return list;
}

void resize_set(struct applier *applier, const struct plan *p)
{
        struct target *t = p->target;
        char note[RESIZE_NOTE_MAX] = "";
        AUTO(json_decref) json_t *list = resize_settings(applier, p, note, sizeof note);
        char *rest = canary_rest(applier->safety, p);
        (void)budget_spend(applier->safety, p);
        apply_state_changed(t, p->now, t->workload->digest);
        target_set_resizing(t, true);
        target_set_applied(applier->cache, t, json_dumps(list, JSON_SORT_KEYS | JSON_COMPACT), true);
        if (rest)
                pod_canary_begin(applier->cache, t, rest);
        canary_mark(t);
        guard_changed(t, guard_state_survey(t), p->now);
        checkpointer_apply_state(applier->checkpointer, t);
        applier->count.applied++;
        bookkeeping_count(applier->cache, t, LEDGER_CHANGE);
        notice_event(applier->notices, t, false, "Applied", note);
        log_info("requests set", KV("namespace", t->ns), KV("kind", t->kind), KV("name", t->name), KV("change", note),
                 KV_INT("cycle", notice_cycle(applier->notices)));
}

/* --- one pod --- */

struct resize {
        struct applier *applier;
        struct target *target;
        char *key, *path; /* the pod's key, and its path at the API server */
        uint8_t uid[UID_BYTES];
        struct resize_goal goal;
        int steps;
        bool raises, resized, told;
        bool by_subresource; /* the HTTP request under way uses the resize subresource */
        int64_t set_ms;      /* when the CPU and memory requests to write were decided, wall ms */
};

static void resize_free(struct resize *z)
{
        for (int i = 0; i < z->goal.wants; i++)
                intern_drop(z->applier->cache->names, z->goal.wanted[i].container);
        mem_free(z->goal.wanted);
        mem_free(z->key);
        mem_free(z->path);
        mem_free(z);
}

static struct pod *pod_of(const struct resize *z)
{
        struct pod *p = map_get(&z->applier->cache->pods, text_of(z->key));
        return p && memcmp(p->uid, z->uid, UID_BYTES) == 0 ? p : NULL;
}

/* End the write of one pod. Without an error, the target goes on with its next pod. */
static void resize_end(struct resize *z, const struct err *err, int64_t retry_after_ms)
{
        struct applier *applier = z->applier;
        struct target *t = z->target;
        resize_free(z);
        work_done(applier, t, err, retry_after_ms);
}

/* The pod's resize state for the change being written (set_ms); NULL: the pod is gone. */
static struct resizing *kept_of(const struct resize *z)
{
        struct pod *p = pod_of(z);
        if (!p)
                return NULL;
        return pod_resizing_for(p, z->set_ms);
}

static void resize_answered(void *arg, const struct client_answer *answer);

static void resize_read(struct resize *z)
{
        struct call call = {.method = HTTP_GET, .path = z->path};
        z->by_subresource = false;
        z->steps++;
        client_start(z->applier->client, &call, resize_answered, z);
}

static int64_t again_ms(int failures)
{
        int64_t ms = AGAIN_LEAST_MS;
        for (int i = 1; i < failures && ms < AGAIN_MOST_MS; i++)
                ms *= 2;
        return ms < AGAIN_MOST_MS ? ms : AGAIN_MOST_MS;
}

static void resize_deny(struct applier *applier, struct target *t, const char *text)
{
        if (target_set_denied(t, text))
                notice_event(applier->notices, t, true, "Denied", text);
}

/* End the write, as the pod is ending or gone. Put the pod off, so that halflife does not read it again and again until
 * the watch reports its end. */
static void resize_missed(struct resize *z)
{
        struct pod *p = pod_of(z);
        if (p)
                pod_resize_after(p, mono_after(loop_now(z->applier->loop).mono, AGAIN_LEAST_MS));
        resize_end(z, &(struct err){0}, 0);
}

/* The server's error message without the HTTP method and path before it, because log and status name the pod anyway. */
static const char *resize_said(const struct err *err)
{
        const char *said = strstr(err->text, "HTTP ");
        return said ? said : err->text;
}

static void resize_put_off(struct resize *z, struct resizing *kept, const char *why)
{
        resizing_failed(kept);
        resizing_refused(kept, mono_after(loop_now(z->applier->loop).mono, again_ms(kept->failures)), why);
}

/* Whether a 404 means that the server no longer has the resize subresource. A 404 for a missing pod names the pod. */
static bool is_unserved(const struct resize *z, struct text body)
{
        AUTO(json_decref) json_t *said = z->by_subresource ? json_loadb(body.p, body.len, 0, NULL) : NULL;
        return z->by_subresource && !json_object_get(json_object_get(said, "details"), "name");
}

/* Give up after STEPS_MOST HTTP requests for one pod: the accepted CPU and memory requests do not stay, or somebody
 * writes the pod again and again. */
static void resize_stands_not(struct resize *z)
{
        struct err err = {0};
        struct resizing *kept = z->resized ? kept_of(z) : NULL;
        if (kept)
                resize_put_off(z, kept, "the requests do not stay: somebody changes them at once");
        else
                err_set(&err, ERR_STALE, "pod '%s' is changed again and again", z->key);
        resize_end(z, &err, 0);
}

/* The server refused an HTTP request about the pod. A quota, LimitRange, admission or missing permission concerns this
 * pod only: it is put off, and the target goes on with its other pods. */
static void resize_refused(struct resize *z, const struct client_answer *answer)
{
        struct applier *applier = z->applier;
        struct target *t = z->target;
        struct resizing *kept = kept_of(z);
        const struct err *err = &answer->err;
        if (err->code == ERR_STALE &&
            z->steps < STEPS_MOST) { /* somebody else, mostly the kubelet, wrote the pod meanwhile: read it again */
                resize_read(z);
                return;
        }
        if (err->code == ERR_RETRY || err->code == ERR_STALE) {
                resize_end(z, err, answer->retry_after_ms);
                return;
        }
        if (err->code == ERR_NOTFOUND) {
                if (is_unserved(z, answer->body))
                        cache_set_resize(applier->cache, RESIZE_UNASKED);
                resize_missed(z);
                return;
        }
        if (kept && z->by_subresource && patch_is_invalid(answer->status, answer->body)) {
                resizing_invalid(pod_of(z), resize_said(err));
                log_info("a pod is not resized", KV("pod", z->key), KV("why", kept->refused));
                resize_end(z, &(struct err){0}, 0);
                return;
        }
        if (kept && !work_contested(applier, t, err)) {
                resize_put_off(z, kept, resize_said(err));
                applier->count.resizes_refused++;
                notice_refusal(applier->notices,
                               &(struct refused){"Pod", t->ns, strchr(z->key, '/') + 1, t->recommendation}, err);
                if (err->code == ERR_DENIED)
                        resize_deny(applier, t, err->text);
        }
        resize_end(z, &(struct err){0}, 0);
}

/* --- the steps --- */

static void resize_send(struct resize *z, const char *subresource, json_t *patch)
{
        AUTO(mem_free) char *path = mem_printf("%s%s", z->path, subresource);
        z->by_subresource = *subresource != '\0';
        z->steps++;
        patch_send(z->applier->client, path, patch, false, resize_answered, z);
        json_decref(patch);
}

static void resize_log_raise(const struct resize *z)
{
        AUTO(mem_free) char *words = mem_printf("pod %s uses more than it requests", strchr(z->key, '/') + 1);
        for (int i = 0; i < z->goal.wants; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        const struct resize_wanted *w = &z->goal.wanted[i];
                        const struct change c = {.kind = CHANGE_RAISED,
                                                 .container = w->container,
                                                 .resource = r,
                                                 .from = status_amount_of(w->before[r]),
                                                 .to = status_amount_of(w->sent[r]),
                                                 .by = CHANGE_BY_HALFLIFE,
                                                 .words = words};
                        if (w->sent[r].set)
                                change_log_add(z->applier->cache, z->target, loop_now(z->applier->loop).wall, &c);
                }
}

/* Report the resize once the server has the pod's new requests; the annotations may still need a write. */
static void tell_resized(struct resize *z)
{
        struct applier *applier = z->applier;
        struct target *t = z->target;
        z->told = true;
        applier->count.resizes++;
        applier->count.raises += z->raises;
        budget_goes_on(applier->safety, t);
        (void)target_set_denied(t, NULL);
        log_info(z->raises ? "pod raised" : "pod resized", KV("pod", z->key), KV("change", z->goal.note),
                 KV_INT("cycle", notice_cycle(applier->notices)));
        if (!z->raises)
                return;
        resize_log_raise(z);
        AUTO(mem_free)
        char *note = mem_printf("pod %s uses more than it requests: %s", strchr(z->key, '/') + 1, z->goal.note);
        notice_event(applier->notices, t, false, "Raised", note);
}

/* End the resize of one pod. why NULL: the pod has its requests. Else why says why the pod cannot be resized, and it
 * stays as it is until new requests are decided. */
static void resize_done(struct resize *z, const char *why)
{
        struct pod *p = pod_of(z);
        const struct resizing *kept = p && (why || p->resizing) ? kept_of(z) : NULL;
        if (kept) {
                resizing_done(p, why != NULL);
                resizing_raised(p);
        }
        if (why)
                log_info("a pod is not resized", KV("pod", z->key), KV("why", why));
        resize_end(z, &(struct err){0}, 0);
}

/* Whether admission changed the requests of the last resize, by the server's answer to it. Then the target is left
 * alone as a contested one, because another try would be changed as well. */
static bool resize_is_changed(struct resize *z, const struct pod_view *v)
{
        struct admission_answer answer[VIEW_CONTAINERS];
        char words[PLAN_WORDS];
        int answers = 0;
        for (int i = 0; i < v->containers && z->by_subresource; i++) {
                const struct container_view *got = &v->container[i];
                const struct resize_wanted *want = resize_patch_wanted(&z->goal, got->name);
                if (!want)
                        continue;
                struct admission_answer *a = &answer[answers++];
                a->container = want->container;
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        a->sent[r] = want->sent[r].set ? want->sent[r] : got->request[r];
                        a->got[r] = got->request[r];
                        a->limit[r] = got->limit[r];
                }
        }
        if (!admission_message(answer, answers, words))
                return false;
        conflict_changed(z->applier->safety, z->target, words);
        notice_event(z->applier->notices, z->target, true, "Contested", words);
        return true;
}

/* Take the pod's requests and annotations as read into the cache at once. Not for a pod that is a target itself: it is
 * its own template, and the watch must deliver both together. */
static void pod_knows(struct resize *z, const struct pod_view *v)
{
        struct pod *p = z->target->dimension == DIMENSION_WORKLOAD ? pod_of(z) : NULL;
        if (!p)
                return;
        pod_changes(z->applier->cache, p);
        pod_set_requests(p, v);
        pod_set_raised(p, v->meta.annotation.raised);
        pod_remember(z->applier->cache, p, v->meta.annotation.original);
}

/* Send the next patch for the pod as read. Once none of the pod's requests is halflife's, that patch removes the
 * annotations. */
static void resize_step(struct resize *z, const struct pod_view *v, struct text body)
{
        struct err err = {0};
        struct resize_next next;
        const struct profile *profile = z->target->profile;
        bool basis_stands = profile && apply_policy_owns_no_basis(&profile->spec->apply);
        (void)resize_patch_next(&z->goal, v, body, basis_stands, &z->applier->plans, &next, &err);
        if (z->resized && !z->told && next.stands)
                tell_resized(z);
        if (next.patch) {
                z->resized |= next.requests;
                resize_send(z, next.requests ? "/resize" : "", next.patch);
        } else if (err.code != 0) {
                resize_end(z, &err, 0);
        } else {
                resize_done(z, next.stays);
        }
}

static void resize_answered(void *arg, const struct client_answer *answer)
{
        struct resize *z = arg;
        struct applier *applier = z->applier;
        struct pod_view *v = arena_new(&applier->plans, sizeof *v);
        uint8_t uid[UID_BYTES];
        struct err err = answer->err;
        if (err.code != 0) {
                resize_refused(z, answer);
                return;
        }
        err.code = decode_pod(answer->body, &applier->plans, v, &err);
        if (err.code == 0)
                uid_bytes(v->meta.uid, uid);
        if (err.code == 0 && (memcmp(uid, z->uid, UID_BYTES) != 0 || v->meta.deleted.ms || !v->running))
                err_set(&err, ERR_NOTFOUND, "pod '%s' is gone", z->key);
        if (err.code == 0)
                pod_knows(z, v);
        if (!may_write(applier->leadership)) {
                resize_end(z, &(struct err){0}, 0);
        } else if (err.code == ERR_NOTFOUND) {
                resize_missed(z);
        } else if (err.code == 0 && resize_is_changed(z, v)) {
                resize_end(z, &err, 0);
        } else if (err.code == 0 && z->steps >= STEPS_MOST) {
                resize_stands_not(z);
        } else if (err.code != 0) {
                resize_end(z, &err, 0);
        } else {
                resize_step(z, v, answer->body);
        }
        arena_reset(&applier->plans);
}

static void resize_take_wanted(struct resize *z, const struct plan *p, const struct pod *pod)
{
        struct resize_goal *goal = &z->goal;
        goal->wanted = mem_new_array((size_t)p->containers + 1, sizeof *goal->wanted);
        for (int i = 0; i < p->containers; i++)
                for (int k = 0; k < pod->containers; k++) {
                        bool other = false;
                        if (pod->container[k].name != p->container[i].name)
                                continue;
                        struct resize_wanted *w = &goal->wanted[goal->wants++];
                        w->container = intern_keep(p->container[i].name);
                        for (enum resource r = CPU; r < RESOURCES; r++)
                                w->to[r] = resize_want(p, &p->container[i], pod, k, r, &other);
                }
}

void resize_pod(struct applier *applier, const struct plan *p)
{
        const struct pod *pod = p->resize.next;
        struct resize *z = MEM_NEW(struct resize);
        *z = (struct resize){
                .applier = applier,
                .target = p->target,
                .key = mem_string(pod_key(pod)),
                .path = known_resource_path(KNOWN_PODS, pod->ns, pod->name, NULL),
                .raises = p->resize.raises,
                .set_ms = resize_set_ms(p),
                .goal = {.starts = p->starts,
                         .stays_raised = p->resize.raises || (!p->guarded && resize_is_raised(p, pod)),
                         .raised_ms = p->resize.raises ? loop_now(applier->loop).wall.ms
                                      : pod->resizing  ? pod->resizing->raised_ms
                                                       : 0},
        };
        memcpy(z->uid, pod->uid, UID_BYTES);
        resize_take_wanted(z, p, pod);
        resize_read(z);
}
