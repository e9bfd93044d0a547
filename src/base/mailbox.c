#include "base/mailbox.h"

#include <assert.h>

void mailbox_init(struct mailbox *m, size_t max, void (*wake)(void *arg), void *arg)
{
        *m = (struct mailbox){.max = max, .wake = wake, .arg = arg};
        TAILQ_INIT(&m->items);
        pthread_mutex_init(&m->lock, NULL);
        pthread_cond_init(&m->filled, NULL);
}

void mailbox_release(struct mailbox *m)
{
        assert(TAILQ_EMPTY(&m->items));
        pthread_cond_destroy(&m->filled);
        pthread_mutex_destroy(&m->lock);
}

bool mailbox_post(struct mailbox *m, struct mailbox_item *item)
{
        pthread_mutex_lock(&m->lock);
        bool taken = !m->closed && (m->max == 0 || m->count < m->max), first = m->count == 0;
        if (taken) {
                TAILQ_INSERT_TAIL(&m->items, item, link);
                m->count++;
                pthread_cond_signal(&m->filled);
        }
        pthread_mutex_unlock(&m->lock);
        if (taken && first && m->wake)
                m->wake(m->arg);
        return taken;
}

static struct mailbox_item *mailbox_take(struct mailbox *m, struct mailbox_item *item)
{
        if (item) {
                TAILQ_REMOVE(&m->items, item, link);
                m->count--;
        }
        return item;
}

void *mailbox_take_back(struct mailbox *m)
{
        pthread_mutex_lock(&m->lock);
        struct mailbox_item *item = mailbox_take(m, TAILQ_LAST(&m->items, mailbox_items));
        pthread_mutex_unlock(&m->lock);
        return item;
}

void mailbox_close(struct mailbox *m)
{
        pthread_mutex_lock(&m->lock);
        m->closed = true;
        pthread_cond_broadcast(&m->filled);
        pthread_mutex_unlock(&m->lock);
        if (m->wake)
                m->wake(m->arg);
}

void *mailbox_wait(struct mailbox *m)
{
        pthread_mutex_lock(&m->lock);
        while (m->count == 0 && !m->closed)
                pthread_cond_wait(&m->filled, &m->lock);
        struct mailbox_item *item = mailbox_take(m, TAILQ_FIRST(&m->items));
        pthread_mutex_unlock(&m->lock);
        return item;
}

bool mailbox_drain(struct mailbox *m, struct mailbox_items *ret)
{
        TAILQ_INIT(ret);
        pthread_mutex_lock(&m->lock);
        bool open = !m->closed;
        TAILQ_CONCAT(ret, &m->items, link);
        m->count = 0;
        pthread_mutex_unlock(&m->lock);
        return open;
}

void *mailbox_items_next(struct mailbox_items *items)
{
        struct mailbox_item *item = TAILQ_FIRST(items);
        if (item)
                TAILQ_REMOVE(items, item, link);
        return item;
}
