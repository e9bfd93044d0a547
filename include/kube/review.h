/*
 * Who holds a token (TokenReview), and may he (SubjectAccessReview)? One question after the other, as one.
 */
#ifndef HALFLIFE_KUBE_REVIEW_H
#define HALFLIFE_KUBE_REVIEW_H

#include "kube/client.h"

struct review_question {
        const char *token;
        const char *audience;                            /* which the token has to be for; NULL: the API server's own */
        const char *verb, *group, *resource, *ns, *name; /* ns "": all namespaces; name "": any */
};

enum review_verdict {
        REVIEW_ALLOWED,
        REVIEW_UNKNOWN, /* nobody's token, or one for another audience */
        REVIEW_FORBIDDEN,
        REVIEW_UNANSWERED, /* err says why: the API server is away, or does not let us ask (ERR_DENIED) */
};

/* The texts are copied; the token is wiped once it is on its way. done is called once, not from within; the handle is
 * valid until then. */
typedef void review_done(void *arg, enum review_verdict v, const struct err *err);
struct review;
struct review *review_start(struct client *c, const struct review_question *q, review_done *done, void *arg);
void review_cancel(struct review *r); /* done is not called */

/* Whose credentials are ours (SelfSubjectReview)? user NULL: err says why it is not known. */
typedef void review_self_done(void *arg, const char *user, const struct err *err);
struct review *review_self_start(struct client *c, review_self_done *done, void *arg);

#endif
