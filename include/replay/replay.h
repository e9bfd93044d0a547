/*
 * Replay a usage trace through the core, and score the request that each policy would have set against the usage.
 *
 * A policy's mode says when its request changes, by the controller's own gates:
 *
 * - OnDeploy, and Recommend, whose targets are taken to be deployed: at the multiples of deploy_every_ms after the
 *   entity's first row. A deploy at T knows the rows up to T, and its request holds for the rows after T.
 * - InPlace, Rollout: at each row, as in a cycle of the controller that has just read the row. The request rises at the
 *   earliest an hour after its last change, and falls after the cooldown, by minChange and maxDecrease. It holds for
 * the rows after this one. The owner deploys nothing, and nothing blocks a rollout.
 *
 * The first request is the target at the first deploy or cycle in state Ready. A trace has no original, so nothing
 * bounds a rise. Both resources are played even if the profile disables them, because `enabled` only protects an
 * owner's request. A change of one resource's request starts the cooldown of both, as in the controller.
 *
 * The requests of VPA (replay/vpa.h) and of `peak`, the exact highest value so far, are set at deploys. A row is scored
 * for every policy or for none: from the first row on at which each policy has a request for the entity's resource.
 *
 * If raises are enabled, each policy is scored a second time with them. A row is first scored against the current
 * request and then given to core/raise_stretch.h; a raised request holds for the rows after it, until the next deploy,
 * or under InPlace and Rollout until the next change of the entity. In these two modes the raised request stays longer,
 * while usage is above the request that was set.
 */
#ifndef HALFLIFE_REPLAY_REPLAY_H
#define HALFLIFE_REPLAY_REPLAY_H

#include "base/map.h"
#include "base/mem.h"
#include "core/raise_stretch.h"
#include "core/recommend.h"
#include "core/replay_score.h"
#include "objects/decode_profile.h"
#include "replay/node_load.h"
#include "replay/trace.h"
#include "replay/vpa.h"

enum { REPLAY_POLICIES = 16, REPLAY_ENTITIES = 1000000 };
/* A row stands for the time since the row before, but for REPLAY_SPAN_MAX_MS at most, because a gap is no usage. */
enum { REPLAY_SPAN_MAX_MS = 600 * SECOND_MS };

/* How a policy is scored: with requests from deploys only, or with raises between deploys as well. */
enum replay_way { REPLAY_AS_SET, REPLAY_RAISED, REPLAY_WAYS };

struct replay_scores {
        struct score of[REPLAY_WAYS][RESOURCES];
};

struct replay_policy {
        char *name;
        bool is_vpa; /* the policy is VPA; of the fields below only apply.mode counts */
        struct resource_policy of[RESOURCES];
        struct apply_policy apply; /* apply.mode is OnDeploy, InPlace or Rollout, never Recommend */
        bool memory_only;          /* the policy differs from the first one in memory only */
        struct replay_scores scores;
};

struct replay_request {
        bool stands;                  /* the policy has set a request */
        bool raised;                  /* a raise put the request in force above `set` */
        int64_t set;                  /* the request that a deploy or a cycle set: millicores, bytes */
        double amount;                /* the request in force: cores, bytes */
        int64_t units;                /* `amount` in millicores, bytes, rounded up */
        struct raise_stretch stretch; /* the current stretch of usage above the request */
};

struct replay_requests {
        struct replay_request of[REPLAY_WAYS][RESOURCES];
};

/* The requests that an entity's owner sets. */
struct replay_owner {
        double of[RESOURCES]; /* the owner's requests: cores, bytes */
        char name[];          /* the entity's name, without NUL */
};

/* What one policy has learned of one entity, and its requests for the entity. */
struct replay_track {
        struct usage usage;
        struct sample_watermark watermark;
        struct vpa vpa;
        struct replay_requests requests;
        int64_t changed_ms[REPLAY_WAYS]; /* time at which a cycle last changed a request; 0: never */
};

struct replay_entity {
        char *name;
        int64_t rows, first_ms, last_ms, deploy_ms; /* deploy_ms: time of the entity's next deploy */
        int64_t samples[RESOURCES];
        double highest[RESOURCES];
        bool scored[RESOURCES]; /* each policy has a request, so that rows are scored */
        struct replay_requests peak;
        struct node_load load;       /* filled if the replay's keeps_loads is true */
        struct replay_track track[]; /* one track for each policy */
};

struct replay {
        struct replay_policy policy[REPLAY_POLICIES];
        int policies;
        struct replay_scores peak;
        struct score unscored; /* takes the rows before each policy has a request; nobody reads it */
        int64_t deploy_every_ms;
        struct raise_policy raise; /* if not enabled, REPLAY_RAISED is not scored */
        int64_t rows, refused;
        bool keeps_loads;   /* keep loads for replay/node_pack; set this before the first row */
        size_t slots, days; /* numbers of slots and days in the kept loads, over all entities */
        const struct map
                *owners; /* the caller's map from an entity's name to struct replay_owner; NULL: no owner is known */
        struct map by_name;
        struct replay_entity **entity; /* all entities, in the order of their first rows */
        size_t entities, entities_cap;
        struct replay_entity *last; /* entity of the previous row, which saves look-ups for consecutive rows */
        struct slab *slab;          /* owns the histograms' memory */
};

/* Start a replay without policies and rows. *raise is copied; NULL: requests are not raised between deploys. */
void replay_init(struct replay *r, int64_t deploy_every_ms, const struct raise_policy *raise);
void replay_release(struct replay *r);
/* Add a policy, before the first row. ERR_TOOBIG: there are REPLAY_POLICIES already. */
int replay_add_policy(struct replay *r, const char *name, const struct profile_spec *spec);

/*
 * Learn and score one row. Returns 0. ERR_INVALID: the row is refused and counted in r->refused, and *ret_why says why.
 * If only its memory is refused, for being zero, its CPU is used all the same. ERR_TOOBIG: there are more than
 * REPLAY_ENTITIES entities, or loads of more than NODE_SLOTS_MAX slots or NODE_DAYS_MAX days.
 */
int replay_row(struct replay *r, const struct trace_row *row, const char **ret_why);

/* The recommendation of a policy other than VPA for an entity, after the entity's last row. */
void replay_estimate(const struct replay *r, const struct replay_entity *e, int policy, struct recommendation *ret);

/* The requests in force at the first row of an entity's nth day, from 0, in cores and bytes. policy: the policy's
 * index; r->policies stands for peak. */
const double *replay_ask(const struct replay *r, const struct replay_entity *e, size_t nth, int policy,
                         enum replay_way way);

/* Print the result to stdout. trace: the trace's name where there are several, else NULL. nodes: the result of --nodes
 * (cli/replay_nodes.h); NULL: it was not given. */
void replay_print_table(const struct replay *r, const char *trace, bool entities);
void replay_print_json(const struct replay *r, const char *trace, bool entities, const json_t *nodes);
void replay_print_weights(void); /* print how slack and overrun are weighted */

#endif
