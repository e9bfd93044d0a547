/*
 * The permissions that halflife check looks at: those that the credentials in use need for the settings and the
 * profiles, and those of the account of halflife rotate.
 */
#ifndef HALFLIFE_CLI_CHECK_PERMISSIONS_H
#define HALFLIFE_CLI_CHECK_PERMISSIONS_H

#include "checking.h"
#include "kube/permission.h"

/* A permission to ask the API server about. ns NULL: in all namespaces; name NULL: for all objects of the kind. */
struct access {
        const char *verb, *group, *resource, *subresource, *ns, *name;
        const char *user; /* whose permission; NULL: of the credentials in use */
};

/* The user name that the API server sees in the session's credentials; NULL: the server does not say. The caller frees
 * the text. */
char *check_user(struct checking *c);

/* Whether the API server grants a permission. Returns 1: granted; 0: not granted; an ERR_ code: the API server could
 * not be asked. */
int check_may(struct checking *c, const struct access *a, struct err *err);

/* Print each permission that is missing for what the settings switch on, and how many are granted. */
void check_permissions(struct checking *c);
/* Check the permissions of one use. Print the first that is missing, with way_out (what to do), and check no further.
 * Returns whether all are granted. */
bool check_use(struct checking *c, enum permission_use use, const char *way_out);
void check_custom_permissions(struct checking *c);
/* Print whether the API server has the admission policy that bounds what halflife may write. */
void check_policy(struct checking *c);
/* Print the permissions of halflife rotate. It has an account of its own, so the API server is asked about that
 * account. */
void check_rotate(struct checking *c);
void check_autoscalers(struct checking *c); /* print the permissions to retune autoscalers, if a profile asks for it */
/* If a profile has pods resized: print whether the server has pods/resize, and whether halflife may use it. */
void check_in_place(struct checking *c);

#endif
