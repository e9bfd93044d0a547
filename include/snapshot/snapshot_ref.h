/* The place where the event loop publishes the current snapshot and server threads take a reference to it. */
#ifndef HALFLIFE_SNAPSHOT_SNAPSHOT_REF_H
#define HALFLIFE_SNAPSHOT_SNAPSHOT_REF_H

#include <pthread.h>

#include "snapshot/snapshot.h"

struct snapshot_ref {
        pthread_mutex_t lock; /* held only while `view` is swapped, or gets one more reference */
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
