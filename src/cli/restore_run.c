/*
 * Restores the targets, a bounded number at a time. Each target is a small state machine, which polls the API server
 * once a second. A step that may still succeed is tried again until the workload has made no progress for the timeout.
 * After the first failure no other target begins.
 */
#include "restore.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "base/yaml.h"

enum { LOOK_MS = 1000 };
#define JSON_PATCH  "application/json-patch+json"
#define MERGE_PATCH "application/merge-patch+json"

/* --- HTTP requests --- */

static char *restore_ask(struct restoring *r, struct call *call, struct err *err)
{
        char *body = NULL;
        size_t len;
        call->deadline_ms = 10 * SECOND_MS;
        return client_wait(r->session.client, call, &body, &len, err) < 0 ? NULL : body;
}

char *restore_get(struct restoring *r, const char *path, struct err *err)
{
        return restore_ask(r, &(struct call){.method = HTTP_GET, .path = path}, err);
}

char *restore_patch(struct restoring *r, const char *path, const char *type, json_t *patch, struct err *err)
{
        AUTO(mem_free) char *query = mem_printf("fieldManager=%s", client_field_manager(r->session.client));
        char *text = json_dumps(patch, JSON_COMPACT);
        char *answer = restore_ask(r,
                                   &(struct call){.method = HTTP_PATCH,
                                                  .path = path,
                                                  .query = query,
                                                  .content_type = type,
                                                  .body = text_of(text)},
                                   err);
        free(text);
        return answer;
}

char *restore_path(const struct restore_target *t)
{
        const struct api_resource *k = &t->kind->is;
        return path_of(k->group, k->version, t->ns, k->plural, t->name, NULL);
}

/* --- results of targets --- */

void restore_add(char **to, const char *fmt, ...)
{
        char line[1024];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(line, sizeof line, fmt, ap);
        va_end(ap);
        utf8_repair(line);
        AUTO(mem_free) char *before = *to;
        *to = mem_printf("%s%s%s", before ? before : "", before ? "; " : "", line);
}

void restore_end(struct restore_target *t, enum restore_result result)
{
        t->step = STEP_END;
        t->result = result;
}

void restore_fail(struct restore_target *t, const char *fmt, ...)
{
        char line[ERR_TEXT_MAX + 512];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(line, sizeof line, fmt, ap);
        va_end(ap);
        utf8_repair(line);
        mem_free(t->why);
        t->why = mem_string(line);
        restore_end(t, RESULT_FAILED);
}

bool restore_troubled(struct restore_target *t, const struct err *err, const char *what)
{
        t->trouble = *err;
        err_wrap(&t->trouble, "%s", what);
        if (err->code == ERR_RETRY || err->code == ERR_STALE)
                return false;
        restore_fail(t, "%s", t->trouble.text);
        return true;
}

static bool restore_go(struct restore_target *t, enum restore_step step)
{
        t->step = step;
        t->trouble = (struct err){0};
        t->next_pod = 0;
        return true;
}

/* --- autoscalers --- */

static bool step_scaler(struct restoring *r, struct restore_target *t)
{
        if (t->next_pod == t->scalers)
                return restore_go(t, STEP_TEMPLATE);
        const struct restore_scaler *scaler = &t->scaler[t->next_pod];
        AUTO(mem_free) char *what = mem_printf("%s '%s'", scaler->word, scaler->name);
        struct restore did = {0};
        struct err err = {0};
        json_t *patch = NULL;
        AUTO(mem_free) char *text = restore_get(r, scaler->path, &err);
        if (text && restore_autoscaler(text_of(text), scaler->triggers, &did, &patch, &err) == 0 && patch &&
            !r->dry_run)
                mem_free(restore_patch(r, scaler->path, JSON_PATCH, patch, &err));
        json_decref(patch);
        if (err.code && err.code != ERR_NOTFOUND)
                return restore_troubled(t, &err, what);
        if (did.back > 0)
                restore_add(&t->changes, "%s %s", what, did.changes);
        if (did.stand > 0)
                restore_add(&t->left, "%s %s: its owner's value stands", what, did.stands);
        t->next_pod++;
        return true;
}

/* --- the template --- */

static void note_template(struct restore_target *t, const struct restore *did)
{
        if (did->back > 0 && !strstr(t->changes ? t->changes : "", did->changes))
                restore_add(&t->changes, "%s", did->changes);
        if (did->stand > 0)
                restore_add(&t->left, "%s: its owner's value stands", did->stands);
}

/* Whether the server stored the template as it was sent. An admission webhook that does not know of the hold yet may
 * have set halflife's values again. */
static bool is_back(struct restore_target *t, const char *answer)
{
        struct restore left = {0};
        struct err err = {0};
        json_t *patch = NULL;
        bool back = restore_template(text_of(answer), t->kind->template_path, t->admitted, &left, &patch, &err) == 0 &&
                    !patch;
        json_decref(patch);
        if (!back)
                err_set(&t->trouble, ERR_RETRY, "admission set it again (%s): has halflife seen the hold?",
                        left.changes);
        return back;
}

static bool step_template(struct restoring *r, struct restore_target *t)
{
        AUTO(mem_free) char *path = restore_path(t);
        struct restore did;
        struct err err = {0};
        json_t *patch = NULL;
        if (!t->carries)
                return restore_go(t, t->rolling ? STEP_ROLLOUT : STEP_PODS);
        AUTO(mem_free) char *text = restore_get(r, path, &err);
        if (!text && err.code == ERR_NOTFOUND)
                return restore_go(t, STEP_PODS); /* the workload was deleted meanwhile; its pods may still run */
        if (!text || restore_template(text_of(text), t->kind->template_path, t->admitted, &did, &patch, &err) < 0)
                return restore_troubled(t, &err, "its template");
        if (!patch || r->dry_run) {
                note_template(t, &did);
                json_decref(patch);
                return restore_go(t, t->rolling && !r->dry_run ? STEP_ROLLOUT : STEP_PODS);
        }
        AUTO(mem_free) char *answer = restore_patch(r, path, JSON_PATCH, patch, &err);
        json_decref(patch);
        if (!answer)
                return restore_troubled(t, &err, "its template");
        if (!is_back(t, answer))
                return false;
        note_template(t, &did);
        return restore_go(t, STEP_ROLLOUT);
}

/* --- the rollout --- */

/* The state of a workload's rollout, without what keeps halflife from starting a rollout (Recreate, a deadline), since
 * pods follow a begun one anyway. */
struct rollout restore_rollout(const struct restore_kind *k, const struct workload_view *v)
{
        unsigned flags = k->row ? k->row->flags : 0;
        return (struct rollout){
                .generation = v->meta.generation,
                .observed = v->observed_generation,
                .wanted = v->replicas,
                .pods = v->status_replicas,
                .updated = v->updated,
                .available = v->available,
                .told = k->row != NULL,
                .none = flags & (KIND_BY_RUNS | KIND_IMMUTABLE),
                .phase = flags & KIND_PHASED ? rollout_phase_read(v->phase) : ROLLOUT_PHASE_NONE,
                .paused = v->paused,
                .on_delete = v->on_delete,
                .partition = v->partition,
        };
}

const char *restore_stands_still(const struct rollout *r)
{
        static const char *const text[ROLLOUT_BLOCKS] = {
                [ROLLOUT_PAUSED] = "its rollout is paused: its pods follow when the rollout resumes",
                [ROLLOUT_ON_DELETE] = "its strategy is OnDelete: its pods follow as they are deleted",
                [ROLLOUT_PARTITION] = "its rollout stops at a partition: the pods below the partition keep their "
                                      "values",
        };
        return text[rollout_block(r)];
}

static bool restore_moved(struct restore_target *t, const struct workload_view *v)
{
        const int64_t seen[3] = {v->updated, v->available, v->status_replicas};
        bool further = memcmp(seen, t->seen, sizeof seen) != 0;
        memcpy(t->seen, seen, sizeof seen);
        return further;
}

static bool judge_rollout(struct restore_target *t, const struct workload_view *v)
{
        const struct rollout roll = restore_rollout(t->kind, v);
        const char *still = restore_stands_still(&roll);
        if (still)
                restore_add(&t->left, "%s", still);
        if (still || rollout_is_done(&roll))
                return restore_go(t, STEP_PODS);
        err_set(&t->trouble, ERR_RETRY, "%lld of %lld pods are new, %lld are available", (long long)v->updated,
                (long long)v->replicas, (long long)v->available);
        return restore_moved(t, v);
}

static bool step_rollout(struct restoring *r, struct restore_target *t)
{
        AUTO(mem_free) char *path = restore_path(t);
        struct err err = {0};
        AUTO(mem_free) char *text = restore_get(r, path, &err);
        if (!text && err.code == ERR_NOTFOUND)
                return restore_go(t, STEP_PODS);
        if (!text)
                return restore_troubled(t, &err, "its rollout");
        struct arena arena = {0};
        struct workload_view *v = arena_new(&arena, sizeof *v);
        int rc = decode_workload(text_of(text), t->kind->template_path, FIELD_MANAGER, &arena, v, &err);
        bool further = rc < 0 ? restore_troubled(t, &err, "its rollout") : judge_rollout(t, v);
        arena_release(&arena);
        return further;
}

/* Whether the workload has a pod template. One of a custom kind may have none. */
static bool has_template(const char *text)
{
        AUTO(json_decref) json_t *object = json_loads(text, 0, NULL);
        const json_t *template = json_object_get(json_object_get(object, "spec"), "template");
        return json_is_object(json_object_get(template, "spec"));
}

void restore_restarted(struct restore_target *t)
{
        t->restarted = true;
        mem_free(t->left);
        t->left = NULL;
        restore_add(&t->changes, "restarted");
}

/* Restart the rollout by kubectl's own annotation, as kubectl rollout restart does. */
static bool step_restart(struct restoring *r, struct restore_target *t)
{
        char now[WALL_TEXT_MAX];
        AUTO(mem_free) char *path = restore_path(t);
        AUTO(json_decref)
        json_t *body = json_pack("{s:{s:{s:{s:{s:s}}}}}", "spec", "template", "metadata", "annotations",
                                 "kubectl.kubernetes.io/restartedAt", wall_print(now_read().wall, now));
        struct err err = {0};
        AUTO(mem_free) char *text = restore_get(r, path, &err);
        if (text && !has_template(text)) {
                restore_end(t, RESULT_LEFT);
                return true;
        }
        AUTO(mem_free) char *answer = text ? restore_patch(r, path, MERGE_PATCH, body, &err) : NULL;
        if (!answer)
                return restore_troubled(t, &err, "its restart");
        restore_restarted(t);
        return restore_go(t, STEP_ROLLOUT);
}

/* --- the loop --- */

static bool restore_step_next(struct restoring *r, struct restore_target *t)
{
        switch (t->step) {
        case STEP_SCALERS:
                return step_scaler(r, t);
        case STEP_TEMPLATE:
                return step_template(r, t);
        case STEP_ROLLOUT:
                return step_rollout(r, t);
        case STEP_PODS:
                return restore_step_pods(r, t);
        case STEP_VERDICT:
                return restore_step_verdict(r, t);
        case STEP_RESTART:
                return step_restart(r, t);
        case STEP_WAITING:
        case STEP_END:
                break;
        }
        return false;
}

static void time_out(struct restoring *r, struct restore_target *t)
{
        AUTO(mem_free) char *path = restore_path(t);
        struct err err = {0};
        AUTO(mem_free) char *text = restore_get(r, path, &err);
        AUTO(json_decref) json_t *object = text ? json_loads(text, 0, NULL) : NULL;
        AUTO(mem_free) char *explain_data = object ? restore_found_data(r, t, object) : NULL;
        restore_fail(t, "no progress for %lld s: %s%s%s", (long long)(r->timeout_ms / SECOND_MS), t->trouble.text,
                     explain_data ? ": " : "", explain_data ? explain_data : "");
}

static bool work_on(struct restoring *r, struct restore_target *t)
{
        bool further = restore_step_next(r, t);
        int64_t now = mono_read().ns;
        if (further)
                t->moved.ns = now;
        else if (t->step != STEP_END && (now - t->moved.ns) / 1000000 > r->timeout_ms)
                time_out(r, t);
        if (t->step == STEP_END) {
                r->stopped |= t->result == RESULT_FAILED;
                r->ended(r, t);
        }
        return further;
}

static void wait_fired(void *arg)
{
        *(bool *)arg = true;
}

static void restore_wait_a_little(struct restoring *r)
{
        struct loop_timer timer = {0};
        bool fired = false;
        loop_timer_set(r->session.loop, &timer, LOOK_MS, wait_fired, &fired);
        while (!fired && !r->interrupted)
                loop_turn(r->session.loop, -1);
        loop_timer_stop(r->session.loop, &timer);
}

/* Whether a target needs work: it carries halflife's values, or an earlier run left it in the middle of its rollout. */
static bool has_work(const struct restore_target *t)
{
        return restore_wanted(t) || t->rolling;
}

void restore_run(struct restoring *r)
{
        size_t begun = 0, first = 0;
        int under_way = 0;
        do {
                bool further = false;
                for (; begun < r->targets && under_way < r->budget && !r->stopped && !r->interrupted; begun++) {
                        struct restore_target *t = r->target[begun];
                        if (t->step == STEP_END)
                                continue;
                        if (!has_work(t)) {
                                restore_end(t, RESULT_UNCHANGED);
                                r->ended(r, t);
                                continue;
                        }
                        t->moved = mono_read();
                        (void)restore_go(t, STEP_SCALERS);
                        under_way++;
                }
                for (size_t i = first; i < begun && !r->interrupted; i++) {
                        struct restore_target *t = r->target[i];
                        if (t->step == STEP_WAITING || t->step == STEP_END) {
                                first += i == first;
                                continue;
                        }
                        further |= work_on(r, t);
                        under_way -= t->step == STEP_END;
                }
                r->looked(r);
                if (!further && under_way > 0 && !r->interrupted)
                        restore_wait_a_little(r);
        } while ((under_way > 0 || (begun < r->targets && !r->stopped)) && !r->interrupted);
}
