/*
 * The listener of load-watcher's interface, on a thread of its own, without TLS and open to every client, because
 * clients of load-watcher can show no token:
 *
 *   GET /watcher              200 and the document (load_watcher/load_document.h), or 500: no node was ever measured
 *   GET /watcher?host=NODE    200 and the document with that node alone, or 404: the document has no such node
 *   GET /watcher/health       200 while the document has a node, else 503
 *
 * A document that is five minutes old counts as one without nodes, so that a scheduler never goes by old load. Other
 * parameters are ignored; other paths get 404, other methods but HEAD 405.
 *
 * Bounds: 64 connections, beyond which a new one displaces the oldest of the client address that has most; 16 KiB of
 * request line and headers; a connection idle for 30 s is closed. An answer is sent while its document is one of the
 * last two published; then the connection ends, so that clients that read slowly keep no more documents in memory.
 */
#ifndef HALFLIFE_LOAD_WATCHER_LOAD_LISTENER_H
#define HALFLIFE_LOAD_WATCHER_LOAD_LISTENER_H

#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

struct load_document;
struct load_listener;
/* `listen` is such as "127.0.0.1:2020" or ":2020", and is not kept. ERR_INVALID, ERR_CONFLICT, ERR_IO: listening there
 * failed. */
int load_listener_open(const char *listen, struct load_listener **ret, struct err *err);
void load_listener_close(struct load_listener *l);                /* NULL is fine */
const char *load_listener_address(const struct load_listener *l); /* "127.0.0.1:41234", the bound port; l NULL: "" */
/* Answer from the document d from now on; takes over the caller's reference. `made`: when the nodes of d were read. */
void load_listener_publish(struct load_listener *l, struct load_document *d, struct mono made);
/* Answers since the start, by the first digit of the status; l NULL: none. */
void load_listener_counts(const struct load_listener *l, uint64_t ret[static 6]);

#endif
