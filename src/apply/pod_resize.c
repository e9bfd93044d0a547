/*
 * InPlace, the doing: what is set for a workload is decided by the gates and remembered at once; then each running pod
 * that differs is read afresh, annotated with its original, and resized. The kubelet's verdict comes by the watch.
 */
#include <stdio.h>
#include <string.h>

#include "applier_private.h"
#include "base/yaml.h"
#include "cache/apply_state.h"
#include "cache/pod_canary.h"

enum { AGAIN_LEAST_MS = 10 * SECOND_MS, AGAIN_MOST_MS = HOUR_MS, ASK_AGAIN_MS = HOUR_MS, STEPS_MOST = 6 };

/* --- does the server have it? --- */

static bool lists_resize(struct text body)
{
        AUTO(json_decref) json_t *list = json_loadb(body.p, body.len, 0, NULL);
        size_t i;
        json_t *row;
        json_array_foreach(json_object_get(list, "resources"), i, row)
        {
                const char *name = json_string_value(json_object_get(row, "name"));
                if (name && strcmp(name, "pods/resize") == 0)
                        return true;
        }
        return false;
}

static void resize_discovered(void *arg, const struct client_answer *answer)
{
        struct applier *applier = arg;
        applier->resize_asking = false;
        if (answer->err.code != 0)
                return; /* the next cycle asks again */
        bool served = lists_resize(answer->body);
        if (!served && applier->cache->resize != RESIZE_ABSENT)
                log_warn("this server cannot resize pods: under InPlace only new pods get what is set; asking again "
                         "each hour");
        applier->cache->resize = served ? RESIZE_SERVED : RESIZE_ABSENT;
        nudge(applier->leadership);
}

/* Under OnDeploy what is taken back is resized as well. */
static bool any_resizes(struct applier *applier)
{
        struct profile *p;
        for (size_t at = 0; (p = map_each(&applier->cache->profiles, &at));)
                if (p->valid && (p->spec->apply.mode == APPLY_IN_PLACE ||
                                 (p->spec->apply.mode == APPLY_ON_DEPLOY && p->spec->apply.guard.enabled)))
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
        struct call call = {.method = HTTP_GET, .path = "/api/v1", .body_max = 1 << 20};
        applier->resize_asking = true;
        applier->resize_asked = now;
        client_start(applier->client, &call, resize_discovered, applier);
}

/* --- what is set --- */

static void resize_note_change(char *note, size_t size, const char *container, enum resource r, int64_t from,
                               int64_t to)
{
        char before[QUANTITY_TEXT_MAX], after[QUANTITY_TEXT_MAX];
        size_t at = strlen(note);
        snprintf(note + at, size - at, "%s%s %s %s -> %s", at ? ", " : "", container, resource_name(r),
                 amount_print(r, from, before), amount_print(r, to, after));
}

/* What stands of a container from now on: the step, or what stood before; the original is no setting. */
static struct amount setting_of(const struct plan_container *c, enum resource r)
{
        const struct gate_verdict *g = &c->advice.gate[r];
        struct amount set = g->hold ? c->facts.current[r] : (struct amount){true, g->value};
        set.set = set.set && c->facts.original[r].set && set.value < c->facts.original[r].value;
        return set;
}

static json_t *resize_settings(const struct plan *p, char *note, size_t size)
{
        json_t *list = json_array();
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                json_t *row = json_pack("{s:s}", "name", c->name);
                for (enum resource r = CPU; r < RESOURCES && c->role != ROLE_INJECTED; r++) {
                        struct amount set = setting_of(c, r);
                        amount_put(row, resource_name(r), r, set);
                        if (!c->advice.gate[r].hold && c->facts.current[r].set)
                                resize_note_change(note, size, c->name, r, c->facts.current[r].value,
                                                   c->advice.gate[r].value);
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
        char note[512] = "";
        AUTO(json_decref) json_t *list = resize_settings(p, note, sizeof note);
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
        report_event(applier->report, t, false, "Applied", note);
        log_info("requests set", KV("namespace", t->ns), KV("kind", t->kind), KV("name", t->name), KV("change", note),
                 KV_INT("cycle", report_cycle(applier->report)));
}

/* --- one pod --- */

struct wanted {
        const char *container; /* interned */
        struct amount to[RESOURCES];
};

struct resize {
        struct applier *applier;
        struct target *target;
        char *key, *path; /* of the pod */
        uint8_t uid[UID_BYTES];
        struct wanted *wanted;
        int wants, steps;
        bool raises, resized, told;
        bool stays_raised;   /* until the next setting, though nothing of it may be ours */
        bool by_subresource; /* what is under way */
        int64_t raised_ms;   /* when; 0: never */
        int64_t set_ms;      /* of the setting */
        char note[512];
};

static void resize_free(struct resize *z)
{
        for (int i = 0; i < z->wants; i++)
                intern_drop(z->applier->cache->names, z->wanted[i].container);
        mem_free(z->wanted);
        mem_free(z->key);
        mem_free(z->path);
        mem_free(z);
}

static struct pod *pod_of(const struct resize *z)
{
        struct pod *p = map_get(&z->applier->cache->pods, text_of(z->key));
        return p && memcmp(p->uid, z->uid, UID_BYTES) == 0 ? p : NULL;
}

/* The target goes on with its other pods, unless the server is away. */
static void resize_end(struct resize *z, const struct err *err, int64_t retry_after_ms)
{
        struct applier *applier = z->applier;
        struct target *t = z->target;
        resize_free(z);
        work_done(applier, t, err, retry_after_ms);
}

/* What is kept of the pod, about this setting; NULL: it is gone. */
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
                report_event(applier->report, t, true, "Denied", text);
}

/* It is going, or gone: until the watch tells it, it is not asked for again and again. */
static void resize_missed(struct resize *z)
{
        struct pod *p = pod_of(z);
        if (p)
                pod_resize_after(p, mono_after(loop_now(z->applier->loop).mono, AGAIN_LEAST_MS));
        resize_end(z, &(struct err){0}, 0);
}

static void resize_put_off(struct resize *z, struct resizing *kept, const char *why)
{
        resizing_failed(kept);
        resizing_refused(kept, mono_after(loop_now(z->applier->loop).mono, again_ms(kept->failures)), why);
}

/* A server that went back to a version without it; of a pod that is gone it says the name. */
static bool is_unserved(const struct resize *z, struct text body)
{
        AUTO(json_decref) json_t *said = z->by_subresource ? json_loadb(body.p, body.len, 0, NULL) : NULL;
        return z->by_subresource && !json_object_get(json_object_get(said, "details"), "name");
}

/* It was taken, and is not there: somebody changes it as it comes. Or it is written all the time. */
static void resize_stands_not(struct resize *z)
{
        struct err err = {0};
        struct resizing *kept = z->resized ? kept_of(z) : NULL;
        if (kept)
                resize_put_off(z, kept, "what is written does not stand: somebody changes it as it comes");
        else
                err_set(&err, ERR_STALE, "pod '%s' changes all the time", z->key);
        resize_end(z, &err, 0);
}

/* Refused is the pod, by a quota, a LimitRange, an admission or a rule that is missing: the others have their turn. */
static void resize_refused(struct resize *z, const struct client_answer *answer)
{
        struct applier *applier = z->applier;
        struct target *t = z->target;
        struct resizing *kept = kept_of(z);
        const struct err *err = &answer->err;
        if (err->code == ERR_STALE && z->steps < STEPS_MOST) { /* its kubelet wrote meanwhile */
                resize_read(z);
                return;
        }
        if (err->code == ERR_RETRY || err->code == ERR_STALE) {
                resize_end(z, err, answer->retry_after_ms);
                return;
        }
        if (err->code == ERR_NOTFOUND) {
                if (is_unserved(z, answer->body))
                        applier->cache->resize = RESIZE_UNASKED;
                resize_missed(z);
                return;
        }
        if (kept) {
                const char *said = strstr(err->text, "HTTP "); /* which pod and how is told beside it */
                resize_put_off(z, kept, said ? said : err->text);
                applier->count.resizes_refused++;
                report_refusal(applier->report,
                               &(struct refused){"Pod", t->ns, strchr(z->key, '/') + 1, t->recommendation}, err);
                if (err->code == ERR_DENIED)
                        resize_deny(applier, t, err->text);
        }
        resize_end(z, &(struct err){0}, 0);
}

/* --- what the pod itself says --- */

/* Was the request written through the subresource by somebody else? */
static bool is_foreign(const json_t *pod, const char *container, enum resource r)
{
        AUTO(mem_free) char *key = mem_printf("k:{\"name\":\"%s\"}", container);
        AUTO(mem_free) char *field = mem_printf("f:%s", resource_name(r));
        static const char *const lists[] = {"f:containers", "f:initContainers"};
        size_t i;
        json_t *entry;
        json_array_foreach(json_object_get(json_object_get(pod, "metadata"), "managedFields"), i, entry)
        {
                const char *sub = json_string_value(json_object_get(entry, "subresource"));
                const char *manager = json_string_value(json_object_get(entry, "manager"));
                const json_t *spec = json_object_get(json_object_get(entry, "fieldsV1"), "f:spec");
                if (!sub || strcmp(sub, "resize") != 0 || !manager || strcmp(manager, FIELD_MANAGER) == 0)
                        continue;
                for (size_t l = 0; l < 2; l++) {
                        const json_t *of = json_object_get(json_object_get(spec, lists[l]), key);
                        const json_t *requests = json_object_get(json_object_get(of, "f:resources"), "f:requests");
                        if (json_object_get(requests, field))
                                return true;
                }
        }
        return false;
}

static const struct wanted *wanted_of(const struct resize *z, struct text container)
{
        for (int i = 0; i < z->wants; i++)
                if (text_is(container, z->wanted[i].container))
                        return &z->wanted[i];
        return NULL;
}

/* What is wanted of the pod as it was read, less what somebody else set; *ret_foreign: there is such. */
static struct resize_container *resize_containers_of(const struct resize *z, const struct pod_view *v, struct text body,
                                                     bool *ret_foreign)
{
        AUTO(json_decref) json_t *pod = json_loadb(body.p, body.len, 0, NULL);
        struct resize_container *c = arena_new(&z->applier->plans, ((size_t)v->containers + 1) * sizeof *c);
        for (int i = 0; i < v->containers; i++) {
                const struct wanted *want = wanted_of(z, v->container[i].name);
                c[i] = (struct resize_container){.role = v->container[i].role};
                memcpy(c[i].request, v->container[i].request, sizeof c[i].request);
                memcpy(c[i].limit, v->container[i].limit, sizeof c[i].limit);
                memcpy(c[i].restarts, v->container[i].restarts, sizeof c[i].restarts);
                for (enum resource r = CPU; want && r < RESOURCES; r++) {
                        if (!want->to[r].set || c[i].request[r].value == want->to[r].value)
                                continue;
                        if (is_foreign(pod, want->container, r))
                                *ret_foreign = true;
                        else
                                c[i].want[r] = want->to[r];
                }
        }
        return c;
}

/* --- what is recorded on the pod --- */

struct remembered { /* by the pod's own annotation */
        struct recorded row[VIEW_CONTAINERS];
        size_t rows;
};

static int resize_remember(void *arg, const struct recorded *row)
{
        struct remembered *to = arg;
        if (to->rows < VIEW_CONTAINERS)
                to->row[to->rows++] = *row;
        return 0;
}

static const struct recorded *resize_recorded_of(const struct remembered *all, struct text container)
{
        for (size_t i = 0; i < all->rows; i++)
                if (text_equal(all->row[i].container, container))
                        return &all->row[i];
        return NULL;
}

/* The request before ours, as the pod records it, else as it is: it was its template's until now. */
static struct recorded resize_original_of(const struct remembered *originals, const struct container_view *v)
{
        const struct recorded *known = resize_recorded_of(originals, v->name);
        struct recorded row = {.container = v->name};
        if (known)
                return *known;
        memcpy(row.request, v->request, sizeof row.request);
        memcpy(row.limit, v->limit, sizeof row.limit);
        return row;
}

static bool resize_is_lowered(const struct recorded *original, enum resource r, struct amount to)
{
        struct amount was = original->request[r].set ? original->request[r] : original->limit[r];
        return to.set && was.set && to.value < was.value;
}

struct notes {
        const char *original, *applied, *raised; /* in the arena; NULL: none */
};

static const char *resize_printed(struct arena *a, const struct recorded *row, size_t rows)
{
        AUTO(mem_free) char *text = record_print(row, rows);
        return text ? arena_text(a, text_of(text)) : NULL;
}

static const char *resize_kept(struct arena *a, struct text annotation)
{
        return annotation.len ? arena_text(a, annotation) : NULL;
}

/* That it was raised is recorded also where the raise reached the original and nothing of it is ours any more: else the
 * next pass would lower it again. */
static const char *raised_note(const struct resize *z, bool ours)
{
        char time[WALL_TEXT_MAX];
        if (!z->raised_ms || (!ours && !z->stays_raised))
                return NULL;
        return arena_text(&z->applier->plans, text_of(wall_print((struct wall){z->raised_ms}, time)));
}

/* Of what the pod asks for once it is resized, what is ours. ERR_INVALID: a record of ours cannot be read. */
static int notes_after(const struct resize *z, const struct pod_view *v, const struct resize_container *c,
                       struct notes *ret, struct err *err)
{
        struct arena *a = &z->applier->plans;
        struct remembered *originals = arena_new(a, sizeof *originals);
        struct recorded *original = arena_new(a, ((size_t)v->containers + 1) * sizeof *original);
        struct recorded *applied = arena_new(a, ((size_t)v->containers + 1) * sizeof *applied);
        const struct our_annotations *ours = &v->meta.annotation;
        size_t rows = 0;
        if (ours->original.len && record_read(ours->original, a, resize_remember, originals, err) < 0)
                return ERR_INVALID;
        for (int i = 0; i < v->containers; i++) {
                if (c[i].role == ROLE_INIT)
                        continue;
                original[rows] = resize_original_of(originals, &v->container[i]);
                applied[rows] = (struct recorded){.container = v->container[i].name};
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        struct amount after = c[i].to[r].set ? c[i].to[r] : c[i].request[r];
                        if (resize_is_lowered(&original[rows], r, after))
                                applied[rows].request[r] = after;
                }
                rows += applied[rows].request[CPU].set || applied[rows].request[MEMORY].set;
        }
        *ret = (struct notes){resize_printed(a, original, rows), resize_printed(a, applied, rows),
                              raised_note(z, rows > 0)};
        return 0;
}

/* What is to be recorded before the requests are written: never less than what is ours as long as it is. */
static struct notes notes_before(const struct resize *z, const struct our_annotations *ours, const struct notes *after)
{
        struct arena *a = &z->applier->plans;
        if (after->applied)
                return *after;
        return (struct notes){resize_kept(a, ours->original), resize_kept(a, ours->applied), raised_note(z, true)};
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

static struct patch_resources patch_of(const struct resize *z, const struct pod_view *v, struct text body,
                                       const struct notes *n)
{
        const struct profile *profile = z->target->profile;
        return (struct patch_resources){
                .template_path = "",
                .object = body,
                .version = arena_text(&z->applier->plans, v->meta.version),
                .original = n->original,
                .applied = n->applied,
                .basis = n->applied ? BASIS_REQUEST : NULL,
                .basis_stands = profile && apply_policy_owns_no_basis(&profile->spec->apply),
                .raised = n->raised,
                .deploys = true,
        };
}

/* The annotations alone; NULL: they say so already. */
static json_t *resize_annotations(const struct resize *z, const struct pod_view *v, struct text body,
                                  const struct notes *n, struct err *err)
{
        struct patch_resources want = patch_of(z, v, body, n);
        json_t *patch = patch_build(&want, err);
        if (patch && json_array_size(patch) > 1) /* more than the test of the version */
                return patch;
        json_decref(patch);
        return NULL;
}

/* The requests alone. */
static json_t *resize_requests(struct resize *z, const struct pod_view *v, struct text body,
                               const struct resize_container *c, struct err *err)
{
        struct arena *a = &z->applier->plans;
        const struct our_annotations *ours = &v->meta.annotation;
        struct notes stand = {resize_kept(a, ours->original), resize_kept(a, ours->applied),
                              resize_kept(a, ours->raised)};
        struct patch_resources want = patch_of(z, v, body, &stand);
        struct patch_container *pc = arena_new(a, ((size_t)v->containers + 1) * sizeof *pc);
        z->note[0] = '\0';
        for (int i = 0; i < v->containers; i++) {
                struct patch_container *to = &pc[want.containers];
                *to = (struct patch_container){.name = arena_text(a, v->container[i].name)};
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        to->write[r] = c[i].to[r].set;
                        to->to[r] = c[i].to[r];
                        if (to->write[r])
                                resize_note_change(z->note, sizeof z->note, to->name, r, c[i].request[r].value,
                                                   c[i].to[r].value);
                }
                want.containers += to->write[CPU] || to->write[MEMORY];
        }
        want.container = pc;
        want.basis = resize_kept(a, ours->basis);
        want.raised = stand.raised;
        return patch_build(&want, err);
}

/* As soon as the server has it: what is still to be recorded may take another pass. */
static void tell_resized(struct resize *z)
{
        struct applier *applier = z->applier;
        struct target *t = z->target;
        z->told = true;
        applier->count.resizes++;
        applier->count.raises += z->raises;
        (void)target_set_denied(t, NULL);
        log_info(z->raises ? "pod raised" : "pod resized", KV("pod", z->key), KV("change", z->note),
                 KV_INT("cycle", report_cycle(applier->report)));
        if (!z->raises)
                return;
        AUTO(mem_free)
        char *note = mem_printf("pod %s uses more than it asks for: %s", strchr(z->key, '/') + 1, z->note);
        report_event(applier->report, t, false, "Raised", note);
}

/* The pod has what it is to have, or (why not NULL) stays as it is until the next setting. */
static void resize_done(struct resize *z, const char *why)
{
        struct pod *p = pod_of(z);
        struct resizing *kept = p && (why || p->resizing) ? kept_of(z) : NULL;
        if (kept) {
                resizing_done(p, why != NULL);
                resizing_raised(p);
        }
        if (why)
                log_info("a pod is left as it is", KV("pod", z->key), KV("why", why));
        resize_end(z, &(struct err){0}, 0);
}

/* A pod of its own is its own template: what it asks for and what it records are taken in together, by the watch. */
static void pod_knows(struct resize *z, const struct pod_view *v)
{
        struct pod *p = z->target->dimension == DIMENSION_WORKLOAD ? pod_of(z) : NULL;
        if (!p)
                return;
        pod_set_requests(p, v);
        pod_set_raised(p, v->meta.annotation.raised);
        pod_remember(z->applier->cache, p, v->meta.annotation.original);
}

/* One step: annotations before what they record, requests, and no annotations once nothing is ours. */
static void resize_step(struct resize *z, const struct pod_view *v, struct text body)
{
        struct err err = {0};
        struct notes after;
        bool foreign = false;
        struct resize_container *c = resize_containers_of(z, v, body, &foreign);
        enum resize_verdict verdict = resize_judge(c, (size_t)v->containers);
        if (z->resized && !z->told && verdict == RESIZE_STANDS && !foreign)
                tell_resized(z);
        if (verdict == RESIZE_QOS || verdict == RESIZE_RESTARTS || (foreign && verdict == RESIZE_STANDS)) {
                resize_done(z, foreign ? "somebody else resized it" : "its class or a restart is in the way");
                return;
        }
        if (notes_after(z, v, c, &after, &err) < 0) {
                resize_done(z, err.text);
                return;
        }
        const struct notes before = notes_before(z, &v->meta.annotation, &after);
        json_t *notes = resize_annotations(z, v, body, verdict == RESIZE_WRITES ? &before : &after, &err);
        if (notes) {
                resize_send(z, "", notes);
                return;
        }
        if (err.code == 0 && verdict == RESIZE_WRITES) {
                json_t *patch = resize_requests(z, v, body, c, &err);
                if (patch) {
                        z->resized = true;
                        resize_send(z, "/resize", patch);
                        return;
                }
        }
        if (err.code != 0)
                resize_end(z, &err, 0);
        else
                resize_done(z, NULL);
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
        z->wanted = mem_new_array((size_t)p->containers + 1, sizeof *z->wanted);
        for (int i = 0; i < p->containers; i++)
                for (int k = 0; k < pod->containers; k++) {
                        bool other = false;
                        if (pod->container[k].name != p->container[i].name)
                                continue;
                        struct wanted *w = &z->wanted[z->wants++];
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
                .path = path_of("", "v1", pod->ns, "pods", pod->name, NULL),
                .raises = p->resize.raises,
                .stays_raised = p->resize.raises || (!p->guarded && resize_is_raised(p, pod)),
                .raised_ms = p->resize.raises ? loop_now(applier->loop).wall.ms
                             : pod->resizing  ? pod->resizing->raised_ms
                                              : 0,
                .set_ms = resize_set_ms(p),
        };
        memcpy(z->uid, pod->uid, UID_BYTES);
        resize_take_wanted(z, p, pod);
        resize_read(z);
}
