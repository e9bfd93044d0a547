#include "core/fuse.h"

#include "base/clock.h"

int fuse_count_within(const int64_t *at_ms, int count, int64_t now_ms)
{
        int within = 0;
        for (int i = 0; i < count; i++)
                within += at_ms[i] > now_ms - HOUR_MS;
        return within;
}

bool fuse_blows(int within, int guards)
{
        return guards > 0 && within > guards;
}

/* Nothing is said: of one that said otherwise before somebody took it away; another Lease knows nothing yet. */
static enum fuse_deed when_silent(const struct fuse_facts *f)
{
        if (f->blown)
                return f->shown ? FUSE_MEND : FUSE_WRITE;
        return FUSE_AGREES;
}

static enum fuse_deed when_reset(const struct fuse_facts *f, int64_t at_ms)
{
        bool known =
                f->reset_ms > 0 && at_ms / SECOND_MS == f->reset_ms / SECOND_MS; /* the Lease tells it in seconds */
        if (!f->blown)
                return at_ms > f->now_ms ? FUSE_DATE : FUSE_AGREES;
        return !known && (at_ms >= f->blown_ms || f->blown_ms > f->now_ms) ? FUSE_MEND : FUSE_WRITE;
}

enum fuse_deed fuse_judge(const struct fuse_facts *f, enum fuse_word word, int64_t at_ms)
{
        if (word == FUSE_NOTHING)
                return when_silent(f);
        if (word == FUSE_RESET)
                return when_reset(f, at_ms);
        if (f->blown)
                return FUSE_AGREES;
        bool before = f->reset_ms >= at_ms || (f->shown && at_ms > f->now_ms);
        return f->reset_ms > 0 && before ? FUSE_REPEAT : FUSE_TAKE;
}
