/*
 * A usage trace through the core, and what each policy would have requested scored against what was used.
 *
 * An entity is deployed at every multiple of deploy_every_ms after its first row. A deploy at T knows the rows up to T;
 * its request stands for the rows behind T, until the next deploy. The first request stands from the first deploy at
 * which the state is Ready; rows up to it are learned and not scored. There is no original, so requests may rise. A
 * request changes at a deploy where the policy's minChange says so. Both resources are scored, whether the profile
 * enables them or not: enabled decides about an owner's request, and there is none. The last policy is always `peak`:
 * the highest value yet seen, exactly, at the deploys of the first policy.
 *
 * With raise each policy is scored a second time: a row is scored against the request that stands and then shown to
 * core/raise.h; what that asks for stands for the rows behind it, until a deploy sets another.
 */
#ifndef HALFLIFE_REPLAY_REPLAY_H
#define HALFLIFE_REPLAY_REPLAY_H

#include "base/map.h"
#include "base/mem.h"
#include "core/raise.h"
#include "core/recommend.h"
#include "core/score.h"
#include "objects/profile_read.h"
#include "replay/trace.h"

enum { REPLAY_POLICIES = 16, REPLAY_ENTITIES = 1000000 };
enum { REPLAY_SPAN_MAX_MS = 600 * SECOND_MS }; /* a row stands for no longer */

/* How a policy is scored: as deploys set it, or raised in between as well. */
enum replay_way { REPLAY_AS_SET, REPLAY_RAISED, REPLAY_WAYS };

struct replay_scores {
        struct score of[REPLAY_WAYS][RESOURCES];
};

struct replay_policy {
        char *name;
        struct resource_policy of[RESOURCES];
        int64_t min_history_ms;
        int min_change_percent;
        bool memory_only; /* of CPU it is what the first policy is */
        struct replay_scores scores;
};

struct replay_request {
        bool stands;
        double amount;                /* cores, bytes */
        int64_t units;                /* the same in millicores, bytes, rounded up */
        struct raise_stretch stretch; /* of usage above it */
};

struct replay_requests {
        struct replay_request of[REPLAY_WAYS][RESOURCES];
};

/* One policy's view of one entity. */
struct replay_track {
        struct usage usage;
        struct sample_watermark watermark;
        struct replay_requests requests;
};

struct replay_entity {
        char *name;
        int64_t rows, first_ms, last_ms, deploy_ms; /* deploy_ms: the next one */
        int64_t samples[RESOURCES];
        double highest[RESOURCES];
        struct replay_requests peak;
        struct replay_track track[]; /* one a policy */
};

struct replay {
        struct replay_policy policy[REPLAY_POLICIES];
        int policies;
        struct replay_scores peak;
        int64_t deploy_every_ms;
        struct raise_policy raise; /* off: REPLAY_RAISED is not scored */
        int64_t rows, refused;
        struct map by_name;
        struct replay_entity **entity; /* in the order in which they came */
        size_t entities, entities_cap;
        struct replay_entity *last; /* of the row before: rows of one entity mostly come together */
        struct slab *slab;          /* the histograms' memory */
};

/* raise NULL: off. */
void replay_init(struct replay *r, int64_t deploy_every_ms, const struct raise_policy *raise);
void replay_release(struct replay *r);
/* Before the first row. ERR_TOOBIG: REPLAY_POLICIES are there already. */
int replay_add_policy(struct replay *r, const char *name, const struct profile_spec *spec);

/*
 * Learn and score one row. Returns 0; ERR_INVALID for a row that is refused and counted, with the reason; ERR_TOOBIG
 * when there are more entities than REPLAY_ENTITIES. Of a row refused for a memory of zero the CPU counts.
 */
int replay_row(struct replay *r, const struct trace_row *row, const char **ret_why);

/* What a policy knows of an entity at its last row. */
void replay_estimate(const struct replay *r, const struct replay_entity *e, int policy, struct recommendation *ret);

/* The answer, to stdout; trace: its name, where there are several, else NULL. */
void replay_print_table(const struct replay *r, const char *trace, bool entities);
void replay_print_json(const struct replay *r, const char *trace, bool entities);

#endif
