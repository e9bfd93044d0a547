/* What the log has at the start of the proxies that requests take. */
#ifndef HALFLIFE_CONTROL_PROXY_LOG_H
#define HALFLIFE_CONTROL_PROXY_LOG_H

/* If a proxy is set, log whether requests to `what` at url use it. url NULL: there are no such requests. given: the
 * proxy of the kubeconfig; NULL: none. An unusable proxy is logged as an error, because requests then fail. */
void proxy_log(const char *what, const char *url, const char *given);

#endif
