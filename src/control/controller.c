/*
 * The controller as a whole: makes and connects its parts, starts the servers and the Lease, and stops all in order.
 */
#include "control/controller.h"

#include <stdio.h>
#include <string.h>

#include "cache/change_log.h"
#include "control/proxy_log.h"
#include "custom_metrics/api_registration.h"
#include "cycle.h"
#include "informers.h"
#include "load_watcher/load_document.h"
#include "parts.h"
#include "replica.h"
#include "telemetry.h"

enum { STOP_MOST_MS = 8 * SECOND_MS };

struct controller {
        struct parts p;
        struct lease *lease; /* NULL: no leader election */
        struct loop_timer turn_timer, stop_timer;
        struct mono stop_began;
};

struct parts *controller_parts(struct controller *c)
{
        return &c->p;
}

static void controller_turned(void *arg)
{
        struct controller *c = arg;
        if (c->p.server)
                server_turned(c->p.server, loop_now(c->p.loop).mono);
        if (c->p.cycle)
                cycle_turn(c->p.cycle);
        informers_discover(c->p.informers);
        work_pump(c->p.applier); /* starts writes whose back-off has ended */
        loop_timer_set(c->p.loop, &c->turn_timer, SECOND_MS, controller_turned, c);
}

/* --- the Lease --- */

static void lease_gained(void *arg)
{
        struct controller *c = arg;
        bool lost = leadership_gained(c->p.leadership);
        if (lost) {
                informers_again(c->p.informers);
                profile_status_forget(c->p.applier);
        }
        log_info(lost ? "holds the Lease again: reads everything, then writes" : "holds the Lease: writes from now on",
                 KV("lease", c->p.options.lease_name), KV("identity", c->p.options.identity));
        schedule_pass(c->p.leadership);
}

static void lease_lost(void *arg, const struct err *why)
{
        struct controller *c = arg;
        log_warn("lost the Lease: only reads from now on", KV("lease", c->p.options.lease_name),
                 KV("why", why ? why->text : ""), KV("holder", lease_holder(c->lease)));
        leadership_lost(c->p.leadership);
        client_drop_writes(c->p.client, "the Lease was lost");
}

static const char *lease_noted(void *arg, const char *uid, const char *note)
{
        struct controller *c = arg;
        return fuse_noted(c->p.safety, uid, note);
}

static void lease_trouble(void *arg, const struct err *err)
{
        struct controller *c = arg;
        if (!notice_outage_told(c->p.notices, err))
                log_warn("the Lease cannot be read or written", KV("lease", c->p.options.lease_name),
                         KV("error", err->text));
}

/* --- from start to stop --- */

static void controller_observed(void *arg, const char *verb, const char *path, int status, int64_t took_ms,
                                const char *id)
{
        const struct controller *c = arg;
        telemetry_observe(c->p.telemetry, verb, path, status, took_ms, id);
}

static void controller_warned(void *arg, const char *path, const char *text)
{
        const struct controller *c = arg;
        if (strcmp(path, access_source(c->p.access)) == 0)
                log_warn("credentials cannot be renewed, the old ones are used; will try again", KV("access", path),
                         KV("error", text));
        else
                log_warn("the API server warns", KV("path", path), KV("warning", text));
}

/* Write the bound addresses, one a line: health, then REST, then custom metrics, then load-watcher's interface. */
static int write_addresses(const struct controller *c, struct err *err)
{
        if (!c->p.options.listen_file)
                return 0;
        FILE *f = fopen(c->p.options.listen_file, "we");
        const char *address[] = {server_address(c->p.server), server_rest_address(c->p.server),
                                 custom_metrics_server_address(c->p.custom_metrics_server),
                                 load_listener_address(c->p.load_listener)};
        bool written = f != NULL;
        for (size_t i = 0; written && i < sizeof address / sizeof *address; i++)
                written = (i > 0 && !*address[i]) || fprintf(f, "%s\n", address[i]) > 0;
        if (!written || fclose(f) != 0)
                return err_set(err, ERR_IO, "write '%s': %m", c->p.options.listen_file);
        return 0;
}

static int show_certificate(void *arg, const char *cert_pem, const char *key_pem, struct err *err)
{
        struct controller *c = arg;
        int rc = c->p.options.serve_listen ? server_set_certificate(c->p.server, cert_pem, key_pem, err) : 0;
        if (rc == 0)
                rc = custom_metrics_server_set_certificate(c->p.custom_metrics_server, cert_pem, key_pem, err);
        if (rc == 0)
                schedule_pass(c->p.leadership);
        return rc;
}

static void trust_roots(void *arg, const char *roots_pem)
{
        struct controller *c = arg;
        if (c->p.upstream && !c->p.options.upstream_ca)
                upstream_set_ca(c->p.upstream, roots_pem);
}

static void admit_at(void *arg, const struct admission_paths *paths)
{
        struct controller *c = arg;
        server_set_admission_paths(c->p.server, paths);
}

void controller_trust_upstream(struct controller *c, const char *ca_pem)
{
        if (c->p.upstream)
                upstream_set_ca(c->p.upstream, ca_pem);
}

static void certificate_start(struct controller *c)
{
        const struct controller_options *co = &c->p.options;
        const struct certificate_reader_options o = {
                .ns = co->ns,
                .secret = co->certificate_secret,
                .given = co->certificate == CERTIFICATE_SECRET,
                .show = show_certificate,
                .trust = trust_roots,
                .admit_at = admit_at,
                .arg = c,
        };
        if (co->certificate != CERTIFICATE_FILES)
                c->p.certificate = certificate_reader_new(c->p.client, &o);
}

/* --- the server --- */

/* Check the settings of custom metrics before anything is served. ERR_INVALID: there is no certificate of REST to use.
 * ERR_CONFLICT: another Service serves this API. Other errors do not matter: the API server is asked each minute. */
static int custom_check(struct controller *c, struct err *err)
{
        const struct controller_options *co = &c->p.options;
        struct err why = {0};
        int ours;
        if (!co->custom_listen)
                return 0;
        if (co->certificate == CERTIFICATE_FILES && !co->tls_cert)
                return err_set(err, ERR_INVALID,
                               "--custom-metrics-listen needs a certificate: --webhook-certificate self, or --tls-cert "
                               "and --tls-key");
        if (api_registration_check(c->p.client, co->ns, co->custom_service, &ours, &why) == ERR_CONFLICT)
                return err_copy(err, &why);
        return 0;
}

static int custom_start(struct controller *c, struct err *err)
{
        const struct controller_options *co = &c->p.options;
        const struct custom_metrics_server_options o = {.listen = co->custom_listen,
                                                        .cert_file = co->tls_cert,
                                                        .key_file = co->tls_key,
                                                        .ns = co->ns,
                                                        .service = co->custom_service};
        return custom_metrics_server_new(c->p.client, &o, server_views(c->p.server), &c->p.custom_metrics_server, err);
}

/* --- load-watcher's interface --- */

static int load_start(struct controller *c, struct err *err)
{
        int rc = load_listener_open(c->p.options.watcher_listen, &c->p.load_listener, err);
        if (rc == 0)
                log_info("serves /watcher", KV("address", load_listener_address(c->p.load_listener)));
        return rc;
}

static void controller_nodes_polled(void *arg)
{
        struct controller *c = arg;
        struct now now = loop_now(c->p.loop);
        if (c->p.load_listener)
                load_listener_publish(c->p.load_listener, load_document_new(&c->p.cache, now.wall), now.mono);
}

static int serve_start(struct controller *c, struct err *err)
{
        const struct controller_options *co = &c->p.options;
        if (!co->listen && !co->serve_listen && !co->custom_listen && !co->watcher_listen)
                return 0;
        c->p.calls = loop_calls_new(&(struct loop_calls_options){.loop = c->p.loop,
                                                                 .client = c->p.client,
                                                                 .cache = &c->p.cache,
                                                                 .live = &c->p.options.live,
                                                                 .checkpointer = c->p.checkpointer,
                                                                 .learner = c->p.learner,
                                                                 .upstream = c->p.upstream,
                                                                 .token_audience = co->token_audience,
                                                                 .replica = co->replica});
        const struct server_options o = {
                .listen = co->listen,
                .interval_ms = co->live.interval_ms,
                .connections_max = 256,
                .rest = {.listen = co->serve_listen,
                         .tls = co->tls_cert || co->tls_key || co->certificate != CERTIFICATE_FILES,
                         .cert_file = co->tls_cert,
                         .key_file = co->tls_key,
                         .admission = true,
                         .calls = loop_calls_table(c->p.calls)},
        };
        int rc = server_start(&o, &c->p.server, err);
        if (rc < 0)
                return rc;
        if (co->listen)
                log_info("serves /healthz, /readyz and /metrics", KV("address", server_address(c->p.server)));
        if (co->custom_listen)
                rc = custom_start(c, err);
        if (rc == 0 && co->watcher_listen)
                rc = load_start(c, err);
        if (rc < 0)
                return rc;
        if (co->serve_listen || co->custom_listen)
                certificate_start(c);
        if (co->serve_listen) {
                loop_calls_begin(c->p.calls, c->p.server);
                log_info("serves /api/v1 and /admission", KV("address", server_rest_address(c->p.server)),
                         KV("tls", o.rest.tls ? "yes" : "no"));
        }
        rc = write_addresses(c, err);
        if (rc == 0)
                telemetry_publish(c->p.telemetry);
        return rc;
}

static void controller_log_proxies(const struct parts *p)
{
        const struct controller_options *o = &p->options;
        const struct http_peer *server = access_peer(p->access);
        proxy_log("API server", server->base_url, server->proxy_url);
        proxy_log("upstream", o->replica ? o->upstream_url : NULL, NULL);
        proxy_log("Prometheus", o->replica ? NULL : o->prometheus.url, NULL);
}

static void controller_begin(struct controller *c)
{
        struct lease_options lease = {
                .ns = c->p.options.ns,
                .name = c->p.options.lease_name,
                .identity = c->p.options.identity,
                .gained = lease_gained,
                .lost = lease_lost,
                .trouble = lease_trouble,
                .note = ANNOTATION_FUSE,
                .noted = lease_noted,
                .arg = c,
        };
        if (c->p.options.leader_elect)
                c->lease = lease_new(c->p.client, &lease);
        leadership_set_lease(c->p.leadership, c->lease);
        if (access_warning(c->p.access))
                log_warn(access_warning(c->p.access), KV("access", access_source(c->p.access)));
        controller_log_proxies(&c->p);
        informers_start(c->p.informers);
        if (c->p.cycle)
                cycle_start(c->p.cycle);
        else
                replica_start(c->p.replica);
        loop_timer_set(c->p.loop, &c->turn_timer, 0, controller_turned, c);
}

/* --- callbacks of the parts --- */

static void note_loaded(void *arg, struct text name, struct text value)
{
        struct controller *c = arg;
        safety_load(c->p.safety, name, value);
        node_usage_load(c->p.learner, name, value);
        if (text_is(name, BOOKKEEPING_NOTE))
                bookkeeping_load_note(c->p.books, value);
}

static void ledger_loaded(void *arg, const struct ledger_page_key *key, struct text packed)
{
        struct controller *c = arg;
        bookkeeping_load(c->p.books, key, packed);
}

static void checkpoint_packed(void *arg, struct store_batch *b)
{
        struct controller *c = arg;
        bookkeeping_write(c->p.books, b);
        change_log_write(&c->p.cache, b, (struct wall){clock_skew_earlier(c->p.skew)});
}

static struct now controller_now(void *arg)
{
        const struct controller *c = arg;
        return (struct now){loop_now(c->p.loop).mono, {clock_skew_earlier(c->p.skew)}};
}

static bool controller_leads(void *arg)
{
        const struct controller *c = arg;
        return may_write(c->p.leadership);
}

static void database_replaced(void *arg)
{
        struct controller *c = arg;
        safety_store(c->p.safety);
        node_usage_store(c->p.learner);
        bookkeeping_write_again(c->p.books);
        change_log_write_again(&c->p.cache);
}

static void target_forgotten(void *arg, struct target *t)
{
        struct controller *c = arg;
        work_forget(c->p.applier, t);
}

static const char *controller_blind(void *arg)
{
        const struct controller *c = arg;
        return informers_blind(c->p.informers);
}

static void controller_polled(void *arg)
{
        struct controller *c = arg;
        node_sums_polled(c->p.learner);
        cycle_polled(c->p.cycle);
}

static void controller_changed(void *arg)
{
        struct controller *c = arg;
        if (c->p.cycle)
                cycle_changed(c->p.cycle);
        else if (c->p.replica)
                replica_changed(c->p.replica);
}

static void controller_make_parts(struct controller *c)
{
        static const struct prometheus_options none;
        struct parts *p = &c->p;
        const struct controller_options *o = &p->options;
        const struct checkpointer_callbacks kept = {note_loaded,   database_replaced, target_forgotten,
                                                    ledger_loaded, checkpoint_packed, c};
        p->leadership = leadership_new(o->leader_elect, controller_changed, c);
        p->notices = notices_new(p->loop, p->client, p->access, p->leadership, o->identity);
        cache_init(&p->cache, client_field_manager(p->client), o->ns);
        p->cache.exempt_namespaces = o->exempt_namespaces;
        cache_set_pod_labels(&p->cache, o->custom_listen != NULL);
        p->skew = clock_skew_new(p->loop);
        p->cache.nodes.pool_label = o->pool_label;
        if (!o->replica)
                p->books = bookkeeping_new(&(struct bookkeeping_options){&p->cache, &o->live, o->report_label,
                                                                         controller_now, controller_leads, c});
        p->checkpointer = checkpointer_new(p->loop, &p->cache, p->skew, &o->live, o->database, &kept);
        p->safety = safety_new(
                &(struct safety_options){p->loop, &p->cache, &o->live, p->checkpointer, p->leadership, p->notices});
        p->learner = learner_new(&(struct learner_options){
                .loop = p->loop,
                .client = p->client,
                .cache = &p->cache,
                .live = &o->live,
                .checkpointer = p->checkpointer,
                .skew = p->skew,
                .leadership = p->leadership,
                .notices = p->notices,
                .safety = p->safety,
                .prometheus = o->replica ? &none : &o->prometheus,
                .prices = o->replica ? NULL : o->prices,
                .usage_from = o->replica ? USAGE_FROM_METRICS_SERVER : o->usage_from,
                .history_ms = o->prometheus_history_ms,
                .step_ms = whole_second(o->prometheus_step_ms),
                .polled = controller_polled,
                .nodes_polled = o->watcher_listen ? controller_nodes_polled : NULL,
                .arg = c,
        });
        p->applier = applier_new(&(struct applier_options){
                .loop = p->loop,
                .client = p->client,
                .cache = &p->cache,
                .live = &o->live,
                .checkpointer = p->checkpointer,
                .skew = p->skew,
                .leadership = p->leadership,
                .notices = p->notices,
                .safety = p->safety,
                .ownership_labels = o->ownership_labels,
                .blind = controller_blind,
                .arg = c,
        });
        p->informers = informers_new(p);
        p->snapshots = snapshot_writer_new(
                &(struct snapshot_writer_options){p->loop, &p->cache, &o->live, p->skew, p->notices, p->safety});
        p->cycle = o->replica ? NULL : cycle_new(p);
        p->replica = o->replica ? replica_new(p) : NULL;
}

static void controller_open(struct controller *c, struct err *err)
{
        struct parts *p = &c->p;
        const struct controller_options *o = &p->options;
        if (!o->replica)
                checkpointer_open(p->checkpointer, err);
        else if (o->upstream_url && upstream_new(p->loop, o->upstream_url, o->user_agent, &p->upstream, err) == 0 &&
                 o->upstream_ca)
                upstream_set_ca(p->upstream, o->upstream_ca);
        if (err->code == 0)
                (void)custom_check(c, err);
        if (err->code == 0)
                (void)learner_connect(p->learner, err);
        if (err->code == 0)
                (void)serve_start(c, err);
}

int controller_new(struct loop *l, struct access *a, const struct controller_options *o, struct controller **ret,
                   struct err *err)
{
        struct controller *c = MEM_NEW(struct controller);
        c->p.loop = l;
        c->p.access = a;
        c->p.options = *o;
        c->p.telemetry = telemetry_new(&c->p);
        struct client_options client = {
                .user_agent = o->user_agent,
                .field_manager = FIELD_MANAGER,
                .rate = o->live.api_rate,
                .concurrency = o->live.api_concurrency,
                .observe = controller_observed,
                .warned = controller_warned,
                .arg = c,
        };
        c->p.client = client_new(l, a, &client);
        *err = (struct err){0};
        controller_make_parts(c);
        controller_open(c, err);
        if (err->code != 0) {
                controller_free(c);
                return err->code;
        }
        controller_begin(c);
        *ret = c;
        return 0;
}

void controller_reconfigure(struct controller *c, const struct live_settings *live)
{
        c->p.options.live = *live;
        client_set_limits(c->p.client, live->api_rate, live->api_concurrency);
        if (c->p.server)
                server_set_interval(c->p.server, live->interval_ms);
        windows_forget_zones(&c->p.cache, loop_now(c->p.loop).mono);
        schedule_pass(c->p.leadership);
}

static void stop_loop(void *arg)
{
        struct controller *c = arg;
        loop_stop(c->p.loop);
}

static void controller_stopped(void *arg)
{
        struct controller *c = arg;
        struct err err = {0};
        if (checkpointer_close(c->p.checkpointer, &err) < 0)
                log_error("the last checkpoint was not written", KV("error", err.text));
        loop_post(c->p.loop, stop_loop, c); /* runs after the callbacks that the store's thread has posted */
}

/* Wait for the writes under way, because no write may follow once the Lease is given up. After STOP_MOST_MS drop them.
 * Then give the Lease up and write the checkpoint. */
static void stop_when_quiet(void *arg)
{
        struct controller *c = arg;
        int64_t waited = (loop_now(c->p.loop).mono.ns - c->stop_began.ns) / 1000000;
        if (leadership_writes(c->p.leadership) > 0 && waited < STOP_MOST_MS) {
                loop_timer_set(c->p.loop, &c->stop_timer, 20, stop_when_quiet, c);
                return;
        }
        if (leadership_writes(c->p.leadership) > 0)
                client_drop_writes(c->p.client, "halflife stops");
        if (c->lease)
                lease_release(c->lease, controller_stopped, c);
        else
                controller_stopped(c);
}

void controller_stop(struct controller *c)
{
        if (leadership_stops(c->p.leadership))
                return;
        if (c->p.books)
                bookkeeping_cycle(c->p.books); /* the last booking, while this process still leads */
        leadership_stop(c->p.leadership);
        c->stop_began = loop_now(c->p.loop).mono;
        log_info("stopping", KV_INT("writes_under_way", leadership_writes(c->p.leadership)));
        if (c->p.cycle)
                cycle_stop(c->p.cycle);
        else
                replica_stop(c->p.replica);
        learner_stop(c->p.learner);
        node_usage_store(c->p.learner);
        stop_when_quiet(c);
}

/*
 * Leadership stops first: from then on no part writes, schedules a pass of the freed cycle, or reads the Lease. Each
 * part is freed before the parts that it may still call. So the checkpointer goes before the parts that its callbacks
 * use, and the server's threads before the parts that answer them. Parts that cancel their own calls go before the
 * client. The client drops all other calls, so the parts that those would have answered are freed after it.
 */
void controller_free(struct controller *c)
{
        struct parts *p = &c->p;
        leadership_stop(p->leadership);
        loop_timer_stop(p->loop, &c->turn_timer);
        loop_timer_stop(p->loop, &c->stop_timer);
        cycle_free(p->cycle);
        replica_free(p->replica);
        certificate_reader_free(p->certificate);
        custom_metrics_server_free(p->custom_metrics_server);
        load_listener_close(p->load_listener);
        p->load_listener = NULL; /* polls that end from here on must not use it */
        informers_stop(p->informers);
        checkpointer_free(p->checkpointer);
        server_stop(p->server);
        loop_calls_free(p->calls);
        upstream_free(p->upstream);
        notices_free(p->notices);
        lease_free(c->lease);
        client_free(p->client);
        snapshot_writer_free(p->snapshots);
        informers_free(p->informers);
        applier_free(p->applier);
        learner_free(p->learner);
        safety_free(p->safety);
        leadership_free(p->leadership);
        bookkeeping_free(p->books);
        mem_free(p->skew);
        mem_free(p->telemetry);
        cache_release(&p->cache);
        mem_free(c);
}
