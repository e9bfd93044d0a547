/*
 * The fuse (a circuit breaker): halflife counts the changes that did harm and that a guard took back, over a sliding
 * hour. Too many of them blow the fuse: no request is lowered until a person resets it.
 *
 * There are fuses of three scopes, so that harm in one namespace stops that namespace and not the whole cluster: of a
 * profile in one namespace, of a profile, and of the cluster. All follow the same rule.
 */
#ifndef HALFLIFE_CORE_FUSE_VERDICT_H
#define HALFLIFE_CORE_FUSE_VERDICT_H

#include <stdbool.h>

#include <stdint.h>

enum { FUSE_GUARDS_MOST = 1000 };

/* The scopes, the narrowest first. FUSE_NOWHERE: no fuse counts the guard. */
enum fuse_scope { FUSE_NOWHERE, FUSE_SHARE, FUSE_PROFILE, FUSE_CLUSTER };

/* A guard: a change of requests that did harm, so that halflife took it back. */
struct fuse_guard {
        int64_t at_ms;         /* when the change was taken back: ms since 1970 */
        char *name;            /* the workload, as "ns/Kind/name" */
        char *profile;         /* the key of the workload's profile; "": it has none */
        enum fuse_scope reach; /* the widest scope whose fuse counts the guard; narrower fuses count it too */
};

/* Whether the change was taken back within the hour that ends now. A time after now, which a wrong clock wrote, counts
 * too. */
bool fuse_is_recent(const struct fuse_guard *g, int64_t now_ms);
/* Whether a fuse counts g: the fuse of this scope, for the profile and namespace of the guard `of`. A guard without a
 * profile belongs to the cluster's fuse alone. */
bool fuse_counts(enum fuse_scope scope, const struct fuse_guard *of, const struct fuse_guard *g);
/* Whether `within` guards in one hour blow the fuse: they are more than `guards`, which the setting allows. guards 0:
 * the fuse never blows. */
bool fuse_blows(int within, int guards);

/*
 * Count a new guard after `count` recent ones, from the narrowest scope outward. Sets g->reach, and returns the scope
 * whose fuse the guard blows; FUSE_NOWHERE: none. The count ends
 *
 * - at the scope that the guard blows: its harm is contained there;
 * - before the scope of a profile or of the cluster that has counted the guard's namespace twice within the hour. With
 *   guards 1 one count is the most. So one namespace never blows these fuses alone.
 *
 * guards: how many guards in an hour the setting allows, from 1. Do not count a guard of a workload that a fuse holds
 * already: that fuse contains it.
 */
enum fuse_scope fuse_count_guard(struct fuse_guard *g, const struct fuse_guard *recent, int count, int guards);

/* Whether the fuse of a profile, blown at blown_ms while the profile's spec had a generation, still holds. A change of
 * the spec resets the fuse, and so does a later reset of all fuses (reset_ms; 0: none). Where blown_ms lies ahead of
 * now, a clock was wrong, so any reset is after it. */
bool fuse_of_profile_holds(int64_t blown_ms, bool same_generation, int64_t reset_ms, int64_t now_ms);

/*
 * What the Lease's annotation halflife.dev/fuse says. "2026-11-22T02:00:00Z: 6 guards within an hour: …" gives the time
 * at which the fuse blew. "reset 2026-11-22T02:30:00Z" gives the time at which a person reset it. The reset stays in
 * the annotation, so that a halflife that was down then reads it when it starts.
 */
enum fuse_word { FUSE_NOTHING, FUSE_BLOWN, FUSE_RESET };
/* What this halflife knows when it reads the Lease. */
struct fuse_facts {
        bool blown;
        int64_t blown_ms; /* since when the fuse is blown */
        int64_t reset_ms; /* the last reset known to this halflife; 0: none */
        bool shown;       /* this same Lease, by its UID, has said before that the fuse is blown */
        int64_t now_ms;
};
/* What halflife has to do about a difference between the Lease and its own state. */
enum fuse_action {
        FUSE_AGREES, /* do nothing: the Lease and this halflife agree */
        FUSE_TAKE,   /* treat the fuse as blown: an earlier holder of the Lease wrote so */
        FUSE_WRITE,  /* write to the Lease that the fuse is blown */
        FUSE_MEND,   /* reset the fuse: the Lease holds a person's reset, or a person removed the annotation */
        FUSE_REPEAT, /* write the last reset known here to the Lease, which still says that the fuse is blown */
        FUSE_HEED,   /* the cluster's fuse is whole, but the reset is new: reset the fuses of profiles that blew before
                        the reset */
        FUSE_DATE,   /* write the reset to the Lease again with the time now: a reset dated in the future would reset
                        every fuse that blows until then */
};
/*
 * Compare the Lease's annotation halflife.dev/fuse with what this halflife knows. at_ms is the time in the annotation,
 * of blowing or of the reset; 0: the time cannot be read.
 *
 * A reset counts only for a fuse that blew before it, and once: the reset that this halflife knows already does not
 * reset a fuse that blew later. Where the time of blowing lies ahead of now, a clock was wrong, so any reset is after
 * it.
 */
enum fuse_action fuse_judge(const struct fuse_facts *f, enum fuse_word word, int64_t at_ms);

#endif
