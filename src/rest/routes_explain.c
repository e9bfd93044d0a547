/*
 * GET …/explain: why a target has its value, as the steps of core/explain_steps in JSON, each with a sentence; and the
 * target under another percentile, multiplier or half-life.
 */
#include <stdio.h>

#include "core/kind.h"
#include "correct_subject.h"
#include "explain_text.h"
#include "handlers.h"
#include "rest/explain_change.h"

/* --- the parameters --- */

struct explain_query {
        int only;           /* the index of the requested container; -1: all */
        bool of[RESOURCES]; /* by resource: whether to explain it */
        bool changed;       /* the query asks for a what-if */
        struct explain_change change;
};

static int read_change(struct ask *k, struct explain_query *ret)
{
        const struct query *q = k->query;
        struct explain_change *c = &ret->change;
        struct err err = {0};
        if (query_has(q, PARAM_PERCENTILE) &&
            explain_change_percentile("percentile", q->value[PARAM_PERCENTILE], &c->percentile, &err) < 0)
                return answer_bad_parameter(k->ret, "percentile", "%s", err.text);
        if (query_has(q, PARAM_MULTIPLIER) &&
            explain_change_multiplier("multiplier", q->value[PARAM_MULTIPLIER], &c->multiplier, &err) < 0)
                return answer_bad_parameter(k->ret, "multiplier", "%s", err.text);
        if (query_has(q, PARAM_HALF_LIFE) &&
            explain_change_half_life("halfLife", q->value[PARAM_HALF_LIFE], &c->half_life_ms, &err) < 0)
                return answer_bad_parameter(k->ret, "halfLife", "%s", err.text);
        ret->changed = c->percentile || c->multiplier || c->half_life_ms;
        return 0;
}

static int read_explain_query(struct ask *k, struct explain_query *ret)
{
        enum resource r;
        *ret = (struct explain_query){.only = -1, .of = {true, true}};
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

/* The facts that the explanations of all containers of a workload share. */
struct scene {
        struct ask *k;
        struct explain_query explain_query;
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
        const struct status_container *c = &t->container[at];
        const struct status_numbers *n = &c->of[r];
        struct explain_facts f = {
                .usage = learned_of(s->k, c->name),
                .now = s->k->v->at,
                .correct = correct_facts_of(&(struct correct_subject){t, s->ns, &s->apply, s->defaults}, at, r),
                .held = (enum gate)n->gate,
                .deploy_held = s->deploy.advice[at].gate[r],
                .shown = (enum reason)n->reason,
                .deploy = s->deploy.advice[at].reason[r],
        };
        f.correct.pod_refused = s->deploy.advice[at].pod_refused[r];
        f.correct.guaranteed = s->deploy.advice[at].guaranteed;
        return f;
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
        write_first_sample(w, u ? u->first_ms : 0);
        writer_time(w, "lastSample", u ? u->newest_ms : 0);
        writer_int(w, "confidencePercent", words->confidence_percent);
}

static void write_factor(struct writer *w, const char *key, int thousandths)
{
        char factor[FACTOR_TEXT_MAX];
        writer_text(w, key, text_of(factor_text(thousandths, factor)));
}

/* Write the members that only a step of this kind has. */
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
        const struct explain_change *c = &s->explain_query.change;
        writer_open(w, "notes", '[');
        if (c->half_life_ms && f->usage)
                writer_printf(
                        w, NULL,
                        "halfLife: the stored weights were aged with %s, and samples are not kept. Another half-life "
                        "acts on new samples only, so today's percentile stays",
                        duration_print(f->usage->of[f->correct.resource].half_life_ms, was));
        if (!f->usage)
                writer_printf(
                        w, NULL,
                        "percentile, halfLife: no history of this container is stored, so nothing can be recomputed; "
                        "the model is the published one");
        if (f->correct.state != STATE_READY && f->correct.state != STATE_HELD)
                writer_printf(w, NULL, "in state %s the model does not decide the target, so the target stays",
                              state_name(f->correct.state));
        writer_printf(w, NULL, "gates are not recomputed");
        writer_close(w, ']');
}

static void write_what_if(struct writer *w, const struct scene *s, const struct explain_facts *f,
                          const struct explain_words *as_it_is)
{
        char half_life[DURATION_TEXT_MAX];
        const struct explain_change *c = &s->explain_query.change;
        struct explain *e = arena_new(s->k->a, sizeof *e);
        double *room = arena_new(s->k->a, RESOURCES * HISTOGRAM_SUM_BUCKETS * sizeof *room);
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

/* --- starts --- */

static void write_starts(struct writer *w, const struct explain_facts *f, struct amount target)
{
        enum resource r = f->correct.resource;
        char words[WORDS_MAX], duration[DURATION_TEXT_MAX];
        struct explain_starts s;
        if (!explain_starts_of(f, target, &s))
                return;
        writer_open(w, "starts", '{');
        if (s.ignore_ms > 0)
                writer_text(w, "ignoreFirst", text_of(duration_print(s.ignore_ms, duration)));
        writer_int(w, "percentile", f->correct.policy->percentile / 10);
        writer_amount(w, "need", r, s.need);
        if (s.last_ms > 0)
                writer_text(w, "last", text_of(duration_print(s.last_ms, duration)));
        writer_time(w, "lastSample", s.at_ms);
        writer_text(w, "words", text_of(explain_starts_words(&s, r, words)));
        writer_close(w, '}');
}

/* --- the answer --- */

static void write_limit(struct writer *w, const struct status_limit *l)
{
        if (!l)
                return;
        writer_open(w, "limit", '{');
        status_write_limit(w, l);
        writer_close(w, '}');
}

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
        write_limit(w, status_limit_find(s->k->target->limits, at, r));
        write_steps(w, &words);
        write_starts(w, &f, e->result.target);
        if (s->explain_query.changed)
                write_what_if(w, s, &f, &words);
        writer_close(w, '}');
}

static void write_containers(struct writer *w, const struct scene *s)
{
        const struct snapshot_target *t = s->k->target;
        writer_open(w, "containers", '[');
        for (int i = 0; i < t->containers; i++) {
                enum state state = t->state == STATE_HELD ? STATE_HELD : (enum state)t->container[i].state;
                if (s->explain_query.only >= 0 && s->explain_query.only != i)
                        continue;
                writer_open(w, NULL, '{');
                writer_text(w, "name", text_of(t->container[i].name));
                writer_text(w, "state", text_of(state_name(state)));
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (s->explain_query.of[r])
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
        if (read_explain_query(k, &s->explain_query) < 0)
                return;
        scene_init(s, k);
        struct writer w = answer_begin(k->ret);
        writer_open(&w, NULL, '{');
        write_metadata(&w, k);
        write_profile(&w, k->target->profile);
        writer_text(&w, "state", text_of(state_name((enum state)k->target->state)));
        if (!k->target->profile)
                writer_text(&w, "note", TEXT("no profile selects the workload: profile defaults are shown"));
        write_containers(&w, s);
        writer_close(&w, '}');
}
