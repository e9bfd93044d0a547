#include "certificate_secret.h"

#include <gnutls/gnutls.h>
#include <string.h>

#include "base/mem.h"
#include "base/yaml.h"

char *certificate_secret_decode(const json_t *data, const char *key)
{
        const char *text = json_string_value(json_object_get(data, key));
        gnutls_datum_t in = {(unsigned char *)(uintptr_t)text, text ? (unsigned)strlen(text) : 0}, out;
        if (!text || gnutls_base64_decode2(&in, &out) < 0)
                return NULL;
        char *s = mem_string_n((const char *)out.data, out.size);
        explicit_bzero(out.data, out.size);
        gnutls_free(out.data);
        return s;
}

json_t *certificate_secret_encode(const char *text)
{
        gnutls_datum_t in = {(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)}, out;
        if (gnutls_base64_encode2(&in, &out) < 0)
                return json_string("");
        json_t *s = json_stringn((const char *)out.data, out.size);
        explicit_bzero(out.data, out.size);
        gnutls_free(out.data);
        return s;
}

/* An empty part counts as absent: cert-manager writes an empty ca.crt where it does not know the CA. */
static char *secret_part(const json_t *data, const char *key)
{
        char *text = certificate_secret_decode(data, key);
        if (text && *text)
                return text;
        mem_free(text);
        return NULL;
}

struct certificate_authority certificate_secret_read(const json_t *secret)
{
        const json_t *data = json_object_get(secret, "data");
        return (struct certificate_authority){secret_part(data, "ca.crt"), secret_part(data, "ca.key"),
                                              secret_part(data, "tls.crt"), secret_part(data, "tls.key")};
}

struct path_rotation certificate_secret_paths(const json_t *secret)
{
        AUTO(mem_free) char *text = secret_part(json_object_get(secret, "data"), "paths");
        return path_rotation_read(text);
}

void certificate_secret_write(json_t *secret, const struct certificate_authority *a, const struct path_rotation *p)
{
        AUTO(mem_free) char *paths = path_rotation_print(p);
        json_t *data = json_object_get(secret, "data");
        if (!json_is_object(data)) {
                data = json_object();
                json_object_set_new(secret, "data", data);
        }
        json_object_set_new(data, "ca.crt", certificate_secret_encode(a->roots));
        json_object_set_new(data, "ca.key", certificate_secret_encode(a->key));
        json_object_set_new(data, "tls.crt", certificate_secret_encode(a->cert));
        json_object_set_new(data, "tls.key", certificate_secret_encode(a->cert_key));
        if (*paths)
                json_object_set_new(data, "paths", certificate_secret_encode(paths));
}
