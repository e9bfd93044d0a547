#include "decode_help.h"

static void say_hpa(struct buf *b, const struct hpa_view *h)
{
        say_meta(b, &h->meta);
        say(b, " -> %.*s/%.*s/%.*s", TEXT_ARG(h->target_api_version), TEXT_ARG(h->target_kind),
            TEXT_ARG(h->target_name));
        for (int i = 0; i < h->metrics; i++) {
                say(b, " | %s%s", resource_name(h->metric[i].resource), h->metric[i].utilization ? " utilization" : "");
                say_text(b, "container", h->metric[i].container);
        }
}

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

#define HPA(metrics)                                                                                                   \
        "{\"metadata\":{\"name\":\"h\",\"namespace\":\"n\"},\"spec\":{\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\"," \
        "\"kind\":\"Deployment\",\"name\":\"w\"},\"maxReplicas\":3,\"metrics\":[" metrics "]}}"
#define RESOURCE(name, target) "{\"type\":\"Resource\",\"resource\":{\"name\":\"" name "\",\"target\":{" target "}}}"
#define TO                     "n/h -> apps/v1/Deployment/w"
#define RANGE(items)           "{\"metadata\":{\"name\":\"l\",\"namespace\":\"n\"},\"spec\":{\"limits\":[" items "]}}"

static const struct {
        bool hpa;
        const char *in, *want;
} row[] = {
        {true, HPA(""), TO},
        {true, HPA(RESOURCE("cpu", "\"type\":\"Utilization\",\"averageUtilization\":60")), TO " | cpu utilization"},
        {true, HPA(RESOURCE("memory", "\"type\":\"AverageValue\",\"averageValue\":\"1Gi\"")), TO " | memory"},
        {true,
         HPA("{\"type\":\"ContainerResource\",\"containerResource\":{\"name\":\"cpu\",\"container\":\"app\",\"target\":"
             "{"
             "\"type\":\"Utilization\",\"averageUtilization\":60}}}," RESOURCE("memory", "\"type\":\"Utilization\"")),
         TO " | cpu utilization container=app | memory utilization"},
        {true,
         HPA("{\"type\":\"Pods\",\"pods\":{\"metric\":{\"name\":\"x\"},\"target\":{\"type\":\"AverageValue\"}}}"
             "," RESOURCE("nvidia.com/gpu", "\"type\":\"Utilization\"")),
         TO},
        {true, "{\"metadata\":{\"name\":\"h\"}}", "/h -> //"},
        {true, "{\"spec\":{}}", "!HorizontalPodAutoscaler '': metadata.name is missing"},
        {false,
         RANGE("{\"type\":\"Container\",\"defaultRequest\":{\"cpu\":\"100m\",\"memory\":\"64Mi\"},\"default\":{\"cpu\":"
               "1},"
               "\"min\":{\"cpu\":\"50m\"},\"max\":{\"memory\":\"1Gi\"},\"maxLimitRequestRatio\":{\"cpu\":\"1500m\","
               "\"memory\":2}}"),
         "n/l request.cpu=100 request.memory=67108864 limit.cpu=1000 min.cpu=50 max.memory=1073741824 ratio.cpu=1500 "
         "ratio.memory=2000"},
        /* the strictest of several; pods and claims are other things */
        {false,
         RANGE("{\"type\":\"Pod\",\"max\":{\"cpu\":\"1m\"}},{\"type\":\"Container\",\"min\":{\"cpu\":\"50m\"},\"max\":{"
               "\"cpu\":2},"
               "\"maxLimitRequestRatio\":{\"cpu\":4},\"defaultRequest\":{\"cpu\":\"1m\"}},{\"type\":\"Container\","
               "\"min\":"
               "{\"cpu\":\"60m\"},\"max\":{\"cpu\":3},\"maxLimitRequestRatio\":{\"cpu\":3},\"defaultRequest\":{\"cpu\":"
               "\"2m\"}}"),
         "n/l request.cpu=2 min.cpu=60 max.cpu=2000 ratio.cpu=3000"},
        /* the type may come last */
        {false,
         RANGE("{\"min\":{\"cpu\":1},\"maxLimitRequestRatio\":{\"memory\":2},\"default\":{\"cpu\":3},\"type\":\"Pod\"},"
               "{\"min\":{\"cpu\":\"1500m\"},\"type\":\"Pod\"}"),
         "n/l pod.min.cpu=1500 pod.ratio.memory=2000"},
        {false, RANGE("{\"type\":\"Container\",\"min\":{\"cpu\":\"lots\"}}"),
         "!LimitRange 'n/l': limits[0]: min 'lots' is not a quantity"},
};

static void policies_are_read_as_the_table_says(void **state)
{
        (void)state;
        struct arena a = {0};
        struct hpa_view hpa;
        struct limit_range_view range;
        struct buf got;
        buf_init(&got, 1 << 16);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                struct text in = text_of(row[i].in);
                buf_reset(&got);
                int rc = row[i].hpa ? decode_hpa(in, &a, &hpa, &err) : decode_limit_range(in, &a, &range, &err);
                if (rc == 0 && row[i].hpa)
                        say_hpa(&got, &hpa);
                else if (rc == 0)
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
