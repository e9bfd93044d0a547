#include "core/canary_choice.h"

#include "core/sha256.h"

static void canary_add(struct sha256 *s, struct text part)
{
        sha256_add(s, part.p, part.len);
        sha256_add(s, "/", 1);
}

static uint32_t canary_digest_rank(struct sha256 *s)
{
        uint8_t out[SHA256_BYTES];
        sha256_finish(s, out);
        return (uint32_t)out[0] << 24 | (uint32_t)out[1] << 16 | (uint32_t)out[2] << 8 | out[3];
}

uint32_t canary_rank(struct text ns, struct text name)
{
        struct sha256 s;
        sha256_init(&s);
        canary_add(&s, ns);
        canary_add(&s, name);
        return canary_digest_rank(&s);
}

uint32_t canary_rank_of(struct text ns, struct text kind, struct text name)
{
        struct sha256 s;
        sha256_init(&s);
        canary_add(&s, ns);
        canary_add(&s, kind);
        canary_add(&s, name);
        return canary_digest_rank(&s);
}

bool canary_chosen(uint32_t rank, int percent)
{
        return (uint64_t)rank * 100 < (uint64_t)percent << 32;
}

size_t canary_share(size_t n, int percent)
{
        size_t share = n / 100 * (size_t)percent + n % 100 * (size_t)percent / 100;
        return share > 0 || n == 0 ? share : 1;
}

bool canary_is_complete(const struct canary_tally *t)
{
        return t->changed > 0 && t->passed == t->changed && t->reverted == 0 && t->due == 0;
}

void canary_tally_add(struct canary_tally *t, const struct canary_tally *more)
{
        t->workloads += more->workloads;
        t->changed += more->changed;
        t->passed += more->passed;
        t->reverted += more->reverted;
        t->due += more->due;
}

bool canary_passed(int64_t since_ms, int64_t now_ms, int64_t watch_ms)
{
        return since_ms > 0 && since_ms <= now_ms && now_ms - since_ms >= watch_ms;
}
