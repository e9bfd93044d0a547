/* Certificates as a test wants them: of one authority or another, in time or not, for clients or servers. */
#ifndef HALFLIFE_TEST_SUPPORT_PKI_H
#define HALFLIFE_TEST_SUPPORT_PKI_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

struct pki; /* an authority */
struct pki *pki_new(const char *name);
void pki_free(struct pki *p);
const char *pki_ca(const struct pki *p); /* PEM */

struct pki_want {
        const char *name;      /* common name; it is for 127.0.0.1, localhost and halflife.halflife.svc */
        const char *purpose;   /* GNUTLS_KP_TLS_WWW_CLIENT, …; NULL: of both sides */
        long begins_s, ends_s; /* from now; both 0: it began an hour ago and ends in a day */
};
struct pki_pair { /* PEM */
        char *certificate, *key;
};
struct pki_pair pki_issue(struct pki *p, const struct pki_want *w);
void pki_pair_release(struct pki_pair *p);
static inline void pki_pair_release_auto(struct pki_pair *p)
{
        pki_pair_release(p);
}

#endif
