#include "cli/options.h"

#include <string.h>

#include "terminal.h"

static bool option_is_called(const char *name, const char *given, size_t len)
{
        return name && strlen(name) == len && memcmp(name, given, len) == 0;
}

static int find_name(const struct option_spec *spec, int specs, const char *name, size_t len, bool *ret_formerly)
{
        for (int i = 0; i < specs; i++) {
                *ret_formerly = option_is_called(spec[i].former, name, len);
                if (option_is_called(spec[i].name, name, len) || *ret_formerly)
                        return i;
        }
        return -1;
}

static int find_letter(const struct option_spec *spec, int specs, char letter)
{
        for (int i = 0; i < specs; i++)
                if (spec[i].letter == letter && letter)
                        return i;
        return -1;
}

bool option_is_namespace(const char *name, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (!(name[i] >= 'a' && name[i] <= 'z') && !(name[i] >= '0' && name[i] <= '9') && name[i] != '-')
                        return false;
        return len >= 1 && len <= 63;
}

static int check_shape(const struct option_spec *spec, const char *value, struct err *err)
{
        if (spec->shape != OPTION_TEXT && !*value)
                return err_set(err, ERR_INVALID, "option '--%s' is empty: give a %s, or leave the option out",
                               spec->name, spec->shape == OPTION_NAMESPACE ? "namespace" : "labels");
        if (spec->shape == OPTION_NAMESPACE && !option_is_namespace(value, strlen(value)))
                return err_set(err, ERR_INVALID, "--%s '%.300s' is not a valid namespace name", spec->name, value);
        return 0;
}

static int option_give(const struct option_spec *spec, struct option_given *g, const char *value, struct err *err)
{
        if (g->count == 1 && !spec->many)
                return err_set(err, ERR_INVALID, "option '--%s' was given twice", spec->name);
        if (g->count == OPTION_MANY)
                return err_set(err, ERR_INVALID, "option '--%s' was given more than %d times", spec->name, OPTION_MANY);
        g->value[g->count++] = value;
        return check_shape(spec, value, err);
}

/* Read the option at argv[*at]. inline_value: the text after '=' or after the letter; NULL: none. */
static int option_take(const struct option_spec *spec, struct option_given *g, int argc, char **argv, int *at,
                       const char *inline_value, struct err *err)
{
        if (inline_value)
                return option_give(spec, g, inline_value, err);
        if (!spec->value)
                return option_give(spec, g, "true", err);
        if (*at + 1 >= argc)
                return err_set(err, ERR_INVALID, "option '--%s' needs a value: --%s %s", spec->name, spec->name,
                               spec->value);
        return option_give(spec, g, argv[++*at], err);
}

static int take_long(const struct option_spec *spec, int specs, int argc, char **argv, int *at,
                     struct option_given *given, struct err *err)
{
        const char *name = argv[*at] + 2, *equals = strchr(name, '=');
        size_t len = equals ? (size_t)(equals - name) : strlen(name);
        bool formerly;
        int i = find_name(spec, specs, name, len, &formerly);
        if (i < 0)
                return err_set(err, ERR_INVALID, "unknown option '--%.*s'; --help lists them", (int)len, name);
        if (given[i].count && given[i].formerly != formerly)
                return err_set(err, ERR_INVALID,
                               "'--%s' and '--%s' are the former and the new name of one option; keep '--%s'",
                               spec[i].former, spec[i].name, spec[i].name);
        given[i].formerly = formerly;
        return option_take(&spec[i], &given[i], argc, argv, at, equals ? equals + 1 : NULL, err);
}

static int take_short(const struct option_spec *spec, int specs, int argc, char **argv, int *at,
                      struct option_given *given, struct err *err)
{
        const char *arg = argv[*at];
        int i = find_letter(spec, specs, arg[1]);
        if (i < 0)
                return err_set(err, ERR_INVALID, "unknown option '-%c'; --help lists them", arg[1]);
        if (!spec[i].value && arg[2])
                return err_set(err, ERR_INVALID, "option '-%c' takes no value, not '%s'", arg[1], arg + 2);
        return option_take(&spec[i], &given[i], argc, argv, at, arg[2] ? arg + 2 : NULL, err);
}

int options_parse(const struct option_spec *spec, int specs, int argc, char **argv, struct option_given *given,
                  struct option_words *words, struct err *err)
{
        bool ended = false;
        for (int i = 0; i < specs; i++)
                given[i] = (struct option_given){0};
        words->count = 0;
        for (int at = 1; at < argc; at++) {
                const char *arg = argv[at];
                int rc = 0;
                if (!ended && strcmp(arg, "--") == 0)
                        ended = true;
                else if (!ended && strncmp(arg, "--", 2) == 0)
                        rc = take_long(spec, specs, argc, argv, &at, given, err);
                else if (!ended && arg[0] == '-' && arg[1])
                        rc = take_short(spec, specs, argc, argv, &at, given, err);
                else if (words->count == OPTION_WORDS)
                        rc = err_set(err, ERR_INVALID, "more than %d arguments", OPTION_WORDS);
                else
                        words->word[words->count++] = arg;
                if (rc < 0)
                        return rc;
        }
        return 0;
}

const char *option_value(const struct option_given *g)
{
        return g->count ? g->value[g->count - 1] : NULL;
}

int option_choice(const char *choices, const char *value)
{
        for (int n = 0; *choices; n++) {
                size_t len = strcspn(choices, "|");
                if (strlen(value) == len && memcmp(choices, value, len) == 0)
                        return n;
                choices += len + (choices[len] == '|');
        }
        return -1;
}

static int store_switch(const struct option_spec *spec, const char *value, bool *ret, struct err *err)
{
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
                return err_set(err, ERR_INVALID, "--%s '%s' is neither true nor false", spec->name, value);
        *ret = strcmp(value, "true") == 0;
        return 0;
}

/* Refuse a value; the error lists the choices ("one of text, json"). */
static int refuse_choice(const struct option_spec *spec, const char *value, struct err *err)
{
        char list[128];
        size_t at = 0;
        for (const char *c = spec->choices; *c && at + 3 < sizeof list; c++) {
                list[at++] = *c == '|' ? ',' : *c;
                if (*c == '|')
                        list[at++] = ' ';
        }
        list[at] = '\0';
        return err_set(err, ERR_INVALID, "--%s '%s' is not one of %s", spec->name, value, list);
}

static int option_store(const struct option_spec *spec, const struct option_given *given, void *member, struct err *err)
{
        const char *value = option_value(given);
        if (spec->member == OPTION_IN_MANY)
                *(const struct option_given **)member = given;
        if (!value)
                return 0;
        if (spec->member == OPTION_IN_SWITCH && !spec->value)
                return store_switch(spec, value, member, err);
        int choice = spec->choices ? option_choice(spec->choices, value) : 0;
        if (choice < 0)
                return refuse_choice(spec, value, err);
        if (spec->member == OPTION_IN_TEXT)
                *(const char **)member = value;
        else if (spec->member == OPTION_IN_SWITCH)
                *(bool *)member = choice > 0;
        else if (spec->member == OPTION_IN_CHOICE)
                *(unsigned *)member = (unsigned)choice;
        return 0;
}

int options_store(const struct option_spec *spec, int specs, const struct option_given *given, void *state,
                  struct err *err)
{
        int rc = 0;
        for (int i = 0; i < specs && rc == 0; i++)
                if (spec[i].member != OPTION_IN_NONE)
                        rc = option_store(&spec[i], &given[i], (char *)state + spec[i].at, err);
        return rc;
}

void options_print(FILE *to, const struct option_spec *spec, int specs)
{
        enum { WIDTH = 100 };
        int widest = 0;
        for (int i = 0; i < specs; i++) {
                int width = (int)strlen(spec[i].name) + (spec[i].value ? 1 + (int)strlen(spec[i].value) : 0);
                widest = width > widest && !spec[i].unlisted ? width : widest;
        }
        for (int i = 0; i < specs; i++) {
                if (spec[i].unlisted)
                        continue;
                if (spec[i].letter)
                        fprintf(to, "  -%c, ", spec[i].letter);
                else
                        fprintf(to, "      ");
                int width = fprintf(to, "--%s%s%s", spec[i].name, spec[i].value ? " " : "",
                                    spec[i].value ? spec[i].value : "");
                fprintf(to, "%*s", widest + 5 - width, "");
                terminal_wrap(to, spec[i].help, widest + 11, WIDTH);
        }
}
