#include "worker.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

struct worker {
        pthread_t thread;
        struct mailbox jobs;
        void (*done)(void *arg, struct job *j);
        void *arg;
        struct gzip gzip;
};

static void *worker_work(void *arg)
{
        struct worker *w = arg;
        for (struct job *j; (j = mailbox_wait(&w->jobs));) {
                int64_t began_ns = mono_read().ns;
                job_do(j, &w->gzip);
                j->worked_us = (mono_read().ns - began_ns) / 1000 + 1;
                w->done(w->arg, j);
        }
        return NULL;
}

int worker_start(void (*done)(void *arg, struct job *j), void *arg, struct worker **ret, struct err *err)
{
        struct worker *w = MEM_NEW(struct worker);
        mailbox_init(&w->jobs, 1, NULL, NULL);
        w->done = done;
        w->arg = arg;
        int rc = pthread_create(&w->thread, NULL, worker_work, w);
        if (rc != 0) {
                mailbox_release(&w->jobs);
                mem_free(w);
                return err_set(err, ERR_IO, "a thread cannot start: %s", strerror(rc));
        }
        *ret = w;
        return 0;
}

bool worker_give(struct worker *w, struct job *j)
{
        return mailbox_post(&w->jobs, &j->item);
}

void worker_stop(struct worker *w)
{
        if (!w)
                return;
        struct mailbox_items left;
        mailbox_drain(&w->jobs, &left);
        for (struct job *j; (j = mailbox_items_next(&left));)
                job_free(j);
        mailbox_close(&w->jobs);
        pthread_join(w->thread, NULL);
        gzip_release(&w->gzip);
        mailbox_release(&w->jobs);
        mem_free(w);
}
