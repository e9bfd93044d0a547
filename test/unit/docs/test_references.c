/*
 * Each setting, metric, command, field, reason, condition and path stands in one page of docs/, which has it from the
 * program's own table, from --help, from a CRD or from openapi.yaml. `make docs` writes these lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/halflife.h"
#include "../../support/page.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "cli/commands.h"
#include "cli/settings.h"
#include "control/controller.h"
#include "core/gates.h"
#include "core/kind.h"
#include "core/reasons.h"
#include "objects/recommendation_status.h"

/* --- tables of the program --- */

static void test_settings(void **state)
{
        (void)state;
        page_check_block("docs/settings.md", "settings", settings_print_markdown);
}

static void test_metrics(void **state)
{
        (void)state;
        page_check_block("docs/metrics.md", "metrics", telemetry_print_markdown);
}

/* What --help says. The commands that take the settings say so: docs/settings.md lists them. */
static void print_commands(FILE *to)
{
        for (size_t i = 0; i < commands_count; i++) {
                bool settings = commands[i]->settings;
                AUTO(mem_free) char *help = HALFLIFE_RUN(0, commands[i]->name, "--help");
                char *options = settings ? strstr(help, "\n\n  ") : NULL;
                if (options)
                        options[1] = '\0';
                fprintf(to, "\n## halflife %s\n\n```text\n%s```\n", commands[i]->name, help);
                if (settings)
                        fputs("\nIts options are the [settings](settings.md).\n", to);
        }
        fputs("\n", to);
}

static void test_commands(void **state)
{
        (void)state;
        page_check_block("docs/commands.md", "commands", print_commands);
}

/* --- fields of the CRDs --- */

static json_t *yaml_of(const char *path)
{
        struct err err = {0};
        AUTO(mem_free) char *text = page_read(path);
        json_t *value = yaml_read(text, strlen(text), &err);
        if (!value)
                fail_msg("%s: %s", path, err.text);
        return value;
}

static const char *text_at(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));
        return text ? text : "";
}

/* A bar would end the cell, and a star begin what is emphasized. */
static void print_cell(FILE *to, const char *text)
{
        for (const char *p = text; *p; p++)
                fprintf(to, strchr("|*<", *p) ? "\\%c" : "%c", *p);
}

/* "`Hold`, `Ignore`", "integer, 50 – 100", "quantity" */
static void print_values(FILE *to, const json_t *schema)
{
        json_t *words = json_object_get(schema, "enum"), *most = json_object_get(schema, "maximum"), *word;
        size_t i;
        json_array_foreach(words, i, word) fprintf(to, "%s`%s`", i ? ", " : "", json_string_value(word));
        if (words)
                return;
        if (json_object_get(schema, "x-kubernetes-int-or-string"))
                fputs("quantity", to);
        else
                fputs(strcmp(text_at(schema, "format"), "date-time") == 0 ? "time" : text_at(schema, "type"), to);
        if (most)
                fprintf(to, ", %lld – %lld", json_integer_value(json_object_get(schema, "minimum")),
                        json_integer_value(most));
}

static void print_default(FILE *to, const json_t *value)
{
        char *text = json_is_object(value) || json_is_array(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
        if (text)
                fprintf(to, "`%s`", text);
        free(text);
}

/* A field of the reasons that targets have (core/reasons.def), and not of others. */
static bool has_reasons(const char *path, const json_t *schema)
{
        const char *first = json_string_value(json_array_get(json_object_get(schema, "enum"), 0));
        return strcmp(strrchr(path, '.'), ".reason") == 0 && first && reason_find(first) != REASON_NONE;
}

/* Reasons and conditions have tables of their own. */
static void print_field(FILE *to, const char *path, const json_t *schema)
{
        const char *description = text_at(schema, "description");
        bool reason = has_reasons(path, schema);
        fprintf(to, "| `%s` | ", path);
        if (!reason)
                print_values(to, schema);
        fputs(" | ", to);
        print_default(to, json_object_get(schema, "default"));
        fputs(" | ", to);
        if (reason)
                fputs("why the target is what it is, or what holds the change first: [Reasons](#reasons)", to);
        else if (strstr(description, "Applied: "))
                fputs("[Conditions](#conditions)", to);
        else
                print_cell(to, description);
        fputs(" |\n", to);
}

/* A field and all below it; of exceptions for a container no more than that they are as the profile's. */
static void print_fields(FILE *to, const char *path, const json_t *schema)
{
        const char *name;
        json_t *each;
        if (json_object_get(schema, "description"))
                print_field(to, path, schema);
        if (strcmp(path, "spec.containers[].resources") == 0)
                return;
        json_object_foreach(json_object_get(schema, "properties"), name, each)
        {
                AUTO(mem_free) char *below = mem_printf("%s.%s", path, name);
                print_fields(to, below, each);
        }
        AUTO(mem_free) char *item = mem_printf("%s[]", path);
        if (json_object_get(schema, "items"))
                print_fields(to, item, json_object_get(schema, "items"));
}

/* The part of a kind's schema: "spec", "status". */
static void print_part(FILE *to, const char *crd, const char *part)
{
        json_t *all = yaml_of(crd), *schema, *each;
        const char *name;
        schema = json_array_get(json_object_get(json_object_get(all, "spec"), "versions"), 0);
        schema = json_object_get(json_object_get(schema, "schema"), "openAPIV3Schema");
        schema = json_object_get(json_object_get(schema, "properties"), part);
        fputs("| field | values | default | what |\n|---|---|---|---|\n", to);
        json_object_foreach(json_object_get(schema, "properties"), name, each)
        {
                AUTO(mem_free) char *path = mem_printf("%s.%s", part, name);
                print_fields(to, path, each);
        }
        json_decref(all);
}

static void print_spec(FILE *to)
{
        print_part(to, "crds/clusterprofiles.halflife.dev.yaml", "spec");
}

static void print_status(FILE *to)
{
        print_part(to, "crds/clusterprofiles.halflife.dev.yaml", "status");
}

static void print_recommendation(FILE *to)
{
        print_part(to, "crds/recommendations.halflife.dev.yaml", "spec");
        fputs("\n", to);
        print_part(to, "crds/recommendations.halflife.dev.yaml", "status");
}

static void test_fields(void **state)
{
        (void)state;
        page_check_block("docs/profiles.md", "fields of spec", print_spec);
        page_check_block("docs/profiles.md", "fields of status", print_status);
        page_check_block("docs/recommendations.md", "fields of Recommendation", print_recommendation);
}

/* --- paths of the REST API --- */

static void print_paths(FILE *to)
{
        json_t *all = yaml_of("src/rest/openapi.yaml"), *path, *operation;
        const char *at, *method;
        fputs("| request | answers |\n|---|---|\n", to);
        json_object_foreach(json_object_get(all, "paths"), at, path)
        {
                json_object_foreach(path, method, operation)
                {
                        if (json_is_object(operation))
                                fprintf(to, "| `%s %s` | %s |\n", strcmp(method, "post") == 0 ? "POST" : "GET", at,
                                        text_at(operation, "summary"));
                }
        }
        json_decref(all);
}

static void test_paths(void **state)
{
        (void)state;
        page_check_block("docs/rest.md", "paths", print_paths);
}

/* --- reasons and conditions --- */

static void print_reasons(FILE *to)
{
        fputs("| reason | meaning |\n|---|---|\n", to);
        for (enum reason r = REASON_NONE + 1; r < REASONS; r++)
                fprintf(to, "| `%s` | %s |\n", reason_name(r), reason_meaning(r));
}

static void test_reasons(void **state)
{
        (void)state;
        page_check_block("docs/recommendations.md", "reasons", print_reasons);
}

static const char *name_of_reason(int i)
{
        return reason_name((enum reason)(REASON_NONE + 1 + i));
}

static const char *name_of_gate(int i)
{
        return gate_name((enum gate)(GATE_NONE + 1 + i));
}

/* Where schemas list the reasons, gates and facts, the lists are the program's. */
static void test_names_of_schemas(void **state)
{
        int facts = 0;
        (void)state;
        while (status_fact_name(facts))
                facts++;
        assert_int_equal(page_check_enums("crds/recommendations.halflife.dev.yaml", status_fact_name, facts), 2);
        assert_in_range(page_check_enums("crds/recommendations.halflife.dev.yaml", name_of_reason, REASONS - 1), 1, 9);
        assert_in_range(page_check_enums("src/rest/openapi.yaml", name_of_reason, REASONS - 1), 1, 9);
        assert_in_range(page_check_enums("src/rest/openapi.yaml", name_of_gate, GATES - 1), 1, 9);
}

#define WHY_THE_TARGET "Why the target has its value or, if a change is held back, the first thing that holds it back."

static void print_meanings(FILE *to)
{
        fputs(WHY_THE_TARGET, to);
        for (enum reason r = REASON_NONE + 1; r < REASONS; r++)
                fprintf(to, " %s: %s.", reason_name(r), reason_meaning(r));
}

/* Each reason has its meaning in the CRD, for kubectl explain: of CPU and of memory, in both versions. */
static void test_reasons_of_the_crd(void **state)
{
        (void)state;
        assert_int_equal(page_check_texts("crds/recommendations.halflife.dev.yaml", "Why the target has its value",
                                          print_meanings),
                         4);
}

/* The CRD says what each fact of status.decision means. */
static void test_facts_of_the_crd(void **state)
{
        (void)state;
        json_t *all = yaml_of("crds/recommendations.halflife.dev.yaml");
        char *text = json_dumps(all, 0), *from = strstr(text, "\"facts\": {\"description\": ");
        assert_non_null(from);
        *strstr(from, "\"type\": \"array\"") = '\0';
        for (int i = 0; status_fact_name(i); i++) {
                AUTO(mem_free) char *said = mem_printf("%s: ", status_fact_name(i));
                if (!strstr(from, said))
                        fail_msg("crds/recommendations.halflife.dev.yaml: the description of status.decision.facts "
                                 "does not say what %s means",
                                 status_fact_name(i));
        }
        free(text);
        json_decref(all);
}

/* Each "Name: " in the CRD's description of conditions is a row, and each row such a name. */
static void test_conditions(void **state)
{
        (void)state;
        AUTO(mem_free) char *block = page_block("docs/recommendations.md", "conditions");
        json_t *all = yaml_of("crds/recommendations.halflife.dev.yaml");
        char *text = json_dumps(all, 0), *from = strstr(text, "\"conditions\": {\"description\": ");
        assert_non_null(from);
        *strstr(from, "\"type\": \"array\"") = '\0';
        int rows = 0, names = 0;
        for (char *line = block; (line = strstr(line, "\n| `")); rows++) {
                AUTO(mem_free) char *name = mem_string_n(line + 4, strcspn(line + 4, "`"));
                AUTO(mem_free) char *said = mem_printf("%s: ", name);
                if (!strstr(from, said))
                        fail_msg("the CRD has no condition '%s'", name);
                line += 4;
        }
        for (const char *p = from; (p = strstr(p, ": ")); p += 2) {
                const char *word = p;
                while (word > from && (word[-1] >= 'A' && word[-1] <= 'z'))
                        word--;
                names += *word >= 'A' && *word <= 'Z';
        }
        assert_int_equal(rows, names);
        free(text);
        json_decref(all);
}

/* --- gates --- */

static void print_gates(FILE *to)
{
        static const char *const stands[GATES] = {
#define DEPLOY_GATE(id, rule, stands) [GATE_##id] = #stands,
#include "core/gates.def"
#undef DEPLOY_GATE
        };
        static const char *const holds[GATES] = {
#define GATE(id, name, rule, reason, direction, open, holds) [GATE_##id] = holds,
#include "core/gates.def"
#undef GATE
        };
        fputs("| gate | holds while | holds | a deploy gets |\n|---|---|---|---|\n", to);
        for (enum gate g = GATE_NONE + 1; g < GATES; g++)
                fprintf(to, "| `%s` | %s | %s | %s |\n", gate_name(g), holds[g],
                        gate_decreases_only(g) ? "decreases" : "every change",
                        !stands[g]                           ? ""
                        : strcmp(stands[g], "PREVIOUS") == 0 ? "what the previous one got"
                                                             : "the original");
}

static void test_gates(void **state)
{
        (void)state;
        page_check_block("docs/concepts.md", "gates", print_gates);
}

/* --- annotations --- */

/* Each annotation that a header names is in the table of names that persist. */
static void test_annotations(void **state)
{
        static const char *const headers[] = {"include/objects/annotation_record.h", "include/objects/decode.h"},
                                 prefix[] = "\"halflife.dev/";
        (void)state;
        AUTO(mem_free) char *page = page_read("docs/internals/store-format.md");
        int seen = 0;
        for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
                AUTO(mem_free) char *text = page_read(headers[i]);
                for (const char *at = text; (at = strstr(at, prefix)); seen++) {
                        at += strlen(prefix);
                        AUTO(mem_free) char *name = mem_printf("`%.*s`", (int)strcspn(at, "\""), at);
                        if (!strstr(page, name))
                                fail_msg("docs/internals/store-format.md: the table of annotations lacks %s", name);
                }
        }
        assert_in_range(seen, 10, 100);
}

/* --- the role of halflife scan --- */

/* The role that a person copies lists every kind of the table. */
static void test_kinds_of_scan(void **state)
{
        (void)state;
        AUTO(mem_free) char *page = page_read("docs/scan.md");
        for (size_t i = 0; i < kinds_count; i++) {
                AUTO(mem_free) char *groups = mem_printf("apiGroups: [%s], resources: [", kinds[i].group);
                const char *rule = strstr(page, groups);
                AUTO(mem_free)
                char *resources =
                        rule ? mem_string_n(rule + strlen(groups), strcspn(rule + strlen(groups), "]")) : NULL;
                bool listed = false;
                for (char *rest = resources, *one; (one = strsep(&rest, ", "));)
                        listed |= strcmp(one, kinds[i].plural) == 0;
                if (!listed)
                        fail_msg("docs/scan.md: the ClusterRole halflife-scan lacks %s of '%s'", kinds[i].plural,
                                 kinds[i].group);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_settings),
                cmocka_unit_test(test_metrics),
                cmocka_unit_test(test_commands),
                cmocka_unit_test(test_fields),
                cmocka_unit_test(test_paths),
                cmocka_unit_test(test_reasons),
                cmocka_unit_test(test_names_of_schemas),
                cmocka_unit_test(test_reasons_of_the_crd),
                cmocka_unit_test(test_facts_of_the_crd),
                cmocka_unit_test(test_gates),
                cmocka_unit_test(test_annotations),
                cmocka_unit_test(test_kinds_of_scan),
                cmocka_unit_test(test_conditions),
        };
        return cmocka_run_group_tests_name("references", tests, NULL, NULL);
}
