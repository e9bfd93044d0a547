#include "core/admission_change.h"

enum { MEBI = 1 << 20, PLAIN = 1000, TENTH = 100, RATIO_MOST = 100 * PLAIN };

/* Steps that platforms round to, the finest first: the finest one that explains the requests claims least. */
static const int64_t cpu_steps[] = {5, 10, 20, 25, 50, 100, 125, 200, 250, 500, 1000};
static const int64_t memory_steps[] = {4LL * MEBI,   8LL * MEBI,   16LL * MEBI,  32LL * MEBI,  64LL * MEBI,
                                       128LL * MEBI, 256LL * MEBI, 512LL * MEBI, 1024LL * MEBI};

/* Whether a rule that only raises requests can explain q: a request came back, and is not lower than the one sent. */
static bool admission_only_raises(const struct admission_request *q)
{
        return q->sent.set && q->got.set && q->got.value >= q->sent.value;
}

static bool is_rounded_to(int64_t step, const struct admission_request *q, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (q[i].got.value % step != 0 || q[i].got.value - q[i].sent.value >= step)
                        return false;
        return true;
}

static int64_t admission_step(enum resource r, const struct admission_request *q, size_t n)
{
        const int64_t *step = r == CPU ? cpu_steps : memory_steps;
        size_t steps = r == CPU ? sizeof cpu_steps / sizeof *cpu_steps : sizeof memory_steps / sizeof *memory_steps;
        for (size_t i = 0; i < steps; i++)
                if (is_rounded_to(step[i], q, n))
                        return step[i];
        return 0;
}

static int64_t admission_minimum(const struct admission_request *q, size_t n)
{
        int64_t least = 0;
        for (size_t i = 0; i < n; i++)
                if (admission_changed(&q[i]))
                        least = q[i].got.value;
        for (size_t i = 0; i < n; i++)
                if (q[i].got.value != (q[i].sent.value > least ? q[i].sent.value : least))
                        return 0;
        return least;
}

/* limit / request in thousandths, rounded up to tenths; 0: there is no limit, or the limit is more than 100 times the
 * request. */
static int64_t ratio_of(struct amount limit, int64_t request)
{
        if (!limit.set || request <= 0 || limit.value / request > RATIO_MOST / PLAIN)
                return 0;
        __int128 tenths = ((__int128)limit.value * (PLAIN / TENTH) + request - 1) / request;
        return (int64_t)tenths * TENTH;
}

/* The highest ratio of limit to request that came back; 0: it does not explain all requests. As sent, exactly the
 * raised requests must have exceeded it. */
static int64_t admission_ratio(const struct admission_request *q, size_t n)
{
        int64_t most = 0;
        for (size_t i = 0; i < n; i++) {
                int64_t ratio = admission_changed(&q[i]) ? ratio_of(q[i].limit, q[i].got.value) : 0;
                most = ratio > most ? ratio : most;
        }
        for (size_t i = 0; i < n; i++) {
                bool broken = q[i].limit.set && (__int128)q[i].limit.value * PLAIN > (__int128)q[i].sent.value * most;
                if (admission_changed(&q[i]) ? !broken || !ratio_of(q[i].limit, q[i].got.value) : broken)
                        return 0;
        }
        return most;
}

struct admission_rules admission_explain(enum resource r, const struct admission_request *q, size_t n)
{
        bool changed = false;
        for (size_t i = 0; i < n; i++) {
                if (!admission_only_raises(&q[i]))
                        return (struct admission_rules){0};
                changed |= admission_changed(&q[i]);
        }
        if (!changed)
                return (struct admission_rules){0};
        return (struct admission_rules){admission_step(r, q, n), admission_minimum(q, n), admission_ratio(q, n)};
}
