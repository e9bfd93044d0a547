#include "query_parameters.h"

#include <stdio.h>

#include "base/utf8.h"
#include "handlers.h"

enum { QUERY_MAX = 16 << 10 };

#define ROUTE_BIT(name) (1u << (name))
static const struct {
        const char *name;
        unsigned routes; /* bits of enum route_name */
        size_t most;     /* bytes, decoded */
        bool may_be_empty;
} params[PARAMS] = {
        [PARAM_CONTAINER] = {"container",
                             ROUTE_BIT(ROUTE_WORKLOAD) | ROUTE_BIT(ROUTE_HISTOGRAM) | ROUTE_BIT(ROUTE_EXPLAIN), 63,
                             false},
        [PARAM_ORIGINAL] = {"original", ROUTE_BIT(ROUTE_WORKLOAD), 256, false},
        [PARAM_LABELS] = {"labels", ROUTE_BIT(ROUTE_WORKLOAD), 8192, false},
        [PARAM_LABEL_SELECTOR] = {"labelSelector",
                                  ROUTE_BIT(ROUTE_LIST) | ROUTE_BIT(ROUTE_NODES) | ROUTE_BIT(ROUTE_SUMMARY), 8192,
                                  true},
        [PARAM_STATE] = {"state", ROUTE_BIT(ROUTE_LIST) | ROUTE_BIT(ROUTE_SUMMARY), 64, false},
        [PARAM_LIMIT] = {"limit", ROUTE_BIT(ROUTE_LIST) | ROUTE_BIT(ROUTE_NODES) | ROUTE_BIT(ROUTE_CHANGES), 8, false},
        [PARAM_CONTINUE] = {"continue", ROUTE_BIT(ROUTE_LIST), 512, true},
        [PARAM_FIELDS] = {"fields", ROUTE_BIT(ROUTE_LIST), 1024, false},
        [PARAM_RESOURCE] = {"resource", ROUTE_BIT(ROUTE_HISTOGRAM) | ROUTE_BIT(ROUTE_EXPLAIN), 16, false},
        [PARAM_PERCENTILE] = {"percentile", ROUTE_BIT(ROUTE_EXPLAIN), 16, false},
        [PARAM_HALF_LIFE] = {"halfLife", ROUTE_BIT(ROUTE_EXPLAIN), 32, false},
        [PARAM_MULTIPLIER] = {"multiplier", ROUTE_BIT(ROUTE_EXPLAIN), 16, false},
        [PARAM_DRY_RUN] = {"dryRun", ROUTE_BIT(ROUTE_RENDER), 8, true},
        [PARAM_NAMESPACE] = {"namespace", ROUTE_BIT(ROUTE_NODES), 63, false},
        [PARAM_SORT] = {"sort", ROUTE_BIT(ROUTE_LIST), 32, false},
        [PARAM_OFFSET] = {"offset", ROUTE_BIT(ROUTE_LIST) | ROUTE_BIT(ROUTE_CHANGES), 8, false},
        [PARAM_OUTPUT] = {"output", ROUTE_BIT(ROUTE_LIST) | ROUTE_BIT(ROUTE_CHANGES), 8, false},
        [PARAM_SEARCH] = {"search", ROUTE_BIT(ROUTE_LIST) | ROUTE_BIT(ROUTE_SUMMARY) | ROUTE_BIT(ROUTE_CHANGES), 253,
                          true},
        [PARAM_CONDITION] = {"condition", ROUTE_BIT(ROUTE_LIST) | ROUTE_BIT(ROUTE_SUMMARY), 64, false},
        [PARAM_REASON] = {"reason", ROUTE_BIT(ROUTE_LIST) | ROUTE_BIT(ROUTE_SUMMARY), 64, false},
        [PARAM_PROFILE] = {"profile", ROUTE_BIT(ROUTE_LIST) | ROUTE_BIT(ROUTE_SUMMARY), 253, false},
        [PARAM_BY] = {"by", ROUTE_BIT(ROUTE_SUMMARY) | ROUTE_BIT(ROUTE_REPORT), 320, false},
        [PARAM_SINCE] = {"since", ROUTE_BIT(ROUTE_REPORT), 32, false},
        [PARAM_CHANGE] = {"change", ROUTE_BIT(ROUTE_CHANGES), 32, false},
};

/* --- percent-encoding --- */

static int query_hex(char c)
{
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
}

static bool query_is_utf8(const char *p, size_t len)
{
        for (size_t step; len > 0; p += step, len -= step) {
                step = utf8_length(p, len);
                if (step == 0 || *p == '\0')
                        return false;
        }
        return true;
}

struct text url_decode(struct text raw, bool plus, struct arena *a)
{
        char *out = arena_text(a, raw);
        size_t len = 0;
        for (size_t i = 0; i < raw.len; i++) {
                char c = raw.p[i];
                if (c == '%') {
                        int high = i + 2 < raw.len ? query_hex(raw.p[i + 1]) : -1;
                        int low = high >= 0 ? query_hex(raw.p[i + 2]) : -1;
                        if (low < 0)
                                return (struct text){0};
                        c = (char)(high << 4 | low);
                        i += 2;
                }
                out[len++] = c == '+' && plus && raw.p[i] == '+' ? ' ' : c;
        }
        out[len] = '\0';
        return query_is_utf8(out, len) ? (struct text){out, len} : (struct text){0};
}

/* --- parameters --- */

static int refuse_name(struct text name, enum route_name route, struct answer *ret)
{
        char known[256] = "";
        size_t at = 0;
        for (int p = 0; p < PARAMS; p++)
                if (params[p].routes & ROUTE_BIT(route)) {
                        int len = snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", params[p].name);
                        at += (size_t)len;
                }
        char *copy = mem_string_n(name.p, utf8_cut(name.p, name.len, 64));
        int rc = answer_bad_parameter(ret, copy, "this path has no parameter '%s': %s%s", copy,
                                      *known ? "it has " : "it has none", known);
        mem_free(copy);
        return rc;
}

static int query_find(struct text name, enum route_name route)
{
        for (int p = 0; p < PARAMS; p++)
                if (params[p].routes & ROUTE_BIT(route) && text_is(name, params[p].name))
                        return p;
        return PARAMS;
}

static int query_read_one(struct text piece, enum route_name route, struct arena *a, struct query *ret,
                          struct answer *ret_answer)
{
        const char *equals = piece.len ? memchr(piece.p, '=', piece.len) : NULL;
        struct text name = {piece.p, equals ? (size_t)(equals - piece.p) : piece.len}, value = {"", 0};
        if (equals)
                value = (struct text){equals + 1, piece.len - name.len - 1};
        name = url_decode(name, true, a);
        if (!name.p)
                return answer_bad_parameter(ret_answer, "?", "a parameter's name is not percent-encoded UTF-8");
        int p = query_find(name, route);
        if (p == PARAMS)
                return refuse_name(name, route, ret_answer);
        if (query_has(ret, (enum param)p))
                return answer_bad_parameter(ret_answer, params[p].name, "parameter '%s' is given twice: give it once",
                                            params[p].name);
        value = url_decode(value, true, a);
        if (!value.p)
                return answer_bad_parameter(ret_answer, params[p].name, "parameter '%s' is not percent-encoded UTF-8",
                                            params[p].name);
        if (value.len > params[p].most)
                return answer_bad_parameter(ret_answer, params[p].name, "parameter '%s' is longer than %zu bytes",
                                            params[p].name, params[p].most);
        if (value.len == 0 && !params[p].may_be_empty)
                return answer_bad_parameter(ret_answer, params[p].name,
                                            "parameter '%s' is empty: give it a value or leave it out", params[p].name);
        ret->value[p] = value;
        return 0;
}

int query_read(struct text raw, enum route_name route, struct arena *a, struct query *ret, struct answer *ret_answer)
{
        *ret = (struct query){0};
        if (raw.len > QUERY_MAX)
                return answer_bad_parameter(ret_answer, "?", "the query is longer than %d bytes", QUERY_MAX);
        for (size_t at = 0; at < raw.len;) {
                const char *amp = memchr(raw.p + at, '&', raw.len - at);
                size_t end = amp ? (size_t)(amp - raw.p) : raw.len;
                int rc = query_read_one((struct text){raw.p + at, end - at}, route, a, ret, ret_answer);
                if (rc < 0)
                        return rc;
                at = end + 1;
        }
        return 0;
}
