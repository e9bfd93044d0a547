/*
 * Credential plug-ins: a program that prints an ExecCredential. It runs beside the loop, in a process group of its own,
 * without a terminal; its output is bounded and so is its time.
 */
#ifndef HALFLIFE_SRC_KUBE_EXEC_H
#define HALFLIFE_SRC_KUBE_EXEC_H

#include "access_config.h"
#include "base/clock.h"

enum { EXEC_MS_MAX = 30 * SECOND_MS };

struct exec_result {
        char *token, *cert, *key; /* NULL: absent; the caller's */
        struct wall expires;      /* ms 0: never */
};
void exec_result_release(struct exec_result *r);

struct exec_run;
struct exec_run *exec_start(const struct exec_spec *x, struct mono now, struct err *err);
/* 1: it runs still; 0: done, *ret filled; < 0: it failed (the text holds what it said). Does not wait. */
int exec_poll(struct exec_run *run, struct mono now, struct exec_result *ret, struct err *err);
void exec_pause(struct exec_run *run); /* wait a moment for it, for callers without a loop */
void exec_free(struct exec_run *run);  /* kills it if it runs still; NULL is fine */

#endif
