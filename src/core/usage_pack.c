#include "core/usage.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/crc.h"
#include "histogram_inner.h"
#include "usage_inner.h"

/*
 * version 2: a byte of version; first and count of each histogram, a byte each; the fields below, 8 bytes each; the
 * daily peaks, 4 bytes each; the weights of CPU, then of memory; a CRC-32C of all before it. Version 1, which is read
 * as well, has no peaks. In every version the CRC is the last four bytes, so that damage is told from a version of the
 * future.
 */
enum { VERSION = 2, OLDEST = 1, HEAD = 1 + 2 * RESOURCES, WORD = 8, CRC = 4 };

static const uint16_t fields[] = {
        offsetof(struct usage, of[CPU].ref_ms),
        offsetof(struct usage, of[CPU].half_life_ms),
        offsetof(struct usage, of[MEMORY].ref_ms),
        offsetof(struct usage, of[MEMORY].half_life_ms),
        offsetof(struct usage, first_ms),
        offsetof(struct usage, newest_ms),
        offsetof(struct usage, samples),
        offsetof(struct usage, spacing_ms),
        offsetof(struct usage, sampled.count),
        offsetof(struct usage, sampled.last),
        offsetof(struct usage, sampled.recent),
        offsetof(struct usage, running.count),
        offsetof(struct usage, running.last),
        offsetof(struct usage, running.recent),
        offsetof(struct usage, window_ms),
        offsetof(struct usage, peak_at_ms),
        offsetof(struct usage, peak),
        offsetof(struct usage, runs),
        offsetof(struct usage, last_run_ms),
        offsetof(struct usage, kill[0].at_ms),
        offsetof(struct usage, kill[0].bytes),
        offsetof(struct usage, kill[1].at_ms),
        offsetof(struct usage, kill[1].bytes),
        offsetof(struct usage, kill[2].at_ms),
        offsetof(struct usage, kill[2].bytes),
        offsetof(struct usage, kill[3].at_ms),
        offsetof(struct usage, kill[3].bytes),
        offsetof(struct usage, step_ms[0]),
        offsetof(struct usage, step_ms[1]),
        offsetof(struct usage, step_ms[2]),
        offsetof(struct usage, kills),
};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]), DAY_WORDS = USAGE_DAYS / 2 };
_Static_assert(USAGE_KILLS == 4 && USAGE_STEPS == 3, "fields names each");
_Static_assert(sizeof(struct usage) == RESOURCES * sizeof(struct histogram) + (FIELDS - 4 + DAY_WORDS) * WORD,
               "a new field of struct usage wants a line in fields and a new version");
_Static_assert(HEAD + (FIELDS + DAY_WORDS + 2 * HISTOGRAM_BUCKETS) * WORD + CRC <= USAGE_PACK_MAX, "the longest fits");

/* Unrolled, compilers make one access of it. */
static uint64_t get_word(const uint8_t *in)
{
        uint64_t word = 0;
#pragma GCC unroll 8
        for (int i = WORD; i-- > 0;)
                word = word << 8 | in[i];
        return word;
}

static uint8_t *put_word(uint8_t *out, uint64_t word)
{
#pragma GCC unroll 8
        for (int i = 0; i < WORD; i++)
                *out++ = (uint8_t)(word >> 8 * i);
        return out;
}

static size_t packed_length(const struct usage *u, int words)
{
        return HEAD + (size_t)(words + u->of[CPU].count + u->of[MEMORY].count) * WORD + CRC;
}

size_t usage_pack(const struct usage *u, uint8_t out[static USAGE_PACK_MAX])
{
        uint8_t *at = out;
        uint64_t word;
        *at++ = VERSION;
        for (int r = 0; r < RESOURCES; r++) {
                *at++ = u->of[r].first;
                *at++ = u->of[r].count;
        }
        for (int i = 0; i < FIELDS; i++) {
                memcpy(&word, (const uint8_t *)u + fields[i], WORD);
                at = put_word(at, word);
        }
        for (int i = 0; i < USAGE_DAYS; i += 2)
                at = put_word(at, u->day_mi[i] | (uint64_t)u->day_mi[i + 1] << 32);
        for (int r = 0; r < RESOURCES; r++) {
                for (int n = 0; n < u->of[r].count; n++) {
                        memcpy(&word, &u->of[r].w[n], WORD);
                        at = put_word(at, word);
                }
        }
        uint32_t crc = crc_add(0, out, (size_t)(at - out));
        for (int i = 0; i < CRC; i++)
                *at++ = (uint8_t)(crc >> 8 * i);
        return packed_length(u, FIELDS + DAY_WORDS);
}

/* --- loading --- */

static const int64_t most = (int64_t)1 << 60; /* of any time or count: sums and triples of it do not overflow */

static bool crc_holds(const uint8_t *in, size_t len)
{
        uint32_t stored = 0;
        if (len < HEAD + CRC)
                return false;
        for (int i = CRC; i-- > 0;)
                stored = stored << 8 | in[len - CRC + (size_t)i];
        return crc_add(0, in, len - CRC) == stored;
}

static bool weight_holds(double w)
{
        return !isnan(w) && (w >= DBL_MIN || (w <= 0 && !signbit(w))) && w <= HISTOGRAM_HEAVIEST;
}

static bool histogram_holds(const struct histogram *h)
{
        if (h->half_life_ms <= 0 || h->ref_ms < 0 || h->ref_ms % h->half_life_ms != 0)
                return false;
        for (int n = 0; n < h->count; n++)
                if (!weight_holds(h->w[n]))
                        return false;
        return h->count == 0 ? h->first == 0 : h->w[0] > 0 && h->w[h->count - 1] > 0;
}

static bool minutes_hold(const struct usage_minutes *m)
{
        return m->count >= 0 && m->count <= most && m->last >= 0 && m->last <= most &&
               (m->recent & 1) == (m->count > 0);
}

static bool bytes_hold(double bytes, int64_t at_ms)
{
        return bytes >= 0 && !signbit(bytes) && bytes <= usage_absurd[MEMORY] && at_ms >= 0;
}

static bool kills_hold(const struct usage *u)
{
        for (int i = 0; i < USAGE_KILLS; i++) {
                const struct usage_kill *k = &u->kill[i], *older = i + 1 < USAGE_KILLS ? k + 1 : NULL;
                if (!bytes_hold(k->bytes, k->at_ms))
                        return false;
                if (older && older->bytes > 0 && (older->bytes <= k->bytes || older->at_ms > k->at_ms || k->bytes <= 0))
                        return false;
        }
        return true;
}

static bool days_hold(const struct usage *u)
{
        for (int i = 0; i < USAGE_DAYS; i++)
                if (u->day_mi[i] > ceil(usage_absurd[MEMORY] / 0x1p20))
                        return false;
        return true;
}

static bool usage_holds(const struct usage *u)
{
        const int64_t counts[] = {u->first_ms,    u->newest_ms,  u->samples,    u->spacing_ms, u->window_ms, u->runs,
                                  u->last_run_ms, u->step_ms[0], u->step_ms[1], u->step_ms[2], u->kills};
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
                if (counts[i] < 0 || counts[i] > most)
                        return false;
        return histogram_holds(&u->of[CPU]) && histogram_holds(&u->of[MEMORY]) && u->first_ms <= u->newest_ms &&
               minutes_hold(&u->sampled) && minutes_hold(&u->running) && u->sampled.count <= u->running.count &&
               bytes_hold(u->peak, u->peak_at_ms) && kills_hold(u) && days_hold(u);
}

static const uint8_t *get_days(const uint8_t *in, struct usage *ret)
{
        for (int i = 0; i < USAGE_DAYS; i += 2, in += WORD) {
                uint64_t word = get_word(in);
                ret->day_mi[i] = (uint32_t)word;
                ret->day_mi[i + 1] = (uint32_t)(word >> 32);
        }
        return in;
}

int usage_unpack(const uint8_t *in, size_t len, struct usage *ret, double room[static 2 * HISTOGRAM_BUCKETS])
{
        if (!crc_holds(in, len))
                return ERR_DAMAGED;
        int version = *in++;
        if (version < OLDEST || version > VERSION)
                return ERR_INVALID;
        struct usage u = {0};
        for (int r = 0; r < RESOURCES; r++) {
                struct histogram *h = &u.of[r];
                *h = (struct histogram){.resource = (uint8_t)r, .w = room + r * HISTOGRAM_BUCKETS};
                h->cap = HISTOGRAM_BUCKETS;
                h->first = *in++;
                h->count = *in++;
                if (h->first + h->count > HISTOGRAM_BUCKETS)
                        return ERR_DAMAGED;
        }
        if (len != packed_length(&u, version == VERSION ? FIELDS + DAY_WORDS : FIELDS))
                return ERR_DAMAGED;
        for (int i = 0; i < FIELDS; i++, in += WORD) {
                uint64_t word = get_word(in);
                memcpy((uint8_t *)&u + fields[i], &word, WORD);
        }
        if (version == VERSION)
                in = get_days(in, &u);
        for (int r = 0; r < RESOURCES; r++) {
                for (int n = 0; n < u.of[r].count; n++, in += WORD) {
                        uint64_t word = get_word(in);
                        memcpy(&u.of[r].w[n], &word, WORD);
                }
        }
        if (!usage_holds(&u))
                return ERR_DAMAGED;
        *ret = u;
        return 0;
}
