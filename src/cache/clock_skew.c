/*
 * This machine's clock and the API server's; either may be wrong. To forget something for good, halflife uses the
 * earlier clock. If a stored time turns out to be ahead, it is set to the present. So a wait neither lasts the year by
 * which a clock was wrong, nor ends early.
 */
#include "cache/clock_skew.h"

#include "base/log.h"
#include "cache/guard_state.h"

enum { APART_MS = 5 * MINUTE_MS };

struct clock_skew {
        const struct loop *loop;
        struct wall server; /* the last Date in an answer of the server; ms 0: none yet */
        struct mono told;   /* when that answer came */
        bool apart;
};

/* The server's time: its last Date plus the monotonic time since; before the first Date, this machine's time. */
static int64_t clock_skew_server_ms(const struct clock_skew *s)
{
        struct now now = loop_now(s->loop);
        return s->server.ms ? s->server.ms + (now.mono.ns - s->told.ns) / 1000000 : now.wall.ms;
}

struct clock_skew *clock_skew_new(const struct loop *l)
{
        struct clock_skew *s = MEM_NEW(struct clock_skew);
        s->loop = l;
        return s;
}

void clock_skew_compare(struct clock_skew *s, struct wall date, uint64_t cycle)
{
        struct now now = loop_now(s->loop);
        if (!date.ms)
                return;
        s->server = date;
        s->told = now.mono;
        int64_t ahead_ms = now.wall.ms - date.ms;
        bool apart = ahead_ms > APART_MS || ahead_ms < -APART_MS;
        if (apart && !s->apart)
                log_warn("this machine's clock and the API server's differ: windows open by this machine's",
                         KV_INT("seconds_ahead", ahead_ms / SECOND_MS));
        else if (!apart && s->apart)
                log_info("this machine's clock and the API server's agree again", KV_INT("cycle", cycle));
        s->apart = apart;
}

bool clock_skew_is_apart(const struct clock_skew *s)
{
        return s->apart;
}

int64_t clock_skew_earlier(const struct clock_skew *s)
{
        int64_t ours = loop_now(s->loop).wall.ms, server = clock_skew_server_ms(s);
        return ours > server + APART_MS ? server : ours;
}

int64_t clock_skew_later(const struct clock_skew *s)
{
        int64_t ours = loop_now(s->loop).wall.ms, server = clock_skew_server_ms(s);
        return server > ours ? server : ours;
}

struct wall clock_skew_judging(const struct clock_skew *s, struct wall date)
{
        struct wall now = loop_now(s->loop).wall;
        return date.ms > now.ms && date.ms - now.ms <= DAY_MS ? date : now;
}

struct wall clock_skew_latest(const struct clock_skew *s)
{
        return (struct wall){clock_skew_later(s) + APART_MS};
}

/* Set a time more than most_ms and APART_MS ahead of the later clock back to most_ms ahead. Returns whether the time
 * was so far ahead. */
static bool clock_skew_pull_back(int64_t *at_ms, int64_t later_ms, int64_t most_ms)
{
        if (*at_ms <= later_ms + APART_MS + most_ms)
                return false;
        *at_ms = later_ms + most_ms;
        return true;
}

void clock_skew_clamp(const struct clock_skew *s, struct target *t)
{
        struct apply_state *d = &t->apply_state;
        int64_t later = clock_skew_later(s);
        bool changed = clock_skew_pull_back(&d->changed_ms, later, 0);
        changed |= clock_skew_pull_back(&d->followed_ms, later, 0);
        changed |= clock_skew_pull_back(&d->contested_ms, later, d->contest_step_ms);
        changed |= clock_skew_pull_back(&t->gone_ms, later, 0);
        changed |= clock_skew_pull_back(&t->kill_ms, later, 0);
        for (int i = 0; t->limit_harms && i < t->limit_harms->rows; i++)
                changed |= clock_skew_pull_back(&t->limit_harms->row[i].kill.at_ms, later, 0);
        if (clock_skew_pull_back(&d->reset_seen_ms, later, 0)) {
                d->reset_seen_ms = d->changed_ms; /* the reset came after that change, and no better time is known */
                changed = true;
        }
        if (d->guard) {
                changed |= clock_skew_pull_back(&d->guard->change_ms, later, 0);
                changed |= clock_skew_pull_back(&d->guard->kill.at.ms, later, 0);
                changed |= clock_skew_pull_back(&d->guard->fired_ms, later, 0);
                changed |= clock_skew_pull_back(&d->guard->until_ms, later, d->guard->step_ms);
        }
        if (t->published)
                (void)clock_skew_pull_back(&t->published->status.applied_ms, later, 0);
        t->apply_state_dirty |= changed;
}
