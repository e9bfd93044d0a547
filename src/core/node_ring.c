#include "core/node_ring.h"

#include "base/text.h"
#include "core/usage.h"

/* Seconds from one kept sample to the next, at least. Less than a minute, because scrapes never come exactly a minute
 * apart. */
enum { APART_S = 50 };

const char *node_verdict_name(enum node_verdict v)
{
        static const char *const name[NODE_VERDICTS] = {
                [NODE_ACCEPTED] = "accepted",       [NODE_BOUNDED] = "bounded", [NODE_DUPLICATE] = "duplicate",
                [NODE_REORDERED] = "reordered",     [NODE_FUTURE] = "future",   [NODE_INVALID] = "invalid",
                [NODE_NO_CAPACITY] = "no_capacity",
        };
        return name[v];
}

const struct node_sample *node_ring_at(const struct node_ring *g, int i)
{
        return &g->sample[(g->newest + NODE_SAMPLES - i) % NODE_SAMPLES];
}

int node_ring_counted(const struct node_ring *g, struct wall now)
{
        int64_t newest_s = g->count ? node_ring_at(g, 0)->at_s : 0, age_ms = now.ms - newest_s * SECOND_MS;
        int n = 0;
        if (age_ms > NODE_SILENT_MS || age_ms < -USAGE_FUTURE_MS)
                return 0;
        while (n < g->count && newest_s - node_ring_at(g, n)->at_s < NODE_WINDOW_MS / SECOND_MS)
                n++;
        return n;
}

static enum node_verdict node_ring_judge(const struct node_ring *g, const struct node_usage *u,
                                         const int64_t capacity[static RESOURCES], struct wall latest)
{
        int64_t newest_s = g->count ? node_ring_at(g, 0)->at_s : 0, at_s = u->at.ms / SECOND_MS;
        if (capacity[CPU] <= 0 || capacity[MEMORY] <= 0 || capacity[CPU] > INT32_MAX)
                return NODE_NO_CAPACITY;
        if (u->value[CPU] < 0 || u->value[MEMORY] <= 0 || at_s <= 0)
                return NODE_INVALID;
        if (u->at.ms > latest.ms + USAGE_FUTURE_MS || at_s > UINT32_MAX)
                return NODE_FUTURE;
        if (at_s <= newest_s)
                return at_s == newest_s ? NODE_DUPLICATE : NODE_REORDERED;
        return u->value[CPU] > capacity[CPU] || u->value[MEMORY] > capacity[MEMORY] ? NODE_BOUNDED : NODE_ACCEPTED;
}

/* Whether a new sample takes the next place in the ring. If not, it replaces the newest sample. */
static bool node_ring_is_closed(const struct node_ring *g)
{
        return g->count < 2 || node_ring_at(g, 0)->at_s - node_ring_at(g, 1)->at_s >= APART_S;
}

/* Forget the ring if its newest sample is dated ahead of every clock: halflife's clock was ahead. All new samples would
 * count as reordered until then. */
static void node_ring_forget_ahead(struct node_ring *g, struct wall latest)
{
        if (g->count && node_ring_at(g, 0)->at_s * INT64_C(1000) > latest.ms + USAGE_FUTURE_MS)
                g->count = 0;
}

enum node_verdict node_ring_add(struct node_ring *g, const struct node_usage *u,
                                const int64_t capacity[static RESOURCES], struct wall latest)
{
        node_ring_forget_ahead(g, latest);
        enum node_verdict verdict = node_ring_judge(g, u, capacity, latest);
        if (verdict != NODE_ACCEPTED && verdict != NODE_BOUNDED)
                return verdict;
        if (node_ring_is_closed(g)) {
                g->newest = g->count ? (uint8_t)((g->newest + 1) % NODE_SAMPLES) : 0;
                g->count = (uint8_t)(g->count < NODE_SAMPLES ? g->count + 1 : NODE_SAMPLES);
        }
        g->sample[g->newest] = (struct node_sample){
                .at_s = (uint32_t)(u->at.ms / SECOND_MS),
                .cpu_milli = (int32_t)(u->value[CPU] < capacity[CPU] ? u->value[CPU] : capacity[CPU]),
                .memory_bytes = u->value[MEMORY] < capacity[MEMORY] ? u->value[MEMORY] : capacity[MEMORY],
        };
        return verdict;
}

/* --- shares --- */

static int64_t node_sample_value(const struct node_sample *s, enum resource r)
{
        return r == CPU ? s->cpu_milli : s->memory_bytes;
}

static int node_share(int64_t used, int64_t capacity)
{
        return capacity > 0 ? (int)((__int128)used * 1000 / capacity) : 0;
}

void node_ring_load(const struct node_ring *g, const int64_t capacity[static RESOURCES], struct wall now,
                    struct node_load *ret)
{
        const struct node_sample *newest = node_ring_at(g, 0);
        *ret = (struct node_load){.samples = node_ring_counted(g, now)};
        if (ret->samples == 0)
                return;
        ret->at_ms = (int64_t)newest->at_s * SECOND_MS;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                int64_t sum = 0;
                for (int i = 0; i < ret->samples; i++) {
                        int share = node_share(node_sample_value(node_ring_at(g, i), r), capacity[r]);
                        ret->most[r] = share > ret->most[r] ? share : ret->most[r];
                        sum += share;
                }
                ret->used[r] = node_sample_value(newest, r);
                ret->latest[r] = node_share(ret->used[r], capacity[r]);
                ret->mean[r] = (int)(sum / ret->samples);
        }
}

/* The integer part of the square root of a number below 2^62. */
static int64_t node_square_root(int64_t of)
{
        int64_t root = 0;
        for (int64_t bit = INT64_C(1) << 30; bit; bit >>= 1)
                if ((root + bit) * (root + bit) <= of)
                        root += bit;
        return root;
}

static int64_t node_part(int64_t used, int64_t capacity)
{
        return capacity > 0 ? (int64_t)(((__int128)used * NODE_WHOLE + capacity / 2) / capacity) : 0;
}

/* Integers of 64 bits suffice: fifteen squares of parts, times fifteen, are below 2^62. */
static void node_spread_resource(const struct node_ring *g, enum resource r, int64_t capacity, struct node_spread *ret)
{
        int64_t n = ret->samples, sum = 0, squares = 0;
        for (int i = 0; i < ret->samples; i++) {
                int64_t part = node_part(node_sample_value(node_ring_at(g, i), r), capacity);
                sum += part;
                squares += part * part;
        }
        ret->latest[r] = (int32_t)node_part(node_sample_value(node_ring_at(g, 0), r), capacity);
        ret->mean[r] = (int32_t)((sum + n / 2) / n);
        ret->deviation[r] = (int32_t)((node_square_root(4 * (n * squares - sum * sum)) + n) / (2 * n));
}

void node_ring_spread(const struct node_ring *g, const int64_t capacity[static RESOURCES], struct wall now,
                      struct node_spread *ret)
{
        *ret = (struct node_spread){.samples = node_ring_counted(g, now)};
        if (ret->samples == 0)
                return;
        ret->at_s = node_ring_at(g, 0)->at_s;
        for (enum resource r = CPU; r < RESOURCES; r++)
                node_spread_resource(g, r, capacity[r], ret);
}

int node_ring_above(const struct node_ring *g, enum resource r, int64_t capacity, int percent, struct wall now)
{
        int counted = node_ring_counted(g, now), above = 0;
        for (int i = 0; i < counted; i++)
                above += (__int128)node_sample_value(node_ring_at(g, i), r) * 100 > (__int128)capacity * percent;
        return above;
}

bool node_ring_hot(int above, bool was_hot)
{
        return above >= (was_hot ? NODE_COOL_SAMPLES : NODE_HOT_SAMPLES);
}

int node_load_pressure(const struct node_load *l)
{
        return l->mean[CPU] > l->mean[MEMORY] ? l->mean[CPU] : l->mean[MEMORY];
}
