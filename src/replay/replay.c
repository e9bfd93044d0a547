#include "replay/replay.h"

#include <math.h>

#include "core/gates.h"
#include "core/rules.h"

enum { INTERVAL_MS = MINUTE_MS }; /* the controller's default sampling interval */
static const double cpu_weight = 0.1;
static const double units_of_one[RESOURCES] = {[CPU] = 1000, [MEMORY] = 1};

void replay_init(struct replay *r, int64_t deploy_every_ms, const struct raise_policy *raise)
{
        *r = (struct replay){.deploy_every_ms = deploy_every_ms, .slab = slab_new()};
        if (raise)
                r->raise = *raise;
}

void replay_release(struct replay *r)
{
        for (size_t i = 0; i < r->entities; i++) {
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
        *p = (struct replay_policy){.name = mem_string(name),
                                    .min_history_ms = spec->apply.min_history_ms,
                                    .min_change_percent = spec->apply.min_change_percent};
        memcpy(p->of, spec->of, sizeof p->of);
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
        for (int i = 0; i < r->policies; i++)
                usage_init(&e->track[i].usage, r->policy[i].of);
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

/* --- deploys --- */

static void estimate_at(const struct replay_policy *p, const struct usage *u, int64_t now_ms,
                        struct recommendation *ret)
{
        const struct recommend_facts facts = {
                .now = {now_ms}, .interval_ms = INTERVAL_MS, .min_history_ms = p->min_history_ms};
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

static void set_request(struct replay_request *q, double amount, int64_t units, struct score *s)
{
        s->changes += q->stands;
        q->stands = true;
        q->amount = amount;
        q->units = units;
}

static void deploy_request(struct replay_policy *p, struct replay_requests *requests, enum replay_way way,
                           enum resource r, int64_t target)
{
        struct replay_request *q = &requests->of[way][r];
        bool changed = target != q->units && gate_changed_enough(q->units, target, p->min_change_percent);
        if (!q->stands || changed)
                set_request(q, (double)target / units_of_one[r], target, &p->scores.of[way][r]);
}

static void deploy_resource(const struct replay *r, struct replay_policy *p, struct replay_track *t, enum resource q,
                            const struct recommendation *learned)
{
        const struct correct_facts facts = {
                .resource = q, .policy = &p->of[q], .state = learned->state, .estimate = learned->of[q]};
        struct correction c;
        correct(&facts, &c);
        for (int way = 0; c.target.set && way < replay_ways(r); way++)
                deploy_request(p, &t->requests, (enum replay_way)way, q, c.target.value);
}

/* Set the peak policy's requests to the highest value seen, also where a raise went above it. */
static void deploy_peak(struct replay *r, struct replay_entity *e)
{
        for (int way = 0; way < replay_ways(r); way++)
                for (enum resource q = CPU; q < RESOURCES; q++) {
                        struct replay_request *peak = &e->peak.of[way][q];
                        bool same = peak->stands && peak->amount <= e->highest[q] && peak->amount >= e->highest[q];
                        if (e->samples[q] > 0 && !same)
                                set_request(peak, e->highest[q], replay_units_up(q, e->highest[q]),
                                            &r->peak.of[way][q]);
                }
}

/* Deploy an entity once for all deploy times since its previous row: without rows in between all would be equal. */
static void deploy_entity(struct replay *r, struct replay_entity *e, int64_t now_ms)
{
        for (int i = 0; i < r->policies; i++) {
                struct recommendation learned;
                estimate_at(&r->policy[i], &e->track[i].usage, now_ms, &learned);
                if (learned.state != STATE_READY)
                        continue;
                for (enum resource q = CPU; q < RESOURCES; q++)
                        deploy_resource(r, &r->policy[i], &e->track[i], q, &learned);
                if (i == 0)
                        deploy_peak(r, e);
        }
        int64_t passed = (now_ms - e->first_ms + r->deploy_every_ms - 1) / r->deploy_every_ms;
        e->deploy_ms = e->first_ms + passed * r->deploy_every_ms;
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
                while (usage_add(&e->track[i].usage, &e->track[i].watermark, s, s->at, &verdict, &room) == ERR_NOSPACE)
                        replay_lend(r, &e->track[i].usage.of[room.resource], room.cap);
        return verdict;
}

/* Raise a request if usage has been above it for long enough. A trace has no original, so nothing bounds the raise.
 * A row counts as above the request exactly when score_row() counts it so. */
static void raise_request(const struct replay *r, struct replay_request *q, enum resource resource,
                          const struct sample *sample, int64_t round_to, struct score *s)
{
        double used = sample->value[resource];
        const struct raise_facts facts = {.policy = &r->raise,
                                          .at = sample->at,
                                          .used = used > q->amount ? replay_units_up(resource, used) : 0,
                                          .request = q->units,
                                          .original = {true, INT64_MAX},
                                          .round_to = round_to};
        int64_t to;
        if (raise_sample(&q->stretch, &facts, &to))
                set_request(q, (double)to / units_of_one[resource], to, s);
}

static void score_requests(const struct replay *r, struct replay_requests *requests, enum resource q,
                           const struct sample *sample, int64_t span_ms, int64_t round_to, struct replay_scores *scores)
{
        for (int way = 0; way < replay_ways(r); way++) {
                struct replay_request *request = &requests->of[way][q];
                if (!request->stands)
                        continue;
                score_row(&scores->of[way][q], sample->value[q], request->amount, span_ms);
                if (way == REPLAY_RAISED)
                        raise_request(r, request, q, sample, round_to, &scores->of[way][q]);
        }
}

static void score_resource(struct replay *r, struct replay_entity *e, enum resource q, const struct sample *s,
                           int64_t span_ms)
{
        for (int i = 0; i < r->policies; i++)
                score_requests(r, &e->track[i].requests, q, s, span_ms, r->policy[i].of[q].round_to,
                               &r->policy[i].scores);
        score_requests(r, &e->peak, q, s, span_ms, 1, &r->peak);
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
        if (!e)
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
        if (verdict == SAMPLE_ACCEPTED || (verdict == SAMPLE_NO_MEMORY && s.has[CPU]))
                replay_take_row(r, e, &s);
        return verdict == SAMPLE_ACCEPTED ? 0 : replay_refuse(r, ret_why, replay_reason_of(verdict));
}
