/*
 * The fuse: changes that did harm, each taken back by a guard, are counted over a sliding hour. More than so many stop
 * all applying, until a person resets it.
 */
#ifndef HALFLIFE_CORE_FUSE_H
#define HALFLIFE_CORE_FUSE_H

#include <stdbool.h>

#include <stdint.h>

enum { FUSE_GUARDS_MOST = 1000 };

/* Of times in wall ms, how many fall within the hour that ends now; one ahead of now was written by a wrong clock and
 * counts. */
int fuse_count_within(const int64_t *at_ms, int count, int64_t now_ms);
bool fuse_blows(int within, int guards); /* guards 0: never */

/*
 * What the Lease says of it (halflife.dev/fuse): "2026-11-22T02:00:00Z: 6 guards within an hour: …" since when it is
 * blown, "reset 2026-11-22T02:30:00Z" when a person said to go on. A reset stays written, so that whoever was away then
 * learns of it.
 */
enum fuse_word { FUSE_NOTHING, FUSE_BLOWN, FUSE_RESET };
/* What is known here, and what is to be made of what the Lease says. */
struct fuse_facts {
        bool blown;
        int64_t blown_ms; /* since when */
        int64_t reset_ms; /* the last reset known here; 0: none */
        bool shown;       /* this very Lease was seen to say that it is blown */
        int64_t now_ms;
};
enum fuse_deed {
        FUSE_AGREES,
        FUSE_TAKE,   /* it is blown: whoever held the Lease before says so */
        FUSE_WRITE,  /* the Lease is to say that it is blown */
        FUSE_MEND,   /* a person reset it */
        FUSE_REPEAT, /* the Lease is to say that it was reset */
        FUSE_DATE,   /* the same, as of now: it says a time that has not come, and would reset all that blows until then
                      */
};
/* at_ms: when the Lease says it blew, or was reset; 0: that cannot be read. What a clock that was ahead says it blew,
 * any reset is after; and a reset is for one time: not for what blows after it was known here. */
enum fuse_deed fuse_judge(const struct fuse_facts *f, enum fuse_word word, int64_t at_ms);

#endif
