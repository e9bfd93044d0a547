/*
 * The certificate that new handshakes get: from two PEM files that are looked at again and again, or handed over in
 * memory. A pair that does not fit is refused, and the one before goes on; handshakes under way keep theirs.
 */
#ifndef HALFLIFE_HTTP_TLS_CERTIFICATE_H
#define HALFLIFE_HTTP_TLS_CERTIFICATE_H

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/err.h"

enum { CERTIFICATE_FILE_MAX = 1 << 20, CERTIFICATE_CHAIN_MAX = 16 };
/* What is spoken: 1.2 and 1.3. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct certificate;
/* Both files or neither (NULL); kept by pointer. With files, a pair has to be in them at the start. */
int certificate_new(const char *cert_file, const char *key_file, struct certificate **ret, struct err *err);
void certificate_free(struct certificate *t);
/* Any thread. ERR_INVALID: it stays as it was. */
int certificate_set(struct certificate *t, const char *cert_pem, const char *key_pem, struct err *err);

enum certificate_look { CERTIFICATE_SAME, CERTIFICATE_RENEWED, CERTIFICATE_REFUSED };
/* Read the files where they have changed (also by the swap of a link). What cannot be used is CERTIFICATE_REFUSED,
 * once; a pair whose halves are written one after the other is given until the next look. */
enum certificate_look certificate_look(struct certificate *t, struct mono now, struct err *err);

/* For gnutls_certificate_set_retrieve_function2, on the thread that called certificate_mine: what it gives stays until
 * a minute after the next pair came. */
void certificate_mine(struct certificate *t);
int certificate_retrieve(gnutls_session_t session, const gnutls_datum_t *req_ca, int nreqs,
                         const gnutls_pk_algorithm_t *algos, int algos_count, gnutls_pcert_st **ret_chain,
                         unsigned *ret_count, gnutls_privkey_t *ret_key);

#endif
