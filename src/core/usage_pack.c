#include "core/usage.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/crc.h"
#include "histogram_inner.h"
#include "usage_inner.h"

/*
 * The layout of version 2: a byte of version; first and count of each histogram, a byte each; the fields below, 8 bytes
 * each; the daily peaks, 4 bytes each; the weights of CPU, then of memory, 8 bytes each; a CRC-32C of all bytes before.
 * Version 3 has, before the CRC, also the starts: of CPU, then of memory, the time, 8 bytes, and the weights, 4 bytes
 * each. Version 4 is for a sum beyond the bounds of a container: first and count have two bytes each, and a byte behind
 * them says whether there are starts.
 *
 * Version 1 can be read too; it is version 2 without the daily peaks. The CRC is the last four bytes in every version,
 * so that a reader can tell damage from a later version.
 */
enum { SUM = 4, STARTED = 3, VERSION = 2, OLDEST = 1 };
enum { HEAD = 1 + 2 * RESOURCES, SUM_HEAD = 1 + 4 * RESOURCES + 1, WORD = 8, HALF = 4, CRC = 4 };
enum { START_BYTES = WORD + (START_BUCKETS + START_AGES) * HALF };

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
_Static_assert(sizeof(struct usage) == RESOURCES * sizeof(struct histogram) + (FIELDS - 4 + DAY_WORDS) * WORD +
                                               sizeof(struct usage_starts *),
               "a new field of struct usage wants a line in fields and a new version");
_Static_assert(SUM_HEAD + (FIELDS + DAY_WORDS + 2 * HISTOGRAM_SUM_BUCKETS) * WORD + RESOURCES * START_BYTES + CRC <=
                       USAGE_PACK_MAX,
               "the longest fits");

/* The loop is unrolled, because compilers then make one memory access of it. */
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

static uint8_t *put_floats(uint8_t *out, const float *w, int count)
{
        for (int i = 0; i < count; i++) {
                uint32_t half;
                memcpy(&half, &w[i], HALF);
                for (int k = 0; k < HALF; k++)
                        *out++ = (uint8_t)(half >> 8 * k);
        }
        return out;
}

static const uint8_t *get_floats(const uint8_t *in, float *ret, int count)
{
        for (int i = 0; i < count; i++, in += HALF) {
                uint32_t half = 0;
                for (int k = HALF; k-- > 0;)
                        half = half << 8 | in[k];
                memcpy(&ret[i], &half, HALF);
        }
        return in;
}

static size_t packed_length(const struct usage *u, int version, bool starts)
{
        int words = (version == OLDEST ? FIELDS : FIELDS + DAY_WORDS) + u->of[CPU].count + u->of[MEMORY].count;
        return (version == SUM ? SUM_HEAD : HEAD) + (size_t)words * WORD + (starts ? RESOURCES * START_BYTES : 0) + CRC;
}

/* --- saving --- */

static bool days_fit(const struct usage *u, double most)
{
        for (int i = 0; i < USAGE_DAYS; i++)
                if (u->day_mi[i] > ceil(most / 0x1p20))
                        return false;
        return true;
}

/* Whether a sum's history is within the bounds of a container's, so that programs older than version 4 accept it. */
static bool usage_fits_container(const struct usage *u)
{
        double most = usage_absurd[false][MEMORY];
        for (int r = 0; r < RESOURCES; r++)
                if (u->of[r].first + u->of[r].count >=
                    HISTOGRAM_BUCKETS) /* a container's last bucket also holds all larger values */
                        return false;
        for (int i = 0; i < USAGE_KILLS; i++)
                if (u->kill[i].bytes > most)
                        return false;
        return u->peak <= most && days_fit(u, most);
}

static uint8_t *put_head(const struct usage *u, int version, uint8_t *at)
{
        *at++ = (uint8_t)version;
        for (int r = 0; r < RESOURCES; r++) {
                const uint16_t range[] = {u->of[r].first, u->of[r].count};
                for (int i = 0; i < 2; i++) {
                        *at++ = (uint8_t)range[i];
                        if (version == SUM)
                                *at++ = (uint8_t)(range[i] >> 8);
                }
        }
        if (version == SUM)
                *at++ = u->starts != NULL;
        return at;
}

size_t usage_pack(const struct usage *u, uint8_t out[static USAGE_PACK_MAX])
{
        int version = u->of[CPU].sum && !usage_fits_container(u) ? SUM : u->starts ? STARTED : VERSION;
        uint8_t *at = put_head(u, version, out);
        uint64_t word;
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
        for (int r = 0; r < RESOURCES && u->starts; r++) {
                at = put_word(at, (uint64_t)u->starts->of[r].at_ms);
                at = put_floats(at, u->starts->of[r].weight, START_BUCKETS);
                at = put_floats(at, u->starts->of[r].above, START_AGES);
        }
        uint32_t crc = crc_add(0, out, (size_t)(at - out));
        for (int i = 0; i < CRC; i++)
                *at++ = (uint8_t)(crc >> 8 * i);
        return packed_length(u, version, u->starts != NULL);
}

/* --- loading --- */

static const int64_t most = (int64_t)1 << 60; /* bound of any time or count, so that sums and triples do not overflow */

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

static bool bytes_hold(const struct usage *u, double bytes, int64_t at_ms)
{
        return bytes >= 0 && !signbit(bytes) && bytes <= usage_absurd_of(u, MEMORY) && at_ms >= 0;
}

static bool kills_hold(const struct usage *u)
{
        for (int i = 0; i < USAGE_KILLS; i++) {
                const struct usage_kill *k = &u->kill[i], *older = i + 1 < USAGE_KILLS ? k + 1 : NULL;
                if (!bytes_hold(u, u->kill[i].bytes, u->kill[i].at_ms))
                        return false;
                if (older && older->bytes > 0 && (older->bytes <= k->bytes || older->at_ms > k->at_ms || k->bytes <= 0))
                        return false;
        }
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
               bytes_hold(u, u->peak, u->peak_at_ms) && kills_hold(u) && days_fit(u, usage_absurd_of(u, MEMORY)) &&
               (!u->starts || usage_starts_hold(u->starts));
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

static void get_starts(const uint8_t *in, struct usage_starts *ret)
{
        ret->live_since_ms = 0;
        for (int r = 0; r < RESOURCES; r++) {
                ret->of[r].at_ms = (int64_t)get_word(in);
                in = get_floats(in + WORD, ret->of[r].weight, START_BUCKETS);
                in = get_floats(in, ret->of[r].above, START_AGES);
        }
}

static uint16_t get_count(const uint8_t **in, bool wide)
{
        unsigned n = *(*in)++;
        if (wide)
                n |= (unsigned)*(*in)++ << 8;
        return (uint16_t)n;
}

/* Read the head of a packed history: version, ranges, and whether there are starts. Returns the version or an error. */
static int get_head(const uint8_t **in, size_t len, struct usage_memory *memory, struct usage *ret, bool *ret_starts)
{
        int version = *(*in)++;
        if (version < OLDEST || version > SUM)
                return ERR_INVALID;
        if (version == SUM && len < SUM_HEAD + CRC)
                return ERR_DAMAGED;
        for (int r = 0; r < RESOURCES; r++) {
                struct histogram *h = &ret->of[r];
                *h = (struct histogram){
                        .resource = (uint8_t)r, .sum = version == SUM, .w = memory->w + r * HISTOGRAM_SUM_BUCKETS};
                h->cap = HISTOGRAM_SUM_BUCKETS;
                h->first = get_count(in, version == SUM);
                h->count = get_count(in, version == SUM);
                if (h->first + h->count > histogram_buckets(h))
                        return ERR_DAMAGED;
        }
        int starts = version == SUM ? *(*in)++ : version == STARTED;
        *ret_starts = starts;
        return starts > 1 ? ERR_DAMAGED : version;
}

int usage_unpack(const uint8_t *in, size_t len, struct usage *ret, struct usage_memory *memory)
{
        struct usage u = {0};
        bool starts;
        if (!crc_holds(in, len))
                return ERR_DAMAGED;
        int version = get_head(&in, len, memory, &u, &starts);
        if (version < 0)
                return version;
        if (len != packed_length(&u, version, starts))
                return ERR_DAMAGED;
        for (int i = 0; i < FIELDS; i++, in += WORD) {
                uint64_t word = get_word(in);
                memcpy((uint8_t *)&u + fields[i], &word, WORD);
        }
        if (version > OLDEST)
                in = get_days(in, &u);
        for (int r = 0; r < RESOURCES; r++) {
                for (int n = 0; n < u.of[r].count; n++, in += WORD) {
                        uint64_t word = get_word(in);
                        memcpy(&u.of[r].w[n], &word, WORD);
                }
        }
        if (starts) {
                get_starts(in, &memory->starts);
                u.starts = &memory->starts;
        }
        if (!usage_holds(&u))
                return ERR_DAMAGED;
        *ret = u;
        return 0;
}
