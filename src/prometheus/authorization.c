#include "authorization.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/mem.h"

enum {
        ANSWER_BYTES_MOST = 64 << 10,
        ASK_MS = 10 * SECOND_MS,
        RENEW_MS = 2 * MINUTE_MS,  /* credentials are renewed this long before they expire, or at half their life */
        LAST_MS = 10 * SECOND_MS,  /* credentials that expire sooner are not used: a query might arrive too late */
        AGAIN_MS = 30 * SECOND_MS, /* from a failed renewal to the next, while the present credentials hold */
};

LIST_HEAD(waits, authorization_wait);

struct authorization {
        struct loop *loop;
        struct http *http[2]; /* [0]: with the proxies of the process; [1]: without, for an ask that is `direct` */
        const struct authorization_kind *kind;
        struct authorization_facts facts;
        struct grant grant;
        struct wall renew; /* when the grant is to be renewed; ms 0: never */
        bool granted;
        struct authorization_ask ask;
        struct http_peer peer;
        char *origin; /* the peer's URL */
        struct http_call *call;
        struct buf answer;
        struct loop_timer at_once; /* ends the waits if no request to the platform is needed, or none is possible */
        struct err failed;
        struct waits waits;
        unsigned round; /* number of the round of waits that the request under way ends */
};

void grant_release(struct grant *g)
{
        mem_wipe(g->bearer);
        mem_wipe(g->basic);
        mem_wipe(g->headers);
        mem_free(g->sign);
        *g = (struct grant){0};
}

void authorization_ask_release(struct authorization_ask *a)
{
        mem_free(a->url);
        mem_wipe(a->headers);
        mem_wipe(a->form);
        *a = (struct authorization_ask){0};
}

static const char *authorization_variable(const char *name)
{
        return getenv(name);
}

int authorization_new(struct loop *l, const struct prometheus_options *o, struct authorization **ret, struct err *err)
{
        static const struct authorization_kind *const kinds[] = {&authorization_aws, &authorization_google,
                                                                 &authorization_azure};
        static const struct proxy_settings no_proxy;
        *ret = NULL;
        if (o->auth == PROMETHEUS_AUTH_FILES)
                return 0;
        if (o->auth == PROMETHEUS_AUTH_SIGV4 && !http_can_sign())
                return err_set(err, ERR_INVALID,
                               "this libcurl (%s) cannot sign requests for AWS: 7.86 or newer is needed",
                               http_library_version());
        struct authorization *a = MEM_NEW(struct authorization);
        a->loop = l;
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
                if (kinds[i]->of == o->auth)
                        a->kind = kinds[i];
        a->facts = (struct authorization_facts){authorization_variable, o->region, o->audience, {0}};
        for (int direct = 0; direct < 2; direct++)
                a->http[direct] = http_new(
                        l, &(struct http_limits){.user_agent = o->user_agent, .proxies = direct ? &no_proxy : NULL});
        buf_init(&a->answer, ANSWER_BYTES_MOST);
        *ret = a;
        return 0;
}

void authorization_free(struct authorization *a)
{
        if (!a)
                return;
        if (a->call)
                http_cancel(a->http[a->ask.direct], a->call);
        loop_timer_stop(a->loop, &a->at_once);
        http_free(a->http[0]);
        http_free(a->http[1]);
        buf_wipe(&a->answer);
        authorization_ask_release(&a->ask);
        grant_release(&a->grant);
        mem_free(a->origin);
        mem_free(a);
}

/* --- credentials that were granted --- */

static bool authorization_lasts(const struct authorization *a)
{
        int64_t now_ms = loop_now(a->loop).wall.ms;
        return a->granted && (!a->grant.expires.ms || a->grant.expires.ms - now_ms > LAST_MS);
}

bool authorization_holds(const struct authorization *a)
{
        return authorization_lasts(a) && !(a->renew.ms && loop_now(a->loop).wall.ms >= a->renew.ms);
}

const struct grant *authorization_grant(const struct authorization *a)
{
        return &a->grant;
}

void authorization_refused(struct authorization *a)
{
        if (!a->call && !a->at_once.place)
                a->granted = false;
}

static struct authorization_wait *authorization_next_wait(const struct authorization *a, unsigned round)
{
        struct authorization_wait *w = LIST_FIRST(&a->waits);
        while (w && w->round != round)
                w = LIST_NEXT(w, link);
        return w;
}

/* End this round's waits; err->code 0: there are credentials. A wait that begins meanwhile is of the next round. */
static void authorization_settle(struct authorization *a, const struct err *err)
{
        struct authorization_wait *w;
        unsigned round = a->round++;
        while ((w = authorization_next_wait(a, round))) {
                authorization_leave(w);
                w->done(w->arg, err);
        }
}

static void authorization_take(struct authorization *a, struct grant *fresh)
{
        int64_t now_ms = loop_now(a->loop).wall.ms, life_ms = fresh->expires.ms - now_ms;
        grant_release(&a->grant);
        a->grant = *fresh;
        a->granted = true;
        a->renew.ms = fresh->expires.ms ? fresh->expires.ms - (life_ms < 2 * RENEW_MS ? life_ms / 2 : RENEW_MS) : 0;
        authorization_settle(a, &(struct err){0});
}

/* A renewal failed. Credentials that still hold stay in use and are renewed later; without them, the waits fail. */
static void authorization_fail(struct authorization *a, const struct err *err)
{
        struct err why = *err;
        if (authorization_lasts(a)) {
                a->renew.ms = loop_now(a->loop).wall.ms + AGAIN_MS;
                authorization_settle(a, &(struct err){0});
                return;
        }
        err_wrap(&why, "credentials for Prometheus");
        authorization_settle(a, &why);
}

/* --- asking for credentials --- */

/* The endpoint's own word for its refusal, such as AccessDenied: never a whole answer, which might hold a secret. */
static void authorization_word(struct text body, char ret[static 64])
{
        static const char *const members[] = {"error", "code", "Code"};
        static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
        json_t *o = json_loadb(body.p, body.len, 0, NULL);
        const char *word = NULL, *tag = memmem(body.p, body.len, "<Code>", 6);
        for (size_t i = 0; o && !word && i < sizeof members / sizeof members[0]; i++)
                word = json_string_value(json_object_get(o, members[i]));
        if (!word && tag)
                word = tag + 6;
        size_t len = 0;
        for (; word && len < 63 && word[len] && strchr(allowed, word[len]); len++)
                ret[len] = word[len];
        ret[len] = '\0';
        json_decref(o);
}

static void authorization_judge(struct authorization *a, const struct http_reply *reply)
{
        struct text body = buf_text(&a->answer);
        struct grant fresh = {0};
        struct err err = reply->err;
        char word[64];
        a->facts.now = loop_now(a->loop).wall;
        if (err.code == ERR_TOOBIG)
                err_set(&err, ERR_TOOBIG, "its answer has more than %d bytes", ANSWER_BYTES_MOST);
        if (err.code == 0 && reply->status != 200) {
                authorization_word(body, word);
                err_set(&err, reply->status == 429 || reply->status >= 500 ? ERR_RETRY : ERR_DENIED, "HTTP %d%s%s",
                        reply->status, *word ? ": " : "", word);
        }
        if (err.code == 0 && a->ask.read(&a->facts, body, &fresh, &err) == 0 && fresh.expires.ms <= a->facts.now.ms)
                err_set(&err, ERR_RETRY, "they have expired: is the clock right?");
        buf_wipe(&a->answer);
        if (err.code == 0) {
                authorization_ask_release(&a->ask);
                authorization_take(a, &fresh);
                return;
        }
        grant_release(&fresh);
        err_wrap(&err, "%s", a->origin);
        authorization_ask_release(&a->ask);
        authorization_fail(a, &err);
}

static int authorization_on_data(void *arg, const struct http_reply *head, const char *p, size_t len)
{
        struct authorization *a = arg;
        (void)head;
        return buf_add(&a->answer, p, len);
}

static void authorization_on_done(void *arg, const struct http_reply *reply)
{
        struct authorization *a = arg;
        a->call = NULL;
        authorization_judge(a, reply);
}

/* End the waits without a request: the environment had the credentials, or no request could be prepared. */
static void authorization_on_at_once(void *arg)
{
        struct authorization *a = arg;
        if (a->failed.code != 0)
                authorization_fail(a, &a->failed);
        else
                authorization_settle(a, &(struct err){0});
}

static void authorization_send(struct authorization *a)
{
        const char *host = strstr(a->ask.url, "://");
        size_t len = host ? (size_t)(host + 3 - a->ask.url) + strcspn(host + 3, "/?") : strlen(a->ask.url);
        const char *path = a->ask.url[len] == '/' ? a->ask.url + len : "/";
        mem_free(a->origin);
        a->origin = mem_string_n(a->ask.url, len);
        a->peer = (struct http_peer){.base_url = a->origin, .revision = a->peer.revision + 1};
        a->call = http_start(a->http[a->ask.direct],
                             &(struct http_request){.method = a->ask.form ? HTTP_POST : HTTP_GET,
                                                    .peer = &a->peer,
                                                    .path_query = path,
                                                    .headers = a->ask.headers,
                                                    .content_type = "application/x-www-form-urlencoded",
                                                    .accept = "*/*",
                                                    .body = text_of(a->ask.form ? a->ask.form : ""),
                                                    .deadline_ms = ASK_MS,
                                                    .data = authorization_on_data,
                                                    .done = authorization_on_done,
                                                    .arg = a});
}

static void authorization_begin(struct authorization *a)
{
        struct grant fresh = {0};
        a->failed = (struct err){0};
        a->facts.now = loop_now(a->loop).wall;
        authorization_ask_release(&a->ask);
        int rc = a->kind->prepare(&a->facts, &fresh, &a->ask, &a->failed);
        if (rc == 0 && a->ask.url) {
                authorization_send(a);
                return;
        }
        if (rc == 0) { /* credentials from the environment do not expire */
                grant_release(&a->grant);
                a->grant = fresh;
                a->granted = true;
                a->renew.ms = 0;
        }
        loop_timer_set(a->loop, &a->at_once, 0, authorization_on_at_once, a);
}

void authorization_await(struct authorization *a, struct authorization_wait *w)
{
        LIST_INSERT_HEAD(&a->waits, w, link);
        w->waits = true;
        w->round = a->round;
        if (!a->call && !a->at_once.place)
                authorization_begin(a);
}

void authorization_leave(struct authorization_wait *w)
{
        if (!w->waits)
                return;
        LIST_REMOVE(w, link);
        w->waits = false;
}
