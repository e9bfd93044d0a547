/*
 * Changes a workload's template: reads it, decides again by what was read, and patches the template if its version is
 * still the same. Then it reads the server's answer, because admission may have changed the patch.
 */
#include <stdio.h>
#include <string.h>

#include "applier_private.h"
#include "base/yaml.h"
#include "cache/apply_state.h"
#include "cache/change_log.h"
#include "plan/admission_message.h"

struct applying {
        struct applier *applier;
        struct target *target;
        char *path;
        const char *template_path;
        uint32_t events;    /* the workload's watch events before halflife's request, to tell which is newer */
        json_t *containers; /* the applied requests, for status.applied.containers */
        struct sent {
                char *container; /* the container's name, copied: the workload may lose it meanwhile */
                bool write[RESOURCES];
                struct amount to[RESOURCES], from[RESOURCES];
                enum reason why[RESOURCES];
        } * sent;
        int sents;
        char note[512];
        char *payer; /* key of the profile whose budget was charged */
        int64_t cost;
        struct guard_state *before; /* the pods before the change, for the guard; NULL: the patch was not sent yet */
};

static void applying_free(struct applying *a)
{
        json_decref(a->containers);
        for (int i = 0; i < a->sents; i++)
                mem_free(a->sent[i].container);
        mem_free(a->sent);
        mem_free(a->path);
        mem_free(a->payer);
        guard_state_free(a->before);
        mem_free(a);
}

static void applying_end(struct applying *a, const struct err *err, int64_t retry_after_ms)
{
        struct applier *applier = a->applier;
        struct target *t = a->target;
        applying_free(a);
        work_done(applier, t, err, retry_after_ms);
}

/* --- annotations --- */

/* Whether the container's request will be halflife's after this patch: written by it, or before. */
static bool is_ours_after(const struct plan_container *c, enum resource r)
{
        bool put_back = c->facts.original[r].set && c->advice.gate[r].value >= c->facts.original[r].value;
        return c->advice.gate[r].hold ? c->ours[r] : !put_back;
}

static char *annotation_original(const struct plan *p, struct arena *a)
{
        struct recorded *row = arena_new(a, (size_t)(p->containers + 1) * sizeof *row);
        size_t rows = 0;
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                if (!is_ours_after(c, CPU) && !is_ours_after(c, MEMORY))
                        continue;
                row[rows].container = text_of(c->name);
                memcpy(row[rows].request, c->raw, sizeof c->raw);
                memcpy(row[rows++].limit, c->raw_limit, sizeof c->raw_limit);
        }
        return record_print(row, rows);
}

static char *annotation_applied(const struct plan *p, struct arena *a)
{
        struct recorded *row = arena_new(a, (size_t)(p->containers + 1) * sizeof *row);
        size_t rows = 0;
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                struct recorded of = {.container = text_of(c->name)};
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (is_ours_after(c, r))
                                of.request[r] = c->advice.gate[r].hold ? c->facts.current[r]
                                                                       : (struct amount){true, c->advice.gate[r].value};
                if (of.request[CPU].set || of.request[MEMORY].set)
                        row[rows++] = of;
        }
        return record_print(row, rows);
}

/* --- the patch --- */

/* The request to write: the new step, or the owner's own request if the original comes back. Unset: remove the
 * request. */
static struct amount to_write(const struct plan_container *c, enum resource r)
{
        int64_t value = c->advice.gate[r].value;
        if (c->facts.original[r].set && value >= c->facts.original[r].value)
                return c->raw[r];
        return (struct amount){true, value};
}

static void apply_note_change(struct applying *a, const struct plan_container *c, enum resource r, struct amount to)
{
        char from[QUANTITY_TEXT_MAX] = "none", into[QUANTITY_TEXT_MAX] = "none";
        size_t at = strlen(a->note);
        struct amount current = c->facts.current[r];
        if (current.set)
                amount_print(r, current.value, from);
        if (to.set)
                amount_print(r, to.value, into);
        snprintf(a->note + at, sizeof a->note - at, "%s%s %s %s -> %s", at ? ", " : "", c->name, resource_name(r), from,
                 into);
}

static void applied_row(struct applying *a, const struct plan_container *c)
{
        json_t *row = json_pack("{s:s}", "name", c->name);
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (is_ours_after(c, r))
                        amount_put(row, resource_name(r), r,
                                   c->advice.gate[r].hold ? c->facts.current[r] : to_write(c, r));
        if (json_object_size(row) > 1)
                json_array_append_new(a->containers, row);
        else
                json_decref(row);
}

static void apply_collect(struct applying *a, const struct plan *p)
{
        a->containers = json_array();
        a->sent = mem_new_array((size_t)p->containers + 1, sizeof *a->sent);
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                struct sent s = {0};
                if (c->role == ROLE_INJECTED)
                        continue;
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        s.write[r] = !c->advice.gate[r].hold;
                        if (!s.write[r])
                                continue;
                        s.to[r] = to_write(c, r);
                        s.from[r] = c->facts.current[r];
                        s.why[r] = c->advice.reason[r];
                        apply_note_change(a, c, r, s.to[r]);
                }
                applied_row(a, c);
                if (!s.write[CPU] && !s.write[MEMORY])
                        continue;
                s.container = mem_string(c->name);
                a->sent[a->sents++] = s;
        }
}

static json_t *apply_build(struct applying *a, const struct plan *p, struct text object, const char *version,
                           struct err *err)
{
        struct patch_container *pc = arena_new(&a->applier->plans, sizeof *pc * (size_t)(a->sents + 1));
        for (int i = 0; i < a->sents; i++) {
                pc[i].name = a->sent[i].container;
                memcpy(pc[i].write, a->sent[i].write, sizeof pc[i].write);
                memcpy(pc[i].to, a->sent[i].to, sizeof pc[i].to);
        }
        AUTO(mem_free) char *original = annotation_original(p, &a->applier->plans);
        AUTO(mem_free) char *applied = annotation_applied(p, &a->applier->plans);
        struct patch_resources want = {
                .template_path = p->target->workload->kind->template_path,
                .object = object,
                .version = version,
                .container = pc,
                .containers = a->sents,
                .original = applied ? original : NULL,
                .applied = applied,
                .basis = applied ? BASIS_REQUEST : NULL,
                .basis_stands = p->target->profile && apply_policy_owns_no_basis(&p->target->profile->spec->apply),
        };
        return patch_build(&want, err);
}

/* --- after the patch --- */

static const struct container_view *apply_answered(const struct workload_view *v, const char *name)
{
        for (int i = 0; i < v->containers; i++)
                if (text_is(v->container[i].name, name))
                        return &v->container[i];
        return NULL;
}

static bool came_back_other(const struct sent *s, const struct container_view *got, enum resource r)
{
        return s->write[r] && !amount_equal(got->request[r], s->to[r]);
}

/* The requests as sent, beside those in the server's answer. A request that halflife did not write counts as sent as it
 * came back. */
static struct admission_answer apply_compare(const struct sent *s, const struct container_view *got)
{
        struct admission_answer a = {.container = s->container};
        for (enum resource r = CPU; r < RESOURCES; r++) {
                a.sent[r] = s->write[r] ? s->to[r] : got->request[r];
                a.got[r] = got->request[r];
                a.limit[r] = got->limit[r];
        }
        return a;
}

/*
 * Find requests that admission changed, by the server's answer to the patch: the cache may have a later change by the
 * owner. Returns the requests of each container with a changed one, as they are now, in the form of halflife's
 * annotations; requests that admission removed are absent. ret_what describes the first change. NULL: nothing was
 * changed.
 */
static char *find_changed(const struct applying *a, const struct workload_view *v, char ret_what[static PLAN_WORDS])
{
        AUTO(json_decref) json_t *all = json_object();
        struct admission_answer answer[VIEW_CONTAINERS];
        int answers = 0;
        for (int i = 0; i < a->sents && answers < VIEW_CONTAINERS; i++) {
                const struct sent *s = &a->sent[i];
                const struct container_view *got = apply_answered(v, s->container);
                if (!got)
                        continue;
                answer[answers++] = apply_compare(s, got);
                if (!(came_back_other(s, got, CPU) || came_back_other(s, got, MEMORY)))
                        continue;
                json_t *requests = json_object();
                for (enum resource r = CPU; r < RESOURCES; r++)
                        amount_put(requests, resource_name(r), r, got->request[r]);
                json_object_set_new(all, s->container, json_pack("{s:o}", "requests", requests));
        }
        if (!admission_message(answer, answers, ret_what))
                return NULL;
        char *dumped = json_dumps(all, JSON_COMPACT), *text = mem_string(dumped);
        free(dumped);
        return text;
}

static void apply_log(const struct applying *a)
{
        struct wall now = loop_now(a->applier->loop).wall;
        for (int i = 0; i < a->sents; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        const struct sent *s = &a->sent[i];
                        const struct change c = {.kind = CHANGE_APPLIED,
                                                 .container = s->container,
                                                 .resource = r,
                                                 .from = status_amount_of(s->from[r]),
                                                 .to = status_amount_of(s->to[r]),
                                                 .by = CHANGE_BY_HALFLIFE,
                                                 .reason = s->why[r] ? reason_name(s->why[r]) : ""};
                        if (s->write[r])
                                change_log_add(a->applier->cache, a->target, now, &c);
                }
}

static void apply_remember(struct applying *a, struct text answer, const char *admitted)
{
        struct target *t = a->target;
        apply_state_changed(t, loop_now(a->applier->loop).wall, template_fingerprint(answer, a->template_path));
        target_set_admitted(a->applier->cache, t, admitted);
        target_set_applied(a->applier->cache, t, json_dumps(a->containers, JSON_SORT_KEYS | JSON_COMPACT), false);
        guard_changed(t, STEAL(&a->before), loop_now(a->applier->loop).wall);
        a->applier->count.applied++;
        bookkeeping_count(a->applier->cache, t, LEDGER_CHANGE);
        apply_log(a);
}

static void apply_refused(struct applying *a, const struct client_answer *answer)
{
        struct target *t = a->target;
        if (answer->err.code != ERR_RETRY) /* without an answer from the server, the change may have been made */
                budget_refund(a->applier->safety, t, a->payer, a->cost);
        if (work_contested(a->applier, t, &answer->err)) {
                applying_end(a, &(struct err){0}, 0);
                return;
        }
        if (answer->err.code == ERR_DENIED && target_set_denied(t, answer->err.text))
                notice_event(a->applier->notices, t, true, "Denied", answer->err.text);
        applying_end(a, &answer->err, answer->retry_after_ms);
}

static void apply_patched(void *arg, const struct client_answer *answer)
{
        struct applying *a = arg;
        struct applier *applier = a->applier;
        struct target *t = a->target;
        if (answer->err.code != 0) {
                apply_refused(a, answer);
                return;
        }
        char changed[PLAN_WORDS] = "";
        struct err err = {0};
        const struct workload *wl = t->workload;
        struct workload_view *view = arena_new(&applier->plans, sizeof *view);
        AUTO(mem_free) char *admitted = NULL;
        if (decode_workload(answer->body, a->template_path, applier->cache->field_manager, &applier->plans, view,
                            &err) == 0)
                admitted = find_changed(a, view, changed);
        arena_reset(&applier->plans);
        if (wl)
                (void)workload_answer(applier->cache, wl->kind, answer->body, wl->epoch, a->events, &err);
        apply_remember(a, answer->body, admitted);
        (void)target_set_denied(t, NULL);
        if (changed[0]) {
                conflict_changed(applier->safety, t, changed);
                notice_event(applier->notices, t, true, "Contested", changed);
        } else {
                checkpointer_apply_state(applier->checkpointer, t);
                notice_event(applier->notices, t, false, "Applied", a->note);
        }
        log_info("requests changed", KV("namespace", t->ns), KV("kind", t->kind), KV("name", t->name),
                 KV("change", a->note), KV_INT("cycle", notice_cycle(applier->notices)));
        applying_end(a, &(struct err){0}, 0);
}

/* Decide again with the template as just read, so that only changes that are still due are written. */
static void apply_fetched(void *arg, const struct client_answer *answer)
{
        struct applying *a = arg;
        struct applier *applier = a->applier;
        struct target *t = a->target;
        struct err err = answer->err;
        struct object_view view = {0};
        if (err.code == 0 && !t->workload)
                err_set(&err, ERR_NOTFOUND, "%s '%s' is gone", t->kind, t->name);
        if (err.code == 0)
                err.code = workload_answer(applier->cache, t->workload->kind, answer->body, t->workload->epoch,
                                           a->events, &err);
        if (err.code == 0 && t->workload->gone)
                err_set(&err, ERR_NOTFOUND, "%s '%s' was deleted and created again", t->kind, t->name);
        if (err.code == 0)
                err.code = decode_object(answer->body, &applier->plans, &view, &err);
        if (err.code != 0) {
                applying_end(a, &err, answer->retry_after_ms);
                return;
        }
        struct plan plan;
        applier_decide(applier, t, &plan);
        conflict_watch(applier->safety, t, &plan); /* somebody's reset may be read here before the watch delivers it */
        if (t->apply_state.contested_ms > plan.now.ms && !plan.contested)
                applier_decide(applier, t, &plan);
        if (!plan.apply || plan_retunes(&plan) || !may_write(applier->leadership)) {
                applying_end(a, &(struct err){0}, 0);
                return;
        }
        apply_collect(a, &plan);
        json_t *patch = apply_build(a, &plan, answer->body, arena_text(&applier->plans, view.version), &err);
        if (patch && json_array_size(patch) == 0)
                err_set(&err, ERR_STALE, "the patch of %s '%s' would change nothing", t->kind, t->name);
        if (err.code != 0) {
                json_decref(patch);
                applying_end(a, &err, 0);
                return;
        }
        a->payer = mem_string(t->profile ? t->profile->key : "");
        a->cost = budget_spend(applier->safety, &plan);
        a->before = guard_state_survey(t);
        patch_send(applier->client, a->path, patch, false, apply_patched, a);
        json_decref(patch);
        arena_reset(&applier->plans);
}

void apply_plan(struct applier *applier, const struct plan *p)
{
        const struct target *t = p->target;
        struct applying *a = MEM_NEW(struct applying);
        a->applier = applier;
        a->target = p->target;
        a->events = t->workload->events;
        a->template_path = t->workload->kind->template_path;
        a->path = path_of(t->group, t->version, t->ns, t->workload->kind->plural, t->name, NULL);
        struct call call = {.method = HTTP_GET, .path = a->path};
        client_start(applier->client, &call, apply_fetched, a);
}
