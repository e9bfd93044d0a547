/*
 * A table of single changes of containers' CPU and memory requests, for the threads that answer HTTP requests. The loop
 * makes a new table after a change was logged (cache/change_log.h). A table is immutable from then on, and snapshots
 * share it. References are counted.
 */
#ifndef HALFLIFE_SNAPSHOT_CHANGE_TABLE_H
#define HALFLIFE_SNAPSHOT_CHANGE_TABLE_H

#include "core/policy.h"
#include "objects/recommendation_status.h"

enum change_kind {
        CHANGE_APPLIED,   /* halflife changed requests in a pod template, or of running pods */
        CHANGE_RAISED,    /* halflife raised the requests of a running pod that uses more than it requests */
        CHANGE_DEPLOYED,  /* a deploy brought a template whose requests halflife had set */
        CHANGE_ADMITTED,  /* halflife's admission webhook set the requests of new pods */
        CHANGE_GUARDED,   /* a change did harm, so halflife puts the original requests back */
        CHANGE_CONTESTED, /* somebody else changed requests that halflife had set */
        CHANGE_KINDS
};
const char *change_kind_name(enum change_kind k); /* "Applied", … */
bool change_kind_find(struct text name, enum change_kind *ret);

/* One change of a request. Texts are never NULL; "": not known, or there is none. */
struct change {
        int64_t id; /* 1 for the first change logged, and one more for each later change */
        int64_t at_ms;
        enum change_kind kind;
        const char *ns, *group, *object_kind, *name; /* of the workload that was changed */
        const char *mode;                            /* apply.mode of its profile */
        const char *container;                       /* "": the change is of the workload as a whole */
        enum resource resource;                      /* only if container is not "" */
        status_amount from, to;                      /* the request before and after; negative: none */
        const char *by;             /* who made the change: "halflife", "deploy", "admission", or a field manager */
        const char *reason, *words; /* why: the name of a reason or of a guard's cause, and a sentence */
};

struct change_table {
        _Atomic int refs;
        struct arena arena; /* the texts of the rows */
        struct change *row; /* the newest last */
        size_t rows;
};
struct change_table *change_table_new(size_t most); /* with room for `most` rows; the caller owns its one reference */
void change_table_add(struct change_table *t, const struct change *c); /* copies the change and its texts */
struct change_table *change_table_hold(struct change_table *t);
void change_table_drop(struct change_table *t); /* any thread; NULL: does nothing */

#endif
