#include "core/quantity.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

/*
 * A quantity is read in two steps. quantity_scan finds sign, digits and suffix. quantity_number_of turns them into
 * significant decimal digits and a power of ten, rounded away from zero to nano, as Kubernetes does. Parsing and
 * printing both use the resulting struct number.
 */

enum format { DECIMAL_SI, DECIMAL_EXPONENT, BINARY_SI };

struct suffix {
        char text[3];
        enum format format;
        int32_t exponent; /* the suffix means 10^exponent; 2^exponent for BINARY_SI */
};

/* The suffixes of quantities, the most frequent first. */
static const struct suffix suffixes[] = {
        {"", DECIMAL_SI, 0},   {"n", DECIMAL_SI, -9}, {"Ki", BINARY_SI, 10}, {"Mi", BINARY_SI, 20},
        {"m", DECIMAL_SI, -3}, {"u", DECIMAL_SI, -6}, {"k", DECIMAL_SI, 3},  {"M", DECIMAL_SI, 6},
        {"G", DECIMAL_SI, 9},  {"T", DECIMAL_SI, 12}, {"P", DECIMAL_SI, 15}, {"E", DECIMAL_SI, 18},
        {"Gi", BINARY_SI, 30}, {"Ti", BINARY_SI, 40}, {"Pi", BINARY_SI, 50}, {"Ei", BINARY_SI, 60},
};
enum { SUFFIXES = sizeof(suffixes) / sizeof(suffixes[0]) };

/*
 * Kubernetes reads a value of up to this many digits into an int64, and keeps its text where the text looks canonical.
 * Longer values go through big decimals and are always printed anew.
 */
enum { SHORT_DECIMAL = 18, SHORT_BINARY = 14 };
enum { NANO_SCALE = -9, INT64_DIGITS = 19 };
static const uint64_t giga = 1000000000;

struct scan {
        const char *digit;      /* the whole part without leading zeros, the point, and the fraction */
        size_t whole, fraction; /* number of digits before and after the point */
        bool negative;
        bool any_digit;
        struct suffix suffix;
};

struct number {
        bool negative;
        bool verbatim; /* Kubernetes keeps the text that was read */
        enum format format;
        int64_t scale; /* value = digits * 10^scale; scale >= NANO_SCALE */
        int count;     /* number of significant digits, the first and the last not 0; 0: the value is zero */
        char digit[QUANTITY_TEXT_MAX];
};

static size_t skip_digits(const char *s, size_t len, size_t at)
{
        while (at < len && s[at] >= '0' && s[at] <= '9')
                at++;
        return at;
}

/* Parse an exponent, "e5" or "E-03", which may be any int64. Kubernetes keeps only its low 32 bits. */
static bool exponent_parse(const char *s, size_t len, int32_t *ret)
{
        if (len < 2 || (s[0] != 'e' && s[0] != 'E'))
                return false;
        bool negative = s[1] == '-';
        size_t at = s[1] == '-' || s[1] == '+' ? 2 : 1;
        if (at == len || skip_digits(s, len, at) < len)
                return false;
        uint64_t value = 0, most = (uint64_t)INT64_MAX + negative;
        for (; at < len; at++) {
                unsigned digit = (unsigned)(s[at] - '0');
                if (value > (most - digit) / 10)
                        return false;
                value = value * 10 + digit;
        }
        *ret = (int32_t)(uint32_t)(negative ? 0 - value : value);
        return true;
}

static bool suffix_parse(const char *s, size_t len, struct suffix *ret)
{
        for (size_t i = 0; i < SUFFIXES; i++) {
                if (strlen(suffixes[i].text) == len && memcmp(suffixes[i].text, s, len) == 0) {
                        *ret = suffixes[i];
                        return true;
                }
        }
        *ret = (struct suffix){.format = DECIMAL_EXPONENT};
        return exponent_parse(s, len, &ret->exponent);
}

/* The index after the suffix's letters, sign and digits. If that is not the end of the text, the quantity is
 * malformed. */
static size_t suffix_end(const char *s, size_t len, size_t at)
{
        while (at < len && memchr("eEinumkKMGTP", s[at], 12))
                at++;
        if (at < len && (s[at] == '-' || s[at] == '+'))
                at++;
        return skip_digits(s, len, at);
}

static int quantity_scan(const char *s, size_t len, struct scan *ret, size_t *reterr_at)
{
        *reterr_at = 0;
        if (len == 0) /* s may be NULL then */
                return ERR_INVALID;
        size_t start = s[0] == '-' || s[0] == '+' ? 1 : 0, at = start;
        *ret = (struct scan){.negative = start && s[0] == '-'};
        while (at < len && s[at] == '0')
                at++;
        ret->digit = s + at;
        size_t end = skip_digits(s, len, at);
        ret->whole = end - at;
        ret->any_digit = end > start;
        at = end;
        if (at < len && s[at] == '.') {
                at = skip_digits(s, len, at + 1);
                ret->fraction = at - end - 1;
                ret->any_digit |= ret->fraction > 0;
        }
        *reterr_at = suffix_end(s, len, at);
        if (*reterr_at < len)
                return ERR_INVALID;
        *reterr_at = at;
        return suffix_parse(s + at, len - at, &ret->suffix) ? 0 : ERR_INVALID;
}

/* Digit i of whole part and fraction, read as one sequence. */
static char digit_at(const struct scan *sc, size_t i)
{
        return sc->digit[i < sc->whole ? i : i + 1];
}

/* Set n to value * 10^scale; n's sign and format stay. */
static void number_set(struct number *n, unsigned __int128 value, int64_t scale)
{
        char reversed[40];
        int count = 0, zeros = 0;
        for (; value > UINT64_MAX; value /= 10)
                reversed[count++] = (char)('0' + (int)(value % 10));
        for (uint64_t rest = (uint64_t)value; rest > 0; rest /= 10)
                reversed[count++] = (char)('0' + (int)(rest % 10));
        while (zeros < count && reversed[zeros] == '0')
                zeros++;
        n->scale = scale + zeros;
        n->count = count - zeros;
        for (int i = 0; i < n->count; i++)
                n->digit[i] = reversed[count - 1 - i];
}

/* Add one to n's last digit. That digit is not 9, so there is no carry. */
static void number_increment(struct number *n)
{
        if (n->count == 0)
                n->digit[n->count++] = '1';
        else
                n->digit[n->count - 1]++;
}

static int number_decimal(const struct scan *sc, struct number *n)
{
        size_t end = sc->whole + sc->fraction, first = 0, zeros = 0;
        while (first < end && digit_at(sc, first) == '0')
                first++;
        while (zeros < end - first && digit_at(sc, end - 1 - zeros) == '0')
                zeros++;
        int64_t scale = (int64_t)sc->suffix.exponent - (int64_t)sc->fraction;
        bool is_short = sc->whole + sc->fraction <= SHORT_DECIMAL && scale >= NANO_SCALE;
        if (!is_short && !sc->any_digit)
                return ERR_INVALID;
        n->verbatim = is_short && sc->whole > 0 && zeros < 3 && scale % 3 == 0;
        if (first == end)
                return 0;
        scale += (int64_t)zeros;
        int64_t kept = (int64_t)(end - zeros - first), finer = NANO_SCALE - scale;
        if (finer > 0) {
                kept = finer < kept ? kept - finer : 0;
                scale = NANO_SCALE;
                for (; kept > 0 && digit_at(sc, first + (size_t)kept - 1) == '9'; kept--)
                        scale++; /* the carry of the rounding turns a trailing 9 into 0 */
        }
        if (kept >= QUANTITY_TEXT_MAX)
                return ERR_TOOBIG;
        for (int64_t i = 0; i < kept; i++)
                n->digit[i] = digit_at(sc, first + (size_t)i);
        n->count = (int)kept;
        n->scale = scale;
        if (finer > 0)
                number_increment(n); /* rounds up: the digits cut off end in one that is not 0 */
        return 0;
}

/* ceil(0.fraction * unit), exact for any number of digits: long multiplication from the right. */
static unsigned __int128 fraction_of(const struct scan *sc, unsigned __int128 unit)
{
        unsigned __int128 sum = 0;
        bool more = false;
        for (size_t i = sc->fraction; i-- > 0;) {
                sum += unit * (unsigned)(digit_at(sc, sc->whole + i) - '0');
                more |= sum % 10 != 0;
                sum /= 10;
        }
        return sum + more;
}

static int number_binary(const struct scan *sc, struct number *n)
{
        size_t exponent = (size_t)sc->suffix.exponent;
        bool is_short = sc->fraction == 0 && sc->whole + exponent * 3 / 10 <= SHORT_BINARY;
        if (!is_short && !sc->any_digit)
                return ERR_INVALID;
        uint64_t whole = 0;
        for (size_t i = 0; i < sc->whole && i < INT64_DIGITS; i++)
                whole = whole * 10 + (uint64_t)(sc->digit[i] - '0');
        n->verbatim = is_short && whole % 8 != 0;
        unsigned __int128 integer = (unsigned __int128)whole << exponent;
        if (sc->whole > INT64_DIGITS || integer > INT64_MAX) {
                number_set(n, INT64_MAX, 0);
                return 0;
        }
        if (sc->fraction == 0) {
                number_set(n, integer, 0);
                return 0;
        }
        unsigned __int128 most = (unsigned __int128)INT64_MAX * giga;
        unsigned __int128 nano = integer * giga + fraction_of(sc, (unsigned __int128)giga << exponent);
        number_set(n, nano < most ? nano : most, NANO_SCALE);
        return 0;
}

static int quantity_number_of(const char *s, size_t len, struct number *n, size_t *reterr_at)
{
        struct scan sc;
        n->count = 0;
        int rc = quantity_scan(s, len, &sc, reterr_at);
        if (rc != 0)
                return rc;
        n->negative = sc.negative;
        n->format = sc.suffix.format;
        return sc.suffix.format == BINARY_SI ? number_binary(&sc, n) : number_decimal(&sc, n);
}

/* |n| in units of 10^-digits, rounded up; false: the result has more than INT64_DIGITS digits. */
static bool number_units(const struct number *n, int digits, uint64_t *ret)
{
        *ret = 0;
        if (n->count == 0)
                return true;
        int64_t shift = n->scale + digits, places = n->count + shift;
        if (places > INT64_DIGITS)
                return false;
        for (int64_t i = 0; i < places; i++)
                *ret = *ret * 10 + (i < n->count ? (uint64_t)(n->digit[i] - '0') : 0);
        *ret += shift < 0; /* rounds up: digits are cut off, and the last of them is not 0 */
        return true;
}

/* How many units of 10^-digits the number 1 with this suffix is; 0: a fraction of a unit, or more than int64_t
 * holds. */
static int64_t suffix_units(const struct suffix *suffix, int digits)
{
        int64_t units = 1, shift = (int64_t)suffix->exponent + digits;
        if (suffix->format == BINARY_SI)
                return digits == QUANTITY_WHOLE ? units << suffix->exponent : 0;
        if (shift < 0 || shift > SHORT_DECIMAL)
                return 0;
        while (shift-- > 0)
                units *= 10;
        return units;
}

/* Nearly all quantities are a few digits with a suffix of whole units, as in each sample of usage. Those need no struct
 * number. Returns false for all other quantities. */
static bool quantity_is_plain(const char *s, size_t len, int digits, int64_t *ret_units)
{
        size_t end = skip_digits(s, len, 0);
        struct suffix suffix;
        int64_t value = 0, units;
        if (end == 0 || end > SHORT_DECIMAL || !suffix_parse(s + end, len - end, &suffix))
                return false;
        for (size_t i = 0; i < end; i++)
                value = value * 10 + (s[i] - '0');
        if ((units = suffix_units(&suffix, digits)) == 0 || __builtin_mul_overflow(value, units, &value))
                return false;
        *ret_units = value;
        return true;
}

int quantity_parse(const char *s, size_t len, int digits, int64_t *ret_units, size_t *reterr_at)
{
        if (quantity_is_plain(s, len, digits, ret_units))
                return 0;
        struct number n;
        size_t unused, *at = reterr_at ? reterr_at : &unused;
        int rc = quantity_number_of(s, len, &n, at);
        if (rc == ERR_INVALID)
                return rc;
        uint64_t units;
        if (rc != 0 || !number_units(&n, digits, &units) || units > (uint64_t)INT64_MAX + n.negative) {
                *at = len;
                return ERR_INVALID;
        }
        *ret_units = (int64_t)(n.negative ? 0 - units : units);
        return 0;
}

/* The suffix of a power of ten or two. For a power beyond the largest suffix Kubernetes prints no suffix, and so loses
 * the power. */
static const char *suffix_text(enum format format, int64_t exponent)
{
        for (size_t i = 0; i < SUFFIXES; i++)
                if (suffixes[i].format == format && suffixes[i].exponent == exponent)
                        return suffixes[i].text;
        return "";
}

/* Append value (at most INT64_MAX + 1) in decimal, without NUL. Returns the end. */
static char *append_number(char *out, uint64_t value)
{
        char reversed[INT64_DIGITS];
        int count = 0;
        do
                reversed[count++] = (char)('0' + (int)(value % 10));
        while (value /= 10);
        while (count > 0)
                *out++ = reversed[--count];
        return out;
}

static void print_binary(bool negative, uint64_t value, char *out)
{
        int exponent = 0;
        for (; value % 1024 == 0; value /= 1024)
                exponent += 10;
        if (negative)
                *out++ = '-';
        out = append_number(out, value);
        const char *suffix = suffix_text(BINARY_SI, exponent);
        memcpy(out, suffix, strlen(suffix) + 1);
}

static int print_decimal(const struct number *n, char out[static QUANTITY_TEXT_MAX])
{
        char exponent_text[24] = "";
        const char *suffix = exponent_text;
        size_t zeros = (size_t)((n->scale % 3 + 3) % 3);
        int64_t exponent = n->scale - (int64_t)zeros;
        if (n->format != DECIMAL_EXPONENT) {
                suffix = suffix_text(DECIMAL_SI, exponent);
        } else if (exponent != 0) {
                char *end = exponent_text;
                *end++ = 'e';
                if (exponent < 0)
                        *end++ = '-';
                *append_number(end, (uint64_t)(exponent < 0 ? -exponent : exponent)) = '\0';
        }
        size_t digits = (size_t)n->count, tail = strlen(suffix);
        if (n->negative + digits + zeros + tail >= QUANTITY_TEXT_MAX)
                return ERR_TOOBIG;
        if (n->negative)
                *out++ = '-';
        memcpy(out, n->digit, digits);
        memset(out + digits, '0', zeros);
        memcpy(out + digits + zeros, suffix, tail + 1);
        return 0;
}

static int number_print(const struct number *n, char out[static QUANTITY_TEXT_MAX])
{
        uint64_t value = 0;
        if (n->count == 0) {
                memcpy(out, "0", 2);
                return 0;
        }
        if (n->format == BINARY_SI && n->scale >= 0)
                number_units(n, QUANTITY_WHOLE, &value); /* fits, because Kubernetes caps values at INT64_MAX */
        if (value >= 1024) {
                print_binary(n->negative, value, out);
                return 0;
        }
        return print_decimal(n, out);
}

int quantity_canonical(const char *s, size_t len, char out[static QUANTITY_TEXT_MAX])
{
        struct number n;
        size_t unused;
        int rc = quantity_number_of(s, len, &n, &unused);
        if (rc != 0)
                return rc;
        if (!n.verbatim)
                return number_print(&n, out);
        if (len >= QUANTITY_TEXT_MAX)
                return ERR_TOOBIG;
        memcpy(out, s, len);
        out[len] = '\0';
        return 0;
}

static char *print_int64(int64_t value, int scale, enum format format, char out[static QUANTITY_TEXT_MAX])
{
        struct number n = {.negative = value < 0, .format = format};
        number_set(&n, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, scale);
        int rc = number_print(&n, out);
        assert(rc == 0); /* an int64 always fits */
        (void)rc;
        return out;
}

char *quantity_print_cpu(int64_t milli, char out[static QUANTITY_TEXT_MAX])
{
        return print_int64(milli, -QUANTITY_MILLI, DECIMAL_SI, out);
}

char *quantity_print_memory(int64_t bytes, char out[static QUANTITY_TEXT_MAX])
{
        return print_int64(bytes, QUANTITY_WHOLE, BINARY_SI, out);
}
