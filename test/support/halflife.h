/*
 * halflife itself as a subprocess: the program as it was built ($HALFLIFE_BUILD/halflife, else the one beside the
 * test), against the test API server. Its log is read by a thread as it comes.
 */
#ifndef HALFLIFE_TEST_SUPPORT_HALFLIFE_H
#define HALFLIFE_TEST_SUPPORT_HALFLIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "../fake/apiserver.h"

struct halflife;

/*
 * halflife run against f, with --interval 1s, --checkpoint-interval 1s, --status-interval 1s, --leader-elect false and
 * a server on a free port; then these arguments (NULL at the end), which replace those. database: a file's name in
 * the test's own folder, NULL: /dev/null's folder, where none can be. Waits until it listens. Aborts when it cannot be
 * started.
 */
struct halflife *halflife_start(struct fake *f, const char *database, const char *const *args);
char *halflife_program(void); /* its path; the caller's (mem_free) */
/* Any command, without waiting for anything: args[0] is "run", "check", … */
struct halflife *halflife_command(const char *const *args);
/* Any command to its end, which is to be this exit code: what it said; the caller's. Aborts the test otherwise. */
char *halflife_run(int want, const char *const *args);
#define HALFLIFE_RUN(want, ...) halflife_run(want, (const char *const[]){__VA_ARGS__, NULL})
void halflife_signal(struct halflife *h, int signo);
/* Wait for its end: the exit code, minus the signal that ended it, or INT_MIN when it still runs after timeout_ms. */
int halflife_await(struct halflife *h, int64_t timeout_ms);
int halflife_stop(struct halflife *h); /* SIGTERM; exit code, or killed after 20 s */
void halflife_kill(struct halflife *h);
void halflife_free(struct halflife *h); /* killed where it still runs; NULL is fine */

/* What it wrote to stderr and stdout so far; the caller's (mem_free). */
char *halflife_log(struct halflife *h);
/* How often a text stands in its log. */
int halflife_said(struct halflife *h, const char *text);
/* Wait until a text stands so often in its log. */
bool halflife_await_log(struct halflife *h, const char *text, int least, int64_t timeout_ms);

/* Where --serve-listen was bound ("127.0.0.1:4711"); the caller's, NULL: nowhere yet. */
char *halflife_rest_address(struct halflife *h);
char *halflife_watcher_address(struct halflife *h); /* the same of --watcher-listen */

/* Its own server, of a command once its REST address is known: the status of GET path (0: none), and a sample of
 * /metrics by name and labels as printed, NAN when absent. */
long halflife_get(struct halflife *h, const char *path);
double halflife_metric(struct halflife *h, const char *name);
/* Wait until a metric is at least this much, looking after every change and request of f. */
bool halflife_await_metric(struct halflife *h, struct fake *f, const char *name, double least, int64_t timeout_ms);
/* Wait for so many more whole cycles. */
bool halflife_await_cycles(struct halflife *h, struct fake *f, int more, int64_t timeout_ms);

#endif
