#include "report_private.h"

struct report *report_new(struct loop *l, struct client *c, struct access *a, const struct leadership *leadership,
                          const char *identity)
{
        struct report *report = MEM_NEW(struct report);
        report->loop = l;
        report->access = a;
        report->leadership = leadership;
        report->events = event_source_new(c, identity);
        return report;
}

void report_free(struct report *report)
{
        if (!report)
                return;
        loop_timer_stop(report->loop, &report->outage_timer);
        event_source_free(report->events);
        mem_free(report);
}

void report_tick(struct report *report)
{
        event_tick(report->events, loop_now(report->loop));
        refusal_tick(report);
}

void report_cycle_begins(struct report *report)
{
        report->cycle++;
}

void report_cycle_ends(struct report *report)
{
        report->cycle_ended = true;
}

uint64_t report_cycle(const struct report *report)
{
        return report->cycle;
}
