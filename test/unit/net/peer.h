/*
 * A server for tests that does to each request exactly what a script says: threads and blocking sockets on loopback,
 * with or without TLS, its certificates made at the start. For tests of the way out only; whole API servers are in
 * test/fake.
 */
#ifndef HALFLIFE_TEST_UNIT_NET_PEER_H
#define HALFLIFE_TEST_UNIT_NET_PEER_H

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../fake/port.h"
#include "base/mem.h"

/* --- certificates ------------------------------------------------------------------------- */

struct identity {
        gnutls_x509_crt_t crt;
        gnutls_x509_privkey_t key;
        char *crt_pem, *key_pem;
};

static inline void must(int rc)
{
        if (rc < 0) {
                fprintf(stderr, "gnutls: %s\n", gnutls_strerror(rc));
                abort();
        }
}

static inline char *pem_text(gnutls_datum_t d)
{
        char *text = mem_string_n((const char *)d.data, d.size);
        gnutls_free(d.data);
        return text;
}

/* issuer NULL: a CA; name: the DNS name, or with a digit in front the IPv4 address; days: validity from
 * yesterday on, 0: an hour of it. */
/* purpose: an OID of extended key usage; NULL: for all. */
static inline struct identity *identity_new_for(const struct identity *issuer, const char *name, int days,
                                                const char *purpose)
{
        struct identity *id = MEM_NEW(struct identity);
        gnutls_datum_t d;
        time_t start = time(NULL) - 86400;
        static _Atomic unsigned char serial = 1;
        unsigned char number = serial++;
        must(gnutls_x509_privkey_init(&id->key));
        must(gnutls_x509_privkey_generate(id->key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1),
                                          0));
        must(gnutls_x509_crt_init(&id->crt));
        must(gnutls_x509_crt_set_version(id->crt, 3));
        must(gnutls_x509_crt_set_serial(id->crt, &number, 1));
        must(gnutls_x509_crt_set_activation_time(id->crt, start));
        must(gnutls_x509_crt_set_expiration_time(id->crt, start + (days ? days * 86400 : 3600)));
        must(gnutls_x509_crt_set_dn_by_oid(id->crt, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name)));
        must(gnutls_x509_crt_set_basic_constraints(id->crt, issuer == NULL, -1));
        must(gnutls_x509_crt_set_key_usage(id->crt, issuer ? GNUTLS_KEY_DIGITAL_SIGNATURE : GNUTLS_KEY_KEY_CERT_SIGN));
        struct in_addr ip;
        if (issuer && inet_pton(AF_INET, name, &ip) == 1)
                must(gnutls_x509_crt_set_subject_alt_name(id->crt, GNUTLS_SAN_IPADDRESS, &ip, 4, GNUTLS_FSAN_SET));
        else if (issuer)
                must(gnutls_x509_crt_set_subject_alt_name(id->crt, GNUTLS_SAN_DNSNAME, name, (unsigned)strlen(name),
                                                          GNUTLS_FSAN_SET));
        if (purpose)
                must(gnutls_x509_crt_set_key_purpose_oid(id->crt, purpose, 0));
        must(gnutls_x509_crt_set_key(id->crt, id->key));
        must(gnutls_x509_crt_sign2(id->crt, issuer ? issuer->crt : id->crt, issuer ? issuer->key : id->key,
                                   GNUTLS_DIG_SHA256, 0));
        must(gnutls_x509_crt_export2(id->crt, GNUTLS_X509_FMT_PEM, &d));
        id->crt_pem = pem_text(d);
        must(gnutls_x509_privkey_export2_pkcs8(id->key, GNUTLS_X509_FMT_PEM, NULL, 0, &d));
        id->key_pem = pem_text(d);
        return id;
}

static inline struct identity *identity_new(const struct identity *issuer, const char *name, int days)
{
        return identity_new_for(issuer, name, days, NULL);
}

static inline void identity_free(struct identity *id)
{
        if (!id)
                return;
        gnutls_x509_crt_deinit(id->crt);
        gnutls_x509_privkey_deinit(id->key);
        mem_free(id->crt_pem);
        mem_free(id->key_pem);
        mem_free(id);
}

/* --- the server --------------------------------------------------------------------------- */

enum { PEER_CONNECTIONS = 64, PEER_REQUEST_MAX = 64 << 10 };

struct peer;
struct conn {
        struct peer *peer;
        int fd, number; /* the how-manieth connection, from 1 */
        int requests;   /* on it, this one counted */
        gnutls_session_t tls;
        pthread_t thread;
        char request[PEER_REQUEST_MAX]; /* head and body, NUL-terminated */
        size_t got, whole;              /* bytes read, bytes of the present request */
};

/* Answer one request; false: close the connection. */
typedef bool peer_script(struct conn *c, void *arg);

struct peer {
        int held, listener; /* listener -1: away */
        char url[64];
        peer_script *script;
        void *arg;
        gnutls_certificate_credentials_t credentials; /* NULL: plain */
        void (*prepare)(gnutls_session_t s);          /* of each connection before its handshake; NULL: nothing */
        pthread_t thread;
        struct conn *conn[PEER_CONNECTIONS];
        _Atomic int connections, requests, busy, most_busy;
        _Atomic long long sent; /* bytes */
        _Atomic bool stopping;
};

static inline bool conn_send(struct conn *c, const void *p, size_t len)
{
        const char *from = p;
        while (len > 0) {
                ssize_t put = c->tls ? gnutls_record_send(c->tls, from, len) : send(c->fd, from, len, MSG_NOSIGNAL);
                if (c->tls && (put == GNUTLS_E_AGAIN || put == GNUTLS_E_INTERRUPTED))
                        continue;
                if (put <= 0)
                        return false;
                from += put;
                len -= (size_t)put;
                c->peer->sent += put;
        }
        return true;
}

__attribute__((format(printf, 2, 3))) static inline bool conn_say(struct conn *c, const char *fmt, ...)
{
        char *text;
        va_list args;
        va_start(args, fmt);
        int len = vasprintf(&text, fmt, args);
        va_end(args);
        if (len < 0)
                abort();
        bool ok = conn_send(c, text, (size_t)len);
        free(text);
        return ok;
}

/* A whole answer; headers NULL or lines with CRLF. Returns true, to go on with the connection. */
static inline bool conn_answer(struct conn *c, int status, const char *headers, const char *body)
{
        return conn_say(c, "HTTP/1.1 %d Whatever\r\nContent-Length: %zu\r\n%s\r\n%s", status, strlen(body),
                        headers ? headers : "", body);
}

/* Until the other side has gone, or ms are over; true when it has gone. */
static inline bool conn_wait_gone(struct conn *c, int ms)
{
        char byte;
        struct pollfd p = {.fd = c->fd, .events = POLLIN | POLLRDHUP};
        if (poll(&p, 1, ms) == 0)
                return false;
        return (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) || recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static inline bool conn_asks(const struct conn *c, const char *what)
{
        return strstr(c->request, what) != NULL;
}

static inline ssize_t conn_recv(struct conn *c)
{
        size_t room = sizeof c->request - 1 - c->got;
        ssize_t got;
        do {
                got = c->tls ? gnutls_record_recv(c->tls, c->request + c->got, room)
                             : recv(c->fd, c->request + c->got, room, 0);
        } while (c->tls && (got == GNUTLS_E_AGAIN || got == GNUTLS_E_INTERRUPTED));
        if (got > 0)
                c->got += (size_t)got;
        c->request[c->got] = '\0';
        return got;
}

static inline bool conn_read(struct conn *c)
{
        memmove(c->request, c->request + c->whole, c->got - c->whole);
        c->got -= c->whole;
        c->request[c->got] = '\0';
        for (;;) {
                char *end = strstr(c->request, "\r\n\r\n"), *length = strcasestr(c->request, "\r\nContent-Length:");
                c->whole =
                        end ? (size_t)(end + 4 - c->request) + (length && length < end ? (size_t)atoi(length + 17) : 0)
                            : 0;
                if (end && c->got >= c->whole)
                        break;
                if (conn_recv(c) <= 0)
                        return false;
        }
        return true;
}

static inline void *conn_run(void *arg)
{
        struct conn *c = arg;
        struct peer *p = c->peer;
        bool go_on = true;
        if (c->tls) {
                int rc;
                do {
                        rc = gnutls_handshake(c->tls);
                } while (rc < 0 && !gnutls_error_is_fatal(rc));
                go_on = rc >= 0;
        }
        while (go_on && !p->stopping && conn_read(c)) {
                c->requests++;
                p->requests++;
                int busy = ++p->busy, most = p->most_busy;
                while (busy > most && !atomic_compare_exchange_weak(&p->most_busy, &most, busy))
                        ;
                go_on = p->script(c, p->arg);
                p->busy--;
        }
        shutdown(c->fd, SHUT_RDWR);
        return NULL;
}

static inline struct conn *conn_new(struct peer *p, int fd)
{
        struct conn *c = MEM_NEW(struct conn);
        c->peer = p;
        c->fd = fd;
        c->number = ++p->connections;
        if (p->credentials) {
                must(gnutls_init(&c->tls, GNUTLS_SERVER | GNUTLS_NO_SIGNAL));
                must(gnutls_set_default_priority(c->tls));
                must(gnutls_credentials_set(c->tls, GNUTLS_CRD_CERTIFICATE, p->credentials));
                gnutls_transport_set_int(c->tls, fd);
                gnutls_certificate_server_set_request(c->tls, GNUTLS_CERT_REQUEST);
                if (p->prepare)
                        p->prepare(c->tls);
        }
        if (pthread_create(&c->thread, NULL, conn_run, c) != 0)
                abort();
        return c;
}

/* A test that lowers the limit of open files means the client, not its peer. */
static inline int peer_accept(const struct peer *p)
{
        int fd;
        while ((fd = accept(p->listener, NULL, NULL)) < 0 && errno == EMFILE)
                (void)poll(NULL, 0, 1);
        return fd;
}

static inline void *peer_run(void *arg)
{
        struct peer *p = arg;
        int fd;
        for (int i = 0; i < PEER_CONNECTIONS && (fd = peer_accept(p)) >= 0; i++)
                p->conn[i] = conn_new(p, fd);
        return NULL;
}

/* server NULL: without TLS. */
static inline struct peer *peer_start(peer_script *script, void *arg, const struct identity *server)
{
        struct peer *p = MEM_NEW(struct peer);
        uint16_t port = 0;
        p->script = script;
        p->arg = arg;
        p->held = port_hold(&port);
        p->listener = port_listen(port);
        if (p->held < 0 || p->listener < 0)
                abort();
        snprintf(p->url, sizeof p->url, "http%s://127.0.0.1:%d", server ? "s" : "", port);
        if (server) {
                must(gnutls_certificate_allocate_credentials(&p->credentials));
                must(gnutls_certificate_set_x509_key(
                        p->credentials, (gnutls_x509_crt_t *)&(gnutls_x509_crt_t){server->crt}, 1, server->key));
        }
        if (pthread_create(&p->thread, NULL, peer_run, p) != 0)
                abort();
        return p;
}

/* Nobody listens at its url any more, nor anybody else until peer_stop. */
static inline void peer_leave(struct peer *p)
{
        shutdown(p->listener, SHUT_RDWR);
        pthread_join(p->thread, NULL);
        close(p->listener);
        p->listener = -1;
}

static inline void peer_stop(struct peer *p)
{
        p->stopping = true;
        if (p->listener >= 0)
                peer_leave(p);
        close(p->held);
        for (int i = 0; i < p->connections; i++) {
                struct conn *c = p->conn[i];
                shutdown(c->fd, SHUT_RDWR);
                pthread_join(c->thread, NULL);
                if (c->tls)
                        gnutls_deinit(c->tls);
                close(c->fd);
                mem_free(c);
        }
        if (p->credentials)
                gnutls_certificate_free_credentials(p->credentials);
        mem_free(p);
}

/* A port of loopback where nobody listens until what is returned, a descriptor, is closed. */
static inline int dead_url(char out[static 64])
{
        uint16_t port = 0;
        int held = port_hold(&port);
        if (held < 0)
                abort();
        snprintf(out, 64, "http://127.0.0.1:%d", port);
        return held;
}

#endif
