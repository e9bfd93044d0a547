#include "request_headers.h"

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/file_read.h"
#include "base/mem.h"

struct header_line {
        struct text name, value;
};

/* Headers that the request or the connection sets itself. */
static bool is_reserved(struct text name)
{
        static const char *const reserved[] = {"accept",
                                               "accept-encoding",
                                               "connection",
                                               "content-encoding",
                                               "content-length",
                                               "content-type",
                                               "expect",
                                               "host",
                                               "keep-alive",
                                               "te",
                                               "transfer-encoding",
                                               "user-agent"};
        for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
                if (strlen(reserved[i]) == name.len && strncasecmp(reserved[i], name.p, name.len) == 0)
                        return true;
        return false;
}

static bool is_authorization(struct text name)
{
        static const struct text authorization = {"authorization", sizeof "authorization" - 1};
        return name.len == authorization.len && strncasecmp(name.p, authorization.p, name.len) == 0;
}

/* Is a text a header's name, that is a token of RFC 9110? */
static bool is_header_name(struct text t)
{
        static const char allowed[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        for (size_t i = 0; i < t.len; i++)
                if (t.p[i] == '\0' || !strchr(allowed, t.p[i]))
                        return false;
        return t.len > 0;
}

static bool is_header_value(struct text t)
{
        for (size_t i = 0; i < t.len; i++)
                if (((unsigned char)t.p[i] < ' ' && t.p[i] != '\t') || t.p[i] == 0x7f)
                        return false;
        return t.len > 0;
}

static bool is_header_blank(char c)
{
        return c == ' ' || c == '\t' || c == '\r';
}

static struct text header_trim(struct text t)
{
        while (t.len > 0 && is_header_blank(t.p[0]))
                t = (struct text){t.p + 1, t.len - 1};
        while (t.len > 0 && is_header_blank(t.p[t.len - 1]))
                t.len--;
        return t;
}

/* Parse a line. Returns what is wrong with the line, to follow its number in an error; NULL: nothing. */
static const char *header_line_read(struct text line, bool authorized, struct header_line *ret)
{
        const char *colon = memchr(line.p, ':', line.len);
        if (!colon)
                return "is not of the form 'Name: value'";
        ret->name = (struct text){line.p, (size_t)(colon - line.p)};
        ret->value = header_trim((struct text){colon + 1, (size_t)(line.p + line.len - colon - 1)});
        if (!is_header_name(ret->name))
                return "holds bytes before its colon that are not allowed in a header's name";
        if (is_reserved(ret->name))
                return "names a header that halflife sets itself";
        if (authorized && is_authorization(ret->name))
                return "names Authorization, which the token or the user of Prometheus sets";
        if (ret->value.len == 0)
                return "has no value";
        if (!is_header_value(ret->value))
                return "holds control characters in its value";
        return NULL;
}

/* Is a header with the name `name` among the lines read so far? */
static bool header_is_among(const struct buf *lines, struct text name)
{
        const char *end;
        for (const char *p = buf_text(lines).p; (end = strchr(p, '\n')); p = end + 1)
                if (strncasecmp(p, name.p, name.len) == 0 && p[name.len] == ':')
                        return true;
        return false;
}

static int headers_parse(const char *path, struct text file, bool authorized, struct buf *lines, struct err *err)
{
        int number = 0, count = 0;
        while (file.len > 0) {
                const char *end = memchr(file.p, '\n', file.len);
                size_t len = end ? (size_t)(end - file.p) : file.len;
                struct text line = header_trim((struct text){file.p, len});
                struct header_line header;
                file = (struct text){file.p + len + (end != NULL), file.len - len - (end != NULL)};
                number++;
                if (line.len == 0)
                        continue;
                const char *wrong = header_line_read(line, authorized, &header);
                if (!wrong && header_is_among(lines, header.name))
                        wrong = "names a header of an earlier line";
                if (wrong)
                        return err_set(err, ERR_INVALID, "'%s': line %d %s", path, number, wrong);
                if (++count > HEADERS_MOST)
                        return err_set(err, ERR_INVALID, "'%s': line %d is beyond the %d headers allowed", path, number,
                                       HEADERS_MOST);
                (void)buf_printf(lines, "%.*s: %.*s\n", TEXT_ARG(header.name), TEXT_ARG(header.value));
        }
        return count > 0 ? 0 : err_set(err, ERR_INVALID, "'%s' is empty", path);
}

int request_headers_read(const char *path, bool authorized, char **ret, struct err *err)
{
        size_t len;
        char *text = file_read(path, HEADERS_BYTES_MOST, &len, err);
        if (!text)
                return err->code;
        struct buf lines;
        buf_init(&lines, HEADERS_BYTES_MOST + HEADERS_MOST + 1); /* + blanks after colons, a last line end */
        int rc = headers_parse(path, (struct text){text, len}, authorized, &lines, err);
        mem_wipe_n(text, len);
        if (rc == 0)
                *ret = buf_steal(&lines);
        buf_wipe(&lines);
        return rc;
}
