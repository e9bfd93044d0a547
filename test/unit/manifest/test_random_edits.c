/*
 * Random documents, randomly edited: what comes out reads (by base/yaml) as the tree with the same edits made, lines
 * that were not asked for are as they were, and the same edits once more change nothing. What is refused leaves every
 * byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/yaml.h"
#include "manifest/document.h"

enum { TEXT_MAX = 1 << 20, DEPTH = 5, CHANGES = 4, STEPS = 8, CASES = 4000 };

struct gen {
        struct buf b;
        uint64_t state;
        const char *eol;
        unsigned step, keys, anchors;
        bool tight; /* few blank lines and comments */
};

static unsigned below(struct gen *g, unsigned n)
{
        g->state = g->state * 6364136223846793005u + 1442695040888963407u;
        return (unsigned)(g->state >> 33) % n;
}

static bool once_in(struct gen *g, unsigned n)
{
        return below(g, n) == 0;
}

static void put(struct gen *g, const char *s)
{
        buf_add_text(&g->b, s);
}

static void put_spaces(struct gen *g, unsigned n)
{
        buf_printf(&g->b, "%*s", (int)n, "");
}

/* --- documents --- */

static const char *const plain[] = {"x",   "some words", "1",   "0.5",        "true", "null",
                                    "~",   "400m",       "a#b", "http://x/y", "-1",   "2026-11-21",
                                    "ü 😀", "a:b",        "1Gi", "don't",      "'n'",  "\"q\""};

static void put_scalar(struct gen *g, bool flow)
{
        switch (below(g, 6)) {
        case 0:
                put(g, "'it''s: # no comment, {or so}'");
                break;
        case 1:
                put(g, "\"a \\\"b\\\" \\u00fc\\t: # no comment\"");
                break;
        case 2:
                put(g, once_in(g, 2) ? "\"4Gi\"" : "'2'");
                break;
        default:
                put(g, plain[below(g, flow ? 15 : sizeof plain / sizeof *plain)]);
        }
}

static void put_key(struct gen *g)
{
        static const char *const form[][2] = {{"k", ""},   {"k", ""},    {"k", ""},      {"\"k", "\""},
                                              {"'k", "'"}, {"ключ", ""}, {"a.b/k-", ""}, {"k ", ""}};
        const char *const *f = form[below(g, 8)];
        buf_printf(&g->b, "%s%u%s", f[0], g->keys++, f[1]);
}

static void end_line(struct gen *g)
{
        if (once_in(g, g->tight ? 20 : 5))
                put(g, once_in(g, 3) ? "\t # ü" : "  # a comment: {x}");
        else if (once_in(g, 12))
                put(g, "  ");
        put(g, g->eol);
        while (once_in(g, g->tight ? 30 : 6)) {
                if (once_in(g, 2)) {
                        put_spaces(g, below(g, 6));
                        put(g, "# a line: of its own");
                }
                put(g, g->eol);
        }
}

static void flow_space(struct gen *g, bool lines, unsigned indent)
{
        if (lines) {
                put(g, once_in(g, 10) ? " # in flow" : "");
                put(g, g->eol);
                put_spaces(g, indent);
        } else if (once_in(g, 4)) {
                put(g, " ");
        }
}

static void put_flow(struct gen *g, unsigned indent, unsigned depth)
{
        bool mapping = !once_in(g, 3), lines = once_in(g, 4);
        unsigned n = below(g, 4);
        put(g, mapping ? "{" : "[");
        for (unsigned i = 0; i < n; i++) {
                flow_space(g, lines, indent + g->step);
                if (mapping || once_in(g, 20)) { /* or a mapping without braces */
                        put_key(g);
                        put(g, ": ");
                }
                if (mapping && once_in(g, 8))
                        put(g, "");
                else if (depth < DEPTH && once_in(g, 3))
                        put_flow(g, indent + g->step, depth + 1);
                else
                        put_scalar(g, true);
                if (i + 1 < n)
                        put(g, once_in(g, 8) ? " , " : ", ");
        }
        if (n && once_in(g, 8))
                put(g, ",");
        flow_space(g, lines && n, indent);
        put(g, mapping ? "}" : "]");
}

/* A block of text, deeper than indent. */
static void put_literal(struct gen *g, unsigned indent)
{
        static const char *const header[] = {"|", "|-", "|+", ">", ">-", ">+"};
        put(g, header[below(g, 6)]);
        put(g, once_in(g, 4) ? " # behind it" : "");
        put(g, g->eol);
        for (unsigned i = 0, n = below(g, 4); i < n; i++) {
                if (!once_in(g, 5)) {
                        put_spaces(g, indent + g->step);
                        put(g, once_in(g, 2) ? "text: # that" : "{means} nothing");
                }
                put(g, g->eol);
        }
}

static void put_lines(struct gen *g, unsigned indent)
{
        const char *quote = once_in(g, 2) ? "\"" : "";
        buf_printf(&g->b, "%son two%s", quote, g->eol);
        put_spaces(g, indent + g->step);
        buf_printf(&g->b, "lines%s", quote);
        end_line(g);
}

static void put_mapping(struct gen *g, unsigned indent, unsigned depth, bool in_line);

static void put_sequence(struct gen *g, unsigned indent, unsigned depth)
{
        for (unsigned i = 0, n = 1 + below(g, 3); i < n; i++) {
                put_spaces(g, indent);
                put(g, "- ");
                switch (below(g, depth < DEPTH ? 4 : 2)) {
                case 0:
                        put_scalar(g, false);
                        end_line(g);
                        break;
                case 1:
                        put_flow(g, indent, depth);
                        end_line(g);
                        break;
                default:
                        put_mapping(g, indent + 2, depth + 1, true);
                }
        }
}

/* An empty value on the lines below its key, which generators indent as what would stand in its place. */
static void put_empty_below(struct gen *g, unsigned indent)
{
        static const char *const empty[] = {"{}", "[]", "{ }", "null", "~"};
        end_line(g);
        put_spaces(g, indent + 1 + below(g, g->step + 1));
        put(g, empty[below(g, sizeof empty / sizeof *empty)]);
        end_line(g);
}

static void put_property(struct gen *g)
{
        if (once_in(g, 12))
                buf_printf(&g->b, " &a%u", g->anchors++);
}

/* What follows a key's colon, to the end of its last line. */
static void put_value(struct gen *g, unsigned indent, unsigned depth)
{
        unsigned kind = below(g, depth < DEPTH ? 12 : 7);
        if (kind != 0 && kind != 5)
                put_property(g);
        if (kind > 0 && kind < 7)
                put(g, once_in(g, 20) ? "\t" : once_in(g, 10) ? "   " : " ");
        switch (kind) {
        case 0:
                if (once_in(g, 2))
                        end_line(g);
                else
                        put_empty_below(g, indent);
                break;
        case 1:
        case 2:
                put_scalar(g, false);
                end_line(g);
                break;
        case 3:
                put_literal(g, indent);
                break;
        case 4:
                put_flow(g, indent, depth);
                end_line(g);
                break;
        case 5:
                if (g->anchors)
                        buf_printf(&g->b, "*a%u", below(g, g->anchors));
                else
                        put(g, once_in(g, 2) ? "~" : "{}");
                end_line(g);
                break;
        case 6:
                put_lines(g, indent);
                break;
        case 7:
        case 8:
                end_line(g);
                put_sequence(g, once_in(g, 2) ? indent : indent + g->step, depth + 1);
                break;
        default:
                end_line(g);
                put_mapping(g, indent + g->step, depth + 1, false);
        }
}

static void put_explicit_key(struct gen *g, unsigned indent)
{
        put(g, "?");
        if (once_in(g, 4)) {
                put(g, g->eol);
                put_spaces(g, indent);
        }
        put(g, " ");
        put_key(g);
        put(g, g->eol);
        put_spaces(g, indent);
}

/* in_line: the first key stands behind a dash. */
static void put_mapping(struct gen *g, unsigned indent, unsigned depth, bool in_line)
{
        for (unsigned i = 0, n = 1 + below(g, 4); i < n; i++) {
                if (i || !in_line)
                        put_spaces(g, indent);
                if (once_in(g, 40))
                        put_explicit_key(g, indent);
                else
                        put_key(g);
                put(g, once_in(g, 15) ? " :" : ":");
                put_value(g, indent, depth);
        }
}

static json_t *random_json(struct gen *g, unsigned depth)
{
        unsigned n = below(g, 4);
        json_t *value;
        char key[32];
        switch (below(g, depth == 0 ? 1 : depth < DEPTH ? 7 : 4) + (depth ? 0 : 5)) {
        case 0:
                return json_integer(below(g, 5));
        case 1:
                return json_string(once_in(g, 2) ? "2" : "a \"text\" \\ ü 😀");
        case 2:
                return once_in(g, 2) ? json_null() : json_true();
        case 3:
                return json_real(0.5);
        case 4:
                value = json_array();
                for (unsigned i = 0; i < n; i++)
                        json_array_append_new(value, random_json(g, depth + 1));
                return value;
        default:
                value = json_object();
                for (unsigned i = 0; i < n; i++) {
                        snprintf(key, sizeof key, "k%u", g->keys++);
                        json_object_set_new(value, key, random_json(g, depth + 1));
                }
                return value;
        }
}

static void put_json(struct gen *g)
{
        static const size_t layout[] = {0, JSON_COMPACT, JSON_INDENT(2), JSON_INDENT(4)};
        json_t *value AUTO(json_decref) = random_json(g, 0);
        char *text AUTO(mem_free) = json_dumps(value, layout[below(g, 4)] | (once_in(g, 2) ? JSON_ENSURE_ASCII : 0u));
        for (const char *p = text; *p; p++)
                put(g, *p == '\n' ? g->eol : (const char[]){*p, '\0'});
        put(g, g->eol);
}

static void put_document(struct gen *g)
{
        g->anchors = 0;
        g->step = 1 + below(g, 4);
        if (once_in(g, 5)) {
                put_json(g);
        } else if (once_in(g, 6)) {
                put(g, "{");
                put_key(g);
                put(g, ": ");
                put_flow(g, 0, 0);
                put(g, "}");
                end_line(g);
        } else {
                put_mapping(g, 0, 0, false);
        }
}

static void put_stream(struct gen *g)
{
        unsigned n = 1 + below(g, 3);
        g->eol = once_in(g, 4) ? "\r\n" : "\n";
        g->tight = once_in(g, 2);
        if (once_in(g, 8))
                put(g, "\xef\xbb\xbf");
        for (unsigned i = 0; i < n; i++) {
                if (i || once_in(g, 4)) {
                        put(g, "---");
                        put(g, g->eol);
                }
                put_document(g);
        }
        if (once_in(g, 6))
                g->b.len -= strlen(g->eol);
}

/* --- edits --- */

struct random_change {
        struct doc_step step[STEPS];
        struct doc_change change;
        char key[STEPS][16];
};

static const char *const strings[] = {"",
                                      "x",
                                      "1",
                                      "true",
                                      "it's",
                                      "{\"a\":{\"cpu\":\"1\"}}",
                                      "back\\slash",
                                      "a\nb\tc",
                                      " spaced ",
                                      "ü 😀 \xe2\x80\xa8 \x7f",
                                      "# no comment",
                                      "*a: &b"};
static const char *const quantities[] = {"1", "400m", "0.5", "1Gi", "1e3", "250"};

static void pick_step(struct gen *g, struct random_change *c, const json_t **at)
{
        const char *key;
        const json_t *value;
        size_t n = c->change.steps++;
        if (json_is_array(*at) && json_array_size(*at)) {
                size_t item = below(g, (unsigned)json_array_size(*at));
                c->step[n] = (struct doc_step)DOC_ITEM(item);
                *at = json_array_get(*at, item);
                return;
        }
        if (json_is_object(*at) && json_object_size(*at) && !once_in(g, 4)) {
                unsigned skip = below(g, (unsigned)json_object_size(*at));
                void *it = json_object_iter((json_t *)(uintptr_t)*at);
                while (skip--)
                        it = json_object_iter_next((json_t *)(uintptr_t)*at, it);
                key = json_object_iter_key(it);
                value = json_object_iter_value(it);
        } else {
                snprintf(c->key[n], sizeof c->key[n], "%s%u", once_in(g, 4) ? "n y/" : "new", below(g, 3));
                key = c->key[n];
                value = json_is_object(*at) ? json_object_get(*at, key) : NULL;
        }
        c->step[n] = (struct doc_step){.key = text_of(key)};
        *at = value;
}

static void pick_change(struct gen *g, struct random_change *c, const json_t *root)
{
        *c = (struct random_change){.change = {.path = c->step}};
        const json_t *at = root;
        do
                pick_step(g, c, &at);
        while (c->change.steps < STEPS && (json_is_object(at) || json_is_array(at) ? !once_in(g, 12) : once_in(g, 3)));
        c->change.form = once_in(g, 8) ? DOC_REMOVE : once_in(g, 2) ? DOC_STRING : DOC_QUANTITY;
        c->change.value = text_of(c->change.form == DOC_STRING ? strings[below(g, sizeof strings / sizeof *strings)]
                                                               : quantities[below(g, 6)]);
}

static bool begins_as(const struct doc_change *a, const struct doc_change *b)
{
        size_t n = a->steps < b->steps ? a->steps : b->steps;
        for (size_t i = 0; i < n; i++) {
                const struct doc_step *x = &a->path[i], *y = &b->path[i];
                if (!x->key.p != !y->key.p || (x->key.p ? !text_equal(x->key, y->key) : x->item != y->item))
                        return false;
        }
        return true;
}

/* Changes of which none is the beginning of another. */
static size_t pick_changes(struct gen *g, struct random_change *c, struct doc_change *ret, const json_t *root)
{
        size_t n = 0;
        for (unsigned i = 0, most = 1 + below(g, CHANGES); i < most; i++) {
                pick_change(g, &c[i], root);
                bool alone = true;
                for (size_t j = 0; j < n; j++)
                        alone = alone && !begins_as(&c[i].change, &ret[j]);
                if (alone)
                        ret[n++] = c[i].change;
        }
        return n;
}

/* --- the same on trees --- */

static json_t *child(const json_t *in, const struct doc_step *step)
{
        return step->key.p ? json_object_getn(in, step->key.p, step->key.len) : json_array_get(in, step->item);
}

static void child_set(json_t *in, const struct doc_step *step, json_t *value)
{
        if (step->key.p)
                json_object_setn_new(in, step->key.p, step->key.len, value);
        else
                json_array_set_new(in, step->item, value);
}

/* A quantity may read back as a number, if it is that number. */
static json_t *wanted(const struct doc_change *c, const json_t *got)
{
        double number = json_number_value(got);
        char *end, text[32];
        snprintf(text, sizeof text, "%.*s", TEXT_ARG(c->value));
        if (c->form == DOC_QUANTITY && json_is_number(got) && strtod(text, &end) == number && *end == '\0')
                return json_deep_copy(got);
        return json_stringn(c->value.p, c->value.len);
}

/* got: the tree that was read back. */
static void change_tree(json_t *root, const struct doc_change *c, const json_t *got)
{
        json_t *at = root;
        for (size_t i = 0; i + 1 < c->steps; i++) {
                json_t *next = child(at, &c->path[i]);
                if (!next || json_is_null(next) || (json_is_array(next) && json_array_size(next) == 0)) {
                        if (c->form == DOC_REMOVE)
                                return;
                        child_set(at, &c->path[i], next = json_object());
                }
                at = next;
                got = child(got, &c->path[i]);
        }
        const struct doc_step *last = &c->path[c->steps - 1];
        if (c->form == DOC_REMOVE)
                json_object_deln(at, last->key.p, last->key.len);
        else
                child_set(at, last, wanted(c, child(got, last)));
}

/* --- lines --- */

static size_t lines_of(const struct buf *b, struct text *ret, size_t max)
{
        size_t n = 0;
        for (const char *p = b->data, *end = p + b->len; p < end && n < max; n++) {
                const char *newline = memchr(p, '\n', (size_t)(end - p));
                ret[n] = (struct text){p, (size_t)((newline ? newline : end) - p)};
                if (ret[n].len && p[ret[n].len - 1] == '\r')
                        ret[n].len--;
                p = newline ? newline + 1 : end;
        }
        return n;
}

/* How many lines of a are not in b, in order (by the longest common subsequence). */
static size_t lines_lost(const struct buf *a, const struct buf *b)
{
        enum { LINES = 600 };
        static struct text x[LINES], y[LINES];
        static uint16_t best[LINES + 1][LINES + 1];
        size_t n = lines_of(a, x, LINES), m = lines_of(b, y, LINES);
        for (size_t i = n; i-- > 0;)
                for (size_t j = m; j-- > 0;) {
                        uint16_t skip = best[i + 1][j] > best[i][j + 1] ? best[i + 1][j] : best[i][j + 1];
                        best[i][j] = text_equal(x[i], y[j]) ? (uint16_t)(best[i + 1][j + 1] + 1) : skip;
                }
        size_t lost = n - best[0][0];
        memset(best, 0, sizeof best);
        return lost;
}

/* --- the property --- */

struct random_case {
        struct gen g;
        struct random_change random[CHANGES];
        struct doc_change change[CHANGES];
        size_t changes, object;
        unsigned long seed;
};

static void case_fails(const struct random_case *c, const char *why, const struct buf *out)
{
        print_message("seed %lu: %s\n%.*s<-\n", c->seed, why, (int)c->g.b.len, c->g.b.data);
        for (size_t i = 0; i < c->changes; i++) {
                print_message("%s ", c->change[i].form == DOC_REMOVE ? "remove" : "set");
                for (size_t j = 0; j < c->change[i].steps; j++) {
                        const struct doc_step *s = &c->change[i].path[j];
                        if (s->key.p)
                                print_message("/%.*s", TEXT_ARG(s->key));
                        else
                                print_message("/%zu", s->item);
                }
                print_message(" = '%.*s'\n", TEXT_ARG(c->change[i].value));
        }
        if (out)
                print_message("became\n%.*s<-\n", (int)out->len, out->data);
        fail();
}

static bool only_sets(const struct random_case *c)
{
        for (size_t i = 0; i < c->changes; i++)
                if (c->change[i].form == DOC_REMOVE)
                        return false;
        return true;
}

static void check_again(const struct random_case *c, const struct buf *out)
{
        struct err err = {0};
        struct doc *d AUTO(doc_free) = doc_new(out->data, out->len, &err);
        if (!d || doc_edit(d, c->object, c->change, c->changes, &err) != 0 || doc_changed(d))
                case_fails(c, err.code ? err.text : "not the same twice", out);
}

static void check_edited(const struct random_case *c, const json_t *before, const struct buf *out, int altered)
{
        struct err err = {0};
        json_t *got AUTO(json_decref) = yaml_read_all(out->data, out->len, &err);
        json_t *want AUTO(json_decref) = json_deep_copy(before);
        if (!got)
                case_fails(c, err.text, out);
        for (size_t i = 0; i < c->changes; i++)
                change_tree(json_array_get(want, c->object), &c->change[i], json_array_get(got, c->object));
        if (!json_equal(got, want))
                case_fails(c, "the tree is another", out);
        if (only_sets(c) && lines_lost(&c->g.b, out) > (size_t)altered)
                case_fails(c, "other lines have changed", out);
        check_again(c, out);
}

/* Returns whether the edits were made. */
static bool run_case(struct random_case *c, bool *ret_read)
{
        struct err err = {0};
        put_stream(&c->g);
        json_t *tree AUTO(json_decref) = yaml_read_all(c->g.b.data, c->g.b.len, &err);
        struct doc *d AUTO(doc_free) = doc_new(c->g.b.data, c->g.b.len, &err);
        *ret_read = tree && d;
        if (tree && !d)
                case_fails(c, err.text, NULL);
        if (!*ret_read)
                return false;
        if (doc_count(d) != json_array_size(tree))
                case_fails(c, "not as many objects", NULL);
        c->object = below(&c->g, (unsigned)doc_count(d));
        c->changes = pick_changes(&c->g, c->random, c->change, json_array_get(tree, c->object));
        int rc = doc_edit(d, c->object, c->change, c->changes, &err);
        struct buf out __attribute__((cleanup(buf_release_auto)));
        buf_init(&out, TEXT_MAX);
        assert_int_equal(doc_write(d, &out, &err), 0);
        if (rc <= 0 && (out.len != c->g.b.len || memcmp(out.data, c->g.b.data, out.len) != 0))
                case_fails(c, "nothing was to change", &out);
        if (rc > 0)
                check_edited(c, tree, &out, rc);
        return rc > 0;
}

/* SEED and CASES in the environment: where to begin, and how many. */
static unsigned long setting(const char *name, unsigned long otherwise)
{
        const char *text = getenv(name);
        return text ? strtoul(text, NULL, 10) : otherwise;
}

static void what_is_edited_reads_as_the_edited_tree(void **state)
{
        (void)state;
        unsigned long seed = setting("SEED", 1), cases = setting("CASES", CASES), made = 0, read = 0;
        for (unsigned long end = seed + cases; seed < end; seed++) {
                struct random_case c = {.g.state = seed * 0x9e3779b97f4a7c15u, .seed = seed};
                bool was_read;
                buf_init(&c.g.b, TEXT_MAX);
                made += run_case(&c, &was_read);
                read += was_read;
                buf_release(&c.g.b);
        }
        print_message("%lu of %lu were read, %lu edited\n", read, cases, made);
        assert_true(cases < CASES || (read > cases / 2 && made > read / 3));
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_edited_reads_as_the_edited_tree)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
