/*
 * The test API server: enough of kube-apiserver, metrics-server and the workload controllers to run halflife against,
 * in this process and on loopback only. It is made for speed, for faults and for the demo; where it differs from the
 * real API server, it is wrong.
 *
 * It serves from threads of its own. Every function here may be called from any thread, also from inside a fake_wait
 * predicate. Paths are the API's own ("/apis/apps/v1/namespaces/web/deployments/api"). Texts handed in are copied;
 * texts handed out are the caller's (mem_free). Nothing here sleeps: waiting is for a change of state, with a deadline.
 */
#ifndef HALFLIFE_TEST_FAKE_APISERVER_H
#define HALFLIFE_TEST_FAKE_APISERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fake;

enum fake_controllers {
        FAKE_CONTROLLERS_AUTO, /* workloads roll out at once, inside the write that asks for it */
        FAKE_CONTROLLERS_STEP, /* one change of one pod for each fake_step */
        FAKE_CONTROLLERS_OFF,
};

struct fake_options {            /* {0} is a plain, friendly server */
        uint16_t port;           /* 0: any free one */
        bool tls;                /* https with certificates made at the start */
        bool client_certificate; /* tls: only clients with a certificate of the fake's CA (fake_client_certificate) are
                                    accepted */
        const char *token;       /* bearer token to ask for; NULL: none */
        const char *user;        /* user named in a 403; NULL: halflife's own service account */
        bool watch_list_off;     /* sendInitialEvents is refused with 422, as by servers before 1.32 */
        bool gone_as_http;       /* a watch from a forgotten version is HTTP 410 instead of an ERROR event */
        bool opaque_versions;    /* resourceVersions that are no numbers */
        enum fake_controllers controllers;
        size_t history;      /* events kept per resource; 0: 4096 */
        int64_t bookmark_ms; /* between bookmarks; 0: one minute */
        uint64_t seed;       /* of uids and of the demo's noise */
};

struct fake *fake_new(const struct fake_options *o); /* NULL when the server cannot start; the reason is on stderr */
void fake_free(struct fake *f);                      /* NULL is fine */
const char *fake_url(const struct fake *f);          /* "http://127.0.0.1:34567", valid as long as f */
void fake_stop(struct fake *f);  /* existing connections are cut and new ones refused; objects stay */
bool fake_start(struct fake *f); /* again on the same port; false when it cannot */

/* PEM texts, valid as long as f; NULL without tls. */
const char *fake_ca(const struct fake *f);
const char *fake_client_certificate(const struct fake *f);
const char *fake_client_key(const struct fake *f);
/* A kubeconfig for this server (CA, token and client certificate as far as it wants them), written whole or not at all.
 */
bool fake_write_kubeconfig(struct fake *f, const char *path);

/* --- objects, as somebody else would write them --- */

/*
 * One request, past token, rules, faults and the log. path may carry a query. type is the Content-Type of a PATCH, else
 * NULL; body may be NULL. manager is the field manager unless the query names one. Returns the HTTP status; *ret_text
 * the body, unless ret_text is NULL.
 */
int fake_call(struct fake *f, const char *method, const char *path, const char *type, const char *manager,
              const char *body, char **ret_text);
/* Create or replace whole, status included; the namespace is made when absent. body names kind, namespace and name.
 * Aborts on bad input. */
void fake_put(struct fake *f, const char *manager, const char *body);
char *fake_get(struct fake *f, const char *path); /* NULL when there is none */
int fake_apply(struct fake *f, const char *path, const char *manager, bool force, const char *body);
int fake_patch(struct fake *f, const char *path, const char *manager, const char *json_patch);
int fake_merge(struct fake *f, const char *path, const char *manager, const char *merge_patch);
int fake_delete(struct fake *f, const char *path);
size_t fake_objects(struct fake *f, const char *collection); /* how many a list of this path would hold */
/* Custom resource definitions and other objects from a YAML file or every *.yaml of a folder; false, with the reason on
 * stderr. */
bool fake_load(struct fake *f, const char *path);

/* --- versions, watches, time --- */

uint64_t fake_version(struct fake *f);  /* the newest */
void fake_compact(struct fake *f);      /* forget all history: older watches and continue tokens are 410 */
void fake_expire_pages(struct fake *f); /* continue tokens given out so far are 410, watches go on */
void fake_end_watches(struct fake *f);  /* every running watch ends cleanly now */
void fake_bookmark(struct fake *f);     /* every running watch that asked for bookmarks sends one now */
void fake_old(struct fake *f);          /* from now on pods/resize is not served, as by servers before 1.33 */
void fake_set_wall(struct fake *f,
                   int64_t ms);   /* the server's clock stands at this time; 0: the machine's clock again */
void fake_step(struct fake *f);   /* FAKE_CONTROLLERS_STEP: one change */
void fake_settle(struct fake *f); /* FAKE_CONTROLLERS_STEP: all that is due */

/* --- who may do what --- */

void fake_set_token(struct fake *f, const char *token); /* from now on this one is asked for; NULL: none */
struct fake_rule {
        const char *verb, *group, *resource, *ns; /* NULL: any; group "" is core; a subresource is "pods/resize" */
};
void fake_deny(struct fake *f, const struct fake_rule *rule); /* 403, and "no" in SelfSubjectAccessReviews */
void fake_allow_all(struct fake *f);
/*
 * Set what a TokenReview says about a token. user NULL: the token is revoked. audience NULL: the API server's own. A
 * user has no permissions until they are granted.
 */
void fake_person(struct fake *f, const char *token, const char *user, const char *audience);
/* What a SubjectAccessReview, and the API server itself, allow a user, on recommendations.halflife.dev; NULL: any. */
struct fake_grant {
        const char *user, *verb, *ns, *name;
};
void fake_grant(struct fake *f, const struct fake_grant *g);
/* A SubjectAccessReview allows a user everything on a resource, "secrets". */
void fake_grant_resource(struct fake *f, const char *user, const char *resource);
void fake_revoke_all(struct fake *f); /* grants */

/*
 * Mutating admission: what a writer sends to the main endpoint of a kind goes through it before it is checked and
 * stored. Returns the object to store instead (malloc'ed JSON), or NULL to leave it. Called with the server's lock
 * held.
 */
typedef char *fake_admission(void *arg, const char *kind, const char *object);
void fake_set_admission(struct fake *f, fake_admission *admit, void *arg); /* NULL: none */

/* --- metrics --- */

enum fake_metrics_mode {
        FAKE_METRICS_ON,
        FAKE_METRICS_MISSING,     /* the group is not installed: 404, absent from discovery */
        FAKE_METRICS_UNAVAILABLE, /* 503, as the aggregator answers for a dead metrics-server */
        FAKE_METRICS_FROZEN,      /* the last scrape is served again and again */
};
/* What a container used at a scrape; false: the pod is missing from the answer. Called with the server's lock held. */
typedef bool fake_usage(void *arg, const char *ns, const char *pod, const char *container, int64_t at_ms,
                        int64_t *ret_nanocores, int64_t *ret_bytes);
struct fake_metrics {
        enum fake_metrics_mode mode;
        /* The versions that there are, in discovery's order, with a space between them: "v1 v1beta1". NULL: v1beta1.
         * One behind a "-" answers as FAKE_METRICS_UNAVAILABLE has it: "-v1 v1beta1". */
        const char *versions;
        /* NULL: annotations kwok.x-k8s.io/usage-cpu and usage-memory of the pod. Of any pod, fake/usage-extra is a
         * further container (JSON), and fake/usage-ahead-ms how far the clock of its node is ahead. */
        fake_usage *usage;
        void *arg;
        int64_t step_ms;   /* time between scrapes, timestamps are multiples of it; 0: 15 s */
        int64_t late_ms;   /* how far behind the newest scrape is */
        int64_t warmup_ms; /* pods younger than this are not in the answer */
};
void fake_set_metrics(struct fake *f, const struct fake_metrics *m);
void fake_scrape_every(struct fake *f, int64_t step_ms); /* the rest as it was */
void fake_freeze_metrics(struct fake *f, bool frozen); /* FAKE_METRICS_FROZEN or FAKE_METRICS_ON, the rest as it was */

/* --- faults --- */

enum { FAKE_ALWAYS = -1 };
struct fake_fault {
        const char *verb; /* "GET" or, as Kubernetes says it, "list" "watch" "get" "create" "update" "patch" "delete";
                             NULL: any */
        const char *path; /* prefix; NULL: any */
        unsigned nth;     /* how many that match pass first */
        int times;        /* how many after those are hit; 0: one */
        /* what happens; several may be set */
        unsigned delay_ms;    /* before the answer */
        int status;           /* instead of the answer */
        unsigned retry_after; /* seconds; header, also in a Status */
        const char *body;     /* with status: this text; NULL: a Status object */
        const char *type;     /* with body: its Content-Type; NULL: application/json */
        bool refuse;          /* the connection is cut before any answer */
        const char *garbage;  /* these bytes instead of HTTP, then the connection is cut */
        bool cut;             /* the connection is cut after cut_after bytes of the body */
        size_t cut_after;
        size_t split_at;    /* the body's first chunk ends after so many bytes */
        size_t split_every; /* no chunk is longer */
        unsigned drip_ms;   /* with split_every: between chunks */
        size_t huge; /* a body of one JSON string of so many bytes; with body: they stand for its first "%" (status 0:
                        200) */
        int64_t date_ms;     /* the answer's Date header; 0: the server's clock */
        const char *warning; /* in a Warning header, as deprecations come */
};
void fake_fault(struct fake *f, const struct fake_fault *fault);
void fake_faults_clear(struct fake *f);

/* --- what was asked --- */

struct fake_request {
        char *method, *verb, *path, *query, *type, *agent, *encoding,
                *body; /* "" when absent; body: the first 64 KiB */
        int status;
};
/* How many requests of this verb (as in faults; NULL: any; "write": all but reads and access reviews) with this path
 * prefix were answered. */
size_t fake_count(struct fake *f, const char *verb, const char *path);
void fake_count_reset(struct fake *f);                 /* forget the log */
size_t fake_watches(struct fake *f, const char *path); /* running now */
/* The last such request of the newest 4096; texts valid until the next one is logged: use within a predicate, or when
 * quiet. */
const struct fake_request *fake_last(struct fake *f, const char *verb, const char *path);

typedef bool fake_predicate(struct fake *f, void *arg);
/* Wait until the predicate holds, looking again after every change and every request. false: it did not within
 * timeout_ms. */
bool fake_wait(struct fake *f, fake_predicate *holds, void *arg, int64_t timeout_ms);
bool fake_wait_count(struct fake *f, const char *verb, const char *path, size_t least, int64_t timeout_ms);
bool fake_wait_delayed(struct fake *f, size_t least, int64_t timeout_ms); /* so many answers are being delayed */
bool fake_wait_watches(struct fake *f, const char *path, size_t least, int64_t timeout_ms);

/* --- worlds --- */

/* A dozen workloads in three namespaces whose usage follows a day of day_ms. */
void fake_world_demo(struct fake *f, int64_t day_ms);
/*
 * So many containers: pods of 5 replicas a Deployment, one container a pod, made up as they are read (lists and
 * watches, not writable). Usage is constant per workload plus a little noise per scrape.
 */
void fake_world_size(struct fake *f, size_t containers);

#endif
