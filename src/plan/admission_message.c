#include "plan/admission_message.h"

#include <stdio.h>
#include <string.h>

#include "base/noun.h"
#include "cache/pod_namespace_targets.h"
#include "core/admission_change.h"

enum { UNASKED_MS = 10 * MINUTE_MS, PUBLISHED_MS = MINUTE_MS };

/* The rules of admission that explain all containers' changes of one resource. */
static struct admission_rules rules_of(const struct admission_answer *answer, int answers, enum resource r)
{
        struct admission_request q[VIEW_CONTAINERS];
        size_t n = 0;
        for (int i = 0; i < answers && n < VIEW_CONTAINERS; i++)
                if (answer[i].sent[r].set || answer[i].got[r].set)
                        q[n++] = (struct admission_request){answer[i].sent[r], answer[i].got[r], answer[i].limit[r]};
        return admission_explain(r, q, n);
}

/* Append " (23m was sent), which rounds up to multiples of 50m or has a minimum of 50m", with each rule that explains
 * the change. */
static void append_rules(enum resource r, int64_t sent, const struct admission_rules *rules, char *out, size_t size)
{
        char text[QUANTITY_TEXT_MAX];
        int at = snprintf(out, size, " (%s was sent)", amount_print(r, sent, text));
        const char *before = ", which";
        if (rules->step) {
                at += snprintf(out + at, size - (size_t)at, "%s rounds up to multiples of %s", before,
                               amount_print(r, rules->step, text));
                before = " or";
        }
        if (rules->minimum) {
                at += snprintf(out + at, size - (size_t)at, "%s has a minimum of %s", before,
                               amount_print(r, rules->minimum, text));
                before = " or";
        }
        if (rules->ratio)
                (void)snprintf(out + at, size - (size_t)at, "%s bounds limits to %.1f times requests", before,
                               (double)rules->ratio / 1e3);
}

static void admission_describe(const struct admission_answer *a, enum resource r, const struct admission_rules *rules,
                               char out[static PLAN_WORDS])
{
        char got[QUANTITY_TEXT_MAX];
        if (!a->got[r].set) {
                snprintf(out, PLAN_WORDS, "%s of '%.63s' removed by admission", resource_name(r), a->container);
                return;
        }
        int at = snprintf(out, PLAN_WORDS, "%s of '%.63s' changed to %s by admission", resource_name(r), a->container,
                          amount_print(r, a->got[r].value, got));
        if (a->sent[r].set)
                append_rules(r, a->sent[r].value, rules, out + at, PLAN_WORDS - (size_t)at);
}

bool admission_message(const struct admission_answer *answer, int answers, char out[static PLAN_WORDS])
{
        out[0] = '\0';
        for (int i = 0; i < answers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        if (amount_equal(answer[i].sent[r], answer[i].got[r]))
                                continue;
                        struct admission_rules rules = rules_of(answer, answers, r);
                        admission_describe(&answer[i], r, &rules, out);
                        return true;
                }
        return false;
}

/* --- pods as they were created --- */

static const struct record_row *born_row(const struct record_set *born, const char *container)
{
        for (int i = 0; i < born->rows; i++)
                if (born->row[i].container == container)
                        return &born->row[i];
        return NULL;
}

static const struct pod *newest_ours(const struct target *t)
{
        const struct pod *newest = NULL;
        for (const struct pod *p = t->pods; p; p = target_next_pod(t, p))
                if (p->ours && !p->finished && (!newest || p->created_ms > newest->created_ms))
                        newest = p;
        return newest;
}

bool admission_message_of_pods(const struct plan *p, char out[static PLAN_WORDS])
{
        /* A template's annotations are copied to its pods, even after the owner put its requests back, so they tell
         * nothing about admission. */
        bool resizes = p->guarded || (p->target->profile && p->target->profile->spec->apply.mode == APPLY_IN_PLACE);
        bool other = p->contested || resizes || p->target->workload->applied.present;
        const struct pod *pod = other ? NULL : newest_ours(p->target);
        const struct record_set *born = pod && pod->more ? &pod->more->born : NULL;
        struct admission_answer answer[VIEW_CONTAINERS] = {0};
        int answers = 0;
        for (int i = 0; born && i < pod->containers; i++) {
                const char *container = pod->container[i].name;
                const struct record_row *row = born_row(born, container);
                struct admission_answer *a = &answer[answers];
                a->container = container;
                for (enum resource r = CPU; row && r < RESOURCES; r++) {
                        if (!row->request[r].set)
                                continue;
                        a->sent[r] = row->request[r];
                        a->got[r] = pod_request(&pod->container[i], r);
                        a->limit[r] = pod_limit(&pod->container[i], r);
                }
                answers += row != NULL;
        }
        return admission_message(answer, answers, out);
}

/* --- pods that were created without halflife --- */

static bool was_asked(const struct pod *p)
{
        return p->ours || p->original;
}

bool admission_message_unasked(const struct plan *p, char out[static PLAN_WORDS])
{
        const struct target *t = p->target;
        int64_t since_ms = t->deploys_ms + PUBLISHED_MS, first_ms = 0;
        int pods = 0;
        for (const struct pod *pod = t->pods; pod; pod = target_next_pod(t, pod))
                if (was_asked(pod) && pod->created_ms > since_ms)
                        since_ms = pod->created_ms;
        for (const struct pod *pod = t->pods; pod; pod = target_next_pod(t, pod)) {
                if (was_asked(pod) || pod->created_ms <= since_ms)
                        continue;
                pods++;
                first_ms = !first_ms || pod->created_ms < first_ms ? pod->created_ms : first_ms;
        }
        if (!t->deploys_ms || !pods || p->now.ms - first_ms < UNASKED_MS)
                return false;
        snprintf(out, PLAN_WORDS,
                 "within %lld min %s came with the owner's requests, and none with the target values: "
                 "the "
                 "API server does not call the admission webhook, or gets no answer (halflife check --try-admission "
                 "%.63s)",
                 (long long)((p->now.ms - first_ms) / MINUTE_MS), NOUN_COUNT(pods, "pod"), t->ns);
        return true;
}
