#include "diff.h"

#include "base/mem.h"

enum {
        CONTEXT = 3,
        ALIKE = 2,       /* number of equal lines in a row after which the texts count as equal again */
        LOOK_MOST = 2000 /* most lines to search ahead; if nothing is found, the rest counts as one difference */
};

struct lines {
        struct text *line; /* each line with its line break */
        size_t count;
};

static struct lines lines_of(struct text t)
{
        struct lines l = {0};
        size_t cap = 0;
        for (size_t at = 0; at < t.len;) {
                const char *end = memchr(t.p + at, '\n', t.len - at);
                size_t len = end ? (size_t)(end - t.p) + 1 - at : t.len - at;
                if (l.count == cap) {
                        cap = cap ? cap * 2 : 256;
                        l.line = mem_resize(l.line, cap, sizeof *l.line);
                }
                l.line[l.count++] = (struct text){t.p + at, len};
                at += len;
        }
        return l;
}

/* Consecutive lines that were removed, and the lines that replace them. */
struct change {
        size_t from, dropped, to, put;
};
struct changes {
        struct change *item;
        size_t count, cap;
};

static bool diff_same(const struct lines *a, size_t i, const struct lines *b, size_t k)
{
        return text_equal(a->line[i], b->line[k]);
}

/* Whether the next ALIKE lines of both texts are equal. The end of both texts counts as equal too. */
static bool diff_meet(const struct lines *a, size_t i, const struct lines *b, size_t k)
{
        for (int n = 0; n < ALIKE; n++, i++, k++) {
                if (i >= a->count || k >= b->count)
                        return i >= a->count && k >= b->count;
                if (!diff_same(a, i, b, k))
                        return false;
        }
        return true;
}

/* The change from lines i and k up to the nearest place where both texts are equal again. */
static struct change diff_next_change(const struct lines *a, size_t i, const struct lines *b, size_t k)
{
        for (size_t d = 1; d < LOOK_MOST; d++)
                for (size_t put = 0; put <= d; put++)
                        if (i + (d - put) <= a->count && k + put <= b->count && diff_meet(a, i + (d - put), b, k + put))
                                return (struct change){i, d - put, k, put};
        return (struct change){i, a->count - i, k, b->count - k};
}

static void diff_find_changes(const struct lines *a, const struct lines *b, struct changes *ret)
{
        size_t i = 0, k = 0;
        while (i < a->count || k < b->count) {
                if (i < a->count && k < b->count && diff_same(a, i, b, k)) {
                        i++;
                        k++;
                        continue;
                }
                if (ret->count == ret->cap) {
                        ret->cap = ret->cap ? ret->cap * 2 : 64;
                        ret->item = mem_resize(ret->item, ret->cap, sizeof *ret->item);
                }
                struct change c = diff_next_change(a, i, b, k);
                ret->item[ret->count++] = c;
                i += c.dropped;
                k += c.put;
        }
}

/* --- printing --- */

struct printing {
        FILE *to;
        bool colour;
};

static void diff_print_line(const struct printing *p, char mark, struct text line)
{
        const char *paint = mark == '-' ? "\033[31m" : mark == '+' ? "\033[32m" : NULL;
        bool ends = line.len > 0 && line.p[line.len - 1] == '\n';
        if (p->colour && paint)
                fputs(paint, p->to);
        fputc(mark, p->to);
        fwrite(line.p, 1, line.len - ends, p->to);
        if (p->colour && paint)
                fputs("\033[0m", p->to);
        fputs(ends ? "\n" : "\n\\ No newline at end of file\n", p->to);
}

static void print_range(const struct printing *p, char mark, size_t from, size_t count)
{
        fprintf(p->to, "%c%zu", mark, count ? from + 1 : from);
        if (count != 1)
                fprintf(p->to, ",%zu", count);
}

/* Print changes c[0] … c[n - 1], whose context lines touch, as one hunk. */
static void print_hunk(const struct printing *p, const struct lines *a, const struct lines *b, const struct change *c,
                       size_t n)
{
        const struct change *last = &c[n - 1];
        size_t lead = c->from < CONTEXT ? c->from : CONTEXT, left = a->count - (last->from + last->dropped);
        size_t tail = left < CONTEXT ? left : CONTEXT, at = c->from - lead;
        fputs(p->colour ? "\033[36m@@ " : "@@ ", p->to);
        print_range(p, '-', c->from - lead, last->from + last->dropped + tail - at);
        fputc(' ', p->to);
        print_range(p, '+', c->to - lead, last->to + last->put + tail - (c->to - lead));
        fputs(p->colour ? " @@\033[0m\n" : " @@\n", p->to);
        for (size_t i = 0; i < n; i++) {
                for (; at < c[i].from; at++)
                        diff_print_line(p, ' ', a->line[at]);
                for (; at < c[i].from + c[i].dropped; at++)
                        diff_print_line(p, '-', a->line[at]);
                for (size_t k = 0; k < c[i].put; k++)
                        diff_print_line(p, '+', b->line[c[i].to + k]);
        }
        for (size_t k = 0; k < tail; k++)
                diff_print_line(p, ' ', a->line[at + k]);
}

static void print_hunks(const struct printing *p, const struct lines *a, const struct lines *b,
                        const struct changes *all)
{
        for (size_t i = 0, n; i < all->count; i += n) {
                const struct change *c = &all->item[i];
                for (n = 1; i + n < all->count; n++)
                        if (c[n].from - (c[n - 1].from + c[n - 1].dropped) > 2 * CONTEXT)
                                break;
                print_hunk(p, a, b, c, n);
        }
}

void diff_print(FILE *to, const char *path, struct text before, struct text after, bool colour)
{
        const struct printing p = {to, colour};
        struct lines a = lines_of(before), b = lines_of(after);
        struct changes all = {0};
        diff_find_changes(&a, &b, &all);
        if (all.count) {
                fprintf(to, colour ? "\033[1m--- %s\033[0m\n\033[1m+++ %s\033[0m\n" : "--- %s\n+++ %s\n", path, path);
                print_hunks(&p, &a, &b, &all);
        }
        mem_free(a.line);
        mem_free(b.line);
        mem_free(all.item);
}
