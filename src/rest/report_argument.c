/*
 * Reads from the parameters of a report what to ask of the ledger: how far back, and sums by namespace, profile, pool
 * or label.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers.h"
#include "objects/target_key.h"

enum { DAYS_MOST = 400, HOURS_MOST = 48, DAYS_KEPT = 35 };

static int report_since(struct text t, int64_t *ret_ms)
{
        char *end;
        if (t.len < 2 || t.p[t.len - 1] != 'd')
                return duration_parse(t.p, t.len, ret_ms);
        long days = strtol(t.p, &end, 10);
        if (t.p[0] < '0' || t.p[0] > '9' || end != t.p + t.len - 1 || days > DAYS_MOST)
                return ERR_INVALID;
        *ret_ms = (int64_t)days * DAY_MS;
        return 0;
}

static int report_since_asked(const struct query *q, int64_t *ret_ms, struct answer *ret_answer)
{
        struct text t = q->value[PARAM_SINCE];
        *ret_ms = INT64_C(30) * DAY_MS;
        if (t.p && (report_since(t, ret_ms) < 0 || *ret_ms < HOUR_MS || *ret_ms > INT64_C(1) * DAYS_MOST * DAY_MS))
                return answer_bad_parameter(ret_answer, "since", "since '%s' is no time from 1h to 400d, such as 30d",
                                            t.p);
        return 0;
}

/* The key in "label:KEY"; p is NULL where `by` is something else. */
static struct text report_label(struct text by)
{
        static const char label[] = "label:";
        if (by.len < sizeof label || memcmp(by.p, label, sizeof label - 1) != 0)
                return (struct text){NULL, 0};
        return (struct text){by.p + sizeof label - 1, by.len - (sizeof label - 1)};
}

static int report_axis_asked(struct text by, const struct route *route, struct ledger_ask *ret,
                             struct answer *ret_answer)
{
        struct text label = by.p ? report_label(by) : (struct text){NULL, 0};
        ret->axis = LEDGER_NAMESPACE;
        if (!by.p || text_is(by, "namespace") || (route->ns[0] && text_is(by, REPORT_CLUSTER)))
                return 0;
        if (!label.p && !text_is(by, "profile") && !text_is(by, "pool") && !text_is(by, REPORT_CLUSTER))
                return answer_bad_parameter(ret_answer, "by",
                                            "by '%s' is neither cluster, namespace, profile, pool nor label:KEY", by.p);
        if (label.len >= sizeof ret->label)
                return answer_bad_parameter(ret_answer, "by", "by has a label's key of more than %d bytes",
                                            LEDGER_LABEL_MAX - 1);
        if (route->ns[0])
                return answer_bad_parameter(ret_answer, "by",
                                            "accounts of profiles, pools and labels are those of all namespaces: ask "
                                            "/api/v1/report");
        if (label.p)
                snprintf(ret->label, sizeof ret->label, "%.*s", TEXT_ARG(label));
        ret->axis = label.p                  ? LEDGER_LABEL
                    : text_is(by, "profile") ? LEDGER_PROFILE
                                             : LEDGER_POOL; /* for "cluster" too: pools are the fewest rows */
        return 0;
}

int report_asked(const struct query *q, struct arena *a, struct route *ret, struct answer *ret_answer)
{
        struct ledger_ask *ask = arena_new(a, sizeof *ask);
        int rc = report_axis_asked(q->value[PARAM_BY], ret, ask, ret_answer);
        if (rc == 0)
                rc = report_since_asked(q, &ask->since_ms, ret_answer);
        ask->span = ask->since_ms <= INT64_C(1) * HOURS_MOST * HOUR_MS ? LEDGER_HOUR : LEDGER_DAY;
        strcpy(ask->ns, ret->ns);
        ret->ledger = ask;
        return rc;
}

void days_asked(struct arena *a, struct route *ret)
{
        struct ledger_ask *ask = arena_new(a, sizeof *ask);
        AUTO(mem_free)
        char *key = target_key_new(text_of(ret->ns), text_of(ret->group), text_of(ret->kind), text_of(ret->workload));
        *ask = (struct ledger_ask){
                .axis = LEDGER_WORKLOAD, .span = LEDGER_DAY, .since_ms = (DAYS_KEPT - 1) * (int64_t)DAY_MS};
        size_t len = strlen(key);
        memcpy(ask->workload, key, len < LEDGER_NAME_MAX ? len : LEDGER_NAME_MAX); /* the arena's memory is zero */
        ret->ledger = ask;
}
