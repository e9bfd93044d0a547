#include "notices_private.h"

struct notices *notices_new(struct loop *l, struct client *c, struct access *a, const struct leadership *leadership,
                            const char *identity)
{
        struct notices *notices = MEM_NEW(struct notices);
        notices->loop = l;
        notices->access = a;
        notices->leadership = leadership;
        notices->events = event_source_new(c, identity);
        return notices;
}

void notices_free(struct notices *notices)
{
        if (!notices)
                return;
        loop_timer_stop(notices->loop, &notices->outage_timer);
        event_source_free(notices->events);
        mem_free(notices);
}

void notices_tick(struct notices *notices)
{
        event_tick(notices->events, loop_now(notices->loop));
        refusal_tick(notices);
}

void notice_cycle_begins(struct notices *notices)
{
        notices->cycle++;
}

void notice_cycle_ends(struct notices *notices)
{
        notices->cycle_ended = true;
}

uint64_t notice_cycle(const struct notices *notices)
{
        return notices->cycle;
}
