#include "plot.h"

#include <math.h>
#include <string.h>

#include "core/quantity.h"

enum { LEFT = 6, PLOT_MOST = 120, LINES = DRAW_ROWS + 2 + DRAW_MARKS, BUCKET_COLUMNS = 4 };

struct cell {
        char glyph[4]; /* the bytes of one character, without NUL if all four are used; empty: a blank */
        enum paint paint;
};

/* The picture. Its scale begins at bucket `first`, with several columns (`wide`) per bucket, or several buckets
 * (`merged`) per column. */
struct canvas {
        const struct drawing *d;
        const struct terminal *t;
        int first, span, wide, merged, columns;
        int room; /* columns to the right edge of the terminal; labels may be wider than the plot */
        double most;
        struct cell cell[LINES][PLOT_MOST];
};

const char *paint_text(const struct terminal *t, enum paint p)
{
        static const char *const texts[PAINTS] = {
                [PAINT_NONE] = "\033[0m",       [PAINT_BAR] = "\033[36m",      [PAINT_ABOVE] = "\033[33m",
                [PAINT_DIM] = "\033[2m",        [PAINT_TARGET] = "\033[1;32m", [PAINT_ORIGINAL] = "\033[1;31m",
                [PAINT_WHAT_IF] = "\033[1;35m",
        };
        return t->colour ? texts[p] : "";
}

static const char *plot_glyph(const struct canvas *c, const char *utf8, const char *ascii)
{
        return c->t->utf8 ? utf8 : ascii;
}

static void plot_put(struct canvas *c, int line, int column, const char *g, enum paint p)
{
        if (column < 0 || column >= c->room)
                return;
        struct cell *at = &c->cell[line][column];
        strncpy(at->glyph, g, sizeof at->glyph);
        at->paint = p;
}

static bool plot_blank(const struct canvas *c, int line, int column)
{
        return c->cell[line][column].glyph[0] == '\0';
}

/* --- the scale --- */

/* The position of a value on the axis, in buckets, with a fraction. */
static double place_of(enum resource r, double value)
{
        int n = histogram_sum_bucket(r, value);
        double from = histogram_start(r, n);
        if (n == HISTOGRAM_SUM_BUCKETS - 1)
                return n;
        return n + (value - from) / (histogram_start(r, n + 1) - from);
}

static int column_of(const struct canvas *c, double value)
{
        double column = (place_of(c->d->resource, value) - c->first) * c->wide / c->merged;
        return column < 0 ? 0 : column >= c->columns ? c->columns - 1 : (int)column;
}

static bool find_range(struct canvas *c)
{
        int last = -1;
        c->first = HISTOGRAM_SUM_BUCKETS;
        for (int i = 0; i < HISTOGRAM_SUM_BUCKETS; i++)
                if (c->d->share[i] > 0) {
                        c->first = i < c->first ? i : c->first;
                        last = i;
                }
        if (last < 0)
                return false;
        for (int i = 0; i < c->d->marks; i++) {
                int n = (int)place_of(c->d->resource, c->d->mark[i].value);
                c->first = n < c->first ? n : c->first;
                last = n > last ? n : last;
        }
        c->first -= c->first > 0;
        c->span = last + 2 - c->first;
        return true;
}

static void find_scale(struct canvas *c)
{
        int room = c->t->columns - LEFT - 1;
        c->room = room < PLOT_MOST ? room : PLOT_MOST;
        c->wide = c->room / c->span;
        c->wide = c->wide < 1 ? 1 : c->wide > BUCKET_COLUMNS ? BUCKET_COLUMNS : c->wide;
        c->merged = (c->span + c->room - 1) / c->room;
        c->columns = c->merged > 1 ? (c->span + c->merged - 1) / c->merged : c->span * c->wide;
}

static int bucket_at(const struct canvas *c, int column)
{
        return c->first + column * c->merged / c->wide;
}

static double share_at(const struct canvas *c, int column)
{
        double sum = 0;
        for (int i = 0, n = bucket_at(c, column); i < c->merged && n + i < HISTOGRAM_SUM_BUCKETS; i++)
                sum += c->d->share[n + i];
        return sum;
}

/* --- bars --- */

/* Draw one row of a bar. full: how many eighths of the row the bar covers, 0 to 8. */
static void put_bar(struct canvas *c, int line, int column, int full, enum paint p)
{
        static const char *const eighths[] = {"", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
        if (full > 0)
                plot_put(c, line, column, plot_glyph(c, eighths[full], full >= 6 ? "#" : full >= 3 ? ":" : "."), p);
}

static void draw_bars(struct canvas *c)
{
        for (int x = 0; x < c->columns; x++)
                c->most = fmax(c->most, share_at(c, x));
        for (int x = 0; x < c->columns; x++) {
                double share = share_at(c, x);
                int n = bucket_at(c, x) + c->merged - 1;
                n = n < HISTOGRAM_SUM_BUCKETS ? n : HISTOGRAM_SUM_BUCKETS - 1;
                bool above = c->d->within > 0 && histogram_start(c->d->resource, n) >= c->d->within;
                int eighths = share > 0 ? (int)fmax(1, round(share / c->most * DRAW_ROWS * 8)) : 0;
                for (int line = DRAW_ROWS - 1; line >= 0 && eighths > 0; line--, eighths -= 8)
                        put_bar(c, line, x, eighths < 8 ? eighths : 8, above ? PAINT_ABOVE : PAINT_BAR);
        }
}

/* --- under the axis --- */

static void put_label(struct canvas *c, int line, int column, const char *label, enum paint p)
{
        for (int i = 0; label[i]; i++)
                plot_put(c, line, column + i, (const char[]){label[i], '\0'}, p);
}

static bool free_run(const struct canvas *c, int line, int column, int len)
{
        if (column < 0 || column + len > c->room)
                return false;
        for (int i = 0; i < len; i++)
                if (!plot_blank(c, line, column + i))
                        return false;
        return true;
}

/* The value of tick n: 1, 2, 5, 10, … millicores, or 1, 2, 4, 8, … MiB. */
static double tick_value(enum resource r, int n)
{
        static const double steps[] = {1, 2, 5};
        return r == CPU ? steps[n % 3] * pow(10, n / 3 - 3) : ldexp(1, 20 + n);
}

static void tick_text(enum resource r, double value, char out[static QUANTITY_TEXT_MAX])
{
        if (r == CPU)
                quantity_print_cpu((int64_t)llround(value * 1000), out);
        else
                quantity_print_memory((int64_t)ceil(value / (1 << 20)) << 20, out);
}

enum { TICK_GAP = 2 };

/* Put a tick with its label on the axis, if there is room. before: the end of the label to its left. Returns the end of
 * its own label, or `before`. */
static int put_tick(struct canvas *c, double value, int before)
{
        char text[QUANTITY_TEXT_MAX];
        tick_text(c->d->resource, value, text);
        int x = column_of(c, value), len = (int)strlen(text), at = x - len / 2 > 0 ? x - len / 2 : 0;
        if (at < before + TICK_GAP || at + len > c->room)
                return before;
        plot_put(c, DRAW_ROWS, x, plot_glyph(c, "┴", "+"), PAINT_DIM);
        put_label(c, DRAW_ROWS + 1, at, text, PAINT_DIM);
        return at + len;
}

static double plot_start_of(const struct canvas *c, int bucket)
{
        return histogram_start(c->d->resource, bucket < HISTOGRAM_SUM_BUCKETS ? bucket : HISTOGRAM_SUM_BUCKETS - 1);
}

/* Draw the axis with labels at round quantities. If the range has none, label its ends. */
static void draw_axis(struct canvas *c)
{
        enum { TICKS = 24 };
        double from = plot_start_of(c, c->first), to = plot_start_of(c, c->first + c->span - 1);
        int end = -TICK_GAP;
        for (int x = 0; x < c->columns; x++)
                plot_put(c, DRAW_ROWS, x, plot_glyph(c, "─", "-"), PAINT_DIM);
        for (int n = 0; n < TICKS; n++) {
                double value = tick_value(c->d->resource, n);
                if (value >= from && value <= to)
                        end = put_tick(c, value, end);
        }
        if (end < 0)
                put_tick(c, to, put_tick(c, from, end));
}

/* Whether a mark that is not placed yet needs a column in this range. */
static bool plot_is_wanted(const struct canvas *c, int next, int column, int len)
{
        for (int i = next; i < c->d->marks; i++) {
                int x = column_of(c, c->d->mark[i].value);
                if (x >= column && x < column + len)
                        return true;
        }
        return false;
}

/* Place a mark's label on the first line with room, right of its column or else left of it. `far`: keep the columns of
 * later marks free. */
static bool place_mark(struct canvas *c, int i, bool far)
{
        const struct mark *m = &c->d->mark[i];
        int x = column_of(c, m->value), len = (int)strlen(m->label) + 2;
        for (int line = DRAW_ROWS + 2; line < LINES; line++) {
                bool right = free_run(c, line, x, len + 1) && !(far && plot_is_wanted(c, i + 1, x + 1, len));
                bool left = free_run(c, line, x - len, len + 1) && !(far && plot_is_wanted(c, i + 1, x - len, len));
                if (!right && !left)
                        continue;
                plot_put(c, line, x, plot_glyph(c, "▲", "^"), m->paint);
                put_label(c, line, right ? x + 2 : x - len + 1, m->label, m->paint);
                while (--line >= DRAW_ROWS + 2)
                        if (plot_blank(c, line, x))
                                plot_put(c, line, x, plot_glyph(c, "┊", "|"), m->paint);
                return true;
        }
        return false;
}

static void draw_mark(struct canvas *c, int i)
{
        const struct mark *m = &c->d->mark[i];
        int x = column_of(c, m->value);
        for (int line = 0; line < DRAW_ROWS; line++)
                if (plot_blank(c, line, x))
                        plot_put(c, line, x, plot_glyph(c, "┊", "|"), m->paint);
        if (!place_mark(c, i, true))
                place_mark(c, i, false);
}

/* --- out --- */

static void plot_print_line(FILE *to, const struct canvas *c, int line)
{
        int last = c->room - 1;
        enum paint now = PAINT_NONE;
        while (last >= 0 && plot_blank(c, line, last))
                last--;
        for (int x = 0; x <= last; x++) {
                const struct cell *cell = &c->cell[line][x];
                if (cell->paint != now) {
                        fputs(now ? paint_text(c->t, PAINT_NONE) : "", to);
                        fputs(cell->paint ? paint_text(c->t, cell->paint) : "", to);
                        now = cell->paint;
                }
                if (cell->glyph[0])
                        fprintf(to, "%.*s", (int)sizeof cell->glyph, cell->glyph);
                else
                        fputc(' ', to);
        }
        fputs(now ? paint_text(c->t, PAINT_NONE) : "", to);
        fputc('\n', to);
}

static void print_share(FILE *to, double share)
{
        fprintf(to, share < 0.0995 ? "%4.1f%%" : "%4.0f%%", share * 100);
}

static bool plot_empty(const struct canvas *c, int line)
{
        for (int x = 0; x < c->room; x++)
                if (!plot_blank(c, line, x))
                        return false;
        return true;
}

static void print_canvas(FILE *to, const struct canvas *c)
{
        for (int line = 0; line < LINES; line++) {
                bool tells = line == 0 || line == DRAW_ROWS / 2;
                if (line > DRAW_ROWS + 1 && plot_empty(c, line))
                        break;
                if (tells)
                        print_share(to, c->most * (DRAW_ROWS - line) / DRAW_ROWS);
                if (line <= DRAW_ROWS)
                        fprintf(to, "%*s%s", tells ? 0 : LEFT - 1, "",
                                tells              ? plot_glyph(c, "┤", "+")
                                : line < DRAW_ROWS ? plot_glyph(c, "│", "|")
                                                   : plot_glyph(c, "└", "+"));
                else
                        fprintf(to, "%*s", plot_empty(c, line) ? 0 : LEFT, "");
                plot_print_line(to, c, line);
        }
}

void draw_histogram(FILE *to, const struct drawing *d, const struct terminal *t)
{
        struct canvas c = {.d = d, .t = t};
        if (!find_range(&c))
                return;
        find_scale(&c);
        draw_bars(&c);
        draw_axis(&c);
        for (int i = 0; i < d->marks; i++)
                draw_mark(&c, i);
        print_canvas(to, &c);
}
