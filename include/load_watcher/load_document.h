/*
 * The load of all nodes as one JSON document, as the clients of load-watcher decode it: the plug-ins of
 * kubernetes-sigs/scheduler-plugins that are called Trimaran. Made on the loop once a cycle, immutable from then on,
 * and shared with the thread that sends it. References are counted.
 *
 *   {"timestamp":…,"window":{"duration":"15m","start":…,"end":…},"source":"halflife","data":{"NodeMetricsMap":{
 *     "NODE":{"metrics":[{"name":"","type":"CPU","operator":"AVG","rollup":"15m","value":48.5},…],…},…}}}
 *
 * Times are seconds since 1970. timestamp is when the document was made, window.end the oldest of the nodes' newest
 * sample times, so that a scheduler adds what it has placed on any node since then.
 *
 * Values are per cent of the node's capacity, with at most six decimals and no exponent, because that client's decoder
 * misreads 17 and more. Their order is CPU AVG, STD, Latest, then the same of Memory, because plug-ins take the first
 * of AVG and Latest, or the last. A node with one sample has Latest alone, and STD needs five samples. A node that was
 * silent for five minutes is left out.
 */
#ifndef HALFLIFE_LOAD_WATCHER_LOAD_DOCUMENT_H
#define HALFLIFE_LOAD_WATCHER_LOAD_DOCUMENT_H

#include "base/clock.h"
#include "base/text.h"

struct cache;

struct load_document;
struct load_document *load_document_new(const struct cache *w, struct wall now); /* with one reference, the caller's */
struct load_document *load_document_hold(struct load_document *d);               /* any thread, like all that follow */
void load_document_drop(struct load_document *d);                                /* NULL: does nothing */

size_t load_document_nodes(const struct load_document *d); /* how many nodes it has */
/* The whole document; valid while a reference is held. */
struct text load_document_whole(const struct load_document *d);
/* The same with one node alone; the caller frees it. NULL: it does not have that node. */
char *load_document_one(const struct load_document *d, struct text node, size_t *ret_len);
/* The same with no node; the caller frees it. */
char *load_document_none(const struct load_document *d, size_t *ret_len);

#endif
