/*
 * GET …/days: what the pods of a workload asked for, had in force and used on each of the last days, from the ledger.
 */
#include <assert.h>
#include <math.h>

#include "handlers.h"

static void days_write_one(struct writer *w, const struct ledger_report *r, const struct ledger_report_period *p)
{
        int64_t so_far_ms = r->until_ms - p->start_ms, ms = so_far_ms < DAY_MS ? so_far_ms : DAY_MS,
                seconds = ms < SECOND_MS ? 1 : ms / SECOND_MS;
        double pod_seconds = (double)p->sum.pod_ms / 1e3;
        writer_open(w, NULL, '{');
        writer_time(w, "time", p->start_ms);
        writer_int(w, "seconds", seconds);
        writer_double(w, "pods", round(pod_seconds / (double)seconds * 1e3) / 1e3);
        writer_double(w, "podSeconds", pod_seconds);
        report_write_flows(w, &p->sum, false);
        report_write_events(w, &p->sum);
        writer_close(w, '}');
}

void route_days(const struct route *route, const struct request *r, const struct snapshot *v,
                const struct ledger_report *report, struct arena *a, struct answer *ret)
{
        assert(route->name == ROUTE_DAYS);
        if (!report) {
                answer_no_ledger(ret);
                return;
        }
        struct ask k = {.route = route, .query = route->query, .v = v, .a = a, .ret = ret};
        k.target = snapshot_find(v, text_of(route->ns), text_of(route->group), text_of(route->kind),
                                 text_of(route->workload));
        if (!k.target && report->periods == 0) {
                answer_not_known(&k);
                return;
        }
        struct writer w = answer_begin(ret);
        writer_open(&w, NULL, '{');
        write_metadata(&w, &k);
        writer_time(&w, "since", report->from_ms);
        writer_time(&w, "until", report->until_ms);
        writer_open(&w, "days", '[');
        for (size_t i = 0; i < report->periods; i++)
                days_write_one(&w, report, &report->period[i]);
        writer_close(&w, ']');
        if (report->damaged)
                writer_int(&w, "damagedPages", report->damaged);
        writer_close(&w, '}');
        answer_tag(ret, r->if_none_match, a);
        answer_age(v, r->at, a, ret);
}
