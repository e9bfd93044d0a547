#include "base/json.h"

#include <assert.h>
#include <stdlib.h>

#include "base/swar.h"
#include "base/utf8.h"

void json_init(struct json *j, const char *p, size_t len)
{
        *j = (struct json){.p = len ? p : "", .first = true};
        j->begin = j->p;
        j->end = j->p + len;
}

/* Notes an error, but only the first. j->p stays where parsing stopped, which gives the place for the message. */
static bool json_fail(struct json *j, const char *why)
{
        if (!j->error)
                j->error = why;
        return false;
}

static void json_skip_space(struct json *j)
{
        while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\r' || *j->p == '\t'))
                j->p++;
}

static char byte_behind_space(struct json *j)
{
        json_skip_space(j);
        return j->p < j->end ? *j->p : '\0';
}

/* The first byte of the next token, not consumed; '\0' at the end of the input or after an error. */
static inline char next_byte(struct json *j)
{
        if (j->error)
                return '\0';
        return j->p<j->end && * j->p> ' ' ? *j->p : byte_behind_space(j);
}

static bool json_is_digit(char c)
{
        return c >= '0' && c <= '9';
}

/* --- strings --- */

/* The first byte from p that needs checking: a quote, a backslash, a control character or a non-ASCII byte. */
static const char *skip_plain(const char *p, const char *end)
{
        if (block_find(&p, end, true))
                return p;
        for (; (size_t)(end - p) >= sizeof(uint64_t); p += sizeof(uint64_t)) {
                uint64_t word = word_at(p);
                uint64_t special =
                        word_has_below(word, 0x20) | word_has_high(word) | word_has(word, '"') | word_has(word, '\\');
                if (special)
                        return p + word_first(special);
        }
        while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' && *p != '\\')
                p++;
        return p;
}

/* The value of the four hex digits at p; -1: there are not four. */
static int32_t json_hex4(const char *p, const char *end)
{
        int32_t value = 0;
        if (end - p < 4)
                return -1;
        for (int i = 0; i < 4; i++) {
                char c = p[i], lower = (char)(c | 0x20);
                int digit = json_is_digit(c) ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
                if (digit < 0)
                        return -1;
                value = value * 16 + digit;
        }
        return value;
}

/* The code point of the escape whose backslash stands just before p; -1: the escape is wrong. *ret_len: the escape's
 * bytes from p on. */
static int32_t json_escape(const char *p, const char *end, size_t *ret_len)
{
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        *ret_len = 1;
        if (p == end)
                return -1;
        if (*p != 'u') {
                const char *at = memchr(from, *p, sizeof from - 1);
                return at ? to[at - from] : -1;
        }
        int32_t high = json_hex4(p + 1, end);
        *ret_len = 5;
        if (high < 0xd800 || high > 0xdfff)
                return high;
        if (high > 0xdbff || end - p < 11 || p[5] != '\\' || p[6] != 'u')
                return -1;
        int32_t low = json_hex4(p + 7, end);
        *ret_len = 11;
        return low >= 0xdc00 && low <= 0xdfff ? 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00) : -1;
}

/* Skips the escape or non-ASCII character at which skip_plain stopped; false: a string may not hold it. Most strings
 * hold neither, so a function of its own keeps take_string short. */
static __attribute__((noinline)) bool take_special(struct json *j, bool *ret_escaped)
{
        size_t step;
        if (j->p == j->end)
                return json_fail(j, "a string does not end");
        if (*j->p == '\\') {
                *ret_escaped = true;
                if (json_escape(j->p + 1, j->end, &step) < 0)
                        return json_fail(j, "a string holds a wrong escape");
                step++;
        } else {
                if ((unsigned char)*j->p < 0x20)
                        return json_fail(j, "a string holds a control character");
                step = utf8_length(j->p, (size_t)(j->end - j->p));
                if (step == 0)
                        return json_fail(j, "a string is not UTF-8");
        }
        j->p += step;
        return true;
}

/* Consumes and checks a string. *ret is the raw text between its quotes. */
static bool take_string(struct json *j, struct text *ret, bool *ret_escaped)
{
        const char *begin = ++j->p;
        *ret_escaped = false;
        while ((j->p = skip_plain(j->p, j->end)) == j->end || *j->p != '"')
                if (!take_special(j, ret_escaped))
                        return false;
        *ret = (struct text){begin, (size_t)(j->p - begin)};
        j->p++;
        return true;
}

/* Unescapes raw, which take_string has checked. The result is never longer than raw. */
static struct text json_unescape(struct text raw, struct arena *a)
{
        assert(a);
        char *out = arena_new(a, raw.len + 4), *to = out;
        const char *p = raw.p, *end = raw.p + raw.len;
        while (p < end) {
                const char *slash = memchr(p, '\\', (size_t)(end - p));
                size_t plain = (size_t)((slash ? slash : end) - p);
                memcpy(to, p, plain);
                to += plain;
                p += plain;
                if (!slash)
                        break;
                size_t len;
                to += utf8_put((uint32_t)json_escape(p + 1, end, &len), to);
                p += 1 + len;
        }
        *to = '\0';
        return (struct text){out, (size_t)(to - out)};
}

/* --- numbers and words --- */

static bool take_digits(struct json *j)
{
        const char *begin = j->p;
        while (j->p < j->end && json_is_digit(*j->p))
                j->p++;
        return j->p > begin;
}

static bool take_number(struct json *j, struct text *ret)
{
        const char *begin = j->p;
        if (*j->p == '-')
                j->p++;
        if (j->p < j->end && *j->p == '0')
                j->p++;
        else if (!take_digits(j))
                return json_fail(j, "a number has no digits");
        if (j->p < j->end && *j->p == '.') {
                j->p++;
                if (!take_digits(j))
                        return json_fail(j, "a number has no digits behind its point");
        }
        if (j->p < j->end && (*j->p == 'e' || *j->p == 'E')) {
                j->p++;
                if (j->p < j->end && (*j->p == '+' || *j->p == '-'))
                        j->p++;
                if (!take_digits(j))
                        return json_fail(j, "a number has no digits in its exponent");
        }
        *ret = (struct text){begin, (size_t)(j->p - begin)};
        return true;
}

static bool take_word(struct json *j, const char *word)
{
        size_t len = strlen(word);
        if ((size_t)(j->end - j->p) < len || memcmp(j->p, word, len) != 0)
                return json_fail(j, "no value begins like this");
        j->p += len;
        return true;
}

/* Consumes a null; false: the next value is something else. */
static bool take_null(struct json *j)
{
        return next_byte(j) == 'n' && take_word(j, "null");
}

static const int64_t exponent_most = 1000000000000000;

/* The value of a number's exponent, clamped at a size that no number of digits in memory could compensate. */
static int64_t exponent_of(const char *p, const char *end)
{
        bool negative = *p == '-';
        int64_t value = 0;
        for (p += negative || *p == '+'; p < end; p++)
                value = value > exponent_most ? value : value * 10 + (*p - '0');
        return negative ? -value : value;
}

/* Multiplies the magnitude by 10^zeros; false: the product is over 64 bits. */
static bool json_scale(uint64_t *magnitude, int64_t zeros)
{
        for (; zeros > 0 && *magnitude; zeros--)
                if (__builtin_mul_overflow(*magnitude, 10u, magnitude))
                        return false;
        return true;
}

/*
 * The magnitude of a whole number. Trailing zeros are counted apart from the other digits. A negative exponent can so
 * cancel them ("1000e-3" is 1), and they cannot overflow 64 bits on the way.
 */
static const char *whole_of(struct text t, uint64_t *ret)
{
        const char *p = t.p, *end = t.p + t.len;
        uint64_t value = 0;
        int64_t zeros = 0, behind = 0, exponent = 0;
        bool fraction = false;
        for (; p < end; p++) {
                if (*p == 'e' || *p == 'E') {
                        exponent = exponent_of(p + 1, end);
                        break;
                }
                if (*p == '.') {
                        fraction = true;
                        continue;
                }
                behind += fraction;
                zeros++;
                if (*p == '0')
                        continue;
                if (!json_scale(&value, zeros) || __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
                        return "a number has a fraction, or does not fit in 64 bits";
                zeros = 0;
        }
        zeros += exponent - behind;
        if (value && zeros < 0)
                return "a number is not whole";
        if (!json_scale(&value, zeros))
                return "a number is beyond 64 bits";
        *ret = value;
        return NULL;
}

int64_t json_int(struct json *j)
{
        char c = next_byte(j);
        struct text t;
        if (c == 'n') {
                take_word(j, "null");
                return 0;
        }
        if (c != '-' && !json_is_digit(c)) {
                json_fail(j, "a whole number was expected");
                return 0;
        }
        const char *begin = j->p;
        if (!take_number(j, &t))
                return 0;
        bool negative = c == '-';
        uint64_t magnitude = 0;
        const char *why = whole_of((struct text){t.p + negative, t.len - negative}, &magnitude);
        if (!why && magnitude > (uint64_t)INT64_MAX + negative)
                why = "a number is beyond 64 bits";
        if (why) {
                j->p = begin;
                json_fail(j, why);
                return 0;
        }
        return (int64_t)(negative ? -magnitude : magnitude);
}

bool json_bool(struct json *j)
{
        switch (next_byte(j)) {
        case 't':
                return take_word(j, "true");
        case 'f':
                take_word(j, "false");
                return false;
        case 'n':
                take_word(j, "null");
                return false;
        default:
                return json_fail(j, "true or false was expected");
        }
}

struct text json_text(struct json *j, struct arena *a)
{
        struct text raw;
        bool escaped;
        if (take_null(j) || j->error)
                return (struct text){"", 0};
        if (next_byte(j) != '"') {
                json_fail(j, "a string was expected");
                return (struct text){"", 0};
        }
        if (!take_string(j, &raw, &escaped))
                return (struct text){"", 0};
        return escaped ? json_unescape(raw, a) : raw;
}

struct text json_scalar(struct json *j, struct arena *a)
{
        struct text t;
        char c = next_byte(j);
        if (c != '-' && !json_is_digit(c))
                return json_text(j, a);
        return take_number(j, &t) ? t : (struct text){"", 0};
}

/* --- objects and arrays --- */

char json_peek(struct json *j)
{
        char c = next_byte(j);
        switch (c) {
        case '\0':
                if (!j->error && j->p < j->end)
                        json_fail(j, "no value begins like this");
                return '\0';
        case '{':
        case '[':
        case '"':
        case 't':
        case 'f':
        case 'n':
                return c;
        default:
                if (c == '-' || json_is_digit(c))
                        return '0';
                json_fail(j, "no value begins like this");
                return '\0';
        }
}

bool json_enter(struct json *j, char bracket)
{
        assert(bracket == '{' || bracket == '[');
        if (take_null(j) || j->error)
                return false;
        if (next_byte(j) != bracket)
                return json_fail(j, bracket == '{' ? "an object was expected" : "an array was expected");
        if (j->depth == JSON_DEPTH_MAX)
                return json_fail(j, "values are nested too deeply");
        j->bracket[j->depth++] = bracket;
        j->first = true;
        j->p++;
        return true;
}

/* Go to the next member or element, or consume the end of the innermost object or array, and return false. */
static bool json_advance(struct json *j, char bracket)
{
        char c = next_byte(j);
        if (j->error)
                return false;
        assert(j->depth > 0 && j->bracket[j->depth - 1] == bracket);
        if (c == (bracket == '{' ? '}' : ']')) {
                j->p++;
                j->depth--;
                j->first = false;
                return false;
        }
        if (j->first) {
                j->first = false;
                return true;
        }
        if (c != ',')
                return json_fail(j, bracket == '{' ? "',' or '}' was expected" : "',' or ']' was expected");
        j->p++;
        return true;
}

bool json_key(struct json *j, struct text *ret_key)
{
        struct text key;
        bool escaped;
        if (!json_advance(j, '{'))
                return false;
        if (next_byte(j) != '"')
                return json_fail(j, "a key was expected");
        if (!take_string(j, &key, &escaped))
                return false;
        if (next_byte(j) != ':')
                return json_fail(j, "':' was expected");
        j->p++;
        *ret_key = key;
        return true;
}

bool json_item(struct json *j)
{
        if (!json_advance(j, '['))
                return false;
        if (next_byte(j) == ']')
                return json_fail(j, "a value was expected");
        return true;
}

/* Consumes a string, number or word, or enters an object or array. */
static void skip_or_enter(struct json *j)
{
        struct text t;
        bool escaped;
        switch (json_peek(j)) {
        case '{':
                json_enter(j, '{');
                break;
        case '[':
                json_enter(j, '[');
                break;
        case '"':
                take_string(j, &t, &escaped);
                break;
        case '0':
                take_number(j, &t);
                break;
        case 't':
                take_word(j, "true");
                break;
        case 'f':
                take_word(j, "false");
                break;
        case 'n':
                take_word(j, "null");
                break;
        default:
                json_fail(j, "a value was expected");
        }
}

void json_skip(struct json *j)
{
        int outside = j->depth;
        struct text key;
        do {
                bool inside = j->depth > outside;
                if (!inside || (j->bracket[j->depth - 1] == '{' ? json_key(j, &key) : json_item(j)))
                        skip_or_enter(j);
        } while (!j->error && j->depth > outside);
}

struct text json_raw(struct json *j)
{
        next_byte(j);
        const char *begin = j->p;
        json_skip(j);
        return j->error ? (struct text){"", 0} : (struct text){begin, (size_t)(j->p - begin)};
}

int json_done(struct json *j, struct err *err)
{
        next_byte(j);
        if (!j->error && j->depth > 0)
                json_fail(j, "a value was not read to its end");
        if (!j->error && j->p < j->end)
                json_fail(j, "more bytes follow the value");
        if (!j->error)
                return 0;
        if (j->p == j->end)
                return err_set(err, ERR_INVALID, "malformed JSON: it ends after %zu bytes: %s",
                               (size_t)(j->end - j->begin), j->error);
        return err_set(err, ERR_INVALID, "malformed JSON at byte %zu: %s", (size_t)(j->p - j->begin), j->error);
}
