/*
 * Changes an autoscaler's utilization targets in the same steps as a template (template_write.c). Before the first
 * change, a dry run asks whether halflife may change them at all: a refusal after the requests were lowered would come
 * too late.
 */
#include <stdio.h>
#include <string.h>

#include "applier_private.h"
#include "base/yaml.h"

struct retuning {
        struct applier *applier;
        struct target *target;
        const struct autoscaler_kind *kind;
        char *key; /* key of the autoscaler */
        char *path;
        uint32_t events; /* the autoscaler's watch events before halflife's request, to tell which is newer */
        bool moves;      /* the patch changes a target; false: only the annotations */
        bool asks;       /* the patch is a dry run: it only asks whether halflife may change the targets */
        /* This is the first change of the autoscaler, or the one back to the original: an Event reports both. */
        bool first, last;
        char note[256];
};

static void retuning_end(struct retuning *r, const struct err *err, int64_t retry_after_ms)
{
        struct applier *applier = r->applier;
        struct target *t = r->target;
        mem_free(r->key);
        mem_free(r->path);
        mem_free(r);
        work_done(applier, t, err, retry_after_ms);
}

static struct autoscaler *autoscaler_of(const struct retuning *r)
{
        return map_get(&r->applier->cache->autoscalers, text_of(r->key));
}

/* --- the patch --- */

static void note_target(struct retuning *r, const struct autoscaler_metric *m, int64_t to)
{
        size_t at = strlen(r->note);
        snprintf(r->note + at, sizeof r->note - at, "%s%s%s%s target %lld -> %lld", at ? ", " : "",
                 m->container ? m->container : "", m->container ? " " : "", resource_name(m->resource),
                 (long long)m->percent, (long long)to);
}

static json_t *retune_build(struct retuning *r, const struct plan_autoscaler *p, struct text object,
                            const char *version, struct err *err)
{
        struct patch_target target[VIEW_METRICS];
        struct recorded_target original[VIEW_METRICS], applied[VIEW_METRICS];
        int targets = 0, records = 0;
        snprintf(r->note, sizeof r->note, "%s '%.100s'", p->of->kind->word, p->of->name);
        for (int i = 0; i < p->of->metrics; i++) {
                const struct autoscaler_metric *m = &p->of->metric[i];
                struct text container = text_of(m->container ? m->container : "");
                if (p->want[i] != m->percent) {
                        target[targets++] = (struct patch_target){i, m->source == METRIC_CONTAINER, p->want[i]};
                        note_target(r, m, p->want[i]);
                }
                if (!p->record[i] && !(r->asks && autoscaler_moves(m)))
                        continue;
                original[records] = (struct recorded_target){container, m->resource, autoscaler_origin(m).original};
                applied[records++] = (struct recorded_target){container, m->resource, p->want[i]};
        }
        r->moves = targets > 0;
        r->first = records && !p->of->records;
        r->last = !records && p->of->records;
        AUTO(mem_free)
        char *was = record_targets_print(original, records), *now = record_targets_print(applied, records);
        return patch_targets_build(
                &(struct patch_targets){object, version, p->of->kind->triggers, target, targets, was, now}, err);
}

/* --- after the patch --- */

static void retune_deny(struct retuning *r, struct autoscaler *s, const struct err *why)
{
        autoscaler_denied(s, loop_now(r->applier->loop).wall, why->text);
        if (work_contested(r->applier, r->target, why))
                return;
        log_warn("an autoscaler's targets cannot be changed: its workload's requests are left alone",
                 KV("namespace", s->ns), KV("name", s->name), KV("why", why->text));
}

static void retune_patched(void *arg, const struct client_answer *answer)
{
        struct retuning *r = arg;
        struct applier *applier = r->applier;
        struct autoscaler *s = autoscaler_of(r);
        struct err err = answer->err;
        if (s && (err.code == ERR_DENIED || err.code == ERR_INVALID)) {
                retune_deny(r, s, &err);
                err.code = 0; /* the Recommendation reports this refusal as a hold */
        } else if (s && err.code == 0) {
                autoscaler_permitted(s);
                if (!r->asks)
                        (void)autoscaler_answer(applier->cache, r->kind, answer->body, r->events, &err);
        }
        if (answer->err.code == 0 && !r->asks && r->moves) {
                applier->count.retuned++;
                if (r->first || r->last)
                        notice_event(applier->notices, r->target, false, r->first ? "Retuned" : "TargetRestored",
                                     r->note);
                log_info("an autoscaler's targets changed", KV("namespace", r->target->ns), KV("kind", r->target->kind),
                         KV("name", r->target->name), KV("change", r->note),
                         KV_INT("cycle", notice_cycle(applier->notices)));
        }
        retuning_end(r, &err, answer->retry_after_ms);
}

/* Decide again with the autoscaler as just read, so that only changes that are still due are written. */
static void retune_fetched(void *arg, const struct client_answer *answer)
{
        struct retuning *r = arg;
        struct applier *applier = r->applier;
        struct err err = answer->err;
        struct object_view view = {0};
        struct plan plan = {0};
        if (err.code == ERR_DENIED && autoscaler_of(r)) {
                retune_deny(r, autoscaler_of(r), &err);
                retuning_end(r, &(struct err){0}, 0);
                return;
        }
        if (err.code == 0 && !r->target->workload)
                err_set(&err, ERR_NOTFOUND, "%s '%s' is gone", r->target->kind, r->target->name);
        if (err.code == 0)
                err.code = autoscaler_answer(applier->cache, r->kind, answer->body, r->events, &err);
        if (err.code == 0)
                err.code = decode_object(answer->body, &applier->plans, &view, &err);
        if (err.code != 0) {
                retuning_end(r, &err, answer->retry_after_ms);
                return;
        }
        applier_decide(applier, r->target, &plan);
        const struct plan_autoscaler *due = plan_retunes(&plan);
        if (!due || due->of != autoscaler_of(r) || !may_write(applier->leadership)) {
                retuning_end(r, &err, 0);
                return;
        }
        r->asks = due->hold == AUTOSCALER_ASKING;
        AUTO(json_decref)
        json_t *patch = retune_build(r, due, answer->body, arena_text(&applier->plans, view.version), &err);
        if (patch && json_array_size(patch) == 0)
                err_set(&err, ERR_STALE, "the patch of %s '%s' would change nothing", due->of->kind->word,
                        due->of->name);
        if (err.code != 0)
                retuning_end(r, &err, 0);
        else
                patch_send(applier->client, r->path, patch, r->asks, retune_patched, r);
        arena_reset(&applier->plans);
}

void retune_plan(struct applier *applier, const struct plan *p)
{
        const struct autoscaler *s = plan_retunes(p)->of;
        struct retuning *r = MEM_NEW(struct retuning);
        r->applier = applier;
        r->target = p->target;
        r->key = mem_string(s->key);
        r->events = s->events;
        r->kind = s->kind;
        r->path = path_of(s->kind->group, s->kind->version, s->ns, s->kind->plural, s->name, NULL);
        client_start(applier->client, &(struct call){.method = HTTP_GET, .path = r->path}, retune_fetched, r);
}
