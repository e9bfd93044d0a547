/*
 * The load that one entity of a replay puts on a node: the entity's usage in slots of five minutes, and for each day
 * (UTC) the requests at the day's first row, by which the entity is packed on that day.
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
        uint32_t at, rows;   /* at: time / NODE_SLOT_MS; rows: number of rows in the slot, at least 1 */
        float of[RESOURCES]; /* the mean CPU in cores, the highest memory in bytes; 0: no row had a value */
};

struct node_day {
        uint32_t day;  /* number of the day: time / DAY_MS */
        size_t first;  /* index of the day's first slot; its other slots follow */
        bool is_asked; /* every resource that the entity uses has a request; false: the entity is not packed that day */
};

/* The load of one entity; {0}: an entity without rows. */
struct node_load {
        struct node_slot *slot;
        struct node_day *day;
        double *ask; /* requests by [day][the caller's index][RESOURCES]: cores, bytes */
        size_t slots, slots_cap, days, days_cap;
        float most[RESOURCES]; /* the highest usage of all slots: cores, bytes */
};
void node_load_release(struct node_load *l);

/* Whether a row at this time begins a day. The time must be later than that of all rows before. */
bool node_load_begins_day(const struct node_load *l, struct wall at);
/* Begin the day that `at` lies in. Returns the day's requests, which the caller fills in: `asks` rows of RESOURCES, all
 * 0. `asks` must be the same for every day. */
double *node_load_begin_day(struct node_load *l, struct wall at, size_t asks, bool is_asked);
/* Add a row to the day that was begun last. value: cores and bytes, finite and >= 0; a value counts where `has` is
 * true. Returns whether the row began a slot. */
bool node_load_add(struct node_load *l, struct wall at, const bool has[static RESOURCES],
                   const double value[static RESOURCES]);

#endif
