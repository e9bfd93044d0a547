#include "sigv4.h"

#include <ctype.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

enum { HEX = 65, DIGEST = 32, HEADERS = 32, CANONICAL = 32 << 10, PARAMETERS = 16 };

struct sigv4_request {
        char method[16], path[2048], query[2048];
        struct {
                char name[64], value[4096];
        } header[HEADERS];
        int headers;
        const char *body;
};

static void hex_of(const unsigned char *p, char out[static HEX])
{
        for (int i = 0; i < DIGEST; i++)
                snprintf(out + (ptrdiff_t)2 * i, 3, "%02x", p[i]);
}

static void sha256_hex(const char *s, char out[static HEX])
{
        unsigned char digest[DIGEST];
        gnutls_hash_fast(GNUTLS_DIG_SHA256, s, strlen(s), digest);
        hex_of(digest, out);
}

static void hmac(const void *key, size_t key_len, const char *s, unsigned char out[static DIGEST])
{
        gnutls_hmac_fast(GNUTLS_MAC_SHA256, key, key_len, s, strlen(s), out);
}

static bool request_read(const char *text, struct sigv4_request *ret)
{
        const char *line = strstr(text, "\r\n"), *end = strstr(text, "\r\n\r\n");
        char target[4096];
        if (!line || !end || sscanf(text, "%15s %4095s", ret->method, target) != 2)
                return false;
        char *mark = strchr(target, '?');
        if (mark)
                *mark = '\0';
        snprintf(ret->path, sizeof ret->path, "%.2000s", target);
        snprintf(ret->query, sizeof ret->query, "%.2000s", mark ? mark + 1 : "");
        ret->body = end + 4;
        for (line += 2; line < end + 2 && ret->headers < HEADERS; line = strstr(line, "\r\n") + 2) {
                const char *colon = strchr(line, ':'), *stop = strstr(line, "\r\n");
                if (!colon || colon > stop)
                        return false;
                const char *value = colon + 1;
                while (value < stop && *value == ' ')
                        value++;
                snprintf(ret->header[ret->headers].name, 64, "%.*s", (int)(colon - line), line);
                for (char *p = ret->header[ret->headers].name; *p; p++)
                        *p = (char)tolower((unsigned char)*p);
                snprintf(ret->header[ret->headers++].value, 4096, "%.*s", (int)(stop - value), value);
        }
        return true;
}

static const char *header_of(const struct sigv4_request *r, const char *name)
{
        for (int i = 0; i < r->headers; i++)
                if (strcmp(r->header[i].name, name) == 0)
                        return r->header[i].value;
        return NULL;
}

static int by_text(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The query's parameters in order. */
static void query_sorted(const struct sigv4_request *r, char out[static 2048])
{
        char copy[2048], *part[PARAMETERS], *rest = copy;
        size_t n = 0;
        snprintf(copy, sizeof copy, "%s", r->query);
        while (n < PARAMETERS && (part[n] = strsep(&rest, "&")))
                n++;
        qsort(part, n, sizeof *part, by_text);
        out[0] = '\0';
        for (size_t i = 0; i < n; i++)
                snprintf(out + strlen(out), 2048 - strlen(out), "%s%s", i ? "&" : "", part[i]);
}

/* One "name=value" of the Authorization header. */
static bool part_of(const char *authorization, const char *name, char *out, size_t size)
{
        const char *p = strstr(authorization, name);
        size_t len = p ? strcspn(p + strlen(name), ", ") : 0;
        if (!p || len >= size)
                return false;
        snprintf(out, size, "%.*s", (int)len, p + strlen(name));
        return true;
}

static char *canonical_of(const struct sigv4_request *r, const char *signed_names)
{
        char *out = mem_new(CANONICAL), names[1024], query[2048], body[HEX], *rest = names, *name;
        query_sorted(r, query);
        size_t at = (size_t)snprintf(out, CANONICAL, "%s\n%s\n%s\n", r->method, r->path, query);
        snprintf(names, sizeof names, "%s", signed_names);
        while ((name = strsep(&rest, ";"))) {
                const char *value = header_of(r, name);
                at += (size_t)snprintf(out + at, CANONICAL - at, "%s:%s\n", name, value ? value : "(absent)");
        }
        sha256_hex(r->body, body);
        snprintf(out + at, CANONICAL - at, "\n%s\n%s", signed_names, body);
        return out;
}

static bool says(char why[static SIGV4_WHY], const char *what)
{
        snprintf(why, SIGV4_WHY, "%s", what);
        return false;
}

static bool signs(const char *names, const char *name)
{
        const char *p = strstr(names, name);
        size_t len = strlen(name);
        return p && (p == names || p[-1] == ';') && (p[len] == '\0' || p[len] == ';');
}

bool sigv4_verify(const char *text, const struct sigv4_keys *k, char why[static SIGV4_WHY])
{
        char credential[256], names[1024], signature[128], scope[256], hash[HEX], to_sign[1024], want[HEX], first[128];
        unsigned char key[DIGEST], next[DIGEST];
        AUTO(mem_free) struct sigv4_request *r = MEM_NEW(struct sigv4_request);
        if (!request_read(text, r))
                return says(why, "no request");
        const char *authorization = header_of(r, "authorization"), *date = header_of(r, "x-amz-date"),
                   *session = header_of(r, "x-amz-security-token");
        if (!authorization || !date || strlen(date) != 16 || !header_of(r, "host") ||
            strncmp(authorization, "AWS4-HMAC-SHA256 ", 17) != 0)
                return says(why, "not signed");
        if (!part_of(authorization, "Credential=", credential, sizeof credential) ||
            !part_of(authorization, "SignedHeaders=", names, sizeof names) ||
            !part_of(authorization, "Signature=", signature, sizeof signature))
                return says(why, "a part of the authorization is missing");
        snprintf(scope, sizeof scope, "%.8s/%s/%s/aws4_request", date, k->region, k->service);
        snprintf(want, sizeof want, "%s", "");
        if (strncmp(credential, k->key, strlen(k->key)) != 0 || strcmp(credential + strlen(k->key) + 1, scope) != 0)
                return says(why, "another key, day, region or service");
        if (!signs(names, "host") || !signs(names, "x-amz-date") || (session && !signs(names, "x-amz-security-token")))
                return says(why, "a header that has to be signed is not");
        if (!session != !k->session || (session && strcmp(session, k->session) != 0))
                return says(why, "another session token");
        AUTO(mem_free) char *canonical = canonical_of(r, names);
        sha256_hex(canonical, hash);
        snprintf(to_sign, sizeof to_sign, "AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope, hash);
        snprintf(first, sizeof first, "AWS4%s", k->secret);
        char day[9];
        snprintf(day, sizeof day, "%.8s", date);
        const char *const steps[] = {day, k->region, k->service, "aws4_request", to_sign};
        hmac(first, strlen(first), steps[0], key);
        for (size_t i = 1; i < sizeof steps / sizeof steps[0]; i++) {
                hmac(key, DIGEST, steps[i], next);
                memcpy(key, next, DIGEST);
        }
        hex_of(key, want);
        return strcmp(want, signature) == 0 || says(why, "the signature is another");
}
