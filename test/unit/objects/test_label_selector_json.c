#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/yaml.h"
#include "objects/label_selector.h"

MEM_AUTO(selector_free, struct selector *)

static json_t *yaml(const char *text)
{
        struct err err = {0};
        json_t *json = yaml_read(text, strlen(text), &err);
        if (!json)
                fail_msg("%s: %s", text, err.text);
        return json;
}

/* "a=1 b=2" as labels. */
static size_t labels_of(const char *text, struct label_pair out[static 8])
{
        size_t n = 0;
        while (*text) {
                size_t key = strcspn(text, "="), value = strcspn(text + key + 1, " ");
                out[n++] = (struct label_pair){{text, key}, {text + key + 1, value}};
                text += key + 1 + value;
                text += *text == ' ';
        }
        return n;
}

static void test_match(void **state)
{
        (void)state;
        static const struct {
                const char *selector, *labels;
                bool want;
        } row[] = {
                {"{}", "", true},
                {"{}", "app=web", true},
                {"{matchLabels: {}}", "app=web", true},
                {"{matchLabels: {app: web}}", "app=web", true},
                {"{matchLabels: {app: web}}", "tier=x app=web", true},
                {"{matchLabels: {app: web}}", "app=webs", false},
                {"{matchLabels: {app: web}}", "apps=web", false},
                {"{matchLabels: {app: web}}", "", false},
                {"{matchLabels: {app: ''}}", "app=", true},
                {"{matchLabels: {app: ''}}", "", false},
                {"{matchLabels: {app: web, tier: a}}", "app=web", false},
                {"{matchLabels: {app: web, tier: a}}", "tier=a app=web", true},
                {"{matchLabels: {app: web}}", "app=web app=db", true}, /* the first counts */
                {"{matchLabels: {app: web}}", "app=db app=web", false},
                {"{matchExpressions: [{key: app, operator: In, values: [web, db]}]}", "app=db", true},
                {"{matchExpressions: [{key: app, operator: In, values: [web, db]}]}", "app=x", false},
                {"{matchExpressions: [{key: app, operator: In, values: [web, db]}]}", "", false},
                {"{matchExpressions: [{key: app, operator: NotIn, values: [web]}]}", "app=db", true},
                {"{matchExpressions: [{key: app, operator: NotIn, values: [web]}]}", "app=web", false},
                {"{matchExpressions: [{key: app, operator: NotIn, values: [web]}]}", "", true},
                {"{matchExpressions: [{key: app, operator: Exists}]}", "app=", true},
                {"{matchExpressions: [{key: app, operator: Exists, values: []}]}", "", false},
                {"{matchExpressions: [{key: app, operator: DoesNotExist}]}", "", true},
                {"{matchExpressions: [{key: app, operator: DoesNotExist}]}", "app=web", false},
                {"{matchLabels: {app: web}, matchExpressions: [{key: a.b/c, operator: Exists}]}", "app=web", false},
                {"{matchLabels: {app: web}, matchExpressions: [{key: a.b/c, operator: Exists}]}", "app=web a.b/c=1",
                 true},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(json_decref) json_t *json = yaml(row[i].selector);
                AUTO(selector_free) struct selector *s = NULL;
                struct label_pair label[8];
                struct err err;
                if (selector_read(json, &selector_of_profile, &s, &err) < 0)
                        fail_msg("%s: %s", row[i].selector, err.text);
                if (selector_match(s, label, labels_of(row[i].labels, label)) != row[i].want)
                        fail_msg("%s on '%s'", row[i].selector, row[i].labels);
        }
}

static void test_empty_is_null(void **state)
{
        (void)state;
        struct selector *s = NULL;
        AUTO(json_decref) json_t *null = json_null(), *empty = json_object();
        assert_int_equal(selector_read(NULL, &selector_of_profile, &s, NULL), 0);
        assert_int_equal(selector_read(null, &selector_of_profile, &s, NULL), 0);
        assert_int_equal(selector_read(empty, &selector_of_profile, &s, NULL), 0);
        assert_null(s);
        assert_true(selector_match(NULL, NULL, 0));
        assert_false(selector_names(NULL, TEXT("a"), TEXT("b")));
        selector_free(NULL);
}

static void test_refused(void **state)
{
        (void)state;
        static const struct {
                const char *selector, *why;
        } row[] = {
                {"[]", "is not an object"},
                {"{matchLabel: {a: b}}", "unknown field 'matchLabel'"},
                {"{matchLabels: []}", "matchLabels is not an object"},
                {"{matchLabels: {a: 1}}", "matchLabels: a value for 'a' is not text"},
                {"{matchLabels: {a: true}}", "is not text"},
                {"{matchLabels: {a: 'x y'}}", "'x y' is not a label value"},
                {"{matchLabels: {a: 'x,y'}}", "several values need matchExpressions"},
                {"{matchLabels: {a: '-x'}}", "'-x' is not a label value"},
                {"{matchLabels: {a: aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg}}", "at most 63"},
                {"{matchLabels: {'': x}}", "key '' is not a label's name"},
                {"{matchLabels: {'A.b/x': x}}", "key 'A.b/x'"},
                {"{matchLabels: {'/x': x}}", "key '/x'"},
                {"{matchLabels: {'a/': x}}", "key 'a/'"},
                {"{matchLabels: {'a/b/c': x}}", "key 'a/b/c'"},
                {"{matchExpressions: {}}", "matchExpressions is not a list"},
                {"{matchExpressions: [{operator: Exists}]}", "matchExpressions[0]: key is missing"},
                {"{matchExpressions: [{key: 7, operator: Exists}]}", "key is missing"},
                {"{matchExpressions: [{key: 'a b', operator: Exists}]}", "key 'a b'"},
                {"{matchExpressions: [{key: a}]}", "operator '' is not In"},
                {"{matchExpressions: [{key: a, operator: Exists}, {key: a, operator: exists}]}",
                 "matchExpressions[1]: operator 'exists'"},
                {"{matchExpressions: [{key: a, operator: In}]}", "values: In needs at least one"},
                {"{matchExpressions: [{key: a, operator: NotIn, values: []}]}", "values: NotIn needs at least one"},
                {"{matchExpressions: [{key: a, operator: Exists, values: [x]}]}", "values: Exists takes none"},
                {"{matchExpressions: [{key: a, operator: In, values: [1]}]}", "is not text"},
                {"{matchExpressions: [{key: a, operator: In, values: [x, 'y ']}]}", "'y ' is not a label value"},
                {"{matchExpressions: [x]}", "key is missing"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(json_decref) json_t *json = yaml(row[i].selector);
                struct selector *s = NULL;
                struct err err = {0};
                if (selector_read(json, &selector_of_profile, &s, &err) != ERR_INVALID ||
                    !strstr(err.text, row[i].why) || s)
                        fail_msg("%s: '%s'", row[i].selector, err.text);
                assert_int_equal(selector_read(json, &selector_of_profile, &s, NULL), ERR_INVALID);
        }
}

static json_t *long_selector(const struct selector_bounds *of, int more)
{
        json_t *labels = json_object(), *list = json_array(), *many = json_array();
        for (size_t i = 0; i < of->labels + (more == 1); i++) {
                char key[24];
                snprintf(key, sizeof key, "k%zu", i);
                json_object_set_new(labels, key, json_string("v"));
        }
        for (size_t i = 0; i < of->values + (more == 3); i++)
                json_array_append_new(many, json_string("v"));
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "key", "a", "operator", "In", "values", many));
        for (size_t i = 1; i < of->expressions + (more == 2); i++)
                json_array_append_new(list, json_pack("{s:s, s:s}", "key", "x", "operator", "Exists"));
        return json_pack("{s:o, s:o}", "matchLabels", labels, "matchExpressions", list);
}

/* A profile's selector is bounded as in the CRD. Others' is read however long it is. */
static void test_bounds(void **state)
{
        (void)state;
        static const struct selector_bounds *const of[] = {&selector_of_profile, &selector_of_others};
        assert_int_equal(selector_of_profile.labels, 16);
        for (int i = 0; i < 2; i++)
                for (int more = 0; more <= 3; more++) {
                        AUTO(json_decref) json_t *json = long_selector(of[i], more);
                        AUTO(selector_free) struct selector *s = NULL;
                        struct err err = {0};
                        if (selector_read(json, of[i], &s, &err) != (more ? ERR_TOOBIG : 0))
                                fail_msg("bounds %d, more %d: %s", i, more, err.text);
                        assert_int_equal(s ? s->count : 0, more ? 0 : of[i]->labels + of[i]->expressions);
                }
}

/* The text of a scale subresource, as autoscalers hand it on. */
static void test_long_texts(void **state)
{
        (void)state;
        for (int more = 0; more <= 1; more++) {
                struct arena a = {0};
                struct selector *s = NULL;
                struct buf in;
                size_t values = selector_of_others.values + (size_t)more;
                buf_init(&in, 1 << 17);
                buf_add_text(&in, "app=web,k in (v");
                for (size_t i = 1; i < values; i++)
                        buf_printf(&in, ",v%zu", i);
                buf_add_text(&in, ")");
                for (int i = 0; i < 40; i++)
                        buf_printf(&in, ",k%d=v", i);
                assert_int_equal(selector_parse(buf_text(&in), &a, &s, NULL), more ? ERR_TOOBIG : 0);
                if (!more) {
                        assert_int_equal(s->count, 42);
                        assert_int_equal(s->of[1].values, values);
                        assert_string_equal(s->of[41].value[0], "v");
                }
                buf_release(&in);
                arena_release(&a);
        }
}

static void test_names(void **state)
{
        (void)state;
        AUTO(json_decref)
        json_t *json = yaml("{matchLabels: {kubernetes.io/metadata.name: kube-system},"
                            " matchExpressions: [{key: team, operator: In, values: [a, b]},"
                            " {key: env, operator: NotIn, values: [prod]}]}");
        AUTO(selector_free) struct selector *s = NULL;
        struct err err;
        assert_int_equal(selector_read(json, &selector_of_profile, &s, &err), 0);
        assert_true(selector_names(s, TEXT("kubernetes.io/metadata.name"), TEXT("kube-system")));
        assert_false(selector_names(s, TEXT("kubernetes.io/metadata.name"), TEXT("kube-public")));
        assert_true(selector_names(s, TEXT("team"), TEXT("b")));
        assert_false(selector_names(s, TEXT("env"), TEXT("prod")));
        assert_false(selector_names(s, TEXT("nothing"), TEXT("b")));
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_match),  cmocka_unit_test(test_empty_is_null), cmocka_unit_test(test_refused),
                cmocka_unit_test(test_bounds), cmocka_unit_test(test_long_texts),    cmocka_unit_test(test_names),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
