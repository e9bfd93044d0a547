/*
 * Budgets limit how many workloads may roll out halflife's changes at once, and how many cores of request may change in
 * a sliding hour. A profile has such limits of its own, and settings have them for the whole cluster. The spent cores
 * are stored, so that a restart does not allow them again.
 *
 * A change larger than the whole hour's budget passes while nothing is spent, because else it could never pass. Where
 * several namespaces share a budget, one namespace has at most half of it. A change larger than that half passes while
 * nothing of its namespace is spent and the other namespaces leave a half (cache/budget_account.h).
 */
#include <stdio.h>
#include <string.h>

#include "base/yaml.h"
#include "safety_private.h"

/* --- storing --- */

void budget_store(struct safety *safety)
{
        json_t *list = json_array();
        for (size_t i = 0; i < safety->spendings; i++)
                json_array_append_new(list, json_pack("[I, I, s, s]", (json_int_t)safety->spent[i].at_ms,
                                                      (json_int_t)safety->spent[i].millicores, safety->spent[i].profile,
                                                      safety->spent[i].ns));
        char *text = json_dumps(list, JSON_COMPACT);
        checkpointer_note(safety->checkpointer, "budget", text_of(text));
        free(text);
        json_decref(list);
}

/* Store a short list of spendings with each change, a long one with the next pass. */
static void budget_store_soon(struct safety *safety)
{
        enum { SHORT = 256 };
        safety->spent_unstored = safety->spendings > SHORT;
        if (!safety->spent_unstored)
                budget_store(safety);
}

void budget_load(struct safety *safety, struct text value)
{
        AUTO(json_decref) json_t *list = json_loadb(value.p, value.len, 0, NULL);
        size_t i;
        json_t *row;
        safety->spent = mem_resize(safety->spent, json_array_size(list) + 1, sizeof *safety->spent);
        json_array_foreach(list, i, row)
        {
                const char *profile = json_string_value(json_array_get(row, 2));
                const char *ns = json_string_value(json_array_get(row, 3));
                safety->spent[safety->spendings++] = (struct spending){
                        .at_ms = (int64_t)json_integer_value(json_array_get(row, 0)),
                        .millicores = (int64_t)json_integer_value(json_array_get(row, 1)),
                        .profile = mem_string(profile ? profile : ""),
                        .ns = mem_string(ns ? ns : ""),
                };
        }
}

/* --- counting --- */

static int64_t budget_cost_of(const struct plan *p)
{
        __int128 cost = 0;
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                if (c->advice.gate[CPU].hold || !c->facts.current[CPU].set)
                        continue;
                int64_t change = c->facts.current[CPU].value - c->advice.gate[CPU].value;
                cost += change > 0 ? change : -change;
        }
        cost *= workload_replicas(p->target->workload);
        return cost > INT64_MAX ? INT64_MAX : (int64_t)cost;
}

static void spending_end(struct spending *s)
{
        mem_free(s->profile);
        mem_free(s->ns);
}

static void budget_forget_old(struct safety *safety, int64_t now)
{
        size_t kept = 0;
        for (size_t i = 0; i < safety->spendings; i++) {
                if (safety->spent[i].at_ms > now) /* from a clock that was ahead: the entry's hour begins now */
                        safety->spent[i].at_ms = now;
                if (now - safety->spent[i].at_ms < HOUR_MS)
                        safety->spent[kept++] = safety->spent[i];
                else
                        spending_end(&safety->spent[i]);
        }
        safety->spendings = kept;
}

/* Whether a change by halflife is still rolling out. The rollout ends when the workload's status says so or the
 * workload is gone. While the patch is under way it counts as rolling, because the known status is older than the
 * patch. */
static bool still_rolling(const struct target *t)
{
        if (t->rolling && t->busy)
                return true;
        if (t->apply_state.in_place)
                return t->rolling && t->resizing;
        return t->rolling && t->workload && !rollout_done(t->workload) && !t->workload->deadline_exceeded;
}

static struct rolling *rolling_made(struct safety *safety, const struct target *t)
{
        struct rolling *r = map_get(&safety->rolling, text_of(t->key));
        if (!r) {
                size_t size = strlen(t->key) + 1;
                r = mem_new(sizeof *r + size);
                memcpy(r->key, t->key, size);
                r->since = loop_now(safety->loop).mono;
                map_put(&safety->rolling, text_of(r->key), r);
        }
        return r;
}

/* Whether the target's rollout takes a place in the budgets. A rollout that stands still for STILL_MS leaves its place,
 * because a rollout that never ends would keep all other workloads of the budget waiting. */
static bool rolling_has_place(struct safety *safety, const struct target *t)
{
        enum { STILL_MS = 10 * MINUTE_MS };
        struct mono now = loop_now(safety->loop).mono;
        struct rolling *r = rolling_made(safety, t);
        uint64_t progress = t->workload ? rollout_progress(t->workload) : 0;
        if (progress != r->progress)
                r->since = now;
        r->progress = progress;
        r->seen = true;
        return now.ns < mono_after(r->since, STILL_MS).ns;
}

void budget_goes_on(struct safety *safety, const struct target *t)
{
        struct rolling *r = map_get(&safety->rolling, text_of(t->key));
        if (r)
                r->since = loop_now(safety->loop).mono;
}

static void rolling_forget_done(struct map *rolling)
{
        struct rolling *r;
        for (size_t at = 0; (r = map_each(rolling, &at));) {
                bool seen = r->seen;
                r->seen = false;
                if (!seen)
                        mem_free(map_drop(rolling, text_of(r->key)));
        }
}

/* Charge an amount of a workload to the accounts of its profile and of the cluster. */
static void budget_count(struct safety *safety, struct profile *p, const char *ns, enum budget_unit u, int64_t amount)
{
        budget_account_add(&safety->budget, ns, u, amount);
        if (p)
                budget_account_add(&p->budget, ns, u, amount);
}

/* Note that the target's namespace shares the budgets, unless halflife never changes the target. */
static void budget_see(struct safety *safety, const struct target *t)
{
        if (!t->workload || !t->profile || target_is_sum(t) || t->profile->spec->apply.mode == APPLY_RECOMMEND)
                return;
        budget_account_see(&safety->budget, t->ns);
        budget_account_see(&t->profile->budget, t->ns);
}

void budget_settle(struct safety *safety)
{
        struct profile *p;
        struct target *t;
        budget_forget_old(safety, loop_now(safety->loop).wall.ms);
        if (safety->spent_unstored)
                budget_store(safety);
        safety->spent_unstored = false;
        budget_account_release(&safety->budget);
        for (size_t at = 0; (p = map_each(&safety->cache->profiles, &at));)
                budget_account_release(&p->budget);
        for (size_t i = 0; i < safety->spendings; i++) {
                const struct spending *s = &safety->spent[i];
                p = map_get(&safety->cache->profiles, text_of(s->profile));
                budget_count(safety, p, s->ns, BUDGET_CORES, s->millicores);
        }
        for (size_t at = 0; (t = map_each(&safety->cache->targets, &at));) {
                budget_see(safety, t);
                target_set_rolling(t, still_rolling(t));
                if (t->rolling && rolling_has_place(safety, t))
                        budget_count(safety, t->profile, t->ns, BUDGET_WORKLOADS, 1);
        }
        rolling_forget_done(&safety->rolling);
}

/* The budget that refuses a change, and why. verdict BUDGET_HAS_ROOM: no budget refuses it. */
struct budget_lack {
        enum budget_verdict verdict;
        enum budget_unit unit;
        const struct profile *of; /* the profile whose budget refuses; NULL: the cluster's budget */
        int64_t limit;
};

static int64_t budget_limit(const struct safety *safety, const struct profile *of, enum budget_unit u)
{
        if (u == BUDGET_CORES)
                return of ? of->spec->budget_cores_per_hour : INT64_C(1000) * safety->live->budget_cores_per_hour;
        return of ? of->spec->budget_workloads : safety->live->budget_workloads;
}

/* The first budget that the plan's change does not fit into. */
static struct budget_lack budget_ask(struct safety *safety, const struct plan *p)
{
        struct profile *const of[] = {NULL, p->target->profile};
        const int64_t amount[BUDGET_UNITS] = {[BUDGET_CORES] = budget_cost_of(p), [BUDGET_WORKLOADS] = 1};
        for (int i = 0; i < (of[1] ? 2 : 1); i++)
                for (enum budget_unit u = 0; u < BUDGET_UNITS; u++) {
                        struct budget_lack lack = {.unit = u, .of = of[i], .limit = budget_limit(safety, of[i], u)};
                        struct budget_account *a = of[i] ? &of[i]->budget : &safety->budget;
                        lack.verdict = budget_account_ask(a, p->target->ns, u, amount[u], lack.limit);
                        if (lack.verdict != BUDGET_HAS_ROOM)
                                return lack;
                }
        return (struct budget_lack){.verdict = BUDGET_HAS_ROOM};
}

bool budget_allows(struct safety *safety, const struct plan *p)
{
        return budget_ask(safety, p).verdict == BUDGET_HAS_ROOM;
}

/* When enough of the spent cores will be older than an hour, if nothing else is spent until then, wall ms; 0: not
 * known. Where all namespaces together have used up the budget, there may be room before, because one namespace counts
 * for at most its share. */
static int64_t budget_room_ms(const struct safety *safety, const struct plan *p, const struct budget_lack *lack)
{
        const struct budget_account *a = lack->of ? &lack->of->budget : &safety->budget;
        const char *ns = lack->verdict == BUDGET_SHARE_USED ? p->target->ns : NULL;
        int64_t share = budget_account_most(a, lack->limit), limit = ns ? share : lack->limit, left = 0, at_ms = 0;
        int64_t cost = budget_cost_of(p);
        cost = ns || cost < share ? cost : share;
        for (size_t i = safety->spendings; i-- > 0;) { /* from the newest back: those that fit may stay */
                const struct spending *s = &safety->spent[i];
                if ((lack->of && strcmp(s->profile, lack->of->key) != 0) || (ns && strcmp(s->ns, ns) != 0))
                        continue;
                left = add_saturated(left, s->millicores);
                if (left > 0 && add_saturated(left, cost) > limit && s->at_ms + HOUR_MS > at_ms)
                        at_ms = s->at_ms + HOUR_MS;
        }
        return at_ms;
}

/* Say when the budget has room again. The time is rounded up to an hour, because every other change moves it, and each
 * new message is a write of the status. */
static void budget_say_when(const struct safety *safety, const struct plan *p, const struct budget_lack *lack,
                            char *buf, size_t size)
{
        enum { STEP_MS = HOUR_MS };
        char time[WALL_TEXT_MAX];
        int64_t room_ms = lack->unit == BUDGET_CORES ? budget_room_ms(safety, p, lack) : 0;
        *buf = '\0';
        if (lack->unit == BUDGET_WORKLOADS)
                snprintf(buf, size, "; it has room when a rollout ends or stands still");
        else if (room_ms > 0) {
                wall_print((struct wall){(room_ms + STEP_MS - 1) / STEP_MS * STEP_MS}, time);
                snprintf(buf, size, "; it has room by %s", time);
        }
}

static void budget_say(const struct safety *safety, struct plan *p, const struct budget_lack *lack)
{
        static const char *const name[BUDGET_UNITS][2] = {
                [BUDGET_CORES] = {"setting budget-cores-per-hour", "apply.budget.coresPerHour"},
                [BUDGET_WORKLOADS] = {"setting budget-workloads", "apply.budget.workloads"},
        };
        char when[WALL_TEXT_MAX + 64];
        budget_say_when(safety, p, lack, when, sizeof when);
        snprintf(p->over_budget, sizeof p->over_budget, "%sthe %s budget (%s: %lld) is used up%s",
                 lack->verdict == BUDGET_SHARE_USED ? "this namespace's share, half, of " : "",
                 lack->of ? "profile's" : "cluster's", name[lack->unit][lack->of != NULL],
                 (long long)(lack->unit == BUDGET_CORES ? lack->limit / 1000 : lack->limit), when);
}

void budget_gate(struct safety *safety, struct plan *p)
{
        if (!p->apply)
                return;
        struct budget_lack lack = budget_ask(safety, p);
        if (lack.verdict == BUDGET_HAS_ROOM)
                return;
        budget_say(safety, p, &lack);
        plan_hold(p, GATE_BUDGET);
        /* Only increases of the plan are left. Without the decreases, a ResourceQuota may lack the room for them. */
        plan_ask_quota(safety->cache, p);
}

/* The entry for a profile, namespace and minute, created if there is none. One entry for each minute keeps the list
 * short. From SPENDINGS_APART entries on, the namespace is left out, and its spending counts in full. */
static struct spending *budget_entry_of(struct safety *safety, const char *profile, const char *ns, int64_t at_ms)
{
        if (safety->spendings >= SPENDINGS_APART)
                ns = "";
        for (size_t i = safety->spendings; i > 0 && safety->spent[i - 1].at_ms / MINUTE_MS == at_ms / MINUTE_MS; i--)
                if (strcmp(safety->spent[i - 1].profile, profile) == 0 && strcmp(safety->spent[i - 1].ns, ns) == 0)
                        return &safety->spent[i - 1];
        safety->spent = mem_resize(safety->spent, safety->spendings + 1, sizeof *safety->spent);
        safety->spent[safety->spendings] = (struct spending){.profile = mem_string(profile), .ns = mem_string(ns)};
        return &safety->spent[safety->spendings++];
}

int64_t budget_spend(struct safety *safety, const struct plan *p)
{
        struct target *t = p->target;
        int64_t cost = budget_cost_of(p);
        struct spending *entry = budget_entry_of(safety, t->profile ? t->profile->key : "", t->ns, p->now.ms);
        entry->at_ms = p->now.ms;
        entry->millicores = add_saturated(entry->millicores, cost);
        target_set_rolling(t, true);
        budget_count(safety, t->profile, t->ns, BUDGET_CORES, cost);
        budget_count(safety, t->profile, t->ns, BUDGET_WORKLOADS, 1);
        budget_store_soon(safety);
        return cost;
}

void budget_refund(struct safety *safety, struct target *t, const char *profile, int64_t cost)
{
        target_set_rolling(t, false);
        for (size_t i = safety->spendings; i > 0; i--) {
                struct spending *entry = &safety->spent[i - 1];
                if (strcmp(entry->profile, profile) != 0 || (*entry->ns && strcmp(entry->ns, t->ns) != 0) ||
                    entry->millicores < cost)
                        continue;
                entry->millicores -= cost;
                budget_store_soon(safety);
                return;
        }
}

void budget_release(struct safety *safety)
{
        struct rolling *r;
        for (size_t i = 0; i < safety->spendings; i++)
                spending_end(&safety->spent[i]);
        mem_free(safety->spent);
        budget_account_release(&safety->budget);
        for (size_t at = 0; (r = map_each(&safety->rolling, &at));)
                mem_free(r);
        map_release(&safety->rolling);
}
