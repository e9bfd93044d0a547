/*
 * Two clocks, ours and the server's, either of which may be wrong. What is forgotten for ever goes by the earlier of
 * them; what was written down by a clock that was ahead counts from when that is seen, so that no wait lasts for the
 * year that it was wrong by, and none is cut short.
 */
#include "controller_private.h"

enum { APART_MS = 5 * MINUTE_MS };

/* The server's clock as of its last answer, carried on by one that never steps; ours where it has not told yet. */
static int64_t server_ms(const struct controller *c)
{
        struct now now = loop_now(c->loop);
        return c->server_date.ms ? c->server_date.ms + (now.mono.ns - c->server_told.ns) / 1000000 : now.wall.ms;
}

void clocks_compare(struct controller *c)
{
        struct now now = loop_now(c->loop);
        if (!c->date.ms)
                return;
        c->server_date = c->date;
        c->server_told = now.mono;
        int64_t ahead_ms = now.wall.ms - c->date.ms;
        bool apart = ahead_ms > APART_MS || ahead_ms < -APART_MS;
        if (apart && !c->clocks_apart)
                log_warn("this machine's clock and the server's are apart: windows open by this machine's",
                         KV_INT("seconds_ahead", ahead_ms / SECOND_MS));
        else if (!apart && c->clocks_apart)
                log_info("this machine's clock and the server's agree again", KV_INT("cycle", c->cycle));
        c->clocks_apart = apart;
}

int64_t clocks_earlier(const struct controller *c)
{
        int64_t ours = loop_now(c->loop).wall.ms, server = server_ms(c);
        return ours > server + APART_MS ? server : ours;
}

int64_t clocks_later(const struct controller *c)
{
        int64_t ours = loop_now(c->loop).wall.ms, server = server_ms(c);
        return server > ours ? server : ours;
}

struct wall clocks_latest(const struct controller *c)
{
        return (struct wall){clocks_later(c) + APART_MS};
}

/* Later than any clock says: it counts from now on. */
static bool pull_back(int64_t *at_ms, int64_t later_ms, int64_t most_ms)
{
        if (*at_ms <= later_ms + APART_MS + most_ms)
                return false;
        *at_ms = later_ms + most_ms;
        return true;
}

void clocks_mend(const struct controller *c, struct target *t)
{
        struct apply_state *d = &t->apply_state;
        int64_t later = clocks_later(c);
        bool mended = pull_back(&d->changed_ms, later, 0);
        mended |= pull_back(&d->followed_ms, later, 0);
        mended |= pull_back(&d->contested_ms, later, d->contest_step_ms);
        mended |= pull_back(&t->gone_ms, later, 0);
        mended |= pull_back(&t->kill_ms, later, 0);
        mended |= pull_back(&t->limit_ms, later, 0);
        if (pull_back(&d->reset_seen_ms, later, 0)) {
                d->reset_seen_ms = d->changed_ms; /* seen, of that change */
                mended = true;
        }
        if (d->guard) {
                mended |= pull_back(&d->guard->change_ms, later, 0);
                mended |= pull_back(&d->guard->kill.at.ms, later, 0);
                mended |= pull_back(&d->guard->fired_ms, later, 0);
                mended |= pull_back(&d->guard->until_ms, later, d->guard->step_ms);
        }
        if (t->published)
                (void)pull_back(&t->published->applied_ms, later, 0);
        t->apply_state_dirty |= mended;
}
