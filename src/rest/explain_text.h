/* The steps of an explanation as sentences for people; REST and `halflife explain` show them. */
#ifndef HALFLIFE_REST_EXPLAIN_TEXT_H
#define HALFLIFE_REST_EXPLAIN_TEXT_H

#include "core/explain_steps.h"

struct explain_words {
        const struct explain_facts *facts;
        const struct explain *of; /* the explanation that the step belongs to */
        int confidence_percent;   /* 0 to 100 */
        enum apply_mode mode;     /* the profile's mode */
        const char *overcommit;   /* the profile's apply.overcommit, such as "Static" */
};

enum { WORDS_MAX = 512 };
/* Write the sentence of step s, at most WORDS_MAX - 1 bytes. Returns out. */
char *explain_words(const struct explain_words *w, const struct explain_step *s, char out[static WORDS_MAX]);

/* What the container needs while it starts, apart from the target. */
struct explain_starts {
        bool known;           /* a start was seen, and `need` is the percentile of its usage */
        struct amount need;   /* millicores or bytes */
        int64_t last_ms;      /* how long starts stay above the target; 0: never seen above it */
        int64_t at_ms;        /* the newest sample of a start */
        int64_t ignore_ms;    /* the profile's ignoreFirst; 0: it has none, or is not known */
        struct amount target; /* the target, for comparison */
};
/* Fill *ret from the facts. false: there is nothing to say about starts, because the profile ignores no first minutes
 * and no start was learned. */
bool explain_starts_of(const struct explain_facts *f, struct amount target, struct explain_starts *ret);
char *explain_starts_words(const struct explain_starts *s, enum resource r, char out[static WORDS_MAX]);

/* Write thousandths as a decimal: 1100 becomes "1.1". Returns out. */
enum { FACTOR_TEXT_MAX = 24 };
char *factor_text(int thousandths, char out[static FACTOR_TEXT_MAX]);

#endif
