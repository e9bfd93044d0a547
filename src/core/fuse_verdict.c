#include "core/fuse_verdict.h"

#include <string.h>

#include "base/clock.h"

enum { OF_ONE_NAMESPACE = 2 };

/* --- counting --- */

bool fuse_is_recent(const struct fuse_guard *g, int64_t now_ms)
{
        return g->at_ms > now_ms - HOUR_MS;
}

static bool same_namespace(const struct fuse_guard *a, const struct fuse_guard *b)
{
        size_t i = 0;
        while (a->name[i] && a->name[i] != '/' && a->name[i] == b->name[i])
                i++;
        return a->name[i] == b->name[i];
}

bool fuse_counts(enum fuse_scope scope, const struct fuse_guard *of, const struct fuse_guard *g)
{
        if (g->reach < scope)
                return false;
        if (scope == FUSE_CLUSTER)
                return true;
        return *of->profile && strcmp(of->profile, g->profile) == 0 && (scope == FUSE_PROFILE || same_namespace(of, g));
}

bool fuse_blows(int within, int guards)
{
        return guards > 0 && within > guards;
}

enum fuse_scope fuse_count_guard(struct fuse_guard *g, const struct fuse_guard *recent, int count, int guards)
{
        int most = guards < OF_ONE_NAMESPACE ? guards : OF_ONE_NAMESPACE;
        g->reach = FUSE_NOWHERE;
        for (enum fuse_scope scope = *g->profile ? FUSE_SHARE : FUSE_CLUSTER; scope <= FUSE_CLUSTER; scope++) {
                int within = 0, of_namespace = 0;
                for (int i = 0; i < count; i++) {
                        bool counts = fuse_counts(scope, g, &recent[i]);
                        within += counts;
                        of_namespace += counts && same_namespace(g, &recent[i]);
                }
                if (scope > FUSE_SHARE && of_namespace >= most)
                        return FUSE_NOWHERE;
                g->reach = scope;
                if (fuse_blows(within + 1, guards))
                        return scope;
        }
        return FUSE_NOWHERE;
}

bool fuse_of_profile_holds(int64_t blown_ms, bool same_generation, int64_t reset_ms, int64_t now_ms)
{
        bool reset = reset_ms > 0 && (blown_ms <= reset_ms || blown_ms > now_ms);
        return same_generation && !reset;
}

/* --- what the Lease says --- */

/* The Lease has no annotation. If this same Lease had one that said the fuse is blown, a person removed it as a reset.
 * A new Lease has none yet. */
static enum fuse_action when_silent(const struct fuse_facts *f)
{
        if (f->blown)
                return f->shown ? FUSE_MEND : FUSE_WRITE;
        return FUSE_AGREES;
}

static enum fuse_action when_reset(const struct fuse_facts *f, int64_t at_ms)
{
        bool known = f->reset_ms > 0 && at_ms / SECOND_MS == f->reset_ms / SECOND_MS; /* in the Lease: whole seconds */
        if (!f->blown && at_ms > f->now_ms)
                return FUSE_DATE;
        if (!f->blown)
                return at_ms / SECOND_MS > f->reset_ms / SECOND_MS ? FUSE_HEED : FUSE_AGREES;
        return !known && (at_ms >= f->blown_ms || f->blown_ms > f->now_ms) ? FUSE_MEND : FUSE_WRITE;
}

enum fuse_action fuse_judge(const struct fuse_facts *f, enum fuse_word word, int64_t at_ms)
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
