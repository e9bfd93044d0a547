/*
 * "ns/group/Kind/name", the key by which halflife finds targets and workloads. The core group is empty
 * ("ns//Pod/name"); no part contains a slash.
 */
#ifndef HALFLIFE_OBJECTS_TARGET_KEY_H
#define HALFLIFE_OBJECTS_TARGET_KEY_H

#include "base/text.h"

/* A new key, which the caller frees with mem_free. */
char *target_key_new(struct text ns, struct text group, struct text kind, struct text name);

#endif
