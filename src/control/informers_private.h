#ifndef HALFLIFE_CONTROL_INFORMERS_PRIVATE_H
#define HALFLIFE_CONTROL_INFORMERS_PRIVATE_H

#include "base/rate_limit.h"
#include "informers.h"
#include "kube/kind_lookup.h"
#include "kube/known_resource.h"
#include "parts.h"

enum watch_flags {
        WATCH_NEEDED = 1,     /* nothing may be applied while this watch fails */
        WATCH_HINT = 2,       /* only helps to tell causes of kills; the start waits 10 s for its list and no longer */
        WATCH_BY_REPLICA = 4, /* a replica watches it as well */
        WATCH_DECIDES = 8,    /* a changed object starts a pass at once instead of waiting for the next cycle */
        WATCH_KILLS = 16,     /* may report an OOM kill, which comes only once: count and store it at once */
};

/* What one watch lists and watches, and which functions take its objects. */
struct watch;
struct watch_row {
        enum known_resource_id of; /* KNOWN_RESOURCES: the workload kind in watch.kind */
        unsigned flags;            /* enum watch_flags */
        int (*upsert)(struct watch *w, struct text object, uint32_t epoch, struct err *err);
        void (*remove)(struct watch *w, struct text object);
        void (*swept)(struct watch *w, uint32_t epoch);
        const char *what, *selector; /* for a watch of some objects only: its name and selector; NULL: all objects */
};
/* watch_rows.c has the tables. */
extern const struct watch_row watch_rows[]; /* always watched; started in this order */
extern const size_t watch_rows_count;
enum { FOREIGN_KINDS = 2 };
extern const struct watch_row watch_rows_foreign[FOREIGN_KINDS]; /* watched while other projects' CRDs are installed */
extern const struct watch_row watch_row_workloads;

struct watch {
        struct informers *all;
        const struct watch_row *row; /* NULL: the watch ended and its place is free */
        struct watch_health health;
        struct watched_kind *kind;  /* workload kind; NULL: another kind */
        struct kind_lookup *lookup; /* looks for a kind that may come and go; NULL: every server has the kind */
        bool anew; /* a kind of another project, now watched by another version: no object is known until the list */
        struct mono begun;       /* when the watch began, or its objects were last to be listed again */
        uint64_t unread_told;    /* unreadable objects that the log has reported so far */
        struct mono unread_said; /* when the log reported them last */
};
/* Drop from the cache every object of the watch that the list of this epoch did not have; epoch 0: drop them all. */
void watch_sweep(struct watch *w, uint32_t epoch);
/* The callbacks for an informer's objects; the caller adds the callback for its errors. */
struct informer_owner watch_owner(struct watch *w);

/* A kind of another project, watched from when its CRD is installed. */
struct foreign_kind {
        struct informers *all;
        const struct watch_row *row;
        struct watch *watch; /* NULL: the CRD was not found so far */
        struct kind_lookup lookup;
        bool known;                 /* discovery answered whether the CRD is installed */
        char trouble[ERR_TEXT_MAX]; /* why discovery has not answered; "" once `known`, or before it failed */
};

/* Most watches of kinds that only profiles and Recommendations name. Each other kind has a place of its own among
 * WATCHES_MAX, so the kinds that profiles name cannot take it. */
enum { WATCHES_NAMED = 40 };

struct informers {
        struct parts *parts;
        struct watch watch[WATCHES_MAX];
        int watches;
        struct foreign_kind foreign[FOREIGN_KINDS];
        struct {
                bool present, lacking; /* discovery answered that OWN_PRESENT_VERSION exists, or that it does not */
                bool asking;
                struct mono asked;
        } own;
        bool named_full;                 /* there was no place for another named kind, and the log has reported this */
        struct rate_limit missing_lines; /* limits log lines about named kinds that the API server does not have */
        uint64_t unread_ended;           /* unreadable objects of watches that have ended */
};

#endif
