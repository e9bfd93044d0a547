/*
 * The paths at which admission is served. A path that only the API server knows makes it harder for strangers to call
 * admission, in addition to network rules and TLS. The path is never the only protection, because everybody with the
 * right to read the webhook configuration reads the path.
 */
#ifndef HALFLIFE_HTTP_ADMISSION_PATHS_H
#define HALFLIFE_HTTP_ADMISSION_PATHS_H

#include <stdbool.h>

#include "base/text.h"

#define ADMISSION_WELL_KNOWN "admission" /* the name that stands for "/admission" and, for an omitted path, "/" */

enum { ADMISSION_PATHS_MAX = 2, ADMISSION_PATH_LEN = 32 };
/* Names without the leading slash: ADMISSION_PATH_LEN hexadecimal digits, or ADMISSION_WELL_KNOWN. count 0: no path was
 * read yet, so the well-known paths are served. */
struct admission_paths {
        char name[ADMISSION_PATHS_MAX][ADMISSION_PATH_LEN + 1];
        int count;
};

/* Whether admission is served at this path. The comparison takes equally long however many digits of a name are right,
 * so that nobody can guess a name digit by digit. */
bool admission_paths_has(const struct admission_paths *p, struct text path);

#endif
