/*
 * Finds which containers of a pod template have their requests read (core/request_reading.h), and what bounds their
 * heaps (core/runtime_heap.h), as objects/decode_readings and objects/decode_runtime_heap find both in an object.
 */
#ifndef HALFLIFE_MANIFEST_TEMPLATE_READINGS_H
#define HALFLIFE_MANIFEST_TEMPLATE_READINGS_H

#include "manifest/pod_template.h"

/* Note on the containers of `t` the variables and files that read their requests, and what bounds their heaps. `spec`
 * is the pod's spec, and `t` must have all its containers. A node of the wrong type counts as absent. Returns 0,
 * ERR_INVALID for a duplicate key, or ERR_TOOBIG for a list of more than TEMPLATE_LIST_MAX items. */
enum { TEMPLATE_LIST_MAX = 4096 };
int template_readings(const struct doc *d, uint32_t spec, struct template_view *t, struct err *err);

#endif
