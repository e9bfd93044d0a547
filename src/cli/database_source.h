/*
 * The REST doors over a database alone, without a server: a view is made of what it has of one workload. Only reads,
 * also while a halflife holds the file.
 */
#ifndef HALFLIFE_CLI_DATABASE_SOURCE_H
#define HALFLIFE_CLI_DATABASE_SOURCE_H

#include <jansson.h>

#include "target_arg.h"

enum { OFFLINE_CONTAINERS = 64 }; /* of a workload; more are left out */

struct offline;
/* ns NULL: of whichever namespace has it, if one alone has. ERR_NOTFOUND: the file is not there or has nothing of the
 * workload; ERR_INVALID: two namespaces have it; else what the store says of the file. ns and w are borrowed for the
 * call. */
int offline_open(const char *path, const char *ns, const struct workload *w, struct offline **ret, struct err *err);
void offline_close(struct offline *o);
const char *offline_namespace(const struct offline *o);
const char *offline_refused(const struct offline *o); /* why a row of it could not be read; NULL */
/* GET of a door. The caller's reference; NULL with ERR_NOTFOUND or ERR_INVALID and the problem's own words. */
json_t *offline_get(struct offline *o, const char *path_query, struct err *err);

#endif
