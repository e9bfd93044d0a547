#include "decode_help.h"

static void say_kill(struct buf *b, const char *name, const struct kill_view *k)
{
        char text[WALL_TEXT_MAX];
        if (k->seen)
                say(b, " %s@%s", name, wall_print(k->at, text));
        if (k->seen && k->exit_code != KILL_EXIT_UNTOLD)
                say(b, "=%lld", (long long)k->exit_code);
        if (k->lost)
                say(b, " %s-lost", name);
        if (k->node_down)
                say(b, " %s-node-down", name);
}

static void say_pod(struct buf *b, const struct pod_view *p)
{
        say_meta(b, &p->meta);
        say(b, "%s%s%s", p->running ? " running" : "", p->finished ? " finished" : "",
            p->node_pressure ? " pressure" : "");
        if (p->stopped)
                say(b, " stopped");
        if (p->lacks_room)
                say(b, " lacks_room");
        static const char *const progress[RESIZE_PROGRESSES] = {"", "goes-on", "fails", "deferred", "infeasible"};
        if (p->resize)
                say(b, " resize=%s '%.*s'", progress[p->resize], TEXT_ARG(p->resize_message));
        if (p->eviction.seen) {
                say_time(b, "evicted", p->eviction.at);
                say_text(b, "by", p->eviction.message);
        }
        if (p->ready)
                say(b, " ready");
        say_time(b, "turned", p->ready_turned);
        say_time(b, "started", p->started);
        say_amounts(b, "pod", p->pod_asks);
        say_amounts(b, "overhead", p->overhead);
        say_containers(b, p->container, p->containers);
        for (int i = 0; i < p->statuses; i++) {
                const struct container_status_view *s = &p->status[i];
                say(b, " # %.*s restarts=%lld", TEXT_ARG(s->name), (long long)s->restarts);
                if (s->stopped)
                        say(b, s->waits ? " waits" : " stopped");
                say_time(b, "since", s->running_since);
                say_kill(b, "kill", &s->now);
                say_kill(b, "lastkill", &s->last);
        }
}

#define POD(spec, status)                                                                                              \
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"},\"spec\":{" spec "},\"status\":{" status "}}"
#define CONTAINERS(list) POD("\"containers\":[" list "]", "")

static const struct {
        const char *in, *want;
} row[] = {
        {POD("\"containers\":[{\"name\":\"a\"}],\"resources\":{\"requests\":{\"memory\":\"1Gi\"}}", ""),
         "n/p pod.memory=1073741824 | a main"},
        {"{\"metadata\":{\"name\":\"p\"}}", "/p"},
        {POD("\"overhead\":{\"cpu\":\"250m\",\"memory\":\"160Mi\",\"example.com/"
             "gpu\":\"1\"},\"containers\":[{\"name\":\"a\"}]",
             ""),
         "n/p overhead.cpu=250 overhead.memory=167772160 | a main"},
        {POD("\"overhead\":{\"cpu\":\"-1\"}", ""), "!pod 'n/p': overhead.cpu is negative"},
        /* what reads a request: the container's own variable, another's, a file; not a limit, not another resource */
        {CONTAINERS("{\"name\":\"a\",\"env\":[{\"name\":\"X\",\"value\":\"1\"},{\"name\":\"N\",\"valueFrom\":{"
                    "\"resourceFieldRef\":{\"resource\":\"requests.cpu\",\"divisor\":\"0\"}}}]}"),
         "n/p | a main read.cpu=1000 variable 'N' of container 'a'"},
        {CONTAINERS("{\"env\":[{\"valueFrom\":{\"resourceFieldRef\":{\"containerName\":\"b\",\"divisor\":\"1Mi\","
                    "\"resource\":\"requests.memory\"}},\"name\":\"M\"}],\"name\":\"a\"},{\"name\":\"b\"}"),
         "n/p | a main | b main read.memory=1048576 variable 'M' of container 'a'"},
        {CONTAINERS("{\"name\":\"a\",\"env\":[{\"name\":\"N\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":"
                    "\"limits.cpu\"}}},{\"name\":\"E\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":"
                    "\"requests.ephemeral-storage\"}}},{\"name\":\"G\",\"valueFrom\":{\"resourceFieldRef\":{\"resource"
                    "\":\"requests.cpu\",\"containerName\":\"gone\"}}},{\"name\":\"F\",\"valueFrom\":{\"fieldRef\":{"
                    "\"fieldPath\":\"spec.nodeName\"}}}]}"),
         "n/p | a main"},
        {CONTAINERS("{\"name\":\"a\",\"env\":[{\"name\":\"N\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":"
                    "\"requests.cpu\"}}},{\"name\":\"O\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":"
                    "\"requests.cpu\",\"divisor\":\"1m\"}}}]}"),
         "n/p | a main read.cpu=1 variable 'O' of container 'a'"},
        {POD("\"initContainers\":[{\"name\":\"i\",\"env\":[{\"name\":\"N\",\"valueFrom\":{\"resourceFieldRef\":{"
             "\"resource\":\"requests.cpu\",\"containerName\":\"a\"}}}]},{\"name\":\"s\",\"restartPolicy\":\"Always\","
             "\"env\":[{\"name\":\"N\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\"requests.cpu\"}}}]}],"
             "\"containers\":[{\"name\":\"a\"}]",
             ""),
         "n/p | i init | s sidecar read.cpu=1000 variable 'N' of container 's' | a main read.cpu=1000 variable 'N' of "
         "container 'i'"},
        {POD("\"volumes\":[{\"name\":\"x\",\"emptyDir\":{}},{\"downwardAPI\":{\"items\":[{\"path\":\"l\",\"fieldRef\":{"
             "\"fieldPath\":\"metadata.labels\"}},{\"path\":\"d/cpu\",\"resourceFieldRef\":{\"containerName\":\"a\","
             "\"resource\":\"requests.cpu\",\"divisor\":\"1m\"}}]},\"name\":\"info\"},{\"name\":\"all\",\"projected\":{"
             "\"sources\":[{\"secret\":{\"name\":\"s\"}},{\"downwardAPI\":{\"items\":[{\"path\":\"m\","
             "\"resourceFieldRef\":{\"containerName\":\"a\",\"resource\":\"requests.memory\"}}]}}]}}],\"containers\":[{"
             "\"name\":\"a\"}]",
             ""),
         "n/p | a main read.cpu=1 file 'd/cpu' of volume 'info' read.memory=1 file 'm' of volume 'all'"},
        /* what bounds its heap */
        {CONTAINERS(
                 "{\"name\":\"a\",\"env\":[{\"name\":\"M\",\"value\":\"1k\"},{\"name\":\"JAVA_TOOL_OPTIONS\",\"value\":"
                 "\"-Xmx$(M)\"}],\"command\":[\"java\"],\"args\":[\"-Xms512\",\"-jar\",\"a.jar\"]}"),
         "n/p | a main heap=512..1024"},
        {CONTAINERS(
                 "{\"name\":\"a\",\"args\":[\"-Xmx\\u0031k\",\"$(S)\"],\"env\":[{\"valueFrom\":{\"secretKeyRef\":{}},"
                 "\"name\":\"S\"}]}"),
         "n/p | a main heap=0..1024 incomplete"},
        {CONTAINERS("{\"name\":\"a\",\"command\":{\"java\":1},\"args\":[\"-Xmx1k\",2]},{\"name\":\"b\",\"args\":null,"
                    "\"env\":[{\"name\":\"GOMEMLIMIT\",\"value\":\"1KiB\",\"valueFrom\":null}]}"),
         "n/p | a main | b main heap=0..1024"},
        {CONTAINERS("{\"name\":\"a\",\"env\":{\"resourceFieldRef\":1}}"), "!pod 'n/p': env or volumes: "},
        {"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"shop-7d9-x\",\"generateName\":\"shop-7d9-\","
         "\"namespace\":\"web\",\"uid\":\"u-1\",\"resourceVersion\":\"0abc\",\"generation\":3,"
         "\"creationTimestamp\":\"2026-11-21T11:54:02Z\",\"deletionTimestamp\":\"2026-11-21T12:00:00Z\","
         "\"labels\":{\"app\":\"shop\",\"tier\":\"\"},"
         "\"annotations\":{\"a\":\"b\",\"halflife.dev/apply\":\"Never\",\"halflife.dev/hold\":\"why \\\"so\\\"\","
         "\"halflife.dev/other\":\"x\"},"
         "\"ownerReferences\":[{\"kind\":\"Node\",\"name\":\"n1\"},{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","
         "\"name\":\"shop-7d9\",\"uid\":\"u-0\",\"controller\":true,\"blockOwnerDeletion\":true}],"
         "\"managedFields\":[{\"manager\":\"m\",\"fieldsV1\":{\"f:spec\":{}}}]},"
         "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"app\",\"image\":\"i\",\"resources\":{"
         "\"requests\":{\"cpu\":\"250m\",\"memory\":\"1Gi\",\"ephemeral-storage\":\"1Gi\"},\"limits\":{\"memory\":"
         "\"2Gi\"},"
         "\"claims\":[]}}]},"
         "\"status\":{\"phase\":\"Running\",\"startTime\":\"2026-11-21T11:54:03Z\",\"containerStatuses\":[{\"name\":"
         "\"app\",\"restartCount\":2,\"state\":{\"running\":{\"startedAt\":\"2026-11-21T11:55:00Z\"}},\"lastState\":"
         "{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\",\"startedAt\":\"2026-11-21T11:54:10Z\","
         "\"finishedAt\":\"2026-11-21T11:54:50Z\",\"containerID\":\"c\"}}}]}}",
         "web/shop-7d9-x uid=u-1 version=0abc generation=3 created=2026-11-21T11:54:02Z deleted=2026-11-21T12:00:00Z "
         "owner=apps/v1/ReplicaSet/shop-7d9/u-0 annotations: apply=Never hold=why \"so\" label:app=shop label:tier= "
         "running started=2026-11-21T11:54:03Z | app main request.cpu=250 request.memory=1073741824 "
         "limit.memory=2147483648 # app restarts=2 since=2026-11-21T11:55:00Z lastkill@2026-11-21T11:54:50Z=137"},
        /* what the kubelet says of a resize */
        {POD("", "\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Deferred\","
                 "\"message\":\"no room\"}]"),
         "n/p resize=deferred 'no room'"},
        {POD("", "\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"False\",\"reason\":\"Deferred\"}]"),
         "n/p"},
        {POD("", "\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Infeasible\","
                 "\"message\":\"never\"},{\"type\":\"PodResizeInProgress\",\"status\":\"True\",\"message\":\"m\"}]"),
         "n/p resize=infeasible 'never'"},
        {POD("", "\"conditions\":[{\"type\":\"PodResizeInProgress\",\"status\":\"True\"}]"), "n/p resize=goes-on ''"},
        {POD("", "\"conditions\":[{\"type\":\"PodResizeInProgress\",\"status\":\"True\",\"reason\":\"Error\","
                 "\"message\":\"uses more\"}]"),
         "n/p resize=fails 'uses more'"},
        {POD("", "\"resize\":\"Infeasible\""), "n/p resize=infeasible ''"},
        {POD("", "\"resize\":\"Proposed\""), "n/p resize=goes-on ''"},
        {POD("", "\"resize\":\"\""), "n/p"},
        {"{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"generation\":4},\"status\":{\"observedGeneration\":3,"
         "\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Infeasible\"}]}}",
         "n/p generation=4 resize=goes-on ''"},
        {"{\"status\":{\"observedGeneration\":3,\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\","
         "\"reason\":\"Infeasible\"}]},\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"generation\":4}}",
         "n/p generation=4 resize=goes-on ''"}, /* in whatever order */
        {"{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"generation\":4},\"status\":{\"observedGeneration\":4}}",
         "n/p generation=4"},
        {CONTAINERS("{\"name\":\"a\",\"resizePolicy\":[{\"resourceName\":\"memory\",\"restartPolicy\":"
                    "\"RestartContainer\"},"
                    "{\"resourceName\":\"cpu\",\"restartPolicy\":\"NotRequired\"}]}"),
         "n/p | a main restarts.memory"},
        {CONTAINERS("{\"name\":\"a\",\"resizePolicy\":null,\"lifecycle\":null}"), "n/p | a main"},
        {CONTAINERS("{\"name\":\"a\",\"lifecycle\":{\"postStart\":{\"sleep\":{\"seconds\":1}}}},{\"name\":\"b\","
                    "\"lifecycle\":{\"preStop\":{\"sleep\":{\"seconds\":1}}}},{\"name\":\"c\",\"startupProbe\":{}}"),
         "n/p | a main probed | b main | c main probed"},
        /* roles */
        {POD("\"initContainers\":[{\"name\":\"setup\"},{\"name\":\"proxy\",\"restartPolicy\":\"Always\"}],"
             "\"containers\":"
             "[{\"name\":\"app\"}],\"restartPolicy\":\"Always\"",
             ""),
         "n/p | setup init | proxy sidecar | app main"},
        /* null is absent */
        {"{\"metadata\":{\"name\":\"p\",\"namespace\":null,\"labels\":null,\"creationTimestamp\":null,"
         "\"ownerReferences\":"
         "null},\"spec\":{\"containers\":null,\"initContainers\":null},\"status\":null}",
         "/p"},
        {CONTAINERS("{\"name\":\"a\",\"resources\":null},{\"name\":\"b\",\"resources\":{\"requests\":null,\"limits\":"
                    "{\"cpu\":null}}}"),
         "n/p | a main | b main"},
        /* quantities: numbers, white space, rounding away from zero */
        {CONTAINERS(
                 "{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":2,\"memory\":\" 1.5Gi \"},\"limits\":{\"cpu\":"
                 "\"1n\",\"memory\":1e3}}}"),
         "n/p | a main request.cpu=2000 request.memory=1610612736 limit.cpu=1 limit.memory=1000"},
        {CONTAINERS("{\"name\":\"a\"},{\"name\":\"b\",\"resources\":{\"requests\":{\"cpu\":\"1K\"}}}"),
         "!pod 'n/p': containers[1]: requests '1K' is not a quantity (byte 2)"},
        {CONTAINERS("{\"name\":\"a\",\"resources\":{\"limits\":{\"memory\":\"1e999\"}}}"), "!limits '1e999'"},
        {CONTAINERS("{\"name\":\"a\",\"resources\":{\"limits\":{\"memory\":\"\"}}}"), "!limits '' is not a quantity"},
        {CONTAINERS("{\"name\":\"a\",\"resources\":{\"requests\":{\"memory\":\"NaN\"}}}"), "!requests 'NaN'"},
        {CONTAINERS("{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":-1}}}"), "!requests.cpu is negative"},
        {CONTAINERS("{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":true}}}"), "!pod 'n/p'"},
        /* what is not a pod */
        {"{\"metadata\":{}}", "!metadata.name is missing"},
        {"{\"metadata\":{\"generateName\":\"\"}}", "!metadata.name is missing"},
        {"{}", "!metadata.name is missing"},
        {"null", "!metadata.name is missing"},
        {"[]", "!pod"},
        {"", "!pod"},
        {"{\"metadata\":{\"name\":\"p\"}", "!pod 'p': malformed JSON"},
        {"{\"metadata\":{\"name\":\"p\"}}x", "!pod"},
        {"{\"metadata\":{\"name\":7}}", "!pod"},
        {"{\"metadata\":{\"name\":\"p\",\"creationTimestamp\":\"yesterday\"}}",
         "!creationTimestamp 'yesterday' is not a time"},
        {CONTAINERS("{\"image\":\"i\"}"), "!containers[0]: name is missing"},
        {POD("\"containers\":[],\"containers\":[]", ""), "!containers occurs twice"},
        {"{\"metadata\":{\"name\":\"\xff\"}}", "!pod"},
        /* states and kills */
        {POD("", "\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"The node was low on resource: memory. \""),
         "n/p finished pressure stopped by=The node was low on resource: memory. "},
        {POD("", "\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"The node was low on resource: memory. \","
                 "\"conditions\":[{\"type\":\"Ready\",\"lastTransitionTime\":\"2026-07-01T10:00:02Z\"},{\"type\":"
                 "\"DisruptionTarget\",\"lastTransitionTime\":\"2026-07-01T10:00:01Z\"}]"),
         "n/p finished pressure stopped evicted=2026-07-01T10:00:02Z by=The node was low on resource: memory.  "
         "turned=2026-07-01T10:00:02Z"},
        {POD("", "\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"The node was low on resource: "
                 "ephemeral-storage.\""),
         "n/p finished stopped"},
        {POD("", "\"phase\":\"Failed\",\"reason\":\"DeadlineExceeded\""), "n/p finished stopped"},
        {POD("", "\"phase\":\"Failed\",\"reason\":\"NodeLost\""), "n/p finished"},
        {POD("", "\"phase\":\"Succeeded\""), "n/p finished"},
        {POD("", "\"phase\":\"Pending\""), "n/p"},
        {POD("", "\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"},{\"type\":"
                 "\"DisruptionTarget\",\"reason\":\"TerminationByKubelet\",\"message\":\"The node was low on resource: "
                 "memory.\"}]"),
         "n/p running pressure ready"},
        {POD("",
             "\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"lastTransitionTime\":"
             "\"2026-11-21T11:54:50Z\"},{\"type\":\"ContainersReady\",\"status\":\"True\",\"lastTransitionTime\":"
             "\"2026-11-21T11:55:50Z\"}]"),
         "n/p running turned=2026-11-21T11:54:50Z"},
        {POD("",
             "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"a\",\"restartCount\":1,\"state\":{"
             "\"terminated\":"
             "{\"reason\":\"OOMKilled\",\"finishedAt\":\"2026-11-21T11:54:50Z\"}},\"lastState\":{\"terminated\":"
             "{\"reason\":\"Error\",\"finishedAt\":\"2026-11-21T11:50:00Z\"}}}],\"initContainerStatuses\":[{\"name\":"
             "\"i\",\"restartCount\":0,\"state\":{\"waiting\":{\"reason\":\"x\"}},\"lastState\":{}}]"),
         "n/p running # a restarts=1 stopped kill@2026-11-21T11:54:50Z # i restarts=0 waits"},
        {POD("", "\"containerStatuses\":[{\"name\":\"a\",\"restartCount\":9223372036854775807},{\"name\":\"b\","
                 "\"restartCount\":2147483648},{\"name\":\"c\",\"restartCount\":2147483647},{\"name\":\"d\","
                 "\"restartCount\":-1},{\"name\":\"e\",\"restartCount\":-9223372036854775808}]"),
         "n/p # a restarts=2147483647 # b restarts=2147483647 # c restarts=2147483647 # d restarts=0 # e restarts=0"},
        {POD("", "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"a\",\"restartCount\":1,\"lastState\":{"
                 "\"terminated\":{\"exitCode\":255,\"reason\":\"Unknown\",\"startedAt\":\"2026-11-23T14:34:51Z\","
                 "\"finishedAt\":\"2026-11-23T14:45:32Z\"}}}]"),
         "n/p running # a restarts=1 lastkill-node-down"},
        /* as kubelets really say it: replaced by a rollout, and marked by a kill elsewhere on its node */
        {POD("", "\"phase\":\"Succeeded\",\"containerStatuses\":[{\"name\":\"a\",\"restartCount\":0,\"lastState\":{},"
                 "\"state\":{\"terminated\":{\"exitCode\":0,\"reason\":\"OOMKilled\",\"startedAt\":"
                 "\"2026-11-23T06:53:15Z\",\"finishedAt\":\"2026-11-23T07:01:34Z\"}}}]"),
         "n/p finished # a restarts=0 stopped kill@2026-11-23T07:01:34Z=0"},
        {POD("", "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":"
                 "\"Unschedulable\",\"message\":\"0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 "
                 "Insufficient memory. preemption: 0/3 nodes are available\"}]"),
         "n/p lacks_room"},
        {POD("", "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":"
                 "\"Unschedulable\",\"message\":\"0/3 nodes are available: 3 node(s) had untolerated taint(s).\"}]"),
         "n/p"},
        {POD("", "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":"
                 "\"SchedulingGated\"}]"),
         "n/p"},
        /* evicted, and the program ended with 0 on SIGTERM: the condition is the only witness */
        {POD("", "\"phase\":\"Succeeded\",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\","
                 "\"lastTransitionTime\":\"2026-11-23T07:12:49Z\",\"reason\":\"TerminationByKubelet\",\"message\":"
                 "\"The node was low on resource: memory. Threshold quantity: 100Mi, available: 5608Ki. \"},"
                 "{\"type\":\"Ready\",\"status\":\"False\",\"reason\":\"PodCompleted\",\"lastTransitionTime\":"
                 "\"2026-11-23T07:12:55Z\"}]"),
         "n/p finished pressure stopped evicted=2026-11-23T07:12:49Z by=The node was low on resource: memory. "
         "Threshold "
         "quantity: 100Mi, available: 5608Ki.  turned=2026-11-23T07:12:55Z"},
        {POD("", "\"phase\":\"Running\",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\","
                 "\"reason\":\"TerminationByKubelet\",\"message\":\"The node was low on resource: "
                 "ephemeral-storage. Container memory was using 20Mi\"}]"),
         "n/p running stopped"},
        {POD("", "\"phase\":\"Running\",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\","
                 "\"reason\":\"PreemptionByScheduler\",\"message\":\"The node was low on resource: memory. \"}]"),
         "n/p running"},
        /* it lost sight of the process, and counted a restart that was none */
        {POD("", "\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"a\",\"restartCount\":1,\"state\":{"
                 "\"waiting\":{\"reason\":\"ContainerCreating\"}},\"lastState\":{\"terminated\":{\"exitCode\":137,"
                 "\"reason\":\"ContainerStatusUnknown\",\"startedAt\":null,\"finishedAt\":null}}}]"),
         "n/p finished # a restarts=1 waits lastkill-lost"},
};

static void pods_are_read_as_the_table_says(void **state)
{
        (void)state;
        struct arena a = {0};
        struct pod_view pod;
        struct buf got;
        buf_init(&got, 1 << 16);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                memset(&pod, 0xaa, sizeof pod); /* what was there before does not show */
                buf_reset(&got);
                arena_reset(&a);
                int rc = decode_pod(text_of(row[i].in), &a, &pod, &err);
                if (rc == 0)
                        say_pod(&got, &pod);
                expect(row[i].in, row[i].want, rc, &err, &got);
        }
        buf_release(&got);
        arena_release(&a);
}

/* The first containers and labels are kept, and the view says that there are more. */
static void too_many_containers_or_labels_are_cut(void **state)
{
        (void)state;
        struct arena a = {0};
        struct pod_view pod;
        struct err err = {0};
        struct buf in;
        buf_init(&in, 1 << 16);
        for (int more = -1; more <= 1; more++) {
                int containers = VIEW_CONTAINERS + more, labels = VIEW_LABELS + more;
                buf_reset(&in);
                memset(&pod, 0xaa, sizeof pod);
                say(&in, "{\"metadata\":{\"name\":\"p\",\"labels\":{\"l\":\"\"");
                for (int i = 1; i < labels; i++)
                        say(&in, ",\"l%d\":\"\"", i);
                say(&in, "}},\"spec\":{\"initContainers\":[{\"name\":\"i\"}],\"containers\":[{\"name\":\"c\"}");
                for (int i = 2; i < containers; i++)
                        say(&in, ",{\"name\":\"c%d\"}", i);
                say(&in, "],\"nodeName\":\"n\"}}");
                if (decode_pod(buf_text(&in), &a, &pod, &err) < 0)
                        fail_msg("%s", err.text);
                assert_int_equal(pod.containers, more > 0 ? VIEW_CONTAINERS : containers);
                assert_int_equal(pod.containers_cut, more > 0);
                assert_int_equal(pod.meta.labels, more > 0 ? VIEW_LABELS : labels);
                assert_int_equal(pod.meta.labels_cut, more > 0);
                assert_true(text_is(pod.node, "n")); /* what follows is read */
        }
        buf_release(&in);
        arena_release(&a);
}

static void every_prefix_is_refused(void **state)
{
        (void)state;
        struct arena a = {0};
        struct pod_view pod;
        size_t len = strlen(row[1].in);
        for (size_t cut = 0; cut < len; cut++) {
                arena_reset(&a);
                char *exact = mem_string_n(row[1].in, cut);
                if (decode_pod((struct text){exact, cut}, &a, &pod, NULL) != ERR_INVALID)
                        fail_msg("cut after %zu bytes", cut);
                mem_free(exact);
        }
        arena_release(&a);
}

/* Keys are made of names: what no API server lets pass goes no further. */
static void names_are_bounded(void **state)
{
        (void)state;
        static const char *const shape[] = {
                "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"}}",
                "{\"metadata\":{\"name\":\"p\",\"namespace\":\"%s\"}}",
                ("{\"metadata\":{\"name\":\"p\",\"ownerReferences\":[{\"kind\":\"K\",\"name\":\"%s\",\"controller\":"
                 "true}]}}"),
                "{\"metadata\":{\"name\":\"p\",\"ownerReferences\":[{\"kind\":\"%s\",\"name\":\"o\"}]}}",
        };
        for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
                for (int len = 252; len <= 254; len++) {
                        struct arena a = {0};
                        struct pod_view pod;
                        struct err err = {0};
                        char name[300];
                        memset(name, 'n', (size_t)len);
                        name[len] = '\0';
                        const char *hole = strstr(shape[i], "%s");
                        char *in = mem_printf("%.*s%s%s", (int)(hole - shape[i]), shape[i], name, hole + 2);
                        assert_int_equal(decode_pod(text_of(in), &a, &pod, &err), len > VIEW_NAME ? ERR_TOOBIG : 0);
                        assert_true(len <= VIEW_NAME || strstr(err.text, "is longer than 253 bytes"));
                        mem_free(in);
                        arena_release(&a);
                }
        static const char *const bad[] = {"\\u0000", "a\\u0000b", "a/b", "\\u001b[31m", "a b", "\\u007f"};
        for (size_t i = 0; i < sizeof shape / sizeof shape[0] * (sizeof bad / sizeof bad[0]); i++) {
                const char *to = shape[i % 4], *hole = strstr(to, "%s");
                struct arena a = {0};
                struct pod_view pod;
                struct err err = {0};
                char *in = mem_printf("%.*s%s%s", (int)(hole - to), to, bad[i / 4], hole + 2);
                assert_int_equal(decode_pod(text_of(in), &a, &pod, &err), ERR_INVALID);
                assert_non_null(strstr(err.text, "has a byte that no name may have"));
                mem_free(in);
                arena_release(&a);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_are_bounded),
                cmocka_unit_test(pods_are_read_as_the_table_says),
                cmocka_unit_test(too_many_containers_or_labels_are_cut),
                cmocka_unit_test(every_prefix_is_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
