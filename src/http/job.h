/*
 * One request cut loose from its connection, so that another thread can work on it, and go on when nobody waits for it
 * any more.
 */
#ifndef HALFLIFE_HTTP_JOB_H
#define HALFLIFE_HTTP_JOB_H

#include "gzip.h"
#include "http/server.h"
#include "rest/routes.h"

enum { REQUEST_ID_MAX = 128 };

struct job {
        struct job *next;
        struct arena arena; /* of all texts below */
        struct text target; /* the request's, as it came: path and query */
        struct request request;
        struct route route;
        bool review;                 /* the body is an AdmissionReview that is still to be read */
        struct admission *admission; /* instead of the route, once it was read; NULL */
        struct admission_owner *owner;
        enum admission_result admitted;
        const char *own_user;
        struct buf body;
        size_t reserved; /* of what the listener has for bodies */
        size_t *purse;   /* where it was taken from; NULL: nowhere */
        bool gzip;       /* the caller takes it */
        bool lately;     /* he was allowed a while ago, and nobody can be asked now */
        uint64_t ticket; /* 0: nobody waits */
        const char *id;
        struct snapshot *view;
        struct learned_copy *learned;
        size_t learned_count;
        struct answer answer;
        bool gzipped;
};

struct job *job_new(void);
void job_reset(struct job *j); /* ready for another request */
void job_free(struct job *j);
/* Make the answer; of a review read it first, and where that is one make none yet. */
void job_do(struct job *j, struct gzip *g);

#endif
