/* The door of serve/server.h: its thread, its connections, its letters. */
#ifndef HALFLIFE_HTTP_REST_LISTENER_H
#define HALFLIFE_HTTP_REST_LISTENER_H

#include "http/server.h"
#include "snapshot/snapshot_ref.h"

struct door;
int door_open(const struct door_options *o, struct slot *views, struct door **ret, struct err *err);
void door_close(struct door *d); /* NULL is fine */
const char *door_address(const struct door *d);
int door_set_certificate(struct door *d, const char *cert_pem, const char *key_pem, struct err *err);
void door_set_own_user(struct door *d, const char *user);
void door_reviewed(struct door *d, const struct auth_key *k, enum server_verdict v);
void door_relayed(struct door *d, uint64_t ticket, const struct server_relayed *r);
void door_recalled(struct door *d, uint64_t ticket, struct learned_copy *copies, size_t count);
void door_found_owner(struct door *d, uint64_t ticket, struct admission_owner *owner);
struct server_counts door_counts(const struct door *d);

#endif
