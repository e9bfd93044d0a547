/*
 * Puts certificates and keys into files for libcurl, which takes them from memory only with some TLS libraries, and
 * from files with all. The files are in memory too (memfd): they have no name, are never written to a disk, and end
 * with the process.
 */
#ifndef HALFLIFE_SRC_NET_TLS_FILES_H
#define HALFLIFE_SRC_NET_TLS_FILES_H

#include "base/err.h"
#include "net/http.h"

struct tls_file {
        char path[32]; /* "": there is none */
        int fd;
};

/* A zeroed struct is empty. One struct serves all connections to one peer at one revision of it. */
struct tls_files {
        bool made;
        struct tls_file ca, cert, key;
};

/* Make the files of a peer, once; a later call does nothing. Returns 0; ERR_INVALID: the peer's texts are not a
 * certificate or key, or certificate and key do not belong together; ERR_RETRY: no file can be made now. On failure
 * nothing is made. */
int tls_files_make(struct tls_files *f, const struct http_peer *p, struct err *err);
void tls_files_release(struct tls_files *f);

#endif
