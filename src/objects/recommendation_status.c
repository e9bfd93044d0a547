#include "objects/recommendation_status.h"

#include <stdlib.h>
#include <string.h>

#include "core/pod_request_sum.h"
#include "objects/decode.h"
#include "status_json.h"

static const struct {
        const char *key;
        size_t at;
} amounts[] = {
        {"original", offsetof(struct status_numbers, original)}, {"current", offsetof(struct status_numbers, current)},
        {"model", offsetof(struct status_numbers, model)},       {"target", offsetof(struct status_numbers, target)},
        {"lower", offsetof(struct status_numbers, lower)},       {"upper", offsetof(struct status_numbers, upper)},
};
enum { AMOUNTS = sizeof amounts / sizeof amounts[0] };

static const struct {
        const char *word;
        size_t at;
} facts[] = {
        {"Contested", offsetof(struct status_decision, contested)},
        {"Orphaned", offsetof(struct status_decision, orphaned)},
        {"OptedOut", offsetof(struct status_decision, opted_out)},
        {"OtherAutoscaler", offsetof(struct status_decision, other_autoscaler)},
        {"InPlaceOnly", offsetof(struct status_decision, in_place_only)},
        {"CanaryWaits", offsetof(struct status_decision, waits)},
        {"ProfileFuse", offsetof(struct status_decision, profile_fused)},
        {"NeverWritten", offsetof(struct status_decision, never_written)},
        {"StartsOriginal", offsetof(struct status_decision, starts_original)},
};
enum { FACTS = sizeof facts / sizeof facts[0] };

const char *status_fact_name(int i)
{
        return i < FACTS ? facts[i].word : NULL;
}

static struct amount status_amount_at(const struct status_numbers *n, int i)
{
        status_amount value;
        memcpy(&value, (const char *)n + amounts[i].at, sizeof value);
        return amount_of_status(value);
}

static void status_amount_put(struct status_numbers *n, int i, struct amount a)
{
        status_amount value = status_amount_of(a);
        memcpy((char *)n + amounts[i].at, &value, sizeof value);
}

enum state status_container_state(enum state whole, const struct status_container *c)
{
        return whole == STATE_HELD ? STATE_HELD : (enum state)c->state;
}

void status_pod_numbers(const struct status_container *c, size_t count, struct status_numbers ret[static RESOURCES])
{
        for (enum resource r = CPU; r < RESOURCES; r++) {
                ret[r] = (struct status_numbers){.applied = -1};
                for (int i = 0; i < AMOUNTS; i++) {
                        struct pod_sum sum = {0};
                        for (size_t k = 0; k < count; k++) {
                                struct amount a = status_amount_at(&c[k].of[r], i);
                                /* halflife learns nothing about init containers, so their original counts. */
                                if (!a.set && c[k].role == ROLE_INIT)
                                        a = amount_of_status(c[k].of[r].original);
                                pod_sum_add(&sum, c[k].role, a);
                        }
                        status_amount_put(&ret[r], i, pod_sum_total(&sum));
                }
        }
}

/* --- writing --- */

void status_write_resources(struct writer *w, const char *key, const struct status_numbers of[static RESOURCES])
{
        if (key)
                writer_open(w, key, '{');
        for (enum resource r = CPU; r < RESOURCES; r++) {
                writer_open(w, resource_name(r), '{');
                for (int i = 0; i < AMOUNTS; i++)
                        writer_amount(w, amounts[i].key, r, status_amount_at(&of[r], i));
                if (of[r].more)
                        writer_bool(w, "more", true);
                if (of[r].reason)
                        writer_text(w, "reason", text_of(reason_name((enum reason)of[r].reason)));
                writer_close(w, '}');
        }
        if (key)
                writer_close(w, '}');
}

void status_write_container(struct writer *w, enum state whole, const struct status_container *c,
                            const struct status_limits *limits, int at)
{
        writer_open(w, NULL, '{');
        writer_text(w, "name", text_of(c->name));
        writer_text(w, "state", text_of(state_name(status_container_state(whole, c))));
        status_write_resources(w, NULL, c->of);
        status_write_limits(w, limits, at);
        writer_close(w, '}');
}

void status_write_mode(struct writer *w, uint8_t mode)
{
        if (mode < APPLY_MODES)
                writer_text(w, "mode", text_of(apply_mode_name((enum apply_mode)mode)));
}

void status_write_so_far(struct writer *w, const status_amount so_far[static RESOURCES])
{
        writer_open(w, "soFar", '{');
        for (enum resource r = CPU; r < RESOURCES; r++)
                writer_amount(w, resource_name(r), r, amount_of_status(so_far[r]));
        writer_close(w, '}');
}

void status_write_saving(struct writer *w, const int64_t saving[static RESOURCES])
{
        writer_open(w, "saving", '{');
        for (enum resource r = CPU; r < RESOURCES; r++)
                writer_amount(w, resource_name(r), r, (struct amount){true, saving[r]});
        writer_close(w, '}');
}

void status_write_quota(struct writer *w, const struct status_quota quota[static RESOURCES])
{
        writer_open(w, "quota", '{');
        for (enum resource r = CPU; r < RESOURCES; r++) {
                if (quota[r].hard < 0)
                        continue;
                writer_open(w, resource_name(r), '{');
                writer_amount(w, "hard", r, amount_of_status(quota[r].hard));
                writer_amount(w, "used", r, amount_of_status(quota[r].used));
                writer_close(w, '}');
        }
        writer_close(w, '}');
}

void status_write_condition(struct writer *w, const struct status_condition *c)
{
        writer_open(w, NULL, '{');
        writer_text(w, "type", text_of(c->type));
        writer_text(w, "status", c->status ? TEXT("True") : TEXT("False"));
        writer_text(w, "reason", text_of(c->reason));
        if (c->message)
                writer_text(w, "message", text_of(c->message));
        writer_time(w, "lastTransitionTime", c->since_s * (int64_t)SECOND_MS);
        writer_close(w, '}');
}

static void status_write_applied(struct writer *w, const struct recommendation_status *s)
{
        const char *mode = apply_mode_writes((enum apply_mode)s->applied_mode);
        writer_open(w, "applied", '{');
        writer_time(w, "time", s->applied_ms);
        if (mode)
                writer_text(w, "mode", text_of(mode));
        writer_raw(w, "containers", text_of(s->applied));
        if (s->admitted)
                writer_raw(w, "admitted", text_of(s->admitted));
        writer_close(w, '}');
        if (!s->rest)
                return;
        writer_open(w, "canary", '{');
        writer_time(w, "since", s->passed_ms);
        writer_raw(w, "rest", text_of(s->rest));
        writer_close(w, '}');
}

static void status_write_guard(struct writer *w, const struct status_guard *g)
{
        writer_open(w, "guard", '{');
        writer_text(w, "cause", text_of(guard_cause_name(g->cause)));
        writer_text(w, "message", text_of(g->message ? g->message : ""));
        writer_time(w, "time", g->fired_ms);
        writer_time(w, "until", g->until_ms);
        writer_close(w, '}');
}

static void status_write_resource_names(struct writer *w, const char *key, const bool is[static RESOURCES])
{
        writer_open(w, key, '[');
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (is[r])
                        writer_text(w, NULL, text_of(resource_name(r)));
        writer_close(w, ']');
}

static void status_write_decision(struct writer *w, const struct status_decision *d, const struct vpa_policy *left)
{
        writer_open(w, "decision", '{');
        writer_open(w, "facts", '[');
        for (int i = 0; i < FACTS; i++)
                if (*(const bool *)((const char *)d + facts[i].at))
                        writer_text(w, NULL, text_of(facts[i].word));
        writer_close(w, ']');
        status_write_resource_names(w, "podLevel", d->pod_asks);
        if (d->hpa_shared[CPU] || d->hpa_shared[MEMORY])
                status_write_resource_names(w, "sharedAutoscaler", d->hpa_shared);
        if (d->other_autoscaler && left)
                status_write_left(w, left);
        writer_close(w, '}');
}

void recommendation_status_write(struct writer *w, const struct recommendation_status *s)
{
        writer_text(w, "state", text_of(state_name((enum state)s->state)));
        status_write_mode(w, s->mode);
        writer_open(w, "containers", '[');
        for (int i = 0; i < s->containers; i++)
                status_write_container(w, (enum state)s->state, &s->container[i], s->limits, i);
        writer_close(w, ']');
        if (s->pod)
                status_write_resources(w, "pod", s->pod);
        if (s->so_far)
                status_write_so_far(w, s->so_far);
        status_write_saving(w, s->saving);
        if (s->quota)
                status_write_quota(w, s->quota);
        if (s->node)
                status_write_node(w, s->node);
        writer_time(w, "firstSample", s->since_ms);
        /* While learning, the status is rarely written, and these two fields would be stale. */
        if (s->state != STATE_NO_DATA && s->state != STATE_LEARNING) {
                writer_int(w, "samples", s->samples);
                writer_time(w, "lastSample", s->last_ms);
        }
        if (s->kills) {
                writer_int(w, "oomKills", s->kills);
                writer_time(w, "lastOOMKill", s->last_kill_ms);
        }
        writer_int(w, "confidencePercent", s->confidence_percent);
        if (s->applied)
                status_write_applied(w, s);
        if (s->guard)
                status_write_guard(w, s->guard);
        status_write_decision(w, &s->decision, s->left);
        writer_open(w, "conditions", '[');
        for (int i = 0; i < s->conditions; i++)
                status_write_condition(w, &s->condition[i]);
        writer_close(w, ']');
}

/* --- reading --- */

/* Returns the name under which the object has a field: `key`, or `former`, as the previous version named it. */
static const char *status_key(const json_t *object, const char *key, const char *former)
{
        return json_object_get(object, key) ? key : former;
}

static enum state status_state_read(const json_t *object)
{
        const char *name = status_string_at(object, "state");
        for (int s = 0; s < STATES; s++)
                if (strcmp(name, state_name((enum state)s)) == 0)
                        return (enum state)s;
        return STATE_NO_DATA;
}

/* Whether a container's target value comes from measured usage that suffices, and not from the owner's request, a
 * static share of it or an early request. */
static bool status_is_learned(enum state state, const struct status_numbers *n)
{
        if (n->target < 0 || (n->original >= 0 && n->target >= n->original) ||
            reason_acts_at_deploys((enum reason)n->reason))
                return false;
        return (state != STATE_NO_DATA && state != STATE_LEARNING) ||
               n->reason == REASON_LEARNING; /* the target value outlived its lost history */
}

static void status_container_read(const json_t *from, bool alone, struct status_container *to)
{
        *to = (struct status_container){.name = status_string_at(from, "name"), .role = ROLE_MAIN};
        to->state = (uint8_t)status_state_read(from);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                const json_t *of = json_object_get(from, resource_name(r));
                struct status_numbers *n = &to->of[r];
                for (int i = 0; i < AMOUNTS; i++)
                        status_amount_put(n, i, status_amount_read(of, r, amounts[i].key));
                n->reason = (uint8_t)reason_find(status_string_at(of, "reason"));
                n->learned = status_is_learned((enum state)to->state, n);
                n->early = to->state == STATE_LEARNING && !n->learned && n->target >= 0 && n->target < n->original;
                n->more = json_is_true(json_object_get(of, "more"));
                n->read = n->reason == REASON_READ_BY_CONTAINER;
                n->heap_start = n->reason == REASON_HEAP_START ? status_heap_start(amount_of_status(n->target)) : 0;
                n->applied = n->current >= 0 && n->original >= 0 && n->current < n->original ? n->current : -1;
        }
        enum reason why = (enum reason)to->of[CPU].reason;
        if (why != REASON_INIT && why != REASON_NOT_IN_TEMPLATE)
                why = (enum reason)to->of[MEMORY].reason;
        /* The API has no roles: a sidecar reads as a main container. */
        if (why == REASON_INIT || why == REASON_NOT_IN_TEMPLATE)
                to->role = why == REASON_INIT ? ROLE_INIT : ROLE_INJECTED;
        if (strcmp(to->name, CONTAINER_WHOLE) == 0 && !alone)
                to->role = ROLE_WHOLE;
}

static void status_containers_read(const json_t *list, struct arena *a, struct recommendation_status *ret)
{
        size_t count = json_array_size(list);
        if (count > VIEW_CONTAINERS)
                count = VIEW_CONTAINERS;
        ret->container = arena_new(a, count * sizeof *ret->container);
        ret->containers = (uint8_t)count;
        for (size_t i = 0; i < count; i++)
                status_container_read(json_array_get(list, i), count == 1, &ret->container[i]);
}

/* In mode InPlace, halflife's request for a container (`applied`) is the one that a new pod gets at admission. */
static void status_settings_read(const json_t *rows, struct recommendation_status *ret)
{
        for (int i = 0; i < ret->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        size_t at;
                        json_t *row;
                        ret->container[i].of[r].applied = -1;
                        json_array_foreach(rows, at, row) if (strcmp(status_string_at(row, "name"),
                                                                     ret->container[i].name) == 0) ret->container[i]
                                .of[r]
                                .applied = status_amount_of(status_amount_read(row, r, resource_name(r)));
                }
}

static char *status_rows_print(const json_t *rows, struct arena *a)
{
        char *text = rows ? json_dumps(rows, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
        char *copy = text ? arena_text(a, text_of(text)) : NULL;
        free(text); /* jansson allocated the text, not mem_new */
        return copy;
}

/* Reads the field `mode`. Returns `none` where the field is absent or has no known mode. */
static uint8_t status_mode_read(const json_t *object, uint8_t none)
{
        const char *name = status_string_at(object, "mode");
        for (uint8_t m = 0; m < APPLY_MODES; m++)
                if (strcmp(name, apply_mode_name((enum apply_mode)m)) == 0)
                        return m;
        return none;
}

static void status_applied_read(const json_t *status, struct arena *a, struct recommendation_status *ret)
{
        const json_t *applied = json_object_get(status, "applied"), *canary = json_object_get(status, "canary");
        const json_t *rows = json_object_get(applied, "containers"), *rest = json_object_get(canary, "rest");
        ret->applied = status_rows_print(rows, a);
        ret->applied_mode = status_mode_read(applied, APPLY_RECOMMEND);
        ret->applied_ms = ret->applied ? status_time_read(applied, "time") : 0;
        ret->admitted = ret->applied ? status_rows_print(json_object_get(applied, "admitted"), a) : NULL;
        ret->rest = status_rows_print(rest, a);
        ret->passed_ms = status_time_read(canary, "since");
        if (ret->applied_mode == APPLY_IN_PLACE)
                status_settings_read(rest ? rest : rows, ret);
}

static void status_so_far_read(const json_t *so_far, struct arena *a, struct recommendation_status *ret)
{
        if (!so_far)
                return;
        ret->so_far = arena_new(a, RESOURCES * sizeof *ret->so_far);
        for (enum resource r = CPU; r < RESOURCES; r++)
                ret->so_far[r] = status_amount_of(status_amount_read(so_far, r, resource_name(r)));
}

static void status_quota_read(const json_t *quota, struct arena *a, struct recommendation_status *ret)
{
        if (!quota)
                return;
        ret->quota = arena_new(a, RESOURCES * sizeof *ret->quota);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                const json_t *of = json_object_get(quota, resource_name(r));
                ret->quota[r].hard = status_amount_of(status_amount_read(of, r, "hard"));
                ret->quota[r].used = status_amount_of(status_amount_read(of, r, "used"));
        }
}

static void status_guard_read(const json_t *guard, struct arena *a, struct recommendation_status *ret)
{
        enum guard_cause cause = guard_cause_find(status_string_at(guard, "cause"));
        if (cause == GUARD_NONE)
                return;
        ret->guard = arena_new(a, sizeof *ret->guard);
        *ret->guard = (struct status_guard){
                .cause = cause,
                .fired_ms = status_time_read(guard, "time"),
                .until_ms = status_time_read(guard, "until"),
                .message = arena_text(a, text_of(status_string_at(guard, "message"))),
        };
}

static void status_conditions_read(const json_t *list, struct arena *a, struct recommendation_status *ret)
{
        size_t count = json_array_size(list);
        if (count > VIEW_METRICS)
                count = VIEW_METRICS;
        ret->condition = arena_new(a, count * sizeof *ret->condition);
        ret->conditions = (uint8_t)count;
        for (size_t i = 0; i < count; i++) {
                const json_t *c = json_array_get(list, i);
                ret->condition[i] = (struct status_condition){
                        .type = status_string_at(c, "type"),
                        .reason = status_string_at(c, "reason"),
                        .message = json_string_value(json_object_get(c, "message")),
                        .status = strcmp(status_string_at(c, "status"), "True") == 0,
                        .since_s = seconds_of(status_time_read(c, "lastTransitionTime")),
                };
        }
}

static void status_decision_read(const json_t *decision, struct status_decision *ret)
{
        const json_t *words = json_object_get(decision, "facts"), *asks = json_object_get(decision, "podLevel"),
                     *shared = json_object_get(decision, "sharedAutoscaler");
        for (int i = 0; i < FACTS; i++)
                *(bool *)((char *)ret + facts[i].at) = status_list_has(words, facts[i].word);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                ret->pod_asks[r] = status_list_has(asks, resource_name(r));
                ret->hpa_shared[r] = status_list_has(shared, resource_name(r));
        }
}

/* Infers the decision's facts from the conditions, because the previous version wrote no `decision`. */
static void status_decision_infer(enum dimension d, struct recommendation_status *ret)
{
        struct status_decision *to = &ret->decision;
        to->never_written = dimension_is_sum(d);
        for (int i = 0; i < ret->conditions; i++) {
                const struct status_condition *c = &ret->condition[i];
                bool cpu = strcmp(c->reason, "Memory") != 0, memory = strcmp(c->reason, "CPU") != 0;
                to->contested |= c->status && strcmp(c->type, "Contested") == 0;
                to->other_autoscaler |= c->status && strcmp(c->type, "OtherAutoscaler") == 0;
                to->in_place_only |= c->status && strcmp(c->type, "InPlaceOnly") == 0;
                to->opted_out |= c->status && strcmp(c->type, "OptedOut") == 0;
                to->waits |= c->status && strcmp(c->type, "Canary") == 0 && strcmp(c->reason, "Waiting") == 0;
                if (strcmp(c->type, "PodLevel") == 0) {
                        to->pod_asks[CPU] = cpu;
                        to->pod_asks[MEMORY] = memory;
                }
                if (strcmp(c->type, "Applied") == 0) {
                        to->orphaned = strcmp(c->reason, reason_name(REASON_ORPHANED)) == 0;
                        /* the previous version gave the reason RecommendOnly only to a pod with a change to hold
                         * back */
                        to->never_written |=
                                d == DIMENSION_POD && strcmp(c->reason, reason_name(REASON_RECOMMEND_ONLY)) == 0;
                }
        }
}

void recommendation_status_read(const json_t *status, enum dimension d, struct arena *a,
                                struct recommendation_status *ret)
{
        const json_t *decision = json_object_get(status, "decision"), *saving = json_object_get(status, "saving");
        *ret = (struct recommendation_status){
                .state = (uint8_t)status_state_read(status),
                .former = !decision || json_object_get(status, "since"),
                .mode = status_mode_read(status, APPLY_MODES),
                .confidence_percent = (int16_t)json_integer_value(json_object_get(status, "confidencePercent")),
                .samples = json_integer_value(json_object_get(status, "samples")),
                .since_ms = status_time_read(status, status_key(status, "firstSample", "since")),
                .last_ms = status_time_read(status, "lastSample"),
                .kills = status_count_of(
                        json_integer_value(json_object_get(status, status_key(status, "oomKills", "kills")))),
                .last_kill_ms = status_time_read(status, status_key(status, "lastOOMKill", "lastKill")),
        };
        for (enum resource r = CPU; r < RESOURCES; r++)
                ret->saving[r] = status_amount_read(saving, r, resource_name(r)).value;
        status_containers_read(json_object_get(status, "containers"), a, ret);
        status_limits_read(json_object_get(status, "containers"), a, ret);
        status_applied_read(status, a, ret);
        status_so_far_read(json_object_get(status, "soFar"), a, ret);
        status_quota_read(json_object_get(status, "quota"), a, ret);
        ret->node = status_node_read(json_object_get(status, "node"), a);
        status_guard_read(json_object_get(status, "guard"), a, ret);
        status_conditions_read(json_object_get(status, "conditions"), a, ret);
        if (decision)
                status_decision_read(decision, &ret->decision);
        else
                status_decision_infer(d, ret);
        if (ret->decision.other_autoscaler)
                ret->left = status_left_read(json_object_get(decision, "otherAutoscaler"), a);
}
