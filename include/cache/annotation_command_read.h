/*
 * Annotation commands on Recommendations, by which a person requests an adoption or an import.
 */
#ifndef HALFLIFE_CACHE_ANNOTATION_COMMAND_READ_H
#define HALFLIFE_CACHE_ANNOTATION_COMMAND_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct cache;
struct ns;
enum annotation_command_name { COMMAND_ADOPT, COMMAND_IMPORT, ANNOTATION_COMMANDS };
struct annotation_command {
        char *asks;         /* the annotation's value; NULL: the command was refused, and its value not kept */
        size_t bytes;       /* length of the annotation's value */
        uint64_t hash;      /* hash of the annotation's value */
        struct ns *ns;      /* the namespace whose command_bytes include `bytes`; NULL: `asks` is not kept */
        char *answer;       /* the answer, until it is written; NULL: halflife has not handled the command */
        uint64_t batch;     /* number of the store batch that must be on disk before the answer is written */
        uint64_t failed_in; /* the last pass over commands in which writing the answer failed; 0: none */
        bool answering;     /* an API write of the answer is under way */
};

/* Take the annotation's value `asks` as the command *c; `asks` NULL: the annotation is gone, and *c becomes NULL. The
 * value that *c already has changes nothing, because its answer is under way. */
void annotation_command_set(struct cache *w, struct text ns, struct annotation_command **c, const char *asks);
void annotation_command_answered(struct annotation_command *w, char *answer /* the command takes it over */,
                                 uint64_t batch);
void annotation_command_set_answering(struct annotation_command *w, bool answering);
void annotation_command_failed(struct annotation_command *w, uint64_t pass);
void annotation_command_free(struct cache *w, struct annotation_command *c);
const char *annotation_command_key(enum annotation_command_name name);

#endif
