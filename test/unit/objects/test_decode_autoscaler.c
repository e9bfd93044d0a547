#include "decode_help.h"

static void say_autoscaler(struct buf *b, const struct autoscaler_view *s)
{
        static const char *const source[] = {"Resource", "ContainerResource", "Pods", "other", "unknown"};
        static const char *const target[] = {"?", "utilization", "average", "value"};
        say_meta(b, &s->meta);
        say(b, " -> %.*s/%.*s/%.*s", TEXT_ARG(s->target.api_version), TEXT_ARG(s->target.kind),
            TEXT_ARG(s->target.name));
        for (int i = 0; i < s->metrics; i++) {
                const struct metric_view *m = &s->metric[i];
                say(b, " | %s %s %s", source[m->source], m->resource < RESOURCES ? resource_name(m->resource) : "-",
                    target[m->target]);
                if (m->percent)
                        say(b, " %lld", (long long)m->percent);
                say_text(b, "container", m->container);
                say_text(b, "name", m->name);
        }
        say_text(b, "applier", s->applier);
        say_text(b, "writer", s->writer);
}

#define META(more) "{\"metadata\":{\"name\":\"h\",\"namespace\":\"n\"" more "},"
#define SPEC(metrics)                                                                                                  \
        "\"spec\":{\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"w\"},"            \
        "\"maxReplicas\":3,\"metrics\":[" metrics "]}}"
#define HPA(metrics)           META("") SPEC(metrics)
#define RESOURCE(name, target) "{\"type\":\"Resource\",\"resource\":{\"name\":\"" name "\",\"target\":{" target "}}}"
#define SIXTY                  "\"type\":\"Utilization\",\"averageUtilization\":60"
#define TO                     "n/h -> apps/v1/Deployment/w"
#define OWNED(entries)         META(",\"managedFields\":[" entries "]") SPEC(RESOURCE("cpu", SIXTY))
#define ENTRY(manager, operation, fields)                                                                              \
        "{\"manager\":\"" manager "\",\"operation\":\"" operation "\",\"fieldsV1\":{\"f:spec\":{" fields "}}}"
#define METRICS "\"f:metrics\":{}"

static const struct {
        const char *in, *want;
} row[] = {
        {HPA(""), TO},
        {HPA(RESOURCE("cpu", SIXTY)), TO " | Resource cpu utilization 60"},
        {HPA(RESOURCE("memory", "\"type\":\"AverageValue\",\"averageValue\":\"1Gi\"")),
         TO " | Resource memory average"},
        {HPA("{\"type\":\"ContainerResource\",\"containerResource\":{\"name\":\"cpu\",\"container\":\"app\",\"target\":"
             "{" SIXTY "}}}," RESOURCE("memory", "\"type\":\"Utilization\"")),
         TO " | ContainerResource cpu utilization 60 container=app | Resource memory utilization"},
        /* each keeps its place */
        {HPA("{\"type\":\"Pods\",\"pods\":{\"metric\":{\"name\":\"x\"},\"target\":{\"type\":\"AverageValue\"}}}"
             "," RESOURCE("nvidia.com/gpu", "\"type\":\"Utilization\"") ",{\"type\":\"External\",\"external\":{}}"),
         TO " | Pods - average name=x | Resource - utilization | other - ?"},
        {HPA("{\"type\":\"Astral\",\"astral\":{}}"), TO " | unknown - ?"},
        {HPA(RESOURCE("cpu", "\"type\":\"Guess\"")), TO " | Resource cpu ?"},
        /* the list is atomic */
        {OWNED(ENTRY("flux", "Apply", METRICS)), TO " | Resource cpu utilization 60 applier=flux writer=flux"},
        {OWNED(ENTRY("old", "Apply", "\"f:targetCPUUtilizationPercentage\":{}")),
         TO " | Resource cpu utilization 60 applier=old writer=old"},
        {OWNED(ENTRY("kubectl", "Update", METRICS)), TO " | Resource cpu utilization 60 writer=kubectl"},
        {OWNED(ENTRY("halflife", "Apply", METRICS)), TO " | Resource cpu utilization 60"},
        {OWNED(ENTRY("flux", "Apply", "\"f:maxReplicas\":{}")), TO " | Resource cpu utilization 60"},
        /* what is recorded, and whose it is */
        {META(",\"annotations\":{\"halflife.dev/original-targets\":\"a\",\"halflife.dev/applied-targets\":\"b\","
              "\"autoscaling.alpha.kubernetes.io/x\":\"c\"},\"labels\":{\"team\":\"t\"},\"ownerReferences\":[{"
              "\"apiVersion\":\"keda.sh/v1alpha1\",\"kind\":\"ScaledObject\",\"name\":\"s\",\"uid\":\"u\","
              "\"controller\":true}]") SPEC(""),
         "n/h owner=keda.sh/v1alpha1/ScaledObject/s/u annotations: targets=a targets-applied=b label:team=t"
         " -> apps/v1/Deployment/w"},
        {META("") "\"spec\":{\"scaleTargetRef\":{\"name\":\"w\",\"x\":[{}],\"kind\":\"Deployment\"},\"metrics\":null}}",
         "n/h -> /Deployment/w"},
        {META("") "\"spec\":{\"scaleTargetRef\":{\"name\":7}}}", "!a string was expected"},
        {HPA("7"), "!an object was expected"},
        {"{\"metadata\":{\"name\":\"h\"}}", "/h -> //"},
        {"{\"spec\":{}}", "!HorizontalPodAutoscaler '': metadata.name is missing"},
};

#define SCALED(meta, ref, triggers)                                                                                    \
        META(meta) "\"spec\":{\"scaleTargetRef\":{" ref "\"name\":\"w\"},\"triggers\":[" triggers "]}}"
#define TRIGGER(type, more, metadata) "{\"type\":\"" type "\"," more "\"metadata\":{" metadata "}}"
#define BY_UTILIZATION                "\"metricType\":\"Utilization\","

static const struct {
        const char *in, *want;
} scaled_row[] = {
        {SCALED("", "", TRIGGER("cpu", BY_UTILIZATION, "\"value\":\"60\"")), TO " | Resource cpu utilization 60"},
        {SCALED("", "\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Rollout\",",
                TRIGGER("memory", "\"metricType\":\"AverageValue\",", "\"value\":\"1Gi\"")),
         "n/h -> argoproj.io/v1alpha1/Rollout/w | Resource memory average"},
        {SCALED("", "",
                TRIGGER("cron", "", "\"start\":\"0 6 * * *\",\"value\":\"4\",\"containerName\":\"x\"") "," TRIGGER(
                        "cpu", BY_UTILIZATION, "\"containerName\":\"app\",\"value\":\"75\"")),
         TO " | other - ? | ContainerResource cpu utilization 75 container=app"},
        {SCALED("", "", TRIGGER("cpu", "", "\"type\":\"Utilization\",\"value\":\"50\"")),
         TO " | Resource cpu utilization 50"},
        {SCALED("", "", TRIGGER("cpu", BY_UTILIZATION, "\"value\":\"60%\"")), TO " | Resource cpu utilization"},
        {SCALED("", "", TRIGGER("cpu", BY_UTILIZATION, "\"value\":60")), TO " | Resource cpu utilization"},
        {SCALED("", "", TRIGGER("cpu", BY_UTILIZATION, "\"value\":\"99999999999\"")), TO " | Resource cpu utilization"},
        {SCALED("", "", TRIGGER("cpu", "", "")), TO " | Resource cpu ?"},
        {SCALED(",\"managedFields\":[" ENTRY("flux", "Apply", "\"f:triggers\":{}") "]", "",
                TRIGGER("cpu", BY_UTILIZATION, "\"value\":\"60\"")),
         TO " | Resource cpu utilization 60 applier=flux writer=flux"},
        {"{\"spec\":{}}", "!ScaledObject '': metadata.name is missing"},
};

/* Metrics past the bound become one that halflife does not know, which holds the workload. */
static void more_metrics_than_fit_are_one_unknown(void **state)
{
        (void)state;
        struct arena a = {0};
        static struct autoscaler_view view;
        for (int more = 0; more < 3; more++) {
                struct buf in;
                struct err err = {0};
                buf_init(&in, 1 << 16);
                assert_int_equal(buf_add_text(&in, META("") "\"spec\":{\"metrics\":["), 0);
                for (int i = 0; i < VIEW_METRICS + more; i++)
                        assert_int_equal(buf_printf(&in, "%s{\"type\":\"External\"}", i ? "," : ""), 0);
                assert_int_equal(buf_add_text(&in, "]}}"), 0);
                assert_int_equal(decode_hpa(buf_text(&in), "halflife", &a, &view, &err), 0);
                assert_int_equal(view.metrics, VIEW_METRICS + (more > 0));
                assert_int_equal(view.metric[view.metrics - 1].source, more ? METRIC_UNKNOWN : METRIC_OTHER);
                buf_release(&in);
        }
        arena_release(&a);
}

static void scaled_objects_are_read_as_the_table_says(void **state)
{
        (void)state;
        struct arena a = {0};
        static struct autoscaler_view view;
        struct buf got;
        buf_init(&got, 1 << 16);
        for (size_t i = 0; i < sizeof scaled_row / sizeof *scaled_row; i++) {
                struct err err = {0};
                buf_reset(&got);
                int rc = decode_scaled_object(text_of(scaled_row[i].in), "halflife", &a, &view, &err);
                if (rc == 0)
                        say_autoscaler(&got, &view);
                expect(scaled_row[i].in, scaled_row[i].want, rc, &err, &got);
        }
        buf_release(&got);
        arena_release(&a);
}

static void autoscalers_are_read_as_the_table_says(void **state)
{
        (void)state;
        struct arena a = {0};
        static struct autoscaler_view view;
        struct buf got;
        buf_init(&got, 1 << 16);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                buf_reset(&got);
                int rc = decode_hpa(text_of(row[i].in), "halflife", &a, &view, &err);
                if (rc == 0)
                        say_autoscaler(&got, &view);
                expect(row[i].in, row[i].want, rc, &err, &got);
        }
        buf_release(&got);
        arena_release(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(autoscalers_are_read_as_the_table_says),
                cmocka_unit_test(more_metrics_than_fit_are_one_unknown),
                cmocka_unit_test(scaled_objects_are_read_as_the_table_says),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
