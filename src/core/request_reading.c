#include "core/request_reading.h"

#include <string.h>

enum { MILLICORES = 1000, NAME_SHOWN = 80 };

enum resource request_reading_resource(struct text field)
{
        return text_is(field, "requests.cpu") ? CPU : text_is(field, "requests.memory") ? MEMORY : RESOURCES;
}

int64_t request_reading_divisor(enum resource r, struct text divisor)
{
        struct amount a;
        if (divisor.len > 0 && amount_parse(divisor, r, &a) < 0)
                return 1;
        if (divisor.len > 0 && a.value > 0)
                return a.value;
        return r == CPU ? MILLICORES : 1;
}

void request_reading_add(struct request_reading *to, const struct request_reading *also)
{
        int64_t a = to->divisor, b = also->divisor;
        if (a == 0 || b < a)
                *to = *also;
        /* Requests that read alike in units of `a` also read alike in multiples of `a`. If neither divisor divides the
         * other, only equal requests surely read alike. */
        if (a != 0 && b % a != 0 && a % b != 0)
                to->divisor = 1;
}

struct amount request_reading_least(int64_t divisor, struct amount original)
{
        if (divisor == 0 || !original.set || original.value <= 0)
                return (struct amount){0};
        return (struct amount){true, (original.value - 1) / divisor * divisor + 1};
}

static char *reading_add(char *at, struct text t)
{
        size_t len = t.len < NAME_SHOWN ? t.len : NAME_SHOWN;
        if (len > 0)
                memcpy(at, t.p, len);
        return at + len;
}

char *request_reading_print(const struct request_reading *of, char out[static REQUEST_READING_TEXT_MAX])
{
        bool file = of->container.len == 0;
        const struct text part[] = {
                file ? TEXT("file '") : TEXT("variable '"),
                of->name,
                file ? TEXT("' of volume '") : TEXT("' of container '"),
                file ? of->volume : of->container,
                TEXT("'"),
        };
        char *at = out;
        for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
                at = reading_add(at, part[i]);
        *at = '\0';
        return out;
}
