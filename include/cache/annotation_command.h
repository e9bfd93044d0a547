/*
 * What is asked of whoever learns by annotations on Recommendations.
 */
#ifndef HALFLIFE_CACHE_ANNOTATION_COMMAND_H
#define HALFLIFE_CACHE_ANNOTATION_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

enum annotation_command_name { COMMAND_ADOPT, COMMAND_IMPORT, ANNOTATION_COMMANDS };
struct annotation_command {
        char *asks;
        char *answer;   /* until it is written; NULL: it was not looked at yet */
        uint64_t batch; /* of the store: the answer waits until it is on disk */
        bool answering; /* it is being written */
};

/* NULL is no wish; the same asked again was looked at already, and its answer is under way. */
void annotation_command_set(struct annotation_command **w, const char *asks);
void annotation_command_free(struct annotation_command *w);
const char *annotation_command_key(enum annotation_command_name name);

#endif
