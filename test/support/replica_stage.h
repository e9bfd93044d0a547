/* halflife that learns in the demo's cluster, and a replica beside it: what tests of replicas begin with. */
#ifndef HALFLIFE_TEST_SUPPORT_REPLICA_STAGE_H
#define HALFLIFE_TEST_SUPPORT_REPLICA_STAGE_H

#include "halflife.h"

struct replica_stage {
        struct fake *fake;
        struct halflife *learner, *replica;
        char *learner_address, *address; /* address: of the replica */
};

/* One more halflife serve. upstream_url, upstream_ca: NULL: not set. */
struct halflife *replica_stage_serve(const struct replica_stage *s, const char *upstream_url, const char *upstream_ca);
/* One profile halves CPU until something is learned, at deploys. upstream: the replica asks the one that learns. Waits
 * until both know the cluster; aborts the test where they do not. */
void replica_stage_begin(struct replica_stage *s, bool upstream);
/* 0: the replica ended as it should; else its log is printed. The one that learns is killed where it still runs. */
int replica_stage_end(struct replica_stage *s);

#endif
