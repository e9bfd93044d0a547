/* Log at the start which proxies halflife's own HTTP requests use. */
#ifndef HALFLIFE_CONTROL_PROXY_LOG_H
#define HALFLIFE_CONTROL_PROXY_LOG_H

/* If a proxy is set, log whether HTTP requests to the server `what` at `url` use it. `url` NULL: halflife sends none
 * there, so nothing is logged. `given`: the proxy of the kubeconfig; NULL: none. An unusable proxy is logged as an
 * error, because the HTTP requests then fail. */
void proxy_log(const char *what, const char *url, const char *given);

#endif
