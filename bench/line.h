/* What every bench does: it reads a clock, prints one line a subject, and ends where something is wrong. */
#ifndef HALFLIFE_BENCH_LINE_H
#define HALFLIFE_BENCH_LINE_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* budget: "<= 0.3", ">= 10", in the same unit; "" where there is none. */
static inline void bench_line(const char *name, double value, const char *unit, const char *budget)
{
        printf("%-46s %14.*f %-12s %s\n", name, value < 1000 ? 3 : 0, value, unit, budget);
        fflush(stdout);
}

/* Say why, after the program's name, and exit with 1. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void bench_fail(const char *why, ...)
{
        va_list ap;
        va_start(ap, why);
        fprintf(stderr, "%s: ", program_invocation_short_name);
        vfprintf(stderr, why, ap);
        fputc('\n', stderr);
        va_end(ap);
        exit(1);
}

static inline double bench_seconds(clockid_t clock)
{
        struct timespec t;
        clock_gettime(clock, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* CPU of the whole process, and of the thread that asks: on a busy machine wall time says nothing. */
static inline double bench_cpu_seconds(void)
{
        return bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static inline double bench_thread_seconds(void)
{
        return bench_seconds(CLOCK_THREAD_CPUTIME_ID);
}

static inline void bench_least(double *best, double value)
{
        *best = value < *best ? value : *best;
}

/* For qsort. */
static inline int bench_by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

#endif
