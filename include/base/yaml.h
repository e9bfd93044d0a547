/*
 * Reads YAML files that people write (kubeconfig, settings, profiles). libyaml parses; the result is jansson values,
 * typed as the API server's YAML reader types them.
 *
 * Plain (unquoted) scalars:
 *   - YAML 1.1's booleans are booleans: true, yes, on, y and their opposites, written aa, Aa or AA;
 *   - nothing, ~ and null are null;
 *   - whole numbers are integers, also 0x, 0o, 0b, octal after a leading 0, and reals with a whole value (2.0);
 *   - other numbers are reals; everything else is text.
 * Quoted scalars are text. Keys are text exactly as written.
 *
 * Errors: duplicate keys, merge keys (<<), keys that are collections, infinities, U+0000, tags other than the plain
 * types', nesting beyond 64, more than 1 000 anchors, and aliases whose copies add more than 100 000 values.
 */
#ifndef HALFLIFE_BASE_YAML_H
#define HALFLIFE_BASE_YAML_H

#include <jansson.h>

#include "base/err.h"
#include "base/mem.h"

MEM_AUTO(json_decref, json_t *)

/*
 * Reads one document from text of at most 16 MiB; an empty document is null. Returns a reference that the caller owns,
 * or NULL with line and column in err ("line 3, column 7: …").
 */
json_t *yaml_read(const char *text, size_t len, struct err *err);
/* Reads all documents of a stream into a JSON array, without empty documents. One bad document fails the whole call. */
json_t *yaml_read_all(const char *text, size_t len, struct err *err);
/* The value of a plain scalar (valid UTF-8) by the rules above, except that infinities are text. Returns a reference
 * that the caller owns, never NULL. */
json_t *yaml_plain(const char *s);

#endif
