/*
 * Writes the status of a profile: how many targets it has, what they save, and what keeps the profile from working.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "applier_private.h"
#include "base/utf8.h"
#include "base/yaml.h"
#include "cache/profile_fuse.h"
#include "core/quantity.h"
#include "kube/known_resource.h"

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
        char ready_message[512], degraded_message[PROFILE_DEGRADED_MAX];
};

static void profile_status_judge(const struct applier *applier, const struct profile *p, struct verdict *v)
{
        *v = (struct verdict){.ready = !p->error, .ready_reason = p->error ? "Invalid" : "Accepted"};
        if (p->error)
                snprintf(v->ready_message, sizeof v->ready_message, "%s", p->error);
        else if (p->overridden > 0 && p->by)
                snprintf(v->ready_message, sizeof v->ready_message,
                         "another profile, which comes before it, has %lld of its workloads: %s '%s%s%s'",
                         (long long)p->overridden, profile_kind(p->by), p->by->ns ? p->by->ns : "",
                         p->by->ns ? "/" : "", p->by->name);
        v->degraded_reason = profile_degraded(applier, p, v->degraded_message);
        v->degraded = v->degraded_reason != NULL;
        if (!v->degraded)
                v->degraded_reason = "AsExpected";
        utf8_repair(v->ready_message);
        utf8_repair(v->degraded_message);
}

static bool far_apart(int64_t a, int64_t b)
{
        __int128 apart = (__int128)a - b;
        if (apart < 0)
                apart = -apart;
        return apart * 100 > (__int128)(a > b ? a : b) * SAVING_STEP_PERCENT;
}

/* Whether the saving alone is reason to write the status: it must differ by more than SAVING_STEP_PERCENT, and
 * status_ms must have passed since the last write. Changed counts and conditions are written at once. */
static bool profile_saving_due(const struct applier *applier, const struct profile *p)
{
        int64_t passed = loop_now(applier->loop).wall.ms - p->written_ms;
        return (passed >= applier->live->status_ms || passed < 0) &&
               (far_apart(p->saving[CPU], p->saving_written[CPU]) ||
                far_apart(p->saving[MEMORY], p->saving_written[MEMORY]));
}

/* A profile's place in the queue of status writes. key: the profile's. */
struct profile_turn {
        char *key;
        const void *tenant; /* the profile's namespace (NULL: ClusterProfile); only compared: it may be freed by now */
};

struct profile_status {
        struct applier *applier;
        struct profile_turn *turn;
        uint64_t digest, facts;
};

/* Put off the next try to write the profile's status for one interval, so that not every pass repeats it. */
static void profile_status_refused(struct applier *applier, struct profile *p, const struct err *err)
{
        profile_write_refused(p, loop_now(applier->loop).wall.ms + applier->live->interval_ms);
        notice_refusal(applier->notices, &(struct refused){profile_kind(p), p->ns, p->name, NULL}, err);
}

static void profile_turn_end(struct applier *applier, struct profile_turn *turn)
{
        queue_done(applier->statuses.queue, turn);
        map_drop(&applier->statuses.of, text_of(turn->key));
        mem_free(turn->key);
        mem_free(turn);
}

static void profile_status_pump(struct applier *applier);

static void profile_status_written(void *arg, const struct client_answer *a)
{
        struct profile_status *s = arg;
        struct applier *applier = s->applier;
        struct profile *p = map_get(&applier->cache->profiles, text_of(s->turn->key));
        leadership_write_ended(applier->leadership);
        if (p) {
                profile_set_busy(p, false);
                if (a->err.code == 0)
                        profile_written(p, s->digest, s->facts, loop_now(applier->loop).wall);
                else
                        profile_status_refused(applier, p, &a->err);
        }
        profile_turn_end(applier, s->turn);
        mem_free(s);
        profile_status_pump(applier);
}

/* `open` is the former name of `complete`, still written because replicas of the previous version read it. */
static json_t *profile_status_canary_json(const struct profile *p)
{
        const struct canary_tally *t = &p->canary;
        return json_pack("{s:I, s:I, s:I, s:I, s:b, s:b}", "workloads", (json_int_t)t->workloads, "changed",
                         (json_int_t)t->changed, "passed", (json_int_t)t->passed, "reverted", (json_int_t)t->reverted,
                         "complete", !p->canary_closed, "open", !p->canary_closed);
}

static uint64_t profile_fuses_digest(const struct profile *p, uint64_t digest)
{
        AUTO(json_decref) json_t *fuses = profile_fuses_json(p);
        char *text = fuses ? json_dumps(fuses, JSON_COMPACT) : NULL;
        if (text)
                digest = digest_bytes(digest, text, strlen(text));
        free(text);
        return digest;
}

static void profile_status_send(struct applier *applier, struct profile *p, const struct verdict *v,
                                const struct profile_status *write)
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
        json_object_set_new(status, "fuses", profile_fuses_json(p)); /* NULL (no blown fuse) sets nothing */
        if (canary_among(p))
                json_object_set_new(status, "canary", profile_status_canary_json(p));
        json_t *body = json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", OWN_API_VERSION, "kind", profile_kind(p),
                                 "metadata", "name", p->name, "status", status);
        struct profile_status *s = MEM_NEW(struct profile_status);
        *s = *write;
        char *path = known_resource_path(p->ns ? KNOWN_PROFILES : KNOWN_CLUSTERPROFILES, p->ns, p->name, "status");
        profile_set_busy(p, true);
        leadership_write_begun(applier->leadership);
        apply_send(applier->client, path, body, profile_status_written, s);
        mem_free(path);
        json_decref(body);
}

void profile_status_forget(struct applier *applier)
{
        struct profile *p;
        for (size_t at = 0; (p = map_each(&applier->cache->profiles, &at));)
                profile_forget_written(p);
}

static uint64_t profile_digest_text(uint64_t digest, const char *text)
{
        return digest_bytes(digest, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* What a profile's status says of a kind that it names, as bits; without the message. */
static unsigned char kind_facts(const struct watched_kind *k)
{
        enum { BEYOND = 1, UNPLACED = 2, FAILS = 4, STATE = 8 };
        if (!k)
                return BEYOND;
        return (unsigned char)((k->unplaced ? UNPLACED : 0) | (k->informer && k->trouble->code ? FAILS : 0) |
                               STATE * (int)k->lookup.state);
}

/* Digest of the facts of the cluster on which the status of every profile depends. */
static uint64_t cluster_facts(const struct applier *applier)
{
        const struct usage_source_state *source = notice_usage_source(applier->notices);
        const struct watch_health *failing = notice_failing_watch(applier->notices);
        uint64_t digest = profile_digest_text(0, source->away ? source->error : NULL);
        digest = profile_digest_text(digest, applier->options.blind(applier->options.arg));
        digest = profile_digest_text(digest, fuse_blown(applier->safety));
        digest = profile_digest_text(digest, failing ? failing->what : NULL);
        digest = profile_digest_text(digest, failing ? failing->trouble.text : NULL);
        for (const struct watched_kind *k = applier->cache->kinds; k; k = k->next) {
                unsigned char of_kind = kind_facts(k);
                if (k->built_in)
                        digest = digest_bytes(digest, &of_kind, sizeof of_kind);
        }
        return digest;
}

/* Add a profile's counts to the digest of its status: when they change, the status is written at once. */
static uint64_t profile_counts_digest(uint64_t digest, const struct profile *p)
{
        int64_t counts[] = {p->matched,          p->ready,          p->applied,       p->generation,
                            p->canary.workloads, p->canary.changed, p->canary.passed, p->canary.reverted,
                            p->canary_closed};
        return digest_bytes(digest, counts, sizeof counts);
}

/* Digest of all facts on which this profile's status depends, with those of the cluster; never 0. While it is as at the
 * last write, the status need not be made again. */
static uint64_t profile_facts(const struct profile *p, uint64_t of_cluster)
{
        const struct profile_fuse *f;
        const char *by = p->overridden && p->by ? p->by->key : NULL;
        struct {
                int64_t of_cluster, counts[11], texts;
                unsigned char of_kind[PROFILE_TARGETS];
        } facts = {(int64_t)of_cluster,
                   {p->matched, p->ready, p->applied, p->generation, p->created_ms, p->overridden, p->canary.workloads,
                    p->canary.changed, p->canary.passed * 2 + p->canary_closed, p->canary.reverted, p->left_out},
                   0,
                   {0}};
        uint64_t texts = by || p->error || p->trouble ? profile_digest_text(0, by) : 0;
        if (texts)
                texts = profile_digest_text(profile_digest_text(texts, p->error), p->trouble);
        for (size_t at = 0; (f = map_each(&p->fuses, &at));)
                texts = profile_digest_text(digest_bytes(texts, &f->blown_ms, sizeof f->blown_ms), f->why);
        facts.texts = (int64_t)texts;
        for (int i = 0; i < p->nameds; i++)
                facts.of_kind[i] = kind_facts(p->named[i].kind);
        uint64_t digest = map_hash((struct text){(const char *)&facts, sizeof facts});
        return digest ? digest : 1;
}

/* Make the profile's status, and begin to write it if it differs from the last one. Returns whether a write has
 * begun. */
static bool profile_status_consider(struct applier *applier, struct profile *p, struct profile_turn *turn,
                                    uint64_t of_cluster)
{
        struct verdict v;
        struct wall now = loop_now(applier->loop).wall;
        uint64_t facts = profile_facts(p, of_cluster);
        bool saving_due = profile_saving_due(applier, p);
        if (facts == p->written_facts && !saving_due)
                return false;
        profile_status_judge(applier, p, &v);
        profile_set_conditions(p, v.ready, v.degraded, now);
        uint64_t digest = profile_counts_digest(0, p);
        digest = profile_digest_text(digest, v.ready_message);
        digest = profile_digest_text(digest, v.degraded_message);
        digest = profile_fuses_digest(p, digest);
        if (digest == p->written && !saving_due) {
                profile_set_written_facts(p, facts);
                return false;
        }
        profile_status_send(applier, p, &v, &(struct profile_status){applier, turn, digest, facts});
        return true;
}

/* --- whose turn it is --- */

/* Whether the profile must wait for its write: one is under way, or the last was refused and retry_ms is to come. A
 * retry_ms far ahead, from before the clock was set back, does not count. */
static bool profile_status_waits(const struct applier *applier, const struct profile *p)
{
        int64_t wait_ms = p->retry_ms - loop_now(applier->loop).wall.ms;
        return p->busy || (p->refused && wait_ms > 0 && wait_ms <= applier->live->interval_ms);
}

static const void *profile_turn_tenant(const void *turn)
{
        return ((const struct profile_turn *)turn)->tenant;
}

/* Namespaces take turns, so that a namespace with thousands of profiles keeps no other waiting, nor does one whose
 * writes the API server takes slowly. */
void profile_turns_init(struct profile_turns *turns)
{
        enum { TURNS_MAX = 1 << 20 };
        turns->queue = queue_new(TURNS_MAX, SECOND_MS, SECOND_MS, profile_turn_tenant);
        queue_set_places(turns->queue, PROFILE_WRITES_AT_ONCE);
}

void profile_turns_release(struct profile_turns *turns)
{
        struct profile_turn *turn;
        for (size_t at = 0; (turn = map_each(&turns->of, &at));) {
                mem_free(turn->key);
                mem_free(turn);
        }
        map_release(&turns->of);
        queue_free(turns->queue);
}

static void profile_status_add_due(struct applier *applier, const struct profile_list *list, uint64_t of_cluster)
{
        struct profile_turns *turns = &applier->statuses;
        for (size_t i = 0; i < list->count; i++) {
                const struct profile *p = list->of[i];
                if (profile_status_waits(applier, p) ||
                    (profile_facts(p, of_cluster) == p->written_facts && !profile_saving_due(applier, p)) ||
                    map_get(&turns->of, text_of(p->key)))
                        continue;
                struct profile_turn *turn = MEM_NEW(struct profile_turn);
                *turn = (struct profile_turn){mem_string(p->key), p->ns};
                map_put(&turns->of, text_of(turn->key), turn);
                if (queue_add(turns->queue, turn) < 0)
                        profile_turn_end(applier, turn); /* the queue is full: the next pass adds the profile */
        }
}

/* Begin as many status writes as may be under way at once. */
static void profile_status_pump(struct applier *applier)
{
        struct profile_turn *turn;
        uint64_t of_cluster = cluster_facts(applier);
        while (may_write(applier->leadership) &&
               (turn = queue_take(applier->statuses.queue, loop_now(applier->loop).mono))) {
                struct profile *p = map_get(&applier->cache->profiles, text_of(turn->key));
                if (!p || profile_status_waits(applier, p) || !profile_status_consider(applier, p, turn, of_cluster))
                        profile_turn_end(applier, turn);
        }
}

void profile_status_publish(struct applier *applier)
{
        const struct ns *ns;
        struct cache *cache = applier->cache;
        uint64_t of_cluster = cluster_facts(applier);
        if (!may_write(applier->leadership))
                return;
        profile_status_add_due(applier, &cache->of_cluster, of_cluster);
        for (size_t at = 0; (ns = map_each(&cache->namespaces, &at));)
                profile_status_add_due(applier, &ns->profiles, of_cluster);
        profile_status_pump(applier);
}
