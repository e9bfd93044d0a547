#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/calendar.h"
#include "base/err.h"

static int64_t clock_read_ns(clockid_t id)
{
        struct timespec ts;
        clock_gettime(id, &ts); /* cannot fail for the two clocks used here */
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

struct mono mono_read(void)
{
        return (struct mono){clock_read_ns(CLOCK_MONOTONIC)};
}

struct now now_read(void)
{
        return (struct now){.mono = mono_read(), .wall = {clock_read_ns(CLOCK_REALTIME) / 1000000}};
}

struct mono mono_after(struct mono now, int64_t ms)
{
        int64_t due;
        bool beyond = __builtin_mul_overflow(ms, (int64_t)1000000, &due) || __builtin_add_overflow(due, now.ns, &due);
        return (struct mono){!beyond ? due : ms < 0 ? INT64_MIN : INT64_MAX};
}

/* --- reading and printing instants --- */

/* The unread rest of a text. */
struct scan {
        const char *p, *end;
};

static bool scan_char(struct scan *s, char c)
{
        if (s->p == s->end || *s->p != c)
                return false;
        s->p++;
        return true;
}

/* Reads exactly count digits, whose value must lie from least to most. */
static bool clock_scan_digits(struct scan *s, int count, int least, int most, int *ret)
{
        int value = 0;
        for (; count > 0; count--, s->p++) {
                if (s->p == s->end || *s->p < '0' || *s->p > '9')
                        return false;
                value = value * 10 + (*s->p - '0');
        }
        *ret = value;
        return value >= least && value <= most;
}

struct stamp {
        int year, month, day, hour, minute, second, ms, offset_s;
};

static struct wall wall_of(const struct stamp *t)
{
        int64_t day = day_of_date((struct date){t->year, t->month, t->day});
        int64_t second = day * 86400 + t->hour * 3600 + t->minute * 60 + t->second - t->offset_s;
        return (struct wall){second * SECOND_MS + t->ms};
}

static bool scan_time_of_day(struct scan *s, struct stamp *t)
{
        return clock_scan_digits(s, 2, 0, 23, &t->hour) && scan_char(s, ':') &&
               clock_scan_digits(s, 2, 0, 59, &t->minute) && scan_char(s, ':') &&
               clock_scan_digits(s, 2, 0, 59, &t->second);
}

static bool scan_fraction(struct scan *s, struct stamp *t)
{
        if (!scan_char(s, '.'))
                return true;
        int digits = 0;
        for (int unit = 100; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++, digits++, unit /= 10)
                t->ms += (*s->p - '0') * unit;
        return digits > 0;
}

static bool scan_offset(struct scan *s, struct stamp *t)
{
        if (scan_char(s, 'Z'))
                return true;
        int sign = scan_char(s, '-') ? -1 : 1, hours, minutes;
        if (sign > 0 && !scan_char(s, '+'))
                return false;
        if (!clock_scan_digits(s, 2, 0, 23, &hours) || !scan_char(s, ':') || !clock_scan_digits(s, 2, 0, 59, &minutes))
                return false;
        t->offset_s = sign * (hours * 3600 + minutes * 60);
        return true;
}

int wall_parse(const char *p, size_t len, struct wall *ret)
{
        struct scan s = {p, p + len};
        struct stamp t = {0};
        bool good = clock_scan_digits(&s, 4, 0, 9999, &t.year) && scan_char(&s, '-') &&
                    clock_scan_digits(&s, 2, 1, 12, &t.month) && scan_char(&s, '-') &&
                    clock_scan_digits(&s, 2, 1, days_in_month(t.year, t.month), &t.day) && scan_char(&s, 'T') &&
                    scan_time_of_day(&s, &t) && scan_fraction(&s, &t) && scan_offset(&s, &t);
        if (!good || s.p != s.end)
                return ERR_INVALID;
        *ret = wall_of(&t);
        return 0;
}

/* Skips a three-letter name, and returns its index in the list of names; -1: the name is not in the list. */
static int clock_scan_name(struct scan *s, const char *names)
{
        if (s->end - s->p < 3)
                return -1;
        for (int i = 0; names[3 * i]; i++) {
                if (memcmp(s->p, names + 3 * i, 3) == 0) {
                        s->p += 3;
                        return i;
                }
        }
        return -1;
}

int wall_parse_http(const char *text, struct wall *ret)
{
        struct scan s = {text, text + strlen(text)};
        struct stamp t = {0};
        if (clock_scan_name(&s, "MonTueWedThuFriSatSun") < 0 || !scan_char(&s, ',') || !scan_char(&s, ' ') ||
            !clock_scan_digits(&s, 2, 1, 31, &t.day) || !scan_char(&s, ' '))
                return ERR_INVALID;
        t.month = clock_scan_name(&s, "JanFebMarAprMayJunJulAugSepOctNovDec") + 1;
        bool good = t.month > 0 && scan_char(&s, ' ') && clock_scan_digits(&s, 4, 0, 9999, &t.year) &&
                    t.day <= days_in_month(t.year, t.month) && scan_char(&s, ' ') && scan_time_of_day(&s, &t);
        if (!good || strcmp(s.p, " GMT") != 0)
                return ERR_INVALID;
        *ret = wall_of(&t);
        return 0;
}

/* Writes value with a fixed number of digits and one character after them. Returns the place after that character. */
static char *print_digits(char *out, int64_t value, int digits, char then)
{
        for (int i = digits - 1; i >= 0; i--, value /= 10)
                out[i] = (char)('0' + value % 10);
        out[digits] = then;
        return out + digits + 1;
}

/* Prints a time up to its second; returns the milliseconds that remain. */
static int print_second(struct wall t, char out[static WALL_TEXT_MAX], int *ret_len)
{
        static const int64_t least = -62167219200000, most = 253402300799999; /* ms: start of year 0, end of 9999 */
        int64_t ms = t.ms < least ? least : t.ms > most ? most : t.ms;
        int64_t second = divide_down(ms, SECOND_MS), day = divide_down(second, 86400);
        struct date d = date_of_day(day);
        int of_day = (int)(second - day * 86400);
        char *at = print_digits(out, d.year, 4, '-');
        at = print_digits(at, d.month, 2, '-');
        at = print_digits(at, d.day, 2, 'T');
        at = print_digits(at, of_day / 3600, 2, ':');
        at = print_digits(at, of_day / 60 % 60, 2, ':');
        at = print_digits(at, of_day % 60, 2, '\0');
        *ret_len = (int)(at - out) - 1;
        return (int)(ms - second * SECOND_MS);
}

char *wall_print(struct wall t, char out[static WALL_TEXT_MAX])
{
        int len;
        print_second(t, out, &len);
        strcpy(out + len, "Z");
        return out;
}

char *wall_print_milli(struct wall t, char out[static WALL_TEXT_MAX])
{
        int len, ms = print_second(t, out, &len);
        snprintf(out + len, (size_t)(WALL_TEXT_MAX - len), ".%03dZ", ms % 1000);
        return out;
}

char *wall_print_micro(struct wall t, char out[static WALL_TEXT_MAX])
{
        int len, ms = print_second(t, out, &len);
        snprintf(out + len, (size_t)(WALL_TEXT_MAX - len), ".%03d000Z", ms % 1000);
        return out;
}

/* --- durations --- */

/* "ms" stands before "m", of which it is a longer form. Both Unicode micro signs (U+00B5, U+03BC) are accepted, as in
 * Go. */
static const struct {
        const char *name;
        int64_t ns;
} unit[] = {{"ns", 1},       {"us", 1000},      {"\u00b5s", 1000},  {"\u03bcs", 1000},
            {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};

static bool scan_unit(struct scan *s, int64_t *ret_ns)
{
        for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
                size_t len = strlen(unit[i].name);
                if ((size_t)(s->end - s->p) >= len && memcmp(s->p, unit[i].name, len) == 0) {
                        s->p += len;
                        *ret_ns = unit[i].ns;
                        return true;
                }
        }
        return false;
}

enum { FRACTION_DIGITS = 15 }; /* further digits are less than a nanosecond, even with the unit hour */

/* Reads one number with its unit ("1.5h") and adds the duration to *ns. */
static bool scan_part(struct scan *s, uint64_t *ns)
{
        uint64_t whole = 0, part = 0, scale = 1;
        const char *begin = s->p;
        int64_t each;
        for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
                if (__builtin_mul_overflow(whole, 10u, &whole) ||
                    __builtin_add_overflow(whole, (uint64_t)(*s->p - '0'), &whole))
                        return false;
        ptrdiff_t digits = s->p - begin;
        if (scan_char(s, '.')) {
                begin = s->p;
                for (int n = 0; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++, n++) {
                        if (n < FRACTION_DIGITS) {
                                part = part * 10 + (uint64_t)(*s->p - '0');
                                scale *= 10;
                        }
                }
                digits += s->p - begin;
        }
        if (digits == 0 || !scan_unit(s, &each) || __builtin_mul_overflow(whole, (uint64_t)each, &whole))
                return false;
        uint64_t fraction = (uint64_t)((unsigned __int128)part * (uint64_t)each / scale);
        return !__builtin_add_overflow(*ns, whole, ns) && !__builtin_add_overflow(*ns, fraction, ns);
}

int duration_parse(const char *p, size_t len, int64_t *ret_ms)
{
        struct scan s = {p, p + len};
        bool negative = scan_char(&s, '-');
        if (!negative)
                scan_char(&s, '+');
        if (s.end - s.p == 1 && *s.p == '0') {
                *ret_ms = 0;
                return 0;
        }
        uint64_t ns = 0;
        do {
                if (!scan_part(&s, &ns))
                        return ERR_INVALID;
        } while (s.p < s.end);
        if (ns > INT64_MAX)
                return ERR_INVALID;
        int64_t ms = (int64_t)(ns / 1000000 + (ns % 1000000 != 0));
        *ret_ms = negative ? -ms : ms;
        return 0;
}

char *duration_print(int64_t ms, char out[static DURATION_TEXT_MAX])
{
        uint64_t left = ms < 0 ? -(uint64_t)ms : (uint64_t)ms;
        char *p = out, *end = out + DURATION_TEXT_MAX;
        if (ms < 0)
                *p++ = '-';
        if (left > 0 && left < SECOND_MS) {
                snprintf(p, (size_t)(end - p), "%dms", (int)left);
                return out;
        }
        uint64_t hours = left / HOUR_MS;
        int minutes = (int)(left / MINUTE_MS % 60), seconds = (int)(left / SECOND_MS % 60),
            rest = (int)(left % SECOND_MS);
        if (hours)
                p += snprintf(p, (size_t)(end - p), "%" PRIu64 "h", hours);
        if (minutes)
                p += snprintf(p, (size_t)(end - p), "%dm", minutes);
        if (!seconds && !rest && left)
                return out;
        p += snprintf(p, (size_t)(end - p), "%d", seconds);
        if (rest) {
                p += snprintf(p, (size_t)(end - p), ".%03d", rest);
                while (p[-1] == '0')
                        p--;
        }
        snprintf(p, (size_t)(end - p), "s");
        return out;
}
