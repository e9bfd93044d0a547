/*
 * The requests that a workload's owner originally set, found from the pod template: from the template's requests now,
 * and from the values that the template's own annotations record. No other record counts, because only these
 * annotations travel with the template's revision.
 */
#ifndef HALFLIFE_CORE_ORIGINAL_REQUEST_H
#define HALFLIFE_CORE_ORIGINAL_REQUEST_H

#include "core/rules.h"

/* What the template records about one resource of one container. */
struct original_request_facts {
        struct amount request, limit; /* request and limit in the template now */
        struct amount range_default;  /* the namespace's LimitRange defaultRequest */
        struct amount range_limit;    /* the LimitRange's default: the limit of a pod whose template has no limit */
        struct amount applied;        /* the request in annotation applied-resources; unset: halflife wrote none */
        bool recorded;                /* annotation original-resources has the container */
        struct amount original;       /* the request in annotation original-resources; unset: the owner had set none */
        struct amount original_limit; /* the limit in annotation original-resources; unset: the owner had set none */
        bool changed;                 /* admission changed the request that halflife wrote last */
        struct amount admitted;       /* the request after admission changed it; unset: admission removed the request */
};

struct original_request {
        bool ours;               /* halflife wrote the request (admission may have changed it), in whatever revision */
        bool reset;              /* halflife wrote the request once, and somebody put the original back */
        struct amount raw;       /* the request that the owner set; unset: the owner set none */
        struct amount limit;     /* the limit that the owner set, without one that the LimitRange filled into a pod */
        struct amount effective; /* the original: raw, else the limit, else the LimitRange's default, else unset */
        struct amount current;   /* the request now in the template, else the limit, else the LimitRange's default */
};
struct original_request original_request_read(const struct original_request_facts *f);

#endif
