/*
 * What the parts of the test API server share. Everything below struct fake's lock is touched only with it held;
 * functions that take or return json_t are called with it held. The lock is recursive, so that predicates may call the
 * public functions.
 */
#ifndef HALFLIFE_TEST_FAKE_FAKE_H
#define HALFLIFE_TEST_FAKE_FAKE_H

#include <jansson.h>
#include <pthread.h>

#include "apiserver.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/yaml.h"

/* An object at one moment; immutable and counted. */
struct version {
        unsigned refs;
        uint64_t number;
        json_t *object;
        char *text;       /* the object, kind and apiVersion first */
        size_t len, bare; /* bare: where the text goes on after them */
};

enum change { ADDED, MODIFIED, DELETED };
struct event {
        enum change change;
        struct version *now, *before; /* before: NULL when ADDED */
};

struct object {
        char *key; /* "namespace/name", or "/name" */
        struct version *version;
};

/* A made-up collection: item i is rendered when asked for. */
struct crowd {
        size_t count;
        uint64_t number; /* every item's version */
        void (*render)(const struct fake *f, size_t i, bool bare, struct buf *out);
        bool (*find)(const struct fake *f, const char *ns, const char *name, size_t *ret_i);
        const char *(*space)(const struct fake *f, size_t i); /* its namespace */
};

struct kind {
        char *group, *version, *plural, *singular, *name; /* version: the one that is stored */
        json_t *versions; /* that are served: of a custom kind, in the order of its CRD; NULL: version alone */
        bool namespaced, has_status, has_scale, custom, served;
        json_t *schema, *short_names, *categories; /* custom kinds; may be NULL */
        struct object *object;                     /* sorted by key */
        size_t count, cap;
        struct event *event; /* a ring */
        uint64_t next;       /* how many events there ever were */
        uint64_t kept;       /* how many of the newest are still there */
        uint64_t forgotten;  /* versions up to this cannot be watched from */
        uint64_t writes;     /* ever, to tell clients' lists apart */
        const struct crowd *crowd;
};

/* --- requests and answers --- */

struct request {
        const char *method, *path, *type, *agent, *encoding, *accept, *authorization;
        json_t *query; /* of strings */
        const char *body;
        size_t len;
        const char *manager; /* of an inside call */
        bool inside;         /* past token and rules */
        const char *verb;    /* Kubernetes' word, set by the router */
};

/* A body made as it is sent. more() appends a portion to out, which is empty, or returns false at the end; it is called
 * without the lock. */
struct stream {
        bool (*more)(struct fake *f, struct stream *s, struct buf *out);
        void (*free)(struct fake *f, struct stream *s);
        int socket; /* the client's, so that a watch notices when nobody is there any more; -1: none */
};

struct reply {
        int status;
        const char *type;
        char *text; /* or stream */
        size_t len;
        struct stream *stream;
        unsigned retry_after;
};

struct target { /* what a path names */
        struct kind *kind;
        const char *version;
        const char *ns, *name, *sub; /* "" when absent */
        char *store;                 /* the texts' memory */
};

struct fault {
        struct fake_fault is;
        unsigned seen, hit;
        struct fault *next;
};

struct fake {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        struct fake_options options;
        bool old; /* fake_old */
        struct MHD_Daemon *daemon;
        int held; /* the port, also while nobody listens at it */
        uint16_t port;
        char *url, *token, *user;
        bool stopping;

        struct kind **kind;
        size_t kinds;
        uint64_t number;      /* the newest resourceVersion */
        uint64_t token_floor; /* continue tokens from before this version have expired */
        uint64_t end_epoch, bookmark_epoch;
        int64_t wall_ms; /* 0: the machine's */
        json_t *drawn;   /* "namespace/name" → numbers drawn for it */

        fake_admission *admit;
        void *admit_arg;
        struct fake_metrics metrics;
        int64_t frozen_ms; /* the scrape served while frozen */
        json_t *denied;    /* [{verb, group, resource, ns}] */
        json_t *people;    /* token → {user, audience} */
        json_t *grants;    /* [{user, verb, namespace, name}] */
        struct fault *fault;

        struct fake_request *log; /* a ring of the newest */
        size_t logged;            /* ever */
        size_t delayed;           /* answers that a fault delays now */
        json_t *counts;           /* "verb method path" → count */
        struct watch *watch;      /* running */

        struct chore *chore; /* workloads for the controllers to look at */

        struct tls *tls;
        int64_t day_ms;    /* the demo's */
        size_t containers; /* the size world's */
        struct crowd crowd[3];
};

static inline void fake_lock(struct fake *f)
{
        pthread_mutex_lock(&f->lock);
}
static inline void fake_unlock(struct fake *f)
{
        pthread_mutex_unlock(&f->lock);
}
void fake_notify(struct fake *f); /* something changed */
/* Wait for a change, at most this long; false: the time is over. */
bool fake_pause(struct fake *f, int64_t ms);
int64_t fake_wall(const struct fake *f);
/* The next number drawn for an object: what others draw meanwhile, in whatever order, does not change it. */
uint64_t fake_random(struct fake *f, const char *ns, const char *name);
json_t *fake_time(const struct fake *f); /* now, as the API writes it */
void fake_uid(struct fake *f, const char *ns, const char *name, char out[static 37]);

/* kind.c */
void kinds_init(struct fake *f);
void kinds_release(struct fake *f);
struct kind *fake_kind_find(const struct fake *f, const char *group, const char *version, const char *plural);
struct kind *kind_named(const struct fake *f, const char *api_version, const char *name);
const char *kind_api_version(const struct kind *k, struct buf *b); /* "apps/v1": as it is stored */
/* The version at this place of those that are served; NULL: there are no more. */
const char *kind_version_at(const struct kind *k, size_t place);
const json_t *kind_stored_version(const json_t *crd); /* the element of spec.versions */
bool kind_serves(const struct kind *k, const char *version);
const char *kind_resource(const struct kind *k, struct buf *b); /* "deployments.apps" */
void kind_define(struct fake *f, const json_t *crd);
void kind_remove(struct fake *f, const json_t *crd);
bool target_parse(struct fake *f, const char *path, struct target *ret);
char *target_api_version(const struct target *t); /* "apps/v1": as the path has it; freed by the caller */
void target_release(struct target *t);

/* store.c */
struct version *version_take(struct version *v);
void version_drop(struct version *v);
/* Append the object as that version of its kind has it: only apiVersion differs. */
void version_print(const struct version *v, const struct kind *k, const char *api_version, struct buf *out);
char *resource_version_text(const struct fake *f, uint64_t number);
bool version_parse(const struct fake *f, const char *text, uint64_t *ret); /* "" and "0" give 0 */
struct object *store_find(const struct kind *k, const char *ns, const char *name);
size_t store_lower(const struct kind *k, const char *key); /* the first object not before key */
/* Takes the reference; sets the resourceVersion. Returns the stored version (borrowed). */
struct version *store_write(struct fake *f, struct kind *k, json_t *object);
void store_remove(struct fake *f, struct kind *k, const char *ns, const char *name);
void store_forget(struct fake *f, struct kind *k);
void kind_empty(struct kind *k);
char *object_key(const char *ns, const char *name);
const char *object_ns(const json_t *object);
const char *object_name(const json_t *object);

/* select.c */
struct fake_selector;
struct fake_selector *fake_selector_parse(const char *labels, const char *fields, char **ret_error);
bool fake_selector_matches(const struct fake_selector *s, const json_t *object); /* NULL matches all */
void fake_selector_free(struct fake_selector *s);

/* list.c, watch.c */
void list_serve(struct fake *f, const struct request *rq, const struct target *t, struct reply *rp);
void watch_serve(struct fake *f, const struct request *rq, const struct target *t, struct reply *rp);

/* write.c */
void object_begin(struct fake *f, json_t *object); /* uid, time of creation, generation 1 */
void write_serve(struct fake *f, const struct request *rq, const struct target *t, struct reply *rp);
json_t *scale_of(const json_t *object);
/* delete.c */
void delete_cascade(struct fake *f, struct kind *k, const char *ns, const char *name);

/* patch.c; documents are changed in place; NULL or what went wrong (the caller's) */
char *patch_json(json_t **doc, const json_t *ops);
void patch_merge(json_t **doc, const json_t *patch);
bool json_same(const json_t *a, const json_t *b);       /* 1 equals 1.0 */
const char *text_at(const json_t *o, const char *path); /* "metadata.name"; "" when absent */
json_t *json_at(const json_t *o, const char *path);     /* borrowed; NULL when absent */

/* schema.c */
struct shape {                /* where we are in a kind's structure */
        const json_t *schema; /* custom kinds */
        const char *field;    /* built-in kinds */
        bool custom;
};
struct shape shape_of(const struct kind *k);
struct shape shape_child(struct shape s, const char *field);
struct shape shape_item(struct shape s);
bool shape_atomic(struct shape s);
size_t shape_keys(struct shape s, const char *keys[static 4]); /* 0: the list is atomic */
void schema_default(const json_t *schema, json_t *value);
void schema_prune(const json_t *schema, json_t *value, bool root, const char *path, json_t *unknown);
void schema_check(const json_t *schema, const json_t *value, const char *path, json_t *causes);

/* fields.c: FieldsV1 */
json_t *fields_of(const json_t *object, struct shape s, const char *sub);
bool fields_minus(json_t *a, const json_t *b); /* true: nothing is left of a */
void fields_add(json_t *a, const json_t *b);
void fields_update(struct fake *f, const struct kind *k, const json_t *before, json_t *after, const char *manager,
                   const char *sub);
/* Merge applied into a copy of live as manager's; NULL with *ret_causes when others own what it changes. */
json_t *fields_apply(struct fake *f, const struct kind *k, const json_t *live, const json_t *applied,
                     const char *manager, const char *sub, bool force, json_t **ret_causes);

/* defaults.c */
void defaults_set(const struct kind *k, json_t *object);

/* status.c: answers */
void reply_json(struct reply *rp, int status, json_t *body); /* takes the reference */
void reply_error(struct reply *rp, int status, const char *reason, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));
json_t *status_json(int status, const char *reason, const char *message);
/* About one object; details are filled in. causes: taken, may be NULL. */
void reply_refuse(struct reply *rp, int status, const char *reason, const struct target *t, json_t *causes,
                  const char *fmt, ...) __attribute__((format(printf, 6, 7)));
void reply_release(struct fake *f, struct reply *rp);
const char *query_get(const struct request *rq, const char *name); /* "" when absent */
bool query_true(const struct request *rq, const char *name);

/* discovery.c, access.c, metrics.c: true when the path was theirs */
bool discovery_serve(struct fake *f, const struct request *rq, struct reply *rp);
bool access_allowed(struct fake *f, const struct request *rq, const struct target *t, struct reply *rp);
bool access_known(struct fake *f, const struct request *rq, struct reply *rp);
bool review_serve(struct fake *f, const struct request *rq, struct reply *rp);
bool metrics_serve(struct fake *f, const struct request *rq, struct reply *rp);
/* The version of the metrics API at this place in discovery's order; false: there are no more. */
struct metrics_version {
        char name[16];
        bool away; /* 503 */
};
bool metrics_version_at(const struct fake *f, size_t place, struct metrics_version *ret);
/* 503, as the aggregator answers for a server that it does not reach. */
void metrics_refuse(struct reply *rp);

/* world_size.c */
void crowd_metrics(const struct fake *f, size_t i, int64_t at_ms, struct buf *out);

/* controllers.c */
void controllers_note(struct fake *f, const struct kind *k, const json_t *object);
void controllers_run(struct fake *f); /* as the options say */
void controllers_release(struct fake *f);

/* faults.c, log.c, watch.c */
bool fault_match(struct fake *f, const struct request *rq,
                 struct fake_fault *ret); /* texts: the fault's, until faults are cleared */
void log_request(struct fake *f, const struct request *rq, int status);
bool verb_matches(const char *want, const char *method, const char *verb);
void log_release(struct fake *f);
void faults_release(struct fake *f);

/* route.c */
void route_verb(struct request *rq);
void route(struct fake *f, struct request *rq, struct reply *rp);

/* http.c */
bool fake_http_start(struct fake *f);
void fake_http_stop(struct fake *f);

/* tls.c */
struct tls *tls_new(void);
void tls_free(struct tls *t);
const char *tls_ca(const struct tls *t);
const char *tls_certificate(const struct tls *t, bool server);
const char *tls_key(const struct tls *t, bool server);

#endif
