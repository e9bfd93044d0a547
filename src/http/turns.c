#include "turns.h"

#include <assert.h>

#include "base/mem.h"

int turns_start(struct turns *t, void (*done)(void *arg, struct job *j), struct rest_listener *d, struct err *err)
{
        TAILQ_INIT(&t->waiting);
        /* Remember for request_ms, longer than any wait for a turn, how long the thread worked for each client. */
        recent_count_init(&t->worked_lately, d->o.request_ms, 2 * (size_t)d->o.connections_max, d->now.mono);
        return worker_start(done, d, &t->worker, err);
}

void turns_stop(struct turns *t)
{
        worker_stop(t->worker);
        recent_count_release(&t->worked_lately);
}

/* How many requests of the client wait for this thread. */
static int turns_of(const struct turns *t, struct text client)
{
        const struct http_request *each;
        int own = 0;
        TAILQ_FOREACH (each, &t->waiting, turns_link)
                own += text_equal(each->job->client, client);
        return own;
}

bool turns_have_room(const struct turns *t, const struct http_request *v)
{
        return turns_of(t, v->job->client) < QUEUE_MAX - t->waits;
}

struct http_request *turns_displaced(const struct turns *t, const struct http_request *v)
{
        struct http_request *each, *newest = NULL;
        int most = 1;
        if (t->waits < QUEUE_MAX || turns_of(t, v->job->client) > 0)
                return NULL;
        TAILQ_FOREACH (each, &t->waiting, turns_link) {
                int own = turns_of(t, each->job->client);
                if (own > 1 && own >= most) {
                        most = own;
                        newest = each;
                }
        }
        return newest;
}

void turns_leave(struct http_request *v)
{
        if (!v->waits_at)
                return;
        TAILQ_REMOVE(&v->waits_at->waiting, v, turns_link);
        v->waits_at->waits--;
        v->waits_at = NULL;
}

static struct http_request *turns_choose(struct turns *t, struct mono now)
{
        struct http_request *v, *next = NULL;
        uint64_t least = UINT64_MAX;
        TAILQ_FOREACH (v, &t->waiting, turns_link) {
                uint64_t worked_us = recent_count_get(&t->worked_lately, v->job->client, now);
                if (worked_us < least) {
                        least = worked_us;
                        next = v;
                }
        }
        return next;
}

static void turns_give(struct turns *t, struct mono now)
{
        struct http_request *v = turns_choose(t, now);
        if (!v)
                return;
        turns_leave(v);
        bool given = worker_give(t->worker, v->job);
        assert(given); /* the thread has one job at a time, and was idle */
        v->lent = t->working = true;
}

void turns_join(struct turns *t, struct http_request *v)
{
        v->job->ticket = ++v->listener->tickets;
        v->job->turns = t;
        v->waits_at = t;
        TAILQ_INSERT_TAIL(&t->waiting, v, turns_link);
        t->waits++;
        if (!t->working)
                turns_give(t, v->listener->now.mono);
}

void turns_next(struct turns *t, const struct job *done, struct mono now)
{
        recent_count_add(&t->worked_lately, done->client, (uint64_t)done->worked_us, now);
        t->working = false;
        turns_give(t, now);
}
