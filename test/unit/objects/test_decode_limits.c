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

static void say_quota(struct buf *b, const struct resource_quota_view *q)
{
        static const char *const names[QUOTA_COUNTS] = {"cpu", "memory", "limits.cpu", "limits.memory", "pods"};
        say_meta(b, &q->meta);
        for (int i = 0; i < QUOTA_COUNTS; i++)
                if (q->hard[i].set)
                        say(b, " %s=%lld/%lld", names[i], (long long)q->used[i].value, (long long)q->hard[i].value);
        if (q->scopes)
                say(b, " scopes=%u", q->scopes);
        for (int i = 0; i < q->class_count; i++)
                say(b, " %d:%.*s", (int)q->classes, TEXT_ARG(q->class[i]));
}

#define RANGE(items) "{\"metadata\":{\"name\":\"l\",\"namespace\":\"n\"},\"spec\":{\"limits\":[" items "]}}"

#define QUOTA(spec, status)                                                                                            \
        "{\"metadata\":{\"name\":\"q\",\"namespace\":\"n\"},\"spec\":{" spec "},\"status\":{" status "}}"
#define CLASSES(op, values)                                                                                            \
        "\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":\"" op "\"" values "}" \
        "]"                                                                                                            \
        "}"

static const struct {
        enum { RANGE_ROW, QUOTA_ROW } of;
        const char *in, *want;
} row[] = {
        {RANGE_ROW,
         RANGE("{\"type\":\"Container\",\"defaultRequest\":{\"cpu\":\"100m\",\"memory\":\"64Mi\"},\"default\":{\"cpu\":"
               "1},"
               "\"min\":{\"cpu\":\"50m\"},\"max\":{\"memory\":\"1Gi\"},\"maxLimitRequestRatio\":{\"cpu\":\"1500m\","
               "\"memory\":2}}"),
         "n/l request.cpu=100 request.memory=67108864 limit.cpu=1000 min.cpu=50 max.memory=1073741824 ratio.cpu=1500 "
         "ratio.memory=2000"},
        /* the strictest of several; pods and claims are other things */
        {RANGE_ROW,
         RANGE("{\"type\":\"Pod\",\"max\":{\"cpu\":\"1m\"}},{\"type\":\"Container\",\"min\":{\"cpu\":\"50m\"},\"max\":{"
               "\"cpu\":2},"
               "\"maxLimitRequestRatio\":{\"cpu\":4},\"defaultRequest\":{\"cpu\":\"1m\"}},{\"type\":\"Container\","
               "\"min\":"
               "{\"cpu\":\"60m\"},\"max\":{\"cpu\":3},\"maxLimitRequestRatio\":{\"cpu\":3},\"defaultRequest\":{\"cpu\":"
               "\"2m\"}}"),
         "n/l request.cpu=2 min.cpu=60 max.cpu=2000 ratio.cpu=3000"},
        /* the type may come last */
        {RANGE_ROW,
         RANGE("{\"min\":{\"cpu\":1},\"maxLimitRequestRatio\":{\"memory\":2},\"default\":{\"cpu\":3},\"type\":\"Pod\"},"
               "{\"min\":{\"cpu\":\"1500m\"},\"type\":\"Pod\"}"),
         "n/l pod.min.cpu=1500 pod.ratio.memory=2000"},
        {RANGE_ROW, RANGE("{\"type\":\"Container\",\"min\":{\"cpu\":\"lots\"}}"),
         "!LimitRange 'n/l': limits[0]: min 'lots' is not a quantity"},
        /* what status enforces counts, and what spec asks for until there is one */
        {QUOTA_ROW, QUOTA("\"hard\":{\"cpu\":\"4\",\"pods\":\"10\",\"secrets\":\"3\"}", ""),
         "n/q cpu=0/4000 pods=0/10"},
        {QUOTA_ROW,
         QUOTA("\"hard\":{\"requests.cpu\":8,\"limits.memory\":\"1Gi\"}",
               "\"hard\":{\"requests.cpu\":\"4\",\"limits.memory\":\"1Gi\"},\"used\":{\"requests.cpu\":\"1500m\","
               "\"limits.memory\":\"512Mi\"}"),
         "n/q cpu=1500/4000 limits.memory=536870912/1073741824"},
        {QUOTA_ROW,
         QUOTA("", "\"hard\":{\"cpu\":5,\"requests.cpu\":4,\"count/pods\":7,\"pods\":9},\"used\":{\"cpu\":3,"
                   "\"requests.cpu\":3,\"count/pods\":1,\"pods\":2}"),
         "n/q cpu=3000/4000 pods=1/7"},
        {QUOTA_ROW,
         QUOTA("\"hard\":{\"memory\":\"2Gi\",\"limits.cpu\":2},\"scopes\":[\"NotTerminating\",\"BestEffort\",\"New\"]",
               ""),
         "n/q memory=0/2147483648 limits.cpu=0/2000 scopes=38"},
        {QUOTA_ROW, QUOTA(CLASSES("In", ",\"values\":[\"high\",\"low\"]"), ""), "n/q scopes=16 2:high 2:low"},
        {QUOTA_ROW, QUOTA(CLASSES("Exists", ""), ""), "n/q scopes=16"},
        {QUOTA_ROW, QUOTA(CLASSES("NotIn", ",\"values\":[\"low\"]"), ""), "n/q scopes=16 3:low"},
        {QUOTA_ROW,
         QUOTA("\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":\"Exists\"},{"
               "\"scopeName\":\"PriorityClass\",\"operator\":\"NotIn\",\"values\":[\"low\"]}]}",
               ""),
         "n/q scopes=80 3:low"},
        {QUOTA_ROW, QUOTA("\"hard\":{\"cpu\":\"much\"}", ""),
         "!ResourceQuota 'n/q': hard 'much' is not a quantity (byte 3)"},
};

union policy_view {
        struct limit_range_view range;
        struct resource_quota_view quota;
};

static int decode_row(size_t i, struct arena *a, union policy_view *v, struct buf *got, struct err *err)
{
        struct text in = text_of(row[i].in);
        int rc = 0;
        switch (row[i].of) {
        case RANGE_ROW:
                if ((rc = decode_limit_range(in, a, &v->range, err)) == 0)
                        say_limit_range(got, &v->range);
                break;
        case QUOTA_ROW:
                if ((rc = decode_resource_quota(in, a, &v->quota, err)) == 0)
                        say_quota(got, &v->quota);
                break;
        }
        return rc;
}

static void policies_are_read_as_the_table_says(void **state)
{
        (void)state;
        struct arena a = {0};
        union policy_view view;
        struct buf got;
        buf_init(&got, 1 << 16);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                buf_reset(&got);
                int rc = decode_row(i, &a, &view, &got, &err);
                expect(row[i].in, row[i].want, rc, &err, &got);
        }
        buf_release(&got);
        arena_release(&a);
}

/* Each item is merged as it is read, so the last of many bounds as the first does. */
static void every_item_of_a_long_limit_range_counts(void **state)
{
        (void)state;
        struct arena a = {0};
        struct limit_range_view l;
        struct err err = {0};
        struct buf in;
        buf_init(&in, 1 << 16);
        say(&in, "{\"metadata\":{\"name\":\"l\",\"namespace\":\"n\"},\"spec\":{\"limits\":[");
        for (int i = 0; i < 3 * VIEW_METRICS; i++)
                say(&in, "{\"type\":\"Container\",\"min\":{\"cpu\":\"10m\"}},");
        say(&in, "{\"type\":\"Container\",\"min\":{\"cpu\":\"70m\"}}]}}");
        if (decode_limit_range(buf_text(&in), &a, &l, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(l.min[CPU].value, 70);
        buf_release(&in);
        arena_release(&a);
}

/* A quota of more priority classes than are kept may concern any pod. */
static void a_quota_with_many_classes_may_match_any_pod(void **state)
{
        (void)state;
        for (int more = 0; more < 2; more++) {
                struct arena a = {0};
                struct resource_quota_view q;
                struct err err = {0};
                struct buf in;
                buf_init(&in, 1 << 16);
                say(&in, "{\"metadata\":{\"name\":\"q\",\"namespace\":\"n\"},\"spec\":{\"scopeSelector\":{"
                         "\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":\"In\",\"values\":[");
                for (int i = 0; i < VIEW_METRICS + more; i++)
                        say(&in, "%s\"c%d\"", i ? "," : "", i);
                say(&in, "]}]}}}");
                if (decode_resource_quota(buf_text(&in), &a, &q, &err) < 0)
                        fail_msg("%s", err.text);
                assert_int_equal(q.class_count, VIEW_METRICS);
                assert_int_equal(q.scopes, QUOTA_PRIORITY | (more ? QUOTA_UNSURE_SCOPE : 0));
                buf_release(&in);
                arena_release(&a);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(policies_are_read_as_the_table_says),
                cmocka_unit_test(every_item_of_a_long_limit_range_counts),
                cmocka_unit_test(a_quota_with_many_classes_may_match_any_pod),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
