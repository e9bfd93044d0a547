/*
 * The replica (halflife serve) watches Recommendations, profiles, namespaces, LimitRanges and HPAs. When one of these
 * objects changes, the replica serves the new state within half a second. A replica learns nothing, decides nothing and
 * writes nothing.
 */
#ifndef HALFLIFE_CONTROL_REPLICA_H
#define HALFLIFE_CONTROL_REPLICA_H

struct parts;
struct replica;
struct replica *replica_new(struct parts *parts);
void replica_free(struct replica *r); /* NULL: does nothing */
void replica_start(struct replica *r);
void replica_stop(struct replica *r);
void replica_changed(struct replica *r); /* serve the watched objects as they are now, within 250 ms */

#endif
