/*
 * charts/halflife against the program and against itself: its schema knows each setting by the table of settings, which
 * `make docs` writes, and values.yaml has exactly the values that the schema describes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/page.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "cli/settings.h"

#define SCHEMA "charts/halflife/values.schema.json"

/* Settings that the manifests decide (ports, volumes, the pod's own access), so that values may not. */
static const char *const decided[] = {"config",
                                      "kubeconfig",
                                      "context",
                                      "namespace",
                                      "database",
                                      "exempt-namespaces",
                                      "listen",
                                      "serve-listen",
                                      "listen-file",
                                      "custom-metrics-listen",
                                      "custom-metrics-service",
                                      "watcher-listen"};

static bool is_decided(const char *name)
{
        for (size_t i = 0; i < sizeof decided / sizeof decided[0]; i++)
                if (strcmp(decided[i], name) == 0)
                        return true;
        return false;
}

static long long count_of(const char *text)
{
        return strtoll(text, NULL, 10);
}

/* YAML reads true and false as booleans, so that both spellings are allowed. */
static json_t *choices_schema(const char *choices)
{
        json_t *all = json_array();
        AUTO(mem_free) char *copy = mem_string(choices);
        for (char *rest = copy, *word; (word = strsep(&rest, "|"));) {
                json_array_append_new(all, json_string(word));
                if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
                        json_array_append_new(all, json_boolean(*word == 't'));
        }
        return json_pack("{s:o}", "enum", all);
}

static json_t *setting_schema(const struct setting *s)
{
        json_t *schema;
        if (s->kind == SETTING_CHOICE)
                schema = choices_schema(s->choices);
        else if (s->kind == SETTING_COUNT)
                schema = json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)count_of(s->least),
                                   "maximum", (json_int_t)count_of(s->most));
        else if (s->kind == SETTING_DURATION)
                schema = json_pack("{s:s, s:s}", "type", "string", "pattern", "^([0-9.]+(ms|s|m|h))+$");
        else
                schema = json_pack("{s:s}", "type", "string");
        AUTO(json_decref) json_t *rest = schema;
        schema = json_pack("{s:s}", "description", s->help);
        json_object_update(schema, rest);
        return schema;
}

static json_t *settings_schema(enum setting_user user)
{
        json_t *all = json_object();
        for (int i = 0; i < settings_count; i++) {
                const struct setting *s = &setting_table[i];
                bool heeded = user == FOR_ROTATE ? s->rotates : s->only == FOR_BOTH || s->only == user;
                if (!is_decided(s->name) && heeded)
                        json_object_set_new(all, s->name, setting_schema(s));
        }
        return all;
}

static json_t *schema_read(void)
{
        AUTO(mem_free) char *text = page_read(SCHEMA);
        json_error_t why;
        json_t *schema = json_loads(text, JSON_REJECT_DUPLICATES, &why);
        if (!schema)
                fail_msg("%s: line %d: %s", SCHEMA, why.line, why.text);
        return schema;
}

static void the_schema_knows_each_setting(void **state)
{
        (void)state;
        AUTO(json_decref) json_t *schema = schema_read();
        json_t *definitions = json_object_get(schema, "definitions");
        json_object_set_new(json_object_get(definitions, "controllerSettings"), "properties", settings_schema(FOR_RUN));
        json_object_set_new(json_object_get(definitions, "admissionSettings"), "properties",
                            settings_schema(FOR_SERVE));
        json_object_set_new(json_object_get(definitions, "rotateSettings"), "properties", settings_schema(FOR_ROTATE));
        char *dump = json_dumps(schema, JSON_INDENT(2));
        AUTO(mem_free) char *want = mem_printf("%s\n", dump);
        free(dump);
        const char *docs = getenv("DOCS");
        if (docs && strcmp(docs, "write") == 0) {
                FILE *to = fopen(SCHEMA, "we");
                assert_non_null(to);
                fputs(want, to);
                assert_int_equal(fclose(to), 0);
        }
        AUTO(mem_free) char *is = page_read(SCHEMA);
        if (strcmp(is, want) != 0)
                fail_msg("%s is not as the table of settings has it; `make docs` writes it", SCHEMA);
}

static void decided_settings_are_settings(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof decided / sizeof decided[0]; i++) {
                bool known = false;
                for (int k = 0; k < settings_count; k++)
                        known |= strcmp(setting_table[k].name, decided[i]) == 0;
                if (!known)
                        fail_msg("there is no setting '%s'", decided[i]);
        }
}

/* What stands in values must be described. */
static void check_described(const char *path, json_t *values, const json_t *described)
{
        const char *name;
        json_t *each;
        json_object_foreach(values, name, each)
        {
                if (!json_object_get(described, name))
                        fail_msg("%s does not know %s.%s", SCHEMA, path, name);
        }
}

/* Both ways. */
static void compare_values(const char *path, json_t *values, const json_t *schema)
{
        json_t *described = json_object_get(schema, "properties"), *each;
        const char *name;
        if (described)
                check_described(path, values, described);
        json_object_foreach(described, name, each)
        {
                AUTO(mem_free) char *at = mem_printf("%s.%s", path, name);
                json_t *value = json_object_get(values, name);
                if (!value)
                        fail_msg("values.yaml has no %s", at);
                if (!json_object_get(each, "description") && !json_object_get(each, "$ref"))
                        fail_msg("%s does not describe %s", SCHEMA, at);
                compare_values(at, value, each);
        }
}

static void values_have_what_the_schema_describes(void **state)
{
        (void)state;
        struct err err = {0};
        AUTO(json_decref) json_t *schema = schema_read();
        AUTO(mem_free) char *text = page_read("charts/halflife/values.yaml");
        AUTO(json_decref) json_t *values = yaml_read(text, strlen(text), &err);
        if (!values)
                fail_msg("values.yaml: %s", err.text);
        compare_values("", values, schema);
}

/* The chart's own folder holds links, so that an object is written once; a copy that follows none has files in their
 * place, and installs nothing. */
static void the_chart_reaches_the_manifests(void **state)
{
        (void)state;
        AUTO(mem_free) char *crd = page_read("charts/halflife/files/crds/profiles.halflife.dev.yaml");
        AUTO(mem_free) char *policy = page_read("charts/halflife/files/manifests/base/policy.yaml");
        assert_non_null(strstr(crd, "kind: CustomResourceDefinition"));
        assert_true(strlen(policy) > 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_schema_knows_each_setting),
                cmocka_unit_test(decided_settings_are_settings),
                cmocka_unit_test(values_have_what_the_schema_describes),
                cmocka_unit_test(the_chart_reaches_the_manifests),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
