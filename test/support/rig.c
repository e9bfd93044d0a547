#include "rig.h"

static void rig_note_loaded(void *arg, struct text name, struct text value)
{
        struct rig *c = arg;
        if (text_is(name, "fuse"))
                fuse_load(c, value);
        else if (text_is(name, "budget"))
                budget_load(c, value);
}

static void rig_database_replaced(void *arg)
{
        struct rig *c = arg;
        budget_store(c);
        fuse_store(c);
}

static void rig_changed(void *arg)
{
        struct rig *c = arg;
        c->nudged = true;
}

void rig_begin(struct rig *c)
{
        const struct checkpointer_callbacks callbacks = {
                .note = rig_note_loaded, .replaced = rig_database_replaced, .arg = c};
        *c = (struct rig){.loop = loop_new()};
        cache_init(&c->cache, "halflife", "halflife-system");
        c->leadership = leadership_new(false, rig_changed, c);
        c->report = report_new(c->loop, NULL, NULL, c->leadership, "rig");
        c->skew = clock_skew_new(c->loop);
        c->checkpointer = checkpointer_new(c->loop, &c->cache, c->skew, &c->options.live, NULL, &callbacks);
}

void rig_follow(struct rig *c)
{
        leadership_free(c->leadership);
        c->leadership = leadership_new(true, rig_changed, c);
        c->report->leadership = c->leadership;
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
        checkpointer_free(c->checkpointer);
        loop_turn(c->loop, 0);
        report_free(c->report);
        leadership_free(c->leadership);
        for (size_t i = 0; i < c->spendings; i++)
                mem_free(c->spent[i].profile);
        mem_free(c->spent);
        fuse_release(&c->fuse);
        arena_release(&c->plans);
        mem_free(c->skew);
        cache_release(&c->cache);
        loop_free(c->loop);
}
