/*
 * The I/O of the elector: one urgent request at a time, a timer between requests, and a timer for the end of
 * leadership.
 */
#include "kube/lease.h"

#include "base/mem.h"
#include "elector.h"
#include "kube/known_resource.h"

struct lease {
        struct client *client;
        struct lease_options options;
        char *ns, *name, *identity, *path, *collection;
        struct elector elector;
        struct client_call *call; /* NULL: no request is in progress */
        struct loop_timer again, expiry;
        struct err why; /* the last failure; code 0: none since a success */
        bool releasing;
        void (*released)(void *arg);
        void *released_arg;
};

static void lease_ask(void *arg);

/* --- reports to the owner --- */

static void tell_lost(struct lease *l, const char *what)
{
        struct err why = l->why;
        if (l->why.code)
                err_wrap(&why, "lease '%s/%s': %s", l->ns, l->name, what);
        else
                err_set(&why, ERR_RETRY, "lease '%s/%s': %s", l->ns, l->name, what);
        loop_timer_stop(client_loop(l->client), &l->expiry);
        l->options.lost(l->options.arg, &why);
}

/* Report each kind of failure once, until a request succeeds. A conflict with another process is expected, and so is a
 * Lease that does not exist yet. A 404 for the creation of the Lease is unexpected: the Lease's namespace is
 * missing. */
static void lease_tell_trouble(struct lease *l, const struct err *err)
{
        bool missing = err->code == ERR_NOTFOUND && l->elector.under_way != ELECTOR_POST;
        bool expected = err->code == ERR_STALE || err->code == ERR_CONFLICT || missing;
        bool told = l->why.code == err->code;
        if (expected)
                return;
        l->why = *err;
        if (!told && l->options.trouble)
                l->options.trouble(l->options.arg, err);
}

static void check_expiry(void *arg)
{
        struct lease *l = arg;
        struct mono now = mono_read();
        if (elector_expire(&l->elector, now))
                tell_lost(l, "not renewed for 10 s");
        else if (elector_holds(&l->elector, now))
                loop_timer_set(client_loop(l->client), &l->expiry,
                               RENEW_MS - (now.ns - l->elector.renewed.ns) / 1000000, check_expiry, l);
}

/* --- giving the Lease up --- */

static void finish_release(void *arg)
{
        struct lease *l = arg;
        void (*released)(void *) = l->released;
        l->released = NULL;
        if (released)
                released(l->released_arg);
}

static void lease_resigned(void *arg, const struct client_answer *a)
{
        struct lease *l = arg;
        (void)a; /* if the request failed, the Lease expires by itself */
        l->call = NULL;
        finish_release(l);
}

static void lease_resign(struct lease *l)
{
        AUTO(mem_free) char *body = elector_resign(&l->elector, now_read());
        const struct call call = {
                .method = HTTP_PUT, .path = l->path, .body = text_of(body), .deadline_ms = REQUEST_MS, .urgent = true};
        if (body)
                l->call = client_start(l->client, &call, lease_resigned, l);
        else
                loop_timer_set(client_loop(l->client), &l->again, 0, finish_release, l);
}

/* --- requests --- */

static void look_at_note(struct lease *l)
{
        struct elector *e = &l->elector;
        if (l->options.noted && e->lease)
                elector_set_note(e, l->options.noted(l->options.arg, elector_uid(e), elector_note(e)));
}

static void lease_answered(void *arg, const struct client_answer *a)
{
        struct lease *l = arg;
        struct mono now = mono_read();
        int64_t wait_ms;
        l->call = NULL;
        if (!l->releasing && elector_expire(&l->elector, now))
                tell_lost(l, "not renewed for 10 s");
        enum elector_change change = elector_end(&l->elector, a->err.code, a->body, now, &wait_ms);
        if (a->err.code == 0)
                look_at_note(l);
        if (l->releasing) {
                lease_resign(l);
                return;
        }
        if (a->err.code)
                lease_tell_trouble(l, &a->err);
        else
                l->why.code = 0;
        if (change == ELECTOR_LOST)
                tell_lost(l, "another process took it");
        check_expiry(l);
        if (change == ELECTOR_GAINED)
                l->options.gained(l->options.arg);
        if (!l->releasing)
                loop_timer_set(client_loop(l->client), &l->again, wait_ms, lease_ask, l);
}

static void lease_ask(void *arg)
{
        static const enum http_method method[] = {
                [ELECTOR_GET] = HTTP_GET, [ELECTOR_POST] = HTTP_POST, [ELECTOR_PUT] = HTTP_PUT};
        struct lease *l = arg;
        char *text;
        enum elector_ask ask = elector_begin(&l->elector, now_read(), &text);
        AUTO(mem_free) char *body = text;
        const struct call call = {.method = method[ask],
                                  .path = ask == ELECTOR_POST ? l->collection : l->path,
                                  .body = text_of(body),
                                  .deadline_ms = REQUEST_MS,
                                  .urgent = true};
        l->call = client_start(l->client, &call, lease_answered, l);
}

/* --- the contract --- */

struct lease *lease_new(struct client *c, const struct lease_options *o)
{
        struct lease *l = MEM_NEW(struct lease);
        l->client = c;
        l->options = *o;
        l->ns = mem_string(o->ns);
        l->name = mem_string(o->name);
        l->identity = mem_string(o->identity);
        l->path = known_resource_path(KNOWN_LEASES, o->ns, o->name, NULL);
        l->collection = known_resource_path(KNOWN_LEASES, o->ns, NULL, NULL);
        elector_init(&l->elector, l->ns, l->name, l->identity);
        l->elector.note_key = o->note;
        lease_ask(l);
        return l;
}

bool lease_holds(const struct lease *l)
{
        return !l->releasing && elector_holds(&l->elector, mono_read());
}

const char *lease_holder(const struct lease *l)
{
        return elector_holder(&l->elector);
}

void lease_release(struct lease *l, void (*done)(void *arg), void *arg)
{
        struct loop *loop = client_loop(l->client);
        l->releasing = true;
        l->released = done;
        l->released_arg = arg;
        loop_timer_stop(loop, &l->again);
        loop_timer_stop(loop, &l->expiry);
        /* Else lease_answered resigns: the answer under way has the resourceVersion that the write needs. */
        if (!l->call)
                lease_resign(l);
}

void lease_free(struct lease *l)
{
        if (!l)
                return;
        if (l->call)
                client_cancel(l->client, l->call);
        loop_timer_stop(client_loop(l->client), &l->again);
        loop_timer_stop(client_loop(l->client), &l->expiry);
        elector_release(&l->elector);
        mem_free(l->ns);
        mem_free(l->name);
        mem_free(l->identity);
        mem_free(l->path);
        mem_free(l->collection);
        mem_free(l);
}
