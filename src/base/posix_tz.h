/*
 * POSIX TZ rules ("CET-1CEST,M3.5.0,M10.5.0/3"), as the footer of a time zone file has them for what comes after its
 * table.
 */
#ifndef HALFLIFE_SRC_BASE_POSIX_TZ_H
#define HALFLIFE_SRC_BASE_POSIX_TZ_H

#include <stdbool.h>
#include <stdint.h>

struct rule_day {
        enum { RULE_JULIAN /* 1 to 365, never 29 February */, RULE_ORDINAL /* 0 to 365 */, RULE_MONTHLY } kind;
        int day; /* of the year, or of the week (0: Sunday) */
        int month, week;
        int32_t time_s; /* of the day, by the clock before the change; may lie in another day */
};

struct rule {
        int32_t std_s, dst_s; /* seconds east of UTC */
        bool has_dst;
        struct rule_day start, end; /* of summer time */
};

/* Returns 0 or ERR_INVALID. A rule with summer time must say when it is. */
int rule_parse(const char *text, struct rule *ret);

/* A change of the clock: from at_s on it is offset_s east of UTC. */
struct rule_change {
        int64_t at_s;
        int32_t offset_s;
};

int32_t rule_offset(const struct rule *r, int64_t at_s);

/* The first change after an instant; false: there is none, ever. */
bool rule_next(const struct rule *r, int64_t after_s, struct rule_change *ret);

#endif
