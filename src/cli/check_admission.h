#ifndef HALFLIFE_CLI_CHECK_ADMISSION_H
#define HALFLIFE_CLI_CHECK_ADMISSION_H

#include "checking.h"

/* Try whether the API server calls admission for pods of a namespace: create one by a dry run, and look for the
 * annotation that halflife answers. Nothing is stored. */
void check_admission(struct checking *c, const char *ns);

#endif
