/* What the log has at the start of the proxies that requests take. */
#ifndef HALFLIFE_CONTROL_PROXY_LOG_H
#define HALFLIFE_CONTROL_PROXY_LOG_H

#include "parts.h"

/* Log how the API server, Prometheus and the upstream are asked, where a proxy is set. */
void proxy_log(const struct parts *p);

#endif
