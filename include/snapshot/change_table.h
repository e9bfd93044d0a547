/*
 * Changes of requests, one by one, for the threads that answer requests: made on the loop when something was logged
 * (cache/change_log.h), immutable from then on, and shared by snapshots. References are counted.
 */
#ifndef HALFLIFE_SNAPSHOT_CHANGE_TABLE_H
#define HALFLIFE_SNAPSHOT_CHANGE_TABLE_H

#include "core/policy.h"
#include "objects/recommendation_status.h"

enum change_kind {
        CHANGE_APPLIED,   /* halflife changed requests of the template, or set those of the pods */
        CHANGE_RAISED,    /* halflife raised a running pod that uses more than it requests */
        CHANGE_DEPLOYED,  /* a deploy brought requests that halflife gave it */
        CHANGE_ADMITTED,  /* admission gave them to new pods */
        CHANGE_GUARDED,   /* a change did harm, so the originals come back */
        CHANGE_CONTESTED, /* somebody else set what halflife had set */
        CHANGE_KINDS
};
const char *change_kind_name(enum change_kind k); /* "Applied", … */
bool change_kind_find(struct text name, enum change_kind *ret);

/* Texts are never NULL; "": not known, or there is none. */
struct change {
        int64_t id; /* 1 for the first, and one more for each later */
        int64_t at_ms;
        enum change_kind kind;
        const char *ns, *group, *object_kind, *name; /* of the workload */
        const char *mode;                            /* apply.mode of its profile */
        const char *container;                       /* "": the change is of the workload as a whole */
        enum resource resource;                      /* with a container only */
        status_amount from, to;                      /* likewise; negative: none */
        const char *by;                              /* who made it: "halflife", "deploy", or a field manager */
        const char *reason, *words;                  /* why: of the reasons or causes, and as a sentence */
};

struct change_table {
        _Atomic int refs;
        struct arena arena; /* the texts of the rows */
        struct change *row; /* the newest last */
        size_t rows;
};
struct change_table *change_table_new(size_t most); /* with room for `most` rows; the caller owns its one reference */
void change_table_add(struct change_table *t, const struct change *c); /* copies its texts */
struct change_table *change_table_hold(struct change_table *t);
void change_table_drop(struct change_table *t); /* any thread; NULL: does nothing */

#endif
