#include "base/noun.h"

#include <stdio.h>
#include <string.h>

const char *noun_count(int64_t count, const char *noun, char out[static NOUN_COUNT_MAX])
{
        size_t len = strlen(noun);
        char last = noun[len - 1], before = len > 1 ? noun[len - 2] : 'e';
        const char *ending = last == 'y' && !strchr("aeiou", before) ? "ies" : last == 's' || last == 'x' ? "es" : "s";
        int stem = (int)len - (*ending == 'i');
        if (count == 1)
                snprintf(out, NOUN_COUNT_MAX, "1 %s", noun);
        else
                snprintf(out, NOUN_COUNT_MAX, "%lld %.*s%s", (long long)count, stem, noun, ending);
        return out;
}
