/*
 * Objects as halflife leaves them, at a test API server, for the tests of restore and resume: six objects of four
 * owners in two namespaces, lowered by halflife's own patch, with their Recommendations; no controller runs anywhere.
 * Failures fail the test.
 */
#ifndef HALFLIFE_TEST_SUPPORT_LOWERED_H
#define HALFLIFE_TEST_SUPPORT_LOWERED_H

#include <stdbool.h>

#include <jansson.h>

#include "../fake/apiserver.h"

enum { LOWERED_OBJECTS = 6 };

#define LOWERED_CONTAINER(more)                                                                                        \
        "{\"containers\":[{\"name\":\"app\",\"image\":\"app\"" more "}],\"terminationGracePeriodSeconds\":0}"

struct lowered_object {
        const char *kind, *path;
        const char *template_path; /* of the pod template in it */
        const char *json;          /* as its owner applies it */
        const char *original;      /* what halflife notes of the owner's resources */
};

extern const struct lowered_object lowered_objects[LOWERED_OBJECTS];
extern const char lowered_applied[]; /* what halflife notes of its own requests */

/* One at a time. */
extern struct lowered_plane {
        struct fake *fake;
        char *kubeconfig;            /* a file's path; HALFLIFE_KUBECONFIG names it */
        char *spec[LOWERED_OBJECTS]; /* as it was before halflife */
} lowered_plane;

/* The API server, with the objects as their owners applied them. */
void lowered_begin(const struct fake_options *options);
/* Lowers all of them, publishes their Recommendations, and counts requests from here on. */
void lowered_all(void);
void lowered_end(void);

/* What halflife writes: its own patch, as its own manager; original and to: the notes. */
void lowered_write(const char *path, const char *template_path, const char *original, const char *to);
void lowered_publish(const struct lowered_object *o);

/* An object, and its spec as text: the caller releases both. */
json_t *lowered_read(const char *path);
char *lowered_spec(const char *path);

bool lowered_is_back(int i);
/* All of them are as before halflife; what: said where one is not. */
void lowered_expect_back(const char *what);

#endif
