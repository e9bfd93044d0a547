/*
 * What a profile's own status says: how many targets it has, what they save, and what is in its way.
 */
#include <stdio.h>
#include <string.h>

#include "applier_private.h"
#include "base/utf8.h"
#include "base/yaml.h"
#include "core/quantity.h"

enum { SAVING_STEP_PERCENT = 5 };

static json_t *profile_status_condition(const char *type, bool status, const char *reason, const char *message,
                                        int64_t since_ms, int64_t generation)
{
        char time[WALL_TEXT_MAX];
        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "type", type, "status", status ? "True" : "False", "reason",
                         reason, "message", message, "lastTransitionTime", wall_print((struct wall){since_ms}, time),
                         "observedGeneration", (json_int_t)generation);
}

struct verdict {
        bool ready, degraded;
        const char *ready_reason, *degraded_reason;
        char ready_message[512], degraded_message[512];
};

/* A kind that it names and the server lacks; NULL: none. */
static const struct watched_kind *missing_kind(struct applier *applier, const struct profile *p)
{
        for (int i = 0; i < p->spec->targets; i++) {
                struct text group, version;
                key_split(text_of(p->spec->target[i].api_version), &group, &version);
                const struct watched_kind *k = kind_watched(applier->cache, group, text_of(p->spec->target[i].kind));
                if (k->missing)
                        return k;
        }
        return NULL;
}

static void profile_status_judge(struct applier *applier, const struct profile *p, struct verdict *v)
{
        const struct watched_kind *missing = missing_kind(applier, p);
        const char *blind = applier->options.blind(applier->options.arg);
        *v = (struct verdict){
                .ready = !p->error, .ready_reason = p->error ? "Invalid" : "Accepted", .degraded_reason = "AsExpected"};
        if (p->error)
                snprintf(v->ready_message, sizeof v->ready_message, "%s", p->error);
        else if (p->overridden > 0 && p->by)
                snprintf(v->ready_message, sizeof v->ready_message,
                         "%lld of the workloads it selects: another profile comes before it, %s '%s%s%s'",
                         (long long)p->overridden, profile_kind(p->by), p->by->ns ? p->by->ns : "",
                         p->by->ns ? "/" : "", p->by->name);
        if (report_usage_source(applier->report)->away) {
                v->degraded_reason = "UsageUnavailable";
                snprintf(v->degraded_message, sizeof v->degraded_message, "%s",
                         report_usage_source(applier->report)->error);
        } else if (blind) {
                v->degraded_reason = "CannotSee";
                snprintf(v->degraded_message, sizeof v->degraded_message, "nothing is applied: %.400s", blind);
        } else if (fuse_blown(applier->safety)) {
                v->degraded_reason = "Fuse";
                snprintf(v->degraded_message, sizeof v->degraded_message,
                         "nothing new is applied until halflife resume --fuse: %.400s", fuse_blown(applier->safety));
        } else if (p->trouble) {
                v->degraded_reason = "UnknownTimeZone";
                snprintf(v->degraded_message, sizeof v->degraded_message, "%s", p->trouble);
        } else if (missing) {
                v->degraded_reason = "KindNotFound";
                snprintf(v->degraded_message, sizeof v->degraded_message,
                         "the server has no kind %s in group '%s': install it, or take it out of targets",
                         missing->kind, missing->group);
        } else {
                const struct watch_health *failing = report_failing_watch(applier->report);
                if (failing) {
                        v->degraded_reason = "CannotSee";
                        snprintf(v->degraded_message, sizeof v->degraded_message, "%s: %.400s", failing->what,
                                 failing->trouble);
                }
        }
        v->degraded = v->degraded_message[0] != '\0';
        utf8_mend(v->ready_message);
        utf8_mend(v->degraded_message);
}

static bool far_apart(int64_t a, int64_t b)
{
        __int128 apart = (__int128)a - b;
        if (apart < 0)
                apart = -apart;
        return apart * 100 > (__int128)(a > b ? a : b) * SAVING_STEP_PERCENT;
}

/* At once when counts or conditions change; when only the saving moves, by more than a twentieth and as seldom as a
 * Recommendation. */
static bool profile_status_due(const struct applier *applier, const struct profile *p, uint64_t digest)
{
        int64_t passed = loop_now(applier->loop).wall.ms - p->written_ms;
        if (digest != p->written)
                return true;
        return (passed >= applier->live->status_ms || passed < 0) &&
               (far_apart(p->saving[CPU], p->saving_written[CPU]) ||
                far_apart(p->saving[MEMORY], p->saving_written[MEMORY]));
}

struct profile_status {
        struct applier *applier;
        char *key;
        uint64_t digest;
};

/* Tried again next cycle, not at each pass. */
static void profile_status_refused(struct applier *applier, struct profile *p, const struct err *err)
{
        p->retry_ms = loop_now(applier->loop).wall.ms + applier->live->interval_ms;
        p->refused = true;
        report_refusal(applier->report, &(struct refused){profile_kind(p), p->ns, p->name, NULL}, err);
}

static void profile_status_written(void *arg, const struct client_answer *a)
{
        struct profile_status *s = arg;
        struct profile *p = map_get(&s->applier->cache->profiles, text_of(s->key));
        leadership_write_ended(s->applier->leadership);
        if (p) {
                p->busy = false;
                if (a->err.code == 0) {
                        p->refused = false;
                        p->written = s->digest;
                        p->written_ms = loop_now(s->applier->loop).wall.ms;
                        memcpy(p->saving_written, p->saving, sizeof p->saving);
                } else {
                        profile_status_refused(s->applier, p, &a->err);
                }
        }
        mem_free(s->key);
        mem_free(s);
}

static json_t *profile_status_canary_json(const struct profile *p)
{
        const struct canary_tally *t = &p->canary;
        return json_pack("{s:I, s:I, s:I, s:I, s:b}", "workloads", (json_int_t)t->workloads, "changed",
                         (json_int_t)t->changed, "passed", (json_int_t)t->stood, "reverted", (json_int_t)t->taken_back,
                         "complete", !p->canary_closed);
}

static void profile_status_send(struct applier *applier, struct profile *p, const struct verdict *v, uint64_t digest)
{
        char cpu[QUANTITY_TEXT_MAX], memory[QUANTITY_TEXT_MAX];
        json_t *conditions = json_array();
        json_array_append_new(conditions, profile_status_condition("Ready", v->ready, v->ready_reason, v->ready_message,
                                                                   p->ready_since_ms, p->generation));
        json_array_append_new(conditions,
                              profile_status_condition("Degraded", v->degraded, v->degraded_reason, v->degraded_message,
                                                       p->degraded_since_ms, p->generation));
        json_t *status = json_pack("{s:I, s:{s:I, s:I, s:I}, s:{s:s, s:s}, s:o}", "observedGeneration",
                                   (json_int_t)p->generation, "targets", "matched", (json_int_t)p->matched, "ready",
                                   (json_int_t)p->ready, "applied", (json_int_t)p->applied, "saving", "cpu",
                                   quantity_print_cpu(p->saving[CPU], cpu), "memory",
                                   quantity_print_memory(p->saving[MEMORY], memory), "conditions", conditions);
        if (canary_among(p))
                json_object_set_new(status, "canary", profile_status_canary_json(p));
        json_t *body = json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "halflife.dev/v1alpha1", "kind",
                                 profile_kind(p), "metadata", "name", p->name, "status", status);
        struct profile_status *s = MEM_NEW(struct profile_status);
        *s = (struct profile_status){applier, mem_string(p->key), digest};
        char *path =
                path_of("halflife.dev", "v1alpha1", p->ns, p->ns ? "profiles" : "clusterprofiles", p->name, "status");
        p->busy = true;
        leadership_write_begun(applier->leadership);
        apply_send(applier->client, path, body, profile_status_written, s);
        mem_free(path);
        json_decref(body);
}

static void profile_status_turn(bool now, bool *was, int64_t *since_ms, int64_t at_ms)
{
        if (now == *was && *since_ms)
                return;
        *was = now;
        *since_ms = at_ms;
}

void profile_status_forget(struct applier *applier)
{
        struct profile *p;
        for (size_t at = 0; (p = map_each(&applier->cache->profiles, &at));)
                p->written = 0;
}

void profile_status_publish(struct applier *applier)
{
        struct profile *p;
        int64_t now = loop_now(applier->loop).wall.ms;
        for (size_t at = 0; may_write(applier->leadership) && (p = map_each(&applier->cache->profiles, &at));) {
                struct verdict v;
                if (p->busy || (p->refused && now < p->retry_ms && p->retry_ms - now <= applier->live->interval_ms))
                        continue;
                profile_status_judge(applier, p, &v);
                profile_status_turn(v.ready, &p->was_ready, &p->ready_since_ms, now);
                profile_status_turn(v.degraded, &p->was_degraded, &p->degraded_since_ms, now);
                int64_t counts[] = {p->matched,           p->ready,          p->applied,
                                    p->generation,        v.ready,           v.degraded,
                                    p->canary.workloads,  p->canary.changed, p->canary.stood,
                                    p->canary.taken_back, p->canary_closed};
                uint64_t digest = digest_bytes(0, counts, sizeof counts);
                digest = digest_bytes(digest, v.ready_message, strlen(v.ready_message) + 1);
                digest = digest_bytes(digest, v.degraded_message, strlen(v.degraded_message) + 1);
                if (profile_status_due(applier, p, digest))
                        profile_status_send(applier, p, &v, digest);
        }
}
