/*
 * Draws a histogram with characters: the share of each bucket as a bar, quantities under the axis, and marks with a
 * vertical line each. Buckets grow by 5 %, so the axis is nearly logarithmic.
 */
#ifndef HALFLIFE_CLI_PLOT_H
#define HALFLIFE_CLI_PLOT_H

#include "core/histogram.h"
#include "terminal.h"

enum paint { PAINT_NONE, PAINT_BAR, PAINT_ABOVE, PAINT_DIM, PAINT_TARGET, PAINT_ORIGINAL, PAINT_WHAT_IF, PAINTS };
/* The escape sequence of a colour; PAINT_NONE ends a colour. "" on a terminal without colours. */
const char *paint_text(const struct terminal *t, enum paint p);

enum { DRAW_ROWS = 8, DRAW_MARKS = 6, DRAW_LABEL_MAX = 32 };
struct mark {
        double value;               /* the marked value: cores or bytes, finite and >= 0 */
        char label[DRAW_LABEL_MAX]; /* ASCII: "target 454m" */
        enum paint paint;
};

struct drawing {
        enum resource resource;
        double share[HISTOGRAM_SUM_BUCKETS]; /* the share of each bucket, 0 to 1 */
        double within; /* bars that end above this value are painted as PAINT_ABOVE; 0: none are */
        struct mark mark[DRAW_MARKS];
        int marks;
};
/* Print DRAW_ROWS lines of bars, an axis, its quantities, and up to DRAW_MARKS lines of marks. Prints nothing if all
 * shares are 0. */
void draw_histogram(FILE *to, const struct drawing *d, const struct terminal *t);

#endif
