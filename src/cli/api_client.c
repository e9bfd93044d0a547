#include "api_client.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file_read.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "cli/version.h"
#include "net/http.h"
#include "terminal.h"

enum {
        ANSWER_MAX = 128 << 20,
        ANSWER_MS = 10 * SECOND_MS,
        POST_MS = 60 * SECOND_MS,
        CA_MAX = 1 << 20,
        TOKEN_MAX = 64 << 10
};

/* --- the server's address --- */

static bool is_loopback(const char *host)
{
        static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
                size_t len = strlen(names[i]);
                if (strncmp(host, names[i], len) == 0 && strchr(":/", host[len]))
                        return true;
        }
        return false;
}

/* Check a server's address. It may have a scheme, a host and a port; a path, a query or a user name is a mistake. */
int api_client_check(const char *url, struct err *err)
{
        bool tls = strncmp(url, "https://", 8) == 0, plain = strncmp(url, "http://", 7) == 0;
        const char *host = url + (tls ? 8 : plain ? 7 : 0);
        size_t len = strcspn(host, "/?#@ ");
        bool bare = len > 0 && (host[len] == '\0' || (host[len] == '/' && host[len + 1] == '\0'));
        if ((!tls && !plain) || !bare)
                return err_set(err, ERR_INVALID, "server '%s' is not an address such as https://halflife.halflife.svc",
                               url);
        if (plain && !is_loopback(host))
                return err_set(err, ERR_INVALID,
                               "server '%s' would get a token without TLS: use https://; http:// is allowed only on "
                               "loopback",
                               url);
        return 0;
}

const char *api_client_namespace(const struct api_client_options *o)
{
        return o->ns ? o->ns : "halflife";
}

bool api_client_no_proxy(const struct err *err)
{
        return err->code == ERR_DENIED && strstr(err->text, "services/proxy");
}

static void api_client_start(struct api_client *r)
{
        enum { CONCURRENCY = 4 };
        struct http_limits limits = {.user_agent = version_user_agent(), .concurrency = CONCURRENCY};
        r->http = http_new(r->loop, &limits);
}

int api_client_open(struct api_client *r, const char *url, const char *ca, const char *token, struct err *err)
{
        size_t len = strlen(url);
        *r = (struct api_client){.base = mem_string_n(url, len && url[len - 1] == '/' ? len - 1 : len)};
        int rc = api_client_check(r->base, err);
        if (rc < 0)
                return rc;
        if (ca && !(r->ca = file_read_input(ca, CA_MAX, &len, err)))
                return err->code;
        r->bearer = mem_string(token);
        r->peer = (struct http_peer){.base_url = r->base, .ca_pem = r->ca};
        r->loop = loop_new();
        r->own_loop = true;
        api_client_start(r);
        return 0;
}

void api_client_through(struct api_client *r, const struct session *s, const char *ns, const char *token)
{
        AUTO(mem_free) char *space = path_escape(ns);
        *r = (struct api_client){
                .loop = s->loop,
                .peer = *access_peer(s->access),
                .prefix = mem_printf("/api/v1/namespaces/%s/services/https:halflife:https/proxy", space),
                .bearer = mem_string(access_bearer(s->access)),
                .passed = mem_string(token),
        };
        api_client_start(r);
}

int api_client_connect(struct api_client *r, struct session *s, const struct session_options *where,
                       const struct api_client_options *from, const char *token, struct err *err)
{
        int rc = (from->server ? session_open_optional : session_open_given)(s, where, err);
        if (rc < 0)
                return rc;
        if (!from->server) {
                api_client_through(r, s, api_client_namespace(from), token);
                return 0;
        }
        const char *bearer = s->access ? access_bearer(s->access) : NULL;
        return api_client_open(r, from->server, from->server_ca, token ? token : bearer, err);
}

void api_client_release(struct api_client *r)
{
        if (r->http)
                http_free(r->http);
        if (r->own_loop)
                loop_free(r->loop);
        mem_free(r->base);
        mem_free(r->ca);
        mem_free(r->prefix);
        mem_wipe(r->bearer);
        mem_wipe(r->passed);
        *r = (struct api_client){0};
}

int api_client_token(const char *file, char **ret, struct err *err)
{
        const char *given = getenv("HALFLIFE_TOKEN");
        size_t len = 0;
        char *token = file ? file_read_input(file, TOKEN_MAX, &len, err) : (given && *given) ? mem_string(given) : NULL;
        if (file && !token)
                return err_wrap(err, "token");
        if (token)
                token[strcspn(token, "\r\n")] = '\0';
        *ret = token;
        return 0;
}

/* --- HTTP requests --- */

void api_client_add_parameter(struct buf *path, const char *name, const char *value)
{
        if (!value)
                return;
        AUTO(mem_free) char *escaped = path_escape(value);
        buf_printf(path, "%c%s=%s", strchr(path->data, '?') ? '&' : '?', name, escaped);
}

struct waited {
        struct buf body;
        struct http_reply reply;
        bool done;
};

static int api_client_on_data(void *arg, const struct http_reply *head, const char *p, size_t len)
{
        (void)head;
        return buf_add(&((struct waited *)arg)->body, p, len);
}

static void api_client_on_done(void *arg, const struct http_reply *reply)
{
        struct waited *w = arg;
        w->reply = *reply;
        w->done = true;
}

/* The server's message: "detail" of an answer of halflife, or "message" of a Status of the API server. */
static const char *api_client_words_of(const json_t *answer)
{
        const char *detail = json_string_value(json_object_get(answer, "detail"));
        const char *message = json_string_value(json_object_get(answer, "message"));
        return detail ? detail : message ? message : "it did not say why";
}

static int api_client_refusal(int status, const json_t *answer, struct err *err)
{
        int code = status == 404                    ? ERR_NOTFOUND
                   : status == 401 || status == 403 ? ERR_DENIED
                   : status >= 400 && status < 500  ? ERR_INVALID
                                                    : ERR_RETRY;
        AUTO(mem_free) char *words = terminal_tame(mem_string(api_client_words_of(answer)));
        return err_set_http(err, code, status, "HTTP %d: %s", status, words);
}

/* Send one HTTP request and wait for the answer, which goes into *ret; the caller releases ret->body. */
static void api_client_exchange(struct api_client *r, struct http_request q, const char *path_query, struct waited *ret)
{
        AUTO(mem_free) char *url = mem_printf("%s%s", r->prefix ? r->prefix : "", path_query);
        *ret = (struct waited){0};
        buf_init(&ret->body, ANSWER_MAX);
        q.peer = &r->peer;
        q.path_query = url;
        q.bearer = r->bearer;
        q.passed = r->passed;
        q.gzip = true;
        q.data = api_client_on_data;
        q.done = api_client_on_done;
        q.arg = ret;
        http_start(r->http, &q);
        while (!ret->done)
                loop_turn(r->loop, -1);
}

/* Set the error of an HTTP request without an answer. For a certificate that is not trusted, it names the options that
 * give a CA. */
static int api_client_no_answer(const struct api_client *r, const struct err *why, struct err *err)
{
        bool untrusted = r->own_loop && strstr(why->text, "certificate authority");
        return err_set(err, why->code, "%s%s", why->text,
                       untrusted ? "; give the CA with --server-ca FILE (of a certificate made by halflife: ca.crt in "
                                   "the Secret halflife-certificate), and in --server a name of the certificate (such "
                                   "as halflife.halflife.svc)"
                                 : "");
}

json_t *api_client_get(struct api_client *r, const char *path_query, struct err *err)
{
        struct waited w;
        api_client_exchange(r, (struct http_request){.deadline_ms = ANSWER_MS}, path_query, &w);
        json_t *answer = w.reply.err.code ? NULL : json_loadb(buf_text(&w.body).p, w.body.len, 0, NULL);
        buf_release(&w.body);
        if (w.reply.err.code) {
                api_client_no_answer(r, &w.reply.err, err);
        } else if (w.reply.status != 200) {
                api_client_refusal(w.reply.status, answer, err);
                json_decref(answer);
                answer = NULL;
        } else if (!json_is_object(answer)) {
                err_set(err, ERR_INVALID, "the server is not halflife: its answer is not a JSON object");
                json_decref(answer);
                answer = NULL;
        }
        return answer;
}

static int refused_post(const struct waited *w, struct err *err)
{
        AUTO(json_decref) json_t *answer = json_loadb(buf_text(&w->body).p, w->body.len, 0, NULL);
        const char *detail = json_string_value(json_object_get(answer, "detail"));
        if (w->reply.status != 400 || !detail)
                return api_client_refusal(w->reply.status, answer, err);
        AUTO(mem_free) char *words = terminal_tame(mem_string(detail));
        return err_set(err, ERR_INVALID, "%s", words);
}

int api_client_post(struct api_client *r, const char *path_query, const char *content_type, struct text body,
                    char **ret, size_t *ret_len, struct err *err)
{
        struct waited w;
        const struct http_request q = {.method = HTTP_POST,
                                       .content_type = content_type,
                                       .accept = "*/*",
                                       .body = body,
                                       .deadline_ms = POST_MS};
        api_client_exchange(r, q, path_query, &w);
        int rc = w.reply.err.code        ? api_client_no_answer(r, &w.reply.err, err)
                 : w.reply.status != 200 ? refused_post(&w, err)
                                         : 0;
        if (rc == 0) {
                *ret_len = w.body.len;
                *ret = w.body.len ? buf_steal(&w.body) : mem_string("");
        }
        buf_release(&w.body);
        return rc;
}

/* --- one GET of a command --- */

/* Add to the error what to do about a refusal by the API server's proxy, or by halflife behind it. */
static void api_client_advise(const struct api_client_question *q, struct err *err)
{
        struct err why = *err;
        const char *ns = api_client_namespace(q->from);
        if (api_client_no_proxy(&why))
                err_set(err, why.code, "%s. The Role halflife-rest-proxy grants access: " API_CLIENT_GRANT, why.text,
                        ns);
        else if (why.code == ERR_DENIED)
                err_set(err, why.code,
                        "%s. Give the token of an account that may %s: HALFLIFE_TOKEN=$(kubectl create token ACCOUNT "
                        "-n NAMESPACE)",
                        why.text, q->may);
        else if (!q->keeps_refusals || (why.code != ERR_INVALID && why.code != ERR_NOTFOUND))
                err_set(err, why.code,
                        "Service 'halflife' in namespace '%s' did not answer (%s). --halflife-namespace gives its "
                        "namespace, --server URL asks halflife directly",
                        ns, why.text);
}

json_t *api_client_ask(const struct api_client_question *q, struct err *err)
{
        struct session s = {0};
        struct api_client r = {0};
        json_t *answer = NULL;
        AUTO(mem_wipe) char *token = NULL;
        int rc = api_client_token(q->from->token_file, &token, err);
        if (rc < 0)
                return NULL;
        rc = api_client_connect(&r, &s, q->where, q->from, token, err);
        if (rc == 0)
                answer = api_client_get(&r, q->path_query, err);
        if (!answer && q->from->server)
                err_wrap(err, "server '%s'", q->from->server);
        else if (!answer && rc == 0)
                api_client_advise(q, err);
        api_client_release(&r);
        session_release(&s);
        return answer;
}
