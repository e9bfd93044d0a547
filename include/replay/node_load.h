/*
 * What one entity of a replay puts on a node: its usage in slots of five minutes, and at the first row of each day
 * (UTC) the requests by which it is packed for that day.
 */
#ifndef HALFLIFE_REPLAY_NODE_LOAD_H
#define HALFLIFE_REPLAY_NODE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "core/policy.h"

enum { NODE_SLOT_MS = 5 * MINUTE_MS, NODE_SLOTS_A_DAY = DAY_MS / NODE_SLOT_MS };
/* The most slots and days that all entities of a replay may have together: about 0.3 GB each. */
enum { NODE_SLOTS_MAX = 20000000, NODE_DAYS_MAX = 500000 };

struct node_slot {
        uint32_t at, rows;   /* time / NODE_SLOT_MS; rows in it, at least 1 */
        float of[RESOURCES]; /* the mean of CPU in cores, the most of memory in bytes; 0: no row had a value */
};

struct node_day {
        uint32_t day;  /* time / DAY_MS */
        size_t first;  /* index of its first slot; its others follow */
        bool is_asked; /* requests stand for every resource that the entity has; else it is not packed that day */
};

/* {0} is an entity without rows. */
struct node_load {
        struct node_slot *slot;
        struct node_day *day;
        double *ask; /* [day][the caller's index][RESOURCES]: cores, bytes */
        size_t slots, slots_cap, days, days_cap;
        float most[RESOURCES]; /* of all slots */
};
void node_load_release(struct node_load *l);

/* Whether a row at this time, later than all before it, begins a day. */
bool node_load_begins_day(const struct node_load *l, struct wall at);
/* Begin the day of at. Returns its asks, to be filled in: asks rows of RESOURCES, all 0; asks is the same each time. */
double *node_load_begin_day(struct node_load *l, struct wall at, size_t asks, bool is_asked);
/* Add a row to the day that was begun last: cores and bytes, finite and >= 0, where has says that there are. Returns
 * whether it began a slot. */
bool node_load_add(struct node_load *l, struct wall at, const bool has[static RESOURCES],
                   const double value[static RESOURCES]);

#endif
