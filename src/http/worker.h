/* A thread for slow work: it does one job after the other. */
#ifndef HALFLIFE_HTTP_WORKER_H
#define HALFLIFE_HTTP_WORKER_H

#include "job.h"

struct worker;
/* Start the thread. It calls `done`, from itself, for each finished job; `done` takes ownership of the job. */
int worker_start(void (*done)(void *arg, struct job *j), void *arg, struct worker **ret, struct err *err);
bool worker_give(struct worker *w,
                 struct job *j);    /* takes the job; false: another job waits already, and the caller keeps j */
void worker_stop(struct worker *w); /* finishes the current job and frees the others; w may be NULL */

#endif
