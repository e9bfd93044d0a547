/*
 * POSIX TZ rules ("CET-1CEST,M3.5.0,M10.5.0/3"). The footer of a time zone file holds such a rule for the times after
 * the last row of its table.
 */
#ifndef HALFLIFE_SRC_BASE_POSIX_TZ_H
#define HALFLIFE_SRC_BASE_POSIX_TZ_H

#include <stdbool.h>
#include <stdint.h>

struct rule_day {
        enum { RULE_JULIAN /* 1 to 365, never 29 February */, RULE_ORDINAL /* 0 to 365 */, RULE_MONTHLY } kind;
        int day; /* day of the year, or of the week (0: Sunday) */
        int month, week;
        int32_t time_s; /* seconds after midnight, by the clock before the change; may be negative or beyond 24 h */
};

struct rule {
        int32_t std_s, dst_s; /* offsets of standard and summer time, in seconds east of UTC */
        bool has_dst;
        struct rule_day start, end; /* when summer time starts and ends */
};

/* Parse a POSIX TZ rule. Returns 0 or ERR_INVALID. A rule with summer time must give the start and end of summer
 * time. */
int rule_parse(const char *text, struct rule *ret);

/* A change of the clock: from at_s (seconds since 1970) on, local time is offset_s seconds east of UTC. */
struct rule_change {
        int64_t at_s;
        int32_t offset_s;
};

int32_t rule_offset(const struct rule *r, int64_t at_s);

/* The first change after an instant; false: the rule has no summer time, so the clock never changes. */
bool rule_next(const struct rule *r, int64_t after_s, struct rule_change *ret);

#endif
