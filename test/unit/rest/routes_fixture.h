/*
 * A small cluster to ask about, and a way to ask.
 *
 *   shop   Deployment web (app, init setup), Deployment api (app, proxy), Widget.example.com gizmo,
 *          StatefulSet.apps.kruise.io cart (applied), Deployment old (gone)
 *   bank   StatefulSet db (held by a person)
 */
#ifndef HALFLIFE_TEST_UNIT_REST_ROUTES_FIXTURE_H
#define HALFLIFE_TEST_UNIT_REST_ROUTES_FIXTURE_H

#include <string.h>

#include "core/gates.h"
#include "core/kind.h"
#include "rest/routes.h"

#define MI INT64_C(1048576)

enum { FIXTURE_COPIES = 2 };
struct fixture {
        struct profile_spec spec;
        struct snapshot_profile profile;
        struct snapshot_ns ns;
        struct snapshot *view;
        struct learned_copy learned[FIXTURE_COPIES];
        size_t copies;
        bool no_learner;
        const char *prices; /* of reports; NULL: none */
        struct node_table *nodes;
        struct percentile_table *percentiles; /* of containers app */
        bool names;                           /* the caller may list recommendations */
        struct arena arena;
        struct wall at; /* of requests */
        struct route route;
        struct answer got;
        bool matched;
};

static inline struct status_numbers fixture_numbers(int64_t original, int64_t model, int64_t target)
{
        return (struct status_numbers){.original = original,
                                       .current = original,
                                       .model = model,
                                       .target = target,
                                       .lower = model,
                                       .upper = model < 0 ? -1 : 2 * model,
                                       .applied = -1,
                                       .reason = target < original ? REASON_LOWERED : REASON_AT_ORIGINAL,
                                       .gate = target < original ? GATE_NONE : GATE_RULE,
                                       .learned = target < original};
}

static inline struct status_container *fixture_containers(struct snapshot *v, int n)
{
        static const char *const names[] = {"app", "proxy"};
        struct status_container *c = (struct status_container *)arena_new(&v->arena, (size_t)n * sizeof *c);
        for (int i = 0; i < n; i++) {
                c[i] = (struct status_container){.name = names[i], .state = STATE_READY};
                c[i].of[CPU] = fixture_numbers(2000, 412, 454);
                c[i].of[MEMORY] = fixture_numbers(4096 * MI, 812 * MI, 4096 * MI);
                c[i].of[MEMORY].reason = REASON_MEMORY_OFF;
        }
        return c;
}

/* That container was killed at its limit, and is throttled. */
static inline const struct status_limits *fixture_limits(struct snapshot *v, int container)
{
        struct status_limits *l = status_limits_new(&v->arena, 2);
        l->rows = 2;
        l->row[1] = (struct status_limit){.container = (uint8_t)container,
                                          .resource = CPU,
                                          .reason = LIMIT_THROTTLED,
                                          .percent = 30,
                                          .current = 1000,
                                          .advised = 1300,
                                          .needed = -1};
        l->row[0] = (struct status_limit){.container = (uint8_t)container,
                                          .resource = MEMORY,
                                          .reason = LIMIT_KILLED,
                                          .current = 500 * MI,
                                          .advised = 690 * MI,
                                          .needed = 600 * MI,
                                          .at_ms = 1699500000000};
        return l;
}

static inline struct snapshot_target *fixture_target(struct fixture *f, const char *ns, const char *group,
                                                     const char *kind, const char *name, struct status_container *c,
                                                     int containers)
{
        static const struct snapshot_condition condition[] = {{"Ready", "Ready", true},
                                                              {"Applied", "RecommendOnly", false}};
        struct snapshot *v = f->view;
        struct snapshot_target *t = (struct snapshot_target *)arena_new(&v->arena, sizeof *t);
        char key[KIND_NAME_MAX];
        struct label_pair label[] = {{TEXT("app"), text_of(name)},
                                     {TEXT("team.example.com/tier"), TEXT("front \"x\"")}};
        kind_recommendation_name(text_of(group), text_of(kind), text_of(name), key);
        *t = (struct snapshot_target){
                .ns = ns,
                .group = group,
                .version = "v1",
                .kind = kind,
                .name = name,
                .recommendation = arena_text(&v->arena, text_of(key)),
                .state = STATE_READY,
                .profile = &f->profile,
                .replicas = 3,
                .saving = {1546 * 3, 0},
                .samples = 86400,
                .since_ms = 1699000000000,
                .last_ms = 1700000000000,
                .confidence_percent = 87,
                .container = c,
                .containers = (uint8_t)containers,
                .condition = condition,
                .conditions = 2,
        };
        t->labels = snapshot_labels(v, label, 2, &t->labels_size);
        snapshot_add_target(v, t);
        return t;
}

static inline void fixture_learn(struct fixture *f)
{
        for (int i = 0; i < FIXTURE_COPIES; i++) {
                struct learned_copy *c = &f->learned[i];
                struct sample_watermark watermark = {0};
                c->container = i ? "proxy" : "app";
                c->source[0] = 0x0123456789abcdef;
                c->sources = 1;
                usage_init(&c->usage, f->spec.of);
                for (int r = 0; r < RESOURCES; r++)
                        histogram_lend(&c->usage.of[r], c->room + r * HISTOGRAM_SUM_BUCKETS, HISTOGRAM_SUM_BUCKETS);
                for (int k = 0; k < 100; k++) {
                        struct sample s = {.at = {1700000000000 - (100 - k) * MINUTE_MS},
                                           .has = {true, true},
                                           .value = {k < 80 ? 0.1 : 0.4, 5e8 + 3e6 * k},
                                           .cpu_weight = 2};
                        enum sample_verdict verdict;
                        struct usage_room room;
                        usage_add(&c->usage, &watermark, &s, s.at, &verdict, &room);
                }
        }
        f->copies = FIXTURE_COPIES;
}

/* A node under pressure with two workloads above their requests, and a silent one. */
static inline void fixture_nodes(struct fixture *f)
{
        static const struct node_row_workload web = {"shop", "Deployment", "web", {500, 64 * MI}, {1500, 32 * MI}},
                                              db = {"bank", "StatefulSet", "db", {500, 64 * MI}, {600, 96 * MI}};
        struct node_table *t = f->nodes = node_table_new(2);
        t->at = (struct wall){1700000000000};
        t->hot_percent = 80;
        t->row[0] = (struct node_row){.name = "silent", .labels = "pool\0b", .labels_size = 7, .taints = ""};
        t->row[1] = (struct node_row){.name = "n-1",
                                      .labels = "pool\0a",
                                      .labels_size = 7,
                                      .ready = true,
                                      .unschedulable = true,
                                      .taints = "gpu=a:NoSchedule,b:NoExecute",
                                      .capacity = {4000, 16384 * MI},
                                      .allocatable = {3900, 15360 * MI},
                                      .original = {5000, 4096 * MI},
                                      .requested = {3000, 2048 * MI},
                                      .pods_used = {2100, 128 * MI},
                                      .pods = 3,
                                      .measured = 2,
                                      .load = {.samples = 15,
                                               .at_ms = 1699999980000,
                                               .used = {3600, 8192 * MI},
                                               .latest = {900, 500},
                                               .mean = {831, 500},
                                               .most = {950, 505}},
                                      .above = {12, 0},
                                      .hot_since_ms = {1699999000000, 0},
                                      .workloads = 2,
                                      .workload = {web, db}};
        t->rows = 2;
        node_table_sort(t);
}

static inline void fixture_drop_changes(void *p)
{
        change_table_drop(p);
}

/* Of each container app: 0.1 to 0.7 cores, and 500 Mi whatever the percentile. */
static inline void fixture_percentiles(struct fixture *f)
{
        f->percentiles = percentile_table_new();
        for (size_t i = 0; i < f->view->targets; i++) {
                const struct snapshot_target *t = f->view->target[f->view->targets - 1 - i]; /* in any order */
                struct percentile_row *row = percentile_table_add(f->percentiles, t->ns, t->recommendation, "app");
                for (int p = 0; p < TRIED; p++) {
                        row->at[CPU][p] = 0.1 * (p + 1);
                        row->at[MEMORY][p] = (double)(500 * MI);
                }
        }
}

/* Of web a template changed, then taken back; of db somebody set the request again. */
static inline void fixture_changes(struct snapshot *v)
{
        const struct change web = {.id = 1,
                                   .at_ms = 1699990000000,
                                   .kind = CHANGE_APPLIED,
                                   .ns = "shop",
                                   .group = "apps",
                                   .object_kind = "Deployment",
                                   .name = "web",
                                   .mode = "Rollout",
                                   .container = "app",
                                   .resource = CPU,
                                   .from = 2000,
                                   .to = 454,
                                   .by = "halflife",
                                   .reason = "Lowered",
                                   .words = ""};
        struct change memory = web, guarded = web, contested = web;
        v->changes = change_table_new(4);
        change_table_add(v->changes, &web);
        memory.id = 2;
        memory.resource = MEMORY;
        memory.from = -1;
        memory.to = 812 * MI;
        change_table_add(v->changes, &memory);
        guarded.id = 3;
        guarded.at_ms += HOUR_MS;
        guarded.kind = CHANGE_GUARDED;
        guarded.container = "";
        guarded.reason = "Restarts";
        guarded.words = "=its \"containers\" restarted";
        change_table_add(v->changes, &guarded);
        contested.id = 4;
        contested.at_ms += 2 * HOUR_MS;
        contested.kind = CHANGE_CONTESTED;
        contested.ns = "bank";
        contested.object_kind = "StatefulSet";
        contested.name = "db";
        contested.container = contested.mode = contested.by = "";
        change_table_add(v->changes, &contested);
        snapshot_keep(v, v->changes, fixture_drop_changes);
}

static inline void fixture_init(struct fixture *f)
{
        memset(f, 0, sizeof *f);
        resource_policy_defaults(CPU, &f->spec.of[CPU]);
        resource_policy_defaults(MEMORY, &f->spec.of[MEMORY]);
        apply_policy_defaults(APPLY_ON_DEPLOY, &f->spec.apply);
        f->spec.apply.overcommit = OVERCOMMIT_STATIC_THEN_DYNAMIC;
        f->spec.of[CPU].static_factor = 500;
        f->profile = (struct snapshot_profile){.name = "pool", .spec = &f->spec};
        f->ns = (struct snapshot_ns){.name = "shop", .labels = ""};
        struct snapshot *v = f->view = snapshot_new();
        v->at = (struct wall){1700000060000};
        snapshot_add_profile(v, &f->profile);
        snapshot_add_ns(v, &f->ns);
        struct status_container *web = fixture_containers(v, 2);
        web[1].name = "setup";
        web[1].role = ROLE_INIT;
        web[1].of[CPU] = fixture_numbers(100, -1, 100);
        web[1].of[CPU].lower = -1;
        fixture_target(f, "shop", "apps", "Deployment", "web", web, 2);
        fixture_target(f, "shop", "apps", "Deployment", "api", fixture_containers(v, 2), 2)->limits =
                fixture_limits(v, 1);
        fixture_target(f, "shop", "example.com", "Widget", "gizmo", fixture_containers(v, 1), 1);
        struct status_container *cart = fixture_containers(v, 1);
        cart->of[CPU].applied = cart->of[CPU].current = 454;
        fixture_target(f, "shop", "apps.kruise.io", "StatefulSet", "cart", cart, 1)->applied_ms = 1699500000000;
        struct snapshot_target *db =
                fixture_target(f, "bank", "apps", "StatefulSet", "db", fixture_containers(v, 1), 1);
        db->state = STATE_HELD;
        db->hold = "a sale";
        struct snapshot_target *old =
                fixture_target(f, "shop", "apps", "Deployment", "old", fixture_containers(v, 1), 1);
        old->profile = NULL;
        old->state = STATE_STALE;
        old->conditions = 0;
        fixture_learn(f);
        fixture_nodes(f);
        fixture_changes(v);
        snapshot_finish(v);
        fixture_percentiles(f);
}

static inline void fixture_release(struct fixture *f)
{
        node_table_drop(f->nodes);
        percentile_table_drop(f->percentiles);
        buf_release(&f->got.body);
        snapshot_drop(f->view);
        arena_release(&f->arena);
}

/* Of the twenty days, or hours, up to noon of day 20000: of shop 2 cores asked, 1 in force and 500 m used in each, of
 * bank half of that, and four cores of nodes. In the last one 360 s were not booked. */
static inline struct ledger_report *fixture_report(const struct ledger_ask *ask)
{
        static const char *const names[][2] = {
                [LEDGER_NAMESPACE] = {"shop", "bank"},
                [LEDGER_PROFILE] = {"pool", ""},
                [LEDGER_POOL] = {"spot", "spot"},
                [LEDGER_WORKLOAD] = {"shop/apps/Deployment/web", "bank/apps/StatefulSet/db"},
                [LEDGER_LABEL] = {"team=pay", ""}};
        enum { PERIODS = 20 };
        int64_t now_ms = INT64_C(20000) * DAY_MS + INT64_C(12) * HOUR_MS;
        struct ledger_report *r = ledger_report_new(ask, now_ms);
        for (int i = 0; i < PERIODS; i++) {
                int64_t ms = i ? ledger_span_ms(ask->span) : INT64_C(43200000),
                        start_ms = ledger_span_start(ask->span, now_ms) - i * ledger_span_ms(ask->span);
                struct ledger_sum shop = {.events = {1}, .unbooked_ms = i ? 0 : 360000}, bank = {0}, nodes = {0};
                ledger_sum_flow(&shop,
                                &(struct ledger_rates){2, {{2000, 4096 * MI}, {1000, 2048 * MI}, {500, 512 * MI}}}, ms);
                ledger_sum_flow(&bank,
                                &(struct ledger_rates){1, {{1000, 2048 * MI}, {500, 1024 * MI}, {250, 256 * MI}}}, ms);
                ledger_sum_flow(&nodes, &(struct ledger_rates){0, {[LEDGER_ALLOCATABLE] = {4000, 16384 * MI}}}, ms);
                ledger_report_add(r, start_ms, text_of(names[ask->axis][0]), &shop);
                ledger_report_add(r, start_ms, text_of(names[ask->axis][1]), &bank);
                ledger_report_add(r, start_ms, text_of(ask->axis == LEDGER_POOL ? "spot" : ""), &nodes);
        }
        r->workloads = 5;
        r->managed = 3;
        return r;
}

/* As the loop adds them. */
static inline void fixture_add_prices(struct ledger_report *r, const char *text)
{
        struct ledger_ask pools = {.axis = LEDGER_POOL, .span = r->ask.span, .since_ms = r->ask.since_ms};
        struct prices prices;
        struct err err;
        if (prices_parse(text, &prices, &err) < 0)
                return;
        r->prices = prices_copy(&prices);
        prices_release(&prices);
        if (!r->ask.ns[0] && r->ask.axis != LEDGER_POOL && !prices_only(r->prices))
                r->pools = fixture_report(&pools);
}

static inline void fixture_answer_report(struct fixture *f, const struct request *r)
{
        struct ledger_report *report = f->no_learner ? NULL : fixture_report(f->route.ledger);
        if (report)
                strcpy(report->label, "team");
        if (report && f->prices)
                fixture_add_prices(report, f->prices);
        if (f->route.name == ROUTE_DAYS)
                route_days(&f->route, r, f->view, report, &f->arena, &f->got);
        else
                route_report(&f->route, r, f->view, report, &f->arena, &f->got);
        ledger_report_free(report);
}

/* Ask, and answer, but not for render. */
static inline void fixture_request(struct fixture *f, const struct request *r)
{
        buf_release(&f->got.body);
        f->got = (struct answer){0};
        arena_reset(&f->arena);
        f->matched = route_match(r, f->view, &f->arena, &f->route, &f->got) == 0;
        if (f->matched && f->route.name == ROUTE_NODES)
                route_nodes(&f->route, r, f->view, f->no_learner ? NULL : f->nodes, f->names, &f->arena, &f->got);
        else if (f->matched && f->route.name == ROUTE_WHAT_IF)
                route_what_if(&f->route, r, f->view, f->no_learner ? NULL : f->percentiles, &f->arena, &f->got);
        else if (f->matched && f->route.ledger)
                fixture_answer_report(f, r);
        else if (f->matched && f->route.name != ROUTE_RENDER)
                route_answer(&f->route, r, f->view, f->no_learner ? NULL : f->learned, f->copies, &f->arena, &f->got);
}

/* method and "path?query" */
static inline const char *fixture_ask(struct fixture *f, const char *method, const char *url)
{
        const char *mark = strchr(url, '?');
        struct request r = {.method = text_of(method),
                            .path = {url, mark ? (size_t)(mark - url) : strlen(url)},
                            .query = mark ? text_of(mark + 1) : (struct text){"", 0},
                            .at = f->at};
        fixture_request(f, &r);
        return f->got.body.data ? f->got.body.data : "";
}

static inline const char *fixture_get(struct fixture *f, const char *url)
{
        return fixture_ask(f, "GET", url);
}

static inline const char *fixture_header(const struct fixture *f, const char *name)
{
        for (int i = 0; i < f->got.headers; i++)
                if (strcmp(f->got.header[i].name, name) == 0)
                        return f->got.header[i].value;
        return NULL;
}

#endif
