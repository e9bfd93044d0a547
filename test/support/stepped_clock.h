/*
 * A clock of this machine that steps, for tests that run the controller in their own thread: the time of day that this
 * thread sees is ahead by stepped_clock_s. Waits go by the monotonic clock, which does not step. Where the test runs by
 * the clock of test/pace, that one is stepped.
 */
#ifndef HALFLIFE_TEST_SUPPORT_STEPPED_CLOCK_H
#define HALFLIFE_TEST_SUPPORT_STEPPED_CLOCK_H

#include <stdint.h>

extern _Thread_local int64_t stepped_clock_s;

#endif
