/*
 * Reads once a minute the Secret that has the serving certificate and the paths of admission, and has the listeners use
 * both; for the commands that serve, `halflife run` and `halflife serve`. The reader writes nothing: `halflife rotate`
 * makes the certificate (serving/certificate_rotator.h), or another program does.
 *
 * A certificate that comes with a new root is shown only CERTIFICATE_SPREAD_MS after the root was read: by then every
 * replica and API server has read the root. A shown certificate that no root verifies, or that has expired, is replaced
 * at once. Certificate and paths stay as they were while the Secret is empty, lost or cannot be read.
 */
#ifndef HALFLIFE_SERVING_CERTIFICATE_READER_H
#define HALFLIFE_SERVING_CERTIFICATE_READER_H

#include "base/clock.h"
#include "http/admission_paths.h"
#include "kube/client.h"

enum { CERTIFICATE_LOOK_MS = MINUTE_MS, CERTIFICATE_SPREAD_MS = CERTIFICATE_LOOK_MS + 15 * SECOND_MS };

struct certificate_reader_options {
        const char *ns, *secret; /* the Secret, with tls.crt, tls.key and ca.crt */
        bool given;              /* another program, such as cert-manager, writes the Secret, which may lack ca.crt */
        /* Show this pair from now on. ERR_INVALID: the pair cannot be used. */
        int (*show)(void *arg, const char *cert_pem, const char *key_pem, struct err *err);
        void (*trust)(void *arg, const char *roots_pem); /* gets the roots that verify every replica; may be NULL */
        /* Serve admission at these paths, of which there is at least one, from now on. The function may be NULL. */
        void (*admit_at)(void *arg, const struct admission_paths *p);
        void *arg;
};

struct certificate_reader;
/* Strings are borrowed until certificate_reader_free. The Secret is first read at the next turn of the loop. */
struct certificate_reader *certificate_reader_new(struct client *c, const struct certificate_reader_options *o);
void certificate_reader_free(struct certificate_reader *r); /* NULL is fine */
/* Read the Secret now, and take `now` for the present time. Nothing is done while a read is under way. The timer and
 * tests call it. */
void certificate_reader_look(struct certificate_reader *r, struct wall now);
bool certificate_reader_looks(const struct certificate_reader *r); /* the Secret is being read */
/* When the shown certificate expires, Unix time in seconds; 0: none is shown yet. */
int64_t certificate_reader_expires_s(const struct certificate_reader *r);

#endif
