/*
 * Finds the owner of a pod that is gone, by the names that controllers give their pods.
 */
#ifndef HALFLIFE_LEARN_OWNER_BY_NAME_H
#define HALFLIFE_LEARN_OWNER_BY_NAME_H

#include "cache/target.h"

/* The candidate whose controller would give a pod this name; NULL: no candidate, or several. */
struct target *owner_by_name_find(struct target *const *candidate, size_t count, struct text pod);

#endif
