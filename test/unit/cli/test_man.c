/*
 * The manual page says what the program knows: its lists are written from the tables of commands, options and settings.
 * `make docs` writes them anew.
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
#include "cli/commands.h"
#include "cli/settings.h"

#define PAGE "man/halflife.1"

/* A line of running text: what roff would take for its own is escaped. */
static void print_text(FILE *to, const char *text)
{
        if (*text == '.' || *text == '\'')
                fputs("\\&", to);
        for (const char *p = text; *p; p++)
                fputs(*p == '\\' ? "\\e" : (const char[]){*p, '\0'}, to);
        fputc('\n', to);
}

static void print_option(FILE *to, const struct option_spec *o)
{
        fputs(".It ", to);
        if (o->letter)
                fprintf(to, "Fl %c , ", o->letter);
        fprintf(to, "Fl -%s", o->name);
        if (o->value)
                fprintf(to, " Ar %s", o->value);
        fputc('\n', to);
        print_text(to, o->help);
}

/* What stands behind the options, as --help has it. */
static const char *words_of(const struct command *c)
{
        static const char *const words[][2] = {
                {"get", " Op Ar KIND/NAME"},
                {"explain", " Ar KIND/NAME"},
                {"restore", " Op Ar KIND/NAME ..."},
                {"resume", " Op Ar KIND/NAME ..."},
                {"adopt", " Ar OLD NEW"},
                {"import", " Ar FILE | Cm vpa Op Ar KIND/NAME ..."},
                {"replay", " Ar FILE ..."},
                {"completion", " Cm bash | zsh | fish"},
        };
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
                if (strcmp(words[i][0], c->name) == 0)
                        return words[i][1];
        assert_int_equal(c->words, TAKES_NOTHING);
        return "";
}

static void print_commands(FILE *to)
{
        fputs(".Bl -tag -width Ds\n", to);
        for (size_t i = 0; i < commands_count; i++) {
                const struct command *c = commands[i];
                int options = 0;
                const struct option_spec *o = command_options(c, &options);
                fprintf(to, ".It Cm %s%s%s\n", c->name, options ? " Oo Ar option ... Oc" : "", words_of(c));
                print_text(to, c->help);
                if (c->settings)
                        fputs(".Pp\nTakes the settings below as options.\n", to);
                if (c->settings || options == 0)
                        continue;
                fputs(".Bl -tag -width Ds\n", to);
                for (int k = 0; k < options; k++)
                        print_option(to, &o[k]);
                fputs(".El\n", to);
        }
        fputs(".El\n", to);
}

static void print_settings(FILE *to)
{
        fputs(".Bl -tag -width Ds\n", to);
        for (int i = 0; i < settings_count; i++) {
                const struct setting *s = &setting_table[i];
                fprintf(to, ".It Fl -%s Ar %s\n", s->name, s->value);
                print_text(to, s->help);
                if (s->least)
                        fprintf(to, ".Pq from %s to %s\n", s->least, s->most);
                if (*s->standard)
                        fprintf(to, ".Pq default %s\n", s->standard);
                if (s->live)
                        fputs(".Pq re-read\n", to);
        }
        fputs(".El\n", to);
}

static void test_lists(void **state)
{
        (void)state;
        page_check_block(PAGE, "commands", print_commands);
        page_check_block(PAGE, "settings", print_settings);
}

/* Formatters, where there are any, have nothing to say of it. */
static void test_formats(void **state)
{
        (void)state;
        static const char *const command[] = {
                "if command -v mandoc >/dev/null; then mandoc -T lint -W warning " PAGE " 2>&1; fi",
                "if command -v groff >/dev/null; then groff -mdoc -ww -Tascii -z " PAGE " 2>&1; fi",
        };
        for (size_t i = 0; i < sizeof command / sizeof command[0]; i++) {
                char said[4096];
                FILE *from = popen(command[i], "r");
                said[fread(said, 1, sizeof said - 1, from)] = '\0';
                pclose(from);
                assert_string_equal(said, "");
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lists),
                cmocka_unit_test(test_formats),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
