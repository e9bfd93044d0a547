/*
 * Opens an address in the user's browser. Other users of the machine see the arguments of every program, so the
 * browser is given a file that only its user reads, and the file leads on to the address.
 */
#ifndef HALFLIFE_CLI_BROWSER_H
#define HALFLIFE_CLI_BROWSER_H

#include <stdbool.h>

#include "base/err.h"

/* Whether there is a desktop that a browser could open on. */
bool browser_is_there(void);
/* *ret_file is the caller's, to remove at the end (browser_forget). */
int browser_open(const char *url, char **ret_file, struct err *err);
void browser_forget(char *file); /* NULL is fine */

#endif
