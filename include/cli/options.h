/*
 * Command lines: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, switches; "--" ends them; what is left are words. A
 * switch takes no value but may be given one with '=' ("--leader-elect=false"). A wrong option gets one line about that
 * option.
 */
#ifndef HALFLIFE_CLI_OPTIONS_H
#define HALFLIFE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

/*
 * What a value has to look like, where it says which objects are meant. A script gives an empty one where its variable
 * is not set: that is refused, and never read as "all". What is no name of a namespace would lead to another path.
 */
enum option_shape { OPTION_TEXT, OPTION_NAMESPACE, OPTION_LABELS };

struct option_spec {
        const char *name;   /* "kubeconfig" */
        const char *former; /* its name in the version before, still taken; NULL: the same */
        char letter;        /* 'n'; 0: none */
        const char *value;  /* what help calls the value, "FILE"; NULL: a switch */
        const char *help;
        bool many; /* may be given more than once */
        enum option_shape shape;
};

enum { OPTION_MANY = 32, OPTION_WORDS = 64 };

/* What was given for one option: the caller's array, one element an option, in the order of the specs. */
struct option_given {
        const char *value[OPTION_MANY]; /* point into argv; a switch without '=' gives "true" */
        int count;
        bool formerly; /* by its former name */
};

struct option_words {
        const char *word[OPTION_WORDS];
        int count;
};

/* 0, or ERR_INVALID with one line; argv[0] is skipped. */
int options_parse(const struct option_spec *spec, int specs, int argc, char **argv, struct option_given *given,
                  struct option_words *words, struct err *err);
/* Can a namespace have this name (1 to 63 of a-z, 0-9 and '-')? */
bool option_is_namespace(const char *name, size_t len);
/* The value given last, or NULL. */
const char *option_value(const struct option_given *g);
/* Is the switch on? ERR_INVALID for a value that is neither true nor false. */
int option_switch(const struct option_given *g, bool *ret, struct err *err);

/* "  -n, --namespace NAME   help", aligned; help wraps at 100 columns. */
void options_print(FILE *to, const struct option_spec *spec, int specs);

#endif
