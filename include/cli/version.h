/*
 * The program's version.
 */
#ifndef HALFLIFE_CLI_VERSION_H
#define HALFLIFE_CLI_VERSION_H

const char *version_text(void);       /* "0.9.0": what the file VERSION has */
const char *version_user_agent(void); /* "halflife/0.9.0 (linux/amd64)"; with a browser's name in it, the API server
                                         would indent its answers */

#endif
