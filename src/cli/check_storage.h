#ifndef HALFLIFE_CLI_CHECK_STORAGE_H
#define HALFLIFE_CLI_CHECK_STORAGE_H

#include "checking.h"

/* Does the controller's claim have a volume, or will it get one? Nothing is printed where the credentials may not look,
 * as halflife's own may not, or where there is no such claim and a default StorageClass. */
void check_storage(struct checking *c);

#endif
