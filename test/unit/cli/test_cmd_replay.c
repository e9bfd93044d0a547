/* The command as it is called: exit codes, what goes to stdout, the shape of its JSON. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "../../support/tmp.h"
#include "base/buf.h"
#include "base/file_read.h"
#include "base/yaml.h"
#include "cli/commands.h"

enum { ARGS = 12, OUTPUT_MAX = 1 << 20 };

/* Send a stream to a file while the command runs. */
static int divert(FILE *stream, const char *name)
{
        AUTO(mem_free) char *path = tmp_path(name);
        fflush(stream);
        int kept = dup(fileno(stream)), fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
        assert_true(kept >= 0 && fd >= 0);
        dup2(fd, fileno(stream));
        close(fd);
        return kept;
}

static char *restore(FILE *stream, int kept, const char *name)
{
        AUTO(mem_free) char *path = tmp_path(name);
        struct err err = {0};
        size_t len;
        fflush(stream);
        dup2(kept, fileno(stream));
        close(kept);
        char *text = file_read(path, OUTPUT_MAX, &len, &err);
        assert_non_null(text);
        return text;
}

struct outcome {
        int code;
        char *out, *err;
};

static void run(struct outcome *o, const char *const *args)
{
        char *argv[ARGS + 1] = {NULL};
        int argc = 0;
        for (; args[argc]; argc++)
                argv[argc] = mem_string(args[argc]);
        int out = divert(stdout, "out"), err = divert(stderr, "err");
        o->code = command_call(&command_replay, argc, argv);
        o->out = restore(stdout, out, "out");
        o->err = restore(stderr, err, "err");
        for (int i = 0; i < argc; i++)
                mem_free(argv[i]);
}

static void outcome_release(struct outcome *o)
{
        mem_free(o->out);
        mem_free(o->err);
}

#define RUN(o, ...) run(o, (const char *const[]){"replay", __VA_ARGS__, NULL})

/* Two entities, two days and a bit, every ten minutes; two rows that are none. */
static char *trace_file(void)
{
        struct buf b;
        buf_init(&b, OUTPUT_MAX);
        buf_add_text(&b, "entity,timestamp_s,cpu_cores,memory_bytes\nbad\na,0,x,1\n");
        for (int at = 0; at <= 2 * 86400 + 600; at += 600)
                buf_printf(&b, "a,%d,0.05,100000000\nb \"q\",%d,0.05,\n", at, at);
        char *path = tmp_file("trace.csv", b.data);
        buf_release(&b);
        return path;
}

static void test_misuse(void **state)
{
        (void)state;
        static const struct {
                const char *args[5], *why;
        } row[] = {
                {{"replay", NULL}, "give a trace: files, or '-' for standard input"},
                {{"replay", "--raise", "59s", "-", NULL}, "raise '59s' is not a duration from 1m to 24h"},
                {{"replay", "--raise=25h", "-", NULL}, "raise '25h' is not a duration from 1m to 24h"},
                {{"replay", "--compare", "--entities", "-", NULL}, "exclude each other"},
                {{"replay", "--compare=so", "-", NULL}, "--compare 'so' is neither true nor false"},
                {{"replay", "--nodes", "16", "-", NULL}, "nodes '16' is not a node's cores and memory"},
                {{"replay", "--nodes", "16,", "-", NULL}, "nodes '16,' is not"},
                {{"replay", "--nodes", ",64Gi", "-", NULL}, "nodes ',64Gi' is not"},
                {{"replay", "--nodes", "0,64Gi", "-", NULL}, "nodes '0,64Gi' is not"},
                {{"replay", "--nodes", "16,-1", "-", NULL}, "nodes '16,-1' is not"},
                {{"replay", "--nodes", "16,1Ei", "-", NULL}, "nodes '16,1Ei' is not"},
                {{"replay", "--nodes=16,64Gi", "--draws=0", "-", NULL}, "draws '0' is not a whole number from 1"},
                {{"replay", "--nodes=16,64Gi", "--draws=101", "-", NULL}, "draws '101' is not a whole number"},
                {{"replay", "--nodes=16,64Gi", "--draws=2x", "-", NULL}, "draws '2x' is not a whole number"},
                {{"replay", "--halves", "-", NULL}, "--halves cannot read standard input"},
                {{"replay", "--draws=2", "-", NULL}, "--draws and --owners need --nodes"},
                {{"replay", "--owners=x", "-", NULL}, "--draws and --owners need --nodes"},
                {{"replay", "--frobnicate", "-", NULL}, "unknown option '--frobnicate'"},
                {{"replay", "-x", "-", NULL}, "unknown option '-x'"},
                {{"replay", "-", "--profile", NULL}, "option '--profile' needs a value: --profile FILE"},
                {{"replay", "-o", "yaml", "-", NULL}, "--output 'yaml' is not one of table, json"},
                {{"replay", "--deploy-every", "1d", "-", NULL}, "there are no days"},
                {{"replay", "--deploy-every", "59s", "-", NULL}, "deploy-every '59s' is not"},
                {{"replay", "--deploy-every=8761h", "-", NULL}, "deploy-every '8761h' is not"},
                {{"replay", "--entities=maybe", "-", NULL}, "--entities 'maybe' is neither true nor false"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct outcome o;
                run(&o, row[i].args);
                if (o.code != EXIT_MISUSED || !strstr(o.err, row[i].why) || *o.out)
                        fail_msg("row %zu: %d, '%s', '%s'", i, o.code, o.err, o.out);
                assert_ptr_equal(strchr(o.err, '\n'), o.err + strlen(o.err) - 1); /* one line */
                outcome_release(&o);
        }
}

static void test_help(void **state)
{
        (void)state;
        struct outcome o;
        RUN(&o, "--help");
        assert_int_equal(o.code, EXIT_DONE);
        assert_non_null(strstr(o.out, "usage: halflife replay"));
        assert_string_equal(o.err, "");
        outcome_release(&o);
}

static void test_failures(void **state)
{
        (void)state;
        AUTO(mem_free)
        char *good = trace_file(), *empty = tmp_file("empty.csv", "\n"), *none = tmp_path("none"),
             *broken = tmp_file("broken.yaml", "kind: Profile\nspec: {resources: {cpu: {min: -1}}}\n"),
             *other = tmp_file("other.yaml", "kind: Deployment\nspec: {}\n"),
             *specless = tmp_file("specless.yaml", "kind: Profile\n"), *blank = tmp_file("blank.yaml", "# nothing\n"),
             *junk = tmp_file("junk.yaml", "a: [\n"), *clears = tmp_file("clears.yaml", "kind: \"\\e[2J\"\n"),
             *words = tmp_file("words.yaml", "words, and no profile\n");
        const struct {
                const char *profile, *trace, *why;
        } row[] = {
                {NULL, none, "No such file"},
                {NULL, empty, "no row could be read: expected lines of entity,timestamp_s"},
                {NULL, "/", "directory"},
                {none, good, "profile '"},
                {broken, good, "spec: resources: cpu: min: -1 is not an amount of CPU"},
                {other, good, "kind 'Deployment' is not ClusterProfile or Profile"},
                {specless, good, "spec is missing"},
                {blank, good, "contains no profile"},
                {junk, good, "line "},
                {words, good, "words.yaml': is not an object with kind and spec"},
                {clears, good, "kind '?[2J' is not"}, /* no profile moves a terminal's cursor */
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct outcome o;
                if (row[i].profile)
                        RUN(&o, "--profile", row[i].profile, row[i].trace);
                else
                        RUN(&o, row[i].trace);
                if (o.code != EXIT_FAILED || !strstr(o.err, row[i].why) || *o.out)
                        fail_msg("row %zu: %d, '%s'", i, o.code, o.err);
                outcome_release(&o);
        }
}

static double number(const json_t *json, const char *resource, const char *name)
{
        const json_t *v = json_object_get(resource ? json_object_get(json, resource) : json, name);
        if (!json_is_number(v))
                fail_msg("%s %s is no number", resource ? resource : "", name);
        return json_number_value(v);
}

static void check_policy(const json_t *policy, const char *name)
{
        assert_string_equal(json_string_value(json_object_get(policy, "name")), name);
        assert_int_equal(json_object_size(policy), 3);
        for (int r = 0; r < 2; r++) {
                const char *resource = r ? "memory" : "cpu";
                assert_int_equal(json_object_size(json_object_get(policy, resource)), 6);
                assert_int_equal(number(policy, resource, "rows"), r ? 145 : 290);
                number(policy, resource, "slack");
                number(policy, resource, "overrun");
                number(policy, resource, "changes_per_week");
                number(policy, resource, "requested_hours");
                number(policy, resource, "used_hours");
        }
}

static void test_json(void **state)
{
        (void)state;
        AUTO(mem_free) char *trace = trace_file();
        struct outcome o;
        RUN(&o, "-o", "json", "--entities", trace);
        assert_int_equal(o.code, EXIT_DONE);
        AUTO(json_decref) json_t *json = json_loads(o.out, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(json);
        assert_int_equal(json_object_size(json), 4);
        assert_int_equal(number(json, NULL, "refused"), 2);
        const json_t *policies = json_object_get(json, "policies"), *entities = json_object_get(json, "entities");
        assert_int_equal(json_array_size(policies), 2);
        check_policy(json_array_get(policies, 0), "default");
        check_policy(json_array_get(policies, 1), "peak");
        /* 24 h and one row of each entity are scored: 145 x 600 s x 2 */
        assert_true(number(json_array_get(policies, 0), "cpu", "requested_hours") > 0.062 * 145 / 3 - 1e-9);
        assert_true(number(json_array_get(policies, 0), "cpu", "requested_hours") < 0.062 * 145 / 3 + 1e-9);
        double gib = number(json_array_get(policies, 0), "memory", "requested_hours");
        assert_true(gib > 122.0 / 1024 * 145 / 6 - 1e-9 && gib < 122.0 / 1024 * 145 / 6 + 1e-9);
        assert_int_equal(json_array_size(entities), 2);
        const json_t *a = json_array_get(entities, 0), *b = json_array_get(entities, 1);
        assert_string_equal(json_string_value(json_object_get(b, "entity")), "b \"q\"");
        assert_int_equal(number(a, "cpu", "samples"), 290);
        assert_true(number(a, "cpu", "p50") == 0.05525631250000000 &&
                    number(a, "cpu", "p99") == number(a, "cpu", "p50"));
        assert_true(number(a, "cpu", "model") == 0.056);
        assert_true(number(a, "memory", "model") == 106.0 * 1048576);
        assert_int_equal(number(b, "memory", "samples"), 0);
        assert_true(json_is_null(json_object_get(json_object_get(b, "memory"), "p90")));
        assert_true(json_is_null(json_object_get(json_object_get(b, "memory"), "model")));
        assert_non_null(strstr(o.err, "trace.csv:2: it does not have four columns"));
        assert_non_null(strstr(o.err, "trace.csv:3: cpu_cores is not a number"));
        outcome_release(&o);
}

static void test_profiles_and_table(void **state)
{
        (void)state;
        AUTO(mem_free)
        char *trace = trace_file(), *two = tmp_file("two.yaml", "kind: ClusterProfile\nmetadata: {name: wide}\n"
                                                                "spec: {resources: {cpu: {multiplier: '2'}}}\n---\n"
                                                                "kind: Profile\nspec: {}\n");
        struct outcome o;
        RUN(&o, "--profile", two, "--profile=manifests/samples/memory.yaml", "--deploy-every", "12h", "--entities",
            "-o", "table", trace);
        assert_int_equal(o.code, EXIT_DONE);
        assert_memory_equal(o.out, "POLICY ", 7);
        assert_non_null(strstr(o.out, "\nwide "));
        assert_non_null(strstr(o.out, "\nProfile "));
        assert_non_null(strstr(o.out, "\npeak "));
        assert_null(strstr(o.out, "default"));
        assert_non_null(strstr(o.out, "\n582 rows of 2 entities, 2 refused"));
        assert_non_null(strstr(o.out, "\nENTITY"));
        assert_non_null(strstr(o.out, "\nb \"q\""));
        outcome_release(&o);
}

static void test_standard_input(void **state)
{
        (void)state;
        AUTO(mem_free) char *trace = trace_file();
        int kept = dup(STDIN_FILENO), fd = open(trace, O_RDONLY);
        struct outcome o;
        dup2(fd, STDIN_FILENO);
        close(fd);
        RUN(&o, "-o", "json", "-");
        dup2(kept, STDIN_FILENO);
        close(kept);
        assert_int_equal(o.code, EXIT_DONE);
        assert_null(strstr(o.out, "entities"));
        assert_non_null(strstr(o.err, "-:2: it does not have four"));
        outcome_release(&o);
}

static void test_many_refused_are_summed_up(void **state)
{
        (void)state;
        struct buf b;
        buf_init(&b, OUTPUT_MAX);
        buf_add_text(&b, "a,0,1,1\n");
        for (int i = 0; i < 100; i++)
                buf_add_text(&b, "a,0,1,1\n");
        AUTO(mem_free) char *path = tmp_file("many.csv", b.data);
        buf_release(&b);
        struct outcome o;
        RUN(&o, path);
        assert_int_equal(o.code, EXIT_DONE);
        assert_non_null(strstr(o.err, "many.csv:21: timestamp_s equals that of the entity's previous row"));
        assert_null(strstr(o.err, "many.csv:22:"));
        assert_non_null(strstr(o.err, "many.csv: 80 more rows refused"));
        outcome_release(&o);
}

static void test_raised(void **state)
{
        (void)state;
        AUTO(mem_free) char *trace = trace_file();
        struct outcome o;
        RUN(&o, "--raise", "15m", "-o", "json", trace);
        assert_int_equal(o.code, EXIT_DONE);
        AUTO(json_decref) json_t *json = json_loads(o.out, JSON_REJECT_DUPLICATES, NULL);
        for (size_t i = 0; i < 2; i++) {
                const json_t *policy = json_array_get(json_object_get(json, "policies"), i);
                const json_t *raised = json_object_get(policy, "raised");
                assert_int_equal(number(raised, NULL, "after_s"), 900);
                assert_true(number(raised, "cpu", "slack") == number(policy, "cpu", "slack")); /* never above */
                assert_true(number(raised, "memory", "overrun") == 0);
        }
        outcome_release(&o);
        RUN(&o, "--raise", "15m", trace);
        assert_int_equal(o.code, EXIT_DONE);
        assert_non_null(strstr(o.out, "RAISED SLACK"));
        outcome_release(&o);
}

static char *gzip_file(const char *path, size_t *ret_len)
{
        size_t len;
        struct err err = {0};
        AUTO(mem_free) char *text = file_read(path, OUTPUT_MAX, &len, &err);
        char *packed = tmp_path("packed.csv.gz");
        gzFile gz = gzopen(packed, "wb");
        assert_non_null(gz);
        assert_int_equal(gzwrite(gz, text, (unsigned)len), len);
        gzclose(gz);
        mem_free(file_read(packed, OUTPUT_MAX, ret_len, &err));
        return packed;
}

static void test_gzip(void **state)
{
        (void)state;
        size_t len;
        AUTO(mem_free) char *trace = trace_file(), *packed = gzip_file(trace, &len);
        struct outcome plain, o;
        RUN(&plain, "-o", "json", trace);
        RUN(&o, "-o", "json", packed);
        assert_int_equal(o.code, EXIT_DONE);
        assert_string_equal(o.out, plain.out);
        outcome_release(&o);
        outcome_release(&plain);
        assert_int_equal(truncate(packed, (off_t)len / 2), 0);
        RUN(&o, packed);
        assert_int_equal(o.code, EXIT_FAILED);
        assert_non_null(strstr(o.err, "packed.csv.gz': read: "));
        assert_string_equal(o.out, "");
        outcome_release(&o);
}

static void test_several_traces(void **state)
{
        (void)state;
        AUTO(mem_free) char *trace = trace_file(), *other = tmp_file("short.csv", "c,0,1,1\n");
        struct outcome o;
        RUN(&o, trace, other);
        assert_int_equal(o.code, EXIT_DONE);
        assert_memory_equal(o.out, "trace trace\nPOLICY ", 19);
        assert_non_null(strstr(o.out, "\n\ntrace short\nPOLICY "));
        outcome_release(&o);
        RUN(&o, "-o", "json", trace, other);
        AUTO(json_decref) json_t *json = json_loads(o.out, JSON_REJECT_DUPLICATES, NULL);
        const json_t *traces = json_object_get(json, "traces");
        assert_int_equal(json_array_size(traces), 2);
        assert_string_equal(json_string_value(json_object_get(json_array_get(traces, 0), "trace")), "trace");
        assert_string_equal(json_string_value(json_object_get(json_array_get(traces, 1), "trace")), "short");
        outcome_release(&o);
}

/* One that fails ends it; what was printed before is JSON all the same. */
static void test_a_trace_fails(void **state)
{
        (void)state;
        AUTO(mem_free) char *trace = trace_file(), *none = tmp_path("none");
        AUTO(mem_free) char *odd = tmp_file("o\xff\033.csv", "c,0,1,1\n");
        struct outcome o;
        RUN(&o, "-o", "json", trace, odd, none, trace);
        assert_int_equal(o.code, EXIT_FAILED);
        assert_non_null(strstr(o.err, "No such file"));
        AUTO(json_decref) json_t *json = json_loads(o.out, JSON_REJECT_DUPLICATES, NULL);
        const json_t *traces = json_object_get(json, "traces");
        assert_int_equal(json_array_size(traces), 2);
        assert_string_equal(json_string_value(json_object_get(json_array_get(traces, 1), "trace")), "o??");
        outcome_release(&o);
        RUN(&o, "-o", "json", none, trace);
        assert_int_equal(o.code, EXIT_FAILED);
        assert_string_equal(o.out, "");
        outcome_release(&o);
        RUN(&o, odd, odd);
        assert_memory_equal(o.out, "trace o??\n", 10);
        outcome_release(&o);
}

/* Of one trace memory is scored, of the other nothing, which is told as nothing. */
static void test_compared(void **state)
{
        (void)state;
        AUTO(mem_free)
        char *trace = trace_file(), *other = tmp_file("short.csv", "c,0,1,1\n"),
             *none = tmp_file("cpu.csv", "c,0,1,\n"),
             *one = tmp_file("one.yaml", "kind: Profile\nmetadata: {name: mine}\nspec: {}\n");
        struct outcome o;
        RUN(&o, "--compare", trace, none, other);
        assert_int_equal(o.code, EXIT_DONE);
        assert_string_equal(
                o.out,
                "cpu     rows   raise   default       P95 of all    P99 of all    VPA           peak\n"
                "trace   290    -       19.4% 0.00%   19.4% 0.00%   19.4% 0.00%   20.6% 0.00%   0.0% 0.00%\n"
                "cpu     0      -       -             -             -             -             -\n"
                "short   0      -       -             -             -             -             -\n"
                "\n"
                "memory   rows   raise   default       weekly peak   P95 of all    P99 of all    VPA           peak\n"
                "trace    145    -       21.8% 0.00%   21.8% 0.00%   21.8% 0.00%   21.8% 0.00%   61.9% 0.00%   "
                "0.0% 0.00%\n"
                "short    0      -       -             -             -             -             -             -\n"
                "\n"
                "slack: 1 - used / requested, each summed over all entities by amount and by time: large entities "
                "weigh more\n"
                "overrun: each row weighs the same, whatever its entity's size and the time since the row before\n"
                "rows: those at which every policy has a request\n");
        outcome_release(&o);
        RUN(&o, "--compare", "--raise=1h", "--profile", one, trace);
        assert_int_equal(o.code, EXIT_DONE);
        assert_non_null(strstr(o.out, "cpu     rows   raise   mine "));
        assert_non_null(strstr(o.out, "\ntrace   290    1h "));
        outcome_release(&o);
        RUN(&o, "--compare", "-o", "json", trace);
        AUTO(json_decref) json_t *json = json_loads(o.out, JSON_REJECT_DUPLICATES, NULL);
        assert_int_equal(json_array_size(json_object_get(json, "policies")), 6);
        outcome_release(&o);
}

/* --- halves --- */

/* Each half has entities of its own, all of them together; refused lines are told once. */
static void test_halves(void **state)
{
        (void)state;
        AUTO(mem_free) char *trace = trace_file(), *one = tmp_file("one.csv", "c,0,1,1\n");
        struct outcome o;
        RUN(&o, "--halves", "-o", "json", "--entities", trace, one);
        assert_int_equal(o.code, EXIT_DONE);
        AUTO(json_decref) json_t *json = json_loads(o.out, JSON_REJECT_DUPLICATES, NULL);
        const json_t *traces = json_object_get(json, "traces");
        static const char *const names[] = {"trace", "trace/1", "trace/2", "one", "one/1", "one/2"};
        size_t entities[6];
        assert_int_equal(json_array_size(traces), 6);
        for (size_t i = 0; i < 6; i++) {
                const json_t *t = json_array_get(traces, i);
                assert_string_equal(json_string_value(json_object_get(t, "trace")), names[i]);
                entities[i] = json_array_size(json_object_get(t, "entities"));
        }
        assert_int_equal(entities[0], 2);
        assert_int_equal(entities[1] + entities[2], 2);
        assert_int_equal(entities[4] + entities[5], 1);
        const char *told = strstr(o.err, "trace.csv:2: it does not have four");
        assert_non_null(told);
        assert_null(strstr(told + 1, "trace.csv:2:"));
        outcome_release(&o);
        RUN(&o, "--halves", "--compare", trace);
        assert_non_null(strstr(o.out, "\ntrace/1 "));
        outcome_release(&o);
}

/* --- nodes --- */

/* Two entities of four days in slots of five minutes: 0.5 core each, memory for which b begins to use more. */
static char *node_trace_file(void)
{
        struct buf b;
        buf_init(&b, OUTPUT_MAX);
        for (int at = 0; at < 4 * 86400; at += 300)
                buf_printf(&b, "a,%d,0.5,400000000\n", at);
        for (int at = 0; at < 4 * 86400; at += 300)
                buf_printf(&b, "b,%d,0.5,%d\n", at, at % 86400 >= 43200 && at > 3 * 86400 ? 900000000 : 100000000);
        char *path = tmp_file("nodes.csv", b.data);
        buf_release(&b);
        return path;
}

static const json_t *policy_named(const json_t *json, const char *name, bool raised)
{
        const json_t *policies = json_object_get(json_object_get(json, "nodes"), "policies");
        for (size_t i = 0; i < json_array_size(policies); i++) {
                const json_t *p = json_array_get(policies, i);
                if (strcmp(json_string_value(json_object_get(p, "name")), name) == 0 &&
                    json_is_true(json_object_get(p, "raised")) == raised)
                        return p;
        }
        fail_msg("there is no policy %s", name);
        return NULL;
}

static void test_nodes(void **state)
{
        (void)state;
        AUTO(mem_free)
        char *trace = node_trace_file(),
             *owners = tmp_file("owners.csv", "entity,cpu_cores,memory_bytes\r\na,9,9\n\na,1,5e8\n"
                                              "b,1,5e8\nelse,1,\n");
        struct outcome o;
        RUN(&o, "--nodes", "2,1200M", "--draws", "3", "--owners", owners, "--raise=15m", "--compare", trace);
        assert_int_equal(o.code, EXIT_DONE);
        assert_non_null(strstr(o.out, "\nNODES OF   POLICY "));
        assert_non_null(strstr(o.out, "\nnodes      owner "));
        assert_non_null(strstr(o.out, "\nnodes      default, raised "));
        assert_non_null(strstr(o.out, "\nnodes      VPA "));
        assert_non_null(strstr(o.out, "\nnodes of 2 cores and 1.11759 GiB; mean and range of 3 draws, each half"));
        outcome_release(&o);
        RUN(&o, "--nodes", "2,1200M", "--owners", owners, "-o", "json", trace);
        assert_int_equal(o.code, EXIT_DONE);
        AUTO(json_decref) json_t *json = json_loads(o.out, JSON_REJECT_DUPLICATES, NULL);
        const json_t *nodes = json_object_get(json, "nodes"), *owner = policy_named(json, "owner", false);
        assert_int_equal(number(nodes, NULL, "cores"), 2);
        assert_int_equal(number(nodes, NULL, "memory"), 1200000000);
        assert_int_equal(number(nodes, NULL, "draws"), 5);
        assert_int_equal(number(nodes, NULL, "pods"), 1); /* half of two */
        assert_int_equal(number(nodes, NULL, "left_out"), 0);
        assert_int_equal(number(owner, "nodes", "mean"), 1);
        assert_int_equal(number(owner, "nodes", "least"), 1);
        assert_int_equal(number(owner, "nodes", "most"), 1);
        assert_int_equal(number(owner, "contended", "most"), 0);
        assert_int_equal(number(policy_named(json, "clairvoyant", false), "exhaustions_per_node_week", "most"), 0);
        outcome_release(&o);
        RUN(&o, "--nodes", "400m,1200M", trace);
        assert_non_null(strstr(o.out, "\nnodes      default       0      2           -  "));
        outcome_release(&o);
}

/* Without the owners of all, or without memory, there is nothing to print of them. */
static void test_nodes_without(void **state)
{
        (void)state;
        AUTO(mem_free)
        char *trace = node_trace_file(), *cpu = tmp_file("cpu.csv", "c,0,1,\n"),
             *owners = tmp_file("owners.csv", "a,1,5e8\n");
        struct outcome o;
        RUN(&o, "--nodes", "2,1200M", "--owners", owners, trace, cpu);
        assert_int_equal(o.code, EXIT_DONE);
        assert_null(strstr(o.out, "owner"));
        assert_non_null(strstr(o.out, "\ncpu        default       1      0           -"));
        outcome_release(&o);
}

static void test_bad_owners(void **state)
{
        (void)state;
        AUTO(mem_free) char *trace = node_trace_file(), *none = tmp_path("none");
        static const struct {
                const char *text, *why;
        } row[] = {
                {NULL, "No such file"},
                {"a,1\n", "owners.csv': line 1: it does not have the three columns entity,cpu_cores,memory_bytes"},
                {"a,1,2,3\n", "line 1: it does not have the three columns"},
                {"entity,cpu_cores,memory_bytes\n,1,2\n", "line 2: entity is empty or longer"},
                {"a,x,1\n", "line 1: cpu_cores or memory_bytes is not a number of at least 0"},
                {"a,1,-1\n", "line 1: cpu_cores or memory_bytes is not"},
                {"a,1,1e999\n", "line 1: cpu_cores or memory_bytes is not"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *owners = row[i].text ? tmp_file("owners.csv", row[i].text) : mem_string(none);
                struct outcome o;
                RUN(&o, "--nodes", "2,1200M", "--owners", owners, trace);
                if (o.code != EXIT_FAILED || !strstr(o.err, row[i].why) || *o.out)
                        fail_msg("row %zu: %d '%s'", i, o.code, o.err);
                outcome_release(&o);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_misuse),
                cmocka_unit_test(test_help),
                cmocka_unit_test(test_failures),
                cmocka_unit_test(test_json),
                cmocka_unit_test(test_profiles_and_table),
                cmocka_unit_test(test_standard_input),
                cmocka_unit_test(test_many_refused_are_summed_up),
                cmocka_unit_test(test_raised),
                cmocka_unit_test(test_gzip),
                cmocka_unit_test(test_several_traces),
                cmocka_unit_test(test_a_trace_fails),
                cmocka_unit_test(test_compared),
                cmocka_unit_test(test_halves),
                cmocka_unit_test(test_nodes),
                cmocka_unit_test(test_nodes_without),
                cmocka_unit_test(test_bad_owners),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
