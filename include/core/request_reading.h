/*
 * Containers that read a request. Kubernetes can put a container's request into an environment variable
 * (resourceFieldRef) or into a file of a volume (downwardAPI): the container's own request, or another container's. It
 * divides the request by a divisor and rounds up, so a lower request often reads as another value.
 *
 * A container that reads a limit does not matter: where no limit is set, Kubernetes gives it what the node can
 * allocate, and never the request.
 */
#ifndef HALFLIFE_CORE_REQUEST_READING_H
#define HALFLIFE_CORE_REQUEST_READING_H

#include "core/amount.h"

/* The variable or file that reads one request of one container; {0}: nothing reads the request. Texts are borrowed. */
struct request_reading {
        int64_t divisor;       /* millicores or bytes, above 0; 0: nothing reads the request */
        struct text container; /* the container that has the variable; empty: the reader is a file */
        struct text name;      /* the variable's name, or the file's path */
        struct text volume;    /* the volume of the file */
};

/* The resource whose request a resourceFieldRef names ("requests.cpu"); RESOURCES: the field names no request that
 * halflife changes. */
enum resource request_reading_resource(struct text field);
/* Read a resourceFieldRef's divisor. Absent or 0 means a whole core or a byte. A text that is no quantity gives the
 * smallest divisor, with which every lower request reads as another value. */
int64_t request_reading_divisor(enum resource r, struct text divisor);
/* Note a further reader of the same request in *to. Of several readers, *to keeps the one that sees the smallest
 * changes. */
void request_reading_add(struct request_reading *to, const struct request_reading *also);
/* The lowest request from which a reader gets the same value as from the original. Unset: there is no reader or no
 * original, so every request is fine. */
struct amount request_reading_least(int64_t divisor, struct amount original);
/* Print the reader: "variable 'GOMAXPROCS' of container 'app'", "file 'cpu' of volume 'info'". Long names are cut.
 * Returns out. */
enum { REQUEST_READING_TEXT_MAX = 224 };
char *request_reading_print(const struct request_reading *of, char out[static REQUEST_READING_TEXT_MAX]);

#endif
