/* A changed workload under guard, without a server: what the guards' tests begin with. */
#ifndef HALFLIFE_TEST_SUPPORT_GUARDED_H
#define HALFLIFE_TEST_SUPPORT_GUARDED_H

#include "rig.h"

enum { GUARDED_PODS = 3 };
static const int64_t changed_ms = INT64_C(1800000000000);

struct guarded {
        struct rig c;
        struct profile_spec spec;
        char key[8]; /* of the profile */
        struct profile profile;
        struct workload wl, set; /* set: a ReplicaSet, for pods that want one */
        struct pod pod[GUARDED_PODS];
        struct plan plan;
        struct target t; /* the last: its key would follow */
};
/* The change was made at changed_ms and is watched for an hour; its first so many pods are ready, ours, and made then.
 */
void guarded_set(struct guarded *s, enum apply_mode mode, int pods, int64_t created_ms);
void guarded_clear(struct guarded *s);

#endif
