#include "core/usage.h"

#include <float.h>
#include <math.h>
#include <string.h>

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

/* By the place of the byte among eight, and by its low and high half. */
static const uint32_t crc_of[WORD][2][16] = {
        {{0x00000000, 0xf26b8303, 0xe13b70f7, 0x1350f3f4, 0xc79a971f, 0x35f1141c, 0x26a1e7e8, 0xd4ca64eb, 0x8ad958cf,
          0x78b2dbcc, 0x6be22838, 0x9989ab3b, 0x4d43cfd0, 0xbf284cd3, 0xac78bf27, 0x5e133c24},
         {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d, 0x82f63b78,
          0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75}},
        {{0x00000000, 0x13a29877, 0x274530ee, 0x34e7a899, 0x4e8a61dc, 0x5d28f9ab, 0x69cf5132, 0x7a6dc945, 0x9d14c3b8,
          0x8eb65bcf, 0xba51f356, 0xa9f36b21, 0xd39ea264, 0xc03c3a13, 0xf4db928a, 0xe7790afd},
         {0x00000000, 0x3fc5f181, 0x7f8be302, 0x404e1283, 0xff17c604, 0xc0d23785, 0x809c2506, 0xbf59d487, 0xfbc3faf9,
          0xc4060b78, 0x844819fb, 0xbb8de87a, 0x04d43cfd, 0x3b11cd7c, 0x7b5fdfff, 0x449a2e7e}},
        {{0x00000000, 0xa541927e, 0x4f6f520d, 0xea2ec073, 0x9edea41a, 0x3b9f3664, 0xd1b1f617, 0x74f06469, 0x38513ec5,
          0x9d10acbb, 0x773e6cc8, 0xd27ffeb6, 0xa68f9adf, 0x03ce08a1, 0xe9e0c8d2, 0x4ca15aac},
         {0x00000000, 0x70a27d8a, 0xe144fb14, 0x91e6869e, 0xc76580d9, 0xb7c7fd53, 0x26217bcd, 0x56830647, 0x8b277743,
          0xfb850ac9, 0x6a638c57, 0x1ac1f1dd, 0x4c42f79a, 0x3ce08a10, 0xad060c8e, 0xdda47104}},
        {{0x00000000, 0xdd45aab8, 0xbf672381, 0x62228939, 0x7b2231f3, 0xa6679b4b, 0xc4451272, 0x1900b8ca, 0xf64463e6,
          0x2b01c95e, 0x49234067, 0x9466eadf, 0x8d665215, 0x5023f8ad, 0x32017194, 0xef44db2c},
         {0x00000000, 0xe964b13d, 0xd725148b, 0x3e41a5b6, 0xaba65fe7, 0x42c2eeda, 0x7c834b6c, 0x95e7fa51, 0x52a0c93f,
          0xbbc47802, 0x8585ddb4, 0x6ce16c89, 0xf90696d8, 0x106227e5, 0x2e238253, 0xc747336e}},
        {{0x00000000, 0x38116fac, 0x7022df58, 0x4833b0f4, 0xe045beb0, 0xd854d11c, 0x906761e8, 0xa8760e44, 0xc5670b91,
          0xfd76643d, 0xb545d4c9, 0x8d54bb65, 0x2522b521, 0x1d33da8d, 0x55006a79, 0x6d1105d5},
         {0x00000000, 0x8f2261d3, 0x1ba8b557, 0x948ad484, 0x37516aae, 0xb8730b7d, 0x2cf9dff9, 0xa3dbbe2a, 0x6ea2d55c,
          0xe180b48f, 0x750a600b, 0xfa2801d8, 0x59f3bff2, 0xd6d1de21, 0x425b0aa5, 0xcd796b76}},
        {{0x00000000, 0xef306b19, 0xdb8ca0c3, 0x34bccbda, 0xb2f53777, 0x5dc55c6e, 0x697997b4, 0x8649fcad, 0x6006181f,
          0x8f367306, 0xbb8ab8dc, 0x54bad3c5, 0xd2f32f68, 0x3dc34471, 0x097f8fab, 0xe64fe4b2},
         {0x00000000, 0xc00c303e, 0x85f4168d, 0x45f826b3, 0x0e045beb, 0xce086bd5, 0x8bf04d66, 0x4bfc7d58, 0x1c08b7d6,
          0xdc0487e8, 0x99fca15b, 0x59f09165, 0x120cec3d, 0xd200dc03, 0x97f8fab0, 0x57f4ca8e}},
        {{0x00000000, 0x68032cc8, 0xd0065990, 0xb8057558, 0xa5e0c5d1, 0xcde3e919, 0x75e69c41, 0x1de5b089, 0x4e2dfd53,
          0x262ed19b, 0x9e2ba4c3, 0xf628880b, 0xebcd3882, 0x83ce144a, 0x3bcb6112, 0x53c84dda},
         {0x00000000, 0x9c5bfaa6, 0x3d5b83bd, 0xa100791b, 0x7ab7077a, 0xe6ecfddc, 0x47ec84c7, 0xdbb77e61, 0xf56e0ef4,
          0x6935f452, 0xc8358d49, 0x546e77ef, 0x8fd9098e, 0x1382f328, 0xb2828a33, 0x2ed97095}},
        {{0x00000000, 0x493c7d27, 0x9278fa4e, 0xdb448769, 0x211d826d, 0x6821ff4a, 0xb3657823, 0xfa590504, 0x423b04da,
          0x0b0779fd, 0xd043fe94, 0x997f83b3, 0x632686b7, 0x2a1afb90, 0xf15e7cf9, 0xb86201de},
         {0x00000000, 0x847609b4, 0x0d006599, 0x89766c2d, 0x1a00cb32, 0x9e76c286, 0x1700aeab, 0x9376a71f, 0x34019664,
          0xb0779fd0, 0x3901f3fd, 0xbd77fa49, 0x2e015d56, 0xaa7754e2, 0x230138cf, 0xa777317b}},
};

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

/* What eight bytes do, first byte lowest. The lower half waits for the CRC before it: the upper one is not kept waiting
 * with it. */
static uint32_t crc_word(uint64_t word)
{
        uint32_t upper = 0, lower = 0;
#pragma GCC unroll 4
        for (int i = 0; i < WORD / 2; i++) {
                uint64_t up = word >> (56 - 8 * i), low = word >> (24 - 8 * i);
                upper ^= crc_of[i][0][up & 15] ^ crc_of[i][1][up >> 4 & 15];
                lower ^= crc_of[i + 4][0][low & 15] ^ crc_of[i + 4][1][low >> 4 & 15];
        }
        return upper ^ lower;
}

static uint32_t crc32c(const uint8_t *in, size_t len)
{
        uint32_t crc = UINT32_MAX;
        for (; len >= WORD; in += WORD, len -= WORD)
                crc = crc_word(get_word(in) ^ crc);
        for (; len > 0; in++, len--) {
                uint32_t byte = (crc ^ *in) & 255;
                crc = crc >> 8 ^ crc_of[0][0][byte & 15] ^ crc_of[0][1][byte >> 4];
        }
        return ~crc;
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
        uint32_t crc = crc32c(out, (size_t)(at - out));
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
        return crc32c(in, len - CRC) == stored;
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
