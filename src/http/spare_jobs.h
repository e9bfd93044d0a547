/* Unused jobs, kept so that the next request need not allocate one. */
#ifndef HALFLIFE_HTTP_SPARE_JOBS_H
#define HALFLIFE_HTTP_SPARE_JOBS_H

#include "rest_listener_private.h"

struct job *spare_jobs_take(struct rest_listener *d);
/* Take j back, and release the bytes that j reserved in the bounds on bodies. j may be NULL. */
void spare_jobs_put(struct rest_listener *d, struct job *j);

#endif
