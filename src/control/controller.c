/*
 * The cycle: settle what the watches brought, poll usage, fold it, decide about every target, let the writes flow,
 * checkpoint, show. Long walks go in slices, so that watches, the Lease and signals are never kept waiting.
 */
#include "controller_private.h"
#include "custom_metrics/api_registration.h"
#include "replica.h"

#include <stdio.h>
#include <string.h>

enum { NUDGE_MS = 500, REPLICA_NUDGE_MS = 100, SYNC_LOOK_MS = 100, STOP_MOST_MS = 8 * SECOND_MS };

static void cycle_begin(void *arg);
static void decide_slice(void *arg);

/* --- totals --- */

static int64_t controller_in_force(const struct plan *p, enum resource r)
{
        __int128 less = 0;
        for (int i = 0; i < p->containers; i++)
                if (p->container[i].ours[r])
                        less += p->container[i].facts.original[r].value - p->container[i].facts.current[r].value;
        less *= workload_replicas(p->target->workload);
        return less > INT64_MAX ? INT64_MAX : less < INT64_MIN ? INT64_MIN : (int64_t)less;
}

static void tally_resource(struct controller *c, const struct plan *p, enum resource r)
{
        struct profile *profile = p->target->profile;
        for (int i = 0; i < p->containers; i++)
                if (plan_wants_change(&p->container[i], r))
                        c->next_reason[p->container[i].advice.gate[r].hold]++;
        int64_t saving = plan_saving(p, r);
        if (p->target->dimension == DIMENSION_WORKLOAD) { /* else the same pods would count twice */
                c->next_saving[r] = add_saturated(c->next_saving[r], saving);
                c->next_in_force[r] = add_saturated(c->next_in_force[r], controller_in_force(p, r));
        }
        if (profile)
                profile->next_saving[r] = add_saturated(profile->next_saving[r], saving);
}

static void controller_tally(struct controller *c, const struct plan *p)
{
        struct profile *profile = p->target->profile;
        c->next_state[p->state]++;
        for (enum resource r = CPU; r < RESOURCES; r++)
                tally_resource(c, p, r);
        if (profile) {
                profile->next_ready += p->state == STATE_READY;
                profile->next_applied += p->carries;
        }
}

static void tally_begin(struct controller *c)
{
        struct profile *p;
        memset(c->next_state, 0, sizeof c->next_state);
        memset(c->next_reason, 0, sizeof c->next_reason);
        memset(c->next_saving, 0, sizeof c->next_saving);
        memset(c->next_in_force, 0, sizeof c->next_in_force);
        for (size_t at = 0; (p = map_each(&c->cache.profiles, &at));) {
                p->next_ready = p->next_applied = 0;
                memset(p->next_saving, 0, sizeof p->next_saving);
        }
}

static void tally_end(struct controller *c)
{
        struct profile *p;
        memcpy(c->by_state, c->next_state, sizeof c->by_state);
        memcpy(c->by_reason, c->next_reason, sizeof c->by_reason);
        memcpy(c->saving, c->next_saving, sizeof c->saving);
        memcpy(c->in_force, c->next_in_force, sizeof c->in_force);
        for (size_t at = 0; (p = map_each(&c->cache.profiles, &at));) {
                p->ready = p->next_ready;
                p->applied = p->next_applied;
                memcpy(p->saving, p->next_saving, sizeof p->saving);
        }
}

/* --- deciding --- */

static void remember_weights(struct target *t, const struct plan *p)
{
        for (int i = 0; i < p->containers; i++) {
                struct history *h = history_find(t, p->container[i].name);
                struct amount original = p->container[i].facts.original[CPU];
                if (!h)
                        continue;
                h->cpu_weight = original.set ? (double)original.value / 1e3 : 0;
                bool raises = in_place(t) && t->profile->spec->apply.raise.enabled;
                h->original = mem_resize(h->original, raises ? RESOURCES : 0, sizeof *h->original);
                if (raises)
                        memcpy(h->original, p->container[i].facts.original, RESOURCES * sizeof *h->original);
        }
}

/* A profile with other half-lives or another window: what was learned is rescaled and goes on. */
static void adopt_policy(struct target *t)
{
        bool ignore;
        for (struct history *h = t->histories; h; h = h->next)
                usage_adopt(&h->usage, profile_spec_container(t->profile->spec, text_of(h->container), &ignore));
}

static void decide_target(struct controller *c, struct target *t)
{
        struct plan plan;
        clock_skew_mend(c->skew, t);
        if (!t->workload) {
                snapshot_show_gone(c, t);
                if (!t->busy && work_delete_due(c->applier, t))
                        work_add(c->applier, t);
                return;
        }
        if (!t->profile && !t->published)
                return;
        if (t->profile)
                adopt_policy(t);
        external_apply_adopt(c->applier, t);
        report_admitted(c->report, t);
        canary_follow(c->safety, t);
        decide(c->applier, t, &plan);
        if (!t->profile && !plan.orphaned) {
                work_add(c->applier, t); /* its Recommendation goes */
                return;
        }
        remember_weights(t, &plan);
        t->resizing = plan.resize.goes_on;
        conflict_watch(c->safety, t, &plan);
        if (guard_watch(c->safety, t, &plan))
                decide(c->applier, t, &plan);
        canary_watch(c->safety, t, &plan);
        controller_tally(c, &plan);
        snapshot_show_target(c, &plan);
        work_consider(c->applier, &plan);
}

static void controller_settle(struct controller *c)
{
        cache_relink(&c->cache, loop_now(c->loop));
        oom_count(c->learner);
        pods_free_dropped(&c->cache);
        workloads_free_gone(&c->cache);
        namespaces_sweep(&c->cache);
        watch_kinds(c);
        resize_settle(c->applier);
        windows_settle(&c->cache, loop_now(c->loop));
        safety_settle(c->safety);
}

static void decide_begin(struct controller *c)
{
        controller_settle(c);
        tally_begin(c);
        snapshot_begin(c);
        c->stage = CYCLE_DECIDING;
        c->decide_at = 0;
        decide_slice(c);
}

static void cycle_end(struct controller *c)
{
        struct now now = loop_now(c->loop);
        if (c->polled) {
                c->count.cycles++;
                report_cycle_ends(c->report);
                c->count.last_cycle_seconds = (double)(now.mono.ns - c->cycle_began.ns) / 1e9;
                metric_observe(&c->count.cycle_seconds, c->count.last_cycle_seconds);
                checkpointer_recall(c->checkpointer);
                learner_backfill(c->learner);
                checkpointer_forget_old(c->checkpointer);
        }
        annotation_commands_settle(c->learner);
        report_tick(c->report);
        watch_tick(c);
        telemetry_publish(c);
        c->stage = CYCLE_IDLE;
        work_pump(c->applier);
        if (c->polled) {
                int64_t took = (now.mono.ns - c->cycle_began.ns) / 1000000;
                int64_t rest = c->options.live.interval_ms - took;
                loop_timer_set(c->loop, &c->cycle_timer, rest > 0 ? rest : 0, cycle_begin, c);
        }
        if (c->nudged)
                nudge(c->leadership);
}

static void pack_slice(void *arg)
{
        struct controller *c = arg;
        if (!checkpointer_pack(c->checkpointer)) {
                loop_timer_set(c->loop, &c->slice_timer, 0, pack_slice, c);
                return;
        }
        c->checkpointed = loop_now(c->loop).mono;
        cycle_end(c);
}

static bool checkpoint_due(const struct controller *c)
{
        return c->polled && (loop_now(c->loop).mono.ns - c->checkpointed.ns) / 1000000 >= c->options.live.checkpoint_ms;
}

static void decide_slice(void *arg)
{
        struct controller *c = arg;
        struct target *t;
        for (int n = 0; n < DECIDE_SLICE; n++) {
                t = map_each(&c->cache.targets, &c->decide_at);
                if (!t) {
                        tally_end(c);
                        profile_status_publish(c->applier);
                        c->stage = CYCLE_PACKING;
                        if (checkpoint_due(c))
                                pack_slice(c);
                        else
                                cycle_end(c);
                        return;
                }
                decide_target(c, t);
                decide_end(c->applier);
        }
        loop_timer_set(c->loop, &c->slice_timer, 0, decide_slice, c);
}

/* --- the cycle --- */

static void cycle_polled(void *arg)
{
        decide_begin(arg);
}

static void cycle_begin(void *arg)
{
        struct controller *c = arg;
        char waiting[256];
        if (leadership_stops(c->leadership))
                return;
        if (!c->synced) {
                c->synced = watch_synced(c, waiting, sizeof waiting);
                if (!c->synced) {
                        telemetry_publish(c);
                        loop_timer_set(c->loop, &c->cycle_timer, SYNC_LOOK_MS, cycle_begin, c);
                        return;
                }
                oom_begin(c->learner);
                mem_trim(); /* what the lists took is not kept */
                log_info("caches synced", KV_INT("pods", c->cache.pods.count),
                         KV_INT("workloads", c->cache.workloads.count));
                watch_tell_late(c);
        }
        if (c->stage != CYCLE_IDLE) { /* a pass without a poll is under way */
                loop_timer_set(c->loop, &c->cycle_timer, SYNC_LOOK_MS, cycle_begin, c);
                return;
        }
        report_cycle_begins(c->report);
        c->cycle_began = loop_now(c->loop).mono;
        c->polled = true;
        c->stage = CYCLE_POLLING;
        controller_settle(c);
        ingest_start(c->learner);
}

/* What another may have done while it held the Lease is known now. */
static void reread_settle(struct controller *c)
{
        char waiting[256];
        if (!leadership_reads_again(c->leadership) || !watch_synced(c, waiting, sizeof waiting))
                return;
        leadership_read_again(c->leadership);
        log_info("everything was read again: writes from now on", KV("lease", c->options.lease_name));
        watch_tell_late(c);
}

static void pass_begin(void *arg)
{
        struct controller *c = arg;
        reread_settle(c);
        if (leadership_stops(c->leadership) || !c->synced || c->stage != CYCLE_IDLE)
                return; /* the cycle under way ends with a nudge */
        c->nudged = false;
        c->polled = false;
        decide_begin(c);
}

/* Several changes make one pass; one that comes while a cycle runs is seen to after it. */
static void controller_changed(void *arg)
{
        struct controller *c = arg;
        int64_t replica_ms = c->pass_ms > REPLICA_NUDGE_MS ? c->pass_ms : REPLICA_NUDGE_MS;
        c->nudged = true;
        if (!c->nudge_timer.place)
                loop_timer_set(c->loop, &c->nudge_timer, c->options.replica ? replica_ms : NUDGE_MS,
                               c->options.replica ? replica_pass : pass_begin, c);
}

static void controller_turned(void *arg)
{
        struct controller *c = arg;
        if (c->server)
                server_turned(c->server, loop_now(c->loop).mono);
        reread_settle(c);
        watch_guests(c);
        work_pump(c->applier); /* what waited for its back-off */
        loop_timer_set(c->loop, &c->turn_timer, SECOND_MS, controller_turned, c);
}

/* --- the Lease --- */

static void lease_gained(void *arg)
{
        struct controller *c = arg;
        bool lost = leadership_gained(c->leadership);
        if (lost) {
                watch_again(c);
                profile_status_forget(c->applier);
        }
        log_info(lost ? "holds the Lease again: reads everything, then writes" : "holds the Lease: writes from now on",
                 KV("lease", c->options.lease_name), KV("identity", c->options.identity));
        nudge(c->leadership);
}

static void lease_lost(void *arg, const struct err *why)
{
        struct controller *c = arg;
        log_warn("lost the Lease: only reads from now on", KV("lease", c->options.lease_name),
                 KV("why", why ? why->text : ""), KV("holder", lease_holder(c->lease)));
        leadership_lost(c->leadership);
        client_drop_writes(c->client, "the Lease was lost");
}

static const char *lease_noted(void *arg, const char *uid, const char *note)
{
        struct controller *c = arg;
        return fuse_noted(c->safety, uid, note);
}

static void lease_trouble(void *arg, const struct err *err)
{
        struct controller *c = arg;
        if (!report_outage_told(c->report, err))
                log_warn("the Lease cannot be had", KV("lease", c->options.lease_name), KV("error", err->text));
}

/* --- from start to stop --- */

static void controller_warned(void *arg, const char *path, const char *text)
{
        const struct controller *c = arg;
        if (strcmp(path, access_source(c->access)) == 0)
                log_warn("credentials cannot be renewed, the old ones are used; will try again", KV("access", path),
                         KV("error", text));
        else
                log_warn("the API server warns", KV("path", path), KV("warning", text));
}

/* One line an address: of health first, then of the door, then of custom metrics. */
static int write_addresses(const struct controller *c, struct err *err)
{
        if (!c->options.listen_file)
                return 0;
        FILE *f = fopen(c->options.listen_file, "we");
        const char *rest = server_rest_address(c->server),
                   *custom = custom_metrics_server_address(c->custom_metrics_server);
        if (!f ||
            fprintf(f, "%s\n%s%s%s%s", server_address(c->server), rest, *rest ? "\n" : "", custom,
                    *custom ? "\n" : "") < 0 ||
            fclose(f) != 0)
                return err_set(err, ERR_IO, "write '%s': %m", c->options.listen_file);
        return 0;
}

static int show_certificate(void *arg, const char *cert_pem, const char *key_pem, struct err *err)
{
        struct controller *c = arg;
        int rc = c->options.serve_listen ? server_set_certificate(c->server, cert_pem, key_pem, err) : 0;
        if (rc == 0)
                rc = custom_metrics_server_set_certificate(c->custom_metrics_server, cert_pem, key_pem, err);
        if (rc == 0)
                nudge(c->leadership);
        return rc;
}

static void trust_roots(void *arg, const char *roots_pem)
{
        struct controller *c = arg;
        if (c->upstream && !c->options.learner_ca)
                upstream_set_ca(c->upstream, roots_pem);
        custom_metrics_server_vouched_by(c->custom_metrics_server, roots_pem);
}

void controller_trust_learner(struct controller *c, const char *ca_pem)
{
        if (c->upstream)
                upstream_set_ca(c->upstream, ca_pem);
}

static int webhook_start(struct controller *c, struct err *err)
{
        const struct controller_options *co = &c->options;
        const struct webhook_options o = {
                .given = co->certificate == CERTIFICATE_SECRET,
                .ns = co->ns,
                .secret = co->certificate_secret,
                .configuration = co->webhook_configuration,
                .services = co->certificate_services,
                .show = show_certificate,
                .trust = trust_roots,
                .arg = c,
        };
        return co->certificate == CERTIFICATE_FILES ? 0 : webhook_new(c->client, &o, &c->webhook, err);
}

/* --- the server --- */

/* Custom metrics have the door's certificate. Before anything is served: ERR_CONFLICT, the API is another's. Where
 * nobody can be asked, the look at it each minute finds out. */
static int custom_check(struct controller *c, struct err *err)
{
        const struct controller_options *co = &c->options;
        struct err why = {0};
        int ours;
        if (!co->custom_listen)
                return 0;
        if (co->certificate == CERTIFICATE_FILES && !co->tls_cert)
                return err_set(err, ERR_INVALID,
                               "--custom-metrics-listen needs a certificate: --webhook-certificate self, or --tls-cert "
                               "and --tls-key");
        if (api_registration_check(c->client, co->ns, co->custom_service, &ours, &why) == ERR_CONFLICT)
                return err_set(err, ERR_CONFLICT, "%s", why.text);
        return 0;
}

static int custom_start(struct controller *c, struct err *err)
{
        const struct controller_options *co = &c->options;
        const struct custom_metrics_server_options o = {.listen = co->custom_listen,
                                                        .cert_file = co->tls_cert,
                                                        .key_file = co->tls_key,
                                                        .ns = co->ns,
                                                        .service = co->custom_service};
        return custom_metrics_server_new(c->client, &o, server_views(c->server), &c->custom_metrics_server, err);
}

static int serve_start(struct controller *c, struct err *err)
{
        const struct controller_options *co = &c->options;
        if (!co->listen && !co->serve_listen && !co->custom_listen)
                return 0;
        c->inquiries = inquiries_new(c);
        const struct server_options o = {
                .listen = co->listen,
                .interval_ms = co->live.interval_ms,
                .connections_max = 256,
                .rest = {.listen = co->serve_listen,
                         .tls = co->tls_cert || co->tls_key || co->certificate != CERTIFICATE_FILES,
                         .cert_file = co->tls_cert,
                         .key_file = co->tls_key,
                         .admission = true,
                         .calls = inquiries_calls(c->inquiries)},
        };
        int rc = server_start(&o, &c->server, err);
        if (rc < 0)
                return rc;
        if (co->listen)
                log_info("serves /healthz, /readyz and /metrics", KV("address", server_address(c->server)));
        if (co->custom_listen)
                rc = custom_start(c, err);
        if (rc == 0 && (co->serve_listen || co->custom_listen))
                rc = webhook_start(c, err);
        if (rc < 0)
                return rc;
        if (co->serve_listen) {
                inquiries_begin(c->inquiries);
                log_info("serves /api/v1 and /admission", KV("address", server_rest_address(c->server)),
                         KV("tls", o.rest.tls ? "yes" : "no"));
        }
        rc = write_addresses(c, err);
        if (rc == 0)
                telemetry_publish(c);
        return rc;
}

static void controller_begin(struct controller *c)
{
        struct lease_options lease = {
                .ns = c->options.ns,
                .name = c->options.lease_name,
                .identity = c->options.identity,
                .gained = lease_gained,
                .lost = lease_lost,
                .trouble = lease_trouble,
                .note = ANNOTATION_FUSE,
                .noted = lease_noted,
                .arg = c,
        };
        if (c->options.leader_elect)
                c->lease = lease_new(c->client, &lease);
        leadership_set_lease(c->leadership, c->lease);
        if (access_warning(c->access))
                log_warn(access_warning(c->access), KV("access", access_source(c->access)));
        watch_start(c);
        c->checkpointed = loop_now(c->loop).mono;
        loop_timer_set(c->loop, &c->cycle_timer, 0, c->options.replica ? replica_cycle : cycle_begin, c);
        loop_timer_set(c->loop, &c->turn_timer, 0, controller_turned, c);
}

/* --- what the store keeps for others --- */

static void note_loaded(void *arg, struct text name, struct text value)
{
        struct controller *c = arg;
        safety_load(c->safety, name, value);
}

static void database_replaced(void *arg)
{
        struct controller *c = arg;
        safety_store(c->safety);
}

static void target_forgotten(void *arg, struct target *t)
{
        struct controller *c = arg;
        work_forget(c->applier, t);
}

static const char *controller_blind(void *arg)
{
        return watch_blind(arg);
}

int controller_new(struct loop *l, struct access *a, const struct controller_options *o, struct controller **ret,
                   struct err *err)
{
        struct controller *c = MEM_NEW(struct controller);
        struct client_options client = {
                .user_agent = o->user_agent,
                .field_manager = FIELD_MANAGER,
                .rate = o->live.api_rate,
                .concurrency = o->live.api_concurrency,
                .observe = telemetry_observe,
                .warned = controller_warned,
                .arg = c,
        };
        const struct checkpointer_callbacks kept = {note_loaded, database_replaced, target_forgotten, c};
        c->loop = l;
        c->access = a;
        c->options = *o;
        c->client = client_new(l, a, &client);
        c->leadership = leadership_new(o->leader_elect, controller_changed, c);
        c->report = report_new(l, c->client, a, c->leadership, o->identity);
        cache_init(&c->cache, client_field_manager(c->client), o->ns);
        c->cache.pod_labels = o->custom_listen != NULL;
        *err = (struct err){0};
        c->skew = clock_skew_new(l);
        c->checkpointer = checkpointer_new(l, &c->cache, c->skew, &c->options.live, c->options.database, &kept);
        c->safety = safety_new(
                &(struct safety_options){l, &c->cache, &c->options.live, c->checkpointer, c->leadership, c->report});
        static const struct prometheus_options none;
        const struct learner_options learn = {
                .loop = l,
                .client = c->client,
                .cache = &c->cache,
                .live = &c->options.live,
                .checkpointer = c->checkpointer,
                .skew = c->skew,
                .leadership = c->leadership,
                .report = c->report,
                .safety = c->safety,
                .prometheus = o->replica ? &none : &c->options.prometheus,
                .usage_from_prometheus = !o->replica && o->usage_from_prometheus,
                .history_ms = o->prometheus_history_ms,
                .step_ms = o->prometheus_step_ms,
                .polled = cycle_polled,
                .arg = c,
        };
        c->learner = learner_new(&learn);
        const struct applier_options apply = {
                .loop = l,
                .client = c->client,
                .cache = &c->cache,
                .live = &c->options.live,
                .checkpointer = c->checkpointer,
                .skew = c->skew,
                .leadership = c->leadership,
                .report = c->report,
                .safety = c->safety,
                .blind = controller_blind,
                .arg = c,
        };
        c->applier = applier_new(&apply);
        if (!o->replica)
                checkpointer_open(c->checkpointer, err);
        else if (o->learner_url && upstream_new(l, o->learner_url, o->user_agent, &c->upstream, err) == 0 &&
                 o->learner_ca)
                upstream_set_ca(c->upstream, o->learner_ca);
        if (err->code == 0)
                (void)custom_check(c, err);
        if (err->code == 0)
                (void)learner_connect(c->learner, err);
        if (err->code == 0)
                (void)serve_start(c, err);
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
        c->options.live = *live;
        client_set_limits(c->client, live->api_rate, live->api_concurrency);
        if (c->server)
                server_set_interval(c->server, live->interval_ms);
        windows_forget_zones(&c->cache, loop_now(c->loop).mono);
        nudge(c->leadership);
}

static void stop_loop(void *arg)
{
        struct controller *c = arg;
        loop_stop(c->loop);
}

static void controller_stopped(void *arg)
{
        struct controller *c = arg;
        struct err err = {0};
        if (checkpointer_close(c->checkpointer, &err) < 0)
                log_error("the last checkpoint was not written", KV("error", err.text));
        loop_post(c->loop, stop_loop, c); /* behind what the store's thread posted */
}

/* The patch in hand is waited for, but not for ever, for none may come after the Lease was given up; then the
 * checkpoint is written. */
static void stop_when_quiet(void *arg)
{
        struct controller *c = arg;
        int64_t waited = (loop_now(c->loop).mono.ns - c->stop_began.ns) / 1000000;
        if (leadership_writes(c->leadership) > 0 && waited < STOP_MOST_MS) {
                loop_timer_set(c->loop, &c->slice_timer, 20, stop_when_quiet, c);
                return;
        }
        if (leadership_writes(c->leadership) > 0)
                client_drop_writes(c->client, "halflife stops");
        if (c->lease)
                lease_release(c->lease, controller_stopped, c);
        else
                controller_stopped(c);
}

void controller_stop(struct controller *c)
{
        if (leadership_stops(c->leadership))
                return;
        leadership_stop(c->leadership);
        c->stop_began = loop_now(c->loop).mono;
        log_info("stopping", KV_INT("writes_under_way", leadership_writes(c->leadership)));
        loop_timer_stop(c->loop, &c->cycle_timer);
        loop_timer_stop(c->loop, &c->nudge_timer);
        loop_timer_stop(c->loop, &c->slice_timer);
        learner_stop(c->learner);
        stop_when_quiet(c);
}

void controller_free(struct controller *c)
{
        struct loop_timer *const timers[] = {&c->cycle_timer, &c->nudge_timer, &c->slice_timer, &c->turn_timer};
        for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++)
                loop_timer_stop(c->loop, timers[i]);
        webhook_free(c->webhook);
        custom_metrics_server_free(c->custom_metrics_server);
        watch_stop(c);
        checkpointer_free(c->checkpointer);
        server_stop(c->server);
        inquiries_free(c->inquiries);
        upstream_free(c->upstream);
        snapshot_drop(c->next_view);
        report_free(c->report);
        lease_free(c->lease);
        leadership_free(c->leadership);
        client_free(c->client);
        safety_free(c->safety);
        mem_free(c->skew);
        watch_guests_forget(c);
        applier_free(c->applier);
        learner_free(c->learner);
        cache_release(&c->cache);
        arena_release(&c->plans);
        mem_free(c);
}
