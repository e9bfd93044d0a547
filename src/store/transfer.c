#include "store/transfer.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>

#include "base/noun.h"
#include "core/crc.h"

#define MAGIC   "halflife-histories"
#define VERSION "1"
#define MODEL   "cpu 0.01 memory 1e7 ratio 21/20 buckets 176"

enum { COLUMNS = 8, NAME_MOST = 253, SHA_BYTES = 32 };
enum column { AT_CRC, AT_NS, AT_GROUP, AT_KIND, AT_NAME, AT_CONTAINER, AT_SOURCES, AT_HISTORY };

/* --- sources --- */

static uint64_t transfer_source_of(const char *text, size_t len)
{
        struct sha256 s;
        uint8_t digest[SHA_BYTES];
        uint64_t source = 0;
        sha256_init(&s);
        sha256_add(&s, text, len);
        sha256_finish(&s, digest);
        for (size_t i = 0; i < sizeof source; i++)
                source = source << 8 | digest[i];
        return source;
}

uint64_t transfer_source_named(const char *name)
{
        return transfer_source_of(name, strlen(name));
}

uint64_t transfer_source(const struct store_key *key, const struct usage *u)
{
        char text[5 * (NAME_MOST + 1) + 32];
        int len = snprintf(text, sizeof text, "%.*s/%.*s/%.*s/%.*s/%.*s@%lld", TEXT_ARG(key->ns), TEXT_ARG(key->group),
                           TEXT_ARG(key->kind), TEXT_ARG(key->name), TEXT_ARG(key->container), (long long)u->first_ms);
        assert(len > 0 && (size_t)len < sizeof text);
        return transfer_source_of(text, (size_t)len);
}

/* --- names --- */

static bool transfer_is_name(struct text t, bool may_be_empty)
{
        if (t.len > NAME_MOST || (t.len == 0 && !may_be_empty))
                return false;
        for (size_t i = 0; i < t.len; i++)
                if (t.p[i] <= ' ' || t.p[i] > '~' || t.p[i] == '/')
                        return false;
        return true;
}

bool transfer_key_fits(const struct store_key *k)
{
        return transfer_is_name(k->ns, false) && transfer_is_name(k->group, true) && transfer_is_name(k->kind, false) &&
               transfer_is_name(k->name, false) && transfer_is_name(k->container, false);
}

/* --- a line --- */

static size_t put_base64(const uint8_t *bytes, size_t len, char *out)
{
        static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        size_t at = 0;
        for (size_t i = 0; i < len; i += 3) {
                size_t left = len - i;
                unsigned word = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                                (left > 2 ? (unsigned)bytes[i + 2] : 0);
                for (int k = 0; k < 4; k++)
                        out[at++] = (size_t)k <= left ? digit[word >> (18 - 6 * k) & 63] : '=';
        }
        return at;
}

size_t transfer_print(const struct transfer_row *row, char out[static TRANSFER_LINE_MAX])
{
        enum { CRC_DIGITS = 8, HEAD = CRC_DIGITS + 1 };
        const struct store_key *k = &row->key;
        uint8_t packed[USAGE_PACK_MAX];
        assert(k->ns.len <= NAME_MOST && k->group.len <= NAME_MOST && k->kind.len <= NAME_MOST);
        assert(k->name.len <= NAME_MOST && k->container.len <= NAME_MOST);
        assert(row->sources >= 1 && row->sources <= TRANSFER_SOURCES);
        size_t len = HEAD;
        len += (size_t)snprintf(out + len, TRANSFER_LINE_MAX - len, "%.*s\t%.*s\t%.*s\t%.*s\t%.*s\t", TEXT_ARG(k->ns),
                                TEXT_ARG(k->group), TEXT_ARG(k->kind), TEXT_ARG(k->name), TEXT_ARG(k->container));
        for (int i = 0; i < row->sources; i++)
                len += (size_t)snprintf(out + len, TRANSFER_LINE_MAX - len, "%s%016llx", i ? "," : "",
                                        (unsigned long long)row->source[i]);
        out[len++] = '\t';
        len += put_base64(packed, usage_pack(&row->usage, packed), out + len);
        char crc[HEAD + 1];
        snprintf(crc, sizeof crc, "%08x\t", crc_add(0, out + HEAD, len - HEAD));
        memcpy(out, crc, HEAD);
        out[len++] = '\n';
        return len;
}
_Static_assert(5 * (NAME_MOST + 1) + TRANSFER_SOURCES * 17 + (USAGE_PACK_MAX + 2) / 3 * 4 + 16 < TRANSFER_LINE_MAX,
               "the longest line fits");

static int transfer_hex_digit(char c)
{
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parse a text of exactly `digits` lowercase hexadecimal digits; false if it is anything else. */
static bool transfer_read_hex(struct text t, size_t digits, uint64_t *ret)
{
        uint64_t n = 0;
        if (t.len != digits)
                return false;
        for (size_t i = 0; i < digits; i++) {
                if (transfer_hex_digit(t.p[i]) < 0)
                        return false;
                n = n << 4 | (uint64_t)transfer_hex_digit(t.p[i]);
        }
        *ret = n;
        return true;
}

/* Split a line at its tabs. Returns the number of columns, or -1 if there are more than `most`. */
static int transfer_split(struct text line, struct text *column, int most)
{
        int count = 0;
        for (size_t at = 0; at <= line.len; count++) {
                const char *tab = at < line.len ? memchr(line.p + at, '\t', line.len - at) : NULL;
                size_t end = tab ? (size_t)(tab - line.p) : line.len;
                if (count == most)
                        return -1;
                column[count] = (struct text){line.p + at, end - at};
                at = end + 1;
        }
        return count;
}

static bool read_sources(struct text list, struct transfer_row *ret)
{
        for (size_t at = 0; at <= list.len; at += 17, ret->sources++) {
                struct text one = {list.p + at, list.len - at < 16 ? list.len - at : 16};
                bool last = at + 16 == list.len;
                if (ret->sources == TRANSFER_SOURCES || !transfer_read_hex(one, 16, &ret->source[ret->sources]) ||
                    (!last && list.p[at + 16] != ','))
                        return false;
                if (last) {
                        ret->sources++;
                        return true;
                }
        }
        return false;
}

static int read_history(struct text base64, struct usage *ret, struct usage_memory *memory, struct err *err)
{
        gnutls_datum_t in = {(unsigned char *)(uintptr_t)base64.p, (unsigned)base64.len}, out = {0};
        if (base64.len == 0 || gnutls_base64_decode2(&in, &out) < 0)
                return err_set(err, ERR_INVALID, "its history is not base64");
        int rc = usage_unpack(out.data, out.size, ret, memory);
        gnutls_free(out.data);
        if (rc == ERR_INVALID)
                return err_set(err, rc,
                               "its history has a newer version: use a halflife as new as the one that "
                               "wrote it");
        return rc < 0 ? err_set(err, ERR_DAMAGED, "its history is damaged") : 0;
}

int transfer_parse(struct text line, char scratch[static TRANSFER_LINE_MAX], struct transfer_row *ret,
                   struct usage_memory *memory, struct err *err)
{
        struct text column[COLUMNS];
        struct transfer_row row = {0};
        uint64_t crc;
        if (line.len >= TRANSFER_LINE_MAX || transfer_split(line, column, COLUMNS) != COLUMNS ||
            !transfer_read_hex(column[0], 8, &crc))
                return err_set(err, ERR_INVALID, "it is not a line of an export");
        size_t head = column[AT_CRC].len + 1;
        if (crc_add(0, line.p + head, line.len - head) != crc)
                return err_set(err, ERR_DAMAGED, "its checksum is wrong");
        memcpy(scratch, line.p, line.len);
        transfer_split((struct text){scratch, line.len}, column, COLUMNS);
        row.key = (struct store_key){column[AT_NS], column[AT_GROUP], column[AT_KIND], column[AT_NAME],
                                     column[AT_CONTAINER]};
        if (!transfer_key_fits(&row.key))
                return err_set(err, ERR_INVALID, "its names cannot be those of a workload's container");
        if (!read_sources(column[AT_SOURCES], &row))
                return err_set(err, ERR_INVALID, "its list of sources is missing or wrong");
        int rc = read_history(column[AT_HISTORY], &row.usage, memory, err);
        if (rc == 0)
                *ret = row;
        return rc;
}

/* --- writing a file --- */

static int transfer_put_line(struct transfer_writer *w, const char *line, size_t len, struct err *err)
{
        sha256_add(&w->sum, line, len);
        if (fwrite(line, 1, len, w->to) != len)
                return err_set(err, errno == ENOSPC ? ERR_NOSPACE : ERR_IO, "write: %s", strerror(errno));
        return 0;
}

int transfer_begin(struct transfer_writer *w, FILE *to, struct wall now, struct err *err)
{
        char line[256], at[WALL_TEXT_MAX];
        *w = (struct transfer_writer){.to = to};
        sha256_init(&w->sum);
        int len = snprintf(line, sizeof line, MAGIC "\t" VERSION "\t" MODEL "\t%s\n", wall_print(now, at));
        return transfer_put_line(w, line, (size_t)len, err);
}

int transfer_put(struct transfer_writer *w, const struct transfer_row *row, struct err *err)
{
        char line[TRANSFER_LINE_MAX];
        w->rows++;
        return transfer_put_line(w, line, transfer_print(row, line), err);
}

static void print_sum(struct sha256 *s, char out[static 2 * SHA_BYTES + 1])
{
        uint8_t digest[SHA_BYTES];
        sha256_finish(s, digest);
        for (int i = 0; i < SHA_BYTES; i++)
                snprintf(out + 2 * (size_t)i, 3, "%02x", digest[i]);
}

int transfer_end(struct transfer_writer *w, struct err *err)
{
        char line[128], sum[2 * SHA_BYTES + 1];
        print_sum(&w->sum, sum);
        int len = snprintf(line, sizeof line, "end\t%lld\t%s\n", (long long)w->rows, sum);
        int rc = transfer_put_line(w, line, (size_t)len, err);
        if (rc == 0 && fflush(w->to) != 0)
                return err_set(err, errno == ENOSPC ? ERR_NOSPACE : ERR_IO, "write: %s", strerror(errno));
        return rc;
}

/* --- reading a file --- */

struct reading {
        FILE *from;
        struct sha256 sum;
        int64_t line;
        char text[TRANSFER_LINE_MAX + 1];
        size_t len; /* the newline included */
};

/* Read one line. Returns 1, or 0 if the file ends before its first byte. */
static int read_line(struct reading *r, struct err *err)
{
        int c;
        r->len = 0;
        r->line++;
        while ((c = getc(r->from)) != EOF) {
                if (r->len == TRANSFER_LINE_MAX)
                        return err_set(err, ERR_INVALID, "line %lld is longer than any line of an export",
                                       (long long)r->line);
                r->text[r->len++] = (char)c;
                if (c == '\n')
                        return 1;
        }
        if (ferror(r->from))
                return err_set(err, ERR_IO, "read: %s", strerror(errno));
        if (r->len > 0)
                return err_set(err, ERR_DAMAGED, "it ends within line %lld: it is incomplete, copy it again",
                               (long long)r->line);
        return 0;
}

static struct text transfer_line_of(const struct reading *r)
{
        return (struct text){r->text, r->len - 1};
}

static int read_head(struct reading *r, struct err *err)
{
        struct text column[4];
        int rc = read_line(r, err);
        if (rc < 0 && err->code != ERR_INVALID)
                return rc;
        if (rc <= 0 || transfer_split(transfer_line_of(r), column, 4) != 4 || !text_is(column[0], MAGIC))
                return err_set(err, ERR_INVALID, "it is not an export of halflife: its first line does not say so");
        if (!text_is(column[1], VERSION))
                return err_set(err, ERR_INVALID,
                               "its version is '%.*s', but this halflife reads version " VERSION
                               ": use one as new as the one that wrote it",
                               (int)(column[1].len < 16 ? column[1].len : 16), column[1].p);
        if (!text_is(column[2], MODEL))
                return err_set(err, ERR_INVALID,
                               "its buckets are '%.*s', but this halflife has '" MODEL
                               "': histories with other buckets cannot be merged; let this halflife learn for itself",
                               (int)(column[2].len < 64 ? column[2].len : 64), column[2].p);
        return 0;
}

static int read_end(struct reading *r, int64_t rows, struct err *err)
{
        struct text column[3];
        char sum[2 * SHA_BYTES + 1], count[24];
        print_sum(&r->sum, sum);
        snprintf(count, sizeof count, "%lld", (long long)rows);
        if (transfer_split(transfer_line_of(r), column, 3) != 3 || !text_is(column[1], count) ||
            !text_is(column[2], sum))
                return err_set(err, ERR_DAMAGED, "its checksum is wrong: it was changed on the way, copy it again");
        int rc = read_line(r, err);
        return rc == 0 ? 0 : err_set(err, ERR_DAMAGED, "there are more lines after its end: copy it again");
}

int transfer_read(FILE *from, const struct transfer_reader *reader, int64_t *ret_rows, struct err *err)
{
        struct reading r = {.from = from};
        char scratch[TRANSFER_LINE_MAX];
        struct usage_memory memory;
        struct transfer_row row;
        int64_t rows = 0;
        sha256_init(&r.sum);
        int rc = read_head(&r, err);
        while (rc == 0) {
                sha256_add(&r.sum, r.text, r.len);
                rc = read_line(&r, err);
                if (rc == 0)
                        return err_set(err, ERR_DAMAGED,
                                       "it ends after %s without an end line: it is incomplete, copy it again",
                                       NOUN_COUNT(rows, "history"));
                if (rc > 0 && r.len > 4 && memcmp(r.text, "end\t", 4) == 0) {
                        rc = read_end(&r, rows, err);
                        break;
                }
                if (rc > 0 && (rc = transfer_parse(transfer_line_of(&r), scratch, &row, &memory, err)) < 0)
                        return err_wrap(err, "line %lld", (long long)r.line);
                if (rc == 0)
                        rc = reader->each(reader->arg, &row, err);
                rows++;
        }
        if (rc == 0)
                *ret_rows = rows;
        return rc;
}
