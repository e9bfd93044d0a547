/*
 * What the owner asked for, as far as a template tells: its request, and what its own annotations record. They are the
 * only authority, because they travel with the revision.
 */
#ifndef HALFLIFE_CORE_ORIGINAL_REQUEST_H
#define HALFLIFE_CORE_ORIGINAL_REQUEST_H

#include "core/rules.h"

/* One container, one resource. */
struct origin_facts {
        struct amount request, limit; /* as the template has them */
        struct amount range_default;  /* the namespace's LimitRange defaultRequest */
        struct amount range_limit;    /* and default: the limit of a pod whose template has none */
        struct amount applied;        /* by its applied-resources; unset: we wrote none */
        bool recorded;                /* its original-resources has the container */
        struct amount original;       /* the request there; unset: there was none */
        struct amount original_limit; /* and the limit */
        bool changed;                 /* admission made something else of our last write: */
        struct amount admitted;       /* this; unset: nothing is left of it */
};

struct origin {
        bool ours;               /* the request is what we wrote (or admission made of it), from whatever revision */
        bool reset;              /* we wrote it once, and it is back at what it was before */
        struct amount raw;       /* the request as the owner set it: absent stays absent */
        struct amount limit;     /* the limit likewise: not the LimitRange's, which a pod was given */
        struct amount effective; /* the original: raw, else the limit, else the LimitRange's default, else none */
        struct amount current;   /* the same of what the template asks for now */
};
struct origin origin(const struct origin_facts *f);

#endif
