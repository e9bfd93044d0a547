/*
 * Command lines: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, and switches. "--" ends the options; all other
 * arguments are words. A switch needs no value, but may have one after '=' ("--leader-elect=false"). The error of a
 * wrong option is one line about that option.
 */
#ifndef HALFLIFE_CLI_OPTIONS_H
#define HALFLIFE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

/*
 * The form of a value that chooses objects. An empty value is refused and never means "all", because a script passes
 * one when its variable is unset. An invalid namespace name is refused, because it would lead to another URL path.
 */
enum option_shape { OPTION_TEXT, OPTION_NAMESPACE, OPTION_LABELS };

/* How a member of a command's state holds an option's value. */
enum option_member {
        OPTION_IN_NONE,
        OPTION_IN_TEXT,   /* const char *: the value; the member is untouched if the option is absent */
        OPTION_IN_SWITCH, /* bool: the value of a switch; of two choices, true is the second */
        OPTION_IN_CHOICE, /* an enum: the index of the choice */
        OPTION_IN_MANY,   /* const struct option_given *: all values */
};

struct option_spec {
        const char *name;   /* without dashes: "kubeconfig" */
        const char *former; /* the name in the previous version, still accepted; NULL: the same name */
        char letter;        /* 'n' for -n; 0: the option has no letter */
        const char *value;  /* what help calls the value, "FILE"; NULL: a switch */
        const char *help;
        bool many;     /* the option may be given more than once */
        bool unlisted; /* the option is accepted and ignored, and --help omits it */
        enum option_shape shape;
        const char *choices;  /* "text|json": the allowed values; NULL: any */
        const char *examples; /* "50|90": values that completion offers, among others that are allowed */
        enum option_member member;
        size_t at; /* offset in bytes of the member that receives the value */
};
/* The member m of the command's state that receives the value. */
#define OPTION_IN(type, m)                                                                                             \
        .at = offsetof(type, m), .member = _Generic(((type *)0)->m, const char *: OPTION_IN_TEXT,                      \
                                                    bool: OPTION_IN_SWITCH,                                            \
                                                    unsigned: OPTION_IN_CHOICE,                                        \
                                                    const struct option_given *: OPTION_IN_MANY)

enum { OPTION_MANY = 32, OPTION_WORDS = 64 };

/* The values given for one option. The caller has an array of these, one for each spec, in their order. */
struct option_given {
        const char *value[OPTION_MANY]; /* values in argv; of a switch without '=': "true" */
        int count;
        bool formerly; /* the option was given by its former name */
};

struct option_words {
        const char *word[OPTION_WORDS];
        int count;
};

/* Parse argv, which is without argv[0]. Returns 0, or ERR_INVALID with one line of text in err. An option's former and
 * new name exclude each other. */
int options_parse(const struct option_spec *spec, int specs, int argc, char **argv, struct option_given *given,
                  struct option_words *words, struct err *err);
/* Whether a namespace can have this name of `len` bytes: 1 to 63 characters of a-z, 0-9 and '-'. */
bool option_is_namespace(const char *name, size_t len);
/* The last value given for an option; NULL: the option was not given. */
const char *option_value(const struct option_given *g);
/* The index of `value` in `choices` ("text|json"), from 0; -1: it is none of them. */
int option_choice(const char *choices, const char *value);
/* Store the given values in those members of `state` that the specs name. ERR_INVALID: a switch is neither true nor
 * false, or a value is not among the choices. */
int options_store(const struct option_spec *spec, int specs, const struct option_given *given, void *state,
                  struct err *err);

/* Print a line for each option, aligned, as "  -n, --namespace NAME   help"; the help texts wrap at column 100. */
void options_print(FILE *to, const struct option_spec *spec, int specs);

#endif
