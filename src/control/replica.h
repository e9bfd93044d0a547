/*
 * halflife serve: a controller that watches only what was published (and profiles, namespaces, LimitRanges, HPAs), and
 * shows it within half a second of a change. It learns nothing, decides nothing and writes nothing.
 */
#ifndef HALFLIFE_CONTROL_REPLICA_H
#define HALFLIFE_CONTROL_REPLICA_H

struct parts;
struct replica;
struct replica *replica_new(struct parts *parts);
void replica_free(struct replica *r); /* NULL: nothing */
void replica_start(struct replica *r);
void replica_stop(struct replica *r);
void replica_changed(struct replica *r); /* a pass soon */

#endif
