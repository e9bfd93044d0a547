/*
 * The certificate and key (the pair) that new TLS handshakes get. The pair comes from two PEM files, which are checked
 * repeatedly for changes, or from memory. If certificate and key do not match, the new pair is refused and the old pair
 * stays. A handshake under way keeps its pair.
 */
#ifndef HALFLIFE_HTTP_TLS_CERTIFICATE_H
#define HALFLIFE_HTTP_TLS_CERTIFICATE_H

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/err.h"

enum { CERTIFICATE_FILE_MAX = 1 << 20, CERTIFICATE_CHAIN_MAX = 16 };
/* GnuTLS priorities: TLS 1.2 and 1.3 only. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct certificate;
/* Give both files, or neither (NULL). The function keeps the two pointers. The files must hold a usable pair
 * already. */
int certificate_new(const char *cert_file, const char *key_file, struct certificate **ret, struct err *err);
void certificate_free(struct certificate *t);
/* Set the pair from memory. Any thread may call it. ERR_INVALID: the new pair is unusable, and the old pair stays. */
int certificate_set(struct certificate *t, const char *cert_pem, const char *key_pem, struct err *err);

enum certificate_look { CERTIFICATE_SAME, CERTIFICATE_RENEWED, CERTIFICATE_REFUSED };
/* Read the files if they have changed, also where a symbolic link was swapped. Certificate and key may be written one
 * after the other, so an unusable pair counts only if the next call finds it unchanged. Then CERTIFICATE_REFUSED is
 * returned, once for the pair. */
enum certificate_look certificate_look(struct certificate *t, struct mono now, struct err *err);

/* certificate_retrieve is for gnutls_certificate_set_retrieve_function2. It gives the pair of the struct certificate
 * that the same thread passed to certificate_mine. That pair stays valid until a minute after the next pair was set. */
void certificate_mine(struct certificate *t);
int certificate_retrieve(gnutls_session_t session, const gnutls_datum_t *req_ca, int nreqs,
                         const gnutls_pk_algorithm_t *algos, int algos_count, gnutls_pcert_st **ret_chain,
                         unsigned *ret_count, gnutls_privkey_t *ret_key);

#endif
