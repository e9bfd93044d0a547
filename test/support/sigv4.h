/*
 * AWS Signature Version 4, from the side of the server: is a request signed with these keys? Made from the published
 * description alone, and held to the published vectors (test/unit/prometheus/test_authorization.c).
 */
#ifndef HALFLIFE_TEST_SUPPORT_SIGV4_H
#define HALFLIFE_TEST_SUPPORT_SIGV4_H

#include <stdbool.h>

struct sigv4_keys {
        const char *key, *secret, *session; /* session NULL: the request must not have a session token */
        const char *region, *service;
};

enum { SIGV4_WHY = 256 };
/* request: head and body as they came, NUL-terminated. Returns false, with the cause in why. The time is not judged. */
bool sigv4_verify(const char *request, const struct sigv4_keys *keys, char why[static SIGV4_WHY]);

#endif
