#include "posix_tz.h"

#include <ctype.h>
#include <string.h>

#include "base/calendar.h"
#include "base/err.h"

enum { DAY_S = 86400, HOUR_S = 3600, OFFSET_HOURS_MOST = 24, TIME_HOURS_MOST = 167 };

/* --- reading --- */

/* Skips a zone's abbreviation: three letters or more, or letters, digits and signs within <>. */
static bool tz_scan_name(const char **p)
{
        const char *begin = *p;
        if (**p == '<') {
                size_t len = strspn(++begin, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-");
                *p = begin + len + 1;
                return len >= 3 && begin[len] == '>';
        }
        while (isalpha((unsigned char)**p))
                (*p)++;
        return *p - begin >= 3;
}

static bool scan_number(const char **p, int least, int most, int *ret)
{
        int value = 0, digits = 0;
        for (; isdigit((unsigned char)**p) && digits < 4; (*p)++, digits++)
                value = value * 10 + (**p - '0');
        *ret = value;
        return digits > 0 && value >= least && value <= most;
}

/* Reads [+-]hh[:mm[:ss]] as seconds. */
static bool scan_time(const char **p, int hours_most, int32_t *ret)
{
        int sign = **p == '-' ? -1 : 1, hours, part;
        *p += **p == '-' || **p == '+';
        if (!scan_number(p, 0, hours_most, &hours))
                return false;
        int32_t seconds = hours * HOUR_S;
        for (int unit = 60; unit > 0 && **p == ':'; unit /= 60) {
                (*p)++;
                if (!scan_number(p, 0, 59, &part))
                        return false;
                seconds += part * unit;
        }
        *ret = sign * seconds;
        return true;
}

static bool skip_char(const char **p, char c)
{
        if (**p != c)
                return false;
        (*p)++;
        return true;
}

static bool scan_day(const char **p, struct rule_day *ret)
{
        bool good;
        *ret = (struct rule_day){.time_s = 2 * HOUR_S};
        if (skip_char(p, 'M')) {
                ret->kind = RULE_MONTHLY;
                good = scan_number(p, 1, 12, &ret->month) && skip_char(p, '.') && scan_number(p, 1, 5, &ret->week) &&
                       skip_char(p, '.') && scan_number(p, 0, 6, &ret->day);
        } else if (skip_char(p, 'J')) {
                ret->kind = RULE_JULIAN;
                good = scan_number(p, 1, 365, &ret->day);
        } else {
                ret->kind = RULE_ORDINAL;
                good = scan_number(p, 0, 365, &ret->day);
        }
        return good && (!skip_char(p, '/') || scan_time(p, TIME_HOURS_MOST, &ret->time_s));
}

int rule_parse(const char *p, struct rule *ret)
{
        struct rule r = {0};
        int32_t west;
        if (!tz_scan_name(&p) || !scan_time(&p, OFFSET_HOURS_MOST, &west))
                return ERR_INVALID;
        r.std_s = r.dst_s = -west;
        if (*p) {
                r.has_dst = true;
                r.dst_s = r.std_s + HOUR_S;
                if (!tz_scan_name(&p))
                        return ERR_INVALID;
                if (*p != ',') {
                        if (!scan_time(&p, OFFSET_HOURS_MOST, &west))
                                return ERR_INVALID;
                        r.dst_s = -west;
                }
                if (!skip_char(&p, ',') || !scan_day(&p, &r.start) || !skip_char(&p, ',') || !scan_day(&p, &r.end) ||
                    *p)
                        return ERR_INVALID;
        }
        *ret = r;
        return 0;
}

/* --- answering --- */

static int64_t day_of_rule(const struct rule_day *d, int64_t year)
{
        int64_t first = day_of_date((struct date){year, 1, 1});
        if (d->kind == RULE_ORDINAL)
                return first + d->day;
        if (d->kind == RULE_JULIAN)
                return first + d->day - 1 + (d->day >= 60 && days_in_month(year, 2) == 29);
        first = day_of_date((struct date){year, d->month, 1});
        int64_t day = first + (d->day - weekday_of_day(first) + 7) % 7 + 7 * (d->week - 1);
        return day < first + days_in_month(year, d->month) ? day : day - 7; /* week 5 is the last one */
}

/* The two changes of the clock in a year: first the start of summer time, then its end. */
static void changes_of(const struct rule *r, int64_t year, struct rule_change ret[static 2])
{
        ret[0] = (struct rule_change){day_of_rule(&r->start, year) * DAY_S + r->start.time_s - r->std_s, r->dst_s};
        ret[1] = (struct rule_change){day_of_rule(&r->end, year) * DAY_S + r->end.time_s - r->dst_s, r->std_s};
}

/* The UTC year of an instant. Searches cover the years before and after, too: the local year may differ, and a rule's
 * time may reach a week into a neighbouring year. */
static int64_t year_of(int64_t at_s)
{
        return date_of_day(divide_down(at_s, DAY_S)).year;
}

/* Where an end of summer time and the next start coincide, the start counts: time zone files express endless summer
 * time so. */
int32_t rule_offset(const struct rule *r, int64_t at_s)
{
        if (!r->has_dst)
                return r->std_s;
        struct rule_change last = {INT64_MIN, r->std_s}, change[2];
        for (int64_t year = year_of(at_s) - 1, end = year + 3; year < end; year++) {
                changes_of(r, year, change);
                for (int i = 1; i >= 0; i--)
                        if (change[i].at_s <= at_s && change[i].at_s >= last.at_s &&
                            (i == 0 || change[i].at_s > last.at_s))
                                last = change[i];
        }
        return last.offset_s;
}

bool rule_next(const struct rule *r, int64_t after_s, struct rule_change *ret)
{
        if (!r->has_dst)
                return false;
        struct rule_change change[2];
        bool found = false;
        for (int64_t year = year_of(after_s) - 1, end = year + 4; year < end; year++) {
                changes_of(r, year, change);
                for (int i = 0; i < 2; i++) {
                        if (change[i].at_s > after_s && (!found || change[i].at_s < ret->at_s)) {
                                *ret = change[i];
                                found = true;
                        }
                }
        }
        return found;
}
