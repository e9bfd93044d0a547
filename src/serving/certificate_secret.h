/*
 * The contents of the Secret with halflife's certificate: keys ca.crt, ca.key, tls.crt and tls.key, and the key paths
 * with the paths of admission. halflife rotate writes them, and whatever serves reads them.
 */
#ifndef HALFLIFE_SRC_SERVING_CERTIFICATE_SECRET_H
#define HALFLIFE_SRC_SERVING_CERTIFICATE_SECRET_H

#include <jansson.h>

#include "certificate_authority.h"
#include "path_rotation.h"

/* Decode the base64 text under a key of a JSON object. The caller's (mem_free); NULL: it is absent or no base64. */
char *certificate_secret_decode(const json_t *data, const char *key);
json_t *certificate_secret_encode(const char *text);

/* Read the Secret's data; secret may be NULL. A part that is absent or empty is NULL. */
struct certificate_authority certificate_secret_read(const json_t *secret);
struct path_rotation certificate_secret_paths(const json_t *secret);
/* Put all that into the Secret's data, which has to be an object or absent; other keys stay. */
void certificate_secret_write(json_t *secret, const struct certificate_authority *a, const struct path_rotation *p);

#endif
