#include "core/kind.h"
#include "core/sha256.h"

#define TEMPLATE "/spec/template"

/* Versions are the ones to ask for where discovery has not told another. */
const struct kind kinds[] = {
        {"apps", "v1", "Deployment", "deployments", TEMPLATE, KIND_DEFAULT},
        {"apps", "v1", "StatefulSet", "statefulsets", TEMPLATE, KIND_DEFAULT},
        {"apps", "v1", "DaemonSet", "daemonsets", TEMPLATE, KIND_DEFAULT},
        {"batch", "v1", "CronJob", "cronjobs", "/spec/jobTemplate/spec/template", KIND_DEFAULT | KIND_BY_RUNS},
        {"apps", "v1", "ReplicaSet", "replicasets", TEMPLATE, KIND_DEFAULT | KIND_UNOWNED_ONLY | KIND_IMMUTABLE},
        {"batch", "v1", "Job", "jobs", TEMPLATE, KIND_UNOWNED_ONLY | KIND_IMMUTABLE},
        {"apps.kruise.io", "v1beta1", "CloneSet", "clonesets", TEMPLATE, KIND_DEFAULT},
        {"apps.kruise.io", "v1beta1", "StatefulSet", "statefulsets", TEMPLATE, KIND_DEFAULT},
        {"apps.kruise.io", "v1beta1", "DaemonSet", "daemonsets", TEMPLATE, KIND_DEFAULT},
        {"argoproj.io", "v1alpha1", "Rollout", "rollouts", TEMPLATE, KIND_DEFAULT},
};
const size_t kinds_count = sizeof kinds / sizeof kinds[0];

enum { NAME_LONGEST = KIND_NAME_MAX - 1, NAME_KEPT = 236, HASH_DIGITS = 16 };

static char lower(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

const struct kind *kind_find(struct text group, struct text kind)
{
        for (size_t i = 0; i < kinds_count; i++)
                if (text_is(kind, kinds[i].kind) && text_is(group, kinds[i].group))
                        return &kinds[i];
        return NULL;
}

/* The whole name, however long: its first bytes are kept, all of it is hashed. */
struct name {
        char *out;
        size_t len;
        struct sha256 hash;
};

static void name_add(struct name *n, struct text part)
{
        for (size_t i = 0; i < part.len; i++) {
                char c = lower(part.p[i]);
                if (n->len < NAME_LONGEST)
                        n->out[n->len] = c;
                n->len++;
                sha256_add(&n->hash, &c, 1);
        }
}

/* A '.' at the cut is left out as well: no label of a name may begin with the '-' that follows. */
static void name_shorten(struct name *n)
{
        uint8_t digest[32];
        sha256_finish(&n->hash, digest);
        n->len = NAME_KEPT;
        while (n->len && n->out[n->len - 1] == '.')
                n->len--;
        n->out[n->len++] = '-';
        for (int i = 0; i < HASH_DIGITS; i++)
                n->out[n->len++] = "0123456789abcdef"[digest[i / 2] >> (i % 2 ? 0 : 4) & 15];
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
        struct name n = {.out = out};
        sha256_init(&n.hash);
        name_add(&n, kind);
        if (!group_is_plain(group)) {
                name_add(&n, TEXT("."));
                name_add(&n, group);
        }
        name_add(&n, TEXT("-"));
        name_add(&n, name);
        if (n.len > NAME_LONGEST)
                name_shorten(&n);
        out[n.len] = '\0';
        return out;
}
