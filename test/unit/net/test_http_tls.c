/* TLS that ends, or begins, as it should not: what is cut is never taken for whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "net/http.h"
#include "peer.h"

struct cut_call {
        int done;
        struct http_reply reply;
        struct buf body;
};

static int cut_on_data(void *arg, const struct http_reply *head, const char *p, size_t len)
{
        struct cut_call *f = arg;
        (void)head;
        return buf_add(&f->body, p, len);
}

static void cut_on_done(void *arg, const struct http_reply *reply)
{
        struct cut_call *f = arg;
        f->done++;
        f->reply = *reply;
}

/* One request with a client of its own. The caller releases the body. */
static struct cut_call cut_ask(const char *url, const struct identity *ca, bool stream)
{
        struct cut_call f = {0};
        struct loop *l = loop_new();
        struct http *h = http_new(l, &(struct http_limits){.user_agent = "halflife/test"});
        const struct http_peer to = {.base_url = url, .ca_pem = ca->crt_pem};
        buf_init(&f.body, 1 << 20);
        (void)http_start(h, &(struct http_request){.peer = &to,
                                                   .path_query = "/x",
                                                   .stream = stream,
                                                   .deadline_ms = 20000,
                                                   .data = cut_on_data,
                                                   .done = cut_on_done,
                                                   .arg = &f});
        while (!f.done)
                loop_turn(l, 1000);
        http_free(h);
        loop_free(l);
        return f;
}

/* --- bodies ------------------------------------------------------------------------------- */

enum ending { BYE, FIN, RST, ENDINGS };

struct cut_answer {
        const char *text;
        size_t send; /* so many bytes of it */
        enum ending ending;
};

static bool cut_answers(struct conn *c, void *arg)
{
        const struct cut_answer *a = arg;
        const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
        (void)conn_send(c, a->text, a->send);
        if (a->ending == BYE)
                (void)gnutls_bye(c->tls, GNUTLS_SHUT_WR);
        if (a->ending == RST)
                (void)connect(c->fd, &nowhere, sizeof nowhere);
        return false;
}

static void what_is_cut_is_not_whole(void **state)
{
        (void)state;
        static const struct {
                const char *name, *text;
                bool counted; /* its end is within what is sent */
                size_t spare; /* bytes at its end without which the body is whole */
        } row[] = {
                {"length", "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"items\":[]}", true, 0},
                {"chunks",
                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{\"item\r\n6\r\ns\":[]}\r\n0\r\n\r\n", true,
                 1},
                {"until the end", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"items\":[]}", false, 0},
        };
        struct identity *ca = identity_new(NULL, "our ca", 10), *good = identity_new(ca, "127.0.0.1", 10);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                for (int ending = 0; ending < ENDINGS; ending++)
                        for (int stream = 0; stream < (ending == FIN ? 2 : 1); stream++) {
                                size_t all = strlen(row[i].text),
                                       head = (size_t)(strstr(row[i].text, "\r\n\r\n") - row[i].text) + 4;
                                for (size_t send = 0; send <= all; send += send < head - 4 ? 13 : 1) {
                                        struct cut_answer a = {row[i].text, send, (enum ending)ending};
                                        struct peer *p = peer_start(cut_answers, &a, good);
                                        struct cut_call f = cut_ask(p->url, ca, stream);
                                        bool may = row[i].counted ? send + row[i].spare >= all
                                                                  : send >= head && ending == BYE;
                                        bool must_be = may && ending == BYE && send == all;
                                        bool whole = f.reply.whole && f.reply.err.code == 0;
                                        if ((whole && !may) || (!whole && must_be) || f.reply.whole != whole ||
                                            (!whole && f.reply.err.code != ERR_RETRY))
                                                fail_msg(
                                                        "%s, %zu of %zu bytes, ending %d, stream %d: whole %d, %d '%s'",
                                                        row[i].name, send, all, ending, stream, f.reply.whole,
                                                        f.reply.err.code, f.reply.err.text);
                                        buf_release(&f.body);
                                        peer_stop(p);
                                }
                        }
        identity_free(ca);
        identity_free(good);
}

/* --- handshakes --------------------------------------------------------------------------- */

static bool cut_says_ok(struct conn *c, void *arg)
{
        (void)arg;
        return conn_answer(c, 200, NULL, "{}");
}

/* Passes bytes between a client and a peer, until so many have come from one of them. */
struct relay {
        int listener, side; /* 0: from the client, 1: from the peer */
        uint16_t port, to;
        size_t most, passed[2];
        pthread_t thread;
};

static void relay_pass(struct relay *r, const int fd[2])
{
        char bytes[4096];
        for (;;) {
                struct pollfd p[2] = {{.fd = fd[0], .events = POLLIN}, {.fd = fd[1], .events = POLLIN}};
                if (poll(p, 2, 20000) <= 0)
                        return;
                for (int from = 0; from < 2; from++) {
                        if (!p[from].revents)
                                continue;
                        size_t room = r->most - r->passed[from];
                        bool last = from == r->side && room < sizeof bytes;
                        ssize_t got = recv(fd[from], bytes, last ? room : sizeof bytes, 0);
                        if (got <= 0 || send(fd[!from], bytes, (size_t)got, MSG_NOSIGNAL) < 0)
                                return;
                        r->passed[from] += (size_t)got;
                        if (from == r->side && r->passed[from] >= r->most)
                                return;
                }
        }
}

static void *relay_run(void *arg)
{
        struct relay *r = arg;
        int fd[2] = {accept(r->listener, NULL, NULL), socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        const struct sockaddr_in to = {
                .sin_family = AF_INET, .sin_port = htons(r->to), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        if (r->most > 0 && connect(fd[1], (const struct sockaddr *)&to, sizeof to) == 0)
                relay_pass(r, fd);
        close(fd[0]);
        close(fd[1]);
        return NULL;
}

/* Ask by way of a relay that ends after so many bytes from one side. Returns how many came from there. */
static size_t cut_handshake(const struct peer *p, const struct identity *ca, int side, size_t most,
                            struct cut_call *ret)
{
        struct relay r = {.side = side, .most = most};
        int held = port_hold(&r.port);
        r.listener = port_listen(r.port);
        assert_true(held >= 0 && r.listener >= 0);
        r.to = (uint16_t)atoi(strrchr(p->url, ':') + 1);
        assert_int_equal(pthread_create(&r.thread, NULL, relay_run, &r), 0);
        AUTO(mem_free) char *url = mem_printf("https://127.0.0.1:%d", r.port);
        *ret = cut_ask(url, ca, false);
        buf_release(&ret->body);
        pthread_join(r.thread, NULL);
        close(r.listener);
        close(held);
        return r.passed[side];
}

static void a_handshake_may_end_at_any_byte(void **state)
{
        (void)state;
        struct identity *ca = identity_new(NULL, "our ca", 10), *good = identity_new(ca, "127.0.0.1", 10);
        for (int side = 0; side < 2; side++)
                for (size_t most = 0, step = 13;; most += step) {
                        struct peer *p = peer_start(cut_says_ok, NULL, good);
                        struct cut_call f;
                        size_t passed = cut_handshake(p, ca, side, most, &f);
                        peer_stop(p);
                        if (f.reply.err.code == 0 && passed >= most && most < 400)
                                fail_msg("side %d: an answer after %zu bytes", side, most);
                        if (f.reply.err.code == 0)
                                break;
                        if (f.reply.err.code != ERR_RETRY || f.reply.status != 0 || f.reply.whole || most > 8000)
                                fail_msg("side %d, %zu bytes: status %d, %d '%s'", side, most, f.reply.status,
                                         f.reply.err.code, f.reply.err.text);
                }
        identity_free(ca);
        identity_free(good);
}

/* --- what a peer speaks ------------------------------------------------------------------- */

static void set_priority(gnutls_session_t s, const char *text)
{
        must(gnutls_priority_set_direct(s, text, NULL));
}

static void speak_1_0(gnutls_session_t s)
{
        set_priority(s, "NORMAL:-VERS-ALL:+VERS-TLS1.0:%COMPAT");
}

static void speak_1_1(gnutls_session_t s)
{
        set_priority(s, "NORMAL:-VERS-ALL:+VERS-TLS1.1:%COMPAT");
}

static void speak_1_2(gnutls_session_t s)
{
        set_priority(s, "NORMAL:-VERS-ALL:+VERS-TLS1.2");
}

static void choose(gnutls_session_t s, const char *protocol)
{
        union {
                const char *in;
                unsigned char *out;
        } name = {.in = protocol};
        must(gnutls_alpn_set_protocols(s, &(gnutls_datum_t){name.out, (unsigned)strlen(protocol)}, 1, 0));
}

static void choose_h2(gnutls_session_t s)
{
        choose(s, "h2");
}

static void choose_http_1(gnutls_session_t s)
{
        choose(s, "http/1.1");
}

static void choose_another(gnutls_session_t s)
{
        choose(s, "spdy/3");
}

/* Begins a new handshake within the body, as TLS 1.2 lets a server do. */
static bool cut_negotiates_again(struct conn *c, void *arg)
{
        (void)arg;
        (void)conn_say(c, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"item");
        (void)gnutls_rehandshake(c->tls);
        (void)conn_say(c, "s\":[]}");
        return conn_wait_gone(c, 5000) && false;
}

static void what_a_peer_may_speak(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                void (*prepare)(gnutls_session_t s);
                peer_script *script;
                int code; /* 1: either */
        } row[] = {
                {"TLS 1.0", speak_1_0, cut_says_ok, ERR_RETRY},
                {"TLS 1.1", speak_1_1, cut_says_ok, ERR_RETRY},
                {"TLS 1.2", speak_1_2, cut_says_ok, 0},
                {"h2 chosen, HTTP/1.1 spoken", choose_h2, cut_says_ok, ERR_RETRY},
                {"HTTP/1.1 chosen", choose_http_1, cut_says_ok, 0},
                {"none in common", choose_another, cut_says_ok, 0},
                {"a handshake within the body", speak_1_2, cut_negotiates_again, 1},
        };
        struct identity *ca = identity_new(NULL, "our ca", 10), *good = identity_new(ca, "127.0.0.1", 10);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct peer *p = peer_start(row[i].script, NULL, good);
                p->prepare = row[i].prepare;
                struct cut_call f = cut_ask(p->url, ca, false);
                if (f.reply.whole != (f.reply.err.code == 0) || (row[i].code != 1 && f.reply.err.code != row[i].code))
                        fail_msg("%s: whole %d, %d '%s'", row[i].name, f.reply.whole, f.reply.err.code,
                                 f.reply.err.text);
                if (f.reply.whole)
                        assert_true(strcmp(f.body.data, "{}") == 0 || strcmp(f.body.data, "{\"items\":[]}") == 0);
                buf_release(&f.body);
                peer_stop(p);
        }
        identity_free(ca);
        identity_free(good);
}

/* A chain of a hundred certificates is no reason to wait, nor to trust. */
static void a_long_chain_ends(void **state)
{
        (void)state;
        enum { LENGTH = 100 };
        struct identity *ca = identity_new(NULL, "our ca", 10), *good = identity_new(ca, "127.0.0.1", 10);
        struct peer *p = peer_start(cut_says_ok, NULL, good);
        gnutls_x509_crt_t chain[LENGTH];
        for (int i = 0; i < LENGTH; i++)
                chain[i] = i == 0 ? good->crt : ca->crt;
        gnutls_certificate_free_credentials(p->credentials);
        must(gnutls_certificate_allocate_credentials(&p->credentials));
        gnutls_certificate_set_flags(p->credentials, GNUTLS_CERTIFICATE_SKIP_KEY_CERT_MATCH);
        must(gnutls_certificate_set_x509_key(p->credentials, chain, LENGTH, good->key));
        struct cut_call f = cut_ask(p->url, ca, false);
        if (f.reply.err.code != ERR_DENIED && f.reply.err.code != ERR_RETRY)
                fail_msg("%d '%s'", f.reply.err.code, f.reply.err.text);
        assert_int_equal(p->requests, 0);
        buf_release(&f.body);
        peer_stop(p);
        identity_free(ca);
        identity_free(good);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_cut_is_not_whole),
                cmocka_unit_test(a_handshake_may_end_at_any_byte),
                cmocka_unit_test(what_a_peer_may_speak),
                cmocka_unit_test(a_long_chain_ends),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
