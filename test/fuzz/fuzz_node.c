/*
 * Nodes: any text gives a view, the same twice, or one clear error.
 */
#include "fuzz.h"
#include "objects/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct arena a = {0};
        struct node_view first, second;
        struct err err = {0};
        struct text in = {(const char *)data, size};
        int rc = decode_node(in, &a, &first, &err);
        MUST(rc == 0 || rc == ERR_INVALID || rc == ERR_TOOBIG);
        MUST(rc == 0 || (err.code == rc && err.text[0]));
        if (rc == 0) {
                MUST(decode_node(in, &a, &second, NULL) == 0);
                MUST(first.ready == second.ready && first.turned.ms == second.turned.ms);
                MUST(first.tells || !first.ready);
                for (int r = 0; r < RESOURCES; r++) {
                        MUST(!first.allocatable[r].set || first.allocatable[r].value >= 0);
                        MUST(!first.capacity[r].set || first.capacity[r].value >= 0);
                }
                MUST(first.taints == second.taints && first.taints <= VIEW_TAINTS);
        }
        arena_release(&a);
        return 0;
}
