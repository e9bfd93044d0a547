/*
 * Maintenance windows: five cron fields in a zone, open for a duration of elapsed time.
 *
 * Fields: minute hour day-of-month month day-of-week; numbers, names (jan, mon; any case), lists, ranges (upwards only:
 * write 6-7 for sat-sun), steps ("a/n" runs from a to the field's end); 7 is Sunday; where both day fields are
 * restricted either one matches. A start in a skipped hour opens at the first instant after the gap; a repeated one
 * opens once, at its first pass. The zone's clock is the caller's function, because core reads no file.
 */
#ifndef HALFLIFE_CORE_MAINTENANCE_WINDOW_H
#define HALFLIFE_CORE_MAINTENANCE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

struct window {
        uint64_t minutes; /* bit sets */
        uint32_t hours, days, months;
        uint8_t weekdays;
        bool any_day, any_weekday; /* the field was "*" */
        int64_t duration_ms;
};

/* Parse a schedule, which need not end in NUL; duration_ms is the caller's to set. Returns 0, or ERR_INVALID with
 * *ret_field the field refused (0..4, 5: not five fields) and *ret untouched. */
int window_parse(const char *schedule, size_t len, struct window *ret, int *ret_field);

/* A zone's clock, as base/zone has it. Times are seconds since 1970; local ones as if the zone were UTC. */
struct window_clock {
        const void *zone;                                  /* handed to both */
        int32_t (*offset)(const void *zone, int64_t at_s); /* seconds east of UTC at an instant */
        /* When the clock shows local: ret[0] the first time, or the first instant after the gap that skips it. Returns
         * how often. ret[0] never decreases as local grows. */
        int (*instants)(const void *zone, int64_t local_s, int64_t ret[static 2]);
};

/* Is it open at an instant? *ret_change (may be NULL): when that next changes, 0 where no change is found within a
 * year, or within 4096 starts that run into each other. */
bool window_open(const struct window *w, const struct window_clock *clock, struct wall at, struct wall *ret_change);

#endif
