/* The steps of an explanation in words, for people. */
#ifndef HALFLIFE_REST_EXPLAIN_TEXT_H
#define HALFLIFE_REST_EXPLAIN_TEXT_H

#include "core/explain.h"

struct explain_words {
        const struct explain_facts *facts;
        const struct explain *of;
        int confidence_percent;
        enum apply_mode mode;   /* of the profile */
        const char *overcommit; /* of the profile */
};

enum { WORDS_MAX = 512 };
/* Writes a sentence of at most WORDS_MAX - 1 bytes. Returns out. */
char *explain_words(const struct explain_words *w, const struct explain_step *s, char out[static WORDS_MAX]);

/* Thousandths as a decimal: "1.1". Returns out. */
enum { FACTOR_TEXT_MAX = 24 };
char *factor_text(int thousandths, char out[static FACTOR_TEXT_MAX]);

#endif
