/* The parts of a controller wired as it wires them, without a server: what unit tests of several modules stand on. */
#ifndef HALFLIFE_TEST_SUPPORT_RIG_H
#define HALFLIFE_TEST_SUPPORT_RIG_H

#include "apply/applier_private.h"
#include "cache/checkpointer_private.h"
#include "learn/learner_private.h"
#include "notices/notices_private.h"
#include "safety/safety_private.h"

struct rig {
        struct loop *loop;
        struct cache cache;
        struct live_settings live;
        struct leadership *leadership;
        struct notices *notices;
        struct clock_skew *skew;
        struct checkpointer *checkpointer;
        struct safety *safety;
        struct learner *learner;
        struct applier *applier;
        struct arena plans; /* for tests that plan by themselves */
        bool nudged;        /* a pass was asked for */
};

/* A loop, an empty cache, no database. It may write; a test of writes sets their results. */
void rig_begin(struct rig *c);
void rig_follow(struct rig *c);                          /* it waits for a Lease, and writes nothing */
void rig_open_database(struct rig *c, const char *path); /* as the controller at its start */
/* It ends as by a kill: what was handed to the store is written, what was not is lost. */
void rig_kill_database(struct rig *c);
void rig_end(struct rig *c);

#endif
