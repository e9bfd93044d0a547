#include "spare_jobs.h"

#include "base/mem.h"

enum { SPARES_MAX = 64 };

void spare_jobs_put(struct rest_listener *d, struct job *j)
{
        if (!j)
                return;
        if (j->held)
                *j->held -= j->reserved;
        caller_give(&d->shares, j->caller, j->reserved);
        if (d->spares >= SPARES_MAX) {
                job_free(j);
                return;
        }
        job_reset(j);
        j->spare = d->spare;
        d->spare = j;
        d->spares++;
}

struct job *spare_jobs_take(struct rest_listener *d)
{
        struct job *j = d->spare;
        if (!j)
                return job_new();
        d->spare = STEAL(&j->spare);
        d->spares--;
        return j;
}
