/*
 * YAML for people's files (kubeconfig, settings, profiles), read by libyaml into jansson values as the API server's own
 * reader does: plain true/false are booleans, null and ~ null, numbers numbers, all else strings; anchors and aliases
 * are bounded, merge keys refused, duplicate keys refused.
 */
#ifndef HALFLIFE_BASE_YAML_H
#define HALFLIFE_BASE_YAML_H

#include <jansson.h>

#include "base/err.h"
#include "base/mem.h"

MEM_AUTO(json_decref, json_t *)

/* One document from text; at most 16 MiB. NULL with err telling line and column ("line 3, column 7: …"). The caller's
 * reference. */
json_t *yaml_read(const char *text, size_t len, struct err *err);
/* All documents of a stream, as a JSON array (empty documents are left out). */
json_t *yaml_read_all(const char *text, size_t len, struct err *err);
/* A whole file, bounded; NULL and err on failure, else NUL-terminated and the caller's. */
char *file_read(const char *path, size_t max, size_t *ret_len, struct err *err);

#endif
