/*
 * What halflife check finds of usage in the metrics API: what run would leave out or refuse, and why.
 */
#ifndef HALFLIFE_CLI_CHECK_USAGE_H
#define HALFLIFE_CLI_CHECK_USAGE_H

#include "checking.h"

/* If metrics-server is the usage source, read the usage of all pods once, and print what is wrong with it. */
void check_usage(struct checking *c);
/* The same of nodes, from whichever source it is read. */
void check_node_usage(struct checking *c);

#endif
