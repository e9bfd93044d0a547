/*
 * Plays a story to a running halflife. If the story fails, halflife's log is shown and the test fails.
 */
#ifndef HALFLIFE_TEST_SUPPORT_PLAY_H
#define HALFLIFE_TEST_SUPPORT_PLAY_H

#include "halflife.h"
#include "story.h"

/* What it wrote so far, to stderr. */
void play_say_log(struct halflife *h);
/* Takes over the story. */
void play(struct fake *f, struct halflife *h, struct story *story, int64_t timeout_ms);
/* PLAY(f, h, STORY(…)), in a program that says how long is LONG_MS. */
#define PLAY(f, h, ...)                                                                                                \
        do {                                                                                                           \
                struct story told_ = __VA_ARGS__;                                                                      \
                play(f, h, &told_, LONG_MS);                                                                           \
        } while (0)

#endif
