/*
 * Two clocks with two types, so that the compiler refuses to mix them. The event loop reads both once for all
 * callbacks of a turn; functions below the loop take the time as an argument.
 */
#ifndef HALFLIFE_BASE_CLOCK_H
#define HALFLIFE_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mono {
        int64_t ns;
}; /* a time of the monotonic clock, for timeouts and ages */
struct wall {
        int64_t ms;
}; /* a time of day, since 1970 in UTC, for times that are stored or shown */
struct now {
        struct mono mono;
        struct wall wall;
};

enum { SECOND_MS = 1000, MINUTE_MS = 60 * SECOND_MS, HOUR_MS = 60 * MINUTE_MS, DAY_MS = 24 * HOUR_MS };

/* ms rounded towards zero to a whole second. Kubelets and API servers write most times in whole seconds: an event may
 * have happened at any moment of the second that they give. */
static inline int64_t whole_second(int64_t ms)
{
        return ms / SECOND_MS * SECOND_MS;
}

/* A time in ms as seconds since 1970. A time before 1970 gives 0, a time beyond 32 bits UINT32_MAX. */
static inline uint32_t seconds_of(int64_t ms)
{
        return ms < 0 ? 0 : ms / SECOND_MS > UINT32_MAX ? UINT32_MAX : (uint32_t)(ms / SECOND_MS);
}

struct now now_read(void);
struct mono mono_read(void);
/* The time ms after now, clamped to the range of the clock (292 years either way). */
struct mono mono_after(struct mono now, int64_t ms);

/* Parse an RFC 3339 time ("2026-11-21T11:54:02Z"), the API server's format. Fractions are cut to milliseconds; offsets
 * are accepted. Returns 0 or ERR_INVALID. */
int wall_parse(const char *s, size_t len, struct wall *ret);
enum { WALL_TEXT_MAX = 32 };
/* Print a time as "2026-11-21T11:54:02Z": whole seconds, rounded down. A time outside the years 0 to 9999 is clamped to
 * them. Returns out. */
char *wall_print(struct wall t, char out[static WALL_TEXT_MAX]);
/* Print a time as wall_print does, with milliseconds: "2026-11-21T11:54:02.123Z" */
char *wall_print_milli(struct wall t, char out[static WALL_TEXT_MAX]);
/* Print a time as wall_print does, as a MicroTime of Kubernetes: "2026-11-21T11:54:02.123000Z" */
char *wall_print_micro(struct wall t, char out[static WALL_TEXT_MAX]);
/* Parse an HTTP Date header, in the only form that a server may send ("Sat, 21 Nov 2026 11:54:02 GMT"). Returns 0 or
 * ERR_INVALID. */
int wall_parse_http(const char *s, struct wall *ret);

/*
 * Parse a Go duration: "1h30m", "336h", "1.5h", "90s", "250ms", "-5m", "0"; there is no unit for days. The sum of all
 * parts is rounded away from zero to a millisecond ("100us" is 1), so that no positive duration becomes 0. Returns 0,
 * or ERR_INVALID: malformed, or beyond Go's range (292 years).
 */
int duration_parse(const char *s, size_t len, int64_t *ret_ms);
enum { DURATION_TEXT_MAX = 32 };
/* Print a duration exactly, as Go does but without parts that are zero: "336h", "1h30m", "15s", "1.5s", "250ms", "0s".
 * Returns out. */
char *duration_print(int64_t ms, char out[static DURATION_TEXT_MAX]);

#endif
