/*
 * A scan is one cycle of halflife run without the writes. Parts write only as the leader, and a scan takes no Lease, so
 * it never leads. The checkpointer has no database.
 */
#include "scan/cluster_scan.h"

#include <string.h>

#include "base/buf.h"
#include "base/noun.h"
#include "learn/learner.h"
#include "scan_lists.h"
#include "scan_profiles.h"

enum {
        POLL_MS = 30 * SECOND_MS,
        STALL_MS = MINUTE_MS,      /* longest time without an answer from Prometheus */
        KILLS_MS = 10 * SECOND_MS, /* longest wait for the Events about killed pods */
        TICK_MS = 200,             /* longest time between two looks at the progress */
        LINE_BYTES = 4 << 10
};

struct cluster_scan {
        struct cluster_scan_options options;
        struct loop *loop;
        struct cache cache;
        struct live_settings live;
        struct clock_skew *skew;
        struct leadership *leadership;
        struct notices *notices;
        struct checkpointer *checkpointer;
        struct safety *safety;
        struct learner *learner;
        struct scan_scope scope;
        struct arena plans;
        struct now read;               /* when usage was read; a container without later samples is not stale */
        bool by_metrics;               /* present usage comes from the metrics API, not from Prometheus */
        bool polled;                   /* the current poll of usage has ended */
        struct metrics_result of_poll; /* outcome of the poll that ended last */
        bool ticked;
        struct loop_timer tick;
};

static void cluster_scan_changed(void *arg)
{
        (void)arg;
}

static void cluster_scan_make_parts(struct cluster_scan *s)
{
        static const struct prometheus_options none;
        static const struct checkpointer_callbacks nobody;
        struct client *client = s->options.client;
        cache_init(&s->cache, client_field_manager(client), NULL);
        s->cache.exempt_namespaces = NAMESPACES_EXEMPT;
        s->skew = clock_skew_new(s->loop);
        s->leadership = leadership_new(true, cluster_scan_changed, s);
        s->notices = notices_new(s->loop, client, NULL, s->leadership, "scan");
        s->checkpointer = checkpointer_new(s->loop, &s->cache, s->skew, &s->live, NULL, &nobody);
        s->safety = safety_new(
                &(struct safety_options){s->loop, &s->cache, &s->live, s->checkpointer, s->leadership, s->notices});
        s->learner = learner_new(&(struct learner_options){
                .loop = s->loop,
                .client = client,
                .cache = &s->cache,
                .live = &s->live,
                .checkpointer = s->checkpointer,
                .skew = s->skew,
                .leadership = s->leadership,
                .notices = s->notices,
                .safety = s->safety,
                .prometheus = s->options.prometheus ? s->options.prometheus : &none,
                .usage_from = s->options.prometheus ? USAGE_FROM_PROMETHEUS : USAGE_FROM_METRICS_SERVER,
                .history_ms = s->options.history_ms,
                .step_ms = whole_second(s->options.step_ms),
        });
}

int cluster_scan_new(const struct cluster_scan_options *o, struct cluster_scan **ret, struct err *err)
{
        struct cluster_scan *s = MEM_NEW(struct cluster_scan);
        s->options = *o;
        s->loop = client_loop(o->client);
        s->live = (struct live_settings){.interval_ms = MINUTE_MS, .retention_ms = 14 * DAY_MS};
        cluster_scan_make_parts(s);
        int rc = scan_profiles_take(&s->cache, o, err);
        if (rc == 0)
                rc = learner_connect(s->learner, err);
        if (rc < 0) {
                cluster_scan_free(s);
                return rc;
        }
        *ret = s;
        return 0;
}

void cluster_scan_free(struct cluster_scan *s)
{
        if (!s)
                return;
        loop_timer_stop(s->loop, &s->tick);
        leadership_stop(s->leadership);
        learner_stop(s->learner);
        checkpointer_free(s->checkpointer);
        notices_free(s->notices);
        learner_free(s->learner);
        safety_free(s->safety);
        leadership_free(s->leadership);
        mem_free(s->skew);
        scan_scope_release(&s->scope);
        arena_release(&s->plans);
        cache_release(&s->cache);
        mem_free(s);
}

/* --- waiting --- */

static void cluster_scan_ticked(void *arg)
{
        struct cluster_scan *s = arg;
        s->ticked = true;
}

/* Turn the loop once, which waits for an event, TICK_MS at most. */
static void cluster_scan_turn(struct cluster_scan *s)
{
        if (!s->tick.place)
                loop_timer_set(s->loop, &s->tick, TICK_MS, cluster_scan_ticked, s);
        loop_turn(s->loop, -1);
}

static int64_t cluster_scan_since_ms(const struct cluster_scan *s, struct mono at)
{
        return (loop_now(s->loop).mono.ns - at.ns) / 1000000;
}

static void cluster_scan_tell(const struct cluster_scan *s, struct buf *line)
{
        s->options.tell(s->options.arg, line->data);
        buf_release(line);
}

/* --- usage now --- */

static void cluster_scan_polled(void *arg, const struct metrics_result *r)
{
        struct cluster_scan *s = arg;
        s->of_poll = *r;
        s->polled = true;
}

static void cluster_scan_fold(void *arg, const struct pod_metrics_view *m, struct wall date)
{
        const struct cluster_scan *s = arg;
        ingest_fold(s->learner, m, date);
}

static const struct metrics_result *cluster_scan_poll(struct cluster_scan *s, const char *ns)
{
        s->polled = false;
        if (s->by_metrics)
                metrics_poll(s->options.client, ns, POLL_MS, cluster_scan_fold, cluster_scan_polled, s);
        else
                ingest_poll(s->learner, ns, POLL_MS, cluster_scan_polled, s);
        while (!s->polled)
                cluster_scan_turn(s);
        return &s->of_poll;
}

/* Whether a poll brought usage. The usage of pods that arrived before an error counts. */
static bool cluster_scan_got(const struct metrics_result *r)
{
        return r->err.code == 0 || r->pods > 0;
}

static int cluster_scan_refused(const struct metrics_result *r, struct err *err)
{
        if (r->absent)
                return err_set(err, r->err.code,
                               "the cluster has no metrics API: install metrics-server, or give --prometheus URL or "
                               "auto");
        return err_copy(err, &r->err);
}

static void cluster_scan_tell_part(const struct cluster_scan *s, const struct metrics_result *r)
{
        struct buf line;
        if (r->err.code == 0 && r->refused == 0)
                return;
        buf_init(&line, LINE_BYTES);
        if (r->err.code)
                (void)buf_printf(&line, "usage of %s only, the first of the list: %s", NOUN_COUNT(r->pods, "pod"),
                                 r->err.text);
        else
                (void)buf_printf(&line, "usage of %s cannot be read and is left out", NOUN_COUNT(r->refused, "pod"));
        cluster_scan_tell(s, &line);
}

/* Poll each namespace. A namespace whose usage is denied or missing is reported, and the poll goes on. Any other
 * error ends the poll, so the remaining namespaces have no usage either. */
static int cluster_scan_poll_namespaces(struct cluster_scan *s, struct err *err)
{
        const char **denied = mem_new_array(s->scope.count + 1, sizeof *denied);
        size_t denieds = 0, got = 0;
        int rc = 0;
        size_t i = 0;
        for (; i < s->scope.count && (rc == 0 || rc == ERR_DENIED || rc == ERR_NOTFOUND); i++) {
                const struct metrics_result *r = cluster_scan_poll(s, s->scope.ns[i]);
                rc = cluster_scan_got(r) ? 0 : cluster_scan_refused(r, err);
                if (rc == 0)
                        cluster_scan_tell_part(s, r);
                else
                        denied[denieds++] = s->scope.ns[i];
                got += rc == 0;
        }
        while (i < s->scope.count)
                denied[denieds++] = s->scope.ns[i++];
        if (got) {
                struct buf line;
                buf_init(&line, LINE_BYTES);
                (void)buf_printf(&line, "no usage of %zu of %zu namespaces (", denieds, s->scope.count);
                scan_names_add(&line, denied, denieds);
                (void)buf_printf(&line, "): %s", err->text);
                if (denieds)
                        cluster_scan_tell(s, &line);
                else
                        buf_release(&line);
                rc = 0;
        }
        mem_free(denied);
        return rc;
}

static int cluster_scan_poll_all(struct cluster_scan *s, struct err *err)
{
        if (!s->scope.whole)
                return cluster_scan_poll_namespaces(s, err);
        const struct metrics_result *r = cluster_scan_poll(s, NULL);
        if (cluster_scan_got(r)) {
                cluster_scan_tell_part(s, r);
                return 0;
        }
        int rc = cluster_scan_refused(r, err);
        return rc == ERR_DENIED && s->scope.count ? cluster_scan_poll_namespaces(s, err) : rc;
}

/* Read present usage. A Prometheus filled by blocks may lack the last minutes; then the metrics API is polled instead.
 */
static int cluster_scan_poll_sources(struct cluster_scan *s, struct err *err)
{
        struct err why = {0};
        s->by_metrics = !s->options.prometheus;
        int rc = cluster_scan_poll_all(s, err);
        if (rc != ERR_NOTFOUND || s->by_metrics)
                return rc;
        s->by_metrics = true;
        s->options.tell(s->options.arg, err->text);
        if (cluster_scan_poll_all(s, &why) < 0)
                s->options.tell(s->options.arg, why.text);
        return 0;
}

/* --- usage of the past --- */

static uint64_t cluster_scan_targets(const struct cluster_scan *s)
{
        const struct target *t;
        uint64_t count = 0;
        for (size_t at = 0; (t = map_each(&s->cache.targets, &at));)
                count += t->workload && t->profile && t->dimension == DIMENSION_WORKLOAD;
        return count;
}

static void cluster_scan_report(const struct cluster_scan *s, uint64_t targets)
{
        const struct backfill_counters *n = backfill_counted(learner_backfills(s->learner));
        const struct cluster_scan_progress p = {n->targets, targets, n->points};
        if (s->options.progress)
                s->options.progress(s->options.arg, &p);
}

/* Why Prometheus refused the history of some namespace; NULL: it refused none. */
static const char *cluster_scan_refusal(const struct cluster_scan *s)
{
        const struct ns *ns;
        for (size_t at = 0; (ns = map_each(&s->cache.namespaces, &at));)
                if (ns->refusal.why)
                        return ns->refusal.why;
        return NULL;
}

/* Turn the loop until the past of each namespace is read. Returns false if Prometheus has not answered for STALL_MS. */
static bool cluster_scan_backfill(struct cluster_scan *s, uint64_t targets)
{
        const struct backfill *b = learner_backfills(s->learner);
        struct mono moved = loop_now(s->loop).mono;
        for (uint64_t slices = 0;;) {
                learner_backfill(s->learner);
                if (!backfill_busy(b))
                        return true;
                cluster_scan_turn(s);
                if (slices != backfill_counted(b)->slices)
                        moved = loop_now(s->loop).mono;
                slices = backfill_counted(b)->slices;
                if (s->ticked)
                        cluster_scan_report(s, targets);
                s->ticked = false;
                if (cluster_scan_since_ms(s, moved) >= STALL_MS)
                        return false;
        }
}

static void cluster_scan_tell_past(const struct cluster_scan *s, uint64_t targets, bool stalled)
{
        const struct backfill_counters *n = backfill_counted(learner_backfills(s->learner));
        const char *why = cluster_scan_refusal(s);
        struct buf line;
        if (n->targets < targets) {
                buf_init(&line, LINE_BYTES);
                (void)buf_printf(&line, "the past of %llu of %llu workloads could not be read from Prometheus%s%s",
                                 (unsigned long long)(targets - n->targets), (unsigned long long)targets,
                                 why       ? ": "
                                 : stalled ? ": no answer within a minute"
                                           : "",
                                 why ? why : "");
                cluster_scan_tell(s, &line);
        }
        if (n->doubtful) {
                buf_init(&line, LINE_BYTES);
                (void)buf_printf(&line,
                                 "%s of the past left out: they may be of containers of another cluster; "
                                 "--prometheus-matchers chooses this cluster's",
                                 NOUN_COUNT(n->doubtful, "point"));
                cluster_scan_tell(s, &line);
        }
}

static int cluster_scan_read_past(struct cluster_scan *s, struct err *err)
{
        uint64_t targets = cluster_scan_targets(s);
        bool whole = cluster_scan_backfill(s, targets);
        const char *why = cluster_scan_refusal(s);
        cluster_scan_report(s, targets);
        if (targets > 0 && backfill_counted(learner_backfills(s->learner))->targets == 0)
                return err_set(err, ERR_RETRY, "Prometheus gives no history: %s",
                               why ? why : "no answer within a minute");
        cluster_scan_tell_past(s, targets, !whole);
        return 0;
}

/* --- kills --- */

/* Count kills for lack of memory. Some get their cause from their pod's Events; wait KILLS_MS at most for those. */
static void cluster_scan_count_kills(struct cluster_scan *s)
{
        struct mono began = loop_now(s->loop).mono;
        oom_begin(s->learner);
        oom_count(s->learner);
        while (oom_asks(s->learner) && cluster_scan_since_ms(s, began) < KILLS_MS) {
                cluster_scan_turn(s);
                oom_count(s->learner);
        }
}

/* --- the scan --- */

static bool cluster_scan_measured(const struct cluster_scan *s)
{
        return learner_counts(s->learner)->samples[SAMPLE_ACCEPTED] > 0;
}

int cluster_scan_list(struct cluster_scan *s, struct err *err)
{
        int rc = scan_lists_read(&s->cache, &s->options, &s->scope, err);
        cache_relink(&s->cache, loop_now(s->loop));
        windows_settle(&s->cache, loop_now(s->loop));
        return rc;
}

int cluster_scan_measure(struct cluster_scan *s, struct err *err)
{
        int rc = cluster_scan_unselected(s) ? 0 : cluster_scan_poll_sources(s, err);
        if (rc < 0)
                return rc;
        ingest_running(s->learner);
        s->read = loop_now(s->loop);
        if (cluster_scan_unselected(s))
                return 0;
        if (!s->options.prometheus) /* memory is not judged, so neither kills nor the past are read */
                return cluster_scan_measured(s) ? 0
                                                : err_set(err, ERR_NOTFOUND,
                                                          "no pod of a workload has usage yet: metrics-server measures "
                                                          "a pod some 15 s after its start");
        if (!cluster_scan_measured(s))
                s->options.tell(s->options.arg, "no pod of a workload has usage now");
        cluster_scan_count_kills(s);
        rc = cluster_scan_read_past(s, err);
        if (rc == 0 && !cluster_scan_measured(s) && backfill_counted(learner_backfills(s->learner))->points == 0)
                return err_set(err, ERR_NOTFOUND, "Prometheus has no usage of a workload, neither now nor in the past");
        return rc;
}

bool cluster_scan_unselected(const struct cluster_scan *s)
{
        const struct target *t;
        for (size_t at = 0; (t = map_each(&s->cache.targets, &at));)
                if (t->workload && t->profile)
                        return false;
        return true;
}

void cluster_scan_decide(struct cluster_scan *s, void (*each)(void *arg, const struct plan *p), void *arg)
{
        struct target *t;
        for (size_t at = 0; (t = map_each(&s->cache.targets, &at));) {
                struct plan plan;
                if (!t->workload || !t->profile)
                        continue;
                const struct plan_facts facts = {.now = s->read,
                                                 .interval_ms = s->live.interval_ms,
                                                 .apply_never = ns_find(&s->cache, t->ns)->exempt};
                plan_judge(&s->cache, t, &facts, &s->plans, &plan);
                plan_finish(&s->cache, &facts, &s->plans, &plan);
                each(arg, &plan);
                arena_reset(&s->plans);
        }
}
