/*
 * What is asked of whoever learns by annotations on Recommendations (wish.c), and what importing leaves behind
 * (import.c).
 */
#ifndef HALFLIFE_CACHE_ANNOTATION_COMMAND_H
#define HALFLIFE_CACHE_ANNOTATION_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

struct world;
struct target;

/* What an annotation on a Recommendation asks of whoever learns (wish.c). */
enum wish_name { WISH_ADOPT, WISH_IMPORT, WISHES };
struct wish {
        char *asks;
        char *answer;   /* until it is written; NULL: it was not looked at yet */
        uint64_t batch; /* of the store: the answer waits until it is on disk */
        bool answering; /* it is being written */
};

/* Whose samples a target's histories hold besides its own (transfer.h), so that none is joined twice. */
struct imported {
        int count;
        struct imported_source {
                const char *container; /* interned */
                uint64_t source;
        } of[];
};

void import_forget(struct world *w, struct target *t);
/* NULL is no wish; the same asked again was looked at already, and its answer is under way. */
void wish_set(struct wish **w, const char *asks);
void wish_free(struct wish *w);
const char *wish_annotation(enum wish_name name);

#endif
