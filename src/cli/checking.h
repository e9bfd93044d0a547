/* What the parts of halflife check share: the connection, the settings, and how a line is printed. */
#ifndef HALFLIFE_CLI_CHECKING_H
#define HALFLIFE_CLI_CHECKING_H

#include <stdbool.h>

#include "base/yaml.h"
#include "cli/session.h"
#include "cli/settings.h"

struct checking {
        struct session session;
        struct settings settings;
        const char *ns;
        const char *try_admission; /* the namespace to try admission in; NULL: admission is not tried */
        bool colour;
        int failed, warned;
};

enum verdict { GOOD, DOUBTFUL, BAD };

/* Print one line with the verdict, and if that is not GOOD, below it way_out: what to do (NULL: nothing is known). */
void check_tell(struct checking *c, enum verdict v, const char *what, const char *way_out);
/* Send a request to the API server and wait. Returns the answer as JSON (json_decref); NULL: err says why there is
 * none. body stays the caller's; NULL: no body. */
json_t *check_ask(struct checking *c, enum http_method method, const char *path, json_t *body, struct err *err);

#endif
