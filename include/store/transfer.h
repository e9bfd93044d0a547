/*
 * Histories as text, for another database: a file of lines, each a history, or a few of those lines alone.
 *
 *   halflife-histories <tab> 1 <tab> bucket model <tab> time
 *   CRC-32C <tab> namespace <tab> group <tab> kind <tab> name <tab> container <tab> sources <tab> history
 *   end <tab> count <tab> SHA-256
 *
 * The CRC is of what follows its tab, in hexadecimal as the sources and the SHA-256, which is of all before its line. A
 * history is base64 of usage_pack's bytes, so that nothing of it changes on the way. Sources say whose samples it
 * holds, so that none counts twice. Read and written line by line; nobody reads one that is longer than
 * TRANSFER_LINE_MAX.
 */
#ifndef HALFLIFE_STORE_TRANSFER_H
#define HALFLIFE_STORE_TRANSFER_H

#include <stdio.h>

#include "core/sha256.h"
#include "store/store.h"

enum { TRANSFER_LINE_MAX = 8 << 10, TRANSFER_SOURCES = 32 };

struct transfer_row {
        struct store_key key; /* of the container */
        uint64_t source[TRANSFER_SOURCES];
        int sources; /* at least 1 */
        struct usage usage;
};

/* The source that a history of ours is itself, which begins with its first sample. */
uint64_t transfer_source(const struct store_key *key, const struct usage *u);
/* One that is not ours, by a name that is its own: "vpa/UID". */
uint64_t transfer_source_named(const char *name);

/* Does it name what can be a container of a workload? Names of 1 to 253 bytes of printable ASCII without '/'; the group
 * may be empty. */
bool transfer_key_fits(const struct store_key *key);

/* A row's line with its newline; its length. Its key fits (lengths are asserted). */
size_t transfer_print(const struct transfer_row *row, char out[static TRANSFER_LINE_MAX]);
/* Of a line without its newline. *ret lends from room, its texts point into scratch. Returns 0; ERR_DAMAGED: the CRC or
 * the history's own does not hold; ERR_INVALID: it is none of these lines, or its history is of a newer version. */
int transfer_parse(struct text line, char scratch[static TRANSFER_LINE_MAX], struct transfer_row *ret,
                   double room[static 2 * HISTOGRAM_BUCKETS], struct err *err);

/* Write a file: begin, put each, end; what is there after any error is no such file. 0, or the file's error. */
struct transfer_writer {
        FILE *to;
        struct sha256 sum;
        int64_t rows;
};
int transfer_begin(struct transfer_writer *w, FILE *to, struct wall now, struct err *err);
int transfer_put(struct transfer_writer *w, const struct transfer_row *row, struct err *err);
int transfer_end(struct transfer_writer *w, struct err *err);

/*
 * Read a file from where it stands: each is called for row after row, and < 0 from it ends the reading. Only when all
 * is read is it known that the file is whole, so who must not do things by halves reads it twice. 0, what each
 * returned, or ERR_INVALID (no such file, or of a newer version, or other buckets), ERR_DAMAGED (torn or changed),
 * ERR_IO; the text says what to do.
 */
struct transfer_reader {
        int (*each)(void *arg, const struct transfer_row *row, struct err *err);
        void *arg;
};
int transfer_read(FILE *from, const struct transfer_reader *r, int64_t *ret_rows, struct err *err);

#endif
