/*
 * Stories: what people do to a cluster, and what must come of it. Each story has a namespace of its own (its name); all
 * stories of a program run side by side in one test API server, before one halflife, and each is one test.
 *
 * Texts of objects are YAML in flow style; "$NS" in a text is the story's namespace, "$UID(path)"
 * the uid of an object. Paths are "<plural>/<name>" in
 * that namespace ("deployments/web"), or begin with '/'. Fields are pick()'s.
 */
#ifndef HALFLIFE_TEST_SUPPORT_STORY_H
#define HALFLIFE_TEST_SUPPORT_STORY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../fake/apiserver.h"
#include "halflife.h"

struct story;

struct step {
        enum step_kind {
                STEP_END,
                STEP_PUT,   /* write an object whole */
                STEP_WORK,  /* write a workload: path is its kind, field its name, text its spec, more its pod's spec */
                STEP_TEAM,  /* write Profile "team": text is its spec */
                STEP_MERGE, /* merge patch by "kubectl-edit" */
                STEP_APPLY, /* server-side apply by the manager in field */
                STEP_DELETE, /* by path */
                STEP_USE,    /* usage of containers "app" from now on: "250m 300Mi" without units: count, more */
                STEP_CYCLES, /* let so many whole cycles pass */
                STEP_EXPECT, /* wait until the field is this: "-": absent, "~text": holds it, "!text": is another */
                STEP_CHECK,  /* the same, now */
                STEP_CALL,   /* something else; false: wait and ask again */
        } what;
        const char *path, *field, *text, *more;
        int count, count2;
        bool (*call)(struct fake *f, struct story *s);
};

struct story {
        const char *name;
        const struct step *steps;
        /* the run's own */
        const struct step *at;
        _Atomic int milli, mib; /* usage of container "app"; 0: 250m, 300Mi */
        size_t polls;           /* when its step of cycles began */
        bool begun;
        char *failure;
        void *kept; /* whatever its calls keep (mem_free) */
};

#define STORY(nm, ...)                                                                                                 \
        {                                                                                                              \
                .name = nm, .steps = (const struct step[])                                                             \
                {                                                                                                      \
                        __VA_ARGS__,                                                                                   \
                        {                                                                                              \
                                .what = STEP_END                                                                       \
                        }                                                                                              \
                }                                                                                                      \
        }
#define PUT(yaml)                                                                                                      \
        {                                                                                                              \
                .what = STEP_PUT, .text = yaml                                                                         \
        }
#define WORK(kind, nm, spec, pod)                                                                                      \
        {                                                                                                              \
                .what = STEP_WORK, .path = kind, .field = nm, .text = spec, .more = pod                                \
        }
#define TEAM(spec)                                                                                                     \
        {                                                                                                              \
                .what = STEP_TEAM, .text = spec                                                                        \
        }
#define MERGE(where, yaml)                                                                                             \
        {                                                                                                              \
                .what = STEP_MERGE, .path = where, .text = yaml                                                        \
        }
#define APPLY(where, who, yaml)                                                                                        \
        {                                                                                                              \
                .what = STEP_APPLY, .path = where, .field = who, .text = yaml                                          \
        }
#define DELETE(where)                                                                                                  \
        {                                                                                                              \
                .what = STEP_DELETE, .path = where                                                                     \
        }
#define USE(cpu, memory)                                                                                               \
        {                                                                                                              \
                .what = STEP_USE, .count = cpu, .count2 = memory                                                       \
        }
#define CYCLES(n)                                                                                                      \
        {                                                                                                              \
                .what = STEP_CYCLES, .count = n                                                                        \
        }
#define EXPECT(where, fld, want)                                                                                       \
        {                                                                                                              \
                .what = STEP_EXPECT, .path = where, .field = fld, .text = want                                         \
        }
#define CHECK(where, fld, want)                                                                                        \
        {                                                                                                              \
                .what = STEP_CHECK, .path = where, .field = fld, .text = want                                          \
        }
#define CALL(fn)                                                                                                       \
        {                                                                                                              \
                .what = STEP_CALL, .call = fn                                                                          \
        }

/* A Deployment "web" of two replicas with these containers; its recommendation; and a profile that applies at once. */
#define WEB(containers) WORK("Deployment", "web", "{replicas: 2}", "{containers: " containers "}")
#define REC             "recommendations/deployment-web"
#define AT_ONCE(more)   TEAM("{apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90" more "}}")
#define APP_REQUESTS    "spec.template.spec.containers[0].resources.requests"
#define APP_LIMITS      "spec.template.spec.containers[0].resources.limits"

/* Run them all; the program's exit code. args: more arguments of halflife, NULL at the end, or NULL. prepare: what the
 * server is made of first, or NULL. */
int stories_main(const char *group, struct story *stories, size_t count, const char *const *args,
                 void (*prepare)(struct fake *f));

/* For tests that run a server and a halflife of their own. */
struct fake *stories_server(struct story *stories, size_t count); /* CRDs loaded, usage scraped every second */
void stories_metrics(struct fake *f, enum fake_metrics_mode mode);
bool stories_run(struct fake *f, struct story *stories, size_t count, int64_t timeout_ms); /* all told to their end */
/* Tell one story of a stories_server to its end, again if it was told before; fails the test, with halflife's log. */
void story_play(struct fake *f, struct halflife *h, struct story *s, int64_t timeout_ms);
/* Install a kind by a CRD of version v1; its plural is "widgets" where kind is "Widget". */
void story_define_kind(struct fake *f, const char *group, const char *kind);
char *story_path(const struct story *s, const char *path);
/* Is the field so now? *ret_is (mem_free; NULL: not wanted) is what it is. */
bool story_is(struct fake *f, const struct story *s, const char *path, const char *field, const char *want,
              char **ret_is);
/* How many Events in the story's namespace say this; one that is more than one Event, or a series, counts as many. */
size_t story_events(struct fake *f, const struct story *s, const char *reason, const char *note);
/* Perform one step that is neither a wait nor a check. */
void story_do(struct fake *f, struct story *s, const struct step *step);
void story_release(struct story *s);

#endif
