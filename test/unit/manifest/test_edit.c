/*
 * Documents edited in place, by the files of test/data/render: NAME.in.yaml (or .json), what NAME.edits asks of it, and
 * NAME.out.yaml. Of the lines of .edits
 *     set 0 quantity|string PATH VALUE       (object number; / between keys and item numbers, ~1 for / within a key)
 *     remove 0 PATH
 *     refused 0 REASON                       (its edits are not made, and this is why)
 *     object 0 apiVersion kind namespace/name line:column       (as it is read, - where absent)
 * Without .out the text stays as it is. bad-NAME.in.yaml cannot be read, bad-NAME.error tells why.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <glob.h>

#include "base/file_read.h"
#include "manifest/document.h"

#define DIR "test/data/render/"

enum { STEPS_MAX = 16, PATHS_MAX = 256, CHANGES_MAX = 32, OBJECTS_MAX = 64, FILE_MAX = 64 << 20 };

struct script {
        struct doc_step step[PATHS_MAX][STEPS_MAX];
        struct doc_change change[OBJECTS_MAX][CHANGES_MAX];
        size_t changes[OBJECTS_MAX], steps;
        const char *refused[OBJECTS_MAX];
        const char *name;
};

static char *file_of(const char *name, const char *end, size_t *ret_len)
{
        char path[256];
        struct err err = {0};
        snprintf(path, sizeof path, DIR "%s%s", name, end);
        return file_read(path, FILE_MAX, ret_len, &err);
}

static char *input_of(const char *name, size_t *ret_len)
{
        char *text = file_of(name, ".in.yaml", ret_len);
        return text ? text : file_of(name, ".in.json", ret_len);
}

/* --- scripts --- */

/* Cut path into steps, in place. */
static size_t path_parse(char *path, struct doc_step *step)
{
        size_t n = 0;
        char *save, *part = strtok_r(path, "/", &save);
        for (; part; part = strtok_r(NULL, "/", &save)) {
                assert_true(n < STEPS_MAX);
                if (part[strspn(part, "0123456789")] == '\0') {
                        step[n++] = (struct doc_step)DOC_ITEM((size_t)atoi(part));
                        continue;
                }
                for (char *escaped; (escaped = strstr(part, "~1"));) {
                        *escaped = '/';
                        memmove(escaped + 1, escaped + 2, strlen(escaped + 2) + 1);
                }
                step[n++] = (struct doc_step){.key = text_of(part)};
        }
        return n;
}

static void change_add(struct script *s, size_t object, enum doc_form form, char *path, char *value)
{
        assert_true(object < OBJECTS_MAX && s->changes[object] < CHANGES_MAX && s->steps < PATHS_MAX);
        struct doc_step *step = s->step[s->steps++];
        s->change[object][s->changes[object]++] = (struct doc_change){
                .path = step, .steps = path_parse(path, step), .form = form, .value = text_of(value)};
}

static const char *shown(struct text t)
{
        static char text[4][300];
        static int turn;
        char *out = text[turn++ % 4];
        snprintf(out, sizeof text[0], "%.*s", t.len ? (int)t.len : 1, t.len ? t.p : "-");
        return out;
}

static void object_check(const struct doc *d, const char *name, size_t object, const char *want)
{
        char got[1024];
        if (object >= doc_count(d))
                fail_msg("%s: there are %zu objects", name, doc_count(d));
        const struct doc_object *o = doc_object(d, object);
        snprintf(got, sizeof got, "%s %s %s/%s %u:%u", shown(o->api_version), shown(o->kind), shown(o->namespace),
                 shown(o->name), o->line, o->column);
        if (strcmp(got, want) != 0)
                fail_msg("%s: object %zu is\n%s, not\n%s", name, object, got, want);
}

static void line_parse(struct script *s, const struct doc *d, char *line)
{
        char *rest = line, *verb = strsep(&rest, " ");
        size_t object = (size_t)atoi(strsep(&rest, " "));
        if (strcmp(verb, "set") == 0) {
                const char *form = strsep(&rest, " ");
                char *path = strsep(&rest, " ");
                change_add(s, object, strcmp(form, "string") == 0 ? DOC_STRING : DOC_QUANTITY, path, rest);
        } else if (strcmp(verb, "remove") == 0) {
                change_add(s, object, DOC_REMOVE, rest, NULL);
        } else if (strcmp(verb, "refused") == 0) {
                s->refused[object] = rest;
        } else if (strcmp(verb, "object") == 0) {
                object_check(d, s->name, object, rest);
        } else {
                fail_msg("%s: what is '%s'?", s->name, verb);
        }
}

static void script_parse(struct script *s, const struct doc *d, char *text)
{
        char *save;
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
                if (*line != '#')
                        line_parse(s, d, line);
}

/* --- editing --- */

static int apply(struct script *s, struct doc *d)
{
        int altered = 0;
        for (size_t i = 0; i < OBJECTS_MAX && i < doc_count(d); i++) {
                struct err err = {0};
                if (s->changes[i] == 0 && !s->refused[i])
                        continue;
                int rc = doc_edit(d, i, s->change[i], s->changes[i], &err);
                if (s->refused[i] ? strcmp(err.text, s->refused[i]) != 0 : rc < 0)
                        fail_msg("%s: object %zu gave %d '%s', not '%s'", s->name, i, rc, err.text,
                                 s->refused[i] ? s->refused[i] : "");
                altered += rc > 0 ? rc : 0;
        }
        return altered;
}

static void written_is(struct doc *d, const char *name, const char *want, size_t len)
{
        struct buf out __attribute__((cleanup(buf_release_auto)));
        struct err err = {0};
        buf_init(&out, FILE_MAX);
        assert_int_equal(doc_write(d, &out, &err), 0);
        if (out.len != len || memcmp(out.data ? out.data : "", want, len) != 0)
                fail_msg("%s became\n%.*s<- not\n%.*s<-", name, (int)out.len, out.data, (int)len, want);
}

/* Edited once it is as wanted; edited again it stays so. */
static void run_script(const char *name)
{
        static struct script s, again;
        size_t in_len, out_len, edits_len;
        char *in AUTO(mem_free) = input_of(name, &in_len);
        char *out AUTO(mem_free) = file_of(name, ".out.yaml", &out_len);
        out = out ? out : file_of(name, ".out.json", &out_len);
        char *edits AUTO(mem_free) = file_of(name, ".edits", &edits_len);
        struct err err = {0};
        if (!in || !edits)
                fail_msg("%s: a file is missing", name);
        struct doc *d AUTO(doc_free) = doc_new(in, in_len, &err);
        if (!d)
                fail_msg("%s: %s", name, err.text);
        written_is(d, name, in, in_len);
        memset(&s, 0, sizeof s);
        s.name = name;
        script_parse(&s, d, edits);
        int altered = apply(&s, d);
        written_is(d, name, out ? out : in, out ? out_len : in_len);
        if (!out)
                return;
        assert_true(altered > 0);
        struct doc *second AUTO(doc_free) = doc_new(out, out_len, &err);
        if (!second)
                fail_msg("%s: what was written: %s", name, err.text);
        memcpy(&again, &s, sizeof s);
        for (size_t i = 0; i < OBJECTS_MAX; i++)
                for (size_t j = 0; j < s.changes[i]; j++)
                        again.change[i][j] = s.change[i][j];
        assert_int_equal(apply(&again, second), 0);
        assert_false(doc_changed(second));
}

static void each(const char *pattern, const char *end, void run(const char *name))
{
        glob_t found;
        assert_int_equal(glob(pattern, 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++) {
                char *name AUTO(mem_free) = mem_string(found.gl_pathv[i] + strlen(DIR));
                name[strlen(name) - strlen(end)] = '\0';
                run(name);
        }
        globfree(&found);
}

static void documents_come_out_as_wanted(void **state)
{
        (void)state;
        each(DIR "*.edits", ".edits", run_script);
}

static void run_bad(const char *name)
{
        size_t len, want_len;
        struct err err = {0};
        char *text AUTO(mem_free) = input_of(name, &len);
        char *want AUTO(mem_free) = file_of(name, ".error", &want_len);
        assert_non_null(text);
        want[strcspn(want, "\n")] = '\0';
        struct doc *d AUTO(doc_free) = doc_new(text, len, &err);
        if (d || strcmp(err.text, want) != 0)
                fail_msg("%s gave '%s', not '%s'", name, err.text, want);
}

static void broken_documents_tell_the_place(void **state)
{
        (void)state;
        each(DIR "bad-*.error", ".error", run_bad);
}

/* As many as in a large repository, each edited alike. */
static void ten_thousand_documents(void **state)
{
        (void)state;
        enum { DOCUMENTS = 10000 };
        static struct script s;
        size_t in_len, out_len, edits_len;
        char *in AUTO(mem_free) = input_of("plain", &in_len);
        char *out AUTO(mem_free) = file_of("plain", ".out.yaml", &out_len);
        char *edits AUTO(mem_free) = file_of("plain", ".edits", &edits_len);
        struct buf many __attribute__((cleanup(buf_release_auto))), want __attribute__((cleanup(buf_release_auto)));
        struct err err = {0};
        buf_init(&many, FILE_MAX);
        buf_init(&want, FILE_MAX);
        for (int i = 0; i < DOCUMENTS; i++) {
                buf_printf(&many, "%s---\n", in);
                buf_printf(&want, "%s---\n", out);
        }
        struct doc *d AUTO(doc_free) = doc_new(many.data, many.len, &err);
        assert_non_null(d);
        assert_int_equal(doc_count(d), DOCUMENTS);
        s = (struct script){.name = "plain"};
        script_parse(&s, d, edits);
        for (size_t i = 0; i < DOCUMENTS; i++)
                assert_int_equal(doc_edit(d, i, s.change[0], s.changes[0], &err), s.changes[0]);
        written_is(d, "ten thousand", want.data, want.len);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(documents_come_out_as_wanted),
                cmocka_unit_test(broken_documents_tell_the_place),
                cmocka_unit_test(ten_thousand_documents),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
