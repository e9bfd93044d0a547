/*
 * The rules of a Lease, as in client-go, without I/O: which request to send next, and what an answer means. The lease
 * does the I/O; tests let many electors compete in simulated time.
 *
 *     elector_begin -> elector_end -> wait -> elector_begin -> …
 */
#ifndef HALFLIFE_KUBE_ELECTOR_H
#define HALFLIFE_KUBE_ELECTOR_H

#include <jansson.h>

#include "base/clock.h"
#include "kube/client.h"

enum {
        LEASE_MS = 15000,  /* other candidates wait this long after the last change they saw */
        RENEW_MS = 10000,  /* the holder gives up after this long without a successful renewal */
        TRY_MS = 2000,     /* wait between two requests */
        REQUEST_MS = 5000, /* deadline of one request */
};

enum elector_ask { ELECTOR_GET, ELECTOR_POST, ELECTOR_PUT };
enum elector_change { ELECTOR_SAME, ELECTOR_GAINED, ELECTOR_LOST };

struct elector {
        const char *ns, *name, *identity; /* owned by the caller */
        enum elector_ask ask;             /* the next request */
        enum elector_ask under_way;       /* the current request */
        bool optimistic;                  /* `ask` is a renewal by PUT without a GET before it */
        json_t *lease;                    /* the Lease as last read or written; NULL: unknown */
        struct mono seen_at;              /* when the present spec was first seen, by this process's clock */
        bool leading;
        struct mono renewed;  /* when the last successful write was sent */
        struct mono sent;     /* when the current request was sent */
        const char *note_key; /* key of the annotation that the holder keeps, owned by the caller; NULL: none */
        char *note;           /* the annotation's value for the next write; NULL: leave the annotation */
};

void elector_init(struct elector *e, const char *ns, const char *name, const char *identity);
void elector_release(struct elector *e);

/* The next request to send. *ret_body is NULL for a GET; else the caller frees it by mem_free. */
enum elector_ask elector_begin(struct elector *e, struct now now, char **ret_body);
/* Take in the error code and body of the answer. Returns whether leadership changed; *ret_wait_ms is the wait before
 * the next request. */
enum elector_change elector_end(struct elector *e, int code, struct text body, struct mono now, int64_t *ret_wait_ms);
/* Stop leading if no renewal succeeded for RENEW_MS. True if this call ended the leadership. */
bool elector_expire(struct elector *e, struct mono now);
bool elector_holds(const struct elector *e, struct mono now);
/* The annotation's value and the Lease's UID, as last seen; NULL: none. */
const char *elector_note(const struct elector *e);
const char *elector_uid(const struct elector *e);
void elector_set_note(struct elector *e, const char *note);
/* The holder's identity as last seen; "" if unknown. */
const char *elector_holder(const struct elector *e);
/* Stop leading. Returns the body of a PUT that gives the Lease up, which the caller frees by mem_free; NULL if this
 * elector does not hold the Lease. */
char *elector_resign(struct elector *e, struct now now);

#endif
