/*
 * The text of a container's command or variable, byte by byte, with the values of variables put in: of $(NAME) as
 * Kubernetes does, and of $NAME and ${NAME} where a shell runs the text.
 */
#ifndef HALFLIFE_CORE_COMMAND_TEXT_H
#define HALFLIFE_CORE_COMMAND_TEXT_H

#include "core/runtime_heap.h"

enum { COMMAND_TEXT_DEPTH = 8 }; /* how deep variables may refer to variables; deeper ones are not put in */

struct command_text_part {
        struct text left;
        size_t variables; /* only the variables before this one are put in */
        bool shell;       /* a shell runs the text, and puts in variables, too */
};

struct command_text {
        const struct runtime_command *of;
        struct command_text_part part[COMMAND_TEXT_DEPTH];
        int depth;
        size_t read;     /* bytes and variables looked at for this command so far; at a bound the text ends */
        bool quoted;     /* within single quotes, where a shell puts in no variable */
        bool incomplete; /* the value of some variable or expansion could not be put in; stays set */
};

/* Read text t from now on, with the first `variables` variables put in; shell: a shell runs t. One struct, begun as
 * {.of = …}, serves all texts of a command. */
void command_text_begin(struct command_text *s, struct text t, size_t variables, bool shell);
/* Read the value of a variable from now on; of several variables of that name the last counts. Returns false where
 * there is none. A value that is not known sets incomplete, and reads as empty. */
bool command_text_begin_variable(struct command_text *s, struct text name);
/* Read the next byte. Returns false where the text has ended. */
bool command_text_next(struct command_text *s, char *ret_c);

#endif
