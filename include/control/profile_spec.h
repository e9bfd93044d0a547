/*
 * The spec of a ClusterProfile or Profile, read from its JSON with every default filled in. The CRD's schema refuses
 * most of what is wrong before it comes here; what still is (an unknown zone's name is not: zones are looked up by the
 * windows) is an error that names the field and the cure.
 */
#ifndef HALFLIFE_CONTROL_PROFILE_SPEC_H
#define HALFLIFE_CONTROL_PROFILE_SPEC_H

#include <jansson.h>

#include "base/err.h"
#include "control/selector.h"
#include "core/policy.h"
#include "core/window.h"

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

/* 0, or ERR_INVALID; *ret is untouched on failure. Release with profile_spec_release. */
int profile_spec_read(const json_t *spec, struct profile_spec *ret, struct err *err);
void profile_spec_release(struct profile_spec *p);

/* The policy of one container: its own row, else "*", else the profile's. *ret_ignore: mode Ignore. */
const struct resource_policy *profile_spec_container(const struct profile_spec *p, struct text name, bool *ret_ignore);

#endif
