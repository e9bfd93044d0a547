#include "decode_help.h"

static void say_workload(struct buf *b, const struct workload_view *w)
{
        say_meta(b, &w->meta);
        say(b, " replicas=%lld", (long long)w->replicas);
        say(b, "%s%s%s%s%s", w->paused ? " paused" : "", w->on_delete ? " ondelete" : "",
            w->recreate ? " recreate" : "", w->suspended ? " suspended" : "", w->deadline_exceeded ? " deadline" : "");
        say(b, "%s%s", w->in_place_only ? " inplaceonly" : "", w->needs_person ? " person" : "");
        say_text(b, "phase", w->phase);
        if (w->refers.kind.len)
                say(b, " refers=%.*s/%.*s/%.*s@%lld", TEXT_ARG(w->refers.api_version), TEXT_ARG(w->refers.kind),
                    TEXT_ARG(w->refers.name), (long long)w->observed_referred);
        if (w->partition)
                say(b, " partition=%lld", (long long)w->partition);
        say(b, " seen=%lld updated=%lld available=%lld of=%lld", (long long)w->observed_generation,
            (long long)w->updated, (long long)w->available, (long long)w->status_replicas);
        say_text(b, "selector", w->selector);
        say_annotations(b, "template", &w->template_annotation);
        say_labels(b, "tlabel", w->template_label, w->template_labels);
        say_containers(b, w->container, w->containers);
        say_amounts(b, "pod", w->pod_asks);
        if (w->surge.set)
                say(b, " surge=%lld%s", (long long)w->surge.value, w->surge.percent ? "%" : "");
        say_text(b, "class", w->priority_class);
        say_text(b, "failure", w->replica_failure);
        for (int i = 0; i < w->owners; i++)
                say(b, " <%.*s of %.*s:%s%s>", TEXT_ARG(w->owner[i].manager), TEXT_ARG(w->owner[i].container),
                    w->owner[i].of[CPU] ? " cpu" : "", w->owner[i].of[MEMORY] ? " memory" : "");
}

#define META       "\"metadata\":{\"name\":\"w\",\"namespace\":\"n\",\"generation\":4}"
#define TEMPLATE   "\"template\":{\"spec\":{\"containers\":[{\"name\":\"app\"}]}}"
#define SPEC(spec) "{" META ",\"spec\":{" spec "}}"
#define WHOLE(pod, app)                                                                                                \
        SPEC("\"template\":{\"spec\":{\"resources\":{" pod "},\"containers\":[{\"name\":\"app\",\"resources\":" app    \
             "}]}}")
#define CALM_APP "n/w generation=4 replicas=1 seen=4 updated=1 available=1 of=1 | app main"
#define OWNED(entries)                                                                                                 \
        "{\"metadata\":{\"name\":\"w\",\"managedFields\":[" entries "]},\"spec\":{\"template\":{\"spec\":{"            \
        "\"containers\":[{\"name\":\"app\"},{\"name\":\"log\"}]}}}}"
#define ENTRY(manager, operation, fields)                                                                              \
        "{\"apiVersion\":\"apps/"                                                                                      \
        "v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:spec\":{\"f:template\":{\"f:spec\":{" fields               \
        "}}}},\"manager\":\"" manager "\",\"operation\":\"" operation "\",\"time\":\"2026-11-21T11:54:02Z\"}"
#define APP(resources) "\"f:containers\":{\"k:{\\\"name\\\":\\\"app\\\"}\":{\".\":{},\"f:name\":{}," resources "}}"
#define REQUESTS(list) "\"f:resources\":{\"f:requests\":{" list "}}"
#define CALM           "/w replicas=1 seen=0 updated=1 available=1 of=1 | app main | log main"

static const struct {
        const char *path, *in, *want;
} row[] = {
        {"/spec/template",
         "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"," META
         ",\"spec\":{\"replicas\":3,\"selector\":{\"matchLabels\": "
         "{\"app\":\"w\"}},\"paused\":true,\"strategy\":{\"type\":\"Recreate\"},\"template\":{\"metadata\":{\"labels\":"
         "{\"app\":\"w\"},\"annotations\":{\"halflife.dev/original-resources\":\"{}\",\"halflife.dev/"
         "applied-resources\":"
         "\"{\\\"app\\\":{}}\"}},\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":"
         "\"1\"}}}],"
         "\"initContainers\":[{\"name\":\"p\",\"restartPolicy\":\"Always\"}]}}},\"status\":{\"observedGeneration\":4,"
         "\"replicas\":4,\"updatedReplicas\":2,\"availableReplicas\":3,\"conditions\":[{\"type\":\"Available\"},{"
         "\"type\":"
         "\"Progressing\",\"status\":\"False\",\"reason\":\"ProgressDeadlineExceeded\"}]}}",
         "n/w generation=4 replicas=3 paused recreate deadline seen=4 updated=2 available=3 of=4 "
         "selector={\"matchLabels\": {\"app\":\"w\"}} template: original={} applied={\"app\":{}} tlabel:app=w | app "
         "main "
         "request.cpu=1000 | p sidecar"},
        /* zeros that the API server leaves out */
        {"/spec/template", "{" META ",\"spec\":{\"replicas\":0," TEMPLATE "},\"status\":{\"observedGeneration\":3}}",
         "n/w generation=4 replicas=0 seen=3 updated=0 available=0 of=0 | app main"},
        /* StatefulSet */
        {"/spec/template",
         SPEC("\"replicas\":3,\"updateStrategy\":{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":2}}"
              "," TEMPLATE),
         "n/w generation=4 replicas=3 partition=2 seen=0 updated=0 available=0 of=0 | app main"},
        {"/spec/template", SPEC("\"replicas\":1,\"updateStrategy\":{\"type\":\"OnDelete\"}," TEMPLATE),
         "n/w generation=4 replicas=1 ondelete seen=0 updated=0 available=0 of=0 | app main"},
        /* DaemonSet */
        {"/spec/template",
         "{" META ",\"spec\":{" TEMPLATE "},\"status\":{\"currentNumberScheduled\":5,\"desiredNumberScheduled\":6,"
         "\"numberAvailable\":4,\"updatedNumberScheduled\":3,\"observedGeneration\":4}}",
         "n/w generation=4 replicas=6 seen=4 updated=3 available=4 of=5 | app main"},
        /* CronJob and Job: nothing rolls out */
        {"/spec/jobTemplate/spec/template",
         SPEC("\"schedule\":\"@daily\",\"suspend\":true,\"jobTemplate\":{\"metadata\":{\"labels\":{\"no\":\"no\"}},"
              "\"spec\":{"
              "\"parallelism\":2," TEMPLATE "}}"),
         "n/w generation=4 replicas=2 suspended seen=4 updated=2 available=2 of=2 | app main"},
        {"/spec/jobTemplate/spec/template",
         SPEC("\"parallelism\":7,\"jobTemplate\":{\"spec\":{\"parallelism\":5,\"completions\":3," TEMPLATE "}}"),
         "n/w generation=4 replicas=3 seen=4 updated=3 available=3 of=3 | app main"},
        {"/spec/jobTemplate/spec/template", SPEC("\"jobTemplate\":{\"spec\":{" TEMPLATE "}}"),
         "n/w generation=4 replicas=1 seen=4 updated=1 available=1 of=1 | app main"},
        {"/spec/template", SPEC("\"parallelism\":2," TEMPLATE),
         "n/w generation=4 replicas=2 seen=4 updated=2 available=2 of=2 | app main"},
        {"/spec/template", SPEC("\"parallelism\":2,\"completions\":null," TEMPLATE),
         "n/w generation=4 replicas=2 seen=4 updated=2 available=2 of=2 | app main"},
        {"/spec/template", SPEC("\"parallelism\":0,\"completions\":4," TEMPLATE),
         "n/w generation=4 replicas=0 seen=4 updated=0 available=0 of=0 | app main"},
        {"/spec/template", SPEC("\"parallelism\":\"all\"," TEMPLATE),
         "n/w generation=4 replicas=1 seen=4 updated=1 available=1 of=1 | app main"},
        {"/spec/template", SPEC("\"completions\":4," TEMPLATE),
         "n/w generation=4 replicas=1 seen=4 updated=1 available=1 of=1 | app main"},
        /* CloneSet and Rollout: numbers as text, other shapes of strategy */
        {"/spec/template",
         "{" META ",\"spec\":{\"replicas\":2,\"updateStrategy\":{\"paused\":true,\"partition\":\"20%\",\"type\":"
         "\"ReCreate\"}," TEMPLATE "},\"status\":{\"observedGeneration\":\"4\",\"updatedReplicas\":2}}",
         "n/w generation=4 replicas=2 paused partition=20 seen=4 updated=2 available=0 of=0 | app main"},
        {"/spec/template", SPEC("\"replicas\":2,\"strategy\":{\"canary\":{\"steps\":[{\"setWeight\":20}]}}," TEMPLATE),
         "n/w generation=4 replicas=2 seen=0 updated=0 available=0 of=0 | app main"},
        {"/spec/template", SPEC("\"replicas\":2,\"strategy\":\"odd\",\"workloadRef\":{\"name\":\"d\"}"),
         "n/w generation=4 replicas=2 seen=0 updated=0 available=0 of=0"},
        /* what sticks: in both versions' spelling, and the other kinds' */
        {"/spec/template", SPEC("\"replicas\":1,\"updateStrategy\":{\"type\":\"InPlaceOnly\"}," TEMPLATE),
         "n/w generation=4 replicas=1 inplaceonly seen=0 updated=0 available=0 of=0 | app main"},
        {"/spec/template",
         SPEC("\"replicas\":1,\"updateStrategy\":{\"type\":\"RollingUpdate\",\"rollingUpdate\":{"
              "\"podUpdatePolicy\":\"InPlaceOnly\",\"partition\":1}}," TEMPLATE),
         "n/w generation=4 replicas=1 inplaceonly partition=1 seen=0 updated=0 available=0 of=0 | app main"},
        {"/spec/template",
         SPEC("\"replicas\":1,\"updateStrategy\":{\"rollingUpdate\":{\"podUpdatePolicy\":\"InPlaceIfPossible\"}}"
              "," TEMPLATE),
         "n/w generation=4 replicas=1 seen=0 updated=0 available=0 of=0 | app main"},
        /* steps that only a person ends */
        {"/spec/template",
         SPEC("\"replicas\":2,\"strategy\":{\"canary\":{\"steps\":[{\"setWeight\":20},{\"pause\":{}}]}}," TEMPLATE),
         "n/w generation=4 replicas=2 person seen=0 updated=0 available=0 of=0 | app main"},
        {"/spec/template",
         SPEC("\"replicas\":2,\"strategy\":{\"canary\":{\"steps\":[{\"pause\":{\"duration\":null}}]}}," TEMPLATE),
         "n/w generation=4 replicas=2 person seen=0 updated=0 available=0 of=0 | app main"},
        {"/spec/template",
         SPEC("\"replicas\":2,\"strategy\":{\"canary\":{\"steps\":[{\"pause\":{\"duration\":\"1h\"}},{\"pause\":{"
              "\"duration\":60}},{\"pause\":null}],\"maxSurge\":1}}," TEMPLATE),
         "n/w generation=4 replicas=2 seen=0 updated=0 available=0 of=0 | app main surge=1"},
        {"/spec/template",
         SPEC("\"replicas\":2,\"strategy\":{\"canary\":{\"steps\":null},\"blueGreen\":null}," TEMPLATE),
         "n/w generation=4 replicas=2 seen=0 updated=0 available=0 of=0 | app main"},
        {"/spec/template",
         SPEC("\"replicas\":2,\"strategy\":{\"blueGreen\":{\"activeService\":\"a\",\"autoPromotionEnabled\":false}}"
              "," TEMPLATE),
         "n/w generation=4 replicas=2 person seen=0 updated=0 available=0 of=0 | app main surge=100%"},
        {"/spec/template",
         SPEC("\"replicas\":2,\"strategy\":{\"blueGreen\":{\"autoPromotionEnabled\":null}}," TEMPLATE),
         "n/w generation=4 replicas=2 seen=0 updated=0 available=0 of=0 | app main surge=100%"},
        /* a Rollout that does not say how many has one, and says how far it is */
        {"/spec/template",
         "{" META ",\"spec\":{\"strategy\":{\"canary\":{}}," TEMPLATE "},\"status\":{\"observedGeneration\":\"3\","
         "\"phase\":\"Progressing\",\"replicas\":1,\"updatedReplicas\":1}}",
         "n/w generation=4 replicas=1 phase=Progressing seen=3 updated=1 available=0 of=1 | app main"},
        {"/spec/template",
         "{" META ",\"spec\":{\"replicas\":2,\"strategy\":{\"canary\":{}},\"workloadRef\":{\"apiVersion\":\"apps/v1\","
         "\"kind\":\"Deployment\",\"name\":\"d\",\"scaleDown\":\"onsuccess\"}},\"status\":{\"phase\":\"Healthy\","
         "\"workloadObservedGeneration\":\"7\",\"observedGeneration\":\"4\"}}",
         "n/w generation=4 replicas=2 phase=Healthy refers=apps/v1/Deployment/d@7 seen=4 updated=0 available=0 of=0"},
        {"/spec/template", SPEC("\"replicas\":2,\"workloadRef\":\"d\"," TEMPLATE),
         "n/w generation=4 replicas=2 seen=0 updated=0 available=0 of=0 | app main"},
        {"/spec/jobTemplate/spec/template", SPEC("\"jobTemplate\":[]"),
         "n/w generation=4 replicas=1 seen=4 updated=1 available=1 of=1"},
        /* what the pod as a whole asks for; of what it is limited to, where no container asks */
        {"/spec/template", WHOLE("\"requests\":{\"cpu\":2,\"memory\":\"1Gi\"},\"limits\":{\"cpu\":4}", "{}"),
         CALM_APP " pod.cpu=2000 pod.memory=1073741824"},
        {"/spec/template", WHOLE("\"limits\":{\"cpu\":4,\"memory\":\"1Gi\"}", "{\"requests\":{\"cpu\":\"1\"}}"),
         CALM_APP " request.cpu=1000 pod.memory=1073741824"},
        {"/spec/template", WHOLE("\"limits\":{\"cpu\":4}", "{\"limits\":{\"cpu\":\"1\"}}"), CALM_APP " limit.cpu=1000"},
        {"/spec/template", WHOLE("\"requests\":{\"hugepages-2Mi\":\"4Mi\"}", "{}"), CALM_APP},
        {"/spec/template", WHOLE("\"requests\":{\"cpu\":\"some\"}", "{}"),
         "!workload 'n/w': requests 'some' is not a quantity"},
        /* the facts of rollouts */
        {"/spec/template",
         SPEC("\"strategy\":{\"rollingUpdate\":{\"maxSurge\":\"30%\",\"maxUnavailable\":0}}," TEMPLATE),
         CALM_APP " surge=30%"},
        {"/spec/template", SPEC("\"updateStrategy\":{\"maxSurge\":2}," TEMPLATE), CALM_APP " surge=2"},
        {"/spec/template", SPEC("\"strategy\":{\"rollingUpdate\":{\"maxSurge\":{}}}," TEMPLATE), CALM_APP},
        {"/spec/template",
         SPEC("\"template\":{\"spec\":{\"priorityClassName\":\"high\",\"containers\":[{\"name\":\"app\"}]}}"),
         CALM_APP " class=high"},
        {"/spec/template",
         "{" META ",\"spec\":{" TEMPLATE
         "},\"status\":{\"conditions\":[{\"type\":\"ReplicaFailure\",\"status\":\"True\","
         "\"message\":\"no room\"}]}}",
         CALM_APP " failure=no room"},
        {"/spec/template",
         "{" META ",\"spec\":{" TEMPLATE
         "},\"status\":{\"conditions\":[{\"type\":\"ReplicaFailure\",\"status\":\"False\","
         "\"message\":\"no room\"}]}}",
         CALM_APP},
        /* the managers that own requests */
        {"/spec/template", OWNED(ENTRY("argo", "Apply", APP(REQUESTS("\"f:cpu\":{},\"f:memory\":{}")))),
         CALM " <argo of app: cpu memory>"},
        {"/spec/template",
         OWNED(ENTRY("argo", "Apply", APP(REQUESTS("\"f:cpu\":{}"))) "," ENTRY(
                 "flux", "Apply", APP(REQUESTS("\".\":{},\"f:memory\":{}")))),
         CALM " <argo of app: cpu> <flux of app: memory>"},
        /* entries of one manager, as of two versions of the API, are merged; of another container they are not */
        {"/spec/template",
         OWNED(ENTRY("argo", "Apply", APP(REQUESTS("\"f:cpu\":{}"))) "," ENTRY(
                 "argo", "Apply",
                 APP(REQUESTS("\"f:cpu\":{},\"f:memory\":{}"))) "," ENTRY("argo", "Apply",
                                                                          "\"f:containers\":{\"k:{\\\"name\\\":"
                                                                          "\\\"log\\\"}\":{" REQUESTS(
                                                                                  "\"f:cpu\":{}") "}}")),
         CALM " <argo of app: cpu memory> <argo of log: cpu>"},
        {"/spec/template", OWNED(ENTRY("kubectl", "Update", APP(REQUESTS("\"f:cpu\":{}")))), CALM},
        {"/spec/template", OWNED(ENTRY("halflife", "Apply", APP(REQUESTS("\"f:cpu\":{}")))), CALM},
        {"/spec/template", OWNED(ENTRY("argo", "Apply", APP("\"f:image\":{},\"f:resources\":{}"))), CALM},
        {"/spec/template", OWNED(ENTRY("argo", "Apply", APP("\"f:resources\":{\"f:limits\":{\"f:cpu\":{}}}"))), CALM},
        {"/spec/template", OWNED(ENTRY("argo", "Apply", "\"f:containers\":{}")),
         CALM " <argo of app: cpu memory> <argo of log: cpu memory>"},
        {"/spec/template",
         OWNED("{\"manager\":\"hpa\",\"operation\":\"Apply\",\"subresource\":\"scale\",\"fieldsV1\":{\"f:spec\":{"
               "\"f:replicas\":{}}}},{\"manager\":\"x\",\"operation\":\"Apply\",\"fieldsV1\":null}"),
         CALM},
        {"/spec/jobTemplate/spec/template",
         "{\"metadata\":{\"name\":\"w\",\"managedFields\":[{\"manager\":\"argo\",\"operation\":\"Apply\",\"fieldsV1\":{"
         "\"f:spec\":{\"f:jobTemplate\":{\"f:spec\":{\"f:template\":{\"f:spec\":{" APP(
                 REQUESTS("\"f:cpu\":{}")) "}}}}}}}]}}",
         "/w replicas=1 seen=0 updated=1 available=1 of=1 <argo of app: cpu>"},
        /* refused */
        {"/spec/template",
         SPEC("\"template\":{\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{"
              "\"memory\":\"1 GB\"}}}]}}"),
         "!workload 'n/w': containers[0]: requests '1 GB' is not a quantity"},
        {"/spec/template", SPEC("\"replicas\":\"many\"," TEMPLATE), "!workload 'n/w'"},
        {"/spec/template", SPEC("\"template\":7"), "!workload 'n/w'"},
        {"/spec/template", "{\"spec\":{}}", "!metadata.name is missing"},
};

static void workloads_are_read_as_the_table_says(void **state)
{
        (void)state;
        struct arena a = {0};
        struct workload_view w;
        struct buf got;
        buf_init(&got, 1 << 16);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                memset(&w, 0xaa, sizeof w);
                buf_reset(&got);
                arena_reset(&a);
                int rc = decode_workload(text_of(row[i].in), row[i].path, "halflife", &a, &w, &err);
                if (rc == 0)
                        say_workload(&got, &w);
                expect(row[i].in, row[i].want, rc, &err, &got);
        }
        buf_release(&got);
        arena_release(&a);
}

static void too_many_owners_are_cut(void **state)
{
        (void)state;
        struct arena a = {0};
        struct workload_view w;
        struct buf in;
        buf_init(&in, 1 << 17);
        for (int count = VIEW_OWNERS; count <= VIEW_OWNERS + 1; count++) {
                struct err err = {0};
                buf_reset(&in);
                say(&in, "{\"metadata\":{\"name\":\"w\",\"managedFields\":[");
                for (int i = 0; i < count; i++)
                        say(&in, "%s" ENTRY("argo-%d", "Apply", APP(REQUESTS("\"f:cpu\":{}"))), i ? "," : "", i);
                say(&in, "]}}");
                if (decode_workload(buf_text(&in), "/spec/template", "halflife", &a, &w, &err) < 0)
                        fail_msg("%s", err.text);
                assert_int_equal(w.owners, VIEW_OWNERS);
                assert_int_equal(w.owners_cut, count > VIEW_OWNERS);
        }
        buf_release(&in);
        arena_release(&a);
}

static void too_many_containers_are_cut(void **state)
{
        (void)state;
        struct arena a = {0};
        struct workload_view w;
        struct buf in;
        buf_init(&in, 1 << 16);
        for (int count = VIEW_CONTAINERS; count <= VIEW_CONTAINERS + 1; count++) {
                struct err err = {0};
                buf_reset(&in);
                say(&in, "{" META ",\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\"}");
                for (int i = 1; i < count; i++)
                        say(&in, ",{\"name\":\"c%d\"}", i);
                say(&in, "]}}}}");
                if (decode_workload(buf_text(&in), "/spec/template", "halflife", &a, &w, &err) < 0)
                        fail_msg("%s", err.text);
                assert_int_equal(w.containers, VIEW_CONTAINERS);
                assert_int_equal(w.containers_cut, count > VIEW_CONTAINERS);
        }
        buf_release(&in);
        arena_release(&a);
}

/* Of too many labels the first are kept, and the view says so, whichever list was cut. */
static void a_workload_with_many_labels_is_cut(void **state)
{
        (void)state;
        for (int own = 0; own < 2; own++)
                for (int count = 151; count <= VIEW_LABELS + 1; count += VIEW_LABELS + 1 - 151) {
                        struct arena a = {0};
                        struct workload_view w;
                        struct err err = {0};
                        struct buf in;
                        buf_init(&in, 1 << 17);
                        say(&in, "{\"metadata\":{\"name\":\"w\"%s",
                            own ? "" : "},\"spec\":{\"template\":{\"metadata\":{\"a\":1");
                        say(&in, ",\"labels\":{\"l\":\"\"");
                        for (int i = 1; i < count; i++)
                                say(&in, ",\"l%d\":\"\"", i);
                        say(&in, own ? "}}}" : "}}}}}");
                        if (decode_workload(buf_text(&in), "/spec/template", "halflife", &a, &w, &err) < 0)
                                fail_msg("%d labels: %s", count, err.text);
                        assert_int_equal(w.meta.labels_cut, count > VIEW_LABELS);
                        assert_int_equal(own ? w.meta.labels : w.template_labels,
                                         count > VIEW_LABELS ? VIEW_LABELS : count);
                        buf_release(&in);
                        arena_release(&a);
                }
}

static void every_prefix_is_refused(void **state)
{
        (void)state;
        struct arena a = {0};
        struct workload_view w;
        for (size_t cut = 0; cut < strlen(row[0].in); cut++) {
                arena_reset(&a);
                char *exact = mem_string_n(row[0].in, cut);
                if (decode_workload((struct text){exact, cut}, row[0].path, "halflife", &a, &w, NULL) != ERR_INVALID)
                        fail_msg("cut after %zu bytes", cut);
                mem_free(exact);
        }
        arena_release(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(workloads_are_read_as_the_table_says),
                cmocka_unit_test(too_many_owners_are_cut),
                cmocka_unit_test(too_many_containers_are_cut),
                cmocka_unit_test(a_workload_with_many_labels_is_cut),
                cmocka_unit_test(every_prefix_is_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
