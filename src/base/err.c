#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Copies s to out, which holds cap bytes; a text that is too long is cut between two characters. */
static void err_copy_text(char *out, size_t cap, const char *s)
{
        size_t len = utf8_cut(s, strlen(s), cap - 1);
        memcpy(out, s, len);
        out[len] = '\0';
}

__attribute__((format(printf, 4, 0))) static void err_set_args(struct err *err, int code, int http_status,
                                                               const char *fmt, va_list args)
{
        if (!err)
                return;
        char text[ERR_TEXT_MAX + 4]; /* 4 more, so that err_copy_text sees the whole character at the cut */
        int len = vsnprintf(text, sizeof text, fmt, args);
        err->code = code;
        err->http_status = http_status;
        err_copy_text(err->text, sizeof err->text, len < 0 ? "unknown error" : text);
        utf8_repair(err->text);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
        va_list args;
        va_start(args, fmt);
        err_set_args(err, code, 0, fmt, args);
        va_end(args);
        return code;
}

int err_set_http(struct err *err, int code, int http_status, const char *fmt, ...)
{
        va_list args;
        va_start(args, fmt);
        err_set_args(err, code, http_status, fmt, args);
        va_end(args);
        return code;
}

int err_copy(struct err *err, const struct err *from)
{
        if (err)
                *err = *from;
        return from->code;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
        if (!err)
                return ERR_IO;
        char text[2 * ERR_TEXT_MAX];
        va_list args;
        va_start(args, fmt);
        int len = vsnprintf(text, ERR_TEXT_MAX - 2, fmt, args);
        va_end(args);
        size_t used = len < 0 ? 0 : strlen(text);
        memcpy(text + used, ": ", 2);
        strcpy(text + used + 2, err->text);
        err_copy_text(err->text, sizeof err->text, text);
        utf8_repair(err->text);
        return err->code;
}

const char *err_name(int code)
{
        switch (code) {
        case ERR_INVALID:
                return "invalid";
        case ERR_RETRY:
                return "retry";
        case ERR_STALE:
                return "stale";
        case ERR_GONE:
                return "gone";
        case ERR_NOTFOUND:
                return "notfound";
        case ERR_DENIED:
                return "denied";
        case ERR_CONFLICT:
                return "conflict";
        case ERR_TOOBIG:
                return "toobig";
        case ERR_NOSPACE:
                return "nospace";
        case ERR_IO:
                return "io";
        case ERR_DAMAGED:
                return "damaged";
        default:
                return code >= 0 ? "none" : "unknown";
        }
}
