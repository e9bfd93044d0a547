/* Looking into JSON texts in tests: paths are "spec.template.spec.containers[0].name", where "[app]" is the item of a
 * list whose name or type is app, and "<a.b/c>" a key that holds dots. */
#ifndef HALFLIFE_TEST_SUPPORT_PICK_H
#define HALFLIFE_TEST_SUPPORT_PICK_H

#include <jansson.h>

json_t *pick(const json_t *root, const char *path); /* borrowed; NULL when absent */
/* Strings as they are, everything else as compact JSON, "-" when absent. Valid until the 8th next call of the same
 * thread. */
const char *pick_text(const json_t *root, const char *path);

#endif
