/* Jobs that no request needs, kept for the next. */
#ifndef HALFLIFE_HTTP_SPARE_JOBS_H
#define HALFLIFE_HTTP_SPARE_JOBS_H

#include "rest_listener_private.h"

struct job *spare_jobs_take(struct rest_listener *d);
/* Gives back what the job reserved as well. j may be NULL. */
void spare_jobs_put(struct rest_listener *d, struct job *j);

#endif
