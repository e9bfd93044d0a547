#include <ctype.h>

#include "base/utf8.h"

#include "document_private.h"

static void quote_put(struct buf *b, struct text t)
{
        buf_add(b, t.p, t.len);
}

/* Can the text stand without quotes in YAML, though perhaps as a number or boolean? */
static bool quote_is_word(struct text t)
{
        static const char inner[] = "_./-+";
        for (size_t i = 0; i < t.len; i++) {
                unsigned char c = (unsigned char)t.p[i];
                if (!(c < 0x80 && isalnum(c)) && (i == 0 || !memchr(inner, c, sizeof inner - 1)))
                        return false;
        }
        return t.len > 0;
}

static bool is_plain_text(struct text t)
{
        return quote_is_word(t) && plain_type(t) == DOC_TEXT;
}

/* A whole number or a decimal fraction in JSON's notation. */
static bool is_json_number(struct text t)
{
        size_t i = 0, digits = 0, behind = 0;
        for (; i < t.len && isdigit((unsigned char)t.p[i]); i++)
                digits++;
        if (i < t.len && t.p[i] == '.') {
                for (i++; i < t.len && isdigit((unsigned char)t.p[i]); i++)
                        behind++;
                if (behind == 0)
                        return false;
        }
        return digits > 0 && i == t.len && !(digits > 1 && *t.p == '0');
}

static uint32_t quote_code_of(const char *p, size_t len)
{
        uint32_t code = (unsigned char)*p;
        if (len > 1)
                code &= 0x7fu >> len;
        for (size_t i = 1; i < len; i++)
                code = code << 6 | ((unsigned char)p[i] & 0x3f);
        return code;
}

/* Control characters, line breaks, and characters that are invisible. */
static bool is_hidden(uint32_t c)
{
        return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe ||
               c == 0xffff;
}

static bool has_hidden(struct text t)
{
        for (size_t i = 0, len; i < t.len; i += len) {
                len = utf8_length(t.p + i, t.len - i);
                if (is_hidden(quote_code_of(t.p + i, len)))
                        return true;
        }
        return false;
}

/* Write the value in double quotes, with only those escapes that JSON and YAML share. */
static void quote_double(struct buf *b, struct text value)
{
        static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
        buf_add(b, "\"", 1);
        for (size_t i = 0, len; i < value.len; i += len) {
                len = utf8_length(value.p + i, value.len - i);
                uint32_t c = quote_code_of(value.p + i, len);
                const char *known = c && c < 0x80 ? strchr(from, (int)c) : NULL;
                if (known)
                        buf_printf(b, "\\%c", to[known - from]);
                else if (is_hidden(c))
                        buf_printf(b, "\\u%04x", c);
                else
                        buf_add(b, value.p + i, len);
        }
        buf_add(b, "\"", 1);
}

static void quote_single(struct buf *b, struct text value)
{
        buf_add(b, "'", 1);
        for (size_t i = 0; i < value.len; i++) {
                buf_add(b, value.p + i, 1);
                if (value.p[i] == '\'')
                        buf_add(b, "'", 1);
        }
        buf_add(b, "'", 1);
}

void quote_key(struct buf *b, struct text key, const struct quoting *how)
{
        if (!how->json && !how->quoted && is_plain_text(key))
                quote_put(b, key);
        else
                quote_double(b, key);
}

void quote_string(struct buf *b, struct text value, enum node_style style, const struct quoting *how)
{
        bool escapes = memchr(value.p, '"', value.len) || memchr(value.p, '\\', value.len);
        bool single = style == STYLE_SINGLE || (style != STYLE_DOUBLE && escapes);
        if (single && !how->json && !has_hidden(value))
                quote_single(b, value);
        else
                quote_double(b, value);
}

/*
 * May a quantity go without quotes? Only if its model is plain, and the value then reads back as a text. A value in
 * place of a number may also read back as a number (in JSON it must), since Kubernetes takes texts and numbers for
 * quantities.
 */
static bool stays_plain(const struct doc *d, struct text value, uint32_t model, const struct quoting *how)
{
        const struct node *n = &d->node[model];
        if (model == DOC_NONE || n->type != NODE_SCALAR)
                return !how->json && !how->quoted && is_plain_text(value);
        if (n->style != STYLE_PLAIN)
                return false;
        bool number = doc_type(d, model) == DOC_NUMBER;
        return how->json ? number && is_json_number(value) : is_plain_text(value) || (number && quote_is_word(value));
}

void quote_quantity(struct buf *b, const struct doc *d, struct text value, uint32_t model, const struct quoting *how)
{
        if (stays_plain(d, value, model, how)) {
                quote_put(b, value);
                return;
        }
        enum node_style style = d->node[model].type == NODE_SCALAR ? d->node[model].style : STYLE_PLAIN;
        quote_string(b, value, style, how);
}
