/*
 * Reads manifests from files, folders and standard input.
 */
#ifndef HALFLIFE_SRC_CLI_MANIFEST_INPUTS_H
#define HALFLIFE_SRC_CLI_MANIFEST_INPUTS_H

#include "base/err.h"
#include "base/text.h"

enum { INPUT_BYTES_MAX = 64 << 20, INPUTS_MAX = 10000 };

struct input {
        char *path; /* path of the input; "-": standard input */
        char *data;
        struct text text;
};
struct inputs {
        struct input *item;
        size_t count, cap;
        size_t bytes;
        bool stdin_read;
};

/*
 * Add a file, "-", or a folder: all *.yaml, *.yml and *.json below it, sorted by name, without names that begin with a
 * dot. At most INPUTS_MAX files and INPUT_BYTES_MAX bytes in all. Errors quote the path; a folder without manifests is
 * an error.
 */
int inputs_add(struct inputs *m, const char *path, struct err *err);
void inputs_release(struct inputs *m);

#endif
