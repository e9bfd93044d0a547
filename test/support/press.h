/*
 * For benches: requests at a listener as fast as it answers, over 32 connections that are kept open, by wrk with one
 * thread; where that is not installed by a small client of our own, which speaks no TLS. What goes wrong ends the
 * process.
 */
#ifndef HALFLIFE_TEST_SUPPORT_PRESS_H
#define HALFLIFE_TEST_SUPPORT_PRESS_H

#include <stdbool.h>

struct press {
        const char *address; /* 127.0.0.1:4711 */
        bool tls;            /* with wrk only */
        int seconds;
        const char *token; /* NULL: none is shown */
        const char *body;  /* posted as JSON; NULL: GET */
        const char *path;  /* with a number behind it that is drawn anew for each request: */
        int most, digits;  /* from 0 to most - 1, of so many digits; most 0: none */
};

struct pressed {
        double count, rate, p99_ms, longest_ms;
};

bool press_has_wrk(void);
struct pressed press(const struct press *p);

#endif
