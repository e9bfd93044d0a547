/* A history with all the room there is, and what the tests of core/usage do with one. */
#ifndef HALFLIFE_TEST_USAGE_FIXTURE_H
#define HALFLIFE_TEST_USAGE_FIXTURE_H

#include <string.h>

#include "core/usage.h"

#define MIN  ((int64_t)MINUTE_MS)
#define HOUR ((int64_t)HOUR_MS)
#define DAY  ((int64_t)DAY_MS)
#define MI   1048576.0
#define MB   1e6

static const struct resource_policy policy[RESOURCES] = {
        [CPU] = {.enabled = true, .percentile = 950, .multiplier = 1100, .half_life_ms = DAY, .round_to = 1},
        [MEMORY] = {.enabled = true,
                    .percentile = 990,
                    .multiplier = 1150,
                    .half_life_ms = DAY,
                    .round_to = 1 << 20,
                    .oom_hold_ms = 168 * HOUR,
                    .oom_bump = 1200},
};

/* A history with all the room there is. */
struct roomy {
        struct usage u;
        double w[RESOURCES][HISTOGRAM_BUCKETS];
        struct resource_policy policy[RESOURCES];
};

static inline void roomy_init(struct roomy *r, int64_t window_ms)
{
        memcpy(r->policy, policy, sizeof(policy));
        r->policy[MEMORY].window_ms = window_ms;
        usage_init(&r->u, r->policy);
        for (int i = 0; i < RESOURCES; i++)
                histogram_lend(&r->u.of[i], r->w[i], HISTOGRAM_BUCKETS);
}

static inline void roomy_copy(struct roomy *to, const struct roomy *from)
{
        *to = *from;
        for (int i = 0; i < RESOURCES; i++)
                to->u.of[i].w = to->w[i];
}

static inline enum sample_verdict add(struct roomy *r, struct sample_watermark *watermark, struct sample s)
{
        enum sample_verdict verdict = SAMPLE_VERDICTS;
        struct usage_room room;
        assert_int_equal(usage_add(&r->u, watermark, &s, s.at, &verdict, &room), 0);
        return verdict;
}

static inline enum sample_verdict add_both(struct roomy *r, struct sample_watermark *watermark, int64_t at_ms,
                                           double cpu, double memory)
{
        return add(r, watermark, (struct sample){.at = {at_ms}, .has = {true, true}, .value = {cpu, memory}});
}

static inline enum sample_verdict add_memory(struct roomy *r, int64_t at_ms, double memory)
{
        struct sample_watermark watermark = {0};
        return add(r, &watermark, (struct sample){.at = {at_ms}, .has = {false, true}, .value = {0, memory}});
}

static inline double weight(const struct roomy *r, enum resource of, double value)
{
        const struct histogram *h = &r->u.of[of];
        int n = histogram_bucket(of, value);
        return n >= h->first && n < h->first + h->count ? h->w[n - h->first] : 0;
}

static uint64_t random_state = 88172645463325252u;
static inline uint64_t draw(uint64_t below)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return random_state % below;
}

static inline double hold_at(const struct roomy *r, int64_t now_ms)
{
        return usage_kill_hold(&r->u, &r->policy[MEMORY], (struct wall){now_ms});
}

static inline void kill_at(struct roomy *r, int64_t at_ms, double last, double limit)
{
        usage_oom(&r->u, &r->policy[MEMORY], (struct wall){at_ms}, last, limit);
}

#endif
