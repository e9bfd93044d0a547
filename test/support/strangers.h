/*
 * Clients that send reviews with made-up owners to the admission webhook, by plain HTTP, in a thread of their own. They
 * come from addresses of this machine that are not 127.0.0.1, a hundred connections each.
 */
#ifndef HALFLIFE_TEST_SUPPORT_STRANGERS_H
#define HALFLIFE_TEST_SUPPORT_STRANGERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { STRANGERS_MOST = 1500 }; /* connections */

struct strangers {
        const char *address, *ns;
        const char *owner; /* how the names of made-up owners begin */
        int connections;   /* at most STRANGERS_MOST */
        int rate;          /* reviews a second of all; 0: as many as are answered */
        bool one;          /* there is one made-up owner; else each review has another */
        size_t padding;    /* bytes of an annotation beside the rest */
        bool near;         /* they have the API server's address, 127.0.0.1 */
        bool unending;     /* each sends the begin of a request and no more */
        /* their own, from strangers_begin on */
        pthread_t thread;
        atomic_bool over;
        _Atomic int answers;
        int asked;
        struct stranger {
                int fd; /* -1: not connected */
                bool waits;
        } stranger[STRANGERS_MOST];
};

/* s is zero but for the first fields. Aborts where it cannot begin. */
void strangers_begin(struct strangers *s);
void strangers_end(struct strangers *s);

/* An AdmissionReview of a new pod of a ReplicaSet, with one container; the caller's (mem_free). */
char *strangers_review(const char *ns, const char *owner, const char *container, size_t padding);

/* As many connections as the machine lets a process have: more than the usual 1024. */
void strangers_raise_files(void);

#endif
