/* Tell why a request stays as it is although the rules judged its workload. */
#include <stdio.h>

#include "render_private.h"

/* What keeps a target value, which the static factor made, from being below the original request. */
static const char *left_static(const struct correction *of)
{
        static const char *const by[RULES] = {
                [RULE_CLAMP] = "the static factor gives less than the profile's min allows",
                [RULE_RANGE] = "the namespace's LimitRange allows no less than that",
                [RULE_HEAP] = "the heap that the container's runtime begins with takes that much",
                [RULE_QOS] = "its pods are Guaranteed and stay so (keepGuaranteed)",
        };
        return by[of->raised_by] ? by[of->raised_by] : "the static factor gives no lower request";
}

static const char *left_reader(const struct deploy_container *c, enum resource r, struct arena *a)
{
        char reader[REQUEST_READING_TEXT_MAX], text[REQUEST_READING_TEXT_MAX + 32];
        snprintf(text, sizeof text, "%s reads it", request_reading_print(&c->read[r], reader));
        return arena_text(a, text_of(text));
}

static void left_judge(const struct deploy_subject *s, const struct deploy_answer *d, size_t container, struct arena *a,
                       struct render_left *left)
{
        const struct deploy_advice *advice = &d->advice[container];
        enum resource r = left->resource;
        enum reason why = advice->reason[r];
        left->reason = advice->ours[r] ? "Stands" : reason_name(why);
        left->detail = advice->ours[r]                                        ? "it is the right request already"
                       : why == REASON_PAUSED && d->target && d->target->hold ? d->target->hold
                       : why == REASON_READ_BY_CONTAINER ? left_reader(&s->container[container], r, a)
                       : why == REASON_STATIC            ? left_static(&advice->of[r])
                                                         : reason_meaning(why);
}

/* List the requests of the pod as a whole (spec.resources), which halflife reads and never writes. */
static void left_add_whole(const struct amount *asks, struct render_row *row, struct render_left *to)
{
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (asks[r].set)
                        to[row->lefts++] = (struct render_left){
                                .container = TEXT(""),
                                .resource = r,
                                .request = asks[r],
                                .reason = reason_name(REASON_IMMUTABLE),
                                .detail = "requests of the pod as a whole (spec.resources) are never changed",
                        };
}

void left_list(const struct deploy_subject *s, const struct deploy_answer *d, const struct amount *pod_asks,
               struct arena *a, struct render_row *row)
{
        struct render_left *to = arena_new(a, (s->containers + 1) * RESOURCES * sizeof *to);
        row->left = to;
        row->lefts = 0;
        left_add_whole(pod_asks, row, to);
        for (size_t i = 0; i < s->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        struct amount request = s->container[i].request[r];
                        bool asks = request.set || d->row[i].origin[r].effective.set;
                        if (!asks || !amount_equal(deploy_request(d, i, r), request))
                                continue;
                        to[row->lefts] = (struct render_left){
                                .container = s->container[i].name, .resource = r, .request = request};
                        left_judge(s, d, i, a, &to[row->lefts++]);
                }
}
