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
/* Whether request v may join the queue: its client must have fewer requests waiting than places are free. So one client
 * leaves half of the places to others, and each further client half of what is left. */
bool turns_have_room(const struct turns *t, const struct http_request *v);
/* Where all places are taken and v's client has none, return the request to give up for v: the newest of the client
 * that has most. NULL: there is a place, v's client has one, or no client has more than one. */
struct http_request *turns_displaced(const struct turns *t, const struct http_request *v);
void turns_join(struct turns *t, struct http_request *v); /* a suspended request waits for its turn */
void turns_leave(struct http_request *v);                 /* v waits no more; nothing is done where v did not wait */
/* The thread has finished the job `done`: give it the next request. */
void turns_next(struct turns *t, const struct job *done, struct mono now);

#endif
