/*
 * Why a number is what it is: core/explain's steps as JSON, with words; and what it would be with another percentile,
 * multiplier or half-life.
 */
#include <stdio.h>

#include "core/kind.h"
#include "core/quantity.h"
#include "explain_text.h"
#include "handlers.h"

enum { PERCENT_LEAST = 50, PERCENT_MOST = 100 };
enum { FACTOR_LEAST = 100, FACTOR_MOST = 100000 }; /* thousandths */
static const int64_t half_life_least = MINUTE_MS, half_life_most = 720 * (int64_t)HOUR_MS;

/* --- what is asked --- */

struct wish {
        int only; /* container; -1: all */
        bool of[RESOURCES];
        bool changed;
        struct explain_change change;
};

/* A decimal of at most three decimals as thousandths; -1: it is not one. */
static int64_t read_decimal(struct text t)
{
        int64_t units = -1;
        bool plain = t.len > 0 && t.p[0] != '.';
        for (size_t i = 0; i < t.len; i++)
                plain &= (t.p[i] >= '0' && t.p[i] <= '9') || t.p[i] == '.';
        const char *point = t.len ? memchr(t.p, '.', t.len) : NULL;
        size_t decimals = point ? t.len - (size_t)(point - t.p) - 1 : 0;
        if (!plain || (point && (decimals < 1 || decimals > 3)) ||
            quantity_parse(t.p, t.len, QUANTITY_MILLI, &units, NULL) < 0)
                return -1;
        return units;
}

static int read_change(struct ask *k, struct wish *ret)
{
        const struct query *q = k->query;
        struct explain_change *c = &ret->change;
        if (query_has(q, PARAM_PERCENTILE)) {
                int64_t p = read_decimal(q->value[PARAM_PERCENTILE]);
                if (p < PERCENT_LEAST * 1000 || p > PERCENT_MOST * 1000 || p % 1000)
                        return answer_bad_parameter(k->ret, "percentile",
                                                    "percentile '%s' is no whole number of per cent from %d to %d",
                                                    q->value[PARAM_PERCENTILE].p, PERCENT_LEAST, PERCENT_MOST);
                c->percentile = (int)(p / 100);
        }
        if (query_has(q, PARAM_MULTIPLIER)) {
                int64_t m = read_decimal(q->value[PARAM_MULTIPLIER]);
                if (m < FACTOR_LEAST || m > FACTOR_MOST)
                        return answer_bad_parameter(
                                k->ret, "multiplier",
                                "multiplier '%s' is no factor from 0.1 to 100 with at most three decimals",
                                q->value[PARAM_MULTIPLIER].p);
                c->multiplier = (int)m;
        }
        if (query_has(q, PARAM_HALF_LIFE)) {
                struct text t = q->value[PARAM_HALF_LIFE];
                if (duration_parse(t.p, t.len, &c->half_life_ms) < 0 || c->half_life_ms < half_life_least ||
                    c->half_life_ms > half_life_most)
                        return answer_bad_parameter(k->ret, "halfLife",
                                                    "halfLife '%s' is no duration from 1m to 720h, such as 48h", t.p);
        }
        ret->changed = c->percentile || c->multiplier || c->half_life_ms;
        return 0;
}

static int read_wish(struct ask *k, struct wish *ret)
{
        enum resource r;
        *ret = (struct wish){.only = -1, .of = {true, true}};
        if (query_has(k->query, PARAM_CONTAINER) && (ret->only = container_asked(k)) < 0)
                return ERR_INVALID;
        if (query_has(k->query, PARAM_RESOURCE)) {
                if (resource_asked(k, &r) < 0)
                        return ERR_INVALID;
                ret->of[CPU] = r == CPU;
                ret->of[MEMORY] = r == MEMORY;
        }
        return read_change(k, ret);
}

/* --- the facts of one number --- */

/* What all numbers of a workload share. */
struct scene {
        struct ask *k;
        struct wish wish;
        struct resource_policy defaults[RESOURCES];
        struct apply_policy apply;
        const struct snapshot_ns *ns;
        struct deploy_subject subject;
        struct deploy_answer deploy;
};

static void scene_init(struct scene *s, struct ask *k)
{
        const struct snapshot_profile *p = k->target->profile;
        s->k = k;
        for (enum resource r = CPU; r < RESOURCES; r++)
                resource_policy_defaults(r, &s->defaults[r]);
        apply_policy_defaults(APPLY_RECOMMEND, &s->apply);
        if (p)
                s->apply = p->spec->apply;
        s->ns = snapshot_find_ns(k->v, text_of(k->target->ns));
        s->subject = subject_of(k);
        deploy_answer(k->v, &s->subject, k->a, &s->deploy);
}

static struct explain_facts explain_facts_of(const struct scene *s, int at, enum resource r)
{
        const struct snapshot_target *t = s->k->target;
        const struct snapshot_container *c = &t->container[at];
        const struct snapshot_numbers *n = &c->of[r];
        const struct resource_policy *policy = s->defaults;
        bool ignored = false, whole = strcmp(c->name, CONTAINER_WHOLE) == 0; /* which no LimitRange bounds */
        if (t->profile)
                policy = profile_spec_container(t->profile->spec, text_of(c->name), &ignored);
        struct amount in_force = amount_of_view(n->applied >= 0 ? n->applied : n->original);
        return (struct explain_facts){
                .usage = learned_of(s->k, c->name),
                .now = s->k->v->at,
                .correct =
                        {
                                .resource = r,
                                .policy = &policy[r],
                                .overcommit = s->apply.overcommit,
                                .role = (enum container_role)c->role,
                                .ignored = ignored,
                                .state = (enum state)c->state,
                                .estimate = {.known = n->model >= 0,
                                             .by_kill = n->by_kill,
                                             .model = n->model,
                                             .lower = n->lower,
                                             .upper = n->upper},
                                .original = amount_of_view(n->original),
                                .limit = {n->limit > 0, n->limit},
                                .range_min = s->ns && !whole ? s->ns->range_min[r] : (struct amount){0},
                                .range_ratio = s->ns && !whole ? s->ns->range_ratio[r] : (struct amount){0},
                                .last_good = n->learned ? amount_of_view(n->target) : (struct amount){0},
                                .pod_refused = s->deploy.advice[at].pod_refused[r],
                                .guaranteed = s->deploy.advice[at].guaranteed,
                                .keep_guaranteed = s->apply.keep_guaranteed,
                        },
                .shown = (enum reason)n->reason,
                .stands = in_force.set && in_force.value == n->target,
                .deploy = s->deploy.advice[at].reason[r],
        };
}

/* --- steps --- */

static void write_percentile(struct writer *w, const struct explain *e, enum resource r, int percentile)
{
        const struct histogram_place *p = &e->place;
        writer_int(w, "percentile", percentile / 10);
        if (!e->learned)
                return;
        writer_int(w, "bucket", p->bucket);
        writer_double(w, "from", histogram_start(r, p->bucket));
        writer_double(w, "to", e->percentile);
        writer_double(w, "shareBelow", p->below / p->total);
        writer_double(w, "share", p->here / p->total);
        writer_double(w, "totalWeight", p->total);
}

static void explain_write_learned(struct writer *w, const struct explain_words *words)
{
        const struct usage *u = words->facts->usage;
        writer_int(w, "samples", u ? u->samples : 0);
        writer_time(w, "since", u ? u->first_ms : 0);
        writer_time(w, "lastSample", u ? u->newest_ms : 0);
        writer_int(w, "confidencePercent", words->confidence_percent);
}

static void write_factor(struct writer *w, const char *key, int thousandths)
{
        char factor[FACTOR_TEXT_MAX];
        writer_text(w, key, text_of(factor_text(thousandths, factor)));
}

/* What only this kind of step has. */
static void write_own(struct writer *w, const struct explain_words *words, const struct explain_step *s)
{
        const struct correct_facts *f = &words->facts->correct;
        switch (s->kind) {
        case EXPLAIN_SAMPLES:
                explain_write_learned(w, words);
                break;
        case EXPLAIN_PERCENTILE:
                write_percentile(w, words->of, f->resource, f->policy->percentile);
                break;
        case EXPLAIN_KILL:
                writer_time(w, "time", words->of->kill.at_ms);
                break;
        case EXPLAIN_WEEK:
                writer_time(w, "time", words->of->week_day * DAY_MS);
                break;
        case EXPLAIN_MULTIPLIER:
                write_factor(w, "multiplier", f->policy->multiplier);
                break;
        case EXPLAIN_ROUNDING:
                writer_amount(w, "roundTo", f->resource, (struct amount){true, f->policy->round_to});
                break;
        case EXPLAIN_RULE:
                writer_text(w, "rule", text_of(rule_name(s->rule)));
                break;
        case EXPLAIN_GATE:
        case EXPLAIN_DEPLOY:
                writer_text(w, "gate", text_of(gate_name(s->gate)));
                writer_text(w, "verdict", s->spoke ? TEXT("Holds") : s->reached ? TEXT("Open") : TEXT("NotReached"));
                break;
        default:
                break;
        }
}

static void write_steps(struct writer *w, const struct explain_words *words)
{
        char sentence[WORDS_MAX];
        writer_open(w, "steps", '[');
        for (int i = 0; i < words->of->steps; i++) {
                const struct explain_step *s = &words->of->step[i];
                writer_open(w, NULL, '{');
                writer_text(w, "step", text_of(explain_kind_name(s->kind)));
                write_own(w, words, s);
                writer_bool(w, "spoke", s->spoke);
                writer_amount(w, "value", words->facts->correct.resource, s->value);
                if (s->reason)
                        writer_text(w, "reason", text_of(reason_name(s->reason)));
                writer_text(w, "words", text_of(explain_words(words, s, sentence)));
                writer_close(w, '}');
        }
        writer_close(w, ']');
}

/* --- what if --- */

static void write_notes(struct writer *w, const struct scene *s, const struct explain_facts *f)
{
        char was[DURATION_TEXT_MAX];
        const struct explain_change *c = &s->wish.change;
        writer_open(w, "notes", '[');
        if (c->half_life_ms && f->usage)
                writer_printf(
                        w, NULL,
                        "halfLife: the weights stored were aged with %s and samples are not kept, so they can only be "
                        "aged "
                        "afresh from the newest sample on: the percentile of today stays, it will move differently",
                        duration_print(f->usage->of[f->correct.resource].half_life_ms, was));
        if (!f->usage)
                writer_printf(
                        w, NULL,
                        "percentile, halfLife: nothing is stored of this container to recompute from; the model is "
                        "the one published");
        if (f->correct.state != STATE_READY && f->correct.state != STATE_HELD)
                writer_printf(w, NULL, "in state %s the model does not make the target, so it does not follow",
                              state_name(f->correct.state));
        writer_printf(w, NULL, "gates are not recomputed");
        writer_close(w, ']');
}

static void write_what_if(struct writer *w, const struct scene *s, const struct explain_facts *f,
                          const struct explain_words *as_it_is)
{
        char half_life[DURATION_TEXT_MAX];
        const struct explain_change *c = &s->wish.change;
        struct explain *e = arena_new(s->k->a, sizeof *e);
        double *room = arena_new(s->k->a, RESOURCES * HISTOGRAM_BUCKETS * sizeof *room);
        struct explain_facts changed = *f;
        struct resource_policy policy = *f->correct.policy;
        explain_changed(f, c, room, e);
        policy.percentile = c->percentile ? c->percentile : policy.percentile;
        policy.multiplier = c->multiplier ? c->multiplier : policy.multiplier;
        changed.correct.policy = &policy;
        struct explain_words words = *as_it_is;
        words.facts = &changed;
        words.of = e;
        writer_open(w, "whatIf", '{');
        if (c->percentile)
                writer_int(w, "percentile", c->percentile / 10);
        if (c->multiplier)
                write_factor(w, "multiplier", c->multiplier);
        if (c->half_life_ms)
                writer_text(w, "halfLife", text_of(duration_print(c->half_life_ms, half_life)));
        writer_amount(w, "model", f->correct.resource, (struct amount){e->estimate.known, e->estimate.model});
        writer_amount(w, "target", f->correct.resource, e->result.target);
        if (e->result.reason)
                writer_text(w, "reason", text_of(reason_name(e->result.reason)));
        write_notes(w, s, f);
        write_steps(w, &words);
        writer_close(w, '}');
}

/* --- the answer --- */

static void write_number(struct writer *w, const struct scene *s, int at, enum resource r)
{
        static const char *const overcommits[] = {"Dynamic", "Static", "StaticThenDynamic"};
        struct explain *e = arena_new(s->k->a, sizeof *e);
        struct explain_facts f = explain_facts_of(s, at, r);
        struct explain_words words = {&f, e, s->k->target->confidence_percent, s->apply.mode,
                                      overcommits[s->apply.overcommit]};
        explain(&f, e);
        writer_open(w, resource_name(r), '{');
        writer_amount(w, "original", r, f.correct.original);
        writer_amount(w, "model", r, (struct amount){e->estimate.known, e->estimate.model});
        writer_amount(w, "target", r, e->result.target);
        if (f.shown)
                writer_text(w, "reason", text_of(reason_name(f.shown)));
        writer_amount(w, "deploy", r, deploy_request(&s->deploy, (size_t)at, r));
        if (f.deploy)
                writer_text(w, "deployReason", text_of(reason_name(f.deploy)));
        write_steps(w, &words);
        if (s->wish.changed)
                write_what_if(w, s, &f, &words);
        writer_close(w, '}');
}

static void write_containers(struct writer *w, const struct scene *s)
{
        const struct snapshot_target *t = s->k->target;
        writer_open(w, "containers", '[');
        for (int i = 0; i < t->containers; i++) {
                enum state state = t->state == STATE_HELD ? STATE_HELD : (enum state)t->container[i].state;
                if (s->wish.only >= 0 && s->wish.only != i)
                        continue;
                writer_open(w, NULL, '{');
                writer_text(w, "name", text_of(t->container[i].name));
                writer_text(w, "state", text_of(state_name(state)));
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (s->wish.of[r])
                                write_number(w, s, i, r);
                writer_close(w, '}');
        }
        writer_close(w, ']');
}

void answer_explain(struct ask *k)
{
        if (learned_asked(k) < 0)
                return;
        struct scene *s = arena_new(k->a, sizeof *s);
        if (read_wish(k, &s->wish) < 0)
                return;
        scene_init(s, k);
        struct writer w = answer_begin(k->ret);
        writer_open(&w, NULL, '{');
        write_metadata(&w, k);
        write_profile(&w, k->target->profile);
        writer_text(&w, "state", text_of(state_name((enum state)k->target->state)));
        if (!k->target->profile)
                writer_text(&w, "note", TEXT("no profile selects it: a profile's defaults are shown"));
        write_containers(&w, s);
        writer_close(&w, '}');
}
