#include "base/utf8.h"

#include <string.h>

static bool is_tail(char c)
{
        return ((unsigned char)c & 0xc0) == 0x80;
}

/* The length of a character that begins with this byte; 0: no character begins with this byte. */
static size_t length_by_lead(unsigned char lead)
{
        if (lead < 0x80)
                return 1;
        return lead >= 0xc2 && lead < 0xe0 ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

size_t utf8_length(const char *p, size_t len)
{
        unsigned char lead = (unsigned char)p[0];
        size_t want = length_by_lead(lead);
        if (want < 2)
                return want;
        if (len < want)
                return 0;
        for (size_t i = 1; i < want; i++)
                if (!is_tail(p[i]))
                        return 0;
        unsigned char second = (unsigned char)p[1];
        bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
        bool surrogate = lead == 0xed && second >= 0xa0;
        bool beyond = lead == 0xf4 && second >= 0x90;
        return overlong || surrogate || beyond ? 0 : want;
}

uint32_t utf8_code(const char *p, size_t len)
{
        static const unsigned char mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
        uint32_t code = (unsigned char)p[0] & mask[len];
        for (size_t i = 1; i < len; i++)
                code = code << 6 | ((unsigned char)p[i] & 0x3f);
        return code;
}

bool utf8_is_invisible(uint32_t code)
{
        static const struct {
                uint32_t first, last;
        } range[] = {
                {0x00, 0x1f},     {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},
                {0x115f, 0x1160}, {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
                {0x2060, 0x206f}, {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
                {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
        };
        for (size_t i = 0; i < sizeof range / sizeof range[0]; i++)
                if (code >= range[i].first && code <= range[i].last)
                        return true;
        return false;
}

size_t utf8_put(uint32_t code, char out[static 4])
{
        if (code < 0x80) {
                out[0] = (char)code;
                return 1;
        }
        size_t tail = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
        out[0] = (char)(lead[tail] | (code >> (6 * tail)));
        for (size_t i = 1; i <= tail; i++)
                out[i] = (char)(0x80 | ((code >> (6 * (tail - i))) & 0x3f));
        return tail + 1;
}

size_t utf8_cut(const char *p, size_t len, size_t max)
{
        if (len <= max)
                return len;
        size_t cut = max;
        while (cut > 0 && max - cut < 3 && is_tail(p[cut]))
                cut--;
        return cut;
}

/* Cuts off the character that the end of s leaves incomplete, if there is one. */
static void utf8_trim(char *s)
{
        size_t len = strlen(s);
        for (size_t back = 1; back <= len && back < 4; back++) {
                char *at = s + len - back;
                if (is_tail(*at))
                        continue;
                if (length_by_lead((unsigned char)*at) > back)
                        *at = '\0';
                return;
        }
}

void utf8_repair(char *s)
{
        utf8_trim(s);
        for (size_t len = strlen(s), step; len > 0; s += step, len -= step) {
                step = utf8_length(s, len);
                if (step == 0) {
                        *s = '?';
                        step = 1;
                }
        }
}
