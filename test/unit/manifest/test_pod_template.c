/* Pod templates read from documents, and requests set on them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "manifest/pod_template.h"

static struct doc *read_text(const char *text)
{
        struct err err = {0};
        struct doc *d = doc_new(text, strlen(text), &err);
        if (!d)
                fail_msg("%s\n%s", text, err.text);
        return d;
}

static char *amount_shown(struct amount a, char out[static 32])
{
        snprintf(out, 32, a.set ? "%lld" : "-", (long long)a.value);
        return out;
}

/* "steps: name role request cpu memory limit cpu memory; …", or the error's text. */
static const char *shown(const struct doc *d, const char *path)
{
        static const char *const role[] = {"main", "sidecar", "init", "injected"};
        static char out[2048];
        struct template_view t;
        struct err err = {0};
        if (template_read(d, 0, path, &t, &err) < 0) {
                snprintf(out, sizeof out, "%s: %s", err_name(err.code), err.text);
                return out;
        }
        char *to = out + sprintf(out, "%zu:", t.steps);
        for (int i = 0; i < t.containers; i++) {
                const struct template_container *c = &t.container[i];
                char a[4][32];
                to += sprintf(to, " %.*s %s %s %s %s %s;", TEXT_ARG(c->name), role[c->role],
                              amount_shown(c->request[CPU], a[0]), amount_shown(c->request[MEMORY], a[1]),
                              amount_shown(c->limit[CPU], a[2]), amount_shown(c->limit[MEMORY], a[3]));
                if (runtime_heap_given(&c->heap))
                        to += sprintf(to, " heap %lld..%lld%s;", (long long)c->heap.start, (long long)c->heap.most,
                                      c->heap.incomplete ? " incomplete" : "");
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        char reader[REQUEST_READING_TEXT_MAX];
                        if (c->read[r].divisor)
                                to += sprintf(to, " %s in %lld by %s;", resource_name(r), (long long)c->read[r].divisor,
                                              request_reading_print(&c->read[r], reader));
                }
        }
        return out;
}

static void templates_are_read(void **state)
{
        (void)state;
        static const struct {
                const char *path, *text, *want;
        } row[] = {
                {"",
                 "spec: {containers: [{name: a, resources: {requests: {cpu: 2, memory: 1Ki}, limits: {cpu: 2.5}}}]}",
                 "0: a main 2000 1024 2500 -;"},
                {"/spec/template",
                 "spec: {template: {spec: {initContainers: [{name: i}, {name: s, restartPolicy: Always}], containers: "
                 "[{name: m, resources: ~}]}}}",
                 "2: m main - - - -; i init - - - -; s sidecar - - - -;"},
                {"/spec/jobTemplate/spec/template", "spec: {jobTemplate: {spec: {template: {spec: {containers: []}}}}}",
                 "4:"},
                {"", "x: &l {cpu: 1}\nspec: {containers: [{name: a, resources: {requests: {<<: *l}, limits: *l}}]}",
                 "0: a main 1000 - 1000 -;"},
                {"",
                 "spec: {containers: [{name: a, env: [{name: X, value: '1'}, {name: N, valueFrom: {resourceFieldRef: "
                 "{resource: requests.cpu}}}]}, {name: b, env: [{name: M, valueFrom: {resourceFieldRef: "
                 "{containerName: "
                 "a, resource: requests.memory, divisor: 1Mi}}}]}]}",
                 "0: a main - - - -; cpu in 1000 by variable 'N' of container 'a'; memory in 1048576 by variable 'M' "
                 "of "
                 "container 'b'; b main - - - -;"},
                {"",
                 "spec: {initContainers: [{name: i, env: [{name: N, valueFrom: {resourceFieldRef: {resource: "
                 "requests.cpu, containerName: a}}}]}], containers: [{name: a, env: &e [{name: L, valueFrom: "
                 "{resourceFieldRef: {resource: limits.cpu}}}]}, {name: b, env: *e}]}",
                 "0: a main - - - -; cpu in 1000 by variable 'N' of container 'i'; b main - - - -; i init - - - -;"},
                {"",
                 "spec: {volumes: [{name: info, downwardAPI: {items: [{path: d/cpu, resourceFieldRef: {containerName: "
                 "a, "
                 "resource: requests.cpu, divisor: 1m}}]}}, {name: all, projected: {sources: [{secret: {name: s}}, "
                 "{downwardAPI: {items: [{path: m, resourceFieldRef: {containerName: a, resource: "
                 "requests.memory}}]}}]}}"
                 "], containers: [{name: a}]}",
                 "0: a main - - - -; cpu in 1 by file 'd/cpu' of volume 'info'; memory in 1 by file 'm' of volume "
                 "'all';"},
                {"",
                 "spec: {containers: [{name: a, env: [{name: M, value: 1k}, {name: JAVA_TOOL_OPTIONS, value: "
                 "-Xmx$(M)}], "
                 "command: [java], args: [-Xms512, -jar, a.jar]}, {name: b, args: [-Xmx1k, $(S)], env: [{name: S, "
                 "valueFrom: {secretKeyRef: {}}}]}, {name: c, args: {x: 1}, command: x}]}",
                 "0: a main - - - -; heap 512..1024; b main - - - -; heap 0..1024 incomplete; c main - - - -;"},
                {"", "spec: {containers: [{name: a, env: '{{ x }}'}], volumes: {}}", "0: a main - - - -;"},
                {"", "spec: {containers: [{name: a, env: [x, {valueFrom: 1}]}], volumes: [x, {projected: 1}]}",
                 "0: a main - - - -;"},
                {"", "spec: {containers: [{name: a, env: [], env: []}]}",
                 "invalid: line 1, column 40: key 'env' is there twice"},
                {"/spec/template", "spec: {}", "notfound: there is no pod template at '/spec/template/spec'"},
                {"/spec/template", "spec: 1", "invalid: line 1, column 7: a mapping is expected here"},
                {"", "spec: {containers: {a: b}}", "invalid: line 1, column 20: a sequence is expected here"},
                {"",
                 "spec: {initContainers: {}, containers: [{name: a, resources: []}, {name: b, resources: {limits: "
                 "[]}}]}",
                 "0: a main - - - -; b main - - - -;"},
                {"", "spec: {containers: [x]}", "invalid: line 1, column 21: a mapping is expected here"},
                {"", "spec: {containers: [{image: x}]}", "invalid: line 1, column 21: the container has no name"},
                {"", "spec: {containers: [{name: 1}]}", "invalid: line 1, column 21: the container has no name"},
                {"", "spec: {containers: [{name: a}], initContainers: [{name: a}]}",
                 "invalid: line 1, column 50: container 'a' is there twice"},
                {"", "spec: {containers: [{name: a, resources: {requests: {cpu: \"{{ x }}\"}}}]}",
                 "invalid: line 1, column 59: '{{ x }}' is not a quantity"},
                {"", "spec: {containers: [{name: a, resources: {limits: {memory: yes}}}]}",
                 "invalid: line 1, column 60: 'yes' is not a quantity"},
                {"", "spec: {containers: [{name: a, resources: {requests: {cpu: -1}}}]}",
                 "invalid: line 1, column 59: '-1' is not a quantity"},
                {"", "spec: {containers: [{name: a, resources: {limits: {memory: '-1Gi'}}}]}",
                 "invalid: line 1, column 60: '-1Gi' is not a quantity"},
                {"", "spec: {containers: [{name: a, resources: {requests: {cpu: 010}}}]}",
                 "invalid: line 1, column 59: '010' is an octal number: write it as a decimal one"},
                {"", "spec: {containers: [{name: a, resources: {requests: {cpu: +07}}}]}",
                 "invalid: line 1, column 59: '+07' is an octal number: write it as a decimal one"},
                {"", "spec: {containers: [{name: a, resources: {requests: {cpu: 08, memory: 0.5Gi}}}]}",
                 "0: a main 8000 536870912 - -;"},
                {"/spec/template", "spec: {template: {spec: {}}, template: {spec: {}}}",
                 "invalid: line 1, column 30: key 'template' is there twice"},
                {"", "spec: {containers: [{name: a, resources: {requests: {cpu: '010', memory: 0}}}]}",
                 "0: a main 10000 0 - -;"},
                {"", "spec: {containers: [{name: a, resources: {limits: {cpu: 1, cpu: 2}}}]}",
                 "invalid: line 1, column 60: key 'cpu' is there twice"},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct doc *d AUTO(doc_free) = read_text(row[i].text);
                if (strcmp(shown(d, row[i].path), row[i].want) != 0)
                        fail_msg("%s\n%s, not\n%s", row[i].text, shown(d, row[i].path), row[i].want);
        }
}

static void metadata_is_found(void **state)
{
        (void)state;
        struct template_view t;
        struct err err = {0};
        struct doc *d AUTO(doc_free) =
                read_text("metadata: {labels: {a: no}}\nspec: {template: {metadata: {labels: {a: b}, "
                          "annotations: {c: d}}, spec: {}}}\n---\nmetadata: {labels: 1}\nspec: {}\n");
        uint32_t value;
        assert_int_equal(template_read(d, 0, "/spec/template", &t, &err), 0);
        assert_int_equal(doc_find(d, t.labels, TEXT("a"), &value, &err), 0);
        assert_true(text_is(doc_text(d, value), "b"));
        assert_int_equal(doc_find(d, t.annotations, TEXT("c"), &value, &err), 0);
        assert_true(text_is(doc_text(d, value), "d"));
        assert_int_equal(template_read(d, 1, "", &t, &err), 0);
        assert_int_equal(doc_type(d, t.labels), DOC_NUMBER);
        assert_int_equal(t.annotations, DOC_NONE);
}

static void containers_are_bounded(void **state)
{
        (void)state;
        struct buf b __attribute__((cleanup(buf_release_auto)));
        struct template_view t;
        struct err err = {0};
        buf_init(&b, 1 << 16);
        buf_add_text(&b, "spec:\n  containers:\n");
        for (int i = 0; i < TEMPLATE_CONTAINERS; i++)
                buf_printf(&b, "  - name: c%d\n", i);
        struct doc *d AUTO(doc_free) = read_text(b.data);
        assert_int_equal(template_read(d, 0, "", &t, &err), 0);
        buf_add_text(&b, "  initContainers: [{name: i}]\n");
        struct doc *more AUTO(doc_free) = read_text(b.data);
        assert_int_equal(template_read(more, 0, "", &t, &err), ERR_TOOBIG);
        assert_string_equal(err.text, "line 67, column 19: more than 64 containers and init containers, the most "
                                      "that halflife reads of a pod");
}

#define SET(n)                                                                                                         \
        {                                                                                                              \
                true, (n)                                                                                              \
        }
#define NOTES                                                                                                          \
        {"halflife.dev/original-resources", "{\"a\":1}"},                                                              \
        {                                                                                                              \
                "halflife.dev/applied-resources", "{}"                                                                 \
        }

static const struct {
        const char *path, *in, *out; /* out NULL: as it was */
        struct template_change change[2];
        struct template_note note[2];
        int altered;
        const char *why;
} edits[] = {
        {.path = "/spec/template",
         .in = "metadata:\n  name: w\nspec:\n  template:\n    metadata:\n      labels: {}\n    spec:\n      "
               "containers:\n"
               "      - name: a\n        resources: {requests: {cpu: 2, memory: 4Gi}}\n      initContainers:\n"
               "      - name: i\n      - name: s\n        restartPolicy: Always\n",
         .out = "metadata:\n  name: w\n  annotations:\n    halflife.dev/original-resources: '{\"a\":1}'\n"
                "    halflife.dev/applied-resources: \"{}\"\nspec:\n  template:\n    metadata:\n      labels: {}\n"
                "      annotations:\n        halflife.dev/original-resources: '{\"a\":1}'\n"
                "        halflife.dev/applied-resources: \"{}\"\n    spec:\n      containers:\n      - name: a\n"
                "        resources: {requests: {cpu: 400m, memory: 812Mi}}\n      initContainers:\n      - name: i\n"
                "      - name: s\n        restartPolicy: Always\n        resources:\n          requests:\n"
                "            cpu: \"1\"\n",
         .change = {{0, {true, true}, {SET(400), SET(812 << 20)}}, {2, {true, false}, {SET(1000), SET(5)}}},
         .note = {NOTES},
         .altered = 7},
        {.path = "",
         .in = "metadata: {name: p}\nspec: {containers: [{name: a, resources: {requests: {cpu: 2}}}]}\n",
         .out = "metadata: {name: p, annotations: {halflife.dev/original-resources: '{\"a\":1}', "
                "halflife.dev/applied-resources: \"{}\"}}\n"
                "spec: {containers: [{name: a, resources: {requests: {}}}]}\n",
         .change = {{0, {true, true}, {{false, 0}, {false, 0}}}},
         .note = {NOTES},
         .altered = 3},
        {.path = "", /* the same value, written otherwise */
         .in = "spec: {containers: [{name: a, resources: {requests: {cpu: 0.4, memory: 1024}}}]}\n",
         .change = {{0, {true, true}, {SET(400), SET(1024)}}},
         .note = {NOTES}},
        {.path = "", /* nothing to write */
         .in = "spec: {containers: [{name: a}]}\n",
         .change = {{0, {false, false}, {SET(400), SET(1024)}}},
         .note = {NOTES}},
        {.path = "",
         .in = "metadata: {annotations: {halflife.dev/original-resources: x, halflife.dev/applied-resources: y, z: "
               "1}}\n"
               "spec: {containers: [{name: a, resources: {requests: {cpu: 2}}}]}\n",
         .out = "metadata: {annotations: {z: 1}}\n"
                "spec: {containers: [{name: a, resources: {requests: {cpu: 1}}}]}\n",
         .change = {{0, {true, false}, {SET(1000), SET(0)}}},
         .note = {{"halflife.dev/original-resources", NULL}, {"halflife.dev/applied-resources", NULL}},
         .altered = 3},
        {.path = "",
         .in = "x: &r {requests: {cpu: 2}}\nspec: {containers: [{name: a, resources: *r}]}\n",
         .change = {{0, {true, false}, {SET(1000), SET(0)}}},
         .note = {NOTES},
         .altered = ERR_INVALID,
         .why = "line 2, column 42: 'resources' is an alias: write out what it stands for"},
};

static void requests_and_annotations_are_set(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
                struct doc *d AUTO(doc_free) = read_text(edits[i].in);
                struct template_view t;
                struct err err = {0};
                struct buf out __attribute__((cleanup(buf_release_auto)));
                buf_init(&out, 1 << 16);
                assert_int_equal(template_read(d, 0, edits[i].path, &t, &err), 0);
                size_t changes = edits[i].change[1].container ? 2 : 1;
                int altered = template_edit(d, 0, &t, edits[i].change, changes, edits[i].note, 2, &err);
                assert_int_equal(doc_write(d, &out, &err), 0);
                if (altered != edits[i].altered || strcmp(err.text, edits[i].why ? edits[i].why : "") != 0 ||
                    strcmp(out.data, edits[i].out ? edits[i].out : edits[i].in) != 0)
                        fail_msg("%s: %d %s\n%s", edits[i].in, altered, err.text, out.data);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(templates_are_read),
                cmocka_unit_test(metadata_is_found),
                cmocka_unit_test(containers_are_bounded),
                cmocka_unit_test(requests_and_annotations_are_set),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
