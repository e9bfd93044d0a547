/*
 * Clients that speak TLS as they should not: handshakes and requests cut at each byte, names that are none, protocols
 * nobody has, a new handshake on a connection. The listener answers the next one all the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <gnutls/gnutls.h>

#include "../../fake/apiserver.h"
#include "../../support/stand.h"
#include "../../support/wire.h"

#define ASKS "GET /openapi.yaml HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

struct tls_client {
        int fd;
        size_t most, sent; /* bytes of the wire; beyond most the client is gone */
        gnutls_session_t session;
        gnutls_certificate_credentials_t credentials;
};

static ssize_t tls_client_push(gnutls_transport_ptr_t arg, const void *p, size_t len)
{
        struct tls_client *c = arg;
        size_t room = c->most - c->sent, part = len < room ? len : room;
        if (part > 0 && send(c->fd, p, part, MSG_NOSIGNAL) != (ssize_t)part)
                return -1;
        c->sent += part;
        if (part < len)
                shutdown(c->fd, SHUT_RDWR);
        return (ssize_t)len;
}

static ssize_t tls_client_pull(gnutls_transport_ptr_t arg, void *p, size_t len)
{
        return recv(((struct tls_client *)arg)->fd, p, len, 0);
}

static int tls_client_ready(gnutls_transport_ptr_t arg, unsigned ms)
{
        (void)arg, (void)ms;
        return 1;
}

static void tls_client_open(struct tls_client *c, const char *address, size_t most, const char *priority)
{
        *c = (struct tls_client){.fd = wire_open(address), .most = most};
        assert_int_equal(gnutls_certificate_allocate_credentials(&c->credentials), 0);
        assert_int_equal(gnutls_init(&c->session, GNUTLS_CLIENT), 0);
        assert_int_equal(gnutls_priority_set_direct(c->session, priority, NULL), 0);
        assert_int_equal(gnutls_credentials_set(c->session, GNUTLS_CRD_CERTIFICATE, c->credentials), 0);
        gnutls_transport_set_ptr(c->session, c);
        gnutls_transport_set_push_function(c->session, tls_client_push);
        gnutls_transport_set_pull_function(c->session, tls_client_pull);
        gnutls_transport_set_pull_timeout_function(c->session, tls_client_ready);
}

static void tls_client_close(struct tls_client *c)
{
        gnutls_deinit(c->session);
        gnutls_certificate_free_credentials(c->credentials);
        close(c->fd);
}

static bool tls_client_shakes(struct tls_client *c)
{
        int rc;
        do
                rc = gnutls_handshake(c->session);
        while (rc < 0 && !gnutls_error_is_fatal(rc));
        return rc == 0;
}

/* Whether the listener answers 200. */
static bool tls_client_asks(struct tls_client *c)
{
        char heard[64 << 10];
        size_t len = 0;
        (void)gnutls_record_send(c->session, ASKS, sizeof ASKS - 1);
        for (ssize_t n = 1; n > 0 && len + 1 < sizeof heard; len += n > 0 ? (size_t)n : 0)
                n = gnutls_record_recv(c->session, heard + len, sizeof heard - 1 - len);
        heard[len] = '\0';
        return strncmp(heard, "HTTP/1.1 200", 12) == 0;
}

static struct fake *fake;

static void tls_stand_begin(struct stand *s)
{
        struct err err = {0};
        stand_begin(s, &(struct rest_listener_options){.tls = true});
        assert_int_equal(server_set_certificate(s->server, fake_client_certificate(fake), fake_client_key(fake), &err),
                         0);
}

static void test_a_client_may_end_at_any_byte(void **state)
{
        (void)state;
        static const char *const versions[] = {"NORMAL", "NORMAL:-VERS-ALL:+VERS-TLS1.2"};
        struct stand s;
        tls_stand_begin(&s);
        for (size_t v = 0; v < 2; v++)
                for (size_t most = 0;; most++) {
                        struct tls_client c;
                        tls_client_open(&c, s.address, most, versions[v]);
                        bool answered = tls_client_shakes(&c) && tls_client_asks(&c);
                        tls_client_close(&c);
                        if (answered)
                                break;
                        if (most > 4000)
                                fail_msg("no answer after %zu bytes", most);
                        if (most % 100)
                                continue;
                        tls_client_open(&c, s.address, SIZE_MAX, versions[v]);
                        if (!tls_client_shakes(&c) || !tls_client_asks(&c))
                                fail_msg("after one of %zu bytes, none is answered", most);
                        tls_client_close(&c);
                }
        stand_end(&s);
}

static void test_what_a_client_may_say(void **state)
{
        (void)state;
        static char longest[256];
        memset(longest, 'x', sizeof longest - 1);
        static const struct {
                const char *name;      /* of the server; NULL: none is said */
                const char *protocols; /* with commas; NULL: none are said */
                bool again;            /* a second handshake, before the request */
                int answered;          /* -1: either */
        } row[] = {
                {NULL, NULL, false, 1},
                {"halflife.halflife-system.svc", NULL, false, 1},
                {"no such name", NULL, false, -1},
                {"*.svc", NULL, false, -1},
                {"127.0.0.1", NULL, false, -1},
                {longest, NULL, false, -1},
                {"a\x01\x7f", NULL, false, -1},
                {NULL, "h2", false, -1},
                {NULL, "h2,http/1.1", false, 1},
                {NULL, "spdy/3", false, -1},
                {NULL, NULL, true, -1},
        };
        struct stand s;
        tls_stand_begin(&s);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct tls_client c;
                tls_client_open(&c, s.address, SIZE_MAX, row[i].again ? "NORMAL:-VERS-ALL:+VERS-TLS1.2" : "NORMAL");
                if (row[i].name)
                        (void)gnutls_server_name_set(c.session, GNUTLS_NAME_DNS, row[i].name, strlen(row[i].name));
                char names[64] = "", *next = names;
                gnutls_datum_t protocol[4];
                unsigned protocols = 0;
                snprintf(names, sizeof names, "%s", row[i].protocols ? row[i].protocols : "");
                for (char *p; (p = strsep(&next, ",")) && *p;)
                        protocol[protocols++] = (gnutls_datum_t){(unsigned char *)p, (unsigned)strlen(p)};
                if (protocols)
                        assert_int_equal(gnutls_alpn_set_protocols(c.session, protocol, protocols, 0), 0);
                bool answered = tls_client_shakes(&c);
                if (row[i].again)
                        (void)tls_client_shakes(&c);
                answered = answered && tls_client_asks(&c);
                tls_client_close(&c);
                if (row[i].answered >= 0 && answered != row[i].answered)
                        fail_msg("row %zu: answered %d", i, answered);
                tls_client_open(&c, s.address, SIZE_MAX, "NORMAL");
                if (!tls_client_shakes(&c) || !tls_client_asks(&c))
                        fail_msg("after row %zu, none is answered", i);
                tls_client_close(&c);
        }
        stand_end(&s);
}

/* A client cannot have one handshake after the other on a connection. */
static void test_a_second_handshake_is_refused(void **state)
{
        (void)state;
        struct stand s;
        struct tls_client c;
        tls_stand_begin(&s);
        tls_client_open(&c, s.address, SIZE_MAX, "NORMAL:-VERS-ALL:+VERS-TLS1.2");
        assert_true(tls_client_shakes(&c));
        assert_false(tls_client_shakes(&c));
        tls_client_close(&c);
        stand_end(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_client_may_end_at_any_byte),
                cmocka_unit_test(test_what_a_client_may_say),
                cmocka_unit_test(test_a_second_handshake_is_refused),
        };
        fake = fake_new(&(struct fake_options){.tls = true});
        int failed = fake ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
        fake_free(fake);
        return failed;
}
