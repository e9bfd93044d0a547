/*
 * A fetch runs two queries at once, for CPU and memory; a fetch of throttling runs one. It collects the series by name,
 * and joins those of both resources when all answers are complete.
 */
#include "prometheus/prometheus.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "authorization.h"
#include "base/mem.h"
#include "credentials.h"
#include "decode_series.h"
#include "net/stream.h"
#include "partial_answer.h"
#include "query.h"
#include "series_rows.h"

enum {
        MATCHERS_MOST = 4 << 10,
        QUERY_MOST = 16 << 10,
        SERIES_MOST = 4 << 20 /* bytes of one series */,
        ERROR_BODY = 4 << 10
};
/* The query of throttling has the matchers twice. Text beyond QUERY_MOST bytes would be missing. */
_Static_assert(2 * MATCHERS_MOST + 1024 <= QUERY_MOST, "a query holds the longest matchers");
#define ANSWER_MOST (INT64_C(1) << 30)
#define QUERY_PATH  "/api/v1/query_range"

struct prometheus {
        struct loop *loop;
        struct prometheus_options options;
        struct http *http;
        struct credentials credentials;
        struct authorization *authorization; /* NULL: only the credentials in files are used */
        int fetches;                         /* number of fetches in progress */
};

struct prometheus_fetch {
        struct prometheus *prometheus;
        struct prometheus_slice slice;
        struct query {
                struct prometheus_fetch *fetch;
                enum resource resource;
                struct http_call *call; /* NULL: the call has ended */
                struct stream stream;
                struct buf refusal;               /* the body of an error response */
                struct prometheus_series reading; /* the series that is being read, and its cgroup */
                struct text cgroup;
                int64_t number; /* the series' number in `rows`; -1: no point of the series was read yet */
        } query[RESOURCES];
        struct loop_timer failed; /* reports from the loop that no query could be sent */
        struct authorization_wait authorized;
        struct arena item;
        struct series_rows rows;
        struct prometheus_answer answer;
        void (*done)(void *arg, const struct prometheus_answer *a);
        void *arg;
};

/* --- settings --- */

/* Does a URL hold a user or password? It would show in process lists, in the log, and in the output of check. */
static bool holds_password(const char *url)
{
        const char *authority = strstr(url, "://") + 3;
        return memchr(authority, '@', strcspn(authority, "/?#"));
}

static int prometheus_check(const struct prometheus_options *o, struct err *err)
{
        if (strncmp(o->url, "http://", 7) != 0 && strncmp(o->url, "https://", 8) != 0)
                return err_set(err, ERR_INVALID, "Prometheus' URL '%s' begins with neither http:// nor https://",
                               o->url);
        if (holds_password(o->url))
                return err_set(err, ERR_INVALID,
                               "Prometheus' URL holds a user: give prometheus-user and prometheus-password-file, since "
                               "the URL is shown in logs");
        if (strpbrk(o->url, "?#"))
                return err_set(err, ERR_INVALID,
                               "Prometheus' URL '%s' has a query: leave out what begins with '?' or '#'", o->url);
        if (!o->cert_file != !o->key_file)
                return err_set(err, ERR_INVALID,
                               "a client certificate for Prometheus needs both files, certificate and key");
        if (o->bearer_file && o->user)
                return err_set(err, ERR_INVALID, "Prometheus takes a token or a user and password, not both");
        if (o->password_file && !o->user)
                return err_set(err, ERR_INVALID, "a password for Prometheus needs a user");
        if (o->auth != PROMETHEUS_AUTH_FILES && (o->bearer_file || o->user))
                return err_set(err, ERR_INVALID,
                               "prometheus-auth gives the credentials for Prometheus: leave out the token, or the user "
                               "and password");
        if (o->matchers && strlen(o->matchers) > MATCHERS_MOST)
                return err_set(err, ERR_INVALID, "matchers for Prometheus are longer than %d bytes", MATCHERS_MOST);
        return query_check_matchers(o->matchers, err);
}

int prometheus_new(struct loop *l, const struct prometheus_options *o, struct prometheus **ret, struct err *err)
{
        struct authorization *authorization = NULL;
        int rc = prometheus_check(o, err);
        if (rc == 0 && !o->via) /* behind another server, that server's token authorises */
                rc = authorization_new(l, o, &authorization, err);
        if (rc < 0)
                return rc;
        struct prometheus *p = MEM_NEW(struct prometheus);
        p->authorization = authorization;
        struct http_limits limits = {.user_agent = o->user_agent, .concurrency = o->queries};
        p->loop = l;
        p->options = *o;
        p->http = http_new(l, &limits);
        *ret = p;
        return 0;
}

void prometheus_free(struct prometheus *p)
{
        if (!p)
                return;
        assert(p->fetches == 0);
        http_free(p->http);
        authorization_free(p->authorization);
        credentials_release(&p->credentials);
        mem_free(p);
}

/* --- reading an answer --- */

static bool on_series(void *arg, const struct prometheus_series *s, struct text cgroup)
{
        struct query *q = arg;
        q->reading = *s;
        q->cgroup = cgroup;
        q->number = -1;
        return true;
}

/* Is a point within the slice? One step after its end is allowed, since some stores round the end to a whole step. */
static bool slice_reaches(const struct prometheus_slice *s, struct wall at)
{
        return at.ms <= s->to.ms + s->step_ms;
}

/* Keep a series only once it has a point, so that the bound on points bounds the series as well. */
static int on_point(void *arg, struct wall at, double value)
{
        struct query *q = arg;
        struct prometheus_fetch *f = q->fetch;
        if (!slice_reaches(&f->slice, at)) {
                f->answer.refused++;
                return 0;
        }
        if (f->rows.raws == f->slice.points_most)
                return ERR_TOOBIG;
        if (q->number < 0)
                q->number = series_rows_number(&f->rows, &q->reading, q->cgroup);
        series_rows_add(&f->rows, at, (uint32_t)q->number, q->resource, value);
        return 0;
}

static bool prometheus_tells_nodes(const struct prometheus_slice *s)
{
        return s->of == PROMETHEUS_NODES || s->of == PROMETHEUS_PRICES;
}

static int on_item(void *arg, struct text item)
{
        struct query *q = arg;
        struct prometheus_fetch *f = q->fetch;
        struct series_reader r = {on_series, on_point, q, prometheus_tells_nodes(&f->slice)};
        arena_reset(&f->item);
        return series_decode(item, &f->item, &r, &f->answer.refused, &f->answer.err);
}

static int prometheus_on_data(void *arg, const struct http_reply *head, const char *p, size_t len)
{
        struct query *q = arg;
        struct err err = {0};
        if (head->status != 200) {
                size_t room = ERROR_BODY - q->refusal.len;
                (void)buf_add(&q->refusal, p, len < room ? len : room);
                return len < room ? 0 : ERR_TOOBIG; /* the HTTP status says enough */
        }
        int rc = stream_feed(&q->stream, p, len, &err);
        if (rc < 0 && q->fetch->answer.err.code == 0)
                q->fetch->answer.err = err;
        return rc;
}

/* --- the end of a fetch --- */

static void fetch_free(struct prometheus_fetch *f)
{
        for (int r = 0; r < RESOURCES; r++) {
                stream_release(&f->query[r].stream);
                buf_release(&f->query[r].refusal);
        }
        series_rows_release(&f->rows);
        arena_release(&f->item);
        f->prometheus->fetches--;
        mem_free(f);
}

static void fetch_end(struct prometheus_fetch *f)
{
        static const char *const what[] = {[PROMETHEUS_USAGE] = "usage",
                                           [PROMETHEUS_THROTTLING] = "throttling",
                                           [PROMETHEUS_NODES] = "usage of nodes",
                                           [PROMETHEUS_PRICES] = "prices"};
        struct prometheus_answer *a = &f->answer;
        if (a->err.code == 0)
                series_rows_join(&f->rows, a);
        else
                err_wrap(&a->err, "%s from Prometheus", what[f->slice.of]);
        f->done(f->arg, a);
        fetch_free(f);
}

/* Judge the HTTP status of a response: 0 for 200, else an error that says what the caller can do. */
static int judge_status(const struct query *q, const struct http_reply *reply, struct err *err)
{
        char said[256];
        int status = reply->status;
        if (status == 200)
                return 0;
        query_error(buf_text(&q->refusal), said, sizeof said);
        const char *colon = *said ? ": " : "";
        if ((status == 401 || status == 403) && q->fetch->prometheus->authorization)
                authorization_refused(q->fetch->prometheus->authorization);
        if (status == 401 || status == 403)
                return err_set_http(err, ERR_DENIED, status, "HTTP %d: the credentials are refused%s%s", status, colon,
                                    said);
        if (status == 404)
                return err_set_http(err, ERR_INVALID, status,
                                    "HTTP 404: there is no Prometheus at this URL; is its path right?");
        if (status >= 300 && status < 400)
                return err_set_http(
                        err, ERR_INVALID, status,
                        "HTTP %d: it leads to another address, which is not followed: give that one if it is "
                        "right",
                        status);
        /* 422: the query exceeded one of the server's limits, on samples or time. */
        if (status == 422 || status == 413)
                return err_set_http(err, ERR_TOOBIG, status, "HTTP %d%s%s", status, colon, said);
        return err_set_http(err, status == 429 || status >= 500 ? ERR_RETRY : ERR_INVALID, status, "HTTP %d%s%s",
                            status, colon, said);
}

static void prometheus_on_done(void *arg, const struct http_reply *reply)
{
        struct query *q = arg;
        struct prometheus_fetch *f = q->fetch;
        struct prometheus_answer *a = &f->answer;
        struct err err = reply->err;
        q->call = NULL;
        if (err.code == 0 || (err.code == ERR_TOOBIG && q->refusal.len == ERROR_BODY)) {
                err = (struct err){0};
                (void)judge_status(q, reply, &err);
        }
        if (err.code == 0 && stream_end(&q->stream, &err) == 0)
                (void)partial_answer_judge(stream_envelope(&q->stream), &a->partial, &err);
        if (a->err.code == 0 && err.code != 0) {
                a->err = err;
                a->retry_after_ms = reply->retry_after_ms;
        }
        if (reply->date.ms > a->date.ms)
                a->date = reply->date;
        struct query *other = &f->query[q->resource == CPU ? MEMORY : CPU];
        if (a->err.code != 0 && other->call) {
                http_cancel(f->prometheus->http, other->call);
                other->call = NULL;
        }
        if (!other->call)
                fetch_end(f);
}

/* --- the start of a fetch --- */

static struct http_call *prometheus_post(const struct prometheus *p, const struct prometheus_fetch *f, struct query *q,
                                         struct text form)
{
        const struct grant *grant = p->authorization ? authorization_grant(p->authorization) : NULL;
        const struct credentials *files = &p->credentials;
        char *headers =
                mem_printf("%s%s", files->headers ? files->headers : "", grant && grant->headers ? grant->headers : "");
        struct http_call *call =
                http_start(p->http, &(struct http_request){.method = HTTP_POST,
                                                           .peer = &files->peer,
                                                           .path_query = QUERY_PATH,
                                                           .bearer = grant ? grant->bearer : files->bearer,
                                                           .basic = grant ? grant->basic : files->basic,
                                                           .sign = grant ? grant->sign : NULL,
                                                           .headers = headers,
                                                           .content_type = "application/x-www-form-urlencoded",
                                                           .body = form,
                                                           .gzip = true,
                                                           .deadline_ms = f->slice.deadline_ms,
                                                           .data = prometheus_on_data,
                                                           .done = prometheus_on_done,
                                                           .arg = q});
        mem_wipe(headers);
        return call;
}

static struct http_call *prometheus_get(const struct prometheus *p, const struct prometheus_fetch *f, struct query *q,
                                        const char *form)
{
        const struct prometheus_via *via = p->options.via;
        AUTO(mem_free) char *path = mem_printf("%s" QUERY_PATH "?%s", via->prefix, form);
        return http_start(p->http, &(struct http_request){.peer = via->peer(via->arg),
                                                          .path_query = path,
                                                          .bearer = via->bearer(via->arg),
                                                          .gzip = true,
                                                          .deadline_ms = f->slice.deadline_ms,
                                                          .data = prometheus_on_data,
                                                          .done = prometheus_on_done,
                                                          .arg = q});
}

static void prometheus_ask(struct prometheus_fetch *f, enum resource r)
{
        struct prometheus *p = f->prometheus;
        struct query *q = &f->query[r];
        struct buf promql = {0}, form = {0};
        buf_init(&promql, QUERY_MOST);
        buf_init(&form, 4 * QUERY_MOST);
        if (f->slice.of == PROMETHEUS_THROTTLING)
                query_promql_throttling(&promql, &p->options, &f->slice);
        else if (f->slice.of == PROMETHEUS_NODES)
                query_promql_nodes(&promql, &p->options, r, &f->slice);
        else if (f->slice.of == PROMETHEUS_PRICES)
                query_promql_prices(&promql, &p->options, r);
        else
                query_promql(&promql, &p->options, r, &f->slice);
        query_form(&form, promql.data, &f->slice);
        q->call = p->options.via ? prometheus_get(p, f, q, form.data) : prometheus_post(p, f, q, buf_text(&form));
        buf_release(&promql);
        buf_release(&form);
}

static void prometheus_ask_all(struct prometheus_fetch *f)
{
        for (enum resource r = CPU; r < (f->slice.of == PROMETHEUS_THROTTLING ? MEMORY : RESOURCES); r++)
                prometheus_ask(f, r);
}

static void prometheus_on_authorized(void *arg, const struct err *err)
{
        struct prometheus_fetch *f = arg;
        if (err->code == 0) {
                prometheus_ask_all(f);
                return;
        }
        f->answer.err = *err;
        fetch_end(f);
}

static void on_failed(void *arg)
{
        fetch_end(arg);
}

struct prometheus_fetch *prometheus_fetch(struct prometheus *p, const struct prometheus_slice *s,
                                          void (*done)(void *arg, const struct prometheus_answer *a), void *arg)
{
        assert(s->step_ms >= SECOND_MS && s->step_ms % SECOND_MS == 0 && s->from.ms <= s->to.ms);
        struct prometheus_fetch *f = MEM_NEW(struct prometheus_fetch);
        *f = (struct prometheus_fetch){.prometheus = p, .slice = *s, .done = done, .arg = arg};
        f->answer.retry_after_ms = -1;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                f->query[r].fetch = f;
                f->query[r].resource = r;
                stream_init(&f->query[r].stream, STREAM_QUERY, SERIES_MOST, ANSWER_MOST, on_item, &f->query[r]);
                buf_init(&f->query[r].refusal, ERROR_BODY);
        }
        bool unread = !p->credentials.peer.base_url; /* a fetch in progress failed to read the files */
        if ((p->fetches++ == 0 || unread) && credentials_read(&p->credentials, &p->options, &f->answer.err) < 0) {
                loop_timer_set(p->loop, &f->failed, 0, on_failed, f);
                return f;
        }
        if (!p->authorization || authorization_holds(p->authorization)) {
                prometheus_ask_all(f);
                return f;
        }
        f->authorized.done = prometheus_on_authorized;
        f->authorized.arg = f;
        authorization_await(p->authorization, &f->authorized);
        return f;
}

void prometheus_cancel(struct prometheus_fetch *f)
{
        for (int r = 0; r < RESOURCES; r++)
                if (f->query[r].call)
                        http_cancel(f->prometheus->http, f->query[r].call);
        authorization_leave(&f->authorized);
        loop_timer_stop(f->prometheus->loop, &f->failed);
        fetch_free(f);
}
