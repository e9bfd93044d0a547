/*
 * YAML for people's files (kubeconfig, settings, profiles), read by libyaml into jansson values as the API server's own
 * reader does. Of plain scalars, YAML 1.1's booleans are booleans (true, yes, on, y and their opposites, written Aa, AA
 * or aa); nothing, ~ and null are null; whole numbers are integers (0x, 0o, 0b, and octal behind a 0; reals that are
 * whole become integers), others reals; everything else is text, and so is all that is quoted. Keys are texts as they
 * are written. Refused: duplicate keys, merge keys (<<), keys that are collections, infinities, tags but the plain
 * types', U+0000, nesting beyond 64, more than 1 000 anchors, aliases that make more than 100 000 values (each is a
 * copy).
 */
#ifndef HALFLIFE_BASE_YAML_H
#define HALFLIFE_BASE_YAML_H

#include <jansson.h>

#include "base/err.h"
#include "base/mem.h"

MEM_AUTO(json_decref, json_t *)

/*
 * One document from text, of at most 16 MiB; an empty one is null. NULL with err telling line and column ("line 3,
 * column 7: …"). The caller's reference.
 */
json_t *yaml_read(const char *text, size_t len, struct err *err);
/* All documents of a stream, as a JSON array (empty documents are left out): all of them or an error. */
json_t *yaml_read_all(const char *text, size_t len, struct err *err);
/* What a plain scalar of UTF-8 means by the rules above, infinities aside, which are texts here. Never NULL; the
 * caller's. */
json_t *yaml_plain(const char *s);
/*
 * A whole file of at most max bytes, NUL-terminated and the caller's. NULL on failure, with ERR_NOTFOUND, ERR_DENIED,
 * ERR_TOOBIG or ERR_IO and the path in err.
 */
char *file_read(const char *path, size_t max, size_t *ret_len, struct err *err);

#endif
