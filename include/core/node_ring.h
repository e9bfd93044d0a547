/*
 * What a node used within the last quarter of an hour: at most fifteen samples, a minute apart. Where usage is read
 * more often, each new sample replaces the newest, until the newest is about a minute after the one before.
 *
 * A node may report wrong values. halflife refuses impossible values; usage above the node's capacity counts as its
 * capacity.
 */
#ifndef HALFLIFE_CORE_NODE_RING_H
#define HALFLIFE_CORE_NODE_RING_H

#include "base/clock.h"
#include "core/policy.h"

enum { NODE_SAMPLES = 15, NODE_WINDOW_MS = 15 * MINUTE_MS, NODE_SILENT_MS = 5 * MINUTE_MS };

enum node_verdict {
        NODE_ACCEPTED,
        NODE_BOUNDED,     /* accepted; usage was above the capacity, and counts as the capacity */
        NODE_DUPLICATE,   /* refused: the sample has the time of the newest one; no error */
        NODE_REORDERED,   /* refused: the sample is older than the newest one */
        NODE_FUTURE,      /* refused: more than 5 min after the later of halflife's clock and the server's Date */
        NODE_INVALID,     /* refused: a value is missing or negative, or memory is 0 */
        NODE_NO_CAPACITY, /* refused: the node's capacity is 0 or unknown, so usage is no share of it */
        NODE_VERDICTS
};
const char *node_verdict_name(enum node_verdict v); /* "accepted", "bounded", … (a metric's label) */

struct node_sample {
        uint32_t at_s;     /* seconds since 1970 */
        int32_t cpu_milli; /* millicores, 0 … the node's capacity */
        int64_t memory_bytes;
};

/* The newest samples of one node. Begin with {0}. */
struct node_ring {
        uint8_t count, newest; /* newest: index of the newest sample, where count > 0 */
        struct node_sample sample[NODE_SAMPLES];
};

/* One measurement of a node's usage; a missing value is -1. */
struct node_usage {
        struct wall at;
        int64_t value[RESOURCES]; /* usage in millicores and bytes */
};

/* Judge a measurement, and keep it in the ring if accepted. capacity: the node's, in millicores and bytes; 0: not
 * known, and the measurement is refused. latest: the later of halflife's clock and the server's Date. If the newest
 * sample is dated more than 5 min after latest, the whole ring is forgotten first. */
enum node_verdict node_ring_add(struct node_ring *g, const struct node_usage *u,
                                const int64_t capacity[static RESOURCES], struct wall latest);
/* The sample that is i samples older than the newest; i < count. */
const struct node_sample *node_ring_at(const struct node_ring *g, int i);
/* How many samples of a ring count: those within 15 min of the newest. 0: the newest is older than 5 min, or more than
 * 5 min in the future. */
int node_ring_counted(const struct node_ring *g, struct wall now);

/* Shares of the capacity in thousandths, over the samples that count. */
struct node_load {
        int samples;             /* samples that count; 0: the node is silent, and all other fields are 0 */
        int64_t at_ms;           /* time of the newest sample */
        int64_t used[RESOURCES]; /* usage by the newest sample, millicores and bytes */
        int latest[RESOURCES], mean[RESOURCES], most[RESOURCES];
};
void node_ring_load(const struct node_ring *g, const int64_t capacity[static RESOURCES], struct wall now,
                    struct node_load *ret);

/* Shares of the capacity in millionths of a per cent, each rounded to the nearest; NODE_WHOLE is 100 %. */
enum { NODE_WHOLE = 100000000 };
struct node_spread {
        int samples; /* samples that count; 0: the node is silent, and all other fields are 0 */
        int64_t at_s;
        int32_t latest[RESOURCES], mean[RESOURCES];
        int32_t deviation[RESOURCES]; /* the standard deviation of the samples as a whole population */
};
void node_ring_spread(const struct node_ring *g, const int64_t capacity[static RESOURCES], struct wall now,
                      struct node_spread *ret);
/* How many of the samples that count are above `percent` per cent of the node's capacity in a resource. */
int node_ring_above(const struct node_ring *g, enum resource r, int64_t capacity, int percent, struct wall now);

/* Whether a node is hot in a resource. above: how many of the node's 15 samples are above the bound. A node becomes hot
 * at 12 and stays hot until fewer than 8, so that single samples do not switch it to and fro. */
enum { NODE_HOT_SAMPLES = 12, NODE_COOL_SAMPLES = 8 };
bool node_ring_hot(int above, bool was_hot);

/* The pressure on a node: the larger of CPU's and memory's mean share, in thousandths. */
int node_load_pressure(const struct node_load *l);

#endif
