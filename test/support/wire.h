/* Bytes as they are on a socket of 127.0.0.1: what a client library would not send, or not so slowly. */
#ifndef HALFLIFE_TEST_SUPPORT_WIRE_H
#define HALFLIFE_TEST_SUPPORT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A limit against hanging alone. */
enum { WIRE_PATIENCE_MS = 120000 };

int wire_open(const char *address); /* "127.0.0.1:4711"; aborts where it cannot */
/* The same from another address of this machine: from 2 is 127.0.0.2, from 258 is 127.0.1.2; at most 65534. */
int wire_open_from(const char *address, unsigned from);
bool wire_send(int fd, const char *bytes, size_t len); /* false: the other side is gone */
bool wire_say(int fd, const char *text);
/* What comes until the text is there, the end, or the time is over; the caller's. text NULL: until the end. */
char *wire_hear(int fd, const char *text, int64_t timeout_ms, bool *ret_ended);
size_t wire_count(const char *text, const char *part);

#endif
