/*
 * halflife's own certificate authority, which signs the one serving certificate that the REST listener shows. Here are
 * its keys and certificates, and the step of rotation that is due. Pure functions except for randomness;
 * certificate_rotator.c stores the result.
 *
 * A root is valid for 10 years, the serving certificate for 90 days; each is replaced after two thirds of its time. A
 * new root first joins the trusted roots, and signs a certificate an hour later; the old root is dropped an hour after
 * that. A client that trusts the roots therefore trusts the shown certificate at any time. Clocks may differ by a few
 * minutes.
 */
#ifndef HALFLIFE_SRC_SERVING_CERTIFICATE_ROTATION_H
#define HALFLIFE_SRC_SERVING_CERTIFICATE_ROTATION_H

#include "base/clock.h"
#include "base/err.h"

enum {
        AUTHORITY_ROOT_DAYS = 3650,
        AUTHORITY_LEAF_DAYS = 90,
        AUTHORITY_SPREAD_MS = HOUR_MS, /* time for every replica and API server to trust a new root */
        AUTHORITY_NAMES_MAX = 16,
};

/* All texts are PEM. `roots`: one root certificate, or the old and then the new one. `key`: the newest root's key. All
 * are NULL where nothing exists yet. */
struct certificate_authority {
        char *roots, *key;
        char *cert, *cert_key;
};
void certificate_authority_release(struct certificate_authority *a);

enum certificate_authority_due {
        AUTHORITY_STANDS,    /* nothing is due */
        AUTHORITY_NEW,       /* there was no usable authority: root and certificate are made anew */
        AUTHORITY_ADDS_ROOT, /* a new root joins the trusted roots, and does not sign yet */
        AUTHORITY_SIGNS,     /* the newest root signs a new serving certificate */
        AUTHORITY_DROPS_ROOT,
};
/*
 * Do the one step that is due, for a certificate with these DNS names (`count` is at most AUTHORITY_NAMES_MAX). The
 * contents of *a may come from anybody: if its parts do not belong together, they are made anew. ERR_IO: the step
 * failed, and *a is unchanged.
 */
int certificate_authority_step(struct certificate_authority *a, const char *const *names, int count, struct wall now,
                               enum certificate_authority_due *ret, struct err *err);

/* Whether one of these roots signed the certificate, whatever their dates are. */
bool certificate_authority_verifies(const char *roots_pem, const char *cert_pem);
/*
 * Keep trusting the shown certificate, cert_pem, after AUTHORITY_NEW: the root in roots_pem that signed it joins the
 * roots of *a, until the rotation drops that root. Without such a root, nothing changes.
 */
void certificate_authority_keep(struct certificate_authority *a, const char *roots_pem, const char *cert_pem);

/* When the first certificate of a PEM text expires; ms 0: the text cannot be read. */
struct wall certificate_authority_expiry(const char *cert_pem);

#endif
