/*
 * The status of a Recommendation, and when it is worth writing.
 */
#include <string.h>

#include "base/yaml.h"
#include "cache/guard_state.h"
#include "cache/pod_canary.h"
#include "cache/status_digest.h"
#include "recommendation_status.h"

static void put_time(json_t *to, const char *key, int64_t ms)
{
        char text[WALL_TEXT_MAX];
        if (ms > 0)
                json_object_set_new(to, key, json_string(wall_print((struct wall){ms}, text)));
}

static const struct {
        const char *key;
        enum plan_amount which;
} fields[] = {
        {"original", PLAN_ORIGINAL}, {"current", PLAN_CURRENT}, {"model", PLAN_MODEL},
        {"target", PLAN_TARGET},     {"lower", PLAN_LOWER},     {"upper", PLAN_UPPER},
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static enum state container_state(const struct plan *p, const struct plan_container *c)
{
        return p->state == STATE_HELD ? STATE_HELD : c->facts.learned.state;
}

static json_t *container_json(const struct plan *p, const struct plan_container *c)
{
        json_t *to = json_object();
        json_object_set_new(to, "name", json_string(c->name));
        json_object_set_new(to, "state", json_string(state_name(container_state(p, c))));
        for (enum resource r = CPU; r < RESOURCES; r++) {
                json_t *of = json_object();
                for (int i = 0; i < FIELDS; i++)
                        amount_put(of, fields[i].key, r, plan_amount_of(c, r, fields[i].which));
                json_object_set_new(of, "reason", json_string(reason_name(c->advice.reason[r])));
                json_object_set_new(to, resource_name(r), of);
        }
        return to;
}

static json_t *pod_json(const struct plan *p)
{
        json_t *to = json_object();
        for (enum resource r = CPU; r < RESOURCES; r++) {
                json_t *of = json_object();
                for (int i = 0; i < FIELDS; i++)
                        amount_put(of, fields[i].key, r, plan_pod_amount(p, r, fields[i].which));
                json_object_set_new(to, resource_name(r), of);
        }
        return to;
}

static json_t *saving_json(const struct plan *p)
{
        json_t *to = json_object();
        for (enum resource r = CPU; r < RESOURCES; r++)
                amount_put(to, resource_name(r), r, (struct amount){true, plan_saving(p, r)});
        return to;
}

static json_t *quota_json(const struct plan *p)
{
        json_t *to = json_object();
        for (enum resource r = CPU; r < RESOURCES; r++) {
                if (!p->quota_hard[r].set)
                        continue;
                json_t *of = json_object();
                amount_put(of, "hard", r, p->quota_hard[r]);
                amount_put(of, "used", r, p->quota_used[r]);
                json_object_set_new(to, resource_name(r), of);
        }
        return to;
}

static bool carries_applied(const struct plan *p)
{
        return p->target->apply_state.changed_ms && p->target->apply_state.containers && p->carries;
}

static const char *applied_mode(const struct plan *p)
{
        const struct profile *by = p->target->profile;
        if (p->target->apply_state.in_place ||
            (by && by->spec->apply.mode == APPLY_IN_PLACE)) /* else of a rollout before */
                return apply_mode_writes(p->target->apply_state.in_place ? APPLY_IN_PLACE : APPLY_ROLLOUT);
        return by ? apply_mode_writes(by->spec->apply.mode) : NULL;
}

static json_t *applied_json(const struct plan *p)
{
        const struct apply_state *d = &p->target->apply_state;
        if (!carries_applied(p))
                return NULL;
        json_t *to = json_object(), *containers = json_loads(d->containers, 0, NULL);
        put_time(to, "time", d->changed_ms);
        if (applied_mode(p))
                json_object_set_new(to, "mode", json_string(applied_mode(p)));
        json_object_set_new(to, "containers", containers ? containers : json_array());
        return to;
}

static json_t *status_canary_json(const struct apply_state *d)
{
        json_t *to = json_object(), *rest = json_loads(d->pod_canary->containers, 0, NULL);
        put_time(to, "since", d->stood_ms);
        json_object_set_new(to, "rest", rest ? rest : json_array());
        return to;
}

static json_t *guard_json(const struct plan *p)
{
        const struct guard_state *g = p->target->apply_state.guard;
        json_t *to = json_pack("{s:s, s:s}", "cause", guard_cause_name(g->cause), "message", g->why ? g->why : "");
        put_time(to, "time", g->fired_ms);
        put_time(to, "until", g->until_ms);
        return to;
}

static int64_t transition_time(const struct plan *p, const struct plan_condition *c)
{
        const struct published *before = p->target->published;
        for (int i = 0; before && i < before->conditions; i++)
                if (strcmp(before->condition[i].type, c->type) == 0 && before->condition[i].status == c->status &&
                    before->condition[i].since_ms > 0)
                        return before->condition[i].since_ms;
        return p->now.ms;
}

static json_t *conditions_json(const struct plan *p)
{
        json_t *list = json_array();
        for (int i = 0; i < p->conditions; i++) {
                const struct plan_condition *c = &p->condition[i];
                json_t *to = json_object();
                json_object_set_new(to, "type", json_string(c->type));
                json_object_set_new(to, "status", json_string(c->status ? "True" : "False"));
                json_object_set_new(to, "reason", json_string(c->reason));
                json_object_set_new(to, "message", json_string(c->message));
                put_time(to, "lastTransitionTime", transition_time(p, c));
                json_array_append_new(list, to);
        }
        return list;
}

json_t *publish_build_status(const struct plan *p)
{
        json_t *status = json_object(), *containers = json_array();
        for (int i = 0; i < p->containers; i++)
                json_array_append_new(containers, container_json(p, &p->container[i]));
        json_object_set_new(status, "state", json_string(state_name(p->state)));
        json_object_set_new(status, "containers", containers);
        json_object_set_new(status, "pod", pod_json(p));
        json_object_set_new(status, "saving", saving_json(p));
        if (p->quota_hard[CPU].set || p->quota_hard[MEMORY].set)
                json_object_set_new(status, "quota", quota_json(p));
        put_time(status, "firstSample", p->since_ms);
        if (p->state != STATE_NO_DATA && p->state != STATE_LEARNING) { /* no target moves that would renew them */
                json_object_set_new(status, "samples", json_integer(p->samples));
                put_time(status, "lastSample", p->last_ms);
        }
        if (p->kills) {
                json_object_set_new(status, "oomKills", json_integer(p->kills));
                put_time(status, "lastOOMKill", p->target->kill_ms);
        }
        json_object_set_new(status, "confidencePercent", json_integer(p->confidence_percent));
        json_t *applied = applied_json(p);
        if (applied)
                json_object_set_new(status, "applied", applied);
        if (applied && p->target->apply_state.pod_canary)
                json_object_set_new(status, "canary", status_canary_json(&p->target->apply_state));
        if (p->guarded)
                json_object_set_new(status, "guard", guard_json(p));
        json_object_set_new(status, "conditions", conditions_json(p));
        return status;
}

json_t *publish_build_head(const struct target *t)
{
        json_t *labels = json_object();
        struct labels own = workload_own_labels(t->workload);
        for (size_t i = 0; i < own.count; i++) {
                char *key = mem_string_n(own.pair[i].key.p, own.pair[i].key.len);
                json_object_set_new(labels, key, json_stringn(own.pair[i].value.p, own.pair[i].value.len));
                mem_free(key);
        }
        char *api_version = *t->group ? mem_printf("%s/%s", t->group, t->version) : mem_string(t->version);
        json_t *head = json_pack("{s:s, s:s, s:{s:s, s:s, s:o}, s:{s:{s:s, s:s, s:s}, s:{s:s, s:s}, s:s}}",
                                 "apiVersion", "halflife.dev/v1alpha1", "kind", "Recommendation", "metadata", "name",
                                 t->recommendation, "namespace", t->ns, "labels", labels, "spec", "targetRef",
                                 "apiVersion", api_version, "kind", t->kind, "name", t->name, "profileRef", "kind",
                                 t->profile     ? profile_kind(t->profile)
                                 : t->published ? t->published->profile_kind
                                                : "",
                                 "name",
                                 t->profile     ? t->profile->name
                                 : t->published ? t->published->profile_name
                                                : "",
                                 "dimension", dimension_name(t->dimension));
        mem_free(api_version);
        return head;
}

/* --- the digest of what is to be written: status_digest.h feeds it and that of what was written alike --- */

static uint64_t digest_container(const struct plan *p, const struct plan_container *c)
{
        uint64_t digest = digest_feed(digest_feed(0, c->name), state_name(container_state(p, c)));
        for (enum resource r = CPU; r < RESOURCES; r++) {
                digest = digest_feed_amount(digest, r, c->facts.original[r]);
                digest = digest_feed_amount(digest, r, c->running[r]);
        }
        return digest;
}

static uint64_t feed_pod_canary(uint64_t digest, const struct apply_state *d)
{
        char text[WALL_TEXT_MAX];
        if (!d->pod_canary)
                return digest;
        digest = digest_feed(digest, d->stood_ms > 0 ? wall_print((struct wall){d->stood_ms}, text) : NULL);
        return digest_feed(digest, d->pod_canary->containers);
}

uint64_t publish_plan_digest(const struct plan *p)
{
        char text[WALL_TEXT_MAX];
        uint64_t digest = digest_feed(0, state_name(p->state)), conditions = 0, containers = 0;
        if (carries_applied(p)) {
                digest = digest_feed(digest, wall_print((struct wall){p->target->apply_state.changed_ms}, text));
                digest = digest_feed(digest_feed(digest, p->target->apply_state.containers), applied_mode(p));
                digest = feed_pod_canary(digest, &p->target->apply_state);
        }
        for (int i = 0; i < p->conditions; i++) {
                const struct plan_condition *c = &p->condition[i];
                conditions += digest_condition(c->type, c->status ? "True" : "False", c->reason, c->message);
        }
        for (int i = 0; i < p->containers; i++)
                containers += digest_container(p, &p->container[i]);
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (p->quota_hard[r].set)
                        digest = digest_feed_amount(digest, r, p->quota_hard[r]);
        if (p->kills)
                digest = digest_feed_sum(digest, (uint64_t)p->kills);
        return digest_feed_sum(digest_feed_sum(digest, conditions), containers);
}

/* --- when to write --- */

static int status_bucket_of(enum resource r, int64_t value)
{
        return histogram_bucket(r, r == CPU ? (double)value / 1000.0 : (double)value);
}

/* Has a target left the written one by more than one bucket? */
static bool target_left(const struct plan *p)
{
        const struct published *before = p->target->published;
        for (int i = 0; i < p->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        struct amount now = p->container[i].advice.of[r].target, then = {0};
                        for (int k = 0; k < before->rows; k++)
                                if (before->row[k].container == p->container[i].name)
                                        then = before->row[k].target[r];
                        if (now.set != then.set)
                                return true;
                        int apart = now.set ? status_bucket_of(r, now.value) - status_bucket_of(r, then.value) : 0;
                        if (apart > 1 || apart < -1)
                                return true;
                }
        return false;
}

static bool label_stands(const struct labels *there, struct label_pair want)
{
        for (size_t i = 0; i < there->count; i++)
                if (text_equal(there->pair[i].key, want.key))
                        return text_equal(there->pair[i].value, want.value);
        return false;
}

uint64_t publish_labels_digest(struct labels own)
{
        uint64_t sum = 1;
        for (size_t i = 0; i < own.count; i++)
                sum += digest_bytes(digest_bytes(0, own.pair[i].key.p, own.pair[i].key.len), own.pair[i].value.p,
                                    own.pair[i].value.len);
        return sum;
}

/* Others may label the object too: theirs are left alone. */
static bool head_stands(const struct target *t)
{
        const struct published *p = t->published;
        struct labels own = workload_own_labels(t->workload);
        if (!p || !p->known)
                return false;
        if (t->profile &&
            (strcmp(p->profile_name, t->profile->name) != 0 || strcmp(p->profile_kind, profile_kind(t->profile)) != 0))
                return false;
        if (p->labels_written && p->labels_written != publish_labels_digest(own))
                return false;
        for (size_t i = 0; i < own.count; i++)
                if (!label_stands(&p->labels, own.pair[i]))
                        return false;
        return true;
}

enum publish_need publish_needs(const struct plan *p, int64_t status_ms)
{
        const struct target *t = p->target;
        if (!head_stands(t))
                return PUBLISH_HEAD;
        if (t->published->urgent != publish_plan_digest(p))
                return PUBLISH_STATUS;
        bool due = p->now.ms - t->status_ms >= status_ms || p->now.ms < t->status_ms;
        return due && target_left(p) ? PUBLISH_STATUS : PUBLISH_NOTHING;
}
