/*
 * The paths at which admission is served. Beside the network and TLS, a path that only the API server knows makes it
 * harder to call admission; it never carries a guarantee alone, because everybody with the right to read the webhook
 * configuration reads the path.
 */
#ifndef HALFLIFE_HTTP_ADMISSION_PATHS_H
#define HALFLIFE_HTTP_ADMISSION_PATHS_H

#include <stdbool.h>

#include "base/text.h"

#define ADMISSION_WELL_KNOWN "admission" /* the name that stands for "/admission" and, for an omitted path, "/" */

enum { ADMISSION_PATHS_MAX = 2, ADMISSION_PATH_LEN = 32 };
/* Names without the leading slash: ADMISSION_PATH_LEN hexadecimal digits, or ADMISSION_WELL_KNOWN. count 0: no path was
 * read yet, so the well-known ones are served. */
struct admission_paths {
        char name[ADMISSION_PATHS_MAX][ADMISSION_PATH_LEN + 1];
        int count;
};

/* Whether admission is served at this path. The time that it takes does not depend on how much of a name is right. */
bool admission_paths_has(const struct admission_paths *p, struct text path);

#endif
