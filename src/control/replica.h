/*
 * halflife serve: a controller that watches only what was published (and profiles, namespaces, LimitRanges, HPAs), and
 * shows it within half a second of a change. It learns nothing, decides nothing and writes nothing.
 */
#ifndef HALFLIFE_SRC_CONTROL_REPLICA_H
#define HALFLIFE_SRC_CONTROL_REPLICA_H

struct controller;
void replica_cycle(void *controller); /* a timer's: each interval, and until the caches are synced */
void replica_pass(void *controller);  /* a timer's: something changed */

#endif
