/*
 * Decides the next patch of a pod that is being resized, by the pod as just read. The first patch is of the annotations
 * that record halflife's requests, the second of the requests. No I/O.
 */
#ifndef HALFLIFE_APPLY_RESIZE_PATCH_H
#define HALFLIFE_APPLY_RESIZE_PATCH_H

#include "base/mem.h"
#include "core/resize_verdict.h"
#include "objects/patch.h"

enum { RESIZE_NOTE_MAX = 512 };

struct resize_wanted {
        const char *container; /* the container's name, interned */
        struct amount to[RESOURCES];
        struct amount sent[RESOURCES];   /* the request in the last patch of requests; unset: it was not in it */
        struct amount before[RESOURCES]; /* what the pod requested before that patch */
};

struct resize_goal {
        struct resize_wanted *wanted;
        int wants;
        bool starts;       /* the target's pods start with their originals, so the annotation that records them stays */
        bool stays_raised; /* record the raise even if it reached the original, so that no pass lowers the pod again */
        int64_t raised_ms; /* when halflife last raised the pod, this write included; 0: never */
        char note[RESIZE_NOTE_MAX]; /* what the last patch of requests changes, for people */
};

struct resize_next {
        bool stands;       /* the pod has the requests wanted */
        const char *stays; /* why the pod cannot be resized, in the arena; NULL: it can */
        json_t *patch;     /* the caller owns it; NULL: nothing is left to write, or stays is set */
        bool requests;     /* the patch changes the requests, so it goes to the resize subresource */
};

/* The goal's requests for a container; NULL: the goal has none. */
struct resize_wanted *resize_patch_wanted(const struct resize_goal *goal, struct text container);

/* Append a change of a request to a text of size bytes; what does not fit is cut. */
void resize_patch_note(char *note, size_t size, const char *container, enum resource r, int64_t from, int64_t to);

/*
 * Decide the next patch of the pod v, whose JSON is body. If the patch changes requests, goal->note and each `sent` are
 * set. basis_stands as in objects/patch.h. *ret is in a, and valid until that arena is reset. Returns 0, or
 * patch_build's error; stands and stays are set in both cases.
 */
int resize_patch_next(struct resize_goal *goal, const struct pod_view *v, struct text body, bool basis_stands,
                      struct arena *a, struct resize_next *ret, struct err *err);

#endif
