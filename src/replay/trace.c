#include "replay/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

enum { BUFFER_SIZE = 1 << 20, FIELDS = 4, NUMBER_MAX = 512, TIME_DIGITS = 12 };

/* --- numbers --- */

/* Numbers with a mantissa up to 2^53 and a power of ten up to 10^22 need no strtod. Both are exact doubles, and one
 * product or quotient of exact doubles is rounded once, as strtod does. */
enum { EXACT_POWER = 22, EXACT_DIGITS = 19, EXPONENT_MOST = 100000 };
static const double power_of_ten[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* A number in parts: value = mantissa * 10^exponent, if digits is at most EXACT_DIGITS. */
struct decimal {
        uint64_t mantissa;
        int digits; /* number of digits, without leading zeros */
        int64_t exponent;
        bool negative;
};

static bool trace_is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static const char *trace_scan_digits(const char *p, const char *end, struct decimal *d)
{
        for (; p < end && trace_is_digit(*p); p++) {
                d->digits += d->digits > 0 || *p != '0';
                if (d->digits <= EXACT_DIGITS)
                        d->mantissa = d->mantissa * 10 + (uint64_t)(*p - '0');
        }
        return p;
}

/* Parse a sign and digits after the "e"; NULL if there are no digits. */
static const char *scan_exponent(const char *p, const char *end, struct decimal *d)
{
        int64_t exponent = 0;
        bool negative = p < end && *p == '-';
        p += p < end && (*p == '-' || *p == '+');
        const char *digits = p;
        for (; p < end && trace_is_digit(*p); p++)
                if (exponent < EXPONENT_MOST)
                        exponent = exponent * 10 + (*p - '0');
        d->exponent += negative ? -exponent : exponent;
        return p > digits ? p : NULL;
}

static bool scan_decimal(struct text t, struct decimal *d)
{
        const char *p = t.p, *end = t.p + t.len;
        d->negative = p < end && *p == '-';
        p += p < end && (*p == '-' || *p == '+');
        const char *whole = p;
        p = trace_scan_digits(p, end, d);
        size_t seen = (size_t)(p - whole);
        if (p < end && *p == '.') {
                const char *fraction = ++p;
                p = trace_scan_digits(p, end, d);
                d->exponent = -(p - fraction);
                seen += (size_t)(p - fraction);
        }
        if (p < end && (*p | 0x20) == 'e' && seen > 0)
                p = scan_exponent(p + 1, end, d);
        return seen > 0 && p == end;
}

static bool read_slowly(struct text t, double *ret)
{
        char copy[NUMBER_MAX];
        if (t.len >= sizeof copy)
                return false;
        memcpy(copy, t.p, t.len);
        copy[t.len] = '\0';
        *ret = strtod(copy, NULL);
        return true;
}

bool trace_number(struct text t, double *ret)
{
        struct decimal d = {0};
        if (!scan_decimal(t, &d))
                return false;
        bool exact = d.digits <= EXACT_DIGITS && d.mantissa <= UINT64_C(1) << 53 && d.exponent >= -EXACT_POWER &&
                     d.exponent <= EXACT_POWER;
        if (!exact)
                return read_slowly(t, ret);
        double v = d.exponent < 0 ? (double)d.mantissa / power_of_ten[-d.exponent]
                                  : (double)d.mantissa * power_of_ten[d.exponent];
        *ret = d.negative ? -v : v;
        return true;
}

static bool trace_read_time(struct text t, int64_t *ret)
{
        int64_t v = 0;
        if (t.len < 1 || t.len > TIME_DIGITS)
                return false;
        for (size_t i = 0; i < t.len; i++) {
                if (!trace_is_digit(t.p[i]))
                        return false;
                v = v * 10 + (t.p[i] - '0');
        }
        *ret = v;
        return true;
}

/* --- lines --- */

static int trace_split(struct text line, struct text field[static FIELDS])
{
        int n = 0;
        for (const char *p = line.p, *end = line.p + line.len;; n++) {
                const char *comma = p < end ? memchr(p, ',', (size_t)(end - p)) : NULL;
                if (n < FIELDS)
                        field[n] = (struct text){p, (size_t)((comma ? comma : end) - p)};
                if (!comma)
                        return n + 1;
                p = comma + 1;
        }
}

/* Whether the text is UTF-8 without control characters, so that it may be printed on a terminal. */
static bool is_printable(struct text t)
{
        for (size_t at = 0, n; at < t.len; at += n) {
                if ((unsigned char)t.p[at] < 0x20 || t.p[at] == 0x7f)
                        return false;
                n = (unsigned char)t.p[at] < 0x80 ? 1 : utf8_length(t.p + at, t.len - at);
                if (n == 0)
                        return false;
        }
        return true;
}

static const char *trace_read_value(struct text t, enum resource r, struct trace_row *row)
{
        row->has[r] = t.len > 0;
        row->value[r] = 0;
        if (!row->has[r] || trace_number(t, &row->value[r]))
                return NULL;
        return r == CPU ? "cpu_cores is not a number" : "memory_bytes is not a number";
}

static const char *read_row(struct text line, struct trace_row *row)
{
        struct text field[FIELDS];
        if (trace_split(line, field) != FIELDS)
                return "it does not have four columns: " TRACE_HEADER;
        row->entity = field[0];
        if (row->entity.len == 0)
                return "entity is empty";
        if (row->entity.len > TRACE_ENTITY_MAX)
                return "entity is longer than 512 bytes";
        if (!is_printable(row->entity))
                return "entity is not UTF-8 or has control characters";
        if (!trace_read_time(field[1], &row->at_s))
                return "timestamp_s is not a whole number of seconds with at most 12 digits";
        const char *why = trace_read_value(field[2], CPU, row);
        if (!why)
                why = trace_read_value(field[3], MEMORY, row);
        if (!why && !row->has[CPU] && !row->has[MEMORY])
                why = "cpu_cores and memory_bytes are both empty";
        return why;
}

int trace_parse(struct text line, struct trace_row *ret, const char **ret_why)
{
        struct trace_row row;
        const char *why = read_row(line, &row);
        if (why) {
                *ret_why = why;
                return ERR_INVALID;
        }
        *ret = row;
        return 0;
}

/* --- the stream --- */

void trace_init(struct trace *t, trace_source *source, void *arg)
{
        *t = (struct trace){.source = source, .arg = arg, .buf = mem_new(BUFFER_SIZE)};
}

void trace_release(struct trace *t)
{
        mem_free(t->buf);
        *t = (struct trace){0};
}

/* Append bytes of the source to the buffer; at the source's end set at_end. Returns 0 or ERR_IO. */
static int trace_fill(struct trace *t, struct err *err)
{
        memmove(t->buf, t->buf + t->begin, t->end - t->begin);
        t->end -= t->begin;
        t->begin = 0;
        ssize_t n;
        do
                n = t->source(t->arg, t->buf + t->end, BUFFER_SIZE - t->end);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return err_set(err, ERR_IO, "read: %s", strerror(errno));
        t->at_end = n == 0;
        t->end += (size_t)n;
        t->bytes += n;
        return 0;
}

/* Read a line without its line end. Returns 1, or 0 at the end of the source. A line that is too long is reported with
 * the length TRACE_LINE_MAX + 1, so that the caller refuses it. */
static int next_line(struct trace *t, struct text *ret, struct err *err)
{
        bool cut = false;
        for (;;) {
                char *from = t->buf + t->begin, *newline = memchr(from, '\n', t->end - t->begin);
                size_t len = newline ? (size_t)(newline - from) : t->end - t->begin;
                if (newline || (t->at_end && (len > 0 || cut))) {
                        t->begin += len + (newline != NULL);
                        t->line++;
                        *ret = (struct text){from, cut ? TRACE_LINE_MAX + 1 : len};
                        return 1;
                }
                if (t->at_end)
                        return 0;
                if (len > TRACE_LINE_MAX) { /* drop the long line so far, to make room for finding its end */
                        cut = true;
                        t->begin = t->end;
                }
                int rc = trace_fill(t, err);
                if (rc < 0)
                        return rc;
        }
}

static bool is_skipped(const struct trace *t, struct text line)
{
        return line.len == 0 || (t->line == 1 && text_is(line, TRACE_HEADER));
}

int trace_next(struct trace *t, struct trace_row *ret, struct err *err)
{
        struct text line;
        const char *why = "the line is longer than 4096 bytes";
        do {
                int rc = next_line(t, &line, err);
                if (rc <= 0)
                        return rc;
                if (line.len > 0 && line.len <= TRACE_LINE_MAX && line.p[line.len - 1] == '\r')
                        line.len--;
        } while (is_skipped(t, line));
        if (line.len > TRACE_LINE_MAX || trace_parse(line, ret, &why) < 0)
                return err_set(err, ERR_INVALID, "%s", why);
        return 1;
}
