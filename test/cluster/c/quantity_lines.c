/*
 * One quantity a line on stdin, one answer a line on stdout: the canonical text and the value in 10^-9, 10^-3 and whole
 * units ("-": beyond int64_t), or "refused", or "long" where the canonical text has no room. The differential test
 * beside this file compares them with Kubernetes' own package.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/quantity.h"

static void print_units(const char *s, size_t len, int digits)
{
        int64_t units;
        if (quantity_parse(s, len, digits, &units, NULL) == 0)
                printf(" %" PRId64, units);
        else
                printf(" -");
}

static void answer(const char *s, size_t len)
{
        char text[QUANTITY_TEXT_MAX];
        int rc = quantity_canonical(s, len, text);
        if (rc == ERR_TOOBIG) {
                puts("long");
        } else if (rc < 0) {
                int64_t units; /* the two must agree on what is a quantity */
                puts(quantity_parse(s, len, QUANTITY_WHOLE, &units, NULL) < 0 ? "refused" : "refused by one");
        } else {
                printf("%s", text);
                print_units(s, len, QUANTITY_NANO);
                print_units(s, len, QUANTITY_MILLI);
                print_units(s, len, QUANTITY_WHOLE);
                putchar('\n');
        }
}

int main(void)
{
        char *line = NULL;
        size_t room = 0;
        ssize_t len;
        while ((len = getline(&line, &room, stdin)) > 0)
                answer(line, (size_t)len - (line[len - 1] == '\n'));
        free(line);
        return 0;
}
