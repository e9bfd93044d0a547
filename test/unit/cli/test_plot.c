/* Histograms as characters, to the letter. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/plot.h"

static char *drawn(const struct drawing *d, const struct terminal *t)
{
        char *text = NULL;
        size_t len = 0;
        FILE *to = open_memstream(&text, &len);
        draw_histogram(to, d, t);
        fclose(to);
        return text;
}

static const struct row {
        const char *what;
        struct drawing d;
        struct terminal t;
        const char *want;
} rows[] = {
        {"nothing", {.resource = CPU, .marks = 1, .mark = {{1, "target 1", PAINT_TARGET}}}, {.columns = 80}, ""},
        {"one bucket, and a mark at its upper edge",
         {.resource = CPU, .share = {[20] = 1}, .marks = 1, .mark = {{0.358, "p95 358m", PAINT_BAR}}},
         {.columns = 40, .utf8 = true},
         " 100%┤    ████┊\n"
         "     │    ████┊\n"
         "     │    ████┊\n"
         "     │    ████┊\n"
         "  50%┤    ████┊\n"
         "     │    ████┊\n"
         "     │    ████┊\n"
         "     │    ████┊\n"
         "     └┴───────────┴───\n"
         "      305m      385m\n"
         "              ▲ p95 358m\n"},
        {"eighths, in UTF-8",
         {.resource = CPU, .share = {[10] = 0.64, [11] = 0.01, [12] = 0.32, [13] = 0.03}},
         {.columns = 40, .utf8 = true},
         "  64%┤    ████\n"
         "     │    ████\n"
         "     │    ████\n"
         "     │    ████\n"
         "  32%┤    ████    ████\n"
         "     │    ████    ████\n"
         "     │    ████    ████\n"
         "     │    ████▁▁▁▁████▃▃▃▃\n"
         "     └┴───────────────────┴───\n"
         "      110m              196m\n"},
        {"and in ASCII",
         {.resource = CPU, .share = {[10] = 0.64, [11] = 0.01, [12] = 0.32, [13] = 0.03}},
         {.columns = 40},
         "  64%+    ####\n"
         "     |    ####\n"
         "     |    ####\n"
         "     |    ####\n"
         "  32%+    ####    ####\n"
         "     |    ####    ####\n"
         "     |    ####    ####\n"
         "     |    ####....####::::\n"
         "     ++-------------------+---\n"
         "      110m              196m\n"},
        {"far ends: several buckets a column",
         {.resource = MEMORY, .share = {[0] = 0.5, [175] = 0.5}},
         {.columns = 60, .utf8 = true},
         "  50%┤█                                          █\n"
         "     │█                                          █\n"
         "     │█                                          █\n"
         "     │█                                          █\n"
         "  25%┤█                                          █\n"
         "     │█                                          █\n"
         "     │█                                          █\n"
         "     │█                                          █\n"
         "     └┴────────┴─────┴──────┴──────┴───────┴───────\n"
         "      1Mi     1Gi   4Gi   16Gi   64Gi    256Gi\n"},
        {"marks side by side, at the same place, and at the edge",
         {.resource = MEMORY,
          .share = {[30] = 0.5, [31] = 0.5},
          .within = 720e6,
          .marks = 4,
          .mark = {{707607898, "p99 675Mi", PAINT_BAR},
                   {707607898, "kill 675Mi", PAINT_ABOVE},
                   {760e6, "target 725Mi", PAINT_TARGET},
                   {4294967296, "original 4Gi", PAINT_ORIGINAL}}},
         {.columns = 60, .utf8 = true},
         "  50%┤ ██┊                              ┊\n"
         "     │ ██┊                              ┊\n"
         "     │ ██┊                              ┊\n"
         "     │ ██┊                              ┊\n"
         "  25%┤ ██┊                              ┊\n"
         "     │ ██┊                              ┊\n"
         "     │ ██┊                              ┊\n"
         "     │ ██┊                              ┊\n"
         "     └────────┴────────────┴────────────┴─\n"
         "             1Gi          2Gi          4Gi\n"
         "       ▲ p99 675Mi                      ▲ original 4Gi\n"
         "       ▲ kill 675Mi\n"
         "         ▲ target 725Mi\n"},
        {"colours",
         {.resource = CPU,
          .share = {[10] = 0.5, [11] = 0.5},
          .within = 0.15,
          .marks = 1,
          .mark = {{0.15, "p50 150m", PAINT_BAR}}},
         {.columns = 40, .utf8 = true, .colour = true},
         "  50%┤    \033[36m████████\033[0m\n"
         "     │    \033[36m████████\033[0m\n"
         "     │    \033[36m████████\033[0m\n"
         "     │    \033[36m████████\033[0m\n"
         "  25%┤    \033[36m████████\033[0m\n"
         "     │    \033[36m████████\033[0m\n"
         "     │    \033[36m████████\033[0m\n"
         "     │    \033[36m████████\033[0m\n"
         "     └\033[2m┴───────────┴───\033[0m\n"
         "      \033[2m110m\033[0m      \033[2m159m\033[0m\n"
         "               \033[36m▲\033[0m \033[36mp50 150m\033[0m\n"},
};

static void test_pictures(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                char *got = drawn(&rows[i].d, &rows[i].t);
                if (strcmp(got, rows[i].want) != 0)
                        print_error("%s: got\n%s\nwant\n%s\n", rows[i].what, got, rows[i].want);
                assert_string_equal(got, rows[i].want);
                free(got);
        }
}

/* Whatever the shares, marks and width: as many lines as promised, none wider than the terminal. */
static void test_bounds(void **state)
{
        (void)state;
        unsigned seed = 1;
        for (int run = 0; run < 2000; run++) {
                struct drawing d = {.resource = run % 2 ? CPU : MEMORY};
                struct terminal t = {.columns = 40 + run % 120, .utf8 = run % 3 != 0};
                int buckets = 1 + run % 40, lines = 0;
                for (int i = 0; i < buckets; i++)
                        d.share[(unsigned)rand_r(&seed) % HISTOGRAM_BUCKETS] = 1.0 / buckets;
                for (d.marks = 0; d.marks < run % (DRAW_MARKS + 1); d.marks++) {
                        int bucket = (int)((unsigned)rand_r(&seed) % HISTOGRAM_BUCKETS);
                        d.mark[d.marks].value = histogram_start(d.resource, bucket) * (run % 5 == 0 ? 1000 : 1);
                        strcpy(d.mark[d.marks].label, "original 1234567m");
                }
                char *got = drawn(&d, &t), *rest = got;
                for (char *line; (line = strsep(&rest, "\n")); lines++)
                        if (terminal_width(line) > t.columns)
                                fail_msg("run %d: wider than %d:\n%s", run, t.columns, line);
                assert_in_range(lines, DRAW_ROWS + 3, DRAW_ROWS + 3 + DRAW_MARKS);
                free(got);
        }
}

static void test_tame(void **state)
{
        (void)state;
        static const struct {
                const char *in, *want;
        } row[] = {
                {"", ""},
                {"plain text", "plain text"},
                {"a\033[31mb", "a?[31mb"},
                {"\n\t\x7f", "???"},
                {"Füße → 2", "Füße → 2"},
                {"csi \xc2\x9b here", "csi ?? here"},
                {"\xc2\xa0", "\xc2\xa0"},
                {"pay\u202egnp.exe", "pay???gnp.exe"},
                {"a\u200bb\ufeff\u2066", "a???b??????"},
                {"tag \U000e0061 end", "tag ???? end"},
                {"naïve 日本 é", "naïve 日本 é"},
                {"\xff\xfe cut \xe2\x86", "?? cut ??"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char text[64];
                strcpy(text, row[i].in);
                assert_string_equal(terminal_tame(text), row[i].want);
        }
        assert_null(terminal_tame(NULL));
}

static void test_terminal(void **state)
{
        (void)state;
        static const struct {
                const char *all, *ctype, *lang, *columns;
                bool utf8;
                int width;
        } row[] = {
                {NULL, NULL, NULL, NULL, false, 80},       {NULL, NULL, "en_US.UTF-8", "100", true, 100},
                {NULL, NULL, "en_US.utf8", "7", true, 40}, {"C", NULL, "en_US.UTF-8", "100000", false, 400},
                {"", "C.UTF-8", "C", "x", true, 80},       {NULL, "POSIX", "C.UTF-8", "-3", false, 80},
        };
        static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG", "COLUMNS"};
        FILE *plain = tmpfile();
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const char *const value[] = {row[i].all, row[i].ctype, row[i].lang, row[i].columns};
                struct terminal t;
                for (int k = 0; k < 4; k++)
                        value[k] ? setenv(names[k], value[k], 1) : unsetenv(names[k]);
                terminal_read(plain, &t);
                if (t.utf8 != row[i].utf8 || t.columns != row[i].width || t.colour)
                        fail_msg("row %zu: %d columns, UTF-8 %d, colour %d", i, t.columns, t.utf8, t.colour);
        }
        fclose(plain);
}

/* A terminal: its width, and colours where nothing speaks against them. */
static void test_pty(void **state)
{
        (void)state;
        static const struct {
                const char *term, *no_color;
                bool moves, colour;
        } row[] = {
                {"xterm", NULL, true, true},  {"xterm", "", true, true},  {"xterm", "1", true, false},
                {"dumb", NULL, false, false}, {NULL, NULL, false, false}, {"", NULL, false, false},
        };
        const struct winsize size = {.ws_row = 24, .ws_col = 93};
        int master = posix_openpt(O_RDWR | O_NOCTTY);
        if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
                skip();
        FILE *to = fopen(ptsname(master), "w");
        assert_non_null(to);
        assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
        unsetenv("COLUMNS");
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct terminal t;
                row[i].term ? setenv("TERM", row[i].term, 1) : unsetenv("TERM");
                row[i].no_color ? setenv("NO_COLOR", row[i].no_color, 1) : unsetenv("NO_COLOR");
                terminal_read(to, &t);
                if (t.colour != row[i].colour || t.moves != row[i].moves || t.columns != 93)
                        fail_msg("row %zu: colour %d, moves %d, %d columns", i, t.colour, t.moves, t.columns);
        }
        fclose(to);
        close(master);
}

static void test_wrap(void **state)
{
        (void)state;
        static const struct {
                const char *in;
                int at, columns;
                const char *want;
        } row[] = {
                {"", 0, 20, "\n"},
                {"one two three", 0, 20, "one two three\n"},
                {"one two three", 2, 9, "one two\n  three\n"},
                {"ünd äöü", 0, 7, "ünd äöü\n"},
                {"waytoolongforthis x", 0, 5, "waytoolongforthis\nx\n"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char *text = NULL;
                size_t len = 0;
                FILE *to = open_memstream(&text, &len);
                terminal_wrap(to, row[i].in, row[i].at, row[i].columns);
                fclose(to);
                assert_string_equal(text, row[i].want);
                free(text);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_pictures), cmocka_unit_test(test_bounds), cmocka_unit_test(test_tame),
                cmocka_unit_test(test_terminal), cmocka_unit_test(test_wrap),   cmocka_unit_test(test_pty),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
