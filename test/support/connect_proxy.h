/*
 * An HTTP proxy for tests: whatever host a CONNECT names, the tunnel leads to one port of loopback. So names that no
 * resolver knows are reached through it, and in no other way.
 */
#ifndef HALFLIFE_TEST_SUPPORT_CONNECT_PROXY_H
#define HALFLIFE_TEST_SUPPORT_CONNECT_PROXY_H

#include <stdint.h>

struct connect_proxy;
struct connect_proxy *connect_proxy_start(uint16_t to_port);
void connect_proxy_stop(struct connect_proxy *p); /* ends all tunnels */
uint16_t connect_proxy_port(const struct connect_proxy *p);
int connect_proxy_tunnels(const struct connect_proxy *p); /* opened since its start */
/* The head of the latest request; the caller's (mem_free). */
char *connect_proxy_heard(struct connect_proxy *p);

#endif
