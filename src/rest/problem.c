#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "handlers.h"

enum { DETAIL_MAX = 1024, BODY_MAX = 32 << 20 };

#define TYPE(slug) "https://halflife.dev/problems/" slug

static const struct {
        unsigned status;
        const char *type, *title;
        struct answer_header header;
} problems[PROBLEMS] = {
        [PROBLEM_NOT_FOUND] = {404, TYPE("not-found"), "Not found", {0}},
        [PROBLEM_METHOD_NOT_ALLOWED] = {405, TYPE("method-not-allowed"), "Method not allowed", {0}},
        [PROBLEM_INVALID_PARAMETER] = {400, TYPE("invalid-parameter"), "Invalid parameter", {0}},
        [PROBLEM_INVALID_HEADER] = {400, TYPE("invalid-header"), "Invalid header", {0}},
        [PROBLEM_INVALID_BODY] = {400, TYPE("invalid-body"), "Invalid body", {0}},
        [PROBLEM_UNSUPPORTED_TYPE] = {415, TYPE("unsupported-type"), "Unsupported media type", {0}},
        [PROBLEM_TOO_LARGE] = {413, TYPE("too-large"), "Too large", {0}},
        [PROBLEM_UNAUTHENTICATED] = {401, TYPE("unauthenticated"), "Unauthenticated", {"WWW-Authenticate", "Bearer"}},
        [PROBLEM_FORBIDDEN] = {403, TYPE("forbidden"), "Forbidden", {0}},
        [PROBLEM_EXPIRED] = {410, TYPE("expired"), "Expired", {0}},
        [PROBLEM_SHARE_USED] = {429, TYPE("share-used"), "Share used up", {"Retry-After", "1"}},
        [PROBLEM_OVERLOADED] = {503, TYPE("overloaded"), "Overloaded", {"Retry-After", "1"}},
        [PROBLEM_UNAVAILABLE] = {503, TYPE("unavailable"), "Unavailable", {"Retry-After", "5"}},
        [PROBLEM_TIMEOUT] = {408, TYPE("timeout"), "Timeout", {0}},
};

const char *problem_type(enum problem p)
{
        assert(p < PROBLEMS);
        return problems[p].type;
}

void answer_header(struct answer *a, const char *name, const char *value)
{
        assert(a->headers < ANSWER_HEADERS);
        a->header[a->headers++] = (struct answer_header){name, value};
}

static void problem_clear(struct answer *a, unsigned status, const char *type)
{
        buf_release(&a->body);
        *a = (struct answer){.status = status, .type = type};
        buf_init(&a->body, BODY_MAX);
}

struct writer answer_begin(struct answer *a)
{
        problem_clear(a, 200, "application/json");
        return (struct writer){.b = &a->body};
}

static void write_problem(struct answer *a, enum problem p, const char *parameter, const char *fmt, va_list args)
        __attribute__((format(printf, 4, 0)));

static void write_problem(struct answer *a, enum problem p, const char *parameter, const char *fmt, va_list args)
{
        char detail[DETAIL_MAX];
        assert(p < PROBLEMS);
        vsnprintf(detail, sizeof detail, fmt, args);
        utf8_repair(detail); /* a detail may quote bytes of the request */
        problem_clear(a, problems[p].status, "application/problem+json");
        struct writer w = {.b = &a->body};
        writer_open(&w, NULL, '{');
        writer_text(&w, "type", text_of(problems[p].type));
        writer_text(&w, "title", text_of(problems[p].title));
        writer_int(&w, "status", problems[p].status);
        writer_text(&w, "detail", text_of(detail));
        if (parameter)
                writer_text(&w, "parameter", text_of(parameter));
        writer_close(&w, '}');
        if (problems[p].header.name)
                answer_header(a, problems[p].header.name, problems[p].header.value);
}

void answer_problem(struct answer *a, enum problem p, const char *detail_fmt, ...)
{
        va_list args;
        va_start(args, detail_fmt);
        write_problem(a, p, NULL, detail_fmt, args);
        va_end(args);
}

int answer_bad_parameter(struct answer *a, const char *parameter, const char *fmt, ...)
{
        va_list args;
        va_start(args, fmt);
        write_problem(a, PROBLEM_INVALID_PARAMETER, parameter, fmt, args);
        va_end(args);
        return ERR_INVALID;
}

/* --- ETag --- */

/* Part of a digest of 128 bits, the same on every replica. The digest is fast and does not withstand deliberate
 * collisions: whoever could choose an answer's content can write Recommendations anyway. */
static uint64_t problem_mix(uint64_t state, uint64_t word)
{
        unsigned __int128 product = (unsigned __int128)(state ^ word) * 0x9e3779b97f4a7c15u;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static void problem_digest(struct text t, uint64_t ret[2])
{
        uint64_t a = 0x243f6a8885a308d3u ^ t.len, b = 0x13198a2e03707344u + t.len;
        for (size_t i = 0; i < t.len; i += 8) {
                uint64_t word = 0;
                size_t left = t.len - i;
                memcpy(&word, t.p + i, left < 8 ? left : 8);
                a = problem_mix(a, word);
                b = problem_mix(b + 0xa4093822299f31d0u, word ^ (b << 7 | b >> 57));
        }
        ret[0] = problem_mix(a, b);
        ret[1] = problem_mix(b, a ^ 0x082efa98ec4e6c89u);
}

/* Whether the header If-None-Match lists the tag. The comparison is weak (RFC 9110 8.8.3.2): a prefix W/ is ignored. */
static bool problem_lists(struct text header, struct text tag)
{
        for (size_t i = 0; i + tag.len <= header.len; i++)
                if (memcmp(header.p + i, tag.p, tag.len) == 0)
                        return true;
        return text_is(header, "*");
}

void answer_tag(struct answer *a, struct text if_none_match, struct arena *arena)
{
        uint64_t sum[2];
        char tag[40];
        problem_digest(buf_text(&a->body), sum);
        int len =
                snprintf(tag, sizeof tag, "\"%016llx%016llx\"", (unsigned long long)sum[0], (unsigned long long)sum[1]);
        struct text text = {tag, (size_t)len};
        answer_header(a, "ETag", arena_text(arena, text));
        if (problem_lists(if_none_match, text)) {
                a->status = 304;
                buf_reset(&a->body);
        }
}
