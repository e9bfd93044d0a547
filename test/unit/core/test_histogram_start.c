#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "histogram_fixture.h"

/* --- the table of starts, in exact integers -------------------------------------------------------------------------
 */

enum { LIMBS = 64 };
struct big {
        uint32_t limb[LIMBS]; /* least first */
};

static struct big big_of(uint64_t v)
{
        return (struct big){{(uint32_t)v, (uint32_t)(v >> 32)}};
}

static struct big big_times(struct big a, uint32_t by)
{
        uint64_t carry = 0;
        for (int i = 0; i < LIMBS; i++) {
                carry += (uint64_t)a.limb[i] * by;
                a.limb[i] = (uint32_t)carry;
                carry >>= 32;
        }
        assert_int_equal(carry, 0);
        return a;
}

static struct big big_minus(struct big a, struct big b)
{
        int64_t borrow = 0;
        for (int i = 0; i < LIMBS; i++) {
                borrow += (int64_t)a.limb[i] - b.limb[i];
                a.limb[i] = (uint32_t)borrow;
                borrow >>= 32;
        }
        assert_int_equal(borrow, 0);
        return a;
}

static int big_compare(const struct big *a, const struct big *b)
{
        for (int i = LIMBS; i-- > 0;)
                if (a->limb[i] != b->limb[i])
                        return a->limb[i] > b->limb[i] ? 1 : -1;
        return 0;
}

/* a * b for b below 2^53 */
static struct big big_times_long(struct big a, uint64_t b)
{
        struct big high = big_times(big_times(a, (uint32_t)(b >> 32)), 1u << 16), low = big_times(a, (uint32_t)b);
        high = big_times(high, 1u << 16);
        uint64_t carry = 0;
        for (int i = 0; i < LIMBS; i++) {
                carry += (uint64_t)high.limb[i] + low.limb[i];
                low.limb[i] = (uint32_t)carry;
                carry >>= 32;
        }
        return low;
}

/* Is d the double nearest to num/den (ties to even)? */
static bool is_nearest(double d, struct big num, struct big den)
{
        int exponent;
        uint64_t mantissa = (uint64_t)ldexp(frexp(d, &exponent), 53);
        exponent -= 53;
        for (; exponent < 0; exponent++)
                num = big_times(num, 2);
        for (; exponent > 0; exponent--)
                den = big_times(den, 2);
        struct big ours = big_times_long(den, mantissa); /* d * den */
        bool above = big_compare(&ours, &num) > 0;
        struct big off = above ? big_minus(ours, num) : big_minus(num, ours);
        /* half a unit in the last place; a quarter below a power of two */
        off = big_times(off, above && mantissa == (uint64_t)1 << 52 ? 4 : 2);
        int way = big_compare(&off, &den);
        return way < 0 || (way == 0 && mantissa % 2 == 0);
}

static void test_starts_are_nearest(void **state)
{
        (void)state;
        /* first * (r^n - 1) / (r - 1) = first * 20 * (21^n - 20^n) / 20^n; first * 20 is 1/5 core, 2e8 bytes */
        struct big n21 = big_of(1), n20 = big_of(1);
        assert_true(histogram_start(CPU, 0) == 0 && histogram_start(MEMORY, 0) == 0);
        for (int n = 1; n < HISTOGRAM_SUM_BUCKETS; n++) {
                n21 = big_times(n21, 21);
                n20 = big_times(n20, 20);
                struct big grown = big_minus(n21, n20);
                double cpu = histogram_start(CPU, n), memory = histogram_start(MEMORY, n);
                if (!is_nearest(cpu, grown, big_times(n20, 5)) || !is_nearest(memory, big_times(grown, 200000000), n20))
                        fail_msg("start(%d): %.17g cores, %.17g bytes", n, cpu, memory);
                assert_false(is_nearest(nextafter(cpu, 0), grown, big_times(n20, 5)));
                assert_false(is_nearest(nextafter(memory, (double)INFINITY), big_times(grown, 200000000), n20));
        }
        assert_true(histogram_start(CPU, LAST) > 1000 && histogram_start(CPU, LAST - 1) < 1000);
        assert_true(histogram_start(MEMORY, LAST) > 1e12 && histogram_start(MEMORY, LAST - 1) < 1e12);
        assert_true(histogram_start(CPU, SUM_LAST) > 5.4e6 && histogram_start(CPU, SUM_LAST) < 5.5e6);
        assert_true(histogram_start(MEMORY, SUM_LAST) > 5.4e15 && histogram_start(MEMORY, SUM_LAST) < 5.5e15);
}

static void test_bucket_of_start(void **state)
{
        (void)state;
        for (int r = 0; r < RESOURCES; r++) {
                enum resource of = (enum resource)r;
                for (int n = 0; n < HISTOGRAM_BUCKETS; n++) {
                        double start = histogram_start(of, n);
                        if (histogram_bucket(of, start) != n ||
                            (n && histogram_bucket(of, nextafter(start, 0)) != n - 1))
                                fail_msg("%s: bucket(start(%d)) = %d", resource_name(of), n,
                                         histogram_bucket(of, start));
                        assert_int_equal(histogram_bucket(of, inside(of, n)), n);
                        assert_true(histogram_edge(of, n) == histogram_start(of, n < LAST ? n + 1 : LAST));
                }
                assert_int_equal(histogram_bucket(of, 1e300), LAST);
                assert_int_equal(histogram_bucket(of, 1e-300), 0);
        }
}

/* The buckets of a container are the first of a sum, but for the last one, which ends there. */
static void test_bucket_of_a_sum(void **state)
{
        (void)state;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct histogram h;
                histogram_init(&h, r, DAY);
                assert_int_equal(histogram_buckets(&h), HISTOGRAM_BUCKETS);
                assert_true(histogram_edge_of(&h, LAST) == histogram_start(r, LAST));
                assert_true(histogram_edge_of(&h, 7) == histogram_start(r, 8));
                histogram_make_sum(&h);
                assert_int_equal(histogram_buckets(&h), HISTOGRAM_SUM_BUCKETS);
                for (int n = 0; n < HISTOGRAM_SUM_BUCKETS; n++) {
                        double start = histogram_start(r, n);
                        assert_int_equal(histogram_sum_bucket(r, start), n);
                        if (n > 0)
                                assert_int_equal(histogram_sum_bucket(r, nextafter(start, 0)), n - 1);
                        assert_int_equal(histogram_bucket(r, start), n < LAST ? n : LAST);
                        assert_true(histogram_edge_of(&h, n) == histogram_start(r, n < SUM_LAST ? n + 1 : SUM_LAST));
                }
                assert_int_equal(histogram_sum_bucket(r, 1e300), SUM_LAST);
        }
}

/* --- from the range held -------------------------------------------------------------------------------------------
 */

/* Whatever range is held, the bucket is the same. */
static void test_bucket_near(void **state)
{
        (void)state;
        for (int kind = 0; kind < 2 * RESOURCES; kind++) {
                struct histogram h = {.resource = (uint8_t)(kind % RESOURCES), .sum = kind >= RESOURCES};
                int buckets = histogram_buckets(&h);
                for (int first = 0; first < buckets; first += 7)
                        for (int count = 0; first + count <= buckets; count += h.sum ? 5 : 1) {
                                h.first = (uint16_t)(count ? first : 0);
                                h.count = h.cap = (uint16_t)count;
                                for (int n = 0; n < buckets; n++) {
                                        double start = histogram_start((enum resource)h.resource, n);
                                        if (histogram_bucket_near(&h, start) != n ||
                                            (n && histogram_bucket_near(&h, nextafter(start, 0)) != n - 1))
                                                fail_msg("%d buckets from %d: bucket(start(%d)) = %d", count, first, n,
                                                         histogram_bucket_near(&h, start));
                                }
                        }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_starts_are_nearest),
                cmocka_unit_test(test_bucket_of_start),
                cmocka_unit_test(test_bucket_of_a_sum),
                cmocka_unit_test(test_bucket_near),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
