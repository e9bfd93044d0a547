/*
 * May this process write? The process must hold the Lease, or need none. After the process lost and regained the Lease,
 * it must also have read all watched objects again. Other modules schedule a pass of the control loop here as well,
 * when something changed.
 */
#ifndef HALFLIFE_KUBE_LEADERSHIP_H
#define HALFLIFE_KUBE_LEADERSHIP_H

#include <stdbool.h>

#include "kube/lease.h"

struct leadership;
/* elects: a Lease is needed; leadership_set_lease provides it. changed: called by schedule_pass, to run a pass of the
 * control loop soon; not called after leadership_stop. */
struct leadership *leadership_new(bool elects, void (*changed)(void *arg), void *arg);
void leadership_free(struct leadership *l);
/* The caller keeps `lease` until leadership_free. */
void leadership_set_lease(struct leadership *l, const struct lease *lease);

bool leads(const struct leadership *l);     /* holds the Lease, or needs none; false after leadership_stop */
bool may_write(const struct leadership *l); /* leads, and has read everything again if the Lease had been lost */
void schedule_pass(struct leadership *l);   /* run a pass of the control loop soon */

/* The Lease was gained. True: it had been lost before, so read everything again and then call leadership_read_again. */
bool leadership_gained(struct leadership *l);
void leadership_lost(struct leadership *l);
bool leadership_reads_again(const struct leadership *l);
void leadership_read_again(struct leadership *l); /* everything was read again */

/* Count the writes to the API server that are under way. The write queue limits their number, and the process ends only
 * once there is none. */
void leadership_write_begun(struct leadership *l);
void leadership_write_ended(struct leadership *l);
int leadership_writes(const struct leadership *l);

void leadership_stop(struct leadership *l); /* no more writes or passes */
bool leadership_stops(const struct leadership *l);

#endif
