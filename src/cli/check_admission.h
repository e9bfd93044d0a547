#ifndef HALFLIFE_CLI_CHECK_ADMISSION_H
#define HALFLIFE_CLI_CHECK_ADMISSION_H

#include "checking.h"

/* Print whether the API server calls halflife's admission for pods of namespace ns: create a pod by a dry run, and look
 * for the annotation that halflife sets in it. Nothing is stored. */
void check_admission(struct checking *c, const char *ns);

#endif
