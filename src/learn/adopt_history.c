/*
 * A history goes on under another name: who learns moves it, because he alone owns what was learned, and stores it and
 * the end of the old one in one transaction. Asked for by an annotation on the new Recommendation
 * (annotation_commands.c).
 */
#include <stdio.h>
#include <string.h>

#include "learner_private.h"

/* --- may it? --- */

static struct target *find_old(struct learner *learner, const struct target *t, const char *recommendation)
{
        struct target *old;
        for (size_t at = 0; (old = map_each(&learner->cache->targets, &at));)
                if (old->ns == t->ns && strcmp(old->recommendation, recommendation) == 0)
                        return old;
        return NULL;
}

static bool same_half_lives(const struct history *a, const struct history *b)
{
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (a->usage.of[r].half_life_ms != b->usage.of[r].half_life_ms)
                        return false;
        return true;
}

static int adopt_check(const struct target *t, const struct target *old, const char *name, struct err *err)
{
        if (!old || !old->histories)
                return err_set(err, ERR_NOTFOUND, "nothing was learned as '%.253s'", name);
        if (old == t)
                return err_set(err, ERR_INVALID, "it cannot adopt itself");
        if (t->dimension || old->dimension)
                return err_set(err, ERR_INVALID, "only what was learned of workloads is adopted, by workloads");
        if (old->workload || old->pods || old->busy)
                return err_set(err, ERR_INVALID, "'%.253s' still has its workload: both would learn of what one uses",
                               name);
        for (const struct history *h = old->histories; h; h = h->next) {
                const struct history *n = history_find(t, h->container);
                if (n && !same_half_lives(n, h))
                        return err_set(err, ERR_INVALID, "container '%.253s': half-lives differ", h->container);
                if (n && !usage_mergeable(&n->usage, &h->usage))
                        return err_set(err, ERR_INVALID,
                                       "container '%.253s': together they weigh more than a history can", h->container);
        }
        return 0;
}

/* --- doing --- */

static void adopt_take(struct learner *learner, struct target *t, struct history *h)
{
        struct history *n = history_find(t, h->container), **last = &t->histories;
        struct usage_room room;
        if (n) {
                while (usage_merge(&n->usage, &h->usage, &room) == ERR_NOSPACE) /* they are mergeable */
                        ingest_lend(&n->usage, &room);
                n->dirty = true;
                history_free(learner->cache, h);
                return;
        }
        while (*last)
                last = &(*last)->next;
        h->next = NULL;
        h->target = t;
        h->dirty = true;
        *last = h;
}

/* What is left of the old one goes as after its retention time, its Recommendation with it. */
static int adopt_target(struct learner *learner, struct target *t, struct target *old)
{
        int containers = 0;
        for (struct history *h; (h = old->histories); containers++) {
                old->histories = h->next;
                mem_free(h->watermark); /* of pods that are gone */
                h->watermark = NULL;
                h->watermarks = 0;
                adopt_take(learner, t, h);
        }
        imported_inherit(learner->cache, t, old);
        target_set_gone(old, 1);
        checkpointer_adopted(learner->checkpointer, t, old);
        nudge(learner->leadership);
        return containers;
}

char *adopt_judge(struct learner *learner, struct target *t, const char *name)
{
        struct target *old = find_old(learner, t, name);
        struct err err = {0};
        if (adopt_check(t, old, name, &err) < 0) {
                report_event(learner->report, t, true, "NotAdopted", err.text);
                return mem_printf("refused: %s", err.text);
        }
        char *done = mem_printf("%s: %d containers", name, adopt_target(learner, t, old));
        log_info("a history goes on under another name", KV("namespace", t->ns), KV("kind", t->kind),
                 KV("name", t->name), KV("adopted", done));
        report_event(learner->report, t, false, "Adopted", done);
        return done;
}
