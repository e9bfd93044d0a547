/*
 * A unified diff of two texts, with their line breaks unchanged.
 */
#ifndef HALFLIFE_SRC_CLI_DIFF_H
#define HALFLIFE_SRC_CLI_DIFF_H

#include <stdio.h>

#include "base/text.h"

/* Print the diff; nothing if the texts are equal. path: printed as the name of both texts. After each difference, the
 * nearest place where both texts are equal again is searched, so the cost is linear in the text. The diff is always
 * right, but not always the shortest.
 */
void diff_print(FILE *to, const char *path, struct text before, struct text after, bool colour);

#endif
