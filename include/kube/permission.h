/*
 * The permissions that halflife run and halflife rotate need at the API server. A test compares the rules of manifests/
 * with this table, and `halflife check` checks each.
 */
#ifndef HALFLIFE_KUBE_PERMISSION_H
#define HALFLIFE_KUBE_PERMISSION_H

#include <stdbool.h>
#include <stddef.h>

#include "kube/known_resource.h"

/* The verbs, in the order in which RBAC rules list them. */
enum permission_verb {
        VERB_GET,
        VERB_LIST,
        VERB_WATCH,
        VERB_CREATE,
        VERB_UPDATE,
        VERB_PATCH,
        VERB_DELETE,
        PERMISSION_VERBS
};
extern const char *const permission_verb_name[PERMISSION_VERBS]; /* "get" */

/* The feature that needs a permission. */
enum permission_use {
        PERMISSION_ALWAYS,
        PERMISSION_TO_SERVE, /* --serve-listen */
        PERMISSION_TO_WRITE, /* unless --apply=never */
        PERMISSION_TO_RETUNE,
        PERMISSION_TO_RESIZE, /* to resize pods in place */
        PERMISSION_CUSTOM_METRICS,
        PERMISSION_CERTIFICATE, /* to read the Secret: --webhook-certificate self or secret */
        PERMISSION_ROTATE,      /* this and the next two: for halflife rotate, which has a service account of its own */
        PERMISSION_ROTATE_WEBHOOKS,
        PERMISSION_ROTATE_API_SERVICES,
        PERMISSION_UNCHECKED, /* always granted, so `halflife check` skips it */
};

struct permission {
        enum known_resource_id of;
        const char *subresource; /* NULL: the resource itself */
        unsigned verbs;          /* 1u << enum permission_verb, or-ed */
        enum permission_use use;
        const char *why;  /* completes "needed for <why>"; NULL: the permission is not checked */
        const char *ns;   /* the only namespace where the permission is needed; NULL: all */
        bool own_ns;      /* only in halflife's own namespace, for one object that a setting names */
        const char *name; /* the only object for which the permission is needed; NULL: all */
};
/* All permissions, in the order in which `halflife check` checks them. */
extern const struct permission permissions[];
extern const size_t permissions_count;

/* Iterate over each verb of each permission for these uses (1u << enum permission_use, or-ed). *at: 0 at first. Returns
 * NULL at the end. */
const struct permission *permission_next(unsigned uses, size_t *at, enum permission_verb *ret_verb);

#endif
