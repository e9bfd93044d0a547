/*
 * Adopting moves the histories of a target whose workload is gone to another target, for instance after a rename. Only
 * the halflife that learns adopts histories, because it alone owns them. It stores the new histories and the end of the
 * old ones in one transaction. An annotation on the new Recommendation asks for the adoption
 * (annotation_command_run.c).
 */
#include <stdio.h>
#include <string.h>

#include "base/noun.h"
#include "learner_private.h"

/* --- checks --- */

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
                return err_set(err, ERR_NOTFOUND,
                               "there is no history of '%.253s': nothing was learned under that name", name);
        if (old == t)
                return err_set(err, ERR_INVALID, "a workload cannot adopt itself");
        if (!t->profile) /* without a profile, its Recommendation is deleted soon, and the adopted histories with it */
                return err_set(err, ERR_INVALID, "no profile selects the workload");
        if (t->dimension || old->dimension)
                return err_set(err, ERR_INVALID, "only workloads can adopt, and only histories of workloads");
        if (old->workload || old->pods || old->busy)
                return err_set(err, ERR_INVALID, "'%.253s' still has its workload, which keeps its histories", name);
        for (const struct history *h = old->histories; h; h = h->next) {
                const struct history *n = history_find(t, h->container);
                if (n && !same_half_lives(n, h))
                        return err_set(err, ERR_INVALID, "container '%.253s': half-lives differ", h->container);
                if (n && !usage_mergeable(&n->usage, &h->usage))
                        return err_set(err, ERR_INVALID,
                                       "container '%.253s': the histories together exceed the weight that one history "
                                       "can hold",
                                       h->container);
        }
        return 0;
}

/* --- moving the histories --- */

static void adopt_take(struct learner *learner, struct target *t, struct history *h)
{
        struct history *n = history_find(t, h->container);
        struct usage_room room;
        if (!n) {
                history_attach(t, h);
                return;
        }
        while (usage_merge(history_usage(n), &h->usage, &room) ==
               ERR_NOSPACE) /* no other error is possible, because adopt_check has asked usage_mergeable */
                ingest_lend(history_usage(n), &room);
        history_learned(n);
        history_free(learner->cache, h);
}

/* Move old's histories to t. The old target and its Recommendation are then deleted, as if old's retention time had
 * ended. */
static int adopt_target(struct learner *learner, struct target *t, struct target *old)
{
        int containers = 0;
        for (struct history *h; (h = history_detach(old)); containers++)
                adopt_take(learner, t, h);
        imported_inherit(learner->cache, t, old);
        limit_harms_inherit(learner->cache, t, old);
        target_record_changed(t);
        target_set_gone(old, 1);
        checkpointer_adopted(learner->checkpointer, t, old);
        schedule_pass(learner->leadership);
        return containers;
}

char *adopt_judge(struct learner *learner, struct target *t, const char *name)
{
        struct target *old = find_old(learner, t, name);
        struct err err = {0};
        if (adopt_check(t, old, name, &err) < 0) {
                notice_event(learner->notices, t, true, "NotAdopted", err.text);
                return mem_printf("refused: %s", err.text);
        }
        char *done = mem_printf("%s: %s", name, NOUN_COUNT(adopt_target(learner, t, old), "container"));
        log_info("a workload adopted the histories of another", KV("namespace", t->ns), KV("kind", t->kind),
                 KV("name", t->name), KV("adopted", done));
        notice_event(learner->notices, t, false, "Adopted", done);
        return done;
}
