/*
 * Labels by which deployment tools find the objects they manage. A tool that finds one on an object that it did not
 * deploy deletes that object: Argo CD's prune, kubectl's ApplySets, kapp, Rancher. So halflife copies none of them.
 */
#ifndef HALFLIFE_CORE_OWNERSHIP_LABEL_H
#define HALFLIFE_CORE_OWNERSHIP_LABEL_H

#include <stdbool.h>

#include "base/text.h"

/* Whether a label's key marks whose an object is: by the list of known tools, or by more, a list of a house's own keys
 * with commas between (NULL: none). A key that ends in * stands for all that begin so. */
bool ownership_label(struct text key, const char *more);

#endif
