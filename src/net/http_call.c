#include "http_call.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http_headers.h"
#include "tls_verdict.h"

enum {
        CONNECT_MS = 10000,
        KEEPALIVE_IDLE_S = 15,
        KEEPALIVE_EVERY_S = 5,
        PEER_DEAD_MS = 30000, /* a connection ends when sent data stays unacknowledged for so long */
        BODY_CHUNK = 128 << 10,
        TURN_BYTES = 2 << 20,             /* bytes of a body in one turn of the loop: some 10 ms of JSON decoding */
        GZIP_CHUNK = CURL_MAX_WRITE_SIZE, /* unpacked at once, it may become a thousand times as much */
};

struct http_call *http_call_new(struct http *h, const struct http_request *r)
{
        struct http_call *c = MEM_NEW(struct http_call);
        assert(r->peer && r->path_query && r->path_query[0] == '/' && r->done);
        c->http = h;
        c->r = *r;
        c->r.path_query = mem_string(r->path_query);
        c->r.bearer = mem_string(r->bearer);
        c->r.basic = mem_string(r->basic);
        c->r.sign = mem_string(r->sign);
        c->r.passed = mem_string(r->passed);
        c->r.headers = mem_string(r->headers);
        c->r.content_type = mem_string(r->content_type);
        c->r.accept = mem_string(r->accept ? r->accept : "application/json");
        c->r.body.p = r->body.len ? mem_string_n(r->body.p, r->body.len) : NULL;
        if (!r->stream && c->r.deadline_ms == 0)
                c->r.deadline_ms = 30 * SECOND_MS;
        c->reply.retry_after_ms = -1;
        c->reply.content_type = c->content_type;
        return c;
}

/* Cast away const from a copy that the call owns, so that the call can wipe and free the copy. */
static void *call_own(const char *s)
{
        return (void *)(uintptr_t)s;
}

void http_call_free(struct http_call *c)
{
        assert(!c->deadline.place && !c->silence.place && !c->resume.place && !c->pool);
        curl_easy_cleanup(c->easy);
        curl_slist_free_all(c->headers);
        curl_slist_free_all(c->connect_to);
        mem_free(call_own(c->r.path_query));
        mem_wipe(call_own(c->r.bearer));
        mem_wipe(call_own(c->r.basic));
        mem_free(call_own(c->r.sign));
        mem_wipe(call_own(c->r.passed));
        mem_wipe(call_own(c->r.headers));
        mem_free(call_own(c->r.content_type));
        mem_free(call_own(c->r.accept));
        mem_wipe_n(call_own(c->r.body.p), c->r.body.len); /* the body may hold a token or a Secret's key */
        mem_free(c);
}

/* --- callbacks from libcurl --- */

static void byte_came(struct http_call *c)
{
        c->any_byte = true;
        c->last_byte = loop_now(http_loop(c->http)).mono;
}

static void headers_came(struct http_call *c)
{
        if (c->headed || c->cancelled || c->reply.status < 200)
                return;
        c->headed = true; /* trailers also end with an empty line, and must not call `head` again */
        if (!c->r.head)
                return;
        http_enter(c->http);
        c->r.head(c->r.arg, &c->reply);
        http_leave(c->http);
}

static size_t on_header(char *p, size_t size, size_t count, void *arg)
{
        struct http_call *c = arg;
        struct text line = {p, size * count};
        byte_came(c);
        c->header_bytes += line.len;
        if (c->header_bytes > HEADER_BYTES_MAX) {
                err_set(&c->reply.err, ERR_TOOBIG, "the answer's headers are longer than %d KiB",
                        HEADER_BYTES_MAX >> 10);
                return 0;
        }
        http_headers_read(c, line, loop_now(http_loop(c->http)).wall);
        if (c->codings > 1) { /* each compression multiplies the size of a small answer */
                err_set(&c->reply.err, ERR_INVALID, "the answer is compressed more than once");
                return 0;
        }
        if (line.len <= 2 && (p[0] == '\r' || p[0] == '\n'))
                headers_came(c);
        return c->cancelled ? 0 : line.len;
}

static void on_resume(void *arg)
{
        struct http_call *c = arg;
        c->turn_bytes = 0;
        CURLcode rc = curl_easy_pause(c->easy, CURLPAUSE_CONT); /* first hands over bytes that libcurl has unpacked */
        if (rc == CURLE_OK)
                return;
        c->broken = rc;
        http_kick(c->http);
}

/* Whether the next `len` bytes of the body wait for the next turn of the loop, which resumes the transfer. So no server
 * holds up the loop by a fast or a highly compressed answer. */
static bool call_pauses(struct http_call *c, size_t len)
{
        if (c->turn_bytes >= TURN_BYTES) {
                loop_timer_set(http_loop(c->http), &c->resume, 0, on_resume, c);
                return true;
        }
        c->turn_bytes += len;
        return false;
}

static size_t on_body(char *p, size_t size, size_t count, void *arg)
{
        struct http_call *c = arg;
        size_t len = size * count;
        byte_came(c);
        if (c->cancelled)
                return 0; /* fewer bytes than given make libcurl end the transfer */
        if (!c->r.data || len == 0)
                return len;
        if (call_pauses(c, len))
                return CURL_WRITEFUNC_PAUSE;
        http_enter(c->http);
        int rc = c->r.data(c->r.arg, &c->reply, p, len);
        http_leave(c->http);
        if (rc < 0 && !c->cancelled)
                err_set(&c->reply.err, rc, "the reader ended the answer");
        return rc < 0 || c->cancelled ? 0 : len;
}

/*
 * libcurl sends a request again when its pooled connection turns out to be dead. The server could then execute the
 * request twice, so halflife ends the request instead, except a GET.
 */
static int on_sending(void *arg, char *peer_ip, char *own_ip, int peer_port, int own_port)
{
        struct http_call *c = arg;
        (void)peer_ip, (void)own_ip, (void)peer_port, (void)own_port;
        if (!c->r.peer->insecure && !tls_is_of_server(c->easy)) {
                AUTO(mem_free) char *route = http_call_route(c);
                err_set(&c->reply.err, ERR_DENIED,
                        "%s: the server's certificate is refused: it was not issued for servers (extended key usage)",
                        route);
                return CURL_PREREQFUNC_ABORT;
        }
        if (c->sent++ > 0 && c->r.method != HTTP_GET)
                return CURL_PREREQFUNC_ABORT;
        return CURL_PREREQFUNC_OK;
}

/* libcurl reports a failed socket() as if the server did not answer. So no_descriptor records the real cause, for the
 * error message. */
static curl_socket_t on_socket_wanted(void *arg, curlsocktype purpose, struct curl_sockaddr *at)
{
        struct http_call *c = arg;
        (void)purpose;
        int fd = socket(at->family, at->socktype | SOCK_CLOEXEC, at->protocol);
        c->no_descriptor = fd < 0 && (errno == EMFILE || errno == ENFILE);
        return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int on_socket_made(void *arg, curl_socket_t fd, curlsocktype purpose)
{
        (void)arg, (void)purpose;
        unsigned dead_ms = PEER_DEAD_MS;
        /* A failure is ignored, because not every socket is TCP. */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof dead_ms);
        return CURL_SOCKOPT_OK;
}

/* --- options of the transfer --- */

static bool call_unpacks(const struct http_call *c)
{
        return c->r.gzip && !c->r.stream && !c->r.peer->no_gzip;
}

#define SET(option, value)                                                                                             \
        do {                                                                                                           \
                if (rc == CURLE_OK)                                                                                    \
                        rc = curl_easy_setopt(c->easy, option, value);                                                 \
        } while (0)

/* Add a header line to the request. The function wipes and frees `line`, which may hold a secret. */
static void add_header_line(struct http_call *c, char *line)
{
        struct curl_slist *grown = curl_slist_append(c->headers, line);
        assert(grown);
        c->headers = grown;
        mem_wipe(line);
}

static void add_header(struct http_call *c, const char *name, const char *value)
{
        add_header_line(c, mem_printf("%s:%s%s", name, value[0] ? " " : "", value));
}

static void add_header_lines(struct http_call *c, const char *lines)
{
        const char *end;
        for (; lines && (end = strchr(lines, '\n')); lines = end + 1)
                add_header_line(c, mem_string_n(lines, (size_t)(end - lines)));
}

static void add_bearer(struct http_call *c, const char *name, const char *token)
{
        if (!token)
                return;
        char *value = mem_printf("Bearer %s", token);
        add_header(c, name, value);
        mem_wipe(value);
}

static CURLcode set_connection(struct http_call *c)
{
        CURLcode rc = CURLE_OK;
        SET(CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
        SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
        SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
        SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        /* http.c, not libcurl, lets requests wait for a connection. libcurl would wake waiting requests one by one, as
         * others end or are answered; a watch may do neither for long. */
        SET(CURLOPT_PIPEWAIT, 0L);
        SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
        SET(CURLOPT_TCP_KEEPALIVE, 1L);
        SET(CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
        SET(CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_EVERY_S);
        SET(CURLOPT_OPENSOCKETFUNCTION, on_socket_wanted);
        SET(CURLOPT_OPENSOCKETDATA, c);
        SET(CURLOPT_SOCKOPTFUNCTION, on_socket_made);
        SET(CURLOPT_BUFFERSIZE, c->r.stream       ? (long)CURL_MAX_WRITE_SIZE
                                : call_unpacks(c) ? (long)GZIP_CHUNK
                                                  : (long)BODY_CHUNK);
        return rc;
}

/* Set the chosen proxy, or "": without that, libcurl would choose a proxy from the environment by its own rule. */
static CURLcode set_proxy(struct http_call *c)
{
        CURLcode rc = CURLE_OK;
        char *url = proxy_is_used(&c->proxy) ? proxy_url_full(&c->proxy.url) : mem_string("");
        SET(CURLOPT_PROXY, url);
        SET(CURLOPT_NOPROXY, "");
        SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
        mem_wipe(url);
        return rc;
}

static CURLcode set_tls(struct http_call *c, const struct tls_files *files)
{
        const struct http_peer *peer = c->r.peer;
        CURLcode rc = CURLE_OK;
        SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
        SET(CURLOPT_SSL_VERIFYPEER, peer->insecure ? 0L : 1L);
        SET(CURLOPT_SSL_VERIFYHOST, peer->insecure ? 0L : 2L);
        SET(CURLOPT_PROXY_SSL_VERIFYPEER, peer->insecure ? 0L : 1L);
        SET(CURLOPT_PROXY_SSL_VERIFYHOST, peer->insecure ? 0L : 2L);
        if (files->ca.path[0]) {
                SET(CURLOPT_CAINFO, files->ca.path);
                SET(CURLOPT_CAPATH, NULL);                 /* trust this CA alone */
                SET(CURLOPT_PROXY_CAINFO, files->ca.path); /* as Go does, for an https:// proxy too */
        }
        if (files->cert.path[0]) {
                SET(CURLOPT_SSLCERTTYPE, "PEM");
                SET(CURLOPT_SSLCERT, files->cert.path);
                SET(CURLOPT_SSLKEYTYPE, "PEM");
                SET(CURLOPT_SSLKEY, files->key.path);
        }
        return rc == CURLE_OK ? tls_verdict_prepare(c->easy) : rc;
}

/* Make connections go to the host and port of base_url, although the request's URL will name server_name. `u` is the
 * URL before that change. */
static void keep_route(struct http_call *c, CURLU *u)
{
        char *host = NULL, *port = NULL;
        if (!curl_url_get(u, CURLUPART_HOST, &host, 0) && !curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT)) {
                char *route = mem_printf("%s:%s:%s:%s", c->r.peer->server_name, port, host, port);
                char *real = mem_printf("%s:%s", host, port);
                c->connect_to = curl_slist_append(NULL, route);
                assert(c->connect_to);
                add_header(c, "Host", real);
                mem_free(route);
                mem_free(real);
        }
        curl_free(host);
        curl_free(port);
}

/* base_url as libcurl parses it, with server_name, if set, as its host. Returns text that the caller frees; NULL: not
 * an http or https URL. */
static char *read_base(struct http_call *c)
{
        const char *base = c->r.peer->base_url, *name = c->r.peer->server_name;
        if (strncmp(base, "https://", 8) != 0 && strncmp(base, "http://", 7) != 0)
                return NULL;
        CURLU *u = curl_url();
        char *url = NULL, *ret = NULL;
        assert(u);
        CURLUcode rc = curl_url_set(u, CURLUPART_URL, base, 0);
        if (rc == CURLUE_OK && name) {
                keep_route(c, u);
                rc = curl_url_set(u, CURLUPART_HOST, name, 0);
        }
        if (rc == CURLUE_OK && !curl_url_get(u, CURLUPART_URL, &url, 0)) {
                size_t len = strlen(url);
                ret = mem_string_n(url, len > 0 && url[len - 1] == '/' ? len - 1 : len);
        }
        curl_free(url);
        curl_url_cleanup(u);
        return ret;
}

static CURLcode set_url(struct http_call *c)
{
        CURLcode rc = CURLE_OK;
        char *base = read_base(c);
        if (!base)
                return CURLE_URL_MALFORMAT;
        char *url = mem_printf("%s%s", base, c->r.path_query);
        SET(CURLOPT_URL, url);
        SET(CURLOPT_PATH_AS_IS, c->r.sign ? 0L : 1L); /* newer libcurls do not sign a path that is sent unchanged */
        SET(CURLOPT_FOLLOWLOCATION, 0L);
        if (c->connect_to)
                SET(CURLOPT_CONNECT_TO, c->connect_to);
        mem_free(url);
        mem_free(base);
        return rc;
}

static CURLcode set_message(struct http_call *c, const char *user_agent)
{
        CURLcode rc = CURLE_OK;
        bool has_body = c->r.body.len > 0 || (c->r.method != HTTP_GET && c->r.method != HTTP_DELETE);
        if (has_body) {
                SET(CURLOPT_POST, 1L);
                SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->r.body.len);
                SET(CURLOPT_POSTFIELDS, c->r.body.len ? c->r.body.p : "");
                add_header(c, "Content-Type", c->r.content_type ? c->r.content_type : "application/json");
                if (!c->r.sign) /* libcurl would sign the empty header and not send it */
                        add_header(c, "Expect", "");
        }
        if (c->r.method != HTTP_GET)
                SET(CURLOPT_CUSTOMREQUEST, http_method_name(c->r.method));
        SET(CURLOPT_USERAGENT, user_agent);
        if (call_unpacks(c))
                SET(CURLOPT_ACCEPT_ENCODING, "gzip");
        add_header(c, "Accept", c->r.accept);
        add_bearer(c, "Authorization", c->r.bearer);
        add_bearer(c, "X-Halflife-Authorization", c->r.passed);
        if (c->r.relayed)
                add_header(c, "X-Halflife-Relayed", "yes");
        add_header_lines(c, c->r.headers);
#if LIBCURL_VERSION_NUM >= 0x075600
        if (c->r.sign)
                SET(CURLOPT_AWS_SIGV4, c->r.sign);
        else
#endif
                if (c->r.basic)
                SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        if (c->r.basic)
                SET(CURLOPT_USERPWD, c->r.basic);
        SET(CURLOPT_HTTPHEADER, c->headers);
        return rc;
}

static CURLcode set_callbacks(struct http_call *c)
{
        CURLcode rc = CURLE_OK;
        SET(CURLOPT_PRIVATE, c);
        SET(CURLOPT_ERRORBUFFER, c->curl_error);
        SET(CURLOPT_HEADERFUNCTION, on_header);
        SET(CURLOPT_HEADERDATA, c);
        SET(CURLOPT_WRITEFUNCTION, on_body);
        SET(CURLOPT_WRITEDATA, c);
        SET(CURLOPT_PREREQFUNCTION, on_sending);
        SET(CURLOPT_PREREQDATA, c);
        return rc;
}

int http_call_prepare(struct http_call *c, struct tls_files *files, struct loop *l, const char *user_agent)
{
        c->easy = curl_easy_init();
        assert(c->easy);
        c->last_byte = loop_now(l).mono;
        if (proxy_choose(http_proxies(c->http), c->r.peer->proxy_url, c->r.peer->base_url, &c->proxy, &c->reply.err) <
            0)
                return err_wrap(&c->reply.err, "%s", c->r.peer->base_url);
        if (tls_files_make(files, c->r.peer, &c->reply.err) < 0)
                return err_wrap(&c->reply.err, "%s", c->r.peer->base_url);
        CURLcode rc = set_callbacks(c);
        if (rc == CURLE_OK)
                rc = set_connection(c);
        if (rc == CURLE_OK)
                rc = set_proxy(c);
        if (rc == CURLE_OK)
                rc = set_tls(c, files);
        if (rc == CURLE_OK)
                rc = set_url(c);
        if (rc == CURLE_OK)
                rc = set_message(c, user_agent);
        if (rc == CURLE_OK)
                return 0;
        http_call_judge(c, rc);
        return c->reply.err.code;
}
