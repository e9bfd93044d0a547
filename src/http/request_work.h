/*
 * The work on an HTTP request once all of it is read. The listener's thread does it, or a worker thread (turns.h), the
 * controller's loop or the halflife that learns. Afterwards the request has its answer, or waits for one of these in
 * STEP_AWAY.
 */
#ifndef HALFLIFE_HTTP_REQUEST_WORK_H
#define HALFLIFE_HTTP_REQUEST_WORK_H

#include "rest_listener_private.h"

void http_request_work(struct http_request *v);
void http_request_work_admission(struct http_request *v);

/* Each of these functions hands to a waiting request what it waited for, and goes on with it. */
void http_request_worked(struct http_request *v);
void http_request_recalled(struct http_request *v, struct learned_copy *copies, size_t count);
void http_request_listed_nodes(struct http_request *v, struct node_table *t);            /* takes over one reference */
void http_request_tried_percentiles(struct http_request *v, struct percentile_table *t); /* takes a reference too */
void http_request_reported(struct http_request *v, struct ledger_report *r);             /* takes over the report */
void http_request_relayed(struct http_request *v, const struct server_relayed *r);       /* copies *r */
bool http_request_wants_owner(const struct http_request *v);                             /* v waits for a pod's owner */
/* Takes over `owner`; NULL: no owner was found, or none in time. */
void http_request_found_owner(struct http_request *v, struct admission_owner *owner);

#endif
