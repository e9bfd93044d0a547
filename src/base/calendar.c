#include "base/calendar.h"

#include <stdbool.h>

/* The calculations use years that begin in March, so that the leap day is a year's last day. */
enum { DAYS_400_YEARS = 146097, DAYS_TO_1970 = 719468 /* from 0000-03-01 */ };

int64_t day_of_date(struct date d)
{
        int64_t year = d.year - (d.month <= 2);
        int64_t era = divide_down(year, 400), of_era = year - era * 400;
        int64_t of_year = (153 * (d.month + (d.month > 2 ? -3 : 9)) + 2) / 5 + d.day - 1;
        return era * DAYS_400_YEARS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - DAYS_TO_1970;
}

struct date date_of_day(int64_t day)
{
        day += DAYS_TO_1970;
        int64_t era = divide_down(day, DAYS_400_YEARS), left = day - era * DAYS_400_YEARS;
        int64_t of_era = (left - left / 1460 + left / 36524 - left / 146096) / 365;
        int64_t of_year = left - (of_era * 365 + of_era / 4 - of_era / 100);
        int64_t month = (5 * of_year + 2) / 153; /* months from March, which is 0 */
        return (struct date){
                .year = era * 400 + of_era + (month >= 10),
                .month = (int)(month < 10 ? month + 3 : month - 9),
                .day = (int)(of_year - (153 * month + 2) / 5 + 1),
        };
}

int days_in_month(int64_t year, int month)
{
        static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        return days[month - 1] + (month == 2 && leap);
}

int weekday_of_day(int64_t day)
{
        return (int)(day + 4 - divide_down(day + 4, 7) * 7); /* 1970-01-01 was a Thursday */
}
