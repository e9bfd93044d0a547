#include "stand.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/kind.h"
#include "wire.h"

/* --- what control would do --- */

static enum server_verdict verdict_on(const struct server_question *q)
{
        const char *token = q->token;
        bool of_nodes = strcmp(q->resource, "nodes") == 0;
        if (strcmp(token, "nodes") == 0) /* may list nodes, and recommendations of namespace shop */
                return of_nodes || strcmp(q->ns, "shop") == 0 ? SERVER_ALLOWS : SERVER_FORBIDS;
        if (strcmp(token, "shop") == 0) /* may do all with recommendations */
                return of_nodes ? SERVER_FORBIDS : SERVER_ALLOWS;
        if (strcmp(token, "narrow") == 0)
                return strcmp(q->name, "deployment-web-0") == 0 ? SERVER_ALLOWS : SERVER_FORBIDS;
        return strcmp(token, "good") == 0 || strcmp(token, "other") == 0 ? SERVER_ALLOWS
               : strcmp(token, "poor") == 0                              ? SERVER_FORBIDS
               : strcmp(token, "lost") == 0                              ? SERVER_CANNOT_TELL
                                                                         : SERVER_KNOWS_NOT;
}

static void on_review(void *arg, const struct server_question *q)
{
        struct stand *s = arg;
        pthread_mutex_lock(&s->lock);
        s->asked++;
        bool held = s->hold && s->holds < STAND_HELD_MAX;
        if (held) {
                s->held[s->holds] = q->key;
                s->verdict[s->holds++] = verdict_on(q);
        }
        pthread_mutex_unlock(&s->lock);
        if (!held)
                server_reviewed(s->server, &q->key, verdict_on(q));
}

static void on_withdraw(void *arg, const struct auth_key *k)
{
        struct stand *s = arg;
        (void)k;
        pthread_mutex_lock(&s->lock);
        s->withdrawn++;
        pthread_mutex_unlock(&s->lock);
}

static void on_recall(void *arg, const struct server_usage_request *w)
{
        struct stand *s = arg;
        pthread_mutex_lock(&s->lock);
        bool answer = !s->no_answer && !s->late;
        s->ticket = w->ticket;
        s->recalled++;
        pthread_mutex_unlock(&s->lock);
        if (answer)
                server_recalled(s->server, w->ticket, NULL, 0);
}

/* One node, on which two workloads use more than they ask for. */
static void on_list_nodes(void *arg, uint64_t ticket)
{
        static const struct node_row_workload web = {"shop", "Deployment", "web-0", {100, 100}, {900, 900}},
                                              db = {"bank", "StatefulSet", "db", {100, 100}, {800, 800}};
        struct stand *s = arg;
        struct node_table *t = node_table_new(1);
        t->at = (struct wall){1700000000000};
        t->hot_percent = 80;
        t->row[t->rows++] = (struct node_row){.name = "n-1",
                                              .labels = "",
                                              .taints = "",
                                              .capacity = {1000, 1000},
                                              .workloads = 2,
                                              .workload = {web, db}};
        server_listed_nodes(s->server, ticket, t);
}

static void on_try_percentiles(void *arg, uint64_t ticket)
{
        struct stand *s = arg;
        server_tried_percentiles(s->server, ticket, s->percentiles ? percentile_table_hold(s->percentiles) : NULL);
}

/* One pod of shop ran for a second, and one of bank. */
static void on_read_ledger(void *arg, uint64_t ticket, const struct ledger_ask *ask)
{
        static const struct ledger_sum second = {.pod_ms = 1000};
        struct stand *s = arg;
        struct ledger_report *r = ledger_report_new(ask, 1700000000000);
        if (ask->axis == LEDGER_NAMESPACE) {
                ledger_report_add(r, r->from_ms, TEXT("shop"), &second);
                ledger_report_add(r, r->from_ms, TEXT("bank"), &second);
        }
        server_reported(s->server, ticket, ask->axis == LEDGER_PROFILE ? NULL : r);
        if (ask->axis == LEDGER_PROFILE)
                ledger_report_free(r);
}

static void on_find_owner(void *arg, const struct server_owner_lookup *k)
{
        struct stand *s = arg;
        pthread_mutex_lock(&s->lock);
        bool answer = !s->no_answer;
        s->owners++;
        pthread_mutex_unlock(&s->lock);
        if (!answer)
                return;
        struct admission_owner *o = MEM_NEW(struct admission_owner);
        *o = (struct admission_owner){.group = TEXT("apps"), .kind = TEXT("Deployment"), .name = TEXT("web-0")};
        server_found_owner(s->server, k->ticket, o);
}

static void on_admitted(void *arg, enum admission_result r)
{
        struct stand *s = arg;
        pthread_mutex_lock(&s->lock);
        s->admitted[r]++;
        uint64_t ticket = s->late ? s->ticket : 0;
        pthread_mutex_unlock(&s->lock);
        if (ticket)
                server_recalled(s->server, ticket, NULL, 0);
}

static void on_trouble(void *arg, const struct err *why)
{
        struct stand *s = arg;
        pthread_mutex_lock(&s->lock);
        s->troubles++;
        memcpy(s->trouble, why->text, sizeof s->trouble);
        pthread_mutex_unlock(&s->lock);
}

static void on_renewed(void *arg, const char *file)
{
        struct stand *s = arg;
        (void)file;
        pthread_mutex_lock(&s->lock);
        s->renewals++;
        pthread_mutex_unlock(&s->lock);
}

/* --- from begin to end --- */

void stand_begin(struct stand *s, const struct rest_listener_options *o)
{
        struct server_options all = {.interval_ms = SECOND_MS, .rest = *o};
        struct err err = {0};
        *s = (struct stand){0};
        pthread_mutex_init(&s->lock, NULL);
        if (!all.rest.request_ms)
                all.rest.request_ms = WIRE_PATIENCE_MS;
        if (!all.rest.listen)
                all.rest.listen = "127.0.0.1:0";
        all.rest.calls = (struct server_calls){.review = on_review,
                                               .withdraw = on_withdraw,
                                               .recall = o->calls.relay ? NULL : on_recall,
                                               .list_nodes = o->calls.relay ? NULL : on_list_nodes,
                                               .try_percentiles = o->calls.relay ? NULL : on_try_percentiles,
                                               .read_ledger = o->calls.relay ? NULL : on_read_ledger,
                                               .relay = o->calls.relay,
                                               .find_owner = on_find_owner,
                                               .admitted = on_admitted,
                                               .trouble = on_trouble,
                                               .renewed = on_renewed,
                                               .arg = s};
        if (server_start(&all, &s->server, &err) < 0) {
                fprintf(stderr, "%s\n", err.text);
                abort();
        }
        s->address = server_rest_address(s->server);
        stand_publish(s, 3, NULL);
}

void stand_end(struct stand *s)
{
        server_stop(s->server);
        percentile_table_drop(s->percentiles);
        pthread_mutex_destroy(&s->lock);
}

static void stand_drop_changes(void *p)
{
        change_table_drop(p);
}

/* What the halflife that learns has beside the snapshot of its targets. */
static void stand_learn(struct stand *s, struct snapshot *v, struct snapshot_target *t, int workloads)
{
        static struct profile_spec spec;
        struct snapshot_profile *profile = arena_new(&v->arena, sizeof *profile);
        for (enum resource r = CPU; r < RESOURCES; r++)
                resource_policy_defaults(r, &spec.of[r]);
        apply_policy_defaults(APPLY_ROLLOUT, &spec.apply);
        *profile = (struct snapshot_profile){.name = "pool", .spec = &spec};
        snapshot_add_profile(v, profile);
        percentile_table_drop(s->percentiles);
        s->percentiles = percentile_table_new();
        v->changes = change_table_new((size_t)workloads);
        snapshot_keep(v, v->changes, stand_drop_changes);
        for (int i = 0; i < workloads; i++) {
                struct percentile_row *row = percentile_table_add(s->percentiles, "shop", t[i].recommendation, "app");
                for (int p = 0; row && p < TRIED; p++)
                        row->at[CPU][p] = 0.1 + 0.1 * p;
                t[i].profile = profile;
                t[i].replicas = 3;
                change_table_add(v->changes, &(struct change){.id = i + 1,
                                                              .at_ms = 1700000000000,
                                                              .ns = "shop",
                                                              .group = "apps",
                                                              .object_kind = "Deployment",
                                                              .name = t[i].name,
                                                              .mode = "Rollout",
                                                              .container = "app",
                                                              .from = 2000,
                                                              .to = 440,
                                                              .by = "halflife",
                                                              .reason = "Lowered",
                                                              .words = ""});
        }
}

void stand_publish(struct stand *s, int workloads, const char *source_error)
{
        static const struct status_container app = {.name = "app",
                                                    .state = STATE_READY,
                                                    .of = {{.original = 2000,
                                                            .current = 2000,
                                                            .model = 400,
                                                            .target = 440,
                                                            .lower = 380,
                                                            .upper = 610,
                                                            .applied = -1,
                                                            .learned = true},
                                                           {.original = -1,
                                                            .current = -1,
                                                            .model = -1,
                                                            .target = -1,
                                                            .lower = -1,
                                                            .upper = -1,
                                                            .applied = -1}}};
        static const struct snapshot_ns shop = {.name = "shop", .labels = ""};
        struct snapshot *v = snapshot_new();
        struct snapshot_target *t = arena_new(&v->arena, (size_t)workloads * sizeof *t);
        for (int i = 0; i < workloads; i++) {
                char name[32], key[KIND_NAME_MAX];
                snprintf(name, sizeof name, "web-%d", i);
                kind_recommendation_name(TEXT("apps"), TEXT("Deployment"), text_of(name), key);
                t[i] = (struct snapshot_target){.ns = "shop",
                                                .group = "apps",
                                                .version = "v1",
                                                .kind = "Deployment",
                                                .name = arena_text(&v->arena, text_of(name)),
                                                .recommendation = arena_text(&v->arena, text_of(key)),
                                                .labels = "",
                                                .state = STATE_READY,
                                                .containers = 1,
                                                .container = &app};
                snapshot_add_target(v, &t[i]);
        }
        if (s->learned)
                stand_learn(s, v, t, workloads);
        snapshot_add_ns(v, &shop);
        v->ready = true;
        v->at = now_read().wall;
        if (source_error) {
                v->source_error = arena_text(&v->arena, text_of(source_error));
                v->source_since_ms = v->at.ms - 90 * SECOND_MS;
        }
        snapshot_finish(v);
        server_publish(s->server, v);
}

void stand_release(struct stand *s)
{
        pthread_mutex_lock(&s->lock);
        int holds = s->holds;
        s->hold = false;
        s->holds = 0;
        pthread_mutex_unlock(&s->lock);
        for (int i = 0; i < holds; i++)
                server_reviewed(s->server, &s->held[i], s->verdict[i]);
}

int stand_asked(struct stand *s)
{
        pthread_mutex_lock(&s->lock);
        int asked = s->asked;
        pthread_mutex_unlock(&s->lock);
        return asked;
}

struct got stand_ask(const struct stand *s, const char *path, struct fetch f)
{
        AUTO(mem_free) char *url = mem_printf("http://%s%s", s->address, path);
        f.url = url;
        return fetch(&f);
}

bool stand_until(struct stand *s, bool (*holds)(struct stand *s), int64_t timeout_ms)
{
        int64_t end_ns = mono_read().ns + timeout_ms * 1000000;
        while (!holds(s)) {
                if (mono_read().ns >= end_ns)
                        return false;
                (void)poll(NULL, 0, 2);
        }
        return true;
}
