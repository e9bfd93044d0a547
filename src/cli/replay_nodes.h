/*
 * The part of halflife replay that judges requests by nodes: reads the options, asks replay/node_pack for every policy
 * and draw, and prints.
 */
#ifndef HALFLIFE_SRC_CLI_REPLAY_NODES_H
#define HALFLIFE_SRC_CLI_REPLAY_NODES_H

#include "cli/options.h"
#include "replay/node_pack.h"
#include "table.h"

struct replay_nodes {
        struct node_size size;
        int draws;
        struct map owners;  /* struct replay_owner by name of the entity */
        struct table table; /* the results; {0}: no trace was added yet */
};
void replay_nodes_release(struct replay_nodes *n);

/* Read the nodes' size "CORES,MEMORY", such as "16,64Gi", and the number of draws; NULL: 5. Returns 0, or ERR_INVALID.
 */
int replay_nodes_read(struct replay_nodes *n, const char *size, const char *draws, struct err *err);
/* Read the owners' requests, from files of lines entity,cpu_cores,memory_bytes; of an entity, the last line counts.
 * Returns 0, ERR_INVALID, or ERR_IO. */
int replay_nodes_read_owners(struct replay_nodes *n, const struct option_given *files, struct err *err);

/* Add the rows of a trace to the table. */
void replay_nodes_add(struct replay_nodes *n, const struct replay *r, const char *trace);
/* Print the table, and below it what its figures mean. */
void replay_nodes_print(const struct replay_nodes *n);
/* The rows of one trace as a JSON object, the caller's reference. */
json_t *replay_nodes_json(const struct replay_nodes *n, const struct replay *r);

#endif
