/* The listener of REST and admission: a thread with its connections and its messages. http/server.h explains the calls.
 */
#ifndef HALFLIFE_HTTP_REST_LISTENER_H
#define HALFLIFE_HTTP_REST_LISTENER_H

#include "http/server.h"
#include "snapshot/snapshot_ref.h"

struct rest_listener;
int rest_listener_open(const struct rest_listener_options *o, struct snapshot_ref *views, struct rest_listener **ret,
                       struct err *err);
void rest_listener_close(struct rest_listener *d); /* NULL is fine */
const char *rest_listener_address(const struct rest_listener *d);
int rest_listener_set_certificate(struct rest_listener *d, const char *cert_pem, const char *key_pem, struct err *err);
void rest_listener_set_own_user(struct rest_listener *d, const char *user);
void rest_listener_set_admission_paths(struct rest_listener *d, const struct admission_paths *p);
void rest_listener_reviewed(struct rest_listener *d, const struct auth_key *k, enum server_verdict v);
void rest_listener_relayed(struct rest_listener *d, uint64_t ticket, const struct server_relayed *r);
void rest_listener_recalled(struct rest_listener *d, uint64_t ticket, struct learned_copy *copies, size_t count);
void rest_listener_listed_nodes(struct rest_listener *d, uint64_t ticket, struct node_table *t);
void rest_listener_tried_percentiles(struct rest_listener *d, uint64_t ticket, struct percentile_table *t);
void rest_listener_reported(struct rest_listener *d, uint64_t ticket, struct ledger_report *r);
void rest_listener_found_owner(struct rest_listener *d, uint64_t ticket, struct admission_owner *owner);
struct server_counts rest_listener_counts(const struct rest_listener *d);

#endif
