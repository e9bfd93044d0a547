#include "rest_listener_private.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/listen_socket.h"
#include "request_authorization.h"
#include "request_step.h"
#include "request_work.h"
#include "spare_jobs.h"
#include "turns.h"

enum { CONNECTIONS = 1024, FILES_SPARE = 1024, REQUEST_MS = 10000, IDLE_MS = 60000 };

/* --- messages from other threads --- */

struct message {
        struct mailbox_item item;
        enum {
                MESSAGE_REVIEWED,
                MESSAGE_RECALLED,
                MESSAGE_LISTED_NODES,
                MESSAGE_TRIED_PERCENTILES,
                MESSAGE_REPORTED,
                MESSAGE_RELAYED,
                MESSAGE_FOUND_OWNER,
                MESSAGE_OWN_USER,
                MESSAGE_PATHS,
                MESSAGE_WORKED
        } what;
        struct auth_key key;
        enum server_verdict verdict;
        uint64_t ticket;
        struct learned_copy *copies;
        size_t count;
        struct node_table *nodes;
        struct percentile_table *percentiles;
        struct ledger_report *report;
        struct server_relayed relayed;
        char *type, *body; /* the texts that relayed points to */
        struct admission_owner *owner;
        char *user;
        struct admission_paths paths;
        struct job *job;
};

static void message_free(struct message *l)
{
        mem_free(l->copies);
        node_table_drop(l->nodes);
        percentile_table_drop(l->percentiles);
        ledger_report_free(l->report);
        mem_free(l->type);
        mem_free(l->body);
        mem_free(l->owner);
        mem_free(l->user);
        job_free(l->job);
        mem_free(l);
}

static void listener_wake(void *arg)
{
        const struct rest_listener *d = arg;
        (void)!write(d->wake, &(uint64_t){1},
                     sizeof(uint64_t)); /* EAGAIN means that the counter is full, so the thread wakes anyway */
}

static void listener_post(struct rest_listener *d, const struct message *l)
{
        struct message *copy = MEM_NEW(struct message);
        *copy = *l;
        bool posted = mailbox_post(&d->messages, &copy->item);
        assert(posted); /* cannot fail: the mailbox has no bound and is never closed; rest_listener_close frees late
                           messages */
}

void rest_listener_set_own_user(struct rest_listener *d, const char *user)
{
        listener_post(d, &(struct message){.what = MESSAGE_OWN_USER, .user = mem_string(user)});
}

void rest_listener_set_admission_paths(struct rest_listener *d, const struct admission_paths *p)
{
        listener_post(d, &(struct message){.what = MESSAGE_PATHS, .paths = *p});
}

void rest_listener_reviewed(struct rest_listener *d, const struct auth_key *k, enum server_verdict v)
{
        listener_post(d, &(struct message){.what = MESSAGE_REVIEWED, .key = *k, .verdict = v});
}

void rest_listener_recalled(struct rest_listener *d, uint64_t ticket, struct learned_copy *copies, size_t count)
{
        listener_post(d,
                      &(struct message){.what = MESSAGE_RECALLED, .ticket = ticket, .copies = copies, .count = count});
}

void rest_listener_listed_nodes(struct rest_listener *d, uint64_t ticket, struct node_table *t)
{
        listener_post(d, &(struct message){.what = MESSAGE_LISTED_NODES, .ticket = ticket, .nodes = t});
}

void rest_listener_tried_percentiles(struct rest_listener *d, uint64_t ticket, struct percentile_table *t)
{
        listener_post(d, &(struct message){.what = MESSAGE_TRIED_PERCENTILES, .ticket = ticket, .percentiles = t});
}

void rest_listener_reported(struct rest_listener *d, uint64_t ticket, struct ledger_report *r)
{
        listener_post(d, &(struct message){.what = MESSAGE_REPORTED, .ticket = ticket, .report = r});
}

void rest_listener_relayed(struct rest_listener *d, uint64_t ticket, const struct server_relayed *r)
{
        struct message l = {.what = MESSAGE_RELAYED, .ticket = ticket, .relayed = *r};
        l.relayed.type = l.type = mem_string(r->type);
        l.relayed.body.p = l.body = mem_string_n(r->body.p, r->body.len);
        listener_post(d, &l);
}

void rest_listener_found_owner(struct rest_listener *d, uint64_t ticket, struct admission_owner *owner)
{
        listener_post(d, &(struct message){.what = MESSAGE_FOUND_OWNER, .ticket = ticket, .owner = owner});
}

static void on_worked(void *listener, struct job *j)
{
        listener_post(listener, &(struct message){.what = MESSAGE_WORKED, .ticket = j->ticket, .job = j});
}

/* --- handling the messages --- */

static struct http_request *http_request_of(const struct rest_listener *d, uint64_t ticket)
{
        struct http_request *v;
        TAILQ_FOREACH (v, &d->busy, link)
                if (v->step == STEP_AWAY && v->suspended && v->job->ticket == ticket)
                        return v;
        return NULL;
}

static void listener_reviewed(struct rest_listener *d, const struct message *l)
{
        enum auth_say say = AUTH_SAYS_LATER; /* stays unused where no request waits */
        struct auth_waiter *w = auth_settle(d->auth, &l->key, l->verdict, d->now.mono, &say);
        http_requests_judged(w, say);
}

static void listener_worked(struct rest_listener *d, struct message *l)
{
        struct http_request *v = http_request_of(d, l->ticket);
        turns_next(l->job->turns, l->job, d->now.mono);
        if (v)
                http_request_worked(v);
        else
                spare_jobs_put(d, l->job); /* the HTTP request has ended meanwhile */
        l->job = NULL;
}

static void message_handle(struct rest_listener *d, struct message *l)
{
        struct http_request *v;
        switch (l->what) {
        case MESSAGE_REVIEWED:
                listener_reviewed(d, l);
                break;
        case MESSAGE_RECALLED:
                v = http_request_of(d, l->ticket);
                if (v)
                        http_request_recalled(v, STEAL(&l->copies), l->count);
                break;
        case MESSAGE_LISTED_NODES:
                v = http_request_of(d, l->ticket);
                if (v)
                        http_request_listed_nodes(v, STEAL(&l->nodes));
                break;
        case MESSAGE_TRIED_PERCENTILES:
                v = http_request_of(d, l->ticket);
                if (v)
                        http_request_tried_percentiles(v, STEAL(&l->percentiles));
                break;
        case MESSAGE_REPORTED:
                v = http_request_of(d, l->ticket);
                if (v)
                        http_request_reported(v, STEAL(&l->report));
                break;
        case MESSAGE_RELAYED:
                v = http_request_of(d, l->ticket);
                if (v)
                        http_request_relayed(v, &l->relayed);
                break;
        case MESSAGE_FOUND_OWNER:
                v = http_request_of(d, l->ticket);
                if (v)
                        http_request_found_owner(v, STEAL(&l->owner));
                break;
        case MESSAGE_OWN_USER:
                mem_free(d->own_user);
                d->own_user = STEAL(&l->user);
                break;
        case MESSAGE_PATHS:
                d->paths = l->paths;
                break;
        case MESSAGE_WORKED:
                listener_worked(d, l);
                break;
        }
        message_free(l);
}

/* Handle all messages; false: the listener stops. */
static bool messages_handle(struct rest_listener *d)
{
        uint64_t count;
        (void)!read(d->wake, &count,
                    sizeof count); /* before the mailbox is emptied, so that a later message wakes the thread again */
        struct mailbox_items messages;
        bool going = !atomic_load(&d->stopping);
        (void)mailbox_drain(&d->messages, &messages);
        for (struct message *l; (l = mailbox_items_next(&messages));)
                message_handle(d, l);
        return going;
}

/* --- the thread --- */

static void listener_look_at_certificate(struct rest_listener *d)
{
        struct err err = {0};
        if (!d->certificate)
                return;
        switch (certificate_look(d->certificate, d->now.mono, &err)) {
        case CERTIFICATE_RENEWED:
                if (d->o.calls.renewed)
                        d->o.calls.renewed(d->o.calls.arg, d->o.cert_file);
                break;
        case CERTIFICATE_REFUSED:
                d->o.calls.trouble(d->o.calls.arg, &err);
                break;
        case CERTIFICATE_SAME:
                break;
        }
}

static int64_t sweep_ms(const struct rest_listener *d)
{
        return d->admissions_waiting ? SWEEP_SOON_MS : SWEEP_MS;
}

static int listener_wait_ms(const struct rest_listener *d)
{
        MHD_UNSIGNED_LONG_LONG mhd;
        int64_t sweep = sweep_ms(d) - (d->now.mono.ns - d->swept.ns) / 1000000;
        sweep = sweep < 0 ? 0 : d->full && sweep > FULL_MS ? FULL_MS : sweep;
        if (MHD_get_timeout(d->daemon, &mhd) == MHD_YES && mhd < (MHD_UNSIGNED_LONG_LONG)sweep)
                return (int)mhd;
        return (int)sweep + 1;
}

/* End all requests before the listener stops. Those that wait for other threads get 503; answers that can go out at
 * once do. */
static void say_goodbye(struct rest_listener *d)
{
        d->ending = true;
        struct http_request *v;
        TAILQ_FOREACH (v, &d->busy, link) {
                if (http_request_wants_owner(v))
                        http_request_found_owner(v, NULL);
                if (v->suspended)
                        http_request_give_up(v, PROBLEM_OVERLOADED, "this instance is shutting down: try again");
        }
        MHD_run(d->daemon);
        MHD_run(d->daemon);
}

static void *listener_run(void *arg)
{
        struct rest_listener *d = arg;
        certificate_mine(d->certificate);
        for (bool going = true; going;) {
                (void)poll(d->polled, 2 + (nfds_t)d->drain.count, listener_wait_ms(d));
                d->now = now_read();
                lingering_close_read(&d->drain, d->now.mono);
                going = !(d->polled[1].revents & POLLIN) || messages_handle(d);
                if (d->now.mono.ns - d->swept.ns >= sweep_ms(d) * 1000000) {
                        d->swept = d->now.mono;
                        listener_look_at_certificate(d);
                        connections_sweep(d);
                }
                d->full = connections_full(d);
                MHD_run(d->daemon); /* also answers on connections that were resumed just now */
        }
        say_goodbye(d);
        return NULL;
}

/* --- from start to stop --- */

static void raise_files(int connections)
{
        struct rlimit l;
        rlim_t want = (rlim_t)connections + FILES_SPARE;
        if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= want)
                return;
        l.rlim_cur = want < l.rlim_max ? want : l.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &l); /* on failure, fewer connections are accepted at once */
}

static int check_options(const struct rest_listener_options *o, struct err *err)
{
        bool loopback;
        int rc = socket_is_loopback(o->listen, &loopback, err);
        if (rc < 0)
                return rc;
        if (!o->tls && !loopback)
                return err_set(err, ERR_INVALID,
                               "'%s' is not a loopback address, and bearer tokens need TLS there: give a certificate "
                               "and its key, or listen on 127.0.0.1",
                               o->listen);
        if ((o->cert_file == NULL) != (o->key_file == NULL))
                return err_set(err, ERR_INVALID, "a certificate and its key belong together: one of them is missing");
        return 0;
}

static void take_options(struct rest_listener *d, const struct rest_listener_options *o)
{
        d->o = *o;
        if (!o->connections_max)
                d->o.connections_max = CONNECTIONS;
        if (!o->connections_per_address)
                d->o.connections_per_address = (d->o.connections_max + 1) / 2;
        if (!o->request_ms)
                d->o.request_ms = REQUEST_MS;
        if (!o->idle_ms)
                d->o.idle_ms = IDLE_MS;
        if (!o->bodies_max)
                d->o.bodies_max = BODIES_MAX;
        d->shares.most = d->o.bodies_max / CALLER_SHARE;
}

static int listener_start_daemon(struct rest_listener *d, int fd, struct err *err)
{
        unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (d->certificate ? MHD_USE_TLS : 0);
        struct MHD_OptionItem tls[] = {
                {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)certificate_retrieve},
                {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
                {MHD_OPTION_END, 0, NULL},
        };
        if (!d->certificate)
                tls[0] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
        d->daemon = MHD_start_daemon(
                flags, 0, NULL, NULL, http_request_handle, d, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                (unsigned)(d->o.connections_max + CONNECTIONS_SPARE), MHD_OPTION_PER_IP_CONNECTION_LIMIT,
                (unsigned)d->o.connections_per_address, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
                MHD_OPTION_URI_LOG_CALLBACK, http_request_begin, d, MHD_OPTION_NOTIFY_CONNECTION, connections_notify, d,
                MHD_OPTION_NOTIFY_COMPLETED, http_request_end, d, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
        if (!d->daemon)
                return err_set(err, ERR_IO, "the HTTP server cannot start: %m");
        int ready = MHD_get_daemon_info(d->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
        d->polled[0] = (struct pollfd){ready, POLLIN, 0};
        d->polled[1] = (struct pollfd){d->wake, POLLIN, 0};
        d->drain.fd = d->polled + 2;
        return 0;
}

static int listener_start(struct rest_listener *d, struct err *err)
{
        if (d->wake < 0) /* without it no other thread could wake this one, not even to stop it */
                return err_set(err, ERR_IO, "eventfd: %s", strerror(errno));
        int rc = d->o.tls ? certificate_new(d->o.cert_file, d->o.key_file, &d->certificate, err) : 0;
        int fd = rc < 0 ? rc : socket_listen(d->o.listen, err);
        if (fd < 0)
                return fd;
        socket_describe(fd, d->address, sizeof d->address);
        rc = listener_start_daemon(d, fd, err);
        if (rc < 0) {
                close(fd);
                return rc;
        }
        rc = turns_start(&d->renders, on_worked, d, err);
        if (rc == 0)
                rc = turns_start(&d->lists, on_worked, d, err);
        if (rc == 0)
                rc = turns_start(&d->reviews_read, on_worked, d, err);
        if (rc < 0)
                return rc;
        int why = pthread_create(&d->thread, NULL, listener_run, d);
        d->running = why == 0;
        return d->running ? 0 : err_set(err, ERR_IO, "the HTTP thread cannot start: %s", strerror(why));
}

int rest_listener_open(const struct rest_listener_options *o, struct snapshot_ref *views, struct rest_listener **ret,
                       struct err *err)
{
        int rc = check_options(o, err);
        if (rc < 0)
                return rc;
        struct rest_listener *d = MEM_NEW(struct rest_listener);
        take_options(d, o);
        raise_files(d->o.connections_max + CONNECTIONS_SPARE);
        TAILQ_INIT(&d->idle);
        TAILQ_INIT(&d->busy);
        d->views = views;
        d->auth = auth_new();
        d->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        d->now = now_read();
        mailbox_init(&d->messages, 0, listener_wake, d);
        (void)!getrandom(&d->id_base, sizeof d->id_base,
                         0); /* ids only help to read logs, so a failure does not matter */
        rc = listener_start(d, err);
        if (rc < 0) {
                rest_listener_close(d);
                return err_wrap(err, "listen on '%s'", o->listen);
        }
        *ret = d;
        return 0;
}

void rest_listener_close(struct rest_listener *d)
{
        if (!d)
                return;
        /* The mailbox stays open until the worker threads have stopped, because a worker may still post a finished
         * job. */
        atomic_store(&d->stopping, true);
        listener_wake(d);
        if (d->running)
                pthread_join(d->thread, NULL);
        turns_stop(&d->renders);
        turns_stop(&d->lists);
        turns_stop(&d->reviews_read);
        if (d->daemon)
                MHD_stop_daemon(d->daemon);
        struct mailbox_items messages;
        mailbox_drain(&d->messages, &messages);
        for (struct message *l; (l = mailbox_items_next(&messages));)
                message_free(l);
        for (struct job *j = d->spare, *next; j; j = next) {
                next = j->spare;
                job_free(j);
        }
        certificate_free(d->certificate);
        caller_shares_release(&d->shares);
        auth_free(d->auth);
        gzip_release(&d->gzip);
        lingering_close_release(&d->drain);
        map_release(&d->addresses);
        mem_free(d->own_user);
        if (d->wake >= 0)
                close(d->wake);
        mailbox_release(&d->messages);
        mem_free(d);
}

const char *rest_listener_address(const struct rest_listener *d)
{
        return d->address;
}

int rest_listener_set_certificate(struct rest_listener *d, const char *cert_pem, const char *key_pem, struct err *err)
{
        return d->certificate ? certificate_set(d->certificate, cert_pem, key_pem, err)
                              : err_set(err, ERR_INVALID, "the REST API at '%s' is served without TLS", d->address);
}

struct server_counts rest_listener_counts(const struct rest_listener *d)
{
        struct server_counts c = {
                .shed = atomic_load(&d->shed),
                .late = atomic_load(&d->late),
                .reviews = atomic_load(&d->reviews),
                .astray = atomic_load(&d->astray),
                .connections = atomic_load(&d->shown_connections),
        };
        for (int i = 0; i < 6; i++)
                c.answers[i] = atomic_load(&d->answers[i]);
        return c;
}
