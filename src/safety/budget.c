/*
 * Budgets: how many workloads may be rolling by our doing at once, and how many cores of request may be changed in a
 * sliding hour; for each profile, and for the whole cluster by a setting. The hour's ledger is stored, so a restart
 * spends nothing twice.
 *
 * A change that is larger than the whole hour's budget passes when nothing was spent: else it never would.
 */
#include <string.h>

#include "base/yaml.h"
#include "safety_private.h"

/* --- storing --- */

void budget_store(struct safety *safety)
{
        json_t *list = json_array();
        for (size_t i = 0; i < safety->spendings; i++)
                json_array_append_new(list,
                                      json_pack("[I, I, s]", (json_int_t)safety->spent[i].at_ms,
                                                (json_int_t)safety->spent[i].millicores, safety->spent[i].profile));
        char *text = json_dumps(list, JSON_COMPACT);
        checkpointer_note(safety->checkpointer, "budget", text_of(text));
        free(text);
        json_decref(list);
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
                safety->spent[safety->spendings++] = (struct spending){
                        .at_ms = (int64_t)json_integer_value(json_array_get(row, 0)),
                        .millicores = (int64_t)json_integer_value(json_array_get(row, 1)),
                        .profile = mem_string(profile ? profile : ""),
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

static void budget_forget_old(struct safety *safety, int64_t now)
{
        size_t kept = 0;
        for (size_t i = 0; i < safety->spendings; i++) {
                if (safety->spent[i].at_ms > now) /* by a clock that was ahead: its hour begins now */
                        safety->spent[i].at_ms = now;
                if (now - safety->spent[i].at_ms < HOUR_MS)
                        safety->spent[kept++] = safety->spent[i];
                else
                        mem_free(safety->spent[i].profile);
        }
        safety->spendings = kept;
}

/* A rollout of ours is done when the workload says so, or when its workload is gone. While its patch is under way, what
 * is known of the workload is of before. */
static bool still_rolling(const struct target *t)
{
        if (t->rolling && t->busy)
                return true;
        if (t->apply_state.in_place)
                return t->rolling && t->resizing;
        return t->rolling && t->workload && !rollout_done(t->workload) && !t->workload->deadline_exceeded;
}

void budget_settle(struct safety *safety)
{
        struct profile *p;
        struct target *t;
        budget_forget_old(safety, loop_now(safety->loop).wall.ms);
        safety->rolling = safety->spent_millicores = 0;
        for (size_t at = 0; (p = map_each(&safety->cache->profiles, &at));)
                p->rolling = p->spent_millicores = 0;
        for (size_t i = 0; i < safety->spendings; i++) {
                safety->spent_millicores = add_saturated(safety->spent_millicores, safety->spent[i].millicores);
                p = map_get(&safety->cache->profiles, text_of(safety->spent[i].profile));
                if (p)
                        p->spent_millicores = add_saturated(p->spent_millicores, safety->spent[i].millicores);
        }
        for (size_t at = 0; (t = map_each(&safety->cache->targets, &at));) {
                target_set_rolling(t, still_rolling(t));
                safety->rolling += t->rolling;
                if (t->rolling && t->profile)
                        t->profile->rolling++;
        }
}

static bool budget_within(int64_t limit, int64_t already, int64_t cost)
{
        return limit == 0 || already == 0 || add_saturated(already, cost) <= limit;
}

bool budget_allows(const struct safety *safety, const struct plan *p)
{
        const struct profile *profile = p->target->profile;
        int64_t cost = budget_cost_of(p);
        if (!budget_within(safety->live->budget_cores_per_hour, safety->spent_millicores, cost))
                return false;
        if (safety->live->budget_workloads && safety->rolling >= safety->live->budget_workloads)
                return false;
        if (!profile)
                return true;
        if (!budget_within(profile->spec->budget_cores_per_hour, profile->spent_millicores, cost))
                return false;
        return profile->spec->budget_workloads == 0 || profile->rolling < profile->spec->budget_workloads;
}

void budget_gate(const struct safety *safety, struct plan *p)
{
        if (!p->apply || budget_allows(safety, p))
                return;
        plan_hold(p, REASON_BUDGET);
        plan_ask_quota(safety->cache, p); /* what is left goes up, and makes no room any more */
}

/* The ledger has one entry a minute and profile, as of its latest change: an hour of many changes stays short. */
static struct spending *budget_entry_of(struct safety *safety, const char *profile, int64_t at_ms)
{
        for (size_t i = safety->spendings; i > 0 && safety->spent[i - 1].at_ms / MINUTE_MS == at_ms / MINUTE_MS; i--)
                if (strcmp(safety->spent[i - 1].profile, profile) == 0)
                        return &safety->spent[i - 1];
        safety->spent = mem_resize(safety->spent, safety->spendings + 1, sizeof *safety->spent);
        safety->spent[safety->spendings] = (struct spending){.profile = mem_string(profile)};
        return &safety->spent[safety->spendings++];
}

int64_t budget_spend(struct safety *safety, const struct plan *p)
{
        struct target *t = p->target;
        int64_t cost = budget_cost_of(p);
        struct spending *entry = budget_entry_of(safety, t->profile ? t->profile->key : "", p->now.ms);
        entry->at_ms = p->now.ms;
        entry->millicores = add_saturated(entry->millicores, cost);
        safety->spent_millicores = add_saturated(safety->spent_millicores, cost);
        safety->rolling++;
        target_set_rolling(t, true);
        if (t->profile) {
                t->profile->spent_millicores = add_saturated(t->profile->spent_millicores, cost);
                t->profile->rolling++;
        }
        budget_store(safety);
        return cost;
}

void budget_refund(struct safety *safety, struct target *t, const char *profile, int64_t cost)
{
        target_set_rolling(t, false);
        for (size_t i = safety->spendings; i > 0; i--) {
                struct spending *entry = &safety->spent[i - 1];
                if (strcmp(entry->profile, profile) != 0 || entry->millicores < cost)
                        continue;
                entry->millicores -= cost;
                budget_store(safety);
                return;
        }
}

void budget_release(struct safety *safety)
{
        for (size_t i = 0; i < safety->spendings; i++)
                mem_free(safety->spent[i].profile);
        mem_free(safety->spent);
}
