/*
 * Histories as text, to move them to another database: a file with one history a line, or single lines of that form.
 *
 *   halflife-histories <tab> 1 <tab> bucket model <tab> time
 *   CRC-32C <tab> namespace <tab> group <tab> kind <tab> name <tab> container <tab> sources <tab> history
 *   end <tab> count <tab> SHA-256
 *
 * CRC, sources and SHA-256 are in hexadecimal. The CRC covers the rest of its line after the tab, the SHA-256 all lines
 * before its own. A history is the base64 of usage_pack's bytes, so it arrives bit by bit as it was. A line's sources
 * identify the histories whose samples were merged into its history, so that no sample counts twice. Files are read and
 * written line by line; a line longer than TRANSFER_LINE_MAX bytes is refused.
 */
#ifndef HALFLIFE_STORE_TRANSFER_H
#define HALFLIFE_STORE_TRANSFER_H

#include <stdio.h>

#include "core/sha256.h"
#include "store/store.h"

enum { TRANSFER_LINE_MAX = 16 << 10, TRANSFER_SOURCES = 32 };

struct transfer_row {
        struct store_key key; /* all names are set: the target's and the container's */
        uint64_t source[TRANSFER_SOURCES];
        int sources; /* number of sources, at least 1 */
        struct usage usage;
};

/* The source id of a history that halflife itself learned: a hash of the key and the time of the first sample. */
uint64_t transfer_source(const struct store_key *key, const struct usage *u);
/* The source id of a history that another program learned: a hash of a unique name, such as "vpa/UID". */
uint64_t transfer_source_named(const char *name);

/* Can the key name a container of a workload? Each name must have 1 to 253 bytes of printable ASCII without space and
 * '/'; only the group may be empty. */
bool transfer_key_fits(const struct store_key *key);

/* Print a row as a line with its newline; returns its length. The row's key must fit (lengths are asserted). */
size_t transfer_print(const struct transfer_row *row, char out[static TRANSFER_LINE_MAX]);
/* Parse a line without its newline. The usage in *ret points into memory, the texts into scratch. Returns 0.
 * ERR_DAMAGED: the line's CRC or the history's own is wrong. ERR_INVALID: not a line of an export, or a history of a
 * newer version.
 */
int transfer_parse(struct text line, char scratch[static TRANSFER_LINE_MAX], struct transfer_row *ret,
                   struct usage_memory *memory, struct err *err);

/* Write a file: begin, put each row, end. After an error the file is incomplete, and transfer_read refuses it. Each of
 * these functions returns 0, ERR_NOSPACE or ERR_IO. */
struct transfer_writer {
        FILE *to;
        struct sha256 sum;
        int64_t rows;
};
int transfer_begin(struct transfer_writer *w, FILE *to, struct wall now, struct err *err);
int transfer_put(struct transfer_writer *w, const struct transfer_row *row, struct err *err);
int transfer_end(struct transfer_writer *w, struct err *err);

/*
 * transfer_read reads a file from its current position. It calls `each` for one row after the other; a value < 0 from
 * `each` ends the reading. Only the last line proves that the file is complete, so a caller that must take all or
 * nothing reads it twice. Returns 0 and sets *ret_rows, or what `each` returned, or an error of its own: ERR_INVALID:
 * not an export, a newer version, or other histogram buckets.
 * ERR_DAMAGED: truncated or changed. ERR_IO. The error's text says what to do.
 */
struct transfer_reader {
        int (*each)(void *arg, const struct transfer_row *row, struct err *err);
        void *arg;
};
int transfer_read(FILE *from, const struct transfer_reader *r, int64_t *ret_rows, struct err *err);

#endif
