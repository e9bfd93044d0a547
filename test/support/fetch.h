/* One blocking HTTP request by libcurl: what tests look at servers with, apart from the code that they test. */
#ifndef HALFLIFE_TEST_SUPPORT_FETCH_H
#define HALFLIFE_TEST_SUPPORT_FETCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fetch { /* what to ask; NULL and 0 are fine everywhere but for the URL */
        const char *method, *url, *body, *type, *token, *agent;
        const char *header;                 /* one more line */
        bool head;                          /* HEAD */
        const char *ca, *certificate, *key; /* PEM texts */
        size_t stop_after;                  /* hang up once so many bytes of body came */
        long timeout_ms;                    /* 0: WIRE_PATIENCE_MS */
};
struct got {
        long status; /* 0: no answer */
        int curl;    /* CURLcode: 0 when the answer is whole */
        char *body;  /* NUL-terminated */
        size_t len, chunks;
        char *headers;
        json_t *json; /* the body, or NULL */
};
struct got fetch(const struct fetch *what);
void got_release(struct got *g);
static inline void got_release_auto(struct got *g)
{
        got_release(g);
}

#endif
