#include "rig.h"

#include "live_defaults.h"

static void rig_note_loaded(void *arg, struct text name, struct text value)
{
        struct rig *c = arg;
        safety_load(c->safety, name, value);
        node_usage_load(c->learner, name, value);
}

static void rig_database_replaced(void *arg)
{
        struct rig *c = arg;
        safety_store(c->safety);
        node_usage_store(c->learner);
}

static void rig_changed(void *arg)
{
        struct rig *c = arg;
        c->nudged = true;
}

static const char *rig_blind(void *arg)
{
        (void)arg;
        return NULL;
}

static void rig_applies(struct rig *c)
{
        const struct applier_options o = {
                .loop = c->loop,
                .cache = &c->cache,
                .live = &c->live,
                .checkpointer = c->checkpointer,
                .skew = c->skew,
                .leadership = c->leadership,
                .notices = c->notices,
                .safety = c->safety,
                .blind = rig_blind,
        };
        c->applier = applier_new(&o);
}

static void rig_learns(struct rig *c)
{
        static const struct prometheus_options none;
        const struct learner_options o = {
                .loop = c->loop,
                .cache = &c->cache,
                .live = &c->live,
                .checkpointer = c->checkpointer,
                .skew = c->skew,
                .leadership = c->leadership,
                .notices = c->notices,
                .safety = c->safety,
                .prometheus = &none,
                .polled = rig_changed,
                .arg = c,
        };
        c->learner = learner_new(&o);
}

void rig_begin(struct rig *c)
{
        const struct checkpointer_callbacks callbacks = {
                .note = rig_note_loaded, .replaced = rig_database_replaced, .arg = c};
        *c = (struct rig){.loop = loop_new(), .live = live_defaults()};
        cache_init(&c->cache, "halflife", "halflife-system");
        c->leadership = leadership_new(false, rig_changed, c);
        c->notices = notices_new(c->loop, NULL, NULL, c->leadership, "rig");
        c->skew = clock_skew_new(c->loop);
        c->checkpointer = checkpointer_new(c->loop, &c->cache, c->skew, &c->live, NULL, &callbacks);
        c->safety = safety_new(
                &(struct safety_options){c->loop, &c->cache, &c->live, c->checkpointer, c->leadership, c->notices});
        rig_learns(c);
        rig_applies(c);
}

void rig_follow(struct rig *c)
{
        leadership_free(c->leadership);
        c->leadership = leadership_new(true, rig_changed, c);
        c->notices->leadership = c->safety->leadership = c->learner->leadership = c->applier->leadership =
                c->leadership;
}

void rig_open_database(struct rig *c, const char *path)
{
        struct err err = {0};
        c->checkpointer->database = path;
        checkpointer_open(c->checkpointer, &err);
}

void rig_kill_database(struct rig *c)
{
        (void)store_close(c->checkpointer->store, &(struct err){0});
        c->checkpointer->store = NULL;
        loop_turn(c->loop, 0); /* what the store told */
}

void rig_end(struct rig *c)
{
        (void)checkpointer_close(c->checkpointer, &(struct err){0});
        loop_turn(c->loop, 0); /* what the store told */
        checkpointer_free(c->checkpointer);
        notices_free(c->notices);
        leadership_free(c->leadership);
        applier_free(c->applier);
        learner_free(c->learner);
        safety_free(c->safety);
        arena_release(&c->plans);
        mem_free(c->skew);
        cache_release(&c->cache);
        loop_free(c->loop);
}
