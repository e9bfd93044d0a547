/*
 * A profile's spec as values with every default filled in, whom it selects, and which of several wins.
 */
#ifndef HALFLIFE_CORE_PROFILE_H
#define HALFLIFE_CORE_PROFILE_H

#include "core/label_selector.h"
#include "core/maintenance_window.h"
#include "core/policy.h"

enum { PROFILE_WINDOWS = 16, PROFILE_TARGETS = 32, PROFILE_CONTAINERS = 32 };

struct profile_window {
        struct window window;
        char *time_zone; /* "UTC" by default */
};
struct profile_target {
        char *api_version, *kind;
};
struct profile_container {
        char *name; /* "*": the rest */
        bool ignore;
        struct resource_policy of[RESOURCES]; /* the profile's, with this container's overrides */
};

struct profile_spec {
        struct selector *namespace_selector, *selector;
        struct profile_target target[PROFILE_TARGETS];
        int targets; /* 0: the default kinds */
        enum dimension dimension;
        int priority;
        struct resource_policy of[RESOURCES];
        struct profile_container container[PROFILE_CONTAINERS];
        int containers;
        struct apply_policy apply;
        struct profile_window window[PROFILE_WINDOWS];
        int windows;
        int budget_workloads;          /* changed at once; 0: no bound */
        int64_t budget_cores_per_hour; /* millicores of request * replicas changed in a sliding hour; 0: no bound */
        bool paused;
};

/* The policy of one container: its own row, else "*", else the profile's, which is also that of CONTAINER_WHOLE.
 * *ret_ignore: mode Ignore. */
const struct resource_policy *profile_spec_container(const struct profile_spec *p, struct text name, bool *ret_ignore);

/* Whom a profile is asked about. */
struct profile_subject {
        struct text ns;
        const struct label_pair *ns_label;
        size_t ns_labels;
        bool system;                    /* a namespace that is reached only by naming kubernetes.io/metadata.name */
        enum dimension dimension;       /* asked for: profiles of another one do not compete */
        struct text group, kind;        /* of the workload; group "" is core */
        bool by_default;                /* of a kind that profiles without targets mean, too (kind_is_default) */
        const struct label_pair *label; /* the union of the workload's and its template's: the workload's first */
        size_t labels;
};
/* ns: a Profile's own namespace; {NULL, 0} for a ClusterProfile. Of a Namespace only its own labels count: the
 * selector and the targets choose the pods in it, which are asked about by their workload. */
bool profile_selects(const struct profile_spec *p, struct text ns, const struct profile_subject *s);

/* Which of two that select the same workload wins: a Profile beats a ClusterProfile, then the higher priority, the
 * older, the name that sorts first. */
struct profile_rank {
        bool cluster;
        int priority;
        int64_t created_ms;
        const char *name;
};
bool profile_beats(struct profile_rank a, struct profile_rank b);

#endif
