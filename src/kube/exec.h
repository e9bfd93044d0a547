/*
 * Credential plug-ins: programs that print an ExecCredential. A plug-in runs beside the loop in its own process group,
 * without a terminal, and with a bounded time and output.
 */
#ifndef HALFLIFE_SRC_KUBE_EXEC_H
#define HALFLIFE_SRC_KUBE_EXEC_H

#include "access_config.h"
#include "base/clock.h"

enum { EXEC_MS_MAX = 30 * SECOND_MS };

struct exec_result {
        char *token, *cert, *key; /* NULL: absent; freed by exec_result_release */
        struct wall expires;      /* ms 0: never */
};
void exec_result_release(struct exec_result *r);

struct exec_run;
/* Start a plug-in. `ca_pem`: the cluster's CA as last read, passed with the cluster's settings; NULL: none. Returns
 * NULL with err if the plug-in cannot be run. */
struct exec_run *exec_start(const struct exec_spec *x, const char *ca_pem, struct mono now, struct err *err);
/* Check a plug-in without waiting. Returns 1 while it runs, 0 when it has succeeded and *ret is filled, < 0 when it has
 * failed; err then quotes its stderr. */
int exec_poll(struct exec_run *run, struct mono now, struct exec_result *ret, struct err *err);
void exec_pause(struct exec_run *run); /* wait a moment for output, for callers without a loop */
void exec_free(struct exec_run *run);  /* kills the plug-in if it is still running; NULL is fine */

#endif
