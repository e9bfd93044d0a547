/*
 * Tells from a running pod's managedFields which manager resized the pod. Only a write through the resize subresource
 * changes the requests of a pod that exists.
 */
#ifndef HALFLIFE_OBJECTS_RESIZE_MANAGER_H
#define HALFLIFE_OBJECTS_RESIZE_MANAGER_H

#include <jansson.h>
#include <stdbool.h>

#include "core/amount.h"

/* Whether a manager other than halflife wrote this request of the pod (parsed JSON) through the resize subresource. */
bool resize_manager_is_other(const json_t *pod, const char *container, enum resource r);

#endif
