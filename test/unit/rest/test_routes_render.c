/* POST …/render as callers see it: types, headers, problems, the list of ?dryRun as it is described. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../support/openapi.h"
#include "base/yaml.h"
#include "routes_fixture.h"

#define DEPLOYMENT(name, ns)                                                                                           \
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: " name ", namespace: " ns                            \
        "}, spec: {template: {spec: {containers: [{name: app, resources: {requests: {cpu: 2}}}]}}}}\n"
#define POD "{apiVersion: v1, kind: Pod, metadata: {name: p}}\n"

static void post(struct fixture *f, const char *query, const char *type, const char *body)
{
        const struct request r = {.method = TEXT("POST"),
                                  .path = TEXT("/api/v1/namespaces/shop/render"),
                                  .query = text_of(query),
                                  .content_type = text_of(type),
                                  .body = text_of(body),
                                  .at = f->at};
        fixture_request(f, &r);
        assert_true(f->matched);
        route_render(&f->route, &r, f->view, &f->arena, &f->got);
}

static bool has_header(const struct fixture *f, const char *name, const char *want)
{
        const char *value = fixture_header(f, name);
        return want ? value && strcmp(value, want) == 0 : !value;
}

static void test_answers(void **state)
{
        (void)state;
        static const struct {
                const char *type, *body;
                unsigned status;
                const char *answered, *says; /* the type of the answer, and something in it */
                const char *changed, *left, *why;
        } row[] = {
                {"application/yaml", DEPLOYMENT("web", "shop"), 200, "application/yaml", "cpu: 454m", "1", "0", NULL},
                {"text/yaml; charset=utf-8", DEPLOYMENT("web", "shop"), 200, "text/yaml", "cpu: 454m", "1", "0", NULL},
                {"Application/X-YAML", "# nothing\n", 200, "application/x-yaml", "# nothing\n", "0", "0", NULL},
                {"text/plain", DEPLOYMENT("new", "shop"), 200, "text/plain", "cpu: 1", "1", "0", NULL},
                {"", DEPLOYMENT("new", "shop"), 200, "application/yaml", "cpu: 1", "1", "0", NULL},
                {"application/json", "{\"a\": 1}", 200, "application/json", "{\"a\": 1}", "0", "0", NULL},
                {"application/yaml", "", 200, "application/yaml", "", "0", "0", NULL},
                {"application/yaml",
                 DEPLOYMENT("web", "bank") "---\n" POD "---\n" POD "---\n" DEPLOYMENT("web", "shop"), 200,
                 "application/yaml", "cpu: 454m", "1", "3", "OtherNamespace, NoTarget"},
                {"application/x-www-form-urlencoded", "a: 1\n", 415, "application/problem+json", "application/yaml",
                 NULL, NULL, NULL},
                {"application/json-seq", "a: 1\n", 415, "application/problem+json", "", NULL, NULL, NULL},
                {"application/yaml", "a: 1\n  b: [\n", 400, "application/problem+json", "\"line 2, column ", NULL, NULL,
                 NULL},
                {"application/json", "{\"a\": ", 400, "application/problem+json", "line ", NULL, NULL, NULL},
        };
        struct fixture f;
        fixture_init(&f);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                post(&f, "", row[i].type, row[i].body);
                const char *body = f.got.body.data ? f.got.body.data : "";
                if (f.got.status != row[i].status || strcmp(f.got.type, row[i].answered) != 0 ||
                    !strstr(body, row[i].says) || !has_header(&f, "X-Halflife-Changed", row[i].changed) ||
                    !has_header(&f, "X-Halflife-Left", row[i].left) || !has_header(&f, "X-Halflife-Reason", row[i].why))
                        fail_msg("row %zu: %u %s\n%s", i, f.got.status, f.got.type, body);
        }
        fixture_release(&f);
}

static void test_dry_run(void **state)
{
        (void)state;
        struct fixture f;
        struct err err = {0};
        fixture_init(&f);
        const char *text = fixture_get(&f, "/openapi.yaml");
        AUTO(json_decref) json_t *described = yaml_read(text, f.got.body.len, &err);
        assert_non_null(described);
        post(&f, "dryRun", "application/yaml",
             POD "---\n" DEPLOYMENT("web", "bank") "---\n" DEPLOYMENT("web", "shop") "---\n{{ x }}: [\n");
        AUTO(json_decref) json_t *list = json_loadb(f.got.body.data, f.got.body.len, 0, NULL);
        assert_string_equal(f.got.type, "application/json");
        if (!list || openapi_check_schema(described, "Rendered", list, &err) < 0)
                fail_msg("%s: %s", err.text, f.got.body.data);
        assert_int_equal(json_array_size(list), 4);
        const json_t *changes = json_object_get(json_array_get(list, 2), "changes");
        assert_string_equal(json_string_value(json_object_get(json_array_get(changes, 0), "to")), "454m");
        assert_true(has_header(&f, "X-Halflife-Changed", "1") && has_header(&f, "X-Halflife-Left", "3"));
        fixture_release(&f);
}

/* A hold's reason may be long. */
static void test_long_words(void **state)
{
        (void)state;
        enum { WORDS = 200 << 10 };
        struct fixture f;
        fixture_init(&f);
        AUTO(mem_free) char *hold = mem_new(WORDS + 1);
        memset(hold, 1, WORDS);
        for (size_t i = 0; i < f.view->targets; i++)
                ((struct snapshot_target *)(uintptr_t)f.view->target[i])->hold = hold;
        struct buf in;
        buf_init(&in, 1 << 20);
        for (int i = 0; i < 100; i++)
                buf_add_text(&in, DEPLOYMENT("web", "shop") "---\n");
        post(&f, "dryRun", "", in.data);
        assert_int_equal(f.got.status, 200);
        assert_in_range(f.got.body.len, 1000, 2 << 20);
        buf_release(&in);
        fixture_release(&f);
}

/* A list without an end is refused, not made. */
static void test_a_list_too_large(void **state)
{
        (void)state;
        enum { DOCUMENTS = 100000, NAMES = 250 };
        struct fixture f;
        struct buf in;
        char name[NAMES + 1];
        fixture_init(&f);
        buf_init(&in, 64 << 20);
        memset(name, 'a', NAMES);
        name[NAMES] = '\0';
        for (int i = 0; i < DOCUMENTS; i++)
                buf_printf(&in, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"\\u0001%s\"}}\n",
                           name);
        for (int i = 0; i < 2; i++) {
                post(&f, i ? "dryRun" : "", "application/json", in.data);
                if (f.got.status != (i ? 413u : 200u))
                        fail_msg("%u %.200s", f.got.status, f.got.body.data);
        }
        buf_release(&in);
        fixture_release(&f);
}

static void test_the_api_server_is_away(void **state)
{
        (void)state;
        struct fixture f;
        fixture_init(&f);
        f.view->source_error = "refused";
        f.at = f.view->at;
        f.view->source_since_ms = f.at.ms - 90 * SECOND_MS;
        post(&f, "", "application/yaml", DEPLOYMENT("web", "shop"));
        assert_int_equal(f.got.status, 200);
        assert_true(has_header(&f, "Age", "90"));
        fixture_release(&f);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_answers),
                cmocka_unit_test(test_dry_run),
                cmocka_unit_test(test_long_words),
                cmocka_unit_test(test_a_list_too_large),
                cmocka_unit_test(test_the_api_server_is_away),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
