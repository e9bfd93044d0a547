/*
 * GET …/workloads: pages of targets in the order of namespace and Recommendation name, or as the parameter sort says.
 */
#include <stdio.h>

#include "handlers.h"
#include "list_csv.h"
#include "list_query.h"
#include "partial_response.h"

enum { LIMIT_DEFAULT = 100, LIMIT_MOST = 500, OFFSET_MOST = 9999999 };
/* Bounds of one page: targets read, bytes of all items, bytes of one item. */
enum { SCANNED_MOST = 10000, PAGE_BYTES = 4 << 20, ITEM_BYTES = 16 << 20 };

struct page {
        struct list_query query;
        long limit, offset;
        bool csv;
        struct fields fields; /* count 0: items keep all members */
        size_t from;          /* index of the first target in the view */
};

/* --- continue: the key "ns/recommendation" of the last target looked at, as base64url --- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static const char *token_of(const struct snapshot_target *t, struct arena *a)
{
        size_t ns = strlen(t->ns), len = ns + 1 + strlen(t->recommendation), at = 0;
        unsigned char *key = arena_new(a, len + 3);
        char *out = arena_new(a, len / 3 * 4 + 8);
        memcpy(key, t->ns, ns);
        key[ns] = '/';
        memcpy(key + ns + 1, t->recommendation, len - ns - 1);
        for (size_t i = 0; i < len; i += 3) {
                unsigned word = (unsigned)key[i] << 16 | (unsigned)key[i + 1] << 8 | key[i + 2];
                size_t take = len - i >= 3 ? 4 : len - i + 1;
                for (size_t k = 0; k < take; k++)
                        out[at++] = digits[word >> (18 - 6 * k) & 63];
        }
        return out;
}

/* Decode a continue token to its key. {NULL, 0}: the token is not one that token_of writes. */
static struct text list_decode(struct text token, struct arena *a)
{
        char *out = arena_new(a, token.len + 1);
        size_t len = 0;
        unsigned word = 0, bits = 0;
        for (size_t i = 0; i < token.len; i++) {
                const char *digit = memchr(digits, token.p[i], 64);
                if (!digit)
                        return (struct text){0};
                word = word << 6 | (unsigned)(digit - digits);
                bits += 6;
                if (bits >= 8) {
                        bits -= 8;
                        out[len++] = (char)(word >> bits & 255);
                }
                word &= 0xffff;
        }
        bool exact = bits < 6 && (word & ((1u << bits) - 1)) == 0;
        return exact ? (struct text){out, len} : (struct text){0};
}

static bool list_is_key(struct text key)
{
        int slashes = 0;
        for (size_t i = 0; i < key.len; i++) {
                char c = key.p[i];
                slashes += c == '/';
                if (c != '/' && c != '-' && c != '.' && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
                        return false;
        }
        return slashes == 1 && key.p[0] != '/';
}

static int read_continue(struct ask *k, struct page *ret)
{
        struct text ns = text_of(k->route->ns), token = k->query->value[PARAM_CONTINUE];
        ret->from = snapshot_after(k->v, ns, (struct text){"", 0});
        if (token.len == 0)
                return 0;
        struct text key = list_decode(token, k->a);
        if (!key.p || !list_is_key(key)) {
                answer_problem(k->ret, PROBLEM_EXPIRED, "continue cannot be read: start again without continue");
                return ERR_INVALID;
        }
        size_t len = (size_t)((const char *)memchr(key.p, '/', key.len) - key.p);
        struct text of = {key.p, len};
        if (ns.len && !text_equal(of, ns)) {
                answer_problem(k->ret, PROBLEM_EXPIRED,
                               "continue is from a list of another namespace: start again without continue");
                return ERR_INVALID;
        }
        ret->from = snapshot_after(k->v, of, (struct text){key.p + len + 1, key.len - len - 1});
        return 0;
}

/* --- the other parameters --- */

static int number_asked(struct ask *k, enum param which, const char *name, long least, long most, long *ret)
{
        struct text t = k->query->value[which];
        long number = 0;
        if (!t.p)
                return 0;
        for (size_t i = 0; i < t.len; i++)
                number = t.p[i] >= '0' && t.p[i] <= '9' && number >= 0 ? number * 10 + (t.p[i] - '0') : -1;
        if (number < least || number > most)
                return answer_bad_parameter(k->ret, name, "%s '%s' is not a whole number from %ld to %ld", name, t.p,
                                            least, most);
        *ret = number;
        return 0;
}

int limit_asked(struct ask *k, long standard, long most, long *ret)
{
        *ret = standard;
        return number_asked(k, PARAM_LIMIT, "limit", 1, most, ret);
}

int offset_asked(struct ask *k, long *ret)
{
        *ret = 0;
        return number_asked(k, PARAM_OFFSET, "offset", 0, OFFSET_MOST, ret);
}

int csv_asked(struct ask *k, bool *ret)
{
        struct text t = k->query->value[PARAM_OUTPUT];
        *ret = text_is(t, "csv");
        return !t.p || *ret || text_is(t, "json")
                       ? 0
                       : answer_bad_parameter(k->ret, "output", "output '%s' is neither json nor csv", t.p);
}

/* Refuse ?continue together with ?sort or ?offset: `continue` names a place in the order of the names, so sorted pages
 * go by offset. */
static int list_check_order(struct ask *k, const struct page *p)
{
        bool counted = p->query.sorted || query_has(k->query, PARAM_OFFSET);
        if (counted && query_has(k->query, PARAM_CONTINUE))
                return answer_bad_parameter(k->ret, "continue",
                                            "continue is for lists without sort and offset: ask with offset");
        return 0;
}

static int list_read_page(struct ask *k, struct page *ret)
{
        struct err err;
        *ret = (struct page){0};
        int rc = list_query_read(k, &ret->query);
        if (rc < 0)
                return rc;
        if (query_has(k->query, PARAM_FIELDS) && fields_parse(k->query->value[PARAM_FIELDS], &ret->fields, &err) < 0)
                return answer_bad_parameter(k->ret, "fields", "%s", err.text);
        rc = csv_asked(k, &ret->csv);
        if (rc == 0)
                rc = limit_asked(k, LIMIT_DEFAULT, LIMIT_MOST, &ret->limit);
        if (rc == 0)
                rc = offset_asked(k, &ret->offset);
        if (rc == 0)
                rc = list_check_order(k, ret);
        return rc == 0 ? read_continue(k, ret) : rc;
}

/* --- the page --- */

/* Write one item. `scratch` holds the whole item while the fields that the caller asked for are copied. */
static void write_item(struct writer *w, const struct page *p, const struct snapshot_target *t, struct buf *scratch)
{
        if (p->fields.count == 0) {
                writer_open(w, NULL, '{');
                write_target(w, t, NULL);
                writer_close(w, '}');
                return;
        }
        struct writer whole = {.b = scratch};
        buf_reset(scratch);
        writer_open(&whole, NULL, '{');
        write_target(&whole, t, NULL);
        writer_close(&whole, '}');
        writer_raw(w, NULL, (struct text){"", 0});
        fields_copy(&p->fields, buf_text(scratch), w->b);
}

/* Answer with ?sort or ?offset: write one page of the targets that pass the filters, and the number of all of them. */
static void list_answer_counted(struct ask *k, const struct page *p, struct buf *scratch)
{
        size_t count, left = (size_t)p->limit;
        const struct snapshot_target **target = list_query_targets(k, &p->query, &count);
        struct writer w = answer_begin(k->ret);
        writer_open(&w, NULL, '{');
        writer_open(&w, "items", '[');
        for (size_t at = (size_t)p->offset; at < count && left > 0 && w.b->len < PAGE_BYTES; at++, left--)
                write_item(&w, p, target[at], scratch);
        writer_close(&w, ']');
        writer_int(&w, "total", (int64_t)count);
        writer_close(&w, '}');
}

static void list_answer_csv(struct ask *k, const struct page *p)
{
        size_t count;
        const struct snapshot_target **target = list_query_targets(k, &p->query, &count);
        list_csv_answer(k, target, count);
}

void answer_list(struct ask *k)
{
        struct page p;
        struct buf scratch __attribute__((cleanup(buf_release_auto)));
        buf_init(&scratch, ITEM_BYTES);
        if (list_read_page(k, &p) < 0)
                return;
        if (p.csv) {
                list_answer_csv(k, &p);
                return;
        }
        if (p.query.sorted || query_has(k->query, PARAM_OFFSET)) {
                list_answer_counted(k, &p, &scratch);
                return;
        }
        struct writer w = answer_begin(k->ret);
        const struct snapshot_target *last = NULL;
        size_t at = p.from, end = k->v->targets;
        writer_open(&w, NULL, '{');
        writer_open(&w, "items", '[');
        for (long left = p.limit, scanned = 0; at < end && left > 0 && scanned < SCANNED_MOST && w.b->len < PAGE_BYTES;
             at++, scanned++) {
                const struct snapshot_target *t = k->v->target[at];
                if (*k->route->ns && strcmp(t->ns, k->route->ns) != 0)
                        break;
                last = t;
                if (!list_query_wants(&p.query, t))
                        continue;
                write_item(&w, &p, t, &scratch);
                left--;
        }
        bool more = at < end && last && (!*k->route->ns || strcmp(k->v->target[at]->ns, k->route->ns) == 0);
        writer_close(&w, ']');
        if (more)
                writer_text(&w, "continue", text_of(token_of(last, k->a)));
        writer_close(&w, '}');
}
