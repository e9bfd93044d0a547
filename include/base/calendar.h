/*
 * The Gregorian calendar, extended without end in both directions. Months and days of a month count from 1; day numbers
 * count from 1970-01-01. Nothing here reads a clock, because core links this file.
 */
#ifndef HALFLIFE_BASE_CALENDAR_H
#define HALFLIFE_BASE_CALENDAR_H

#include <stdint.h>

struct date {
        int64_t year;
        int month, day;
};
int64_t day_of_date(struct date d);
struct date date_of_day(int64_t day);
int days_in_month(int64_t year, int month);
int weekday_of_day(int64_t day); /* 0 is Sunday, 6 is Saturday */

/* a / b rounded towards minus infinity, for b > 0. C's own division would put a second before 1970 into the wrong day.
 */
static inline int64_t divide_down(int64_t a, int64_t b)
{
        return a / b - (a % b < 0);
}

#endif
