/*
 * The watches of the API server's objects: a fixed list of kinds, the workload kinds of Kubernetes itself, the workload
 * kinds that profiles name, and kinds of other projects (VerticalPodAutoscaler, ScaledObject) once their CRDs are
 * installed.
 */
#ifndef HALFLIFE_CONTROL_INFORMERS_H
#define HALFLIFE_CONTROL_INFORMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct parts;
struct informers;
struct informers *informers_new(struct parts *parts);
void informers_free(struct informers *all); /* after the client is freed; NULL: does nothing */
void informers_start(struct informers *all);
void informers_stop(struct informers *all);

void informers_kinds(struct informers *all); /* start and end watches of workload kinds as profiles need them */
/* Each second: look for other projects' kinds not yet watched, and for halflife's own CRDs of this version. */
void informers_discover(struct informers *all);
void informers_again(struct informers *all); /* list the objects of all watches again */
void informers_tick(struct informers *all);  /* each cycle: log objects that cannot be read, once an hour a kind */

/* Has every watch had its first list, failed for good, or been given up waiting for? False: ret_waiting (`size` bytes)
 * names the watches that are waited for. */
bool informers_synced(struct informers *all, char *ret_waiting, size_t size);
void informers_tell_late(const struct informers *all); /* once synced: log the lists still missing */
/* Why no change may be applied: the error or the name of a needed watch that cannot be read. NULL: all can be read. */
const char *informers_blind(const struct informers *all);
/* The first watch error that says the API server does not answer; NULL: none. */
const char *informers_unanswered(const struct informers *all);
uint64_t informers_unread(const struct informers *all); /* objects and watch events that could not be read, so far */

#endif
