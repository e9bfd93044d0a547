/*
 * Opens an address in the user's browser. Other users of the machine see the arguments of every program, so the
 * browser's argument is not the address, but a file that only the user can read. The file leads on to the address.
 */
#ifndef HALFLIFE_CLI_BROWSER_H
#define HALFLIFE_CLI_BROWSER_H

#include <stdbool.h>

#include "base/err.h"

/* Whether there is a desktop that a browser could open on. */
bool browser_is_there(void);
/* Open an address. *ret_file: the path of the file for the browser; the caller gives it to browser_forget at the end.
 * Returns 0, or ERR_IO. */
int browser_open(const char *url, char **ret_file, struct err *err);
void browser_forget(char *file); /* remove the file and free its path; NULL is fine */

#endif
