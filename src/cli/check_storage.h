#ifndef HALFLIFE_CLI_CHECK_STORAGE_H
#define HALFLIFE_CLI_CHECK_STORAGE_H

#include "checking.h"

/* Print whether the controller's volume claim has a volume, or will get one. Prints nothing if the credentials may not
 * read claims, as halflife's own may not, or if there is no claim but a default StorageClass. */
void check_storage(struct checking *c);

#endif
