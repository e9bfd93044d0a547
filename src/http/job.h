/*
 * A job: a request separated from its connection, so that another thread can answer it, even after the connection is
 * gone.
 */
#ifndef HALFLIFE_HTTP_JOB_H
#define HALFLIFE_HTTP_JOB_H

#include "base/mailbox.h"
#include "caller_share.h"
#include "gzip.h"
#include "http/server.h"
#include "rest/routes.h"

enum { REQUEST_ID_MAX = 128 };

struct job {
        struct mailbox_item item; /* in a worker's queue */
        struct job *spare;        /* the next in the list of unused jobs */
        struct arena arena;       /* holds all texts below */
        struct text target;       /* the raw request target: path and query */
        struct request request;
        struct route route;
        bool review;                 /* the body is an AdmissionReview that is not parsed yet */
        struct admission *admission; /* the parsed AdmissionReview, in place of a route; NULL: none */
        struct admission_owner *owner;
        enum admission_result admitted;
        const char *own_user;
        struct buf body;
        size_t reserved;       /* bytes of body and answer that are counted in *held */
        size_t *held;          /* the listener's count of bytes that `reserved` is part of; NULL: none */
        struct caller *caller; /* whose share `reserved` is part of; NULL: nobody's */
        bool gzip;             /* the caller accepts gzip */
        bool lately;         /* the caller was allowed by an old verdict, because the API server cannot be asked now */
        struct text client;  /* the client whose turn the job waits for, see turns.h */
        struct turns *turns; /* the queue of the worker thread that does the job */
        int64_t worked_us;   /* how long the worker thread worked on the job */
        uint64_t ticket;     /* matches an answer to the waiting request; 0: no request waits */
        const char *id;
        struct snapshot *view;
        struct learned_copy *learned;
        size_t learned_count;
        struct node_table *nodes;             /* the table that a list of nodes is made from; NULL: none */
        struct percentile_table *percentiles; /* usage at the percentiles that a what-if tries */
        bool names;                           /* the list may name workloads */
        struct ledger_report *report;         /* the report of the ledger that the answer is written from; NULL: none */
        struct answer answer;
        bool gzipped;
};

struct job *job_new(void);
void job_reset(struct job *j); /* empties the job for another request */
void job_free(struct job *j);
/* Make the answer. For an AdmissionReview, the first call parses the review and answers only an invalid one. */
void job_do(struct job *j, struct gzip *g);

#endif
