/* Fetches from a Prometheus that verifies who asks, with credentials from endpoints that verify what they are asked:
 * one ask for many fetches, renewals, refusals, and endpoints that fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
/* after its needs */
#include <cmocka.h>

#include "../support/sigv4.h"
#include "../support/tmp.h"
#include "../unit/net/peer.h"
#include "prometheus/prometheus.h"

#define EMPTY "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}"

/* The endpoint that gives credentials. */
struct endpoint {
        const char *asks[4]; /* what a request has to hold */
        int status;
        const char *answer, *headers;
        _Atomic bool silent;
        _Atomic int asked, wrong;
};

static bool endpoint_answers(struct conn *c, void *arg)
{
        struct endpoint *e = arg;
        e->asked++;
        for (size_t i = 0; i < 4 && e->asks[i]; i++)
                if (!conn_asks(c, e->asks[i])) {
                        fprintf(stderr, "no '%s' in\n%s\n", e->asks[i], c->request);
                        e->wrong++;
                }
        if (e->silent)
                return conn_wait_gone(c, 60000) && false;
        return conn_answer(c, e->status, e->headers, e->answer);
}

/* The usage source. */
struct source {
        const char *bearer;     /* else: */
        struct sigv4_keys keys; /* of its signatures */
        const char *asks;       /* what a request has to hold besides; NULL: nothing */
        _Atomic bool refuses;
        _Atomic int asked;
        char why[SIGV4_WHY];
};

static bool source_answers(struct conn *c, void *arg)
{
        struct source *s = arg;
        s->asked++;
        if (s->refuses)
                return conn_answer(c, 401, NULL, "{\"error\":\"revoked\"}");
        bool good = s->bearer ? conn_asks(c, s->bearer) : sigv4_verify(c->request, &s->keys, s->why);
        if (s->asks && !conn_asks(c, s->asks))
                good = false;
        return conn_answer(c, good ? 200 : 403, NULL, good ? EMPTY : "{\"error\":\"not you\"}");
}

struct world {
        struct loop *loop;
        struct peer *endpoint_peer, *source_peer;
        struct prometheus *prometheus;
        struct err err;
        int done;
};

static const char *const variables[] = {"AWS_ACCESS_KEY_ID",
                                        "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN",
                                        "AWS_REGION",
                                        "AWS_ROLE_ARN",
                                        "AWS_WEB_IDENTITY_TOKEN_FILE",
                                        "AWS_ENDPOINT_URL_STS",
                                        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                                        "GCE_METADATA_HOST",
                                        "AZURE_CLIENT_ID",
                                        "AZURE_TENANT_ID",
                                        "AZURE_FEDERATED_TOKEN_FILE",
                                        "AZURE_AUTHORITY_HOST",
                                        "AZURE_POD_IDENTITY_AUTHORITY_HOST"};

enum { SET = 5 };
struct variable {
        const char *name, *value; /* "$URL", "$HOST": of the endpoint; "$FILE": of a token */
};

static void set_environment(const struct variable *set, const struct world *w, const char *file)
{
        for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
                unsetenv(variables[i]);
        for (int i = 0; i < SET && set[i].name; i++) {
                const char *v = set[i].value, *url = w->endpoint_peer->url;
                setenv(set[i].name,
                       strcmp(v, "$FILE") == 0   ? file
                       : strcmp(v, "$HOST") == 0 ? strstr(url, "://") + 3
                       : strcmp(v, "$URL") == 0  ? url
                                                 : v,
                       1);
        }
}

static void begin(struct world *w, struct endpoint *e, struct source *s, const struct variable *set,
                  struct prometheus_options o)
{
        AUTO(mem_free) char *file = tmp_file("identity", "to.k-en\n");
        struct err err = {0};
        *w = (struct world){.loop = loop_new(),
                            .endpoint_peer = peer_start(endpoint_answers, e, NULL),
                            .source_peer = peer_start(source_answers, s, NULL)};
        set_environment(set, w, file);
        o.url = w->source_peer->url;
        o.user_agent = "halflife/test";
        o.audience = "https://prom";
        o.queries = 2;
        o.rate_window_ms = 120000;
        if (prometheus_new(w->loop, &o, &w->prometheus, &err) < 0)
                fail_msg("%s", err.text);
}

static void end(struct world *w)
{
        prometheus_free(w->prometheus);
        loop_free(w->loop);
        peer_stop(w->endpoint_peer);
        peer_stop(w->source_peer);
}

static void on_answer(void *arg, const struct prometheus_answer *a)
{
        struct world *w = arg;
        w->done++;
        w->err = a->err;
}

static struct prometheus_fetch *start(struct world *w)
{
        const struct prometheus_slice s = {
                .from = {60000}, .to = {120000}, .step_ms = 60000, .deadline_ms = 60000, .points_most = 10};
        return prometheus_fetch(w->prometheus, &s, on_answer, w);
}

static void fetch(struct world *w)
{
        w->done = 0;
        (void)start(w);
        assert_int_equal(w->done, 0);
        while (!w->done)
                loop_turn(w->loop, -1);
}

static void on_time(void *arg)
{
        *(bool *)arg = true;
}

static void let_pass(struct world *w, int64_t ms)
{
        struct loop_timer timer = {0};
        bool over = false;
        loop_timer_set(w->loop, &timer, ms, on_time, &over);
        while (!over)
                loop_turn(w->loop, -1);
}

#define UNTIL "2999-01-01T00:00:00Z"
#define STS(until)                                                                                                     \
        "<R><Credentials><AccessKeyId>AKID</AccessKeyId><SecretAccessKey>se/cr+et</SecretAccessKey><SessionToken>"     \
        "ses/sion==</SessionToken><Expiration>" until "</Expiration></Credentials></R>"
#define POD_KEYS                                                                                                       \
        "{\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"se/cr+et\",\"Token\":\"ses/sion==\",\"Expiration\":\"" UNTIL  \
        "\"}"
#define TOKEN(life) "{\"access_token\":\"to.ken\",\"expires_in\":" life "}"
#define SESSION_KEYS                                                                                                   \
        {                                                                                                              \
                "AKID", "se/cr+et", "ses/sion==", "eu-west-1", "aps"                                                   \
        }
#define REGION                                                                                                         \
        {                                                                                                              \
                "AWS_REGION", "eu-west-1"                                                                              \
        }
#define GOOGLE                                                                                                         \
        {                                                                                                              \
                {                                                                                                      \
                        "GCE_METADATA_HOST", "$HOST"                                                                   \
                }                                                                                                      \
        }
#define BEARER "\r\nAuthorization: Bearer to.ken\r\n"
#define GOOGLE_SOURCE                                                                                                  \
        {                                                                                                              \
                .bearer = BEARER                                                                                       \
        }

/* The endpoint gives this token. */
static void begin_google(struct world *w, struct endpoint *e, struct source *s, const char *token)
{
        static const struct variable set[SET] = GOOGLE;
        *e = (struct endpoint){.status = 200, .answer = token};
        *s = (struct source)GOOGLE_SOURCE;
        begin(w, e, s, set, (struct prometheus_options){.auth = PROMETHEUS_AUTH_GOOGLE});
}

static void test_each_kind(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                enum prometheus_auth auth;
                struct variable set[SET];
                struct endpoint endpoint;
                struct source source;
                int asked; /* for two fetches */
        } row[] = {
                {"keys of the environment",
                 PROMETHEUS_AUTH_SIGV4,
                 {{"AWS_ACCESS_KEY_ID", "AKID"}, {"AWS_SECRET_ACCESS_KEY", "se/cr+et"}, REGION},
                 {.status = 500},
                 {.keys = {"AKID", "se/cr+et", NULL, "eu-west-1", "aps"}},
                 0},
                {"keys and a session token of the environment",
                 PROMETHEUS_AUTH_SIGV4,
                 {{"AWS_ACCESS_KEY_ID", "AKID"},
                  {"AWS_SECRET_ACCESS_KEY", "se/cr+et"},
                  {"AWS_SESSION_TOKEN", "ses/sion=="},
                  REGION},
                 {.status = 500},
                 {.keys = SESSION_KEYS},
                 0},
                {"web identity",
                 PROMETHEUS_AUTH_SIGV4,
                 {{"AWS_ROLE_ARN", "arn:r"},
                  {"AWS_WEB_IDENTITY_TOKEN_FILE", "$FILE"},
                  {"AWS_ENDPOINT_URL_STS", "$URL"},
                  REGION},
                 {.asks = {"POST / ", "\r\nContent-Type: application/x-www-form-urlencoded\r\n",
                           "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&", "&WebIdentityToken=to.k-en"},
                  .status = 200,
                  .answer = STS(UNTIL)},
                 {.keys = SESSION_KEYS},
                 1},
                {"pod identity",
                 PROMETHEUS_AUTH_SIGV4,
                 {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "$URL"},
                  {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "$FILE"},
                  REGION},
                 {.asks = {"GET / ", "\r\nAuthorization: to.k-en\r\n"}, .status = 200, .answer = POD_KEYS},
                 {.keys = SESSION_KEYS},
                 1},
                {"Google",
                 PROMETHEUS_AUTH_GOOGLE,
                 GOOGLE,
                 {.asks = {"GET /computeMetadata/v1/instance/service-accounts/default/token ",
                           "\r\nMetadata-Flavor: Google\r\n"},
                  .status = 200,
                  .answer = TOKEN("3600")},
                 GOOGLE_SOURCE,
                 1},
                {"Azure, of the node",
                 PROMETHEUS_AUTH_AZURE,
                 {{"AZURE_POD_IDENTITY_AUTHORITY_HOST", "$URL"}},
                 {.asks = {"GET /metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fprom ",
                           "\r\nMetadata: true\r\n"},
                  .status = 200,
                  .answer = TOKEN("\"3600\"")},
                 GOOGLE_SOURCE,
                 1},
                {"Azure, federated",
                 PROMETHEUS_AUTH_AZURE,
                 {{"AZURE_FEDERATED_TOKEN_FILE", "$FILE"},
                  {"AZURE_CLIENT_ID", "client"},
                  {"AZURE_TENANT_ID", "tenant"},
                  {"AZURE_AUTHORITY_HOST", "$URL"}},
                 {.asks = {"POST /tenant/oauth2/v2.0/token ", "&scope=https%3A%2F%2Fprom%2F.default&",
                           "&client_assertion=to.k-en"},
                  .status = 200,
                  .answer = TOKEN("3600")},
                 GOOGLE_SOURCE,
                 1},
                {"a life shorter than two fetches",
                 PROMETHEUS_AUTH_GOOGLE,
                 GOOGLE,
                 {.status = 200, .answer = TOKEN("1")},
                 GOOGLE_SOURCE,
                 2},
        };
        AUTO(mem_free) char *headers = tmp_file("tenant", "X-Scope-OrgID: team-a\n");
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct world w;
                struct endpoint e = row[i].endpoint;
                struct source s = row[i].source;
                s.asks = "\r\nX-Scope-OrgID: team-a\r\n";
                begin(&w, &e, &s, row[i].set,
                      (struct prometheus_options){.auth = row[i].auth, .headers_file = headers});
                for (int k = 0; k < 2; k++) {
                        fetch(&w);
                        if (w.err.code != 0)
                                fail_msg("%s: %s (%s)", row[i].name, w.err.text, s.why);
                }
                if (e.asked != row[i].asked || e.wrong || s.asked != 4)
                        fail_msg("%s: the endpoint was asked %d times, wrongly %d, the source %d", row[i].name, e.asked,
                                 e.wrong, s.asked);
                end(&w);
        }
}

static void test_fetches_share_an_ask(void **state)
{
        (void)state;
        struct world w;
        struct endpoint e;
        struct source s;
        begin_google(&w, &e, &s, TOKEN("3600"));
        for (int i = 0; i < 3; i++)
                (void)start(&w);
        prometheus_cancel(start(&w));
        while (w.done < 3)
                loop_turn(w.loop, -1);
        assert_int_equal(w.err.code, 0);
        assert_int_equal(e.asked, 1);
        assert_int_equal(s.asked, 6);
        end(&w);
}

/* What was revoked is asked for anew by the next fetch. */
static void test_refused_ones_are_renewed(void **state)
{
        (void)state;
        struct world w;
        struct endpoint e;
        struct source s;
        begin_google(&w, &e, &s, TOKEN("3600"));
        s.refuses = true;
        fetch(&w);
        assert_int_equal(w.err.code, ERR_DENIED);
        s.refuses = false;
        fetch(&w);
        assert_int_equal(w.err.code, 0);
        assert_int_equal(e.asked, 2);
        end(&w);
}

/* Half a life before they expire they are renewed. Where that fails, they serve on to their end, and no longer. */
static void test_renewal(void **state)
{
        (void)state;
        struct world w;
        struct endpoint e;
        struct source s;
        begin_google(&w, &e, &s, TOKEN("60"));
        fetch(&w);
        let_pass(&w, 20 * SECOND_MS);
        fetch(&w);
        assert_int_equal(e.asked, 1);
        e.status = 500;
        let_pass(&w, 12 * SECOND_MS);
        fetch(&w);
        assert_int_equal(w.err.code, 0); /* 32 s old: asked in vain */
        assert_int_equal(e.asked, 2);
        let_pass(&w, 25 * SECOND_MS);
        fetch(&w);
        assert_int_equal(w.err.code, ERR_RETRY); /* 57 s old: too late for a query */
        e.status = 200;
        fetch(&w);
        assert_int_equal(w.err.code, 0);
        assert_int_equal(e.asked, 4);
        end(&w);
}

static void test_endpoints_that_fail(void **state)
{
        (void)state;
        static char large[(64 << 10) + 2]; /* one byte more than is read */
        memset(large, ' ', sizeof large - 1);
        static const struct {
                const char *name;
                enum prometheus_auth auth;
                struct variable set[SET];
                struct endpoint endpoint;
                int code;
                const char *says;
        } row[] = {
                {"denied by STS",
                 PROMETHEUS_AUTH_SIGV4,
                 {{"AWS_ROLE_ARN", "arn:r"},
                  {"AWS_WEB_IDENTITY_TOKEN_FILE", "$FILE"},
                  {"AWS_ENDPOINT_URL_STS", "$URL"},
                  REGION},
                 {.status = 403,
                  .answer = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>se/cr+et</Message></Error></"
                            "ErrorResponse>"},
                 ERR_DENIED,
                 "HTTP 403: AccessDenied"},
                {"refused by Entra",
                 PROMETHEUS_AUTH_AZURE,
                 {{"AZURE_POD_IDENTITY_AUTHORITY_HOST", "$URL"}},
                 {.status = 400, .answer = "{\"error\":\"invalid_client\",\"error_description\":\"se/cr+et\"}"},
                 ERR_DENIED,
                 "HTTP 400: invalid_client"},
                {"overloaded",
                 PROMETHEUS_AUTH_GOOGLE,
                 GOOGLE,
                 {.status = 503, .answer = "busy"},
                 ERR_RETRY,
                 "HTTP 503"},
                {"not a metadata server",
                 PROMETHEUS_AUTH_GOOGLE,
                 GOOGLE,
                 {.status = 200, .answer = "<html>"},
                 ERR_INVALID,
                 "no usable access_token"},
                {"an endless answer",
                 PROMETHEUS_AUTH_GOOGLE,
                 GOOGLE,
                 {.status = 200, .answer = large},
                 ERR_TOOBIG,
                 "its answer has more than 65536 bytes"},
                {"expired",
                 PROMETHEUS_AUTH_SIGV4,
                 {{"AWS_ROLE_ARN", "arn:r"},
                  {"AWS_WEB_IDENTITY_TOKEN_FILE", "$FILE"},
                  {"AWS_ENDPOINT_URL_STS", "$URL"},
                  REGION},
                 {.status = 200, .answer = STS("1999-01-01T00:00:00Z")},
                 ERR_RETRY,
                 "is the clock right?"},
                {"keys cut before their end",
                 PROMETHEUS_AUTH_SIGV4,
                 {{"AWS_ROLE_ARN", "arn:r"},
                  {"AWS_WEB_IDENTITY_TOKEN_FILE", "$FILE"},
                  {"AWS_ENDPOINT_URL_STS", "$URL"},
                  REGION},
                 {.status = 200, .answer = "<R><AccessKeyId>AKID</AccessKeyId><Expiration>" UNTIL "</Expiration>"},
                 ERR_INVALID,
                 "the secret of the access key is empty"},
                {"a token file that is a folder",
                 PROMETHEUS_AUTH_SIGV4,
                 {{"AWS_ROLE_ARN", "arn:r"},
                  {"AWS_WEB_IDENTITY_TOKEN_FILE", "/"},
                  {"AWS_ENDPOINT_URL_STS", "$URL"},
                  REGION},
                 {.status = 200, .answer = STS(UNTIL)},
                 ERR_IO,
                 "it is a folder, not a file"},
                {"a redirect",
                 PROMETHEUS_AUTH_AZURE,
                 {{"AZURE_FEDERATED_TOKEN_FILE", "$FILE"},
                  {"AZURE_CLIENT_ID", "client"},
                  {"AZURE_TENANT_ID", "tenant"},
                  {"AZURE_AUTHORITY_HOST", "$URL"}},
                 {.status = 307, .headers = "Location: /elsewhere\r\n", .answer = TOKEN("3600")},
                 ERR_DENIED,
                 "HTTP 307"},
                {"a token of a hundred years",
                 PROMETHEUS_AUTH_GOOGLE,
                 GOOGLE,
                 {.status = 200, .answer = TOKEN("3153600000")},
                 ERR_INVALID,
                 "expires_in is not within 30 days"},
                {"a token of the past",
                 PROMETHEUS_AUTH_GOOGLE,
                 GOOGLE,
                 {.status = 200, .answer = TOKEN("-5")},
                 ERR_INVALID,
                 "expires_in is not within 30 days"},
                {"half a token",
                 PROMETHEUS_AUTH_GOOGLE,
                 GOOGLE,
                 {.status = 200, .answer = "{\"access_token\":\"to.k"},
                 ERR_INVALID,
                 "no usable access_token"},
                {"stalled",
                 PROMETHEUS_AUTH_GOOGLE,
                 GOOGLE,
                 {.status = 200, .silent = true},
                 ERR_RETRY,
                 "http://127.0.0.1"},
                {"nothing in the environment",
                 PROMETHEUS_AUTH_SIGV4,
                 {REGION},
                 {.status = 200},
                 ERR_INVALID,
                 "no credentials: the environment has neither"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct world w;
                struct endpoint e = row[i].endpoint;
                struct source s = GOOGLE_SOURCE;
                begin(&w, &e, &s, row[i].set, (struct prometheus_options){.auth = row[i].auth});
                fetch(&w);
                if (w.err.code != row[i].code || !strstr(w.err.text, row[i].says) || strstr(w.err.text, "se/cr+et") ||
                    !strstr(w.err.text, "credentials for Prometheus") || s.asked || e.asked > 1)
                        fail_msg("%s: %d: %s", row[i].name, w.err.code, w.err.text);
                end(&w);
        }
}

static void test_one_kind_of_credentials(void **state)
{
        (void)state;
        const struct prometheus_options o = {
                .url = "http://p", .auth = PROMETHEUS_AUTH_GOOGLE, .bearer_file = "/token"};
        struct loop *l = loop_new();
        struct prometheus *p = NULL;
        struct err err = {0};
        assert_int_equal(prometheus_new(l, &o, &p, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "leave out the token"));
        loop_free(l);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_kind),
                cmocka_unit_test(test_fetches_share_an_ask),
                cmocka_unit_test(test_refused_ones_are_renewed),
                cmocka_unit_test(test_renewal),
                cmocka_unit_test(test_endpoints_that_fail),
                cmocka_unit_test(test_one_kind_of_credentials),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
