/*
 * A bounded work queue of keys, like client-go's, with delayed adds and a back-off per key. A key added twice is
 * processed once; a key added during its processing is processed once more afterwards. Tenants take turns, and the keys
 * of a tenant are taken in the order in which they became ready. So a tenant with thousands of keys delays no other.
 * Urgent keys come before all others; but one take in eight prefers a key that is not urgent, so that no key waits for
 * ever. queue_set_places bounds the keys in work. A tenant gets another of these places only while it has fewer than
 * are free, and a lone tenant gets all but one. So slow keys of one tenant never take all of several places.
 *
 * Keys are opaque pointers. The caller keeps a key alive while the queue holds it: ready, waiting for its time, or
 * taken and not yet done. queue_add makes a waiting key ready at once, even during its back-off; its failures still
 * count. Not thread-safe.
 */
#ifndef HALFLIFE_BASE_QUEUE_H
#define HALFLIFE_BASE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct queue;
/* tenant_of: a pointer that identifies a key's tenant, and does not change while the queue holds the key. NULL: all
 * keys have one tenant. */
struct queue *queue_new(size_t max, int64_t back_off_least_ms, int64_t back_off_most_ms,
                        const void *(*tenant_of)(const void *key));
/* Set the function that tells whether a key is urgent; the queue calls it as the key becomes ready. NULL, the default:
 * no key is urgent. */
void queue_set_urgent(struct queue *q, bool (*urgent)(const void *key));
void queue_set_places(struct queue *q, size_t places); /* the most keys in work at once; 0: no bound */
void queue_free(struct queue *q);
int queue_add(struct queue *q, void *key); /* makes key ready; returns 0, or ERR_TOOBIG when the queue holds max keys */
int queue_add_after(struct queue *q, void *key, struct mono now,
                    int64_t delay_ms);              /* of two delays for a key, the sooner counts */
void *queue_take(struct queue *q, struct mono now); /* a key to work on; NULL: no ready key's tenant has a place */
void queue_done(struct queue *q, void *key);        /* ends the work on a key after success: resets its back-off */
void queue_retry(struct queue *q, void *key, struct mono now,
                 int64_t at_least_ms);         /* after a failure: doubles the key's back-off, with jitter */
void queue_forget(struct queue *q, void *key); /* drops the key; call it before the key is freed */
int64_t queue_wait_ms(const struct queue *q, struct mono now); /* in how many ms a key is ready; -1: no key waits */
size_t queue_count(const struct queue *q);

#endif
