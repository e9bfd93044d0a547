/*
 * A certificate authority of our own, for the one certificate that our door shows: what it holds, and what is due at a
 * time. Values in, values out, but for randomness; who stores it and tells others is webhook_certificate.c.
 *
 * The authority is made for 10 years, the serving certificate for 90 days; each is made anew at two thirds. A new
 * authority is added to those that are trusted (roots) first, and signs only an hour later; the old one is dropped an
 * hour after that. So whoever trusts the roots trusts what is shown at any time, and clocks may differ by a few
 * minutes.
 */
#ifndef HALFLIFE_SERVING_CERTIFICATE_AUTHORITY_H
#define HALFLIFE_SERVING_CERTIFICATE_AUTHORITY_H

#include "base/clock.h"
#include "base/err.h"

enum {
        AUTHORITY_ROOT_DAYS = 3650,
        AUTHORITY_LEAF_DAYS = 90,
        AUTHORITY_SPREAD_MS = HOUR_MS, /* until everybody trusts a new root */
        AUTHORITY_NAMES_MAX = 16,
};

/* PEM. roots: one certificate, or the old and the new one. key: of the newest root. All NULL: nothing yet. */
struct certificate_authority {
        char *roots, *key;
        char *cert, *cert_key;
};
void certificate_authority_release(struct certificate_authority *a);

enum certificate_authority_due {
        AUTHORITY_STANDS,
        AUTHORITY_NEW,       /* there was none that could be used: everything is made anew */
        AUTHORITY_ADDS_ROOT, /* trusted from now on, by whoever reads it */
        AUTHORITY_SIGNS,     /* a new serving certificate */
        AUTHORITY_DROPS_ROOT,
};
/*
 * Do what is due, one thing at a time, for a certificate with these DNS names (count at most AUTHORITY_NAMES_MAX). What
 * was read may be anybody's: what does not fit together is made anew. ERR_IO: it could not be made; a is as it was.
 */
int certificate_authority_step(struct certificate_authority *a, const char *const *names, int count, struct wall now,
                               enum certificate_authority_due *ret, struct err *err);

/* Does one of these roots vouch for the certificate? Their times do not count. */
bool certificate_authority_verifies(const char *roots_pem, const char *cert_pem);
/*
 * What was made anew takes the place of what is still shown: go on to trust the one of those roots that signed it,
 * until the new root is dropped a companion (see above). Nothing where none did.
 */
void certificate_authority_keep(struct certificate_authority *a, const char *roots_pem, const char *cert_pem);

/* When the first certificate of a PEM text runs out; ms 0: it cannot be read. */
struct wall certificate_authority_expiry(const char *cert_pem);

#endif
