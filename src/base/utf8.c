#include "base/utf8.h"

#include <string.h>

static bool is_tail(char c)
{
        return ((unsigned char)c & 0xc0) == 0x80;
}

/* How many bytes a character has that begins with this one; 0: none does. */
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

/* End it before the character that a cut went through. */
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

void utf8_mend(char *s)
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
