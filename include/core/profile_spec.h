/*
 * A profile's spec as values with every default filled in; which workloads a profile selects, and which of several
 * profiles wins.
 */
#ifndef HALFLIFE_CORE_PROFILE_SPEC_H
#define HALFLIFE_CORE_PROFILE_SPEC_H

#include "core/label_selector.h"
#include "core/maintenance_window.h"
#include "core/policy.h"

enum { PROFILE_WINDOWS = 16, PROFILE_TARGETS = 32, PROFILE_CONTAINERS = 32 };

struct profile_window {
        struct window window;
        char *time_zone; /* an IANA name; "UTC" by default */
};
struct profile_target {
        char *api_version, *kind;
};
struct profile_container {
        char *name; /* the container's name; "*": all containers without a row of their own */
        bool ignore;
        struct resource_policy of[RESOURCES]; /* the profile's policies, with this container's overrides */
};

struct profile_spec {
        struct selector *namespace_selector, *selector;
        struct profile_target *target;
        int targets; /* number of target kinds; 0: the default kinds */
        enum dimension dimension;
        int priority;
        struct resource_policy of[RESOURCES];
        struct profile_container *container;
        int containers;
        struct apply_policy apply;
        struct profile_window *window;
        int windows;
        int budget_workloads;          /* most workloads changing at the same time; 0: no bound */
        int64_t budget_cores_per_hour; /* most change of request * replicas in a sliding hour, millicores; 0: no bound
                                        */
        bool paused;
};

/* The policy [RESOURCES] of one container: its own row, else the row "*", else the profile's own. CONTAINER_WHOLE has
 * the profile's own. *ret_ignore: the row's mode is Ignore. */
const struct resource_policy *profile_spec_container(const struct profile_spec *p, struct text name, bool *ret_ignore);

/* The workload, pod, namespace or node that a profile may select. */
struct profile_subject {
        struct text ns;
        const struct label_pair *ns_label;
        size_t ns_labels;
        bool system;              /* a system namespace: selected only by naming kubernetes.io/metadata.name */
        enum dimension dimension; /* whether the subject is a workload, pod, namespace or node; only a profile of the
                                     same dimension selects it */
        struct text group, kind;  /* group and kind of the workload; group "" is core */
        bool by_default;          /* profiles without targets select this kind (kind_is_default) */
        const struct label_pair *label; /* labels of the workload, then its template; of equal keys the first counts */
        size_t labels;
};
/* Whether the profile selects the subject. ns is the namespace of a Profile; {NULL, 0} for a ClusterProfile. A
 * Namespace is selected by namespaceSelector alone: selector and targets choose among the pods in it, by their
 * workloads. */
bool profile_selects(const struct profile_spec *p, struct text ns, const struct profile_subject *s);

/* How many texts profile_selects compares at most for a Profile: for each subject, and for each label of a subject. */
struct profile_cost {
        int64_t subject, label;
};
struct profile_cost profile_spec_cost(const struct profile_spec *p);

/* Which of two profiles wins where both select the same workload. A Profile beats a ClusterProfile; then the higher
 * priority, the older profile, or the name that sorts first wins. */
struct profile_rank {
        bool cluster;
        int priority;
        int64_t created_ms;
        const char *name;
};
bool profile_beats(struct profile_rank a, struct profile_rank b);

#endif
