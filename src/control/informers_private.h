#ifndef HALFLIFE_CONTROL_INFORMERS_PRIVATE_H
#define HALFLIFE_CONTROL_INFORMERS_PRIVATE_H

#include "informers.h"
#include "parts.h"

struct watch {
        struct informers *all;
        struct watch_health health;
        struct watched_kind *kind; /* of workloads */
        bool cluster;              /* of profiles */
        bool needed_to_apply;      /* without it nothing may be changed */
        bool hint;                 /* without it less is known, and nothing waits for long */
        bool foreign;              /* of a kind that others install */
        bool anew;            /* of such a kind by another version than before: nothing is known until it is read */
        struct mono begun;    /* when its list was first asked for, at the start or anew */
        uint64_t unread_told; /* of its objects that cannot be read, so many were told of */
        struct mono unread_said;
};

/* A kind of others that is watched where its CRD is installed, whenever that is (informers.c has the table). */
enum { FOREIGN_KINDS = 2 };
struct foreign_kind {
        struct watch *watch; /* NULL: not installed, or not known yet */
        void *asking;        /* discovery is under way; NULL: it is not */
        bool known;          /* whether it is installed is */
        char *path;          /* what is watched */
        struct mono asked;
        bool removed; /* its CRD went, and all its objects with it */
        char trouble[ERR_TEXT_MAX];
};

struct informers {
        struct parts *parts;
        struct watch watch[WATCHES_MAX];
        int watches;
        struct foreign_kind foreign[FOREIGN_KINDS];
        bool watches_full;     /* a kind found no place; the log told it */
        uint64_t unread_ended; /* what watches that ended could not read */
};

#endif
