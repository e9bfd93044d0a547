/*
 * Any bytes as a stored history, as they are and with their CRC set right: what is accepted is packed again to the same
 * bytes (of the version before, to one that loads the same), and lives on.
 */
#include <math.h>
#include <string.h>

#include "core/recommend.h"
#include "fuzz.h"

static const struct resource_policy policy[RESOURCES] = {
        [CPU] = {.percentile = 950, .half_life_ms = DAY_MS},
        [MEMORY] = {.percentile = 990,
                    .half_life_ms = HOUR_MS,
                    .window_ms = HOUR_MS,
                    .weekly_peak = true,
                    .oom_hold_ms = 7 * DAY_MS,
                    .oom_bump = 1200},
};

static void seal(uint8_t *packed, size_t len)
{
        uint32_t crc = UINT32_MAX;
        for (size_t i = 0; i < len - 4; i++) {
                crc ^= packed[i];
                for (int bit = 0; bit < 8; bit++)
                        crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
        }
        for (size_t i = 0; i < 4; i++)
                packed[len - 4 + i] = (uint8_t)(~crc >> 8 * i);
}

static void sound(const struct usage *u)
{
        for (int r = 0; r < RESOURCES; r++) {
                double total = histogram_total(&u->of[r]);
                MUST(isfinite(total) && total >= 0);
                for (int i = 0; i < u->of[r].count; i++)
                        MUST(u->of[r].w[i] >= 0);
        }
}

static void ask(const struct usage *u, int64_t now_ms)
{
        struct recommendation got;
        struct recommend_facts f = {.now = {now_ms}, .interval_ms = MINUTE_MS, .min_history_ms = DAY_MS};
        recommend(u, policy, &f, &got);
        MUST(got.confidence_percent >= 0 && got.confidence_percent <= 100);
        for (int r = 0; r < RESOURCES; r++)
                MUST(!got.of[r].known || (got.of[r].lower <= got.of[r].model && got.of[r].model <= got.of[r].upper));
}

static void live_on(struct usage *u)
{
        struct sample_watermark watermark = {0};
        struct sample s = {.at = {u->newest_ms},
                           .has = {true, true},
                           .value = {0.5, 3e9},
                           .cpu_weight = 1,
                           .starts = {u->starts != NULL, false},
                           .steady = {0.1, 0}};
        enum sample_verdict verdict;
        struct usage_room room;
        for (int i = 0; i < 3; i++, s.at.ms += DAY_MS) {
                MUST(usage_add(u, &watermark, &s, s.at, &verdict, &room) == 0 && verdict == SAMPLE_ACCEPTED);
                usage_oom(u, &policy[MEMORY], s.at, 1e9, 0);
                ask(u, s.at.ms);
                usage_adopt(u, policy);
                sound(u);
        }
        struct usage empty;
        double w[RESOURCES][HISTOGRAM_SUM_BUCKETS];
        usage_init(&empty, policy);
        if (u->of[CPU].sum)
                usage_make_sum(&empty);
        for (int r = 0; r < RESOURCES; r++)
                histogram_lend(&empty.of[r], w[r], HISTOGRAM_SUM_BUCKETS);
        struct usage_starts starts = {0};
        empty.starts = u->starts ? &starts : NULL;
        MUST(usage_merge(&empty, u, &room) == 0);
        MUST(!u->starts || usage_starts_hold(&starts));
        sound(&empty);
}

static void load(const uint8_t *data, size_t size)
{
        struct usage u;
        struct usage_memory memory;
        uint8_t again[USAGE_PACK_MAX];
        int rc = usage_unpack(data, size, &u, &memory);
        MUST(rc == 0 || rc == ERR_DAMAGED || rc == ERR_INVALID);
        if (rc < 0)
                return;
        size_t len = usage_pack(&u, again);
        if (data[0] == again[0])
                MUST(len == size && memcmp(again, data, size) == 0);
        else
                MUST(usage_unpack(again, len, &u, &memory) == 0);
        ask(&u, u.newest_ms);
        live_on(&u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static uint8_t sealed[2 * USAGE_PACK_MAX];
        load(data, size);
        if (size >= 4 && size <= sizeof(sealed)) {
                memcpy(sealed, data, size);
                seal(sealed, size);
                load(sealed, size);
        }
        return 0;
}
