/*
 * Reviews at the API server: which user a token belongs to (TokenReview), then whether that user may do something
 * (SubjectAccessReview). Both requests make one review.
 */
#ifndef HALFLIFE_KUBE_REVIEW_H
#define HALFLIFE_KUBE_REVIEW_H

#include "kube/client.h"

struct review_question {
        const char *token;
        const char *audience;                            /* the audience that the token needs; NULL: the API server's */
        const char *verb, *group, *resource, *ns, *name; /* ns "": all namespaces; name "": any */
};

enum review_verdict {
        REVIEW_ALLOWED,
        REVIEW_UNKNOWN, /* the token is no user's, or is for another audience */
        REVIEW_FORBIDDEN,
        REVIEW_BUSY,       /* a request of the review was never sent, because too many wait; err says so */
        REVIEW_UNANSWERED, /* err says why: the API server is unreachable, or denies halflife the review (ERR_DENIED) */
};

/* Start a review. Texts are copied; the copy of the token is wiped after sending. `done` is called once, never before
 * this function returns; the handle is valid until `done`. */
typedef void review_done(void *arg, enum review_verdict v, const struct err *err);
struct review;
struct review *review_start(struct client *c, const struct review_question *q, review_done *done, void *arg);
void review_cancel(struct review *r); /* done is not called */

/* Find the user of halflife's own credentials (SelfSubjectReview). user NULL: unknown, and err says why. */
typedef void review_self_done(void *arg, const char *user, const struct err *err);
struct review *review_self_start(struct client *c, review_self_done *done, void *arg);

#endif
