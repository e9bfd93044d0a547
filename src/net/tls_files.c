#include "tls_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- checking the texts --- */

static gnutls_datum_t datum_of(const char *pem)
{
        union {
                const char *in;
                unsigned char *out;
        } plain = {.in = pem}; /* GnuTLS only reads the text, but has not declared it const */
        return (gnutls_datum_t){plain.out, (unsigned)strlen(pem)};
}

/* Check the certificates early: libcurl would report a bad one only when it connects, by a code that depends on the TLS
 * library. */
static int tls_files_check(const struct http_peer *p, struct err *err)
{
        gnutls_certificate_credentials_t all;
        int rc = gnutls_certificate_allocate_credentials(&all), code = 0;
        assert(rc == 0); /* fails only without memory */
        if (p->ca_pem && !p->insecure) {
                gnutls_datum_t ca = datum_of(p->ca_pem);
                if (gnutls_certificate_set_x509_trust_mem(all, &ca, GNUTLS_X509_FMT_PEM) < 1)
                        code = err_set(err, ERR_INVALID,
                                       "the configured certificate authority holds no readable PEM certificate");
        }
        if (!code && p->cert_pem && p->key_pem) {
                gnutls_datum_t cert = datum_of(p->cert_pem), key = datum_of(p->key_pem);
                rc = gnutls_certificate_set_x509_key_mem(all, &cert, &key, GNUTLS_X509_FMT_PEM);
                if (rc < 0)
                        code = err_set(err, ERR_INVALID, "%s; do the client certificate and its key belong together?",
                                       gnutls_strerror(rc));
        }
        gnutls_certificate_free_credentials(all);
        return code;
}

/* --- the files --- */

static void tls_file_release(struct tls_file *f)
{
        if (f->path[0])
                close(f->fd);
        *f = (struct tls_file){0};
}

static int write_all(int fd, const char *p, size_t len)
{
        while (len > 0) {
                ssize_t n = write(fd, p, len);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -1;
                p += n;
                len -= (size_t)n;
        }
        return 0;
}

/* Put a PEM text into a file in memory. `pem` NULL: no file is made. */
static int tls_file_make(struct tls_file *f, const char *pem, struct err *err)
{
        if (!pem)
                return 0;
        f->fd = memfd_create("halflife-pem", MFD_CLOEXEC);
        if (f->fd < 0)
                return err_set(err, ERR_RETRY, "no file in memory for certificates: %s", strerror(errno));
        snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
        if (write_all(f->fd, pem, strlen(pem)) < 0)
                return err_set(err, ERR_RETRY, "no room in memory for certificates: %s", strerror(errno));
        if (access(f->path, R_OK) < 0)
                return err_set(err, ERR_RETRY, "certificates are read by way of /proc, but %s: %s; is /proc mounted?",
                               f->path, strerror(errno));
        return 0;
}

int tls_files_make(struct tls_files *f, const struct http_peer *p, struct err *err)
{
        bool shown = p->cert_pem && p->key_pem;
        if (f->made)
                return 0;
        int rc = tls_files_check(p, err);
        if (rc == 0)
                rc = tls_file_make(&f->ca, p->insecure ? NULL : p->ca_pem, err);
        if (rc == 0)
                rc = tls_file_make(&f->cert, shown ? p->cert_pem : NULL, err);
        if (rc == 0)
                rc = tls_file_make(&f->key, shown ? p->key_pem : NULL, err);
        if (rc < 0)
                tls_files_release(f);
        f->made = rc == 0;
        return rc;
}

void tls_files_release(struct tls_files *f)
{
        tls_file_release(&f->ca);
        tls_file_release(&f->cert);
        tls_file_release(&f->key);
        f->made = false;
}
