#include "replay/replay.h"

#include <math.h>

#include "core/gates.h"
#include "core/rules.h"

enum { INTERVAL_MS = MINUTE_MS }; /* the controller's default sampling interval */
static const double cpu_weight = 0.1;
static const double units_of_one[RESOURCES] = {[CPU] = 1000, [MEMORY] = 1};
/* A trace has no originals. The largest amount stands for an original, so that no rule or gate is bound by one. */
static const struct amount no_original = {true, INT64_MAX};

void replay_init(struct replay *r, int64_t deploy_every_ms, const struct raise_policy *raise)
{
        *r = (struct replay){.deploy_every_ms = deploy_every_ms, .slab = slab_new()};
        if (raise)
                r->raise = *raise;
}

void replay_release(struct replay *r)
{
        for (size_t i = 0; i < r->entities; i++) {
                node_load_release(&r->entity[i]->load);
                mem_free(r->entity[i]->name);
                mem_free(r->entity[i]);
        }
        for (int i = 0; i < r->policies; i++)
                mem_free(r->policy[i].name);
        mem_free(r->entity);
        map_release(&r->by_name);
        slab_free(r->slab);
        *r = (struct replay){0};
}

int replay_add_policy(struct replay *r, const char *name, const struct profile_spec *spec)
{
        if (r->policies == REPLAY_POLICIES)
                return ERR_TOOBIG;
        struct replay_policy *p = &r->policy[r->policies++];
        *p = (struct replay_policy){.name = mem_string(name), .apply = spec->apply};
        memcpy(p->of, spec->of, sizeof p->of);
        if (p->apply.mode == APPLY_RECOMMEND)
                p->apply.mode = APPLY_ON_DEPLOY;
        for (enum resource q = CPU; q < RESOURCES; q++)
                p->of[q].enabled = true;
        return 0;
}

/* --- entities --- */

static struct replay_entity *add_entity(struct replay *r, struct text name)
{
        size_t tracks = (size_t)r->policies * sizeof(struct replay_track);
        struct replay_entity *e = mem_new(sizeof *e + tracks);
        e->name = mem_string_n(name.p, name.len);
        for (int i = 0; i < r->policies; i++) {
                usage_init(&e->track[i].usage, r->policy[i].of);
                vpa_init(&e->track[i].vpa);
        }
        if (r->entities == r->entities_cap) {
                r->entities_cap = r->entities_cap ? 2 * r->entities_cap : 64;
                r->entity = mem_resize(r->entity, r->entities_cap, sizeof *r->entity);
        }
        r->entity[r->entities++] = e;
        map_put(&r->by_name, (struct text){e->name, name.len}, e);
        return e;
}

/* Find or add an entity; NULL if there are too many. */
static struct replay_entity *find_entity(struct replay *r, struct text name)
{
        if (r->last && text_is(name, r->last->name))
                return r->last;
        struct replay_entity *e = map_get(&r->by_name, name);
        if (!e && r->entities < REPLAY_ENTITIES)
                e = add_entity(r, name);
        r->last = e;
        return e;
}

/* --- requests --- */

static void estimate_at(const struct replay_policy *p, const struct usage *u, int64_t now_ms,
                        struct recommendation *ret)
{
        const struct recommend_facts facts = {.now = {now_ms},
                                              .interval_ms = INTERVAL_MS,
                                              .min_history_ms = p->apply.min_history_ms,
                                              .early = &p->apply.early};
        recommend(u, p->of, &facts, ret);
}

void replay_estimate(const struct replay *r, const struct replay_entity *e, int policy, struct recommendation *ret)
{
        estimate_at(&r->policy[policy], &e->track[policy].usage, e->last_ms, ret);
}

static int replay_ways(const struct replay *r)
{
        return r->raise.enabled ? REPLAY_WAYS : REPLAY_RAISED;
}

static int64_t replay_units_up(enum resource r, double amount)
{
        return (int64_t)ceil(amount * units_of_one[r]);
}

/* The score in which an entity's events count. Until its rows are scored, that is one that nobody reads. */
static struct score *score_of(struct replay *r, const struct replay_entity *e, struct replay_scores *scores,
                              enum replay_way way, enum resource q)
{
        return e->scored[q] ? &scores->of[way][q] : &r->unscored;
}

/* Put a CPU or memory request in force, and count a change if it replaces a different one. */
static void enforce_request(struct replay_request *q, double amount, int64_t units, struct score *s)
{
        s->changes += q->stands && (units != q->units || amount < q->amount || amount > q->amount);
        q->stands = true;
        q->amount = amount;
        q->units = units;
        q->raised = false;
}

/* Compute one policy's target of each resource from what it has learned up to now, at a deploy or a cycle. A target
 * stays unset if too little was learned. */
static void targets_of(const struct replay_policy *p, const struct recommendation *learned,
                       struct correction ret[static RESOURCES])
{
        for (enum resource q = CPU; q < RESOURCES; q++) {
                const struct correct_facts facts = {.resource = q,
                                                    .policy = &p->of[q],
                                                    .state = learned->state,
                                                    .estimate = learned->of[q],
                                                    .original = no_original};
                correct(&facts, &ret[q]);
                ret[q].target.set = learned->of[q].known && ret[q].reason != REASON_LEARNING;
        }
}

static struct gate_facts replay_gate_facts(const struct replay_policy *p, const struct replay_request *request,
                                           enum resource q, const struct correction *c)
{
        return (struct gate_facts){.apply = &p->apply,
                                   .state = STATE_READY,
                                   .window_open = true,
                                   .resource = q,
                                   .current = {request->stands, request->set},
                                   .original = no_original,
                                   .target = c->target,
                                   .rule = c->reason};
}

/* --- deploys --- */

static void deploy_request(struct replay_request *request, enum resource q, int64_t set, struct score *s)
{
        request->set = set;
        enforce_request(request, (double)set / units_of_one[q], set, s);
}

static void deploy_profile(struct replay *r, struct replay_entity *e, int policy, int64_t now_ms)
{
        struct replay_policy *p = &r->policy[policy];
        struct recommendation learned;
        struct correction c[RESOURCES];
        estimate_at(p, &e->track[policy].usage, now_ms, &learned);
        targets_of(p, &learned, c);
        for (enum resource q = CPU; q < RESOURCES; q++)
                for (int way = 0; c[q].target.set && way < replay_ways(r); way++) {
                        struct replay_request *request = &e->track[policy].requests.of[way][q];
                        struct gate_facts facts = replay_gate_facts(p, request, q, &c[q]);
                        struct deploy_verdict v;
                        gates_ask_deploy(&facts, &v);
                        deploy_request(request, q, v.value.value, score_of(r, e, &p->scores, (enum replay_way)way, q));
                }
}

static void deploy_vpa(struct replay *r, struct replay_entity *e, int policy)
{
        struct replay_track *t = &e->track[policy];
        int64_t target;
        for (enum resource q = CPU; q < RESOURCES; q++)
                for (int way = 0; vpa_target(&t->vpa, q, &target) && way < replay_ways(r); way++)
                        deploy_request(&t->requests.of[way][q], q, target,
                                       score_of(r, e, &r->policy[policy].scores, (enum replay_way)way, q));
}

/* Set the peak policy's requests to the highest value seen, even where a raise went above that value. */
static void deploy_peak(struct replay *r, struct replay_entity *e)
{
        for (int way = 0; way < replay_ways(r); way++)
                for (enum resource q = CPU; q < RESOURCES; q++)
                        if (e->samples[q] > 0)
                                enforce_request(&e->peak.of[way][q], e->highest[q], replay_units_up(q, e->highest[q]),
                                                score_of(r, e, &r->peak, (enum replay_way)way, q));
}

/* Deploy an entity once for all deploy times since its previous row: without rows in between, all those deploys would
 * be equal. */
static void deploy_entity(struct replay *r, struct replay_entity *e, int64_t now_ms)
{
        for (int i = 0; i < r->policies; i++) {
                if (r->policy[i].is_vpa)
                        deploy_vpa(r, e, i);
                else if (r->policy[i].apply.mode == APPLY_ON_DEPLOY)
                        deploy_profile(r, e, i, now_ms);
        }
        deploy_peak(r, e);
        int64_t passed = (now_ms - e->first_ms + r->deploy_every_ms - 1) / r->deploy_every_ms;
        e->deploy_ms = e->first_ms + passed * r->deploy_every_ms;
}

/* --- cycles --- */

/* Set the request to the target, as far as the gates let it pass. Returns whether the set request has changed. */
static bool cycle_set(const struct replay_policy *p, struct replay_request *request, enum resource q,
                      int64_t changed_ms, const struct sample *s, const struct correction *c)
{
        struct gate_facts facts = replay_gate_facts(p, request, q, c);
        struct gate_verdict v = {.value = c->target.value};
        facts.now = s->at;
        facts.changed_ms = changed_ms;
        if (!c->target.set)
                return false;
        if (request->stands)
                gates_ask(&facts, &v);
        if (v.hold != REASON_NONE || (request->stands && v.value == request->set))
                return false;
        request->set = v.value;
        return true;
}

/* Put the set request in force. A raised request stays while usage is unknown or above the set request. */
static void cycle_enforce(struct replay_request *request, enum resource q, const struct sample *s, struct score *score)
{
        bool used_more = !s->has[q] || replay_units_up(q, s->value[q]) > request->set;
        bool stays = request->raised && request->units > request->set && used_more;
        if (!stays)
                enforce_request(request, (double)request->set / units_of_one[q], request->set, score);
}

static void cycle_way(struct replay *r, struct replay_entity *e, int policy, enum replay_way way,
                      const struct sample *s, const struct correction c[static RESOURCES])
{
        struct replay_policy *p = &r->policy[policy];
        struct replay_track *t = &e->track[policy];
        bool changed = false;
        for (enum resource q = CPU; q < RESOURCES; q++)
                changed |= cycle_set(p, &t->requests.of[way][q], q, t->changed_ms[way], s, &c[q]);
        if (!changed)
                return;
        t->changed_ms[way] = s->at.ms;
        for (enum resource q = CPU; q < RESOURCES; q++)
                if (c[q].target.set)
                        cycle_enforce(&t->requests.of[way][q], q, s, score_of(r, e, &p->scores, way, q));
}

/* One cycle of the controller for each policy that changes requests between deploys. */
static void cycle_entity(struct replay *r, struct replay_entity *e, const struct sample *s)
{
        for (int i = 0; i < r->policies; i++) {
                struct recommendation learned;
                struct correction c[RESOURCES];
                if (r->policy[i].is_vpa || r->policy[i].apply.mode == APPLY_ON_DEPLOY)
                        continue;
                estimate_at(&r->policy[i], &e->track[i].usage, s->at.ms, &learned);
                if (learned.state != STATE_READY)
                        continue;
                targets_of(&r->policy[i], &learned, c);
                for (int way = 0; way < replay_ways(r); way++)
                        cycle_way(r, e, i, (enum replay_way)way, s, c);
        }
}

/* --- rows --- */

static void replay_lend(struct replay *r, struct histogram *h, int cap)
{
        size_t room = slab_round((size_t)cap * sizeof(double)), had = h->cap * sizeof(double);
        int rounded = (int)(room / sizeof(double));
        double *old =
                histogram_lend(h, slab_take(r->slab, room), rounded < HISTOGRAM_BUCKETS ? rounded : HISTOGRAM_BUCKETS);
        if (old)
                slab_give(r->slab, old, had);
}

static enum sample_verdict replay_learn(struct replay *r, struct replay_entity *e, const struct sample *s)
{
        enum sample_verdict verdict = SAMPLE_ACCEPTED;
        struct usage_room room;
        for (int i = 0; i < r->policies; i++)
                while (!r->policy[i].is_vpa &&
                       usage_add(&e->track[i].usage, &e->track[i].watermark, s, s->at, &verdict, &room) == ERR_NOSPACE)
                        replay_lend(r, &e->track[i].usage.of[room.resource], room.cap);
        return verdict;
}

/* Let the VPA policies learn a row; s has only the values that were accepted. */
static void replay_learn_vpa(struct replay *r, struct replay_entity *e, const struct sample *s)
{
        for (int i = 0; i < r->policies; i++)
                for (enum resource q = CPU; q < RESOURCES; q++) {
                        struct vpa *v = &e->track[i].vpa;
                        int cap;
                        while (r->policy[i].is_vpa && s->has[q] &&
                               vpa_add(v, q, s->value[q], s->at, &cap) == ERR_NOSPACE)
                                replay_lend(r, &v->of[q], cap);
                }
}

/* Raise a CPU or memory request if usage has been above it for long enough. A trace has no original, so nothing bounds
 * the raise. A row counts as above the request exactly when score_row() counts it so. */
static void raise_request(const struct replay *r, struct replay_request *q, enum resource resource,
                          const struct sample *sample, int64_t round_to, struct score *s)
{
        double used = sample->value[resource];
        const struct raise_facts facts = {.policy = &r->raise,
                                          .at = sample->at,
                                          .used = used > q->amount ? replay_units_up(resource, used) : 0,
                                          .request = q->units,
                                          .original = no_original,
                                          .round_to = round_to};
        int64_t to;
        if (!raise_sample(&q->stretch, &facts, &to))
                return;
        enforce_request(q, (double)to / units_of_one[resource], to, s);
        q->raised = true;
}

static void score_requests(struct replay *r, const struct replay_entity *e, struct replay_requests *requests,
                           enum resource q, const struct sample *sample, int64_t span_ms, int64_t round_to,
                           struct replay_scores *scores)
{
        for (int way = 0; way < replay_ways(r); way++) {
                struct replay_request *request = &requests->of[way][q];
                struct score *s = score_of(r, e, scores, (enum replay_way)way, q);
                if (!request->stands)
                        continue;
                score_row(s, sample->value[q], request->amount, span_ms);
                if (way == REPLAY_RAISED)
                        raise_request(r, request, q, sample, round_to, s);
        }
}

/* Whether all policies, and the peak, have a request for the entity's resource. Only REPLAY_AS_SET is looked at, for
 * REPLAY_RAISED gets its first request at the same time. */
static bool all_stand(const struct replay *r, const struct replay_entity *e, enum resource q)
{
        bool all = e->peak.of[REPLAY_AS_SET][q].stands;
        for (int i = 0; i < r->policies; i++)
                all = all && e->track[i].requests.of[REPLAY_AS_SET][q].stands;
        return all;
}

static void score_resource(struct replay *r, struct replay_entity *e, enum resource q, const struct sample *s,
                           int64_t span_ms)
{
        e->scored[q] = e->scored[q] || all_stand(r, e, q);
        for (int i = 0; i < r->policies; i++)
                score_requests(r, e, &e->track[i].requests, q, s, span_ms, r->policy[i].of[q].round_to,
                               &r->policy[i].scores);
        score_requests(r, e, &e->peak, q, s, span_ms, 1, &r->peak);
}

/* --- loads --- */

/* Index into a day's requests: one row for each policy and replay_way, then for `peak` and each replay_way. */
static size_t ask_index(int policy, enum replay_way way)
{
        return (size_t)policy * REPLAY_WAYS + way;
}

static size_t replay_asks(const struct replay *r)
{
        return ask_index(r->policies + 1, REPLAY_AS_SET);
}

const double *replay_ask(const struct replay *r, const struct replay_entity *e, size_t nth, int policy,
                         enum replay_way way)
{
        return e->load.ask + (nth * replay_asks(r) + ask_index(policy, way)) * RESOURCES;
}

static void keep_asks(const struct replay *r, const struct replay_entity *e, double *asks)
{
        for (int i = 0; i <= r->policies; i++)
                for (int way = 0; way < replay_ways(r); way++)
                        for (enum resource q = CPU; q < RESOURCES; q++) {
                                const struct replay_requests *all = i < r->policies ? &e->track[i].requests : &e->peak;
                                asks[ask_index(i, (enum replay_way)way) * RESOURCES + q] = all->of[way][q].amount;
                        }
}

/* Whether each policy has a request for every resource of which the entity ever had a sample. False without samples. */
static bool all_asked(const struct replay *r, const struct replay_entity *e)
{
        bool any = false;
        for (enum resource q = CPU; q < RESOURCES; q++) {
                if (e->samples[q] > 0 && !all_stand(r, e, q))
                        return false;
                any = any || e->samples[q] > 0;
        }
        return any;
}

/* Keep a row's usage for node packing, and before a day's first row the requests in force. */
static void keep_load(struct replay *r, struct replay_entity *e, const struct sample *s)
{
        if (node_load_begins_day(&e->load, s->at)) {
                keep_asks(r, e, node_load_begin_day(&e->load, s->at, replay_asks(r), all_asked(r, e)));
                r->days++;
        }
        r->slots += node_load_add(&e->load, s->at, s->has, s->value);
}

static void replay_take_row(struct replay *r, struct replay_entity *e, const struct sample *s)
{
        int64_t span_ms = e->rows > 0 ? s->at.ms - e->last_ms : 0;
        if (span_ms > REPLAY_SPAN_MAX_MS)
                span_ms = REPLAY_SPAN_MAX_MS;
        for (enum resource q = CPU; q < RESOURCES; q++) {
                if (!s->has[q])
                        continue;
                score_resource(r, e, q, s, span_ms);
                e->samples[q]++;
                if (s->value[q] > e->highest[q])
                        e->highest[q] = s->value[q];
        }
        if (e->rows++ == 0) {
                e->first_ms = s->at.ms;
                e->deploy_ms = s->at.ms + r->deploy_every_ms;
        }
        e->last_ms = s->at.ms;
}

static int replay_refuse(struct replay *r, const char **ret_why, const char *why)
{
        r->refused++;
        *ret_why = why;
        return ERR_INVALID;
}

static const char *replay_reason_of(enum sample_verdict v)
{
        switch (v) {
        case SAMPLE_ACCEPTED:
                return NULL;
        case SAMPLE_NO_MEMORY:
                return "memory_bytes is 0, which counts as missing";
        case SAMPLE_ABSURD:
                return "cpu_cores is above 1e5 or memory_bytes above 1e15";
        default:
                return "cpu_cores or memory_bytes is negative or too large";
        }
}

int replay_row(struct replay *r, const struct trace_row *row, const char **ret_why)
{
        struct replay_entity *e = find_entity(r, row->entity);
        struct sample s = {.at = {row->at_s * SECOND_MS}, .cpu_weight = cpu_weight};
        if (!e || r->slots == NODE_SLOTS_MAX || r->days == NODE_DAYS_MAX)
                return ERR_TOOBIG;
        r->rows++;
        if (e->rows > 0 && s.at.ms <= e->last_ms)
                return replay_refuse(r, ret_why,
                                     s.at.ms == e->last_ms
                                             ? "timestamp_s equals that of the entity's previous row"
                                             : "timestamp_s is earlier than that of the entity's previous row");
        if (e->rows > 0 && s.at.ms > e->deploy_ms)
                deploy_entity(r, e, s.at.ms);
        memcpy(s.has, row->has, sizeof s.has);
        memcpy(s.value, row->value, sizeof s.value);
        enum sample_verdict verdict = replay_learn(r, e, &s);
        s.has[MEMORY] = s.has[MEMORY] && verdict != SAMPLE_NO_MEMORY;
        if (verdict == SAMPLE_ACCEPTED || (verdict == SAMPLE_NO_MEMORY && s.has[CPU])) {
                replay_learn_vpa(r, e, &s);
                if (r->keeps_loads)
                        keep_load(r, e, &s);
                replay_take_row(r, e, &s);
                cycle_entity(r, e, &s);
        }
        return verdict == SAMPLE_ACCEPTED ? 0 : replay_refuse(r, ret_why, replay_reason_of(verdict));
}
