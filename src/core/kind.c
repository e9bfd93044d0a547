#include "core/kind.h"
#include "core/sha256.h"

#define TEMPLATE "/spec/template"

/* In the order in which kind_by_name tries a name without group: Kubernetes' own kinds first. halflife asks for these
 * API versions until discovery has found another. */
const struct kind kinds[] = {
        {"apps", "v1", "Deployment", "deployments", "deployment", "deploy", TEMPLATE, KIND_DEFAULT},
        {"apps", "v1", "StatefulSet", "statefulsets", "statefulset", "sts", TEMPLATE, KIND_DEFAULT},
        {"apps", "v1", "DaemonSet", "daemonsets", "daemonset", "ds", TEMPLATE, KIND_DEFAULT},
        {"batch", "v1", "CronJob", "cronjobs", "cronjob", "cj", "/spec/jobTemplate/spec/template",
         KIND_DEFAULT | KIND_BY_RUNS | KIND_TO_COMPLETION},
        {"apps", "v1", "ReplicaSet", "replicasets", "replicaset", "rs", TEMPLATE,
         KIND_DEFAULT | KIND_UNOWNED_ONLY | KIND_IMMUTABLE},
        {"batch", "v1", "Job", "jobs", "job", "", TEMPLATE, KIND_UNOWNED_ONLY | KIND_IMMUTABLE | KIND_TO_COMPLETION},
        {"apps.kruise.io", "v1beta1", "CloneSet", "clonesets", "cloneset", "clone", TEMPLATE, KIND_DEFAULT},
        {"apps.kruise.io", "v1beta1", "StatefulSet", "statefulsets", "statefulset", "asts", TEMPLATE, KIND_DEFAULT},
        {"apps.kruise.io", "v1beta1", "DaemonSet", "daemonsets", "daemonset", "ads", TEMPLATE, KIND_DEFAULT},
        {"argoproj.io", "v1alpha1", "Rollout", "rollouts", "rollout", "ro", TEMPLATE, KIND_DEFAULT | KIND_PHASED},
};
const size_t kinds_count = sizeof kinds / sizeof kinds[0];

const struct kind kind_of_dimension[DIMENSIONS] = {
        [DIMENSION_WORKLOAD] = {"", "", "", "", "", "", "", 0},
        [DIMENSION_POD] = {"", "v1", "Pod", "pods", "pod", "po", "", KIND_IMMUTABLE},
        [DIMENSION_NAMESPACE] = {"", "v1", "Namespace", "namespaces", "namespace", "ns", "", KIND_IMMUTABLE},
        [DIMENSION_NODE] = {"", "v1", "Node", "nodes", "node", "no", "", KIND_IMMUTABLE},
};

const char *dimension_name(enum dimension d)
{
        return d == DIMENSION_WORKLOAD ? "Workload" : kind_of_dimension[d].kind;
}

enum dimension kind_dimension(struct text group, struct text kind)
{
        for (enum dimension d = DIMENSION_POD; d < DIMENSIONS; d++)
                if (group.len == 0 && text_is(kind, kind_of_dimension[d].kind))
                        return d;
        return DIMENSION_WORKLOAD;
}

bool kind_is_default(enum dimension d, struct text group, struct text kind)
{
        const struct kind *k = kind_find(group, kind);
        switch (d) {
        case DIMENSION_WORKLOAD:
                return k && k->flags & KIND_DEFAULT;
        case DIMENSION_POD:
                return kind_dimension(group, kind) == DIMENSION_POD || (k && text_is(kind, "StatefulSet"));
        default:
                return true;
        }
}

enum { NAME_LONGEST = KIND_NAME_MAX - 1, NAME_KEPT = 236, HASH_DIGITS = 16 };

static char kind_lower(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool equal_any_case(struct text t, const char *s)
{
        if (t.len != strlen(s))
                return false;
        for (size_t i = 0; i < t.len; i++)
                if (kind_lower(t.p[i]) != kind_lower(s[i]))
                        return false;
        return true;
}

const struct kind *kind_find(struct text group, struct text kind)
{
        for (size_t i = 0; i < kinds_count; i++)
                if (text_is(kind, kinds[i].kind) && text_is(group, kinds[i].group))
                        return &kinds[i];
        return NULL;
}

bool kind_runs_by_reference(struct text group, struct text kind)
{
        return text_is(kind, "Deployment") && text_is(group, "apps");
}

static bool goes_by(const struct kind *k, struct text name)
{
        return equal_any_case(name, k->plural) || equal_any_case(name, k->singular) ||
               (name.len && equal_any_case(name, k->short_name));
}

const struct kind *kind_by_name(struct text name)
{
        struct text bare = name, group = {0};
        const char *dot = name.len ? memchr(name.p, '.', name.len) : NULL;
        if (dot) {
                bare.len = (size_t)(dot - name.p);
                group = (struct text){dot + 1, name.len - bare.len - 1};
        }
        for (size_t i = 0; i < kinds_count; i++)
                if (goes_by(&kinds[i], bare) && (!dot || equal_any_case(group, kinds[i].group)))
                        return &kinds[i];
        for (enum dimension d = DIMENSION_POD; d < DIMENSIONS; d++)
                if (goes_by(&kind_of_dimension[d], bare) && (!dot || group.len == 0))
                        return &kind_of_dimension[d];
        return NULL;
}

enum { PARTS = 5 };

/* Shorten a Recommendation's name: cut it, and append the hash of the whole name. A '.' right before the cut is dropped
 * as well, because a DNS label must not begin with the '-' that follows. */
static size_t name_shorten(const struct text part[static PARTS], char out[static KIND_NAME_MAX])
{
        struct sha256 hash;
        uint8_t digest[SHA256_BYTES];
        sha256_init(&hash);
        for (int i = 0; i < PARTS; i++)
                for (size_t k = 0; k < part[i].len; k++)
                        sha256_add(&hash, &(char){kind_lower(part[i].p[k])}, 1);
        sha256_finish(&hash, digest);
        size_t len = NAME_KEPT;
        while (len && out[len - 1] == '.')
                len--;
        out[len++] = '-';
        for (int i = 0; i < HASH_DIGITS; i++)
                out[len++] = "0123456789abcdef"[digest[i / 2] >> (i % 2 ? 0 : 4) & 15];
        return len;
}

static bool group_is_plain(struct text group)
{
        return group.len == 0 || text_is(group, "apps") || text_is(group, "batch");
}

struct text kind_group(struct text api_version)
{
        const char *slash = api_version.len ? memchr(api_version.p, '/', api_version.len) : NULL;
        return (struct text){api_version.p, slash ? (size_t)(slash - api_version.p) : 0};
}

char *kind_recommendation_name(struct text group, struct text kind, struct text name, char out[static KIND_NAME_MAX])
{
        bool plain = group_is_plain(group);
        const struct text part[PARTS] = {kind, plain ? TEXT("") : TEXT("."), plain ? TEXT("") : group, TEXT("-"), name};
        size_t len = 0;
        for (int i = 0; i < PARTS; i++)
                for (size_t k = 0; k < part[i].len; k++, len++)
                        if (len < NAME_LONGEST)
                                out[len] = kind_lower(part[i].p[k]);
        if (len > NAME_LONGEST)
                len = name_shorten(part, out);
        out[len] = '\0';
        return out;
}
