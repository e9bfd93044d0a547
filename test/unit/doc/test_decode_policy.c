#include "decode_help.h"

static void say_limit_range(struct buf *b, const struct limit_range_view *l)
{
        say_meta(b, &l->meta);
        say_amounts(b, "request", l->default_request);
        say_amounts(b, "limit", l->default_limit);
        say_amounts(b, "min", l->min);
        say_amounts(b, "max", l->max);
        say_amounts(b, "ratio", l->ratio);
        say_amounts(b, "pod.min", l->pod_min);
        say_amounts(b, "pod.ratio", l->pod_ratio);
}

#define RANGE(items) "{\"metadata\":{\"name\":\"l\",\"namespace\":\"n\"},\"spec\":{\"limits\":[" items "]}}"

static const struct {
        const char *in, *want;
} row[] = {
        {RANGE("{\"type\":\"Container\",\"defaultRequest\":{\"cpu\":\"100m\",\"memory\":\"64Mi\"},\"default\":{\"cpu\":"
               "1},"
               "\"min\":{\"cpu\":\"50m\"},\"max\":{\"memory\":\"1Gi\"},\"maxLimitRequestRatio\":{\"cpu\":\"1500m\","
               "\"memory\":2}}"),
         "n/l request.cpu=100 request.memory=67108864 limit.cpu=1000 min.cpu=50 max.memory=1073741824 ratio.cpu=1500 "
         "ratio.memory=2000"},
        /* the strictest of several; pods and claims are other things */
        {RANGE("{\"type\":\"Pod\",\"max\":{\"cpu\":\"1m\"}},{\"type\":\"Container\",\"min\":{\"cpu\":\"50m\"},\"max\":{"
               "\"cpu\":2},"
               "\"maxLimitRequestRatio\":{\"cpu\":4},\"defaultRequest\":{\"cpu\":\"1m\"}},{\"type\":\"Container\","
               "\"min\":"
               "{\"cpu\":\"60m\"},\"max\":{\"cpu\":3},\"maxLimitRequestRatio\":{\"cpu\":3},\"defaultRequest\":{\"cpu\":"
               "\"2m\"}}"),
         "n/l request.cpu=2 min.cpu=60 max.cpu=2000 ratio.cpu=3000"},
        /* the type may come last */
        {RANGE("{\"min\":{\"cpu\":1},\"maxLimitRequestRatio\":{\"memory\":2},\"default\":{\"cpu\":3},\"type\":\"Pod\"},"
               "{\"min\":{\"cpu\":\"1500m\"},\"type\":\"Pod\"}"),
         "n/l pod.min.cpu=1500 pod.ratio.memory=2000"},
        {RANGE("{\"type\":\"Container\",\"min\":{\"cpu\":\"lots\"}}"),
         "!LimitRange 'n/l': limits[0]: min 'lots' is not a quantity"},
};

static void policies_are_read_as_the_table_says(void **state)
{
        (void)state;
        struct arena a = {0};
        struct limit_range_view range;
        struct buf got;
        buf_init(&got, 1 << 16);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                struct text in = text_of(row[i].in);
                buf_reset(&got);
                int rc = decode_limit_range(in, &a, &range, &err);
                if (rc == 0)
                        say_limit_range(&got, &range);
                expect(row[i].in, row[i].want, rc, &err, &got);
        }
        buf_release(&got);
        arena_release(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(policies_are_read_as_the_table_says)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
