#include "worker.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"

struct worker {
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t given;
        struct job *first, **end;
        int queued, queue_max;
        bool stopping;
        void (*done)(void *arg, struct job *j);
        void *arg;
        struct gzip gzip;
};

/* NULL: it is over. */
static struct job *worker_take(struct worker *w)
{
        pthread_mutex_lock(&w->lock);
        while (!w->first && !w->stopping)
                pthread_cond_wait(&w->given, &w->lock);
        struct job *j = w->stopping ? NULL : w->first;
        if (j) {
                w->first = j->next;
                if (!w->first)
                        w->end = &w->first;
                w->queued--;
                j->next = NULL;
        }
        pthread_mutex_unlock(&w->lock);
        return j;
}

static void *worker_work(void *arg)
{
        struct worker *w = arg;
        for (struct job *j; (j = worker_take(w));) {
                job_do(j, &w->gzip);
                w->done(w->arg, j);
        }
        return NULL;
}

int worker_start(int queue_max, void (*done)(void *arg, struct job *j), void *arg, struct worker **ret, struct err *err)
{
        struct worker *w = MEM_NEW(struct worker);
        pthread_mutex_init(&w->lock, NULL);
        pthread_cond_init(&w->given, NULL);
        w->end = &w->first;
        w->queue_max = queue_max;
        w->done = done;
        w->arg = arg;
        int rc = pthread_create(&w->thread, NULL, worker_work, w);
        if (rc != 0) {
                mem_free(w);
                return err_set(err, ERR_IO, "a thread does not start: %s", strerror(rc));
        }
        *ret = w;
        return 0;
}

bool worker_give(struct worker *w, struct job *j)
{
        pthread_mutex_lock(&w->lock);
        bool room = w->queued < w->queue_max;
        if (room) {
                *w->end = j;
                w->end = &j->next;
                w->queued++;
                pthread_cond_signal(&w->given);
        }
        pthread_mutex_unlock(&w->lock);
        return room;
}

void worker_stop(struct worker *w)
{
        if (!w)
                return;
        pthread_mutex_lock(&w->lock);
        w->stopping = true;
        pthread_cond_signal(&w->given);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
        for (struct job *j = w->first, *next; j; j = next) {
                next = j->next;
                job_free(j);
        }
        gzip_release(&w->gzip);
        pthread_cond_destroy(&w->given);
        pthread_mutex_destroy(&w->lock);
        mem_free(w);
}
