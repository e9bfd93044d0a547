/*
 * What is watched: the fixed kinds, the kinds of workloads that everyone has, those that profiles name, and those of
 * others where they are installed.
 */
#ifndef HALFLIFE_CONTROL_INFORMERS_H
#define HALFLIFE_CONTROL_INFORMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct parts;
struct informers;
struct informers *informers_new(struct parts *parts);
void informers_free(struct informers *all); /* after the client; NULL: nothing */
void informers_start(struct informers *all);
void informers_stop(struct informers *all);

void informers_kinds(struct informers *all);   /* watches the kinds that profiles name, and no others */
void informers_foreign(struct informers *all); /* watches what others have installed by now */
void informers_again(struct informers *all);   /* read everything again */
void informers_tick(struct informers *all);    /* each cycle: says what cannot be read, once an hour a kind */

/* Was everything read once? ret_waiting: else what is waited for. */
bool informers_synced(struct informers *all, char *ret_waiting, size_t size);
void informers_tell_late(const struct informers *all);         /* once synced: what was not waited for */
const char *informers_blind(const struct informers *all);      /* what is needed to apply and cannot be seen; NULL */
const char *informers_unanswered(const struct informers *all); /* the first trouble of a server that is away; NULL */
uint64_t informers_unread(const struct informers *all);        /* objects and events that could not be read, so far */

#endif
