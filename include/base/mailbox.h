/*
 * Messages from any thread to one reader: a list behind a lock, and a wake-up.
 *
 * A message is any struct that begins with a struct mailbox_item. A posted message belongs to the mailbox, a taken one
 * to the reader; the mailbox never frees a message. The reader gets messages in the order in which they were posted.
 *
 * The reader is either a thread that sleeps in mailbox_wait, or an event loop. The wake callback wakes the loop, which
 * then takes all messages with mailbox_drain.
 */
#ifndef HALFLIFE_BASE_MAILBOX_H
#define HALFLIFE_BASE_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"

struct mailbox_item {
        TAILQ_ENTRY(mailbox_item) link;
};
TAILQ_HEAD(mailbox_items, mailbox_item);

struct mailbox {
        pthread_mutex_t lock; /* guards items, count and closed */
        pthread_cond_t filled;
        struct mailbox_items items;
        size_t count, max;
        bool closed;
        void (*wake)(void *arg);
        void *arg;
};

/* max: how many messages may wait; 0: no bound. wake (may be NULL) is called when a message is posted into an empty
 * mailbox and when the mailbox is closed, on the thread that posts or closes. */
void mailbox_init(struct mailbox *m, size_t max, void (*wake)(void *arg), void *arg);
void mailbox_release(struct mailbox *m); /* the mailbox must be empty (asserted) */

/* Returns false when the mailbox is full or closed; the message then stays the caller's. */
bool mailbox_post(struct mailbox *m, struct mailbox_item *item);
/* Take the newest waiting message back, so that a sender can merge its next message into it; NULL: none waits. */
void *mailbox_take_back(struct mailbox *m);
/* No message can be posted from now on; waiting messages can still be taken. */
void mailbox_close(struct mailbox *m);

/* Sleep until there is a message and take the oldest; NULL: the mailbox is closed and empty. */
void *mailbox_wait(struct mailbox *m);
/* Move all waiting messages, perhaps none, to *ret without sleeping. Returns false when the mailbox is closed: these
 * messages are then the last. */
bool mailbox_drain(struct mailbox *m, struct mailbox_items *ret);
/* Take the oldest of the drained messages; NULL: none is left. */
void *mailbox_items_next(struct mailbox_items *items);

#endif
