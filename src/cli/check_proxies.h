#ifndef HALFLIFE_CLI_CHECK_PROXIES_H
#define HALFLIFE_CLI_CHECK_PROXIES_H

#include "checking.h"

/* Print through which proxies the API server, Prometheus and an upstream are asked. */
void check_proxies(struct checking *c);

#endif
