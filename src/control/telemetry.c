/*
 * The values of the metrics (metric_table.h), published after each pass.
 */
#include <stdio.h>
#include <string.h>

#include "informers.h"
#include "metric_table.h"
#include "parts.h"
#include "serving/pod_utilization.h"
#include "telemetry.h"

enum { CODE_NONE, CODE_2XX, CODE_3XX, CODE_4XX, CODE_409, CODE_429, CODE_5XX, CODES };
enum { VERBS = 8, FIRST_WRITE = 3 };

struct telemetry {
        const struct parts *parts;
        uint64_t requests[VERBS][CODES];
};

struct telemetry *telemetry_new(const struct parts *parts)
{
        struct telemetry *all = MEM_NEW(struct telemetry);
        all->parts = parts;
        return all;
}

static const char *const verbs[VERBS] = {"get", "list", "watch", "create", "update", "patch", "apply", "delete"};
static const char *const codes[CODES] = {"none", "2xx", "3xx", "4xx", "409", "429", "5xx"};

static int telemetry_code_of(int status)
{
        return status == 409   ? CODE_409
               : status == 429 ? CODE_429
               : status >= 500 ? CODE_5XX
               : status >= 400 ? CODE_4XX
               : status >= 300 ? CODE_3XX
               : status >= 200 ? CODE_2XX
                               : CODE_NONE;
}

void telemetry_observe(struct telemetry *all, const char *verb, const char *path, int status, int64_t took_ms,
                       const char *id)
{
        for (int v = 0; v < VERBS; v++)
                if (strcmp(verb, verbs[v]) == 0)
                        all->requests[v][telemetry_code_of(status)]++;
        log_debug("request", KV("id", id), KV("verb", verb), KV("path", path), KV_INT("status", status),
                  KV_INT("ms", took_ms));
}

uint64_t telemetry_writes(const struct telemetry *all)
{
        uint64_t sum = 0;
        for (int v = FIRST_WRITE; v < VERBS; v++)
                for (int k = 0; k < CODES; k++)
                        sum += all->requests[v][k];
        return sum;
}

static void telemetry_one(struct buf *out, enum metric_id id, double value)
{
        metric_family(out, &metrics[id]);
        metric_sample(out, &metrics[id], NULL, value);
}

static void telemetry_labelled(struct buf *out, enum metric_id id, const char *key, const char *value, double amount)
{
        char label[160];
        metric_sample(out, &metrics[id], metric_label(key, value, label, sizeof label), amount);
}

static void telemetry_requests(struct buf *out, const struct telemetry *all)
{
        const uint64_t(*requests)[CODES] = all->requests;
        metric_family(out, &metrics[M_REQUESTS]);
        for (int v = 0; v < VERBS; v++)
                for (int k = 0; k < CODES; k++) {
                        char labels[64];
                        if (!requests[v][k])
                                continue;
                        snprintf(labels, sizeof labels, "verb=\"%s\",code=\"%s\"", verbs[v], codes[k]);
                        metric_sample(out, &metrics[M_REQUESTS], labels, (double)requests[v][k]);
                }
}

static void telemetry_states(struct buf *out, const struct parts *p)
{
        metric_family(out, &metrics[M_TARGETS]);
        for (int s = 0; s < STATES; s++)
                telemetry_labelled(out, M_TARGETS, "state", state_name((enum state)s), (double)p->pass.by_state[s]);
}

static void telemetry_learning(struct buf *out, const struct parts *p)
{
        metric_family(out, &metrics[M_SAMPLES]);
        for (int v = 0; v < SAMPLE_VERDICTS; v++)
                telemetry_labelled(out, M_SAMPLES, "result", sample_verdict_name((enum sample_verdict)v),
                                   (double)learner_counts(p->learner)->samples[v]);
        metric_family(out, &metrics[M_HELD]);
        for (int r = 1; r < REASONS; r++)
                if (p->pass.by_reason[r])
                        telemetry_labelled(out, M_HELD, "reason", reason_name((enum reason)r),
                                           (double)p->pass.by_reason[r]);
}

static void telemetry_nodes(struct buf *out, const struct parts *p)
{
        const struct learner_counts *n = learner_counts(p->learner);
        telemetry_one(out, M_NODES, (double)p->cache.nodes.with_facts);
        telemetry_one(out, M_HOT_NODES, (double)p->pass.hot_nodes);
        metric_family(out, &metrics[M_NODE_SAMPLES]);
        for (int v = 0; v < NODE_VERDICTS; v++)
                telemetry_labelled(out, M_NODE_SAMPLES, "result", node_verdict_name((enum node_verdict)v),
                                   (double)n->nodes[v]);
        telemetry_one(out, M_NODE_SAMPLES_UNKNOWN, (double)n->unknown_nodes);
}

static void telemetry_conditions(struct buf *out, const struct parts *p)
{
        const struct condition_count *all = p->pass.by_condition;
        metric_family(out, &metrics[M_CONDITIONS]);
        for (int i = 0; i < CONDITION_COUNTS && all[i].type; i++) {
                char labels[160];
                snprintf(labels, sizeof labels, "type=\"%s\",reason=\"%s\"", all[i].type, all[i].reason);
                metric_sample(out, &metrics[M_CONDITIONS], labels, (double)all[i].count);
        }
}

static void telemetry_guards(struct buf *out, const struct parts *p)
{
        metric_family(out, &metrics[M_REVERTS]);
        for (int g = GUARD_NONE + 1; g < GUARD_CAUSES; g++)
                telemetry_labelled(out, M_REVERTS, "cause", guard_cause_name((enum guard_cause)g),
                                   (double)safety_counts(p->safety)->guards[g]);
}

static void telemetry_seconds(struct buf *out, enum metric_id id, const struct metric_seconds *s)
{
        metric_family(out, &metrics[id]);
        metric_seconds_sample(out, &metrics[id], NULL, s);
}

static double histories_of(const struct parts *p)
{
        double count = 0;
        const struct target *t;
        for (size_t at = 0; (t = map_each(&p->cache.targets, &at));)
                for (const struct history *h = t->histories; h; h = h->next)
                        count++;
        return count;
}

/* Write how many HTTP requests a listener answered, by the first digit of the HTTP status. */
static void telemetry_answers(struct buf *out, enum metric_id m, const uint64_t answers[static 6])
{
        metric_family(out, &metrics[m]);
        for (int digit = 2; digit < 6; digit++)
                telemetry_labelled(out, m, "code", (const char *const[]){"2xx", "3xx", "4xx", "5xx"}[digit - 2],
                                   (double)answers[digit]);
}

static void telemetry_endpoint(struct buf *out, const struct parts *p)
{
        const struct server_counts n = server_counts(p->server);
        telemetry_answers(out, M_HTTP_ANSWERS, n.answers);
        telemetry_one(out, M_HTTP_SHED, (double)n.shed);
        telemetry_one(out, M_HTTP_TIMEOUTS, (double)n.late);
        telemetry_one(out, M_HTTP_ASTRAY, (double)n.astray);
        telemetry_one(out, M_AUTH_REVIEWS, (double)n.reviews);
        telemetry_one(out, M_HTTP_CONNECTIONS, (double)n.connections);
        metric_family(out, &metrics[M_ADMISSIONS]);
        for (int r = 0; r < ADMISSION_RESULTS; r++)
                telemetry_labelled(out, M_ADMISSIONS, "result", admission_result_name((enum admission_result)r),
                                   (double)loop_calls_admitted(p->calls, (enum admission_result)r));
        metric_family(out, &metrics[M_OWNER_LOOKUPS]);
        for (int r = 0; r < OWNER_LOOKUP_RESULTS; r++)
                telemetry_labelled(out, M_OWNER_LOOKUPS, "result",
                                   owner_lookup_result_name((enum owner_lookup_result)r),
                                   (double)loop_calls_owner_lookups(p->calls, (enum owner_lookup_result)r));
}

static void telemetry_backfilled(struct buf *out, const struct backfill *b)
{
        const struct backfill_counters *n = backfill_counted(b);
        telemetry_one(out, M_BACKFILL_BUSY, backfill_busy(b));
        telemetry_one(out, M_BACKFILL_SLICES, (double)n->slices);
        telemetry_one(out, M_BACKFILL_FAILURES, (double)n->failures);
        telemetry_one(out, M_BACKFILL_POINTS, (double)n->points);
        telemetry_one(out, M_BACKFILL_UNMATCHED, (double)n->strangers);
        telemetry_one(out, M_BACKFILL_TARGETS, (double)n->targets);
}

/* --- the ledger --- */

struct ledger_samples {
        struct buf *out;
        enum resource resource;
        enum metric_id id;
};

static void telemetry_ledger_of(void *arg, const char *ns, const struct ledger_sum *sum)
{
        static const char *const of[] = {
                [LEDGER_ASKED] = "asked", [LEDGER_IN_FORCE] = "in_force", [LEDGER_USED] = "used"};
        const struct ledger_samples *to = arg;
        for (enum ledger_flow f = LEDGER_ASKED; f <= LEDGER_USED; f++) {
                char labels[LEDGER_NAME_MAX + 64];
                snprintf(labels, sizeof labels, "namespace=\"%s\",of=\"%s\"", ns, of[f]);
                metric_sample(to->out, &metrics[to->id], labels, ledger_sum_seconds(sum, f, to->resource));
        }
}

static void telemetry_ledger(struct buf *out, const struct parts *p)
{
        static const enum metric_id id[RESOURCES] = {[CPU] = M_LEDGER_CPU, [MEMORY] = M_LEDGER_MEMORY};
        for (enum resource r = CPU; r < RESOURCES; r++) {
                metric_family(out, &metrics[id[r]]);
                ledger_totals(bookkeeping_ledger(p->books), telemetry_ledger_of,
                              &(struct ledger_samples){out, r, id[r]});
        }
}

/* Write the metrics that a replica does not have. */
static void write_learner(struct buf *out, const struct parts *p)
{
        const struct checkpointer_state stored = checkpointer_state(p->checkpointer);
        telemetry_learning(out, p);
        telemetry_conditions(out, p);
        telemetry_nodes(out, p);
        telemetry_seconds(out, M_CYCLE_SECONDS, &p->pass.cycle_seconds);
        telemetry_seconds(out, M_CHECKPOINT_SECONDS, stored.seconds);
        telemetry_one(out, M_UNKNOWN, (double)learner_counts(p->learner)->unknown_pods);
        telemetry_one(out, M_UNREAD, (double)learner_counts(p->learner)->unread_items);
        telemetry_one(out, M_ODD_CONTAINERS, (double)learner_counts(p->learner)->odd_containers);
        telemetry_one(out, M_CYCLES, (double)p->pass.cycles);
        telemetry_one(out, M_POLLS_FAILED, (double)learner_counts(p->learner)->polls_failed);
        telemetry_one(out, M_SOURCE_UP, !notice_usage_source(p->notices)->away);
        if (learner_backfills(p->learner))
                telemetry_backfilled(out, learner_backfills(p->learner));
        telemetry_one(out, M_SAVED_CPU, (double)p->pass.in_force[CPU] / 1e3);
        telemetry_one(out, M_SAVED_MEMORY, (double)p->pass.in_force[MEMORY]);
        telemetry_ledger(out, p);
        telemetry_one(out, M_KILLS, (double)learner_counts(p->learner)->kills);
        telemetry_one(out, M_KILLS_NOT_BELIEVED, (double)learner_counts(p->learner)->kills_not_believed);
        telemetry_one(out, M_APPLIED, (double)applier_counts(p->applier)->applied);
        telemetry_one(out, M_RETUNED, (double)applier_counts(p->applier)->retuned);
        telemetry_one(out, M_RESIZES, (double)applier_counts(p->applier)->resizes);
        telemetry_one(out, M_RESIZES_REFUSED, (double)applier_counts(p->applier)->resizes_refused);
        telemetry_one(out, M_RAISES, (double)applier_counts(p->applier)->raises);
        telemetry_one(out, M_CONFLICTS, (double)safety_counts(p->safety)->conflicts);
        telemetry_guards(out, p);
        telemetry_one(out, M_CHECKPOINT_BYTES, (double)stored.file_bytes);
        telemetry_one(out, M_CHECKPOINT_ERRORS, (double)stored.errors);
        telemetry_one(out, M_FUSE_BLOWN, fuse_blown(p->safety) != NULL);
        telemetry_one(out, M_PROFILE_FUSES, (double)fuse_profiles_blown(p->safety));
        telemetry_one(out, M_DATABASE_UP, stored.writes);
        telemetry_one(out, M_PODS, (double)p->cache.pods.count);
        telemetry_one(out, M_GONE_TARGETS, (double)p->pass.gone_targets);
        telemetry_one(out, M_GONE_DISPLACED, (double)stored.displaced);
        telemetry_one(out, M_HISTORIES, histories_of(p));
        telemetry_one(out, M_WRITE_QUEUE, (double)work_waiting(p->applier));
        telemetry_one(out, M_LEADER, leads(p->leadership));
        telemetry_one(out, M_KINDS_UNPLACED, (double)watched_kinds_unplaced(&p->cache));
        telemetry_one(out, M_EVENTS_DROPPED, (double)notice_events_dropped(p->notices));
}

static void telemetry_utilizations(struct buf *out, const struct snapshot *v)
{
        utilization_write(out, &metrics[M_POD_CPU], v, CPU);
        utilization_write(out, &metrics[M_POD_MEMORY], v, MEMORY);
        telemetry_one(out, M_PODS_LEFT_OUT, (double)utilization_left_out(v));
}

static void telemetry_listeners(struct buf *out, const struct parts *p)
{
        uint64_t answers[6];
        if (p->options.custom_listen) {
                custom_metrics_server_counts(p->custom_metrics_server, answers);
                telemetry_answers(out, M_CUSTOM_ANSWERS, answers);
        }
        if (p->options.watcher_listen) {
                load_listener_counts(p->load_listener, answers);
                telemetry_answers(out, M_WATCHER_ANSWERS, answers);
        }
}

static void telemetry_write_all(struct buf *out, const struct parts *p, const struct snapshot *v)
{
        if (!p->options.replica) {
                write_learner(out, p);
                telemetry_utilizations(out, v);
        }
        telemetry_states(out, p);
        telemetry_requests(out, p->telemetry);
        telemetry_one(out, M_UNREAD_OBJECTS, (double)informers_unread(p->informers));
        telemetry_one(out, M_SAVING_CPU, (double)p->pass.saving[CPU] / 1e3);
        telemetry_one(out, M_SAVING_MEMORY, (double)p->pass.saving[MEMORY]);
        telemetry_one(out, M_WATCHES_FAILING, notice_failing_watches(p->notices));
        if (p->options.serve_listen)
                telemetry_endpoint(out, p);
        telemetry_listeners(out, p);
        if (p->certificate)
                telemetry_one(out, M_CERTIFICATE, (double)certificate_reader_expires_s(p->certificate));
        telemetry_one(out, M_MEMORY, (double)mem_resident());
}

void telemetry_publish(struct telemetry *all)
{
        const struct parts *p = all->parts;
        enum { TEXT_MAX = 8 << 20 };
        if (!p->server)
                return;
        char waiting[256];
        struct buf out;
        struct snapshot *v = snapshot_end(p->snapshots);
        buf_init(&out, TEXT_MAX);
        telemetry_write_all(&out, p, v);
        v->metrics_len = out.len;
        v->metrics = arena_text(&v->arena, buf_text(&out));
        buf_release(&out);
        v->ready = p->pass.synced && (!p->certificate || certificate_reader_expires_s(p->certificate) > 0);
        if (!v->ready) {
                if (informers_synced(p->informers, waiting, sizeof waiting))
                        snprintf(waiting, sizeof waiting, "%s", p->pass.synced ? "a certificate" : "the first cycle");
                v->waiting_for = arena_text(&v->arena, text_of(waiting));
        }
        server_publish(p->server, v);
}

void telemetry_print_markdown(FILE *to)
{
        static const char *const type[] = {"counter", "gauge", "histogram"};
        fprintf(to, "| metric | type | what |\n|---|---|---|\n");
        for (int i = 0; i < METRICS; i++)
                fprintf(to, "| `%s` | %s | %s |\n", metrics[i].name, type[metrics[i].type], metrics[i].help);
}
