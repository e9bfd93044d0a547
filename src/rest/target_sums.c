#include "target_sums.h"

#include "core/kind.h"

bool target_sums_takes(const struct snapshot_target *t)
{
        enum dimension d = snapshot_dimension(t);
        return d == DIMENSION_WORKLOAD || d == DIMENSION_POD;
}

/* The number of the workload's pods. Where the view lacks it, divide the saving of all pods by the saving of one. */
static int64_t target_sums_pods(const struct snapshot_target *t, const struct status_numbers pod[static RESOURCES])
{
        if (t->replicas > 0)
                return t->replicas;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                int64_t each = pod[r].original >= 0 && pod[r].target >= 0 ? pod[r].original - pod[r].target : 0;
                if (each > 0 && t->saving[r] > 0)
                        return t->saving[r] / each > 0 ? t->saving[r] / each : 1;
        }
        return 0;
}

static int64_t target_sums_times(int64_t amount, int64_t pods)
{
        __int128 all = (__int128)amount * pods;
        return all > INT64_MAX ? INT64_MAX : (int64_t)all;
}

static void target_sums_raise(int64_t *sum, int64_t by)
{
        *sum = by > INT64_MAX - *sum ? INT64_MAX : *sum + by;
}

static void target_sums_add_conditions(struct target_sums *to, const struct snapshot_target *t)
{
        const struct {
                const char *type;
                int64_t *count;
        } counted[] = {{"Contested", &to->contested},
                       {"Guarded", &to->guarded},
                       {"Canary", &to->canary},
                       {"UnderProvisioned", &to->under_provisioned},
                       {"Held", &to->held}};
        for (uint16_t i = 0; i < t->conditions; i++)
                for (size_t c = 0; t->condition[i].status && c < sizeof counted / sizeof counted[0]; c++)
                        *counted[c].count += strcmp(t->condition[i].type, counted[c].type) == 0;
}

void target_sums_add(struct target_sums *to, const struct snapshot_target *t)
{
        struct status_numbers pod[RESOURCES];
        status_pod_numbers(t->container, t->containers, pod);
        int64_t pods = target_sums_pods(t, pod);
        to->workloads++;
        to->state[t->state]++;
        to->replicas_unknown += pods == 0;
        pods = pods ? pods : 1;
        to->pods += pods;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                int64_t original = pod[r].original < 0 ? 0 : pod[r].original;
                int64_t current = pod[r].current < 0 ? original : pod[r].current;
                target_sums_raise(&to->original[r], target_sums_times(original, pods));
                target_sums_raise(&to->current[r], target_sums_times(current, pods));
                target_sums_raise(&to->target[r], target_sums_times(pod[r].target < 0 ? current : pod[r].target, pods));
        }
        target_sums_add_conditions(to, t);
}

void target_sums_merge(struct target_sums *to, const struct target_sums *from)
{
        to->workloads += from->workloads;
        to->pods += from->pods;
        to->replicas_unknown += from->replicas_unknown;
        to->contested += from->contested;
        to->guarded += from->guarded;
        to->canary += from->canary;
        to->under_provisioned += from->under_provisioned;
        to->held += from->held;
        for (enum state s = 0; s < STATES; s++)
                to->state[s] += from->state[s];
        for (enum resource r = CPU; r < RESOURCES; r++) {
                target_sums_raise(&to->original[r], from->original[r]);
                target_sums_raise(&to->current[r], from->current[r]);
                target_sums_raise(&to->target[r], from->target[r]);
        }
}

void target_sums_write(struct writer *w, const struct target_sums *s)
{
        writer_int(w, "workloads", s->workloads);
        writer_int(w, "pods", s->pods);
        writer_int(w, "podsUnknown", s->replicas_unknown);
        writer_open(w, "states", '{');
        for (enum state state = 0; state < STATES; state++)
                writer_int(w, state_name(state), s->state[state]);
        writer_close(w, '}');
        for (enum resource r = CPU; r < RESOURCES; r++) {
                writer_open(w, resource_name(r), '{');
                writer_amount(w, "original", r, (struct amount){true, s->original[r]});
                writer_amount(w, "current", r, (struct amount){true, s->current[r]});
                writer_amount(w, "target", r, (struct amount){true, s->target[r]});
                writer_close(w, '}');
        }
        writer_open(w, "conditions", '{');
        writer_int(w, "Contested", s->contested);
        writer_int(w, "Guarded", s->guarded);
        writer_int(w, "Canary", s->canary);
        writer_int(w, "UnderProvisioned", s->under_provisioned);
        writer_int(w, "Held", s->held);
        writer_close(w, '}');
}
