/*
 * The rotation of admission's path: 128 random bits, replaced every PATH_DAYS. The Secret has at most two paths, and
 * both are served. A new path is in the Secret for PATH_SPREAD_MS before the webhook configuration gets it, so that
 * every replica has read it by then; the old path stays for PATH_SPREAD_MS after that. The first rotation keeps the
 * path that the configuration had, or the well-known path, as the old path. Where somebody sets the well-known path in
 * the configuration again, that path is served again. Pure functions except for randomness; certificate_rotator.c
 * stores the result.
 */
#ifndef HALFLIFE_SRC_SERVING_PATH_ROTATION_H
#define HALFLIFE_SRC_SERVING_PATH_ROTATION_H

#include "base/clock.h"
#include "base/err.h"
#include "http/admission_paths.h"

enum { PATH_DAYS = 30, PATH_SPREAD_MS = HOUR_MS };

struct path_rotation {
        struct admission_paths paths;           /* the newest last */
        struct wall since[ADMISSION_PATHS_MAX]; /* when each path was made */
};

/* Read the Secret's text: for each path a line of its Unix time and its name, "1764069122 admission". Text that is
 * malformed as a whole or in part counts as absent (count 0). text may be NULL. */
struct path_rotation path_rotation_read(const char *text);
char *path_rotation_print(const struct path_rotation *p); /* the caller owns the result (mem_free) */

/* The name of the path that the webhook configuration must have now; NULL: no path was made yet. */
const char *path_rotation_current(const struct path_rotation *p, struct wall now);
/*
 * Do the step of rotation that is due. Call it once the webhook configuration has the current path. `in_force`: the
 * path that the configuration had before, such as "/x"; "": none. Returns 1 if *p was changed, 0 if not, or ERR_IO:
 * there were no random bits, and *p is unchanged.
 */
int path_rotation_step(struct path_rotation *p, const char *in_force, struct wall now, struct err *err);

#endif
