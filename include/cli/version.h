/*
 * The program's version.
 */
#ifndef HALFLIFE_CLI_VERSION_H
#define HALFLIFE_CLI_VERSION_H

const char *version_text(void);       /* "0.9.0", as in the file VERSION */
const char *version_user_agent(void); /* "halflife/0.9.0 (linux/amd64)"; it names no browser, because the API server
                                         indents its answers to browsers */

#endif
