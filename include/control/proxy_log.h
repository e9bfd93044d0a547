/* What the log has at the start of the proxies that requests take. */
#ifndef HALFLIFE_CONTROL_PROXY_LOG_H
#define HALFLIFE_CONTROL_PROXY_LOG_H

/* Log how `what` is asked at url, where a proxy is set. url NULL: it is not asked. given: the proxy of the kubeconfig;
 * NULL: none. A proxy that is unusable is an error in the log, for requests then fail. */
void proxy_log(const char *what, const char *url, const char *given);

#endif
