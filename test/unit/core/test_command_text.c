#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/command_text.h"

enum { READ_MAX = 256 * 1024, FAR = 64 }; /* what is looked at for one command; room for a row's text */

static const struct runtime_variable variables[] = {
        {TEXT("A"), TEXT("old"), true},
        {TEXT("A"), TEXT("x y"), true},
        {TEXT("B"), TEXT("<$(A)>"), true},
        {TEXT("C"), TEXT("$(D)$(C)"), true}, /* refers to itself, and to a later one */
        {TEXT("D"), TEXT("$A`${A}"), true},
        {TEXT("azAZ09_"), TEXT("edges"), true},
        {TEXT("UNKNOWN"), TEXT("?"), false},
};
static const struct runtime_command command = {.variable = variables,
                                               .variables = sizeof variables / sizeof variables[0]};

/* The text on the heap, so that a read past its end is noticed. */
static char *text_copy(const char *s, size_t len)
{
        char *p = malloc(len);
        assert_true(p || len == 0);
        memcpy(p, s, len);
        return p;
}

static void read_rest(struct command_text *s, char out[static FAR])
{
        size_t len = 0;
        while (command_text_next(s, &out[len]))
                assert_true(++len < FAR);
        out[len] = '\0';
}

enum how { PLAIN, SHELL, QUOTED };

static void test_texts(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                enum how how;
                const char *want;
                bool incomplete;
        } row[] = {
                {"", PLAIN, "", false},
                {"a b", SHELL, "a b", false},
                /* $(NAME) of Kubernetes, in whatever text */
                {"$(A)", PLAIN, "x y", false},
                {"-$(A)-$(B)-", PLAIN, "-x y-<x y>-", false},
                {"$(A)", SHELL, "x y", false},
                {"$(A)", QUOTED, "x y", false},
                {"$(C)", PLAIN, "$(D)$(C)", false},
                {"$(D)", SHELL, "$A`${A}", false},
                {"$(NONE)", PLAIN, "$(NONE)", false},
                {"$(UNKNOWN)!", PLAIN, "!", true},
                {"$(azAZ09_)", PLAIN, "edges", false},
                {"$()", PLAIN, "$()", false},
                {"$(", PLAIN, "$(", false},
                {"$(A", PLAIN, "$(A", false},
                {"$xA)", PLAIN, "$xA)", false},
                {"$[A)", PLAIN, "$[A)", false},
                {"A)", PLAIN, "A)", false},
                /* $$ is $, and begins nothing */
                {"$$", PLAIN, "$", false},
                {"$$$", PLAIN, "$$", false},
                {"$$(A)", PLAIN, "$(A)", false},
                {"$$$(A)", PLAIN, "$x y", false},
                {"a$b$", PLAIN, "a$b$", false},
                {"$", PLAIN, "$", false},
                /* $NAME and ${NAME} of a shell */
                {"$A", SHELL, "x y", false},
                {"$A.", SHELL, "x y.", false},
                {"${A}", SHELL, "x y", false},
                {"${A}A", SHELL, "x yA", false},
                {"$azAZ09_", SHELL, "edges", false},
                {"$A`", QUOTED, "$A`", false},
                {"$A`", PLAIN, "$A`", false},
                {"$NONE!", SHELL, "!", true},
                {"$UNKNOWN!", SHELL, "!", true},
                /* what a shell makes of these is not known */
                {"$", SHELL, "$", true},
                {"$ A", SHELL, "$ A", true},
                {"$(", SHELL, "$(", true},
                {"$(A", SHELL, "$(A", true},
                {"$(ls)", SHELL, "$(ls)", true},
                {"${", SHELL, "${", true},
                {"${A", SHELL, "${A", true},
                {"${}", SHELL, "${}", true},
                {"${A-x}", SHELL, "${A-x}", true},
                {"$@", SHELL, "$@", true},
                {"$[", SHELL, "$[", true},
                {"$`", SHELL, "$`", true},
                {"$/$:$^${", SHELL, "$/$:$^${", true},
                {"`ls`", SHELL, "`ls`", true},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct command_text s = {.of = &command};
                size_t len = strlen(row[i].text);
                char out[FAR], *copy = text_copy(row[i].text, len);
                command_text_begin(&s, (struct text){copy, len}, command.variables, row[i].how != PLAIN);
                s.quoted = row[i].how == QUOTED;
                read_rest(&s, out);
                free(copy);
                if (strcmp(out, row[i].want) != 0 || s.incomplete != row[i].incomplete)
                        fail_msg("row %zu (%s): '%s'%s", i, row[i].text, out, s.incomplete ? ", incomplete" : "");
        }
}

/* A text begins anew, whatever was left of the one before. */
static void test_begins_anew(void **state)
{
        (void)state;
        struct command_text s = {.of = &command};
        char c, out[FAR];
        command_text_begin(&s, TEXT("$(B)..."), command.variables, true);
        s.quoted = true;
        for (int i = 0; i < 3; i++)
                assert_true(command_text_next(&s, &c));
        command_text_begin(&s, TEXT("b$(A)"), 0, false);
        assert_false(s.quoted);
        read_rest(&s, out);
        assert_string_equal(out, "b$(A)");
        command_text_begin(&s, TEXT("left"), 0, false);
        assert_true(command_text_begin_variable(&s, TEXT("A")));
        read_rest(&s, out);
        assert_string_equal(out, "x y");
        assert_false(s.incomplete);
}

static void test_variables(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                bool found;
                const char *want;
                bool incomplete;
        } row[] = {
                {"A", true, "x y", false},         {"B", true, "<x y>", false}, {"C", true, "$(D)$(C)", false},
                {"D", true, "$A`${A}", false},     {"UNKNOWN", true, "", true}, {"NONE", false, "", false},
                {"azAZ09_", true, "edges", false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct command_text s = {.of = &command};
                char out[FAR];
                assert_int_equal(command_text_begin_variable(&s, text_of(row[i].name)), row[i].found);
                read_rest(&s, out);
                assert_string_equal(out, row[i].want);
                assert_int_equal(s.incomplete, row[i].incomplete);
        }
}

/* The whole of a long text is read; of a longer one its beginning, and it is incomplete. */
static void test_long(void **state)
{
        (void)state;
        static char text[READ_MAX + 1];
        memset(text, 'x', sizeof text);
        for (size_t len = READ_MAX - 1; len <= READ_MAX + 1; len++) {
                struct command_text s = {.of = &command};
                char c, *copy = text_copy(text, len);
                size_t read = 0;
                command_text_begin(&s, (struct text){copy, len}, command.variables, true);
                while (command_text_next(&s, &c))
                        read++;
                free(copy);
                assert_int_equal(read, len < READ_MAX ? len : READ_MAX);
                assert_int_equal(s.incomplete, len > READ_MAX);
        }
}

/* All texts of a command count, so do the searches for an end that is missing, and for variables. */
static void test_cost(void **state)
{
        (void)state;
        enum { HALF = READ_MAX / 2, MANY = READ_MAX / 4 };
        static char text[HALF];
        static const struct runtime_variable nameless[MANY];
        const struct runtime_command of = {.variable = nameless, .variables = MANY};
        struct command_text s = {.of = &(struct runtime_command){0}};
        char c, out[FAR];
        for (int i = 0; i < 2; i++) {
                command_text_begin(&s, (struct text){text, HALF}, 0, false);
                while (command_text_next(&s, &c))
                        assert_false(s.incomplete);
        }
        assert_false(s.incomplete);
        command_text_begin(&s, TEXT("x"), 0, false);
        assert_false(command_text_next(&s, &c));
        assert_true(s.incomplete);

        for (size_t i = 0; i < HALF; i++)
                text[i] = "$("[i % 2];
        s = (struct command_text){.of = &(struct runtime_command){0}};
        command_text_begin(&s, (struct text){text, HALF}, 0, false);
        read_rest(&s, out);
        assert_string_equal(out, "$($");
        assert_true(s.incomplete);

        s = (struct command_text){.of = &of};
        command_text_begin(&s, TEXT("$(1)$(2)$(3)$(4)"), MANY, false);
        read_rest(&s, out);
        assert_string_equal(out, "$(1)$(2)$(3)$");
        assert_true(s.incomplete);
        s = (struct command_text){.of = &of};
        command_text_begin(&s, TEXT("$(1)$(2)$(3)$..."), MANY, false);
        read_rest(&s, out);
        assert_string_equal(out, "$(1)$(2)$(3)$...");
        assert_false(s.incomplete);
}

/* Values within values are put in as deep as there is room. */
static void test_deep(void **state)
{
        (void)state;
        static const struct runtime_variable nested[] = {
                {TEXT("1"), TEXT("."), true},     {TEXT("2"), TEXT("2$(1)"), true}, {TEXT("3"), TEXT("3$(2)"), true},
                {TEXT("4"), TEXT("4$(3)"), true}, {TEXT("5"), TEXT("5$(4)"), true}, {TEXT("6"), TEXT("6$(5)"), true},
                {TEXT("7"), TEXT("7$(6)"), true}, {TEXT("8"), TEXT("8$(7)"), true},
        };
        const struct runtime_command of = {.variable = nested, .variables = sizeof nested / sizeof nested[0]};
        struct command_text s = {.of = &of};
        char out[FAR];
        command_text_begin(&s, TEXT("$(7)!"), of.variables, false);
        read_rest(&s, out);
        assert_string_equal(out, "765432.!");
        assert_false(s.incomplete);
        command_text_begin(&s, TEXT("$(8)!"), of.variables, false);
        read_rest(&s, out);
        assert_string_equal(out, "8765432!");
        assert_true(s.incomplete);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_texts), cmocka_unit_test(test_begins_anew), cmocka_unit_test(test_variables),
                cmocka_unit_test(test_long),  cmocka_unit_test(test_deep),        cmocka_unit_test(test_cost),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
