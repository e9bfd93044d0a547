/*
 * The rules of a Lease (client-go's), without any I/O: what to ask next, and what an answer means. The lease puts it on
 * the wire; tests let many contend in a time of their own.
 *
 *     elector_begin -> elector_end -> wait -> elector_begin -> …
 */
#ifndef HALFLIFE_KUBE_ELECTOR_H
#define HALFLIFE_KUBE_ELECTOR_H

#include <jansson.h>

#include "base/clock.h"
#include "kube/client.h"

enum {
        LEASE_MS = 15000,  /* others wait this long after the last change they saw */
        RENEW_MS = 10000,  /* without success for this long: not the holder any more */
        TRY_MS = 2000,     /* between tries */
        REQUEST_MS = 5000, /* longest for one request */
};

enum elector_ask { ELECTOR_GET, ELECTOR_POST, ELECTOR_PUT };
enum elector_change { ELECTOR_SAME, ELECTOR_GAINED, ELECTOR_LOST };

struct elector {
        const char *ns, *name, *identity; /* the caller's */
        enum elector_ask ask;
        enum elector_ask under_way;
        bool optimistic;     /* this PUT is without a GET before it */
        json_t *lease;       /* as read or written last; NULL: none known */
        struct mono seen_at; /* when its spec was first seen so, by our clock */
        bool leading;
        struct mono renewed; /* when the last request that succeeded was sent */
        struct mono sent;
        const char *note_key; /* an annotation that its owner keeps on it, the caller's; NULL: none */
        char *note;           /* what it is to say with the next write; NULL: what it says */
};

void elector_init(struct elector *e, const char *ns, const char *name, const char *identity);
void elector_release(struct elector *e);

/* The next request; *ret_body (NULL for a GET) is the caller's, by mem_free. */
enum elector_ask elector_begin(struct elector *e, struct now now, char **ret_body);
/* Its outcome: code and body of the answer. What changed by it; *ret_wait_ms until the next request. */
enum elector_change elector_end(struct elector *e, int code, struct text body, struct mono now, int64_t *ret_wait_ms);
/* True at any time when the time without success has just run out: it was the holder and is no more. */
bool elector_expire(struct elector *e, struct mono now);
bool elector_holds(const struct elector *e, struct mono now);
/* What the annotation says, and whose it is, as seen last; NULL: nothing. */
const char *elector_note(const struct elector *e);
const char *elector_uid(const struct elector *e);
void elector_set_note(struct elector *e, const char *note);
/* "" unknown */
const char *elector_holder(const struct elector *e);
/* The body of a PUT that gives the lease up, mem_free'd by the caller; NULL when it is not ours. Nothing is held after.
 */
char *elector_resign(struct elector *e, struct now now);

#endif
