/*
 * What halflife check finds of the API groups that halflife needs: its own CRDs, and the metrics API.
 */
#ifndef HALFLIFE_CLI_CHECK_APIS_H
#define HALFLIFE_CLI_CHECK_APIS_H

#include "checking.h"

/* Print a line for each API group: whether the API server has the group's resources in the version that halflife needs.
 */
void check_apis(struct checking *c);

#endif
