/*
 * A unified diff of two texts, lines with their ends as they are.
 */
#ifndef HALFLIFE_SRC_CLI_DIFF_H
#define HALFLIFE_SRC_CLI_DIFF_H

#include <stdio.h>

#include "base/text.h"

/*
 * Nothing where they are equal. path stands for both. Made for texts that differ in a line here and there: after each
 * difference the nearest place is looked for where both go on alike, so that cost is linear in the text and what comes
 * out is always right, if not always shortest.
 */
void diff_print(FILE *to, const char *path, struct text before, struct text after, bool colour);

#endif
