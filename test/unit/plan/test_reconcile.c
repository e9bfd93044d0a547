/* From a cache to a plan: what is ours, what the owner said, and what is to be done. Usage is 250m, so the target is
 * 285m. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/shop.h"
#include "base/yaml.h"
#include "plan/plan.h"

#define RECORDED(cpu) "{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"" cpu "\\\"}}}"
#define CARRIES(original, applied)                                                                                     \
        "\"halflife.dev/original-resources\":\"" RECORDED(                                                             \
                original) "\",\"halflife.dev/applied-resources\":\"" RECORDED(applied) "\""
#define E8      "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"
#define E64     E8 E8 E8 E8 E8 E8 E8 E8
#define ROLLOUT "{\"apply\":{\"mode\":\"Rollout\",\"minHistory\":\"1m\",\"maxDecreasePercent\":90}}"
#define NAMED_ROLLOUT                                                                                                  \
        "{\"targets\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"}],"                                         \
        "\"apply\":{\"mode\":\"Rollout\",\"minHistory\":\"1m\",\"maxDecreasePercent\":90}}"
#define ON_DEPLOY                                                                                                      \
        "{\"overcommit\":\"StaticThenDynamic\",\"static\":{\"cpu\":\"0.5\"},"                                          \
        "\"apply\":{\"mode\":\"OnDeploy\",\"minHistory\":\"1m\"}}"
#define ON_DEPLOY_WORKLOAD "{\"apply\":{\"mode\":\"OnDeploy\",\"at\":\"Workload\",\"minHistory\":\"1m\"}}"
#define STATIC_ROLLOUT                                                                                                 \
        "{\"overcommit\":\"Static\",\"static\":{\"cpu\":\"0.5\"},"                                                     \
        "\"apply\":{\"mode\":\"Rollout\",\"minHistory\":\"1m\"}}"
#define EARLY(mode)                                                                                                    \
        "{\"apply\":{\"mode\":\"" mode                                                                                 \
        "\",\"minHistory\":\"8760h\",\"early\":{\"enabled\":true,\"after\":\"0s\",\"multiplier\":\"2\"}}}"
#define LIMIT_BASIS                                                                                                    \
        "{\"apply\":{\"mode\":\"Rollout\",\"minHistory\":\"1m\",\"maxDecreasePercent\":90,\"hpa\":\"LimitBasis\"}}"
#define OF_HPA(mode)                                                                                                   \
        "{\"apply\":{\"mode\":\"Rollout\",\"minHistory\":\"1m\",\"maxDecreasePercent\":90,\"hpa\":\"" mode "\"}}"
#define SELECTS "\"selector\":{\"matchLabels\":{\"app\":\"web\"}},"
#define UTILIZATION(what)                                                                                              \
        "{\"type\":\"Resource\",\"resource\":{\"name\":\"" what "\",\"target\":{\"type\":\"Utilization\","             \
        "\"averageUtilization\":60}}}"
#define PODS_METRIC                                                                                                    \
        "{\"type\":\"Pods\",\"pods\":{\"metric\":{\"name\":\"halflife_pod_cpu_utilization\"},\"target\":{"             \
        "\"type\":\"AverageValue\",\"averageValue\":\"600m\"}}}"
/* One more than halflife reads */
#define EXTERNAL "{\"type\":\"External\"}"
#define FOUR     EXTERNAL "," EXTERNAL "," EXTERNAL "," EXTERNAL
#define SIXTEEN  FOUR "," FOUR "," FOUR "," FOUR
#define TOO_MANY SIXTEEN "," SIXTEEN "," EXTERNAL
#define LOOK     "{\"apply\":{\"minHistory\":\"1m\"}}"

#define QUOTA(scope, hard, used)                                                                                       \
        "\"spec\":{" scope "\"hard\":{" hard "}},\"status\":{\"hard\":{" hard "},\"used\":{" used "}}"
#define CLASSES(how)                                                                                                   \
        "\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":\"" how                \
        "\",\"values\":[\"low\",\"high\"]}]},"

enum { SAMPLES = 120 };
static const int64_t base_ms = 1763700000000;

struct row {
        const char *what;
        const char *spec;        /* of the profile; NULL: none */
        const char *request;     /* "": none */
        const char *annotations; /* of the template */
        const char *more;        /* members of the workload's spec */
        const char *pod;         /* more members of the pod's spec */
        const char *refused;     /* why new pods are; NULL: they are not */
        const char *contest;     /* the manager that changed halflife's value; NULL: nobody did */
        const char *quota;       /* its spec and status; NULL: there is none */
        const char *admitted;    /* what admission made of ours; NULL */
        const char *hpa;         /* metrics of an HPA; NULL: there is none */
        const char *hpa_notes;   /* its annotations; NULL: none */
        const char *scales;      /* the workload that the HPA scales; NULL: ours */
        int others;              /* so many other workloads have pods with the same label */
        enum counting counting;  /* of these others */
        int samples;
        int changed_ms, killed_ms; /* so long ago, as we know it and as a kubelet tells; 0: never */
        /* wanted */
        int64_t original, target, value; /* value: what would be written; 0: nothing is */
        const char *reason, *condition;  /* one that must be there, as "Type" or "Type=Reason"; NULL */
        const char *says;                /* Applied does; NULL */
        bool carries;
};

static const struct row rows[] = {
        {.what = "lowered",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 285,
         .reason = "Lowered"},
        {.what = "only told",
         .spec = LOOK,
         .request = "1",
         .annotations = "",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "RecommendOnly"},
        {.what = "nothing learned",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .samples = 0,
         .original = 1000,
         .target = 1000,
         .reason = "Learning"},
        {.what = "learning",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .samples = 10,
         .original = 1000,
         .target = 1000,
         .reason = "Learning"},
        {.what = "ours stands",
         .spec = ROLLOUT,
         .request = "285m",
         .annotations = CARRIES("1", "285m"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Lowered",
         .carries = true},
        {.what = "ours, in another spelling",
         .spec = ROLLOUT,
         .request = "0.285",
         .annotations = CARRIES("1000m", "285m"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Lowered",
         .carries = true},
        {.what = "ours of an older revision",
         .spec = ROLLOUT,
         .request = "500m",
         .annotations = CARRIES("1", "500m"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 285,
         .reason = "Lowered",
         .carries = true},
        {.what = "raised too soon",
         .spec = ROLLOUT,
         .request = "200m",
         .annotations = CARRIES("1", "200m"),
         .samples = SAMPLES,
         .changed_ms = 1500,
         .killed_ms = 3000,
         .original = 1000,
         .target = 285,
         .reason = "Cooldown",
         .condition = "Applied=Cooldown",
         .carries = true},
        {.what = "raised after a kill of the second of our change",
         .spec = ROLLOUT,
         .request = "200m",
         .annotations = CARRIES("1", "200m"),
         .samples = SAMPLES,
         .changed_ms = 1500,
         .killed_ms = 2000,
         .original = 1000,
         .target = 285,
         .value = 285,
         .reason = "Lowered",
         .carries = true},
        {.what = "the owner has spoken",
         .spec = ROLLOUT,
         .request = "600m",
         .annotations = CARRIES("1", "285m"),
         .samples = SAMPLES,
         .original = 600,
         .target = 285,
         .value = 285,
         .reason = "Lowered"},
        {.what = "the owner wants less than we",
         .spec = ROLLOUT,
         .request = "200m",
         .annotations = CARRIES("1", "285m"),
         .samples = SAMPLES,
         .original = 200,
         .target = 200,
         .reason = "AtOriginal",
         .condition = "UnderProvisioned"},
        {.what = "admission's value is not the owner's",
         .spec = ROLLOUT,
         .request = "500m",
         .annotations = CARRIES("1", "285m"),
         .admitted = "{\"app\":{\"requests\":{\"cpu\":\"500m\"}}}",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 285,
         .reason = "Lowered",
         .carries = true},
        {.what = "admission took it out",
         .spec = ROLLOUT,
         .request = "",
         .annotations = CARRIES("1", "285m"),
         .admitted = "{\"app\":{\"requests\":{}}}",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 285,
         .reason = "Lowered",
         .carries = true},
        {.what = "the owner took it out",
         .spec = ROLLOUT,
         .request = "",
         .annotations = CARRIES("1", "285m"),
         .admitted = "{\"app\":{\"requests\":{\"cpu\":\"500m\"}}}",
         .samples = SAMPLES,
         .original = -1,
         .target = 285,
         .reason = "NoOriginal"},
        {.what = "a record that somebody broke",
         .spec = ROLLOUT,
         .request = "285m",
         .annotations = "\"halflife.dev/original-resources\":\"{\",\"halflife.dev/applied-resources\":\"nonsense\"",
         .samples = SAMPLES,
         .original = 285,
         .target = 285,
         .reason = "AtOriginal",
         .condition = "Held"},
        {.what = "an original that somebody broke, of a value above the target",
         .spec = ROLLOUT,
         .request = "400m",
         .annotations =
                 "\"halflife.dev/original-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"-1\\\"}}}\"",
         .samples = SAMPLES,
         .original = 400,
         .target = 285,
         .reason = "Paused",
         .condition = "Held"},
        {.what = "no request",
         .spec = ROLLOUT,
         .request = "",
         .annotations = "",
         .samples = SAMPLES,
         .original = -1,
         .target = 285,
         .reason = "NoOriginal"},
        {.what = "a rollout that waits",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .more = "\"paused\":true,",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "RolloutBlocked"},
        {.what = "what would stick there",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .more = "\"updateStrategy\":{\"type\":\"InPlaceOnly\"},",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Immutable",
         .condition = "InPlaceOnly"},
        {.what = "what would stop until a person goes on",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .more = "\"strategy\":{\"canary\":{\"steps\":[{\"pause\":{}}]}},",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "RolloutBlocked",
         .condition = "Applied=RolloutBlocked"},
        {.what = "the same of a kind that is named",
         .spec = NAMED_ROLLOUT,
         .request = "1",
         .annotations = "",
         .more = "\"strategy\":{\"canary\":{\"steps\":[{\"pause\":{}}]}},",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 285,
         .reason = "Lowered"},
        {.what = "orphaned by its mode",
         .spec = LOOK,
         .request = "500m",
         .annotations = CARRIES("1", "500m"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Orphaned",
         .carries = true},
        {.what = "given back where the profile manages it no more",
         .spec = "{\"resources\":{\"cpu\":{\"enabled\":false}},\"apply\":{\"mode\":\"Rollout\",\"minHistory\":\"1m\","
                 "\"minChangePercent\":0}}",
         .request = "990m",
         .annotations = CARRIES("1", "990m"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 1000,
         .value = 1000,
         .reason = "CPUOff",
         .carries = true},
        /* one pod of 285m beside two of 1: the quarter of two, rounded up */
        {.what = "a quota with room for the surge",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .quota = QUOTA("", "\"requests.cpu\":\"2285m\"", "\"requests.cpu\":2"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 285,
         .reason = "Lowered"},
        {.what = "a quota without",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .quota = QUOTA("", "\"cpu\":\"2284m\"", "\"cpu\":2"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Quota",
         .condition = "Applied=Quota"},
        {.what = "a quota of pods",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .quota = QUOTA("", "\"pods\":2", "\"pods\":2"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Quota"},
        {.what = "a quota of pods, and none beside the others",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .more = "\"strategy\":{\"rollingUpdate\":{\"maxSurge\":0}},",
         .quota = QUOTA("", "\"pods\":2,\"requests.cpu\":2", "\"pods\":2,\"requests.cpu\":2"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 285,
         .reason = "Lowered"},
        {.what = "a quota that came to allow less than there is: a pod that goes has no successor",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .more = "\"strategy\":{\"rollingUpdate\":{\"maxSurge\":0}},",
         .quota = QUOTA("", "\"requests.cpu\":\"1284m\"", "\"requests.cpu\":2"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Quota"},
        {.what = "a quota for a raise of both, and one beside them",
         .spec = ROLLOUT,
         .request = "100m",
         .annotations = CARRIES("1", "100m"),
         .quota = QUOTA("", "\"requests.cpu\":\"669m\"", "\"requests.cpu\":\"200m\""),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Quota",
         .carries = true},
        {.what = "just enough of it",
         .spec = ROLLOUT,
         .request = "100m",
         .annotations = CARRIES("1", "100m"),
         .quota = QUOTA("", "\"requests.cpu\":\"670m\"", "\"requests.cpu\":\"200m\""),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 285,
         .reason = "Lowered",
         .carries = true},
        {.what = "a quota of other pods",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .quota = QUOTA("\"scopes\":[\"BestEffort\"],", "\"pods\":0", ""),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 285,
         .reason = "Lowered"},
        {.what = "a quota of its class",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .pod = ",\"priorityClassName\":\"high\"",
         .quota = QUOTA(CLASSES("In"), "\"pods\":2", "\"pods\":2"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Quota"},
        {.what = "a quota of another class",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .pod = ",\"priorityClassName\":\"high\"",
         .quota = QUOTA(CLASSES("NotIn"), "\"pods\":2", "\"pods\":2"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 285,
         .reason = "Lowered"},
        {.what = "its pods are refused by a quota",
         .spec = ROLLOUT,
         .request = "285m",
         .annotations = CARRIES("1", "285m"),
         .refused = "pods \\\"web-1\\\" is forbidden: exceeded quota: q",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Lowered",
         .condition = "Degraded=Quota",
         .carries = true},
        {.what = "its pods are refused at length, and not in English",
         .spec = ROLLOUT,
         .request = "285m",
         .annotations = CARRIES("1", "285m"),
         .refused = "exceeded quota:" E64 E64, /* the cut is within a character */
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Lowered",
         .condition = "Degraded=Quota",
         .carries = true},
        {.what = "contested by somebody with a long name, and more is said after it",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .contest = "put back by: " E64 E64, /* as before */
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Contested",
         .condition = "Contested=ChangedBack"},
        {.what = "the pod as a whole asks",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .pod = ",\"resources\":{\"requests\":{\"cpu\":\"2\"}}",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Immutable",
         .condition = "PodLevel=CPU"},
        {.what = "the pod as a whole is limited, its containers ask",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .pod = ",\"resources\":{\"limits\":{\"cpu\":\"2\"}}",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 285,
         .reason = "Lowered"},
        {.what = "the pod as a whole asks, at a deploy",
         .spec = ON_DEPLOY,
         .request = "1",
         .annotations = "",
         .pod = ",\"resources\":{\"requests\":{\"cpu\":\"2\"}}",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Immutable",
         .condition = "Applied=Immutable"},
        {.what = "paused",
         .spec = "{\"paused\":true,\"apply\":{\"mode\":\"Rollout\",\"minHistory\":\"1m\"}}",
         .request = "1",
         .annotations = "",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Paused"},
        {.what = "the next deploy gets it",
         .spec = ON_DEPLOY,
         .request = "1",
         .annotations = "",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Lowered",
         .condition = "Applied=NextDeploy"},
        {.what = "static until it is learned",
         .spec = ON_DEPLOY,
         .request = "1",
         .annotations = "",
         .samples = 10,
         .original = 1000,
         .target = 500,
         .reason = "Static",
         .condition = "Applied=NextDeploy"},
        {.what = "a static factor starts no rollout",
         .spec = STATIC_ROLLOUT,
         .request = "1",
         .annotations = "",
         .samples = SAMPLES,
         .original = 1000,
         .target = 500,
         .reason = "Static",
         .condition = "Applied=Static"},
        {.what = "an early request",
         .spec = EARLY("OnDeploy"),
         .request = "1",
         .annotations = "",
         .samples = SAMPLES,
         .original = 1000,
         .target = 570,
         .reason = "Early",
         .condition = "Applied=NextDeploy"},
        {.what = "an early request starts no rollout",
         .spec = EARLY("Rollout"),
         .request = "1",
         .annotations = "",
         .samples = SAMPLES,
         .original = 1000,
         .target = 570,
         .reason = "Early",
         .condition = "Applied=Early"},
        {.what = "nor a resize",
         .spec = EARLY("InPlace"),
         .request = "1",
         .annotations = "",
         .samples = SAMPLES,
         .original = 1000,
         .target = 570,
         .reason = "Early",
         .condition = "Applied=Early"},
        {.what = "a deploy wrote it",
         .spec = ON_DEPLOY_WORKLOAD,
         .request = "285m",
         .annotations = CARRIES("1", "285m"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Lowered",
         .condition = "Applied=UpToDate",
         .carries = true},
        {.what = "a rollout under way holds no deploy",
         .spec = ON_DEPLOY_WORKLOAD,
         .request = "1",
         .annotations = "",
         .more = "\"paused\":true,",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Lowered",
         .condition = "Applied=NextDeploy"},
        {.what = "an HPA by utilization holds",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "HPAHold",
         .condition = "Applied=HPAHold",
         .says = "HPA 'web' scales on cpu utilization"},
        {.what = "LimitBasis, and an HPA by utilization: told how to write it",
         .spec = LIMIT_BASIS,
         .request = "1",
         .annotations = "",
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "HPAHold",
         .condition = "Applied=HPAHold",
         .says = "HPA 'web' scales on cpu utilization; use a metric of type Pods instead: "
                 "halflife_pod_cpu_utilization, averageValue 600m for 60 %"},
        {.what = "LimitBasis, and one of two metrics is still by utilization",
         .spec = LIMIT_BASIS,
         .request = "1",
         .annotations = "",
         .hpa = PODS_METRIC "," UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "HPAHold",
         .condition = "Applied=HPAHold"},
        {.what = "LimitBasis, by utilization of the other resource",
         .spec = LIMIT_BASIS,
         .request = "1",
         .annotations = "",
         .hpa = PODS_METRIC "," UTILIZATION("memory"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 285,
         .reason = "Lowered"},
        {.what = "an autoscaler that lets it pass, and a quota that does not",
         .spec = LIMIT_BASIS,
         .request = "1",
         .annotations = "",
         .quota = QUOTA("", "\"cpu\":\"2284m\"", "\"cpu\":2"),
         .hpa = UTILIZATION("memory"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "Quota",
         .condition = "Applied=Quota"},
        {.what = "LimitBasis, by the metric of pods",
         .spec = LIMIT_BASIS,
         .request = "1",
         .annotations = "",
         .hpa = PODS_METRIC,
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 285,
         .reason = "Lowered"},
        {.what = "LimitBasis, lowered, and utilization comes back: the original does, too",
         .spec = LIMIT_BASIS,
         .request = "285m",
         .annotations = CARRIES("1", "285m"),
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 1000,
         .reason = "HPAHold",
         .carries = true},
        {.what = "LimitBasis, lowered, and utilization comes back: the condition says so",
         .spec = LIMIT_BASIS,
         .request = "285m",
         .annotations = CARRIES("1", "285m"),
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .value = 1000,
         .reason = "HPAHold",
         .condition = "Applied=Pending",
         .says = "the owner's requests come back",
         .carries = true},
        {.what = "LimitBasis, lowered, and utilization comes back, but a rollout is blocked",
         .spec = LIMIT_BASIS,
         .request = "285m",
         .annotations = CARRIES("1", "285m"),
         .more = "\"paused\":true,",
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "RolloutBlocked",
         .condition = "Applied=RolloutBlocked",
         .says = "the owner's requests come back, but not yet: the rollout is paused",
         .carries = true},
        {.what = "Retune, lowered, and the HPA's record is broken: what is in force stays",
         .spec = OF_HPA("Retune"),
         .request = "285m",
         .annotations = CARRIES("1", "285m"),
         .hpa = UTILIZATION("cpu"),
         .hpa_notes = "\"halflife.dev/original-targets\":\"nonsense\"",
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "HPAHold",
         .condition = "Applied=HPAHold",
         .says = "the owner's requests come back, but not yet: HPA 'web': halflife cannot read its annotation "
                 "halflife.dev/original-targets",
         .carries = true},
        {.what = "an HPA with more metrics than are read: one of those may go by CPU",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .hpa = TOO_MANY,
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .reason = "HPAHold",
         .condition = "Applied=HPAHold",
         .says = "HPA 'web' has more than the 32 metrics that halflife reads"},
        {.what = "Hold, and the HPA counts another workload's pods too",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .others = 1,
         .reason = "HPAHold",
         .says = "HPA 'web' scales on cpu utilization, and counts pods of Deployment 'other-0' too"},
        {.what = "Retune, and the HPA counts other workloads' pods too",
         .spec = OF_HPA("Retune"),
         .request = "1",
         .annotations = "",
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .others = 3,
         .reason = "HPAShared",
         .condition = "Applied=HPAShared",
         .says = "HPA 'web' scales on cpu utilization, and counts pods of Deployment 'other-0' and 2 other workloads "
                 "too"},
        {.what = "Retune, and the HPA may count any workload's pods",
         .spec = OF_HPA("Retune"),
         .request = "1",
         .annotations = "",
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .others = 1,
         .counting = COUNTS_ANY,
         .reason = "HPAShared",
         .condition = "Applied=HPAShared",
         .says = "HPA 'web' scales on cpu utilization, and may count pods of any workload: there are too many labels "
                 "to compare"},
        {.what = "Retune, and the HPA may count pods of one with too many labels",
         .spec = OF_HPA("Retune"),
         .request = "1",
         .annotations = "",
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .others = 2,
         .counting = COUNTS_PERHAPS,
         .reason = "HPAShared",
         .condition = "Applied=HPAShared",
         .says = "HPA 'web' scales on cpu utilization, and may count pods of Deployment 'other-0' and 1 other workload "
                 "too (over 256 labels)"},
        {.what = "the HPA of another workload may count its pods",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .others = 1,
         .counting = COUNTS_ANY,
         .scales = "other-0",
         .reason = "HPAShared",
         .condition = "Applied=HPAShared",
         .says = "HPA 'web' of Deployment 'other-0' scales on cpu utilization, and may count pods of this workload "
                 "too: there are too many labels to compare"},
        {.what = "the HPA of another workload may count its pods, by a selector that is too long",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .others = 1,
         .counting = COUNTS_UNREAD,
         .scales = "other-0",
         .reason = "HPAShared",
         .condition = "Applied=HPAShared",
         .says = "HPA 'web' of Deployment 'other-0' scales on cpu utilization, and may count pods of this workload "
                 "too: its selector is longer than halflife reads"},
        {.what = "Retune, and the HPA counts another workload's pods by the other resource",
         .spec = OF_HPA("Retune"),
         .request = "1",
         .annotations = "",
         .hpa = UTILIZATION("memory"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .others = 1,
         .value = 285,
         .reason = "Lowered"},
        {.what = "Retune, lowered, and another workload comes: the original comes back",
         .spec = OF_HPA("Retune"),
         .request = "285m",
         .annotations = CARRIES("1", "285m"),
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .others = 1,
         .value = 1000,
         .reason = "HPAShared",
         .carries = true},
        {.what = "Ignore, and the HPA counts another workload's pods too",
         .spec = OF_HPA("Ignore"),
         .request = "1",
         .annotations = "",
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .others = 1,
         .value = 285,
         .reason = "Lowered"},
        {.what = "the HPA of another workload counts its pods",
         .spec = ROLLOUT,
         .request = "1",
         .annotations = "",
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .others = 1,
         .scales = "other-0",
         .reason = "HPAShared",
         .condition = "Applied=HPAShared",
         .says = "HPA 'web' of Deployment 'other-0' scales on cpu utilization, and counts pods of this workload too"},
        {.what = "the HPA of another workload counts its pods, at a deploy",
         .spec = ON_DEPLOY,
         .request = "1",
         .annotations = "",
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .others = 1,
         .scales = "other-0",
         .reason = "HPAShared",
         .condition = "Applied=HPAShared"},
        {.what = "the HPA of another workload counts its pods, and is ignored",
         .spec = OF_HPA("Ignore"),
         .request = "1",
         .annotations = "",
         .hpa = UTILIZATION("cpu"),
         .samples = SAMPLES,
         .original = 1000,
         .target = 285,
         .others = 1,
         .scales = "other-0",
         .value = 285,
         .reason = "Lowered"},
};

static void make_world(struct cache *w, const struct row *r)
{
        char requests[100] = "{}";
        cache_init(w, "halflife", "halflife-system");
        if (*r->request)
                snprintf(requests, sizeof requests, "{\"requests\":{\"cpu\":\"%s\"}}", r->request);
        AUTO(mem_free)
        char *spec = mem_printf("%s\"replicas\":2," SELECTS
                                "\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"},\"annotations\":{%s}},"
                                "\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":%s}]%s}}",
                                r->more ? r->more : "", r->annotations, requests, r->pod ? r->pod : "");
        AUTO(mem_free)
        char *status = mem_printf(
                SHOP_ROLLED_OUT ",\"conditions\":[{\"type\":\"ReplicaFailure\",\"status\":\"%s\",\"message\":\"%s\"}]",
                r->refused ? "True" : "False", r->refused ? r->refused : "");
        shop_workload(w, &(struct shop_workload){"apps", "Deployment", "web", "web", 1, NULL, spec, status});
        shop_profile(w, 1, r->spec);
}

static void make_quota(struct cache *w, const struct row *r)
{
        char json[1500];
        struct err err = {0};
        if (!r->quota)
                return;
        snprintf(json, sizeof json, "{\"metadata\":{\"namespace\":\"web\",\"name\":\"room\"},%s}", r->quota);
        if (quota_upsert(w, text_of(json), 1, &err) < 0)
                fail_msg("%s: %s", r->what, err.text);
}

static void make_others(struct cache *w, const struct row *r)
{
        static const char spec[] =
                "\"replicas\":1," SELECTS "\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}}}";
        for (int i = 0; i < r->others; i++) {
                AUTO(mem_free) char *name = mem_printf("other-%d", i);
                shop_workload(w, &(struct shop_workload){"apps", "Deployment", "web", name, 10 + i, NULL, spec, NULL});
        }
}

static void make_hpa(struct cache *w, const struct row *r)
{
        if (r->hpa)
                shop_hpa(w, &(struct shop_hpa){"web", r->hpa_notes, "apps", "Deployment", r->scales ? r->scales : "web",
                                               r->hpa});
}

static bool has_condition(const struct plan *p, const char *want)
{
        const char *reason = strchr(want, '=');
        char type[64];
        snprintf(type, sizeof type, "%.*s", (int)strcspn(want, "="), want);
        const struct plan_condition *c = plan_condition(p, type);
        return c && (!reason || strcmp(c->reason, reason + 1) == 0);
}

static void check(const struct row *r, const struct plan *p)
{
        const struct plan_container *c = &p->container[0];
        struct amount original = c->facts.original[CPU], target = c->advice.of[CPU].target;
        const struct gate_verdict *gate = &c->advice.gate[CPU];
        int64_t was = original.set ? original.value : -1, value = !p->apply || gate->hold ? 0 : gate->value;
        const char *reason = reason_name(c->advice.reason[CPU]);
        if (was != r->original || !target.set || target.value != r->target || value != r->value ||
            strcmp(reason, r->reason) != 0 || p->carries != r->carries || p->apply != (r->value > 0))
                fail_msg("%s: original %lld, target %lld, written %lld, %s, carries %d, apply %d", r->what,
                         (long long)was, (long long)target.value, (long long)value, reason, p->carries, p->apply);
        if (r->condition && !has_condition(p, r->condition))
                fail_msg("%s: no condition %s", r->what, r->condition);
        const struct plan_condition *applied = plan_condition(p, "Applied");
        for (int i = 0; i < p->conditions; i++) {
                AUTO(json_decref) json_t *words = json_string(p->condition[i].message);
                if (!words)
                        fail_msg("%s: condition %s: no UTF-8, which no API server takes", r->what,
                                 p->condition[i].type);
        }
        if (r->says && (!applied || strcmp(applied->message, r->says) != 0))
                fail_msg("%s: says '%s'", r->what, applied ? applied->message : "nothing");
}

static void test_rows(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                const struct row *r = &rows[i];
                struct cache w;
                struct arena a = {0};
                struct plan plan;
                struct now now = {.wall = {base_ms + SAMPLES * 1000}, .mono = {1}};
                make_world(&w, r);
                make_others(&w, r);
                make_hpa(&w, r);
                make_quota(&w, r);
                cache_relink(&w, now);
                struct target *t = target_get(&w, TEXT("web"), TEXT("apps"), TEXT("Deployment"), TEXT("web"));
                assert_non_null(t->workload);
                t->profile->window_open = true; /* the clock's part */
                if (r->counting)
                        ((struct autoscaler *)map_get(&w.autoscalers, TEXT("web/web")))->counting = r->counting;
                shop_learn(t, t->workload->container[0].name, base_ms, r->samples);
                target_set_admitted(&w, t, r->admitted);
                if (r->contest) {
                        t->apply_state.contest = mem_string(r->contest);
                        t->apply_state.contested_ms = now.wall.ms + HOUR_MS;
                }
                t->apply_state.changed_ms = r->changed_ms ? now.wall.ms - r->changed_ms : 0;
                t->kill_ms = r->killed_ms ? now.wall.ms - r->killed_ms : 0;
                struct plan_facts facts = {.now = now, .interval_ms = 1000};
                plan_judge(&w, t, &facts, &a, &plan);
                plan_finish(&w, &facts, &a, &plan);
                check(r, &plan);
                arena_release(&a);
                cache_release(&w);
        }
}

/* --- the overhead of a pod's RuntimeClass --- */

/* A pod of the surge takes 285m and the overhead of 250m, beside two of 1 and as much. */
static void test_quota_counts_the_overhead(void **state)
{
        static const struct {
                const char *hard, *reason;
        } quota[] = {{"3035m", "Lowered"}, {"3034m", "Quota"}};
        (void)state;
        for (size_t i = 0; i < sizeof quota / sizeof quota[0]; i++) {
                struct cache w;
                struct arena a = {0};
                struct plan plan;
                struct err err = {0};
                struct now now = {.wall = {base_ms + SAMPLES * 1000}, .mono = {1}};
                cache_init(&w, "halflife", "halflife-system");
                shop_deployment(&w, "{\"requests\":{\"cpu\":\"1\"}}");
                shop_profile(&w, 1, ROLLOUT);
                const struct text pod = TEXT(
                        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"web-1\",\"uid\":\"00000000-0000-4000-8001-"
                        "000000000001\"" SHOP_OWNED
                        "},\"spec\":{\"overhead\":{\"cpu\":\"250m\"},\"containers\":[{\"name\":"
                        "\"app\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Running\"}}");
                assert_int_equal(pod_upsert(&w, pod, 1, &err), 0);
                AUTO(mem_free)
                char *json = mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"room\"},\"status\":{\"hard\":{"
                                        "\"requests.cpu\":\"%s\"},\"used\":{\"requests.cpu\":\"2500m\"}}}",
                                        quota[i].hard);
                assert_int_equal(quota_upsert(&w, text_of(json), 1, &err), 0);
                cache_relink(&w, now);
                struct target *t = shop_target(&w);
                t->profile->window_open = true;
                shop_learn(t, t->workload->container[0].name, base_ms, SAMPLES);
                struct plan_facts facts = {.now = now, .interval_ms = 1000};
                plan_judge(&w, t, &facts, &a, &plan);
                assert_string_equal(reason_name(plan.container[0].advice.reason[CPU]), quota[i].reason);
                arena_release(&a);
                cache_release(&w);
        }
}

/* --- the pod's QoS class --- */

#define FIXED    "{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}"
#define NO_LIMIT "{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"limits\":{\"memory\":\"1Gi\"}}"

/* A Guaranteed template whose pod was given one container more. */
static const struct {
        const char *what, *proxy, *reason;
        int64_t target;
} injected[] = {
        {"nothing injected", NULL, "QoS", 1000},
        {"injected, Guaranteed", FIXED, "QoS", 1000},
        {"injected, without a CPU limit", NO_LIMIT, "Lowered", 285},
};

static void make_guaranteed(struct cache *w, const char *proxy)
{
        struct err err = {0};
        cache_init(w, "halflife", "halflife-system");
        shop_deployment(w, FIXED);
        shop_profile(w, 1,
                     "{\"apply\":{\"mode\":\"Rollout\",\"minHistory\":\"1m\",\"maxDecreasePercent\":90,"
                     "\"keepGuaranteed\":true}}");
        AUTO(mem_free)
        char *json =
                mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"web-1\",\"uid\":\"00000000-0000-4000-8001-"
                           "000000000001\"" SHOP_OWNED "},\"spec\":{\"containers\":[{\"name\":\"app\","
                           "\"resources\":" FIXED "}%s%s%s]},\"status\":{\"phase\":\"Running\"}}",
                           proxy ? ",{\"name\":\"proxy\",\"resources\":" : "", proxy ? proxy : "", proxy ? "}" : "");
        assert_int_equal(pod_upsert(w, text_of(json), 1, &err), 0);
}

static void test_injected_and_guaranteed(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof injected / sizeof injected[0]; i++) {
                struct cache w;
                struct arena a = {0};
                struct plan plan;
                struct now now = {.wall = {base_ms + SAMPLES * 1000}, .mono = {1}};
                make_guaranteed(&w, injected[i].proxy);
                cache_relink(&w, now);
                struct target *t = target_get(&w, TEXT("web"), TEXT("apps"), TEXT("Deployment"), TEXT("web"));
                t->profile->window_open = true;
                shop_learn(t, t->workload->container[0].name, base_ms, SAMPLES);
                struct plan_facts facts = {.now = now, .interval_ms = 1000};
                plan_judge(&w, t, &facts, &a, &plan);
                plan_finish(&w, &facts, &a, &plan);
                const struct advice *app = &plan.container[0].advice;
                if (app->of[CPU].target.value != injected[i].target ||
                    strcmp(reason_name(app->reason[CPU]), injected[i].reason) != 0)
                        fail_msg("%s: %lld, %s", injected[i].what, (long long)app->of[CPU].target.value,
                                 reason_name(app->reason[CPU]));
                arena_release(&a);
                cache_release(&w);
        }
}

/* --- what pods have --- */

#define SMALL_POD                                                                                                      \
        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"web-1\",\"uid\":\"00000000-0000-4000-8001-"                   \
        "000000000001\"" SHOP_OWNED                                                                                    \
        "},\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"285m\"}}},{\"name\":"    \
        "\"proxy\",\"resources\":{\"requests\":{\"cpu\":\"70m\"}}}]},\"status\":{\"phase\":\"Running\"}}"

/* A pod's request is the one that halflife set only where pods get it at their creation; else the template's is. */
static void test_requests_of_pods(void **state)
{
        static const struct {
                const char *spec;
                int64_t current;
                bool carries;
        } pod[] = {{ROLLOUT, 1000, false}, {ON_DEPLOY_WORKLOAD, 1000, false}, {ON_DEPLOY, 285, true}};
        (void)state;
        for (size_t i = 0; i < sizeof pod / sizeof pod[0]; i++) {
                struct cache w;
                struct arena a = {0};
                struct plan plan;
                struct err err = {0};
                struct now now = {.wall = {base_ms + SAMPLES * 1000}, .mono = {1}};
                cache_init(&w, "halflife", "halflife-system");
                shop_deployment(&w, "{\"requests\":{\"cpu\":\"1\"}}");
                shop_profile(&w, 1, pod[i].spec);
                assert_int_equal(pod_upsert(&w, TEXT(SMALL_POD), 1, &err), 0);
                cache_relink(&w, now);
                struct target *t = shop_target(&w);
                struct plan_facts facts = {.now = now, .interval_ms = 1000};
                plan_judge(&w, t, &facts, &a, &plan);
                assert_int_equal(plan.container[0].facts.original[CPU].value, 1000);
                assert_int_equal(plan.container[0].running[CPU].value, 285);
                if (plan.container[0].facts.current[CPU].value != pod[i].current || plan.carries != pod[i].carries)
                        fail_msg("row %zu: %lld, carries %d", i, (long long)plan.container[0].facts.current[CPU].value,
                                 plan.carries);
                arena_release(&a);
                cache_release(&w);
        }
}

/* Originals are the template's, or its LimitRange's; of an injected container, and without a target, the pod's own. */
static void test_originals_of_pods(void **state)
{
        static const struct {
                const char *resources, *range; /* range: its default request for CPU; NULL: there is none */
                bool alone;
                int64_t app; /* 0: none */
        } row[] = {
                {"{\"requests\":{\"cpu\":\"1\"}}", NULL, false, 1000},
                {"{\"requests\":{\"cpu\":\"1\"}}", "200m", false, 1000},
                {"{}", "200m", false, 200},
                {"{}", NULL, false, 0},
                {"{\"requests\":{\"cpu\":\"1\"}}", NULL, true, 285},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                struct err err = {0};
                cache_init(&w, "halflife", "halflife-system");
                shop_deployment(&w, row[i].resources);
                shop_profile(&w, 1, ROLLOUT);
                AUTO(mem_free)
                char *json =
                        mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"range\"},\"spec\":{\"limits\":[{"
                                   "\"type\":\"Container\",\"defaultRequest\":{\"cpu\":\"%s\"}}]}}",
                                   row[i].range ? row[i].range : "");
                if (row[i].range)
                        assert_int_equal(range_upsert(&w, text_of(json), 1, &err), 0);
                assert_int_equal(pod_upsert(&w, TEXT(SMALL_POD), 1, &err), 0);
                cache_relink(&w, (struct now){.wall = {base_ms}, .mono = {1}});
                const struct target *t = row[i].alone ? NULL : shop_target(&w);
                const struct pod *pod = map_get(&w.pods, TEXT("web/web-1"));
                struct amount app[RESOURCES] = {{true, 1}, {true, 1}}, proxy[RESOURCES];
                plan_originals(&w, t, &pod->container[0], app);
                plan_originals(&w, t, &pod->container[1], proxy);
                if ((app[CPU].set ? app[CPU].value : 0) != row[i].app)
                        fail_msg("row %zu: %lld", i, (long long)app[CPU].value);
                assert_false(app[MEMORY].set);
                assert_int_equal(proxy[CPU].value, 70);
                assert_true(plan_cpu_weight(&w, t, &pod->container[0]) == (double)row[i].app / 1e3);
                cache_release(&w);
        }
}

/* minReplicas holds back what a rollout could stop: the pods of a DaemonSet, one on each node, are not counted. */
static void test_replicas_are_few(void **state)
{
        static const struct {
                const char *kind, *replicas, *status, *blocked;
                int least;
        } row[] = {
                {"Deployment", "\"replicas\":2,", SHOP_ROLLED_OUT, "", 2},
                {"Deployment", "\"replicas\":2,", SHOP_ROLLED_OUT, "it has 2 replicas, minReplicas is 3", 3},
                {"DaemonSet", "",
                 "\"observedGeneration\":1,\"desiredNumberScheduled\":2,\"updatedNumberScheduled\":2,"
                 "\"numberAvailable\":2,\"currentNumberScheduled\":2",
                 "", 3},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                struct arena a = {0};
                struct plan plan;
                struct now now = {.wall = {base_ms}, .mono = {1}};
                cache_init(&w, "halflife", "halflife-system");
                AUTO(mem_free)
                char *spec =
                        mem_printf("%s" SELECTS "\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{"
                                   "\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
                                   row[i].replicas);
                AUTO(mem_free)
                char *profile = mem_printf("{\"apply\":{\"mode\":\"Rollout\",\"minReplicas\":%d}}", row[i].least);
                shop_workload(&w,
                              &(struct shop_workload){"apps", row[i].kind, "web", "web", 1, NULL, spec, row[i].status});
                shop_profile(&w, 1, profile);
                cache_relink(&w, now);
                struct target *t = target_get(&w, TEXT("web"), TEXT("apps"), text_of(row[i].kind), TEXT("web"));
                struct plan_facts facts = {.now = now, .interval_ms = 1000};
                plan_judge(&w, t, &facts, &a, &plan);
                assert_string_equal(plan.blocked, row[i].blocked);
                arena_release(&a);
                cache_release(&w);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_requests_of_pods),
                cmocka_unit_test(test_originals_of_pods),
                cmocka_unit_test(test_replicas_are_few),
                cmocka_unit_test(test_quota_counts_the_overhead),
                cmocka_unit_test(test_injected_and_guaranteed),
        };
        return cmocka_run_group_tests_name("reconcile", tests, NULL, NULL);
}
