/*
 * Which kinds the API server has. Two answers of aggregated discovery (/api, /apis) name all kinds, so that the number
 * of requests does not grow with the kinds that halflife looks for.
 */
#include "discover.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rate_limit.h"
#include "discovery_index.h"

enum { FOUND_MS = 10 * MINUTE_MS, ABSENT_MS = 30 * SECOND_MS, BODY_MAX = 32 << 20 };

/* The budget of requests for discovery: one every 5 s on average, and 4 at once. */
#define REQUESTS_PER_SECOND 0.2
#define REQUESTS_AT_ONCE    4

static const char accept[] = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

struct waiter {
        STAILQ_ENTRY(waiter) link;
        struct api_resource kind;    /* `version` and `plural` are set when the kind is found */
        const char *const *versions; /* NULL: the version that the server prefers */
        discover_done *done;
        void *arg;
};

STAILQ_HEAD(waiters, waiter);

/* One of the two lists of groups: /api has the core group, /apis all others. */
struct group_list {
        struct discovery *in;
        const char *path;
        struct discovery_index index;
        uint64_t digest;     /* of the answer that the index was read from; 0: none yet */
        struct mono changed; /* when an answer last differed from the one before */
        struct mono found,
                absent; /* until when kinds found in the index, and kinds absent from it, are taken for fresh */
        /* `ready`: the index answers these; `waiting`: these wait for the server's answer. */
        struct waiters ready, waiting;
        struct waiters told; /* waiters whose callbacks run now, one after the other */
        struct client_call *call;
        struct loop_timer tell, begin;
};

struct discovery {
        struct client *client;
        struct rate_limit budget;
        struct group_list core, named;
};

static struct mono discovery_now(const struct discovery *d)
{
        return loop_now(client_loop(d->client)).mono;
}

static struct group_list *group_list_of(struct discovery *d, const char *group)
{
        return *group ? &d->named : &d->core;
}

/* --- answers --- */

/* `failed`: why the server gave no new answer; code 0: it gave one, or none was needed. A kind found in an old answer
 * counts all the same. */
static void waiter_tell(const struct group_list *g, struct waiter *w, const struct err *failed)
{
        struct err err = *failed;
        bool found = discovery_index_find(&g->index, w->kind.group, w->kind.kind, w->versions, &w->kind);
        if (found)
                err.code = 0;
        else if (!err.code && discovery_index_is_stale(&g->index, w->kind.group))
                err_set(&err, ERR_RETRY, "the API server of group '%s' does not answer", w->kind.group);
        else if (!err.code)
                err_set(&err, ERR_NOTFOUND, "the API server has no kind '%s' in group '%s'", w->kind.kind,
                        w->kind.group);
        w->done(w->arg, found ? &w->kind : NULL, &err);
}

static void waiters_tell(struct group_list *g, struct waiters *all, const struct err *failed)
{
        STAILQ_CONCAT(&g->told, all); /* taken off their list first: a callback may ask again, or cancel a waiter */
        for (struct waiter *w; (w = STAILQ_FIRST(&g->told));) {
                STAILQ_REMOVE_HEAD(&g->told, link);
                waiter_tell(g, w, failed);
                mem_free(w);
        }
}

static void group_list_tell(void *arg)
{
        struct group_list *g = arg;
        waiters_tell(g, &g->ready, &(struct err){0});
}

/* --- asking --- */

/* An answer equal to the last one is not read again. */
static int group_list_read(struct group_list *g, const struct client_answer *a, struct err *err)
{
        if (a->err.code)
                return err_copy(err, &a->err);
        uint64_t digest = digest_bytes(0, a->body.p, a->body.len);
        struct err why = {0};
        if (digest == g->digest)
                return 0;
        if (discovery_index_read(&g->index, a->body, &why) < 0)
                return err_set(err, ERR_RETRY, "discovery by %s: %s", g->path, why.text);
        g->digest = digest;
        g->changed = discovery_now(g->in);
        return 0;
}

static void group_list_answered(void *arg, const struct client_answer *a)
{
        struct group_list *g = arg;
        struct err failed = {0};
        int64_t now_ns = discovery_now(g->in).ns;
        g->call = NULL;
        if (group_list_read(g, a, &failed) == 0) {
                g->found.ns = now_ns + FOUND_MS * INT64_C(1000000);
                g->absent.ns = now_ns + ABSENT_MS * INT64_C(1000000);
        } else {
                g->found.ns = now_ns + ABSENT_MS * INT64_C(1000000);
        }
        waiters_tell(g, &g->waiting, &failed);
}

static void group_list_begin(void *arg)
{
        struct group_list *g = arg;
        struct client *c = g->in->client;
        int64_t wait_ms = rate_limit_wait_ms(&g->in->budget, discovery_now(g->in));
        if (wait_ms > 0) {
                loop_timer_set(client_loop(c), &g->begin, wait_ms, group_list_begin, g);
                return;
        }
        rate_limit_take(&g->in->budget);
        g->call = client_start(
                c,
                &(struct call){
                        .method = HTTP_GET, .path = g->path, .accept = accept, .gzip = true, .body_max = BODY_MAX},
                group_list_answered, g);
}

static bool group_list_is_fresh(const struct group_list *g, const struct waiter *w)
{
        struct api_resource found;
        struct mono now = discovery_now(g->in);
        return now.ns < g->absent.ns ||
               (now.ns < g->found.ns &&
                discovery_index_find(&g->index, w->kind.group, w->kind.kind, w->versions, &found));
}

int client_discover(struct client *c, const char *group, const char *kind, discover_done *done, void *arg)
{
        return client_discover_version(c, group, kind, NULL, done, arg);
}

int client_discover_version(struct client *c, const char *group, const char *kind, const char *const *versions,
                            discover_done *done, void *arg)
{
        struct group_list *g = group_list_of(client_discovery(c), group);
        if (!kind[0] || strlen(kind) >= sizeof((struct api_resource *)0)->kind ||
            strlen(group) >= sizeof((struct api_resource *)0)->group)
                return ERR_INVALID;
        struct waiter *w = MEM_NEW(struct waiter);
        w->versions = versions;
        w->done = done;
        w->arg = arg;
        snprintf(w->kind.group, sizeof w->kind.group, "%s", group);
        snprintf(w->kind.kind, sizeof w->kind.kind, "%s", kind);
        bool fresh = group_list_is_fresh(g, w);
        STAILQ_INSERT_TAIL(fresh ? &g->ready : &g->waiting, w, link);
        if (fresh && !g->tell.place)
                loop_timer_set(client_loop(c), &g->tell, 0, group_list_tell, g);
        else if (!fresh && !g->call && !g->begin.place)
                group_list_begin(g);
        return 0;
}

static void waiters_cancel(struct waiters *all, const void *arg)
{
        struct waiter *w, *next;
        STAILQ_FOREACH_SAFE(w, all, link, next)
        {
                if (w->arg != arg)
                        continue;
                STAILQ_REMOVE(all, w, waiter, link);
                mem_free(w);
        }
}

void client_discover_cancel(struct client *c, const char *group, const void *arg)
{
        struct group_list *g = group_list_of(client_discovery(c), group);
        waiters_cancel(&g->ready, arg);
        waiters_cancel(&g->waiting, arg);
        waiters_cancel(&g->told, arg);
}

void client_undiscover(struct client *c, const char *group)
{
        struct group_list *g = group_list_of(client_discovery(c), group);
        g->found = g->absent = (struct mono){0};
}

bool client_discover_stands(const struct client *c, const char *group, struct mono asked)
{
        struct discovery *d = client_discovery(c);
        const struct group_list *g = group_list_of(d, group);
        return g->changed.ns < asked.ns && discovery_now(d).ns < g->absent.ns;
}

/* --- from start to stop --- */

static void group_list_init(struct discovery *d, struct group_list *g, const char *path)
{
        *g = (struct group_list){.in = d, .path = path};
        STAILQ_INIT(&g->ready);
        STAILQ_INIT(&g->waiting);
        STAILQ_INIT(&g->told);
}

static void group_list_release(struct group_list *g)
{
        struct client *c = g->in->client;
        if (g->call)
                client_cancel(c, g->call);
        loop_timer_stop(client_loop(c), &g->tell);
        loop_timer_stop(client_loop(c), &g->begin);
        STAILQ_CONCAT(&g->waiting, &g->ready);
        for (struct waiter *w; (w = STAILQ_FIRST(&g->waiting));) {
                STAILQ_REMOVE_HEAD(&g->waiting, link);
                mem_free(w);
        }
        discovery_index_release(&g->index);
}

struct discovery *discovery_new(struct client *c)
{
        struct discovery *d = MEM_NEW(struct discovery);
        d->client = c;
        rate_limit_init(&d->budget, REQUESTS_PER_SECOND, REQUESTS_AT_ONCE, discovery_now(d));
        group_list_init(d, &d->core, "/api");
        group_list_init(d, &d->named, "/apis");
        return d;
}

void discovery_free(struct discovery *d)
{
        group_list_release(&d->core);
        group_list_release(&d->named);
        mem_free(d);
}
