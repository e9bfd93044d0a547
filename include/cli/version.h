/*
 * The program's version.
 */
#ifndef HALFLIFE_CLI_VERSION_H
#define HALFLIFE_CLI_VERSION_H

const char *version_text(void);       /* "v0.1.0-12-gabc1234" */
const char *version_user_agent(void); /* "halflife/v0.1.0 (linux/amd64)"; with a browser's name in it, the API server
                                         would indent its answers */

#endif
