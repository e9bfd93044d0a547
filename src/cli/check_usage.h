/*
 * What halflife check finds of present usage: samples that halflife run would leave out or refuse, and why.
 */
#ifndef HALFLIFE_CLI_CHECK_USAGE_H
#define HALFLIFE_CLI_CHECK_USAGE_H

#include "checking.h"

/* If metrics-server is the usage source, read the usage of all pods once, and print what is wrong with it. */
void check_usage(struct checking *c);
/* Read the usage of all nodes once, from the usage source of the settings, and print what is wrong with it. */
void check_node_usage(struct checking *c);

#endif
