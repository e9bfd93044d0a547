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

struct now now_read(void);
struct mono mono_read(void);

/* RFC 3339 ("2026-11-21T11:54:02Z", fractions to ms, offsets), as the API server writes times. Returns 0 or
 * ERR_INVALID. */
int wall_parse(const char *s, size_t len, struct wall *ret);
enum { WALL_TEXT_MAX = 32 };
/* "2026-11-21T11:54:02Z"; whole seconds, rounded down. Returns out. */
char *wall_print(struct wall t, char out[static WALL_TEXT_MAX]);
/* MicroTime: "2026-11-21T11:54:02.123000Z" */
char *wall_print_micro(struct wall t, char out[static WALL_TEXT_MAX]);
/* HTTP's Date header ("Sat, 21 Nov 2026 11:54:02 GMT") */
int wall_parse_http(const char *s, struct wall *ret);

/* Go durations: "1h30m", "336h", "90s", "250ms", "0"; no days. Returns 0 or ERR_INVALID. */
int duration_parse(const char *s, size_t len, int64_t *ret_ms);
enum { DURATION_TEXT_MAX = 32 };
/* The shortest exact spelling: "336h", "1h30m", "15s", "1.5s", "0s". Returns out. */
char *duration_print(int64_t ms, char out[static DURATION_TEXT_MAX]);

#endif
