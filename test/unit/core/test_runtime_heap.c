#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/runtime_heap.h"

#define KI  INT64_C(1024)
#define MI  (1024 * KI)
#define GI  (1024 * MI)
#define ALL 8

/* Each row: variables "NAME=VALUE" ("NAME<" has no known value), command, args; a limit of 4 GiB. */
struct row {
        const char *env[ALL], *command[ALL], *args[ALL];
        int64_t start, most; /* 0: unset */
        const char *cap;
};
#define ENV(...)     .env = {__VA_ARGS__}
#define COMMAND(...) .command = {__VA_ARGS__}
#define ARGS(...)    .args = {__VA_ARGS__}
#define HEAP(a, b)   .start = (a), .most = (b), .cap = (b) ? "-Xmx" : ""
#define SHARE(a, b)  .start = (a), .most = (b), .cap = "-XX:MaxRAMPercentage"

static const struct row rows[] = {
        /* sizes */
        {COMMAND("java", "-Xms512m", "-Xmx2g", "-jar", "a.jar"), HEAP(512 * MI, 2 * GI)},
        {COMMAND("java", "-Xms512M", "-Xmx2G", "Main"), HEAP(512 * MI, 2 * GI)},
        {COMMAND("java", "-Xms1024k", "-Xmx1T"), HEAP(MI, 1024 * GI)},
        {COMMAND("java", "-Xmx1073741824"), HEAP(0, GI)},
        {COMMAND("java", "-XX:InitialHeapSize=1g", "-XX:MaxHeapSize=3g"), HEAP(GI, 3 * GI)},
        {COMMAND("java", "-ms1g", "-mx2g"), HEAP(GI, 2 * GI)},
        {COMMAND("java", "-Xmx2gb"), HEAP(0, 0)},
        {COMMAND("java", "-Xmx2b"), HEAP(0, 0)},
        {COMMAND("java", "-Xmx9g"), HEAP(0, 9 * GI)},
        {COMMAND("java", "-Xms1"), HEAP(1, 0)},
        {COMMAND("java", "-Xmx9007199254740991k"), HEAP(0, INT64_MAX - 1023)},
        {COMMAND("java", "-Xmx9007199254740992k"), HEAP(0, 0)},
        {COMMAND("java", "-Xmx9223372036854775807"), HEAP(0, INT64_MAX)},
        {COMMAND("java", "-Xmx9223372036854775808"), HEAP(0, 0)},
        {COMMAND("java", "-Xmx2g", "-Xmx"), HEAP(0, 2 * GI)},
        {COMMAND("java", "-Xmx2g", "-Xmx0"), HEAP(0, 0)},
        {COMMAND("java", "-Xmx"), HEAP(0, 0)},
        {COMMAND("java", "-Xmx-1"), HEAP(0, 0)},
        {COMMAND("java", "-Xmx99999999999999999999"), HEAP(0, 0)},
        {COMMAND("java", "-Xmx9223372036854775807t"), HEAP(0, 0)},
        {COMMAND("java", "-Xmx0", "-Xms0"), HEAP(0, 0)},
        {COMMAND("java", "-Xms2g", "-Xmx1g"), HEAP(GI, GI)},
        {COMMAND("java", "-XX:+AlwaysPreTouch", "-Xms1g"), HEAP(GI, 0)},
        /* the last wins; a size beats a percentage */
        {COMMAND("java", "-Xmx1g", "-Xmx2g"), HEAP(0, 2 * GI)},
        {COMMAND("java", "-Xmx2g", "-XX:MaxHeapSize=1g"), HEAP(0, GI)},
        {COMMAND("java", "-Xmx2g", "-XX:MaxRAMPercentage=75"), HEAP(0, 2 * GI)},
        {COMMAND("java", "-XX:InitialHeapSize=2g", "-Xms1g"), HEAP(GI, 0)},
        /* percentages of the limit */
        {COMMAND("java", "-XX:MaxRAMPercentage=75.0"), SHARE(0, 3 * GI)},
        {COMMAND("java", "-XX:MaxRAMPercentage=50", "-XX:InitialRAMPercentage=25.000"), SHARE(GI, 2 * GI)},
        {COMMAND("java", "-XX:InitialRAMPercentage=50"), HEAP(2 * GI, 0)},
        {COMMAND("java", "-XX:InitialRAMPercentage=75", "-XX:MaxRAMPercentage=50"), SHARE(2 * GI, 2 * GI)},
        {COMMAND("java", "-XX:MinRAMPercentage=80"), SHARE(0, GI)},
        {COMMAND("java", "-XX:MinRAMPercentage=1"), SHARE(0, 4 * GI / 100)},
        {COMMAND("java", "-XX:MaxRAMPercentage=0.5"), SHARE(0, 130862280)},
        {COMMAND("java", "-XX:MaxRAMPercentage=12.5"), SHARE(0, 512 * MI)},
        {COMMAND("java", "-XX:MaxRAMPercentage=12.985"), SHARE(0, 4 * GI * 12985 / 100000)},
        {COMMAND("java", "-XX:MaxRAMPercentage=12.5009"), SHARE(0, 512 * MI)},
        {COMMAND("java", "-XX:MaxRAMPercentage=99"), SHARE(0, 4 * GI * 99 / 100)},
        {COMMAND("java", "-XX:MaxRAMPercentage=100"), SHARE(0, 4 * GI)},
        {COMMAND("java", "-XX:MaxRAMPercentage=100.0"), SHARE(0, 4 * GI)},
        {COMMAND("java", "-XX:MaxRAMPercentage=100.5"), HEAP(0, 0)},
        {COMMAND("java", "-XX:MaxRAMPercentage=101"), HEAP(0, 0)},
        {COMMAND("java", "-XX:MaxRAMPercentage=50x"), HEAP(0, 0)},
        {COMMAND("java", "-XX:MaxRAMPercentage=50.5x"), HEAP(0, 0)},
        {COMMAND("java", "-XX:MaxRAMPercentage=50.-5"), HEAP(0, 0)},
        {COMMAND("java", "-XX:MaxRAMPercentage=50", "-XX:MaxRAMPercentage="), SHARE(0, 2 * GI)},
        {COMMAND("java", "-XX:MaxRAMPercentage=x"), HEAP(0, 0)},
        {COMMAND("java", "-XX:MaxRAMPercentage=75", "-XX:-UseContainerSupport"), HEAP(0, 0)},
        {COMMAND("java", "-XX:MaxRAM=2g", "-XX:MaxRAMPercentage=75"), HEAP(0, 0)},
        /* variables, and which wins */
        {ENV("JAVA_TOOL_OPTIONS=-Xmx1g -Xms256m"), HEAP(256 * MI, GI)},
        {ENV("JAVA_TOOL_OPTIONS=-Dx='a b' \"-Xmx1g\""), HEAP(0, GI)},
        {ENV("JAVA_TOOL_OPTIONS=-Xms1g\t-Xmx2g"), HEAP(GI, 2 * GI)},
        {ENV("JAVA_TOOL_OPTIONS=-Xms1g\n-Xmx2g"), HEAP(GI, 2 * GI)},
        {ENV("JAVA_TOOL_OPTIONS=-Xms1g\r-Xmx2g"), HEAP(GI, 2 * GI)},
        {ENV("JAVA_TOOL_OPTIONS=-Xmx10737418240 -Xmx1073741824"), HEAP(0, GI)},
        {ENV("JAVA_TOOL_OPTIONS=-Xmx1g"), COMMAND("java", "-Xmx2g"), HEAP(0, 2 * GI)},
        {ENV("JAVA_TOOL_OPTIONS=-Xmx1g", "JDK_JAVA_OPTIONS=-Xmx2g"), HEAP(0, 2 * GI)},
        {ENV("JDK_JAVA_OPTIONS=-Xmx1g"), COMMAND("java", "-Xmx2g"), HEAP(0, 2 * GI)},
        {ENV("_JAVA_OPTIONS=-Xmx3g"), COMMAND("java", "-Xmx2g"), HEAP(0, 3 * GI)},
        {ENV("_JAVA_OPTIONS=-Xmx3g", "JAVA_TOOL_OPTIONS=-Xmx1g"), HEAP(0, 3 * GI)},
        {ENV("JAVA_TOOL_OPTIONS=-Xmx1g", "JAVA_TOOL_OPTIONS=-Xmx2g"), HEAP(0, 2 * GI)},
        {ENV("JAVA_OPTS=-Xmx1g"), COMMAND("./start"), HEAP(0, 0)},
        {ENV("JAVA_OPTS=-Xms1g -Xmx2g"), COMMAND("sh", "-c", "exec java $JAVA_OPTS -jar a.jar"), HEAP(GI, 2 * GI)},
        {ENV("JAVA_OPTS=-Xmx2g"), COMMAND("/bin/bash", "-ec", "java ${JAVA_OPTS} -jar a.jar"), HEAP(0, 2 * GI)},
        {ENV("JAVA_OPTS=-Xmx2g"), COMMAND("sh", "-c", "java '$JAVA_OPTS' -Xms1g"), HEAP(0, 0)},
        {ENV("JAVA_OPTS=-Xmx2g"), COMMAND("sh", "-c", "java \"$JAVA_OPTS\" -Xms1g"), HEAP(GI, 2 * GI)},
        {COMMAND("sh", "-c", "java -Xms1g -Xmx2g $JAVA_OPTS"), HEAP(GI, 0)},
        {COMMAND("sh", "-c", "java -Xms1g -Xmx2g $(opts)"), HEAP(GI, 0)},
        {COMMAND("sh", "-c", "java -Xms1g -Xmx2g `opts`"), HEAP(GI, 0)},
        {ENV("O=-Xmx2g"), COMMAND("sh", "-c", "O=-Xmx1g; java -Xms1g $O"), HEAP(GI, 0)},
        {COMMAND("sh", "-c", "cd /app && java -Xmx2g -jar a.jar; echo -Xmx3g"), HEAP(0, 2 * GI)},
        {COMMAND("sh", "-c", "java -Xmx\\\n2g"), HEAP(0, 2 * GI)},
        {COMMAND("sh", "-c", "exec java \\\n  -Xms1g \\\n  -Xmx2g \\\n  -jar a.jar"), HEAP(GI, 2 * GI)},
        {COMMAND("sh", "-c", "java '-Xmx\\\n2g'"), HEAP(0, 0)},
        {COMMAND("sh", "-c", "java -Xmx\\2g"), HEAP(0, 2 * GI)},
        {COMMAND("sh", "-c", "java '-Xmx\\2g'"), HEAP(0, 0)},
        {COMMAND("sh", "-c", "java -Xmx2g\\"), HEAP(0, 2 * GI)},
        {COMMAND("sh", "-c", "cd /app;java -Xmx2g"), HEAP(0, 2 * GI)},
        {COMMAND("sh", "-c", "true&java -Xmx2g"), HEAP(0, 2 * GI)},
        {COMMAND("sh", "-c", "true|java -Xmx2g"), HEAP(0, 2 * GI)},
        {COMMAND("sh", "-c", "java -jar a.jar\njava -Xmx2g"), HEAP(0, 2 * GI)},
        {COMMAND("sh", "-c", "java -Xmx1g '' -Xmx2g"), HEAP(0, GI)},
        {COMMAND("sh", "-c", "java -jar $JAR -Xms1g"), HEAP(0, 0)},
        /* what is no script of a shell */
        {COMMAND("sh", "-e", "java -Xmx2g"), HEAP(0, 0)},
        {COMMAND("sh", "script", "java -Xmx2g"), HEAP(0, 0)},
        {COMMAND("bash", "--rcfile", "java -Xmx2g"), HEAP(0, 0)},
        {COMMAND("sh", "-", "java -Xmx2g"), HEAP(0, 0)},
        {COMMAND("app", "-c", "java -Xmx2g"), HEAP(0, 0)},
        /* $(NAME), as Kubernetes puts it in */
        {ENV("M=2g"), COMMAND("java"), ARGS("-Xmx$(M)"), HEAP(0, 2 * GI)},
        {ENV("N=1", "M=$(N)g"), COMMAND("java", "-Xmx$(M)"), HEAP(0, GI)},
        {ENV("M=$(N)g", "N=1"), COMMAND("java", "-Xmx$(M)"), HEAP(0, 0)},
        {ENV("M=2g", "JAVA_TOOL_OPTIONS=-Xmx$(M)"), HEAP(0, 2 * GI)},
        {ENV("M=2g"), COMMAND("java", "-Xmx$$(M)"), HEAP(0, 0)},
        {COMMAND("java", "-Xms1g", "-Xmx$(M)"), HEAP(GI, 0)},
        {ENV("M<"), COMMAND("java", "-Xms1g", "-Xmx2g", "-Da=$(M)"), HEAP(GI, 0)},
        {ENV("JAVA_TOOL_OPTIONS<"), COMMAND("java", "-Xms1g", "-Xmx2g"), HEAP(GI, 0)},
        {ENV("A=$(A)$(A)"), COMMAND("java", "-Xmx2g", "$(A)"), HEAP(0, 2 * GI)},
        /* where options end, and where they cannot be read */
        {COMMAND("java", "-Xmx1g", "-jar", "a.jar", "-Xmx2g"), HEAP(0, GI)},
        {COMMAND("java", "-cp", "-Xmx3g", "-Xmx1g", "Main", "-Xmx2g"), HEAP(0, GI)},
        {COMMAND("/opt/jdk/bin/java", "--add-opens", "java.base/x=ALL", "-Xmx1g"), HEAP(0, GI)},
        {COMMAND("java", "-Xms1g", "-Xmx2g", "@options", "-jar", "a.jar"), HEAP(GI, 0)},
        {COMMAND("/java", "-Xmx1g"), HEAP(0, GI)},
        {COMMAND("java", "-Xms1g", "-Xmx2g", "@"), HEAP(GI, 0)},
        {COMMAND("java", "-Xms1g", "-Xmx2g", "-XX:Flags=f"), HEAP(GI, 0)},
        {COMMAND("java", "-Xms1g", "-Xmx2g", "-XX:Flags="), HEAP(GI, 0)},
        {ENV("JDK_JAVA_OPTIONS=-Xms1g -Xmx2g @f"), HEAP(GI, 0)},
        {COMMAND("tini", "--", "java", "-Xmx2g"), HEAP(0, 2 * GI)},
        {COMMAND("myapp", "-Xmx2g"), HEAP(0, 0)},
        {ARGS("-Xmx2g", "-jar", "a.jar"), HEAP(0, 2 * GI)},
        {ARGS("java", "-Xmx2g", "-jar", "a.jar"), HEAP(0, 2 * GI)},
        {ARGS("serve", "-Xmx2g"), HEAP(0, 0)},
        /* Go and Node */
        {ENV("GOMEMLIMIT=512MiB"), .most = 512 * MI, .cap = "GOMEMLIMIT"},
        {ENV("GOMEMLIMIT=1073741824"), .most = GI, .cap = "GOMEMLIMIT"},
        {ENV("GOMEMLIMIT=2GiB", "GOGC=off"), .most = 2 * GI, .cap = "GOMEMLIMIT"},
        {ENV("GOMEMLIMIT=7B"), .most = 7, .cap = "GOMEMLIMIT"},
        {ENV("GOMEMLIMIT=1"), .most = 1, .cap = "GOMEMLIMIT"},
        {ENV("GOMEMLIMIT=7KiB"), .most = 7 * KI, .cap = "GOMEMLIMIT"},
        {ENV("GOMEMLIMIT=7TiB"), .most = 7 * 1024 * GI, .cap = "GOMEMLIMIT"},
        {ENV("GOMEMLIMIT=0"), HEAP(0, 0)},
        {ENV("GOMEMLIMIT="), HEAP(0, 0)},
        {ENV("GOMEMLIMIT=B"), HEAP(0, 0)},
        {ENV("GOMEMLIMIT=off"), HEAP(0, 0)},
        {ENV("GOMEMLIMIT=512Mi"), HEAP(0, 0)},
        {ENV("GOMEMLIMIT<"), HEAP(0, 0)},
        {ENV("M=512", "GOMEMLIMIT=$(M)MiB"), .most = 512 * MI, .cap = "GOMEMLIMIT"},
        {ENV("NODE_OPTIONS=--max-old-space-size=512"), .most = 512 * MI, .cap = "--max-old-space-size"},
        {ENV("NODE_OPTIONS=--max_old_space_size=512"), .most = 512 * MI, .cap = "--max-old-space-size"},
        {COMMAND("node", "--max-old-space-size=1024", "a.js"), .most = GI, .cap = "--max-old-space-size"},
        {COMMAND("node", "--max-old-space-size", "1024", "a.js"), .most = GI, .cap = "--max-old-space-size"},
        {ENV("NODE_OPTIONS=--max-old-space-size=512"), COMMAND("node", "--max-old-space-size=1024"), .most = GI,
         .cap = "--max-old-space-size"},
        {COMMAND("node", "a.js", "--max-old-space-size=1024"), HEAP(0, 0)},
        {COMMAND("node", "-r", "x", "--max-old-space-size=1024"), .most = GI, .cap = "--max-old-space-size"},
        {COMMAND("node", "--max-old-space-size=1g"), HEAP(0, 0)},
        {COMMAND("node", "--max-old-space-size", "1g"), HEAP(0, 0)},
        {COMMAND("node", "--max-old-space-size=0"), HEAP(0, 0)},
        {COMMAND("node", "--max-old-space-size="), HEAP(0, 0)},
        {COMMAND("node", "--max-old-space-size-512"), HEAP(0, 0)},
        {COMMAND("node", "--max-old-space-size=1"), .most = MI, .cap = "--max-old-space-size"},
        {COMMAND("node", "--enable-source-maps", "--max-old-space-size=1024", "a.js"), .most = GI,
         .cap = "--max-old-space-size"},
        {COMMAND("node", "--", "--max-old-space-size=1024"), HEAP(0, 0)},
        {ENV("NODE_OPTIONS=--max-new-space-size=512"), HEAP(0, 0)},
        {ENV("NODE_OPTIONS=x-max-old-space-size=512"), HEAP(0, 0)},
        {ARGS("--max-old-space-size=512", "a.js"), .most = 512 * MI, .cap = "--max-old-space-size"},
};

static void heap_of(const struct row *row, struct runtime_heap *ret)
{
        struct runtime_variable env[ALL];
        struct text word[2 * ALL];
        struct runtime_command c = {.variable = env, .word = word};
        for (int i = 0; i < ALL && row->env[i]; i++) {
                size_t len = strcspn(row->env[i], "=<");
                env[c.variables++] = (struct runtime_variable){
                        {row->env[i], len}, text_of(row->env[i] + len + 1), row->env[i][len] == '='};
        }
        for (int i = 0; i < ALL && row->command[i]; i++)
                word[c.words++] = text_of(row->command[i]);
        c.commands = c.words;
        for (int i = 0; i < ALL && row->args[i]; i++)
                word[c.words++] = text_of(row->args[i]);
        runtime_heap_read(&c, ret);
}

static void test_spellings(void **state)
{
        (void)state;
        const struct amount limit = {true, 4 * GI};
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct runtime_heap h;
                heap_of(&rows[i], &h);
                struct amount start = runtime_heap_start(&h, limit), most = runtime_heap_most(&h, limit);
                if (start.set != (rows[i].start > 0) || most.set != (rows[i].most > 0) ||
                    start.value != rows[i].start || most.value != rows[i].most ||
                    (most.set && strcmp(runtime_cap_name((enum runtime_cap)h.cap), rows[i].cap) != 0))
                        fail_msg("row %zu (%s %s): start %lld, most %lld, by '%s'", i,
                                 rows[i].env[0] ? rows[i].env[0] : "", rows[i].command[1] ? rows[i].command[1] : "",
                                 (long long)start.value, (long long)most.value,
                                 runtime_cap_name((enum runtime_cap)h.cap));
                if (start.set && most.set)
                        assert_true(start.value <= most.value);
        }
        assert_true(sizeof rows / sizeof rows[0] >= 60);
}

/* Without a limit a percentage is of the node's memory, which is not known; a size is a size. */
static void test_without_a_limit(void **state)
{
        (void)state;
        static const struct row share = {ENV("JAVA_TOOL_OPTIONS=-XX:MaxRAMPercentage=75 -XX:InitialRAMPercentage=50")};
        static const struct row size = {ENV("JAVA_TOOL_OPTIONS=-Xms1g -Xmx2g")};
        struct runtime_heap h;
        heap_of(&share, &h);
        assert_true(runtime_heap_given(&h));
        assert_false(runtime_heap_start(&h, (struct amount){0}).set);
        assert_false(runtime_heap_most(&h, (struct amount){0}).set);
        assert_int_equal(runtime_heap_most(&h, (struct amount){true, 100 * MI}).value, 50 * MI); /* MinRAMPercentage */
        heap_of(&size, &h);
        assert_int_equal(runtime_heap_start(&h, (struct amount){0}).value, GI);
        assert_int_equal(runtime_heap_most(&h, (struct amount){0}).value, 2 * GI);
}

/* The JVM's heap around 130862280 bytes, which it takes by default: where MinRAMPercentage gives less, that counts. */
static void test_small_heap(void **state)
{
        (void)state;
        static const struct {
                int64_t limit;
                int32_t most_percent;
                int64_t most;
        } small[] = {
                {2 * 130862280 - 1, 75000, 130862279},
                {2 * 130862280, 75000, 196293420},
                {2 * 130862280, 25000, 130862280},
                {4 * INT64_C(130862280), 25000, 130862280},
                {4 * INT64_C(130862280) + 4, 25000, 130862281},
        };
        for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) {
                const struct runtime_heap h = {.most_percent = small[i].most_percent, .cap = CAP_JVM_PERCENTAGE};
                assert_int_equal(runtime_heap_most(&h, (struct amount){true, small[i].limit}).value, small[i].most);
        }
}

/* A word of up to 255 bytes is read; a longer one is no option. */
static void test_long_words(void **state)
{
        (void)state;
        char zeros[300], word[300], variable[400];
        memset(zeros, '0', sizeof zeros);
        for (int len = 254; len <= 258; len++) {
                snprintf(word, sizeof word, "-Xmx%.*s1g", len - 6, zeros);
                assert_int_equal(strlen(word), len);
                snprintf(variable, sizeof variable, "JAVA_TOOL_OPTIONS=%s", word);
                const struct row as_word = {COMMAND("java", word)}, as_value = {ENV(variable)};
                struct runtime_heap h;
                heap_of(&as_word, &h);
                assert_int_equal(h.most, len < 256 ? GI : 0);
                heap_of(&as_value, &h);
                assert_int_equal(h.most, len < 256 ? GI : 0);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_spellings),
                cmocka_unit_test(test_without_a_limit),
                cmocka_unit_test(test_small_heap),
                cmocka_unit_test(test_long_words),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
