/* What is read from documents, and the bounds on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "manifest/document.h"

static struct doc *read_text(const char *text)
{
        struct err err = {0};
        struct doc *d = doc_new(text, strlen(text), &err);
        if (!d)
                fail_msg("%s\n%s", text, err.text);
        return d;
}

/* What a dotted path from the first object leads to, as "type value", or the error's text. */
static const char *shown(const struct doc *d, const char *path)
{
        static const char *const type[] = {"absent", "null", "text", "number", "bool", "mapping", "sequence"};
        static char out[ERR_TEXT_MAX];
        uint32_t at = doc_object(d, 0)->root;
        struct err err = {0};
        for (const char *p = path; *p;) {
                size_t len = strcspn(p, ".");
                if (doc_find(d, at, (struct text){p, len}, &at, &err) < 0) {
                        snprintf(out, sizeof out, "%s", err.text);
                        return out;
                }
                p += len + (p[len] == '.');
        }
        struct text t = doc_text(d, at);
        snprintf(out, sizeof out, "%s%s%.*s", type[doc_type(d, at)], t.len ? " " : "", TEXT_ARG(t));
        return out;
}

static void values_are_found(void **state)
{
        (void)state;
        static const char text[] = "a: {b: {c: 1}}\n"
                                   "plain: [x]\n"
                                   "types: {t: x, n: 0x1F, r: 1e3, b: yes, z: , '1': \"2\", s: !!str 3, i: !!int '4', "
                                   "f: .inf, m: -.INF, k: -.in, e: []}\n"
                                   "escaped: {\"\\u0061\\\"b\": 'it''s', long: \"on\n  two\", fold: a\n    b}\n"
                                   "literal: |\n  x\n  y\n"
                                   "twice: 1\n"
                                   "twice: 2\n"
                                   "base: &base {m: 1, n: 2}\n"
                                   "more: &more {n: 3, o: 4}\n"
                                   "merged: {<<: *base, n: 5}\n"
                                   "both: {<<: [*base, *more]}\n"
                                   "quoted: {'<<': *base}\n"
                                   "alias: *base\n"
                                   "word: &word done\n"
                                   "words: *word\n"
                                   "wrong: {<<: 1}\n"
                                   "*word : by alias\n";
        static const struct {
                const char *path, *want;
        } row[] = {
                {"a", "mapping"},
                {"a.b.c", "number 1"},
                {"a.b.d", "absent"},
                {"a.x.y.z", "absent"},
                {"types.z.y", "absent"},
                {"types.e.y", "absent"},
                {"plain", "sequence"},
                {"plain.x", "line 2, column 8: a mapping is expected here"},
                {"types.t.x", "line 3, column 12: a mapping is expected here"},
                {"types.t", "text x"},
                {"types.n", "number 0x1F"},
                {"types.r", "number 1e3"},
                {"types.b", "bool yes"},
                {"types.z", "null"},
                {"types.1", "text 2"},
                {"types.s", "text 3"},
                {"types.i", "number 4"},
                {"types.f", "number .inf"},
                {"types.m", "number -.INF"},
                {"types.k", "text -.in"},
                {"escaped.a\"b", "text it's"},
                {"escaped.long", "text on two"},
                {"escaped.fold", "text a b"},
                {"literal", "text x\ny\n"},
                {"twice", "line 11, column 1: key 'twice' is there twice"},
                {"merged.m", "number 1"},
                {"merged.n", "number 5"},
                {"merged.o", "absent"},
                {"both.n", "number 2"},
                {"both.o", "number 4"},
                {"quoted.m", "absent"},
                {"alias.m", "number 1"},
                {"words", "text done"},
                {"wrong.x", "line 20, column 13: the value of a merge key (<<) must be a mapping"},
                {"done", "text by alias"},
        };
        struct doc *d AUTO(doc_free) = read_text(text);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                if (strcmp(shown(d, row[i].path), row[i].want) != 0)
                        fail_msg("%s: %s, not %s", row[i].path, shown(d, row[i].path), row[i].want);
}

/* Members or items as "key=text key=text …", or the error's text. */
static const char *listed(const struct doc *d, const char *key, size_t max)
{
        static char out[ERR_TEXT_MAX];
        struct doc_member member[8];
        uint32_t in = DOC_NONE, item[8];
        struct err err = {0};
        char *to = out;
        assert_int_equal(doc_find(d, doc_object(d, 0)->root, text_of(key), &in, &err), 0);
        bool sequence = doc_type(d, in) == DOC_SEQUENCE;
        int n = sequence ? doc_items(d, in, max, item, &err) : doc_members(d, in, max, member, &err);
        if (n < 0)
                to += sprintf(to, "%s", err.text);
        *to = '\0';
        for (int i = 0; i < n; i++)
                to += sprintf(to, "%.*s=%.*s ", TEXT_ARG(sequence ? TEXT("") : member[i].key),
                              TEXT_ARG(doc_text(d, sequence ? item[i] : member[i].value)));
        return out;
}

static void members_and_items_are_listed(void **state)
{
        (void)state;
        static const struct {
                const char *key;
                size_t max;
                const char *want;
        } row[] = {
                {"base", 8, "a=1 b=2 "},
                {"base", 2, "a=1 b=2 "},
                {"base", 1, "line 1, column 17: more than 1 keys"},
                {"merged", 8, "b=3 c=4 a=1 "},
                {"list", 8, "=x =y "},
                {"list", 1, "line 3, column 14: more than 1 items"},
                {"alias", 8, "=x =y "},
                {"null", 8, ""},
                {"absent", 8, ""},
                {"text", 8, "line 6, column 7: a mapping is expected here"},
                {"twice", 8, "line 7, column 15: key 'a' is there twice"},
                {"keys", 8, "line 8, column 8: a key must be a text"},
                {"empty", 8, ""},
                {"none", 8, ""},
        };
        struct doc *d AUTO(doc_free) = read_text("base: &b {a: 1, b: 2}\nmerged: {<<: [*b, {c: 9}], b: 3, c: 4}\n"
                                                 "list: &l [x, y]\nalias: *l\n'null': ~\ntext: x\ntwice: {a: 1, a: 2}\n"
                                                 "keys: {[x]: 1}\nempty: {}\nnone: []\n");
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                if (strcmp(listed(d, row[i].key, row[i].max), row[i].want) != 0)
                        fail_msg("%s: %s, not %s", row[i].key, listed(d, row[i].key, row[i].max), row[i].want);
}

/* Each mapping merges the one before twice: what is absent from all would be looked for in 2^40. */
static void merges_cannot_explode(void **state)
{
        (void)state;
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, 1 << 20);
        buf_add_text(&b, "m0: &m0 {a: 1}\n");
        for (int i = 1; i < 40; i++)
                buf_printf(&b, "m%d: &m%d {<<: [*m%d, *m%d]}\n", i, i, i - 1, i - 1);
        buf_add_text(&b, "last: *m39\n");
        struct doc *d AUTO(doc_free) = read_text(b.data);
        assert_string_equal(shown(d, "last.a"), "number 1");
        assert_non_null(strstr(shown(d, "last.b"), "more than 64 mappings are merged"));
}

/* A list of lists of lists by aliases stays one object each. */
static void lists_cannot_explode(void **state)
{
        (void)state;
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, 1 << 20);
        buf_add_text(&b, "l0: &l0 {kind: List, items: []}\n");
        for (int i = 1; i < 8; i++)
                buf_printf(&b, "l%d: &l%d {kind: List, items: [*l%d, *l%d]}\n", i, i, i - 1, i - 1);
        buf_add_text(&b, "kind: List\nitems: [*l7, *l7]\n");
        struct doc *d AUTO(doc_free) = read_text(b.data);
        assert_int_equal(doc_count(d), 2);
        assert_string_equal(doc_object(d, 0)->refused,
                            "line 10, column 9: the object is an alias: write out what it stands for");
}

/* Each of many objects stands for, merges or holds one of many members: looking through them costs as much as the text
 * is long, and what cannot be told any more is not edited. */
static void aliases_of_large_mappings_cannot_explode(void **state)
{
        (void)state;
        enum { MEMBERS = 20000, ITEMS = 20000 };
        static const char *const item[] = {"- *b\n", "- {<<: *b}\n", "- {metadata: *b}\n"};
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, 4 << 20);
        for (size_t i = 0; i < sizeof item / sizeof *item; i++) {
                buf_reset(&b);
                buf_add_text(&b, "kind: List\nitems:\n- &b {kind: A");
                for (int k = 0; k < MEMBERS; k++)
                        buf_printf(&b, ",k%d", k);
                buf_add_text(&b, "}\n");
                for (int k = 0; k < ITEMS; k++)
                        buf_add_text(&b, item[i]);
                struct doc *d AUTO(doc_free) = read_text(b.data);
                assert_int_equal(doc_count(d), ITEMS + 1);
                assert_int_equal(doc_object(d, 0)->name.len, 0);
                assert_non_null(doc_object(d, ITEMS)->refused);
                struct err err = {0};
                uint32_t found;
                assert_int_equal(doc_find(d, doc_object(d, 0)->root, TEXT("spec"), &found, &err), ERR_INVALID);
                assert_non_null(strstr(err.text, "aliases of large mappings make the text too large to look through"));
        }
}

static void refuses(const struct buf *b, int code, const char *want)
{
        struct err err = {0};
        struct doc *d AUTO(doc_free) = doc_new(b->data, b->len, &err);
        assert_null(d);
        assert_int_equal(err.code, code);
        assert_string_equal(err.text, want);
        assert_null(doc_new(b->data, b->len, NULL));
}

static void fill(struct buf *b, const char *begin, const char *each, size_t n)
{
        buf_reset(b);
        buf_add_text(b, begin);
        for (size_t i = 0; i < n; i++)
                buf_add_text(b, each);
}

static void everything_is_bounded(void **state)
{
        (void)state;
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, 128 << 20);
        fill(&b, "", "# 5678901234567\n", (DOC_BYTES_MAX >> 4) + 1);
        refuses(&b, ERR_TOOBIG, "the text is 67108880 bytes long: at most 67108864 are read");
        fill(&b, "", "{}", DOC_OBJECTS_MAX + 1);
        refuses(&b, ERR_TOOBIG, "more than 262144 objects");
        fill(&b, "{\"a\":[0", ",0", DOC_NODES_MAX);
        buf_add_text(&b, "]}");
        refuses(&b, ERR_TOOBIG, "line 1, column 16777217: more than 8388608 keys and values");
        fill(&b, "a: ", "[", DOC_FLOW_MAX + 1);
        refuses(&b, ERR_INVALID, "line 1, column 68: brackets are nested more than 64 deep");
        fill(&b, "", "- ", DOC_DEPTH_MAX + 1);
        refuses(&b, ERR_INVALID, "line 1, column 513: values are nested more than 256 deep");
        fill(&b, "", "%TAG !a! b\n", 1001);
        refuses(&b, ERR_INVALID, "line 1, column 1: more than 1000 lines begin with %");
}

static void an_edit_checks_what_it_is_given(void **state)
{
        (void)state;
        static const struct doc_step path[] = {DOC_KEY("b")};
        struct doc_change change = {.path = path, .steps = 1, .form = DOC_STRING, .value = TEXT("caf\xe9")};
        struct buf out __attribute__((cleanup(buf_release_auto)));
        struct err err = {0};
        struct doc *d AUTO(doc_free) = read_text("a: 1\n");
        buf_init(&out, 5);
        assert_int_equal(doc_edit(d, 0, NULL, 0, &err), 0);
        assert_int_equal(doc_edit(d, 0, &change, 1, &err), ERR_INVALID);
        assert_string_equal(err.text, "a value to be set is not UTF-8");
        assert_int_equal(doc_write(d, &out, &err), 0);
        assert_string_equal(out.data, "a: 1\n");
        change.value = TEXT("x");
        assert_int_equal(doc_edit(d, 0, &change, 1, &err), 1);
        assert_true(doc_changed(d));
        buf_reset(&out);
        assert_int_equal(doc_write(d, &out, &err), ERR_TOOBIG);
        assert_string_equal(err.text, "the edited text is longer than 5 bytes");
        doc_free(NULL);
}

/* "line:keys " of each document: where one ends is told by whole lines alone. */
static void documents_are_told_apart(void **state)
{
        (void)state;
        static const struct {
                const char *text, *want;
        } row[] = {
                {"a: 1\n---\nb: 2\n", "1:a 3:b "},
                {"a: 1\n---", "1:a "},
                {"a: 1\r\n---\r\nb: 2\r\n", "1:a 3:b "},
                {"a: 1\n---b: 2\n", "1:a---b "},
                {"a: 1\n--- # c\nb: 2\n", "1:a 3:b "},
                {"a: 1\n---\t# c\nb: 2\n", "1:a 3:b "},
                {"a: 1\n--- {b: 2}\n---\n---\nc: 3\n", "1:a 2:b 5:c "},
                {"a: 1\n...\nb: 2\n", "1:a 3:b "},
                {"a: 1\n...b: 2\n", "1:a...b "},
                {"a: |\n  ---\n  x\nb: 2\n", "1:ab "},
                {"# c\n  \n%YAML 1.1\n  \n---\na: 1\n...\n%YAML 1.1\n---\nb: 2\n", "6:a 10:b "},
                {"\xef\xbb\xbf"
                 "a: 1\n---\n\xef\xbb\xbf"
                 "b: 2\n",
                 "1:a 3:b "},
                {"{\"a\":1}{\"b\":2}\n---\n{\"c\":3}\n", "1:a 1:b 3:c "},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct doc *d AUTO(doc_free) = read_text(row[i].text);
                char got[128] = "", *to = got;
                for (size_t k = 0; k < doc_count(d); k++) {
                        struct doc_member m[4];
                        int n = doc_members(d, doc_object(d, k)->root, 4, m, NULL);
                        to += sprintf(to, "%u:", doc_object(d, k)->line);
                        for (int j = 0; j < n; j++)
                                to += sprintf(to, "%.*s", TEXT_ARG(m[j].key));
                        to += sprintf(to, " ");
                }
                if (strcmp(got, row[i].want) != 0)
                        fail_msg("%s: '%s', not '%s'", row[i].text, got, row[i].want);
        }
}

static void nothing_is_no_object(void **state)
{
        (void)state;
        static const char *const text[] = {"",    "\n",    "# x\n", "---\n",        "---\n...\n---\n",
                                           "~\n", "- a\n", "[]",    "\xef\xbb\xbf", "null\n--- # x\n"};
        for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
                struct doc *d AUTO(doc_free) = read_text(text[i]);
                if (doc_count(d) != 0)
                        fail_msg("'%s' holds %zu objects", text[i], doc_count(d));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(values_are_found),
                cmocka_unit_test(members_and_items_are_listed),
                cmocka_unit_test(merges_cannot_explode),
                cmocka_unit_test(lists_cannot_explode),
                cmocka_unit_test(everything_is_bounded),
                cmocka_unit_test(an_edit_checks_what_it_is_given),
                cmocka_unit_test(nothing_is_no_object),
                cmocka_unit_test(documents_are_told_apart),
                cmocka_unit_test(aliases_of_large_mappings_cannot_explode),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
