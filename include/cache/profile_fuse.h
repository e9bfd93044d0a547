/*
 * The blown fuses of a profile: for its workloads in one namespace, or for all of them (core/fuse_verdict.h). The
 * profile's status has them too, so that replicas and the next leader know them.
 */
#ifndef HALFLIFE_CACHE_PROFILE_FUSE_H
#define HALFLIFE_CACHE_PROFILE_FUSE_H

#include <jansson.h>

#include "cache/target.h"

enum { PROFILE_FUSES_MOST = 100 }; /* namespaces with a blown fuse; one more blows the fuse of the whole profile */

struct profile_fuse {
        char *ns;           /* "": the fuse of the whole profile, the only one that a Profile has */
        int64_t blown_ms;   /* wall ms, a multiple of 1000: a status holds seconds */
        int64_t generation; /* generation of the profile's spec when the fuse blew */
        char *why;          /* for people: "6 guards within an hour: shop/Deployment/web, …" */
};

/* The blown fuse that holds the profile's workloads of a namespace; NULL: none. */
const struct profile_fuse *profile_fuse_of(const struct profile *p, const char *ns);
/* Is the fuse of the target's profile blown for its namespace? */
bool target_fused(const struct target *t);
/* The fuse that blew first, for a message; NULL: none is blown. */
const struct profile_fuse *profile_fuse_first(const struct profile *p);

/* Blow the fuse of the namespace `ns`, or of the whole profile (""), unless it is blown already. Copies the texts. */
void profile_fuse_blow(struct profile *p, const char *ns, int64_t blown_ms, int64_t generation, const char *why);
void profile_fuse_drop(struct profile *p, struct profile_fuse *f);

/* The blown fuses as a JSON list, sorted by namespace, for the profile's status and for the database. NULL: none. */
json_t *profile_fuses_json(const struct profile *p);
/* Blow the fuses in a list that profile_fuses_json made. A wrong row counts as absent. */
void profile_fuses_add(struct profile *p, const json_t *list);

/* Read the fuses that the profile's status reports into fuses_told, where they do not hold any change. */
void profile_fuses_read(struct profile *p, const json_t *status);
/* On a replica: make exactly the fuses blown that the status reports for the present generation of the spec. */
void profile_fuses_follow(struct profile *p);
void profile_fuses_release(struct profile *p);

#endif
