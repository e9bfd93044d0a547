/*
 * Reads whole files.
 */
#ifndef HALFLIFE_BASE_FILE_READ_H
#define HALFLIFE_BASE_FILE_READ_H

#include <stddef.h>

#include "base/err.h"

/*
 * Reads a whole file of at most max bytes. Returns NUL-terminated bytes, which the caller frees with mem_free, or NULL
 * with ERR_NOTFOUND, ERR_DENIED, ERR_TOOBIG or ERR_IO and the path in err. A folder, pipe or device is ERR_IO at once,
 * so that it cannot hold up the loop.
 */
char *file_read(const char *path, size_t max, size_t *ret_len, struct err *err);
/* Reads as file_read does, but also a pipe or device, waiting for its end. It is for files that a user names on the
 * command line. */
char *file_read_input(const char *path, size_t max, size_t *ret_len, struct err *err);

#endif
