#include "stepped_clock.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

_Thread_local int64_t stepped_clock_s;

/* In front of the C library's. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
        typedef int read_clock(clockid_t, struct timespec *);
        static read_clock *next;
        if (!next)
                *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
        if (!next)
                abort();
        int rc = next(id, ret);
        if (id == CLOCK_REALTIME)
                ret->tv_sec += stepped_clock_s;
        return rc;
}
