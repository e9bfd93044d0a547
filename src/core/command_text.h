/*
 * The text of a container's command or variable, byte by byte, with variables put in: $(NAME) as Kubernetes puts it in,
 * and $NAME and ${NAME} where a shell runs the text.
 */
#ifndef HALFLIFE_CORE_COMMAND_TEXT_H
#define HALFLIFE_CORE_COMMAND_TEXT_H

#include "core/runtime_heap.h"

enum { COMMAND_TEXT_DEPTH = 8 }; /* variables within variables; deeper ones are not put in */

struct command_text_part {
        struct text left;
        size_t variables; /* only the variables before this one are put in */
        bool shell;       /* a shell puts in variables, too */
};

struct command_text {
        const struct runtime_command *of;
        struct command_text_part part[COMMAND_TEXT_DEPTH];
        int depth;
        size_t read;     /* what was looked at for this command so far: it has a bound, which ends the text */
        bool quoted;     /* within single quotes of a shell, which puts nothing in there */
        bool incomplete; /* something could not be put in; stays set */
};

/* Start with {.of = …}, for all texts of a command. Read t from now on, in which the first `variables` variables are
 * put in. */
void command_text_begin(struct command_text *s, struct text t, size_t variables, bool shell);
/* Read the value of a variable from now on; of several of that name the last counts. Returns false where there is none.
 * A value that is not known sets incomplete, and reads as empty. */
bool command_text_begin_variable(struct command_text *s, struct text name);
/* Read the next byte. Returns false where the text has ended. */
bool command_text_next(struct command_text *s, char *ret_c);

#endif
