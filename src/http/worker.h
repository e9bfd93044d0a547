/* A thread for what takes its time: one job after the other, from a bounded queue. */
#ifndef HALFLIFE_HTTP_WORKER_H
#define HALFLIFE_HTTP_WORKER_H

#include "job.h"

struct worker;
/* done is called on the worker's thread; the job is the receiver's. */
int worker_start(int queue_max, void (*done)(void *arg, struct job *j), void *arg, struct worker **ret,
                 struct err *err);
bool worker_give(struct worker *w, struct job *j); /* false: the queue is full, the job still the caller's */
void worker_stop(struct worker *w);                /* after the job at hand; the others are freed. NULL is fine */

#endif
