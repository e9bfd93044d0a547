/*
 * Answers the routes of the REST API from a database file, without a server: from a snapshot that is made of the stored
 * histories of one workload. The file is only read, even while a halflife has it open.
 */
#ifndef HALFLIFE_CLI_DATABASE_SOURCE_H
#define HALFLIFE_CLI_DATABASE_SOURCE_H

#include <jansson.h>

#include "target_arg.h"

enum { OFFLINE_CONTAINERS = 64 }; /* most containers of the workload; further ones are left out */

struct database_source;
/* Open the file and read workload w. ns NULL: the one namespace that has it. ERR_NOTFOUND: there is no such file, or it
 * has nothing of the workload; ERR_INVALID: two namespaces have it; else the store's error. ns and w need to be valid
 * only during the call. */
int database_source_open(const char *path, const char *ns, const struct workload *w, struct database_source **ret,
                         struct err *err);
void database_source_close(struct database_source *o);
const char *database_source_namespace(const struct database_source *o);
const char *database_source_refused(
        const struct database_source *o); /* Why a row of the workload could not be read; NULL: all rows could. */
/* GET a route. Returns the caller's reference; NULL: ERR_NOTFOUND or ERR_INVALID, with the text of the REST problem. */
json_t *database_source_get(struct database_source *o, const char *path_query, struct err *err);

#endif
