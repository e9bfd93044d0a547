/*
 * A work queue of keys, in the manner of client-go's: adding twice is once, adding during work is once more after it;
 * delayed adds; per-key back-off; bounded. Keys are opaque pointers that the caller keeps alive while they are held:
 * ready, waiting for their time, or taken and not yet done. An add makes a waiting key ready at once, also one that
 * backs off (its failures still count). Keys are taken in the order they became ready. One thread.
 */
#ifndef HALFLIFE_BASE_QUEUE_H
#define HALFLIFE_BASE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct queue;
struct queue *queue_new(size_t max, int64_t back_off_least_ms, int64_t back_off_most_ms);
void queue_free(struct queue *q);
int queue_add(struct queue *q, void *key); /* ERR_TOOBIG when max keys are held */
int queue_add_after(struct queue *q, void *key, struct mono now,
                    int64_t delay_ms);              /* the sooner of two delays stands */
void *queue_take(struct queue *q, struct mono now); /* NULL: nothing due */
void queue_done(struct queue *q, void *key);        /* forgets its failures */
void queue_retry(struct queue *q, void *key, struct mono now,
                 int64_t at_least_ms);                         /* doubles its back-off, with jitter */
void queue_forget(struct queue *q, void *key);                 /* the key is about to be freed */
int64_t queue_wait_ms(const struct queue *q, struct mono now); /* until something is due; -1: nothing waits */
size_t queue_count(const struct queue *q);

#endif
