/*
 * Maintenance windows. A window opens at the times of a cron schedule in a time zone, and stays open for a duration.
 *
 * A schedule has five fields: minute, hour, day of month, month, day of week. A field has numbers, names (jan, mon; any
 * case), lists, ranges and steps. 7 is Sunday. Ranges only go upwards: write 6-7 for sat-sun. A step "a/n" runs from a
 * to the end of the field. If both day fields are restricted, a day that matches either field counts.
 *
 * A start in an hour that a clock change skips opens the window at the first instant after the gap. A start in an hour
 * that comes twice opens it once, at the first pass. The caller passes the zone's clock as functions, because core
 * reads no file.
 */
#ifndef HALFLIFE_CORE_MAINTENANCE_WINDOW_H
#define HALFLIFE_CORE_MAINTENANCE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

struct window {
        uint64_t minutes; /* bit n: minute n is in the schedule; likewise hours, days, months and weekdays */
        uint32_t hours, days, months;
        uint8_t weekdays;
        bool any_day, any_weekday; /* the field for the day of the month, or of the week, was "*" */
        int64_t duration_ms;
};

/* Parse a schedule, which need not end in NUL. The caller sets duration_ms. Returns 0, or ERR_INVALID with the index of
 * the wrong field in *ret_field (0..4; 5: there are not five fields); *ret is then untouched. */
int window_parse(const char *schedule, size_t len, struct window *ret, int *ret_field);

/* The clock of a time zone (base/time_zone.h). Times are seconds since 1970; local times are counted as if the zone
 * were UTC. */
struct window_clock {
        const void *zone;                                  /* the first argument of both functions */
        int32_t (*offset)(const void *zone, int64_t at_s); /* the zone's seconds east of UTC at an instant */
        /* The instants at which the clock shows local_s. Returns their number: 0, 1 or 2. ret[0] is the first of them
         * or, if a gap skips local_s, the first instant after the gap. ret[0] never decreases as local_s grows. */
        int (*instants)(const void *zone, int64_t local_s, int64_t ret[static 2]);
};

/* Whether the window is open at an instant. *ret_change (may be NULL) is when the window opens or closes next; ms 0:
 * not within a year, or not within 4096 starts that overlap. */
bool window_open(const struct window *w, const struct window_clock *clock, struct wall at, struct wall *ret_change);

#endif
