/*
 * Labels by which deployment tools find the objects they manage. A tool that finds one on an object that it did not
 * deploy deletes that object: Argo CD's prune, kubectl's ApplySets, kapp, Rancher. So halflife copies none of them.
 */
#ifndef HALFLIFE_CORE_OWNERSHIP_LABEL_H
#define HALFLIFE_CORE_OWNERSHIP_LABEL_H

#include <stdbool.h>

#include "base/text.h"

/* Whether a label key shows which tool manages an object. A key does so if it is in the list of known labels, or in
 * `more`: further keys, separated by commas (NULL: none). In both lists, a key that ends in * stands for all keys with
 * that beginning. */
bool ownership_label(struct text key, const char *more);

#endif
