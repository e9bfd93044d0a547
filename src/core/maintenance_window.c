#include <stddef.h>
#include <string.h>

#include "core/maintenance_window.h"

#include "base/calendar.h"

enum { FIELDS = 5, MINUTE_S = 60, DAY_S = 86400 };
/* How far a clock on the wall was ever set back at once: a whole day (Alaska, Manila). */
enum { FOLD_MOST_S = DAY_S };
/* Bounds of the search for the next opening or closing: days ahead, and starts looked at. */
enum { SEARCH_DAYS = 366, SEARCH_STARTS = 4096 };

/* --- parsing --- */

struct field {
        int least, most;
        int end; /* where "*" and "a/step" end; for days of the week 6, because 7 is just another name of Sunday */
        const char *names; /* three letters for each value from least on */
};

static const struct field fields[FIELDS] = {
        {0, 59, 59, ""},
        {0, 23, 23, ""},
        {1, 31, 31, ""},
        {1, 12, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
        {0, 7, 6, "sunmontuewedthufrisat"},
};

struct cursor {
        const char *p, *end;
};

static bool window_at_end(const struct cursor *c)
{
        return c->p == c->end;
}

static bool window_eat(struct cursor *c, char want)
{
        if (window_at_end(c) || *c->p != want)
                return false;
        c->p++;
        return true;
}

static bool window_is_digit(char c)
{
        return c >= '0' && c <= '9';
}

/* Read a number of at most three digits: enough for every field, too few to overflow. */
static bool window_read_number(struct cursor *c, int *ret)
{
        int v = 0, n = 0;
        for (; !window_at_end(c) && window_is_digit(*c->p); c->p++)
                if (++n <= 3)
                        v = v * 10 + (*c->p - '0');
        if (n == 0 || n > 3)
                return false;
        *ret = v;
        return true;
}

static bool window_read_name(struct cursor *c, const struct field *f, int *ret)
{
        if (c->end - c->p < 3)
                return false;
        for (int i = 0; f->names[3 * i]; i++) {
                int same = 0;
                while (same < 3 && (c->p[same] | 0x20) == f->names[3 * i + same])
                        same++;
                if (same == 3) {
                        c->p += 3;
                        *ret = f->least + i;
                        return true;
                }
        }
        return false;
}

static bool window_read_value(struct cursor *c, const struct field *f, int *ret)
{
        return (window_read_number(c, ret) || window_read_name(c, f, ret)) && *ret >= f->least && *ret <= f->most;
}

/* Read "*", "a" or "a-b" as the values from *ret_from to *ret_to. *ret_single: the text is "a". */
static bool read_span(struct cursor *c, const struct field *f, int *ret_from, int *ret_to, bool *ret_single)
{
        *ret_from = f->least;
        *ret_to = f->end;
        *ret_single = false;
        if (window_eat(c, '*'))
                return true;
        if (!window_read_value(c, f, ret_from))
                return false;
        *ret_to = *ret_from;
        *ret_single = !window_eat(c, '-');
        return *ret_single || (window_read_value(c, f, ret_to) && *ret_to >= *ret_from);
}

/* Read one element of a field's list into *bits: a span, or a span with "/step"; "a/step" runs to the field's end. */
static bool read_range(struct cursor *c, const struct field *f, uint64_t *bits)
{
        int from, to, step = 1;
        bool single;
        if (!read_span(c, f, &from, &to, &single))
                return false;
        if (window_eat(c, '/')) {
                if (!window_read_number(c, &step) || step < 1)
                        return false;
                if (single)
                        to = f->end;
        }
        for (int v = from; v <= to; v += step)
                *bits |= UINT64_C(1) << v;
        return true;
}

static bool read_field(struct cursor *c, const struct field *f, uint64_t *bits)
{
        *bits = 0;
        do
                if (!read_range(c, f, bits))
                        return false;
        while (window_eat(c, ','));
        return window_at_end(c);
}

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

/* Cut a schedule at blanks into fields. Returns the number of fields; FIELDS + 1: there are more than FIELDS. */
static int window_split(struct cursor c, struct cursor out[static FIELDS])
{
        int n = 0;
        for (;; n++) {
                while (!window_at_end(&c) && is_blank(*c.p))
                        c.p++;
                if (window_at_end(&c) || n == FIELDS)
                        return n + !window_at_end(&c);
                out[n].p = c.p;
                while (!window_at_end(&c) && !is_blank(*c.p))
                        c.p++;
                out[n].end = c.p;
        }
}

static bool is_star(const struct cursor *c)
{
        return c->end - c->p == 1 && *c->p == '*';
}

int window_parse(const char *schedule, size_t len, struct window *ret, int *ret_field)
{
        struct cursor part[FIELDS];
        uint64_t bits[FIELDS];
        *ret_field = FIELDS;
        if (window_split((struct cursor){schedule, schedule + len}, part) != FIELDS)
                return ERR_INVALID;
        bool any_day = is_star(&part[2]), any_weekday = is_star(&part[4]);
        for (int i = 0; i < FIELDS; i++)
                if (!read_field(&part[i], &fields[i], &bits[i])) {
                        *ret_field = i;
                        return ERR_INVALID;
                }
        *ret = (struct window){
                .minutes = bits[0],
                .hours = (uint32_t)bits[1],
                .days = (uint32_t)bits[2],
                .months = (uint32_t)bits[3],
                .weekdays = (uint8_t)((bits[4] | bits[4] >> 7) & 0x7f),
                .any_day = any_day,
                .any_weekday = any_weekday,
        };
        return 0;
}

/* --- the calendar: days and minutes as the clock on the wall shows them --- */

static bool day_matches(const struct window *w, int64_t day)
{
        struct date date = date_of_day(day);
        if (!(w->months >> date.month & 1))
                return false;
        bool by_day = w->days >> date.day & 1, by_weekday = w->weekdays >> weekday_of_day(day) & 1;
        return w->any_day || w->any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

/* bit_up: the nearest set bit at or above `from` (0..63). bit_down: the nearest at or below `from` (-1..63). -1: there
 * is none. */
static int bit_up(uint64_t set, int from)
{
        uint64_t above = set >> from << from;
        return above ? __builtin_ctzll(above) : -1;
}

static int bit_down(uint64_t set, int from)
{
        uint64_t below = from < 0 ? 0 : set << (63 - from) >> (63 - from);
        return below ? 63 - __builtin_clzll(below) : -1;
}

/* minute_up: the first minute of a day in the schedule at or after `from` (0..1439). minute_down: the last at or before
 * `from`. -1: there is none. */
static int minute_up(const struct window *w, int from)
{
        for (int h = bit_up(w->hours, from / 60); h >= 0; h = bit_up(w->hours, h + 1)) {
                int m = bit_up(w->minutes, h == from / 60 ? from % 60 : 0);
                if (m >= 0)
                        return h * 60 + m;
        }
        return -1;
}

static int minute_down(const struct window *w, int from)
{
        for (int h = bit_down(w->hours, from / 60); h >= 0; h = bit_down(w->hours, h - 1)) {
                int m = bit_down(w->minutes, h == from / 60 ? from % 60 : 59);
                if (m >= 0)
                        return h * 60 + m;
        }
        return -1;
}

/* The minute in the schedule that is nearest to local_s: at or after it (way 1), or at or before it (way -1), at most
 * `days` days away. */
static bool match_near(const struct window *w, int64_t local_s, int way, int days, int64_t *ret_local)
{
        int64_t day = divide_down(local_s, DAY_S);
        int minute = (int)((local_s - day * DAY_S) / MINUTE_S);
        for (int i = 0; i <= days; i++, day += way, minute = way > 0 ? 0 : 1439) {
                if (!day_matches(w, day))
                        continue;
                int m = way > 0 ? minute_up(w, minute) : minute_down(w, minute);
                if (m >= 0) {
                        *ret_local = day * DAY_S + (int64_t)m * MINUTE_S;
                        return true;
                }
        }
        return false;
}

/* --- starts: instants at which a window opens --- */

/* The instant at which the clock shows local_s: for a skipped time the first instant after the gap, for a repeated time
 * its first pass. It never decreases as local_s grows: the searches below need that. */
static int64_t window_start_of(const struct window_clock *clock, int64_t local_s)
{
        int64_t at[2];
        clock->instants(clock->zone, local_s, at);
        return at[0];
}

/* The first start after at_s. Starts at times that the clock has shown or skipped by then are past. */
static bool start_after(const struct window *w, const struct window_clock *clock, int64_t at_s, int64_t *ret)
{
        int64_t local = at_s + clock->offset(clock->zone, at_s);
        while (match_near(w, local, 1, SEARCH_DAYS, &local)) {
                *ret = window_start_of(clock, local);
                if (*ret > at_s)
                        return true;
                local += MINUTE_S;
        }
        return false;
}

/* The last start at or before at_s, at most `days` days back. The search begins FOLD_MOST_S later: a clock that was set
 * back has shown later times already. */
static bool start_before(const struct window *w, const struct window_clock *clock, int64_t at_s, int days, int64_t *ret)
{
        int64_t local = at_s + clock->offset(clock->zone, at_s) + FOLD_MOST_S;
        while (match_near(w, local, -1, days, &local)) {
                *ret = window_start_of(clock, local);
                if (*ret <= at_s)
                        return true;
                local -= MINUTE_S;
        }
        return false;
}

static int64_t end_of(const struct window *w, int64_t start_s)
{
        return start_s * SECOND_MS + w->duration_ms;
}

/* The end, in ms, of the run of overlapping or touching windows that begins with the window from start_s; 0: beyond the
 * bounds of the search. */
static int64_t run_end(const struct window *w, const struct window_clock *clock, int64_t start_s)
{
        int64_t end = end_of(w, start_s), last = end + INT64_C(1) * SEARCH_DAYS * DAY_MS;
        for (int n = 0; n < SEARCH_STARTS && end < last; n++) {
                int64_t next;
                if (!start_after(w, clock, start_s, &next) || next * SECOND_MS > end)
                        return end;
                start_s = next;
                end = end_of(w, next);
        }
        return 0;
}

bool window_open(const struct window *w, const struct window_clock *clock, struct wall at, struct wall *ret_change)
{
        int64_t at_s = divide_down(at.ms, SECOND_MS), start;
        int days = (int)(w->duration_ms / DAY_MS) + 5; /* the duration's days, and 5 for clock changes and midnights */
        bool open = start_before(w, clock, at_s, days, &start) && end_of(w, start) > at.ms;
        if (!ret_change)
                return open;
        if (open)
                ret_change->ms = run_end(w, clock, start);
        else
                ret_change->ms = start_after(w, clock, at_s, &start) ? start * SECOND_MS : 0;
        return open;
}
