/*
 * The load of all nodes as one JSON document, as the clients of load-watcher decode it: the plug-ins of
 * kubernetes-sigs/scheduler-plugins that are called Trimaran. A document is made on the loop once a cycle, is immutable
 * from then on, and is shared with the thread that sends it. References are counted.
 *
 *   {"timestamp":…,"window":{"duration":"15m","start":…,"end":…},"source":"halflife","data":{"NodeMetricsMap":{
 *     "NODE":{"metrics":[{"name":"","type":"CPU","operator":"AVG","rollup":"15m","value":48.5},…],…},…}}}
 *
 * Times are seconds since 1970. `timestamp` is when the document was made. `window.end` is the oldest of the nodes'
 * newest sample times, so that a scheduler adds the load of pods that it has placed on any node since then.
 *
 * Values are per cent of the node's capacity, with at most six decimals and no exponent, because the decoder of
 * load-watcher's client misreads 17 decimals and more. A node's values are CPU AVG, STD, Latest, then Memory AVG, STD,
 * Latest: plug-ins take the first of AVG and Latest, or the last. A node with one sample has Latest alone, and STD
 * needs five samples. A node without samples for five minutes is left out.
 */
#ifndef HALFLIFE_LOAD_WATCHER_LOAD_DOCUMENT_H
#define HALFLIFE_LOAD_WATCHER_LOAD_DOCUMENT_H

#include "base/clock.h"
#include "base/text.h"

struct cache;

struct load_document;
struct load_document *load_document_new(const struct cache *w, struct wall now); /* the caller owns its one reference */
struct load_document *load_document_hold(struct load_document *d); /* any thread, like all functions that follow */
void load_document_drop(struct load_document *d);                  /* NULL: does nothing */

size_t load_document_nodes(const struct load_document *d); /* the number of nodes in it */
/* The whole document; valid while a reference is held. */
struct text load_document_whole(const struct load_document *d);
/* The document with one node alone. The caller frees the text. NULL: the document does not have that node. */
char *load_document_one(const struct load_document *d, struct text node, size_t *ret_len);
/* The document with no node. The caller frees the text. */
char *load_document_none(const struct load_document *d, size_t *ret_len);

#endif
