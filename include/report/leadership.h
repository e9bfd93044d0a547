/*
 * Whether this process may write: it holds the Lease, or needs none, and has read everything again since it held none.
 * And the one way to ask for a pass: something changed.
 */
#ifndef HALFLIFE_REPORT_LEADERSHIP_H
#define HALFLIFE_REPORT_LEADERSHIP_H

#include <stdbool.h>

#include "kube/lease.h"

struct leadership;
/* elects: a Lease is needed, and is given by leadership_set_lease. changed: decide afresh soon; not called once it
 * stops. */
struct leadership *leadership_new(bool elects, void (*changed)(void *arg), void *arg);
void leadership_free(struct leadership *l);
void leadership_set_lease(struct leadership *l, const struct lease *lease); /* the caller's, until leadership_free */

bool leads(const struct leadership *l);     /* holds the Lease, or needs none; not once it stops */
bool may_write(const struct leadership *l); /* leads, and has read everything again since it held no Lease */
void nudge(struct leadership *l);           /* decide afresh soon, because something changed */

/* The Lease was gained; true: it had been lost, and everything is to be read again before leadership_read_again. */
bool leadership_gained(struct leadership *l);
void leadership_lost(struct leadership *l);
bool leadership_reads_again(const struct leadership *l);
void leadership_read_again(struct leadership *l); /* it was */

/* Writes under way: so many may be at once, and a stop waits for them. */
void leadership_write_begun(struct leadership *l);
void leadership_write_ended(struct leadership *l);
int leadership_writes(const struct leadership *l);

void leadership_stop(struct leadership *l); /* it writes no more, and asks for no pass */
bool leadership_stops(const struct leadership *l);

#endif
