/* The one place where the loop puts a view and the server's threads take it. */
#ifndef HALFLIFE_SNAPSHOT_SNAPSHOT_REF_H
#define HALFLIFE_SNAPSHOT_SNAPSHOT_REF_H

#include <pthread.h>

#include "snapshot/snapshot.h"

struct snapshot_ref {
        pthread_mutex_t lock; /* held for a swap or a hold only */
        struct snapshot *view;
};

static inline void snapshot_ref_put(struct snapshot_ref *s, struct snapshot *v)
{
        pthread_mutex_lock(&s->lock);
        struct snapshot *old = s->view;
        s->view = v;
        pthread_mutex_unlock(&s->lock);
        snapshot_drop(old);
}

static inline struct snapshot *snapshot_ref_take(struct snapshot_ref *s)
{
        pthread_mutex_lock(&s->lock);
        struct snapshot *v = snapshot_hold(s->view);
        pthread_mutex_unlock(&s->lock);
        return v;
}

#endif
