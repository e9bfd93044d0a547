#include "headers.h"

#include <string.h>
#include <strings.h>

#include "job.h"

const char *headers_get(struct MHD_Connection *c, const char *name)
{
        return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

bool headers_token(struct MHD_Connection *c, struct text *ret)
{
        static const char scheme[] = "Bearer ";
        const char *value = headers_get(c, "Authorization");
        value = value ? value : headers_get(c, "X-Halflife-Authorization");
        if (!value || strncasecmp(value, scheme, sizeof scheme - 1) != 0)
                return false;
        value += sizeof scheme - 1;
        value += strspn(value, " ");
        size_t len = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/");
        size_t padding = strspn(value + len, "=");
        if (len == 0 || value[len + padding] != '\0')
                return false;
        *ret = (struct text){value, len + padding};
        return true;
}

bool headers_is_sane_id(const char *id)
{
        size_t len = id ? strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._:/+=") : 0;
        return len > 0 && len < REQUEST_ID_MAX && id[len] == '\0';
}

bool headers_is_json(struct text type)
{
        static const char json[] = "application/json";
        size_t len = sizeof json - 1;
        return type.len >= len && strncasecmp(type.p, json, len) == 0 && (type.len == len || type.p[len] == ';');
}

struct text headers_origin_form(const char *uri)
{
        size_t scheme = strncasecmp(uri, "http://", 7) == 0 ? 7 : strncasecmp(uri, "https://", 8) == 0 ? 8 : 0;
        if (scheme == 0)
                return text_of(uri);
        const char *path = uri + scheme + strcspn(uri + scheme, "/?");
        return text_of(*path == '/' ? path : "/");
}

struct seen_headers {
        int hosts, credentials, proxied_credentials;
        bool bad_name;
};

/* Whether a header's name is a token as RFC 9110 5.6.2 defines it. */
static bool headers_is_token(const char *name)
{
        size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~");
        return len > 0 && name[len] == '\0';
}

static enum MHD_Result headers_see(void *seen, enum MHD_ValueKind kind, const char *name, const char *value)
{
        struct seen_headers *s = seen;
        (void)kind, (void)value;
        s->hosts += strcasecmp(name, "Host") == 0;
        s->credentials += strcasecmp(name, "Authorization") == 0;
        s->proxied_credentials += strcasecmp(name, "X-Halflife-Authorization") == 0;
        s->bad_name |= !headers_is_token(name);
        return MHD_YES;
}

const char *headers_malformed(struct MHD_Connection *c, const char *version)
{
        struct seen_headers s = {0};
        MHD_get_connection_values(c, MHD_HEADER_KIND, headers_see, &s);
        if (s.bad_name)
                return "the name of a header has a character that no name may have, such as a space before its colon";
        if (s.hosts > 1 || (s.hosts == 0 && strcmp(version, "HTTP/1.1") == 0))
                return "send exactly one Host header";
        if (s.credentials > 1 || s.proxied_credentials > 1)
                return "the credentials stand twice in the headers: send one token";
        return NULL;
}

struct lengths {
        int count;
        bool unknown;
};

static enum MHD_Result see_length(void *lengths, enum MHD_ValueKind kind, const char *name, const char *value)
{
        struct lengths *l = lengths;
        bool coding = strcasecmp(name, "Transfer-Encoding") == 0;
        (void)kind;
        l->count += coding || strcasecmp(name, "Content-Length") == 0;
        l->unknown |= coding && strcasecmp(value, "chunked") != 0;
        return MHD_YES;
}

bool headers_end_ambiguous(struct MHD_Connection *c)
{
        struct lengths l = {0};
        MHD_get_connection_values(c, MHD_HEADER_KIND, see_length, &l);
        return l.count > 1 || l.unknown;
}
