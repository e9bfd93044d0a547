#include "http/tls_certificate.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file_read.h"
#include "base/mem.h"

enum { RETIRED_MS = MINUTE_MS }; /* longer than any handshake may take */

struct pair {
        struct pair *next; /* the pair before */
        gnutls_pcert_st chain[CERTIFICATE_CHAIN_MAX];
        unsigned count;
        gnutls_privkey_t key;
        struct mono retired;
};

struct stamp { /* state of a file; differs whenever the file's content was replaced */
        struct timespec changed;
        ino_t inode;
        dev_t device;
        off_t size;
};
struct stamps {
        struct stamp cert, key;
};

struct certificate {
        pthread_mutex_t lock; /* protects the list `pair` */
        struct pair *pair;    /* newest first */
        const char *cert_file, *key_file;
        struct stamps taken, refused;
        enum { REFUSED_NOT, REFUSED_ONCE, REFUSED_TOLD } state; /* of `refused`; TOLD: the caller knows */
};

static _Thread_local struct certificate *mine; /* GnuTLS passes no argument to the retrieve function */

/* --- pairs --- */

static void pair_free(struct pair *p)
{
        for (unsigned i = 0; i < p->count; i++)
                gnutls_pcert_deinit(&p->chain[i]);
        if (p->key)
                gnutls_privkey_deinit(p->key);
        mem_free(p);
}

static gnutls_datum_t certificate_datum_of(const char *text)
{
        return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

/* Whether the key belongs to the certificate. */
static int check_pair(const gnutls_datum_t *cert, const gnutls_datum_t *key)
{
        gnutls_certificate_credentials_t c;
        int rc = gnutls_certificate_allocate_credentials(&c);
        if (rc < 0)
                return rc;
        rc = gnutls_certificate_set_x509_key_mem2(c, cert, key, GNUTLS_X509_FMT_PEM, NULL, 0);
        gnutls_certificate_free_credentials(c);
        return rc;
}

static int pair_parse(const char *cert_pem, const char *key_pem, struct pair **ret, struct err *err)
{
        gnutls_datum_t cert = certificate_datum_of(cert_pem), key = certificate_datum_of(key_pem);
        struct pair *p = MEM_NEW(struct pair);
        unsigned count = CERTIFICATE_CHAIN_MAX;
        int rc = gnutls_pcert_list_import_x509_raw(p->chain, &count, &cert, GNUTLS_X509_FMT_PEM,
                                                   GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
        if (rc >= 0) {
                p->count = count;
                rc = check_pair(&cert, &key);
        }
        if (rc >= 0)
                rc = gnutls_privkey_init(&p->key);
        if (rc >= 0)
                rc = gnutls_privkey_import_x509_raw(p->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
        if (rc < 0) {
                pair_free(p);
                return err_set(err, ERR_INVALID, "the certificate and its key cannot be used: %s", gnutls_strerror(rc));
        }
        *ret = p;
        return 0;
}

static void pair_take(struct certificate *t, struct pair *p)
{
        pthread_mutex_lock(&t->lock);
        if (t->pair)
                t->pair->retired = mono_read();
        p->next = t->pair;
        t->pair = p;
        pthread_mutex_unlock(&t->lock);
}

int certificate_set(struct certificate *t, const char *cert_pem, const char *key_pem, struct err *err)
{
        struct pair *p = NULL;
        int rc = pair_parse(cert_pem, key_pem, &p, err);
        if (rc == 0)
                pair_take(t, p);
        return rc;
}

/* --- files --- */

static struct stamp stamp_of(const char *path)
{
        struct stat st;
        if (stat(path, &st) < 0)
                return (struct stamp){0};
        return (struct stamp){st.st_mtim, st.st_ino, st.st_dev, st.st_size};
}

static bool stamp_same(const struct stamp *a, const struct stamp *b)
{
        return a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec &&
               a->inode == b->inode && a->device == b->device && a->size == b->size;
}

static bool stamps_same(const struct stamps *a, const struct stamps *b)
{
        return stamp_same(&a->cert, &b->cert) && stamp_same(&a->key, &b->key);
}

static int read_files(struct certificate *t, struct err *err)
{
        size_t len;
        AUTO(mem_free) char *cert = file_read(t->cert_file, CERTIFICATE_FILE_MAX, &len, err);
        if (!cert)
                return err->code;
        char *key = file_read(t->key_file, CERTIFICATE_FILE_MAX, &len, err);
        if (!key)
                return err->code;
        int rc = certificate_set(t, cert, key, err);
        mem_wipe_n(key, len);
        return rc < 0 ? err_wrap(err, "'%s' and '%s'", t->cert_file, t->key_file) : 0;
}

static void forget_retired(struct certificate *t, struct mono now)
{
        pthread_mutex_lock(&t->lock);
        for (struct pair **at = t->pair ? &t->pair->next : NULL; at && *at;) {
                struct pair *p = *at;
                if (now.ns - p->retired.ns < (int64_t)RETIRED_MS * 1000000) {
                        at = &p->next;
                        continue;
                }
                *at = p->next;
                pair_free(p);
        }
        pthread_mutex_unlock(&t->lock);
}

enum certificate_look certificate_look(struct certificate *t, struct mono now, struct err *err)
{
        forget_retired(t, now);
        if (!t->cert_file)
                return CERTIFICATE_SAME;
        struct stamps is = {stamp_of(t->cert_file), stamp_of(t->key_file)};
        bool again = t->state != REFUSED_NOT && stamps_same(&is, &t->refused);
        if (stamps_same(&is, &t->taken) || (again && t->state == REFUSED_TOLD))
                return CERTIFICATE_SAME;
        if (read_files(t, err) == 0) {
                t->taken = is;
                t->state = REFUSED_NOT;
                return CERTIFICATE_RENEWED;
        }
        t->refused = is;
        t->state = again ? REFUSED_TOLD : REFUSED_ONCE;
        return again ? CERTIFICATE_REFUSED : CERTIFICATE_SAME;
}

/* --- handshakes --- */

void certificate_mine(struct certificate *t)
{
        mine = t;
}

int certificate_retrieve(gnutls_session_t session, const gnutls_datum_t *req_ca, int nreqs,
                         const gnutls_pk_algorithm_t *algos, int algos_count, gnutls_pcert_st **ret_chain,
                         unsigned *ret_count, gnutls_privkey_t *ret_key)
{
        (void)session, (void)req_ca, (void)nreqs, (void)algos, (void)algos_count;
        pthread_mutex_lock(&mine->lock);
        struct pair *p = mine->pair;
        pthread_mutex_unlock(&mine->lock);
        if (!p)
                return -1; /* no pair was set yet, so the handshake fails */
        *ret_chain = p->chain;
        *ret_count = p->count;
        *ret_key = p->key;
        return 0;
}

/* --- from start to stop --- */

int certificate_new(const char *cert_file, const char *key_file, struct certificate **ret, struct err *err)
{
        struct certificate *t = MEM_NEW(struct certificate);
        pthread_mutex_init(&t->lock, NULL);
        t->cert_file = cert_file;
        t->key_file = key_file;
        if (cert_file) {
                t->taken = (struct stamps){stamp_of(cert_file), stamp_of(key_file)};
                int rc = read_files(t, err);
                if (rc < 0) {
                        certificate_free(t);
                        return rc;
                }
        }
        *ret = t;
        return 0;
}

void certificate_free(struct certificate *t)
{
        if (!t)
                return;
        for (struct pair *p = t->pair, *next; p; p = next) {
                next = p->next;
                pair_free(p);
        }
        pthread_mutex_destroy(&t->lock);
        mem_free(t);
}
