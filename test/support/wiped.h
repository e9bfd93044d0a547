/*
 * Tells a test what is overwritten before it is freed: this explicit_bzero stands in for the C library's. For one file
 * of a test program.
 */
#ifndef HALFLIFE_TEST_WIPED_H
#define HALFLIFE_TEST_WIPED_H

#include <stddef.h>
#include <string.h>

static struct {
        size_t count, len; /* calls so far; bytes of the last */
        const char *what;  /* the text that is looked for */
        size_t holding_it; /* calls over memory that held it */
} wiped;

void explicit_bzero(void *p, size_t len)
{
        const void *volatile held = p; /* the C library declares that nothing is read here */
        wiped.count++;
        wiped.len = len;
        wiped.holding_it += wiped.what && memmem(held, len, wiped.what, strlen(wiped.what));
        for (volatile char *at = p; len > 0; len--)
                *at++ = 0;
}

#endif
