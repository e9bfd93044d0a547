/*
 * Two clocks, two types, so the compiler refuses to mix them. Read once at the top of a turn; everything below takes a
 * value.
 */
#ifndef HALFLIFE_BASE_CLOCK_H
#define HALFLIFE_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mono {
        int64_t ns;
}; /* waiting, ageing */
struct wall {
        int64_t ms;
}; /* since 1970, UTC: what gets written down */
struct now {
        struct mono mono;
        struct wall wall;
};

enum { SECOND_MS = 1000, MINUTE_MS = 60 * SECOND_MS, HOUR_MS = 60 * MINUTE_MS, DAY_MS = 24 * HOUR_MS };

/* Cut off to whole seconds, as kubelets and API servers tell most times: what is told to have come then may have come
 * at any moment of that second. */
static inline int64_t whole_second(int64_t ms)
{
        return ms / SECOND_MS * SECOND_MS;
}

struct now now_read(void);
struct mono mono_read(void);
/* now + ms; what is beyond either end of the clock (292 years) is at that end. */
struct mono mono_after(struct mono now, int64_t ms);

/* RFC 3339 ("2026-11-21T11:54:02Z", fractions to ms, offsets), as the API server writes times. Returns 0 or
 * ERR_INVALID. */
int wall_parse(const char *s, size_t len, struct wall *ret);
enum { WALL_TEXT_MAX = 32 };
/* "2026-11-21T11:54:02Z"; whole seconds, rounded down; what lies outside the years 0 to 9999 is moved to their ends.
 * Returns out. */
char *wall_print(struct wall t, char out[static WALL_TEXT_MAX]);
/* "2026-11-21T11:54:02.123Z" */
char *wall_print_milli(struct wall t, char out[static WALL_TEXT_MAX]);
/* MicroTime: "2026-11-21T11:54:02.123000Z" */
char *wall_print_micro(struct wall t, char out[static WALL_TEXT_MAX]);
/* HTTP's Date header, in the one form that may be sent ("Sat, 21 Nov 2026 11:54:02 GMT") */
int wall_parse_http(const char *s, struct wall *ret);

/* A date of the Gregorian calendar, which goes on for ever both ways; month and day from 1. Days are counted from
 * 1970-01-01. */
struct date {
        int64_t year;
        int month, day;
};
int64_t day_of_date(struct date d);
struct date date_of_day(int64_t day);
int days_in_month(int64_t year, int month);

/*
 * Go durations: "1h30m", "336h", "1.5h", "90s", "250ms", "-5m", "0"; no days. What is finer than a millisecond rounds
 * away from zero once, on the sum ("100us" is 1), so that nothing becomes nothing. Returns 0, or ERR_INVALID: malformed
 * or beyond what Go holds (292 years).
 */
int duration_parse(const char *s, size_t len, int64_t *ret_ms);
enum { DURATION_TEXT_MAX = 32 };
/* Exact, as Go writes it but without parts that are zero: "336h", "1h30m", "15s", "1.5s", "250ms", "0s". Returns out.
 */
char *duration_print(int64_t ms, char out[static DURATION_TEXT_MAX]);

#endif
