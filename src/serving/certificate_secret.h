/*
 * The contents of the Secret with halflife's certificate: keys ca.crt, ca.key, tls.crt and tls.key, and the key `paths`
 * with the paths of admission. The command `halflife rotate` writes them, and every process that serves reads them.
 */
#ifndef HALFLIFE_SRC_SERVING_CERTIFICATE_SECRET_H
#define HALFLIFE_SRC_SERVING_CERTIFICATE_SECRET_H

#include <jansson.h>

#include "certificate_authority.h"
#include "path_rotation.h"

/* Decode the base64 text under a key of a JSON object. The caller owns the result (mem_free). NULL: the key is absent,
 * or its value is not base64. */
char *certificate_secret_decode(const json_t *data, const char *key);
json_t *certificate_secret_encode(const char *text);

/* Read the Secret's data. `secret` may be NULL. A part that is absent or empty is NULL, and absent paths have count
 * 0. */
struct certificate_authority certificate_secret_read(const json_t *secret);
struct path_rotation certificate_secret_paths(const json_t *secret);
/* Put the certificate authority and the paths into the Secret's data, which must be an object or absent; other keys
 * stay. */
void certificate_secret_write(json_t *secret, const struct certificate_authority *a, const struct path_rotation *p);

#endif
