#include "caller_share.h"

#include <gnutls/gnutls.h>
#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "core/sha256.h"

enum { TOKEN_MOST = 16 << 10 }; /* bytes of a token whose claims are read */

/* Decode base64url without padding. The caller frees ret->data with gnutls_free. */
static bool base64url_decode(struct text in, gnutls_datum_t *ret)
{
        char plain[TOKEN_MOST + 4];
        if (in.len > TOKEN_MOST)
                return false;
        for (size_t i = 0; i < in.len; i++)
                plain[i] = in.p[i] == '-' ? '+' : in.p[i] == '_' ? '/' : in.p[i];
        size_t len = in.len;
        while (len % 4)
                plain[len++] = '=';
        return gnutls_base64_decode2(&(gnutls_datum_t){(unsigned char *)plain, (unsigned)len}, ret) == 0;
}

/* The claims of a JSON Web Token: the second of its three parts. NULL: the token is not a JSON Web Token. */
static json_t *token_claims(struct text token)
{
        const char *first = memchr(token.p, '.', token.len);
        const char *end = token.p + token.len;
        const char *second = first ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;
        gnutls_datum_t claims = {0};
        if (!second || !base64url_decode((struct text){first + 1, (size_t)(second - first - 1)}, &claims))
                return NULL;
        json_t *read = json_loadb((const char *)claims.data, claims.size, 0, NULL);
        gnutls_free(claims.data);
        return read;
}

static void add_text(struct sha256 *s, struct text t)
{
        uint64_t len = t.len; /* hashed first, so that two other texts never give the same bytes */
        sha256_add(s, &len, sizeof len);
        sha256_add(s, t.p, t.len);
}

void caller_id(struct text caller, uint8_t ret[static 32])
{
        static const char account[] = "system:serviceaccount:";
        AUTO(json_decref) json_t *claims = token_claims(caller);
        const char *issuer = json_string_value(json_object_get(claims, "iss"));
        struct text subject = text_of(json_string_value(json_object_get(claims, "sub")));
        struct sha256 s;
        if (subject.len && strncmp(subject.p, account, sizeof account - 1) == 0)
                subject.len = (size_t)(strrchr(subject.p, ':') - subject.p); /* without the account's name */
        sha256_init(&s);
        add_text(&s, text_of(subject.len && issuer ? issuer : ""));
        add_text(&s, subject.len ? subject : caller);
        sha256_finish(&s, ret);
        explicit_bzero(&s, sizeof s);
}

static struct text caller_key(const struct caller *c)
{
        return (struct text){(const char *)c->id, sizeof c->id};
}

struct caller *caller_take(struct caller_shares *s, struct text caller)
{
        struct caller asked = {0};
        caller_id(caller, asked.id);
        struct caller *c = map_get(&s->callers, caller_key(&asked));
        if (!c) {
                c = MEM_NEW(struct caller);
                *c = asked;
                map_put(&s->callers, caller_key(c), c);
        }
        c->requests++;
        return c;
}

bool caller_may_hold(const struct caller_shares *s, const struct caller *c, size_t more)
{
        return c->requests == 1 || c->held + more <= s->most;
}

void caller_give(struct caller_shares *s, struct caller *c, size_t held)
{
        if (!c)
                return;
        c->held -= held;
        if (--c->requests > 0)
                return;
        map_drop(&s->callers, caller_key(c));
        mem_free(c);
}

void caller_shares_release(struct caller_shares *s)
{
        struct caller *c;
        for (size_t at = 0; (c = map_each(&s->callers, &at));)
                mem_free(c);
        map_release(&s->callers);
}
