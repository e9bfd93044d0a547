/*
 * Slow requests wait for their turn at the thread that works on them, one at a time. Of the clients that wait, the one
 * that had the least of the thread's time in the last seconds is next, so that no client delays another for long. A
 * client is the caller of a token that was accepted, else an address.
 */
#ifndef HALFLIFE_HTTP_TURNS_H
#define HALFLIFE_HTTP_TURNS_H

#include "rest_listener_private.h"

int turns_start(struct turns *t, void (*done)(void *arg, struct job *j), struct rest_listener *d, struct err *err);
void turns_stop(struct turns *t); /* finishes the thread's current job; {0} is fine */
/* Whether one more may wait. A client may have as many as are left free, so it leaves half of them to others;
 * each further client that does the same halves what is left. */
bool turns_have_room(const struct turns *t, const struct http_request *v);
/* The request to give up for v where all places are taken and v's client has none. It is the newest of the client that
 * has most. NULL: none has more than one. */
struct http_request *turns_displaced(const struct turns *t, const struct http_request *v);
void turns_join(struct turns *t, struct http_request *v); /* a suspended request waits for its turn */
void turns_leave(struct http_request *v);                 /* it is given up; nothing happens where it does not wait */
/* The thread has worked on a job: the next may go to it. */
void turns_next(struct turns *t, const struct job *done, struct mono now);

#endif
