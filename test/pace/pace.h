/*
 * A clock of its own for a group of processes: it stands still while any of them works, and goes to the next moment
 * that one of them waits for once all wait. So what depends on time comes out the same on a busy machine and an idle
 * one, and nobody waits for an hour that is only meant.
 *
 * pace.so (LD_PRELOAD) answers for clocks and timed waits inside each process; the program pace moves the clock. Both
 * share this page of memory, a file named by $PACE. With $PACE_NO_CHANCE set, chance is taken away too: the kernel's
 * random bytes are the same ones whenever they are asked for, and others in each process.
 */
#ifndef HALFLIFE_TEST_PACE_H
#define HALFLIFE_TEST_PACE_H

#include <signal.h>
#include <stdint.h>

enum { PACE_SLOTS = 4096 };
#define PACE_NEVER INT64_MAX
#define PACE_TICK  (SIGRTMIN + 9)

/* A thread that has waited for a time at least once. */
struct pace_slot {
        int32_t tid;    /* 0: free */
        int32_t pid;    /* its process */
        int64_t due_ns; /* what it waits for, by the monotonic clock; PACE_NEVER: nothing */
};

struct pace_page {
        int64_t mono_ns;
        int64_t wall_less_mono_ns; /* what to add for the time of day */
        int64_t processes;         /* begun so far */
        struct pace_slot slot[PACE_SLOTS];
};

#endif
