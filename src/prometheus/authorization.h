/*
 * Credentials for requests to the usage source where a cloud platform gives them: a table of kinds, one for each
 * platform. Each kind reads what the platform puts into the process' environment, asks the platform's endpoint for
 * credentials if it has to, and reads the answer. Credentials are kept in memory alone, renewed before they expire, and
 * never logged.
 */
#ifndef HALFLIFE_PROMETHEUS_AUTHORIZATION_H
#define HALFLIFE_PROMETHEUS_AUTHORIZATION_H

#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/text.h"
#include "net/loop.h"
#include "prometheus/prometheus.h"

/* Credentials for requests, in the words of struct http_request. The texts are secrets. */
struct grant {
        char *bearer, *basic, *headers, *sign; /* NULL: none */
        struct wall expires;                   /* ms 0: never */
};
void grant_release(struct grant *g); /* wipes the secrets and frees the texts */

/* What a kind of credentials reads: settings, environment variables and the time. */
struct authorization_facts {
        const char *(*variable)(const char *name); /* getenv, or a test's own */
        const char *region;                        /* AWS; NULL: by the environment */
        const char *audience;                      /* Azure: audience of the token */
        struct wall now;
};

/* The request that asks an endpoint for credentials. */
struct authorization_ask {
        char *url;     /* whole: "http://host/path?query" */
        char *headers; /* "Name: value\n" lines; NULL: none. A secret */
        char *form;    /* body of a POST; NULL: a GET. A secret */
        bool direct;   /* the endpoint is the node's or the pod's own: never use a proxy */
        /* Read a body of status 200. Returns 0, or ERR_INVALID: the answer has no credentials. */
        int (*read)(const struct authorization_facts *f, struct text body, struct grant *ret, struct err *err);
};
void authorization_ask_release(struct authorization_ask *a);

/* authorization_url.c: may credentials be sent to a URL from the environment? Returns 0 if it is https:// or an address
 * of the pod, its node or the agent beside it, and has no user; else ERR_INVALID, which names the variable, not the
 * URL. */
int authorization_check_url(const char *variable, const char *url, struct err *err);

struct authorization_kind {
        enum prometheus_auth of;
        /* Returns 0 with the request in *ret_ask; or, if no request is needed, with ret_ask->url NULL and the
         * credentials in *ret. Errors: ERR_INVALID, with a text that names what the environment lacks, and those of
         * file_read. */
        int (*prepare)(const struct authorization_facts *f, struct grant *ret, struct authorization_ask *ret_ask,
                       struct err *err);
};
extern const struct authorization_kind authorization_aws, authorization_google, authorization_azure;

/* --- the credentials for one usage source --- */

struct authorization;
/* The strings of `o` must outlive *ret. Returns 0 with *ret, which is NULL if o->auth is PROMETHEUS_AUTH_FILES;
 * ERR_INVALID: this libcurl cannot sign requests for AWS. */
int authorization_new(struct loop *l, const struct prometheus_options *o, struct authorization **ret, struct err *err);
void authorization_free(struct authorization *a); /* NULL is fine; nobody may wait any more */

/* Are there credentials that need no renewal yet? If not, use authorization_await before a request. */
bool authorization_holds(const struct authorization *a);
/* The credentials, to be used at once: call this only after authorization_holds returned true, or in a wait's `done`
 * without error. */
const struct grant *authorization_grant(const struct authorization *a);
/* Tell that the usage source refused the credentials: they hold no more, so the next request waits for new ones. */
void authorization_refused(struct authorization *a);

struct authorization_wait {
        LIST_ENTRY(authorization_wait) link;
        void (*done)(void *arg, const struct err *err); /* err->code 0: there are credentials */
        void *arg;
        bool waits;     /* the wait is in the list of struct authorization */
        unsigned round; /* the round of struct authorization in which the wait began */
};
/* Wait for new credentials, and ask for them if no request is under way. w->done is called once, from the loop. */
void authorization_await(struct authorization *a, struct authorization_wait *w);
void authorization_leave(struct authorization_wait *w); /* give up the wait; does nothing after done */

#endif
