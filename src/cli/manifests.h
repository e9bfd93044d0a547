/*
 * Manifests from files, folders and standard input.
 */
#ifndef HALFLIFE_SRC_CLI_MANIFESTS_H
#define HALFLIFE_SRC_CLI_MANIFESTS_H

#include "base/err.h"
#include "base/text.h"

enum { MANIFEST_BYTES_MAX = 64 << 20, MANIFESTS_MAX = 10000 };

struct manifest {
        char *path; /* "-" is standard input */
        char *data;
        struct text text;
};
struct manifests {
        struct manifest *item;
        size_t count, cap;
        size_t bytes;
        bool stdin_read;
};

/*
 * A file, "-", or a folder with all *.yaml, *.yml and *.json below it, by name; what begins with a dot is passed over.
 * At most MANIFESTS_MAX files and MANIFEST_BYTES_MAX bytes in all. Errors quote the path; a folder without any is one.
 */
int manifests_add(struct manifests *m, const char *path, struct err *err);
void manifests_release(struct manifests *m);

#endif
