/* What every bench prints: one line a subject. */
#ifndef HALFLIFE_BENCH_LINE_H
#define HALFLIFE_BENCH_LINE_H

#include <stdio.h>

/* budget: "<= 0.3", ">= 10", in the same unit; "" where there is none. */
static inline void bench_line(const char *name, double value, const char *unit, const char *budget)
{
        printf("%-46s %14.*f %-12s %s\n", name, value < 1000 ? 3 : 0, value, unit, budget);
        fflush(stdout);
}

#endif
