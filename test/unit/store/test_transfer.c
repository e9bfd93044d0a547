/*
 * Histories as text: what is written is read back bit by bit; a file that is torn at any byte, changed anywhere, of
 * another version or of other buckets is refused with the way out.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../core/usage_fixture.h"
#include "base/mem.h"
#include "store/transfer.h"

#define AT ((int64_t)20778 * DAY)

static struct transfer_row row_of(struct roomy *r, const char *name)
{
        struct sample_watermark watermark = {0};
        roomy_init(r, 0);
        for (int i = 0; i < 100; i++)
                add_both(r, &watermark, AT + i * MIN, 0.01 * (1 + (double)draw(500)), 1e7 * (1 + (double)draw(300)));
        kill_at(r, AT + 3 * MIN, 1000 * MI, 0);
        return (struct transfer_row){
                .key = {TEXT("shop"), TEXT("apps"), TEXT("Deployment"), text_of(name), TEXT("app")},
                .source = {0x0123456789abcdef, 7, UINT64_MAX},
                .sources = 3,
                .usage = r->u};
}

static struct {
        char *text;
        size_t len;
} file;

static void write_file(int rows)
{
        FILE *to = open_memstream(&file.text, &file.len);
        struct transfer_writer w;
        struct err err;
        assert_int_equal(transfer_begin(&w, to, (struct wall){AT}, &err), 0);
        for (int i = 0; i < rows; i++) {
                struct roomy r;
                char name[16];
                snprintf(name, sizeof name, "web-%d", i);
                struct transfer_row row = row_of(&r, name);
                assert_int_equal(transfer_put(&w, &row, &err), 0);
        }
        assert_int_equal(transfer_end(&w, &err), 0);
        fclose(to);
}

static int take(void *arg, const struct transfer_row *row, struct err *err)
{
        int *taken = arg;
        (void)err;
        assert_true(text_is(row->key.ns, "shop") && row->sources == 3 && row->source[2] == UINT64_MAX);
        ++*taken;
        return 0;
}

static int read_text(const char *text, size_t len, int *ret_taken, struct err *err)
{
        const struct transfer_reader reader = {take, ret_taken};
        FILE *from = len ? fmemopen((void *)(uintptr_t)text, len, "r") : fopen("/dev/null", "r");
        int64_t rows = -1;
        *ret_taken = 0;
        int rc = transfer_read(from, &reader, &rows, err);
        fclose(from);
        assert_true(rc < 0 ? rows == -1 : rows == *ret_taken);
        return rc;
}

static int set_up(void **state)
{
        (void)state;
        write_file(3);
        return 0;
}

static int tear_down(void **state)
{
        (void)state;
        free(file.text);
        return 0;
}

static void test_line(void **state)
{
        (void)state;
        for (int i = 0; i < 50; i++) {
                struct roomy r;
                struct transfer_row row = row_of(&r, "web"), back;
                char line[TRANSFER_LINE_MAX], again[TRANSFER_LINE_MAX], scratch[TRANSFER_LINE_MAX];
                struct usage_memory memory;
                struct err err;
                row.sources = 1 + i % TRANSFER_SOURCES;
                size_t len = transfer_print(&row, line);
                assert_int_equal(line[len - 1], '\n');
                assert_int_equal(transfer_parse((struct text){line, len - 1}, scratch, &back, &memory, &err), 0);
                assert_int_equal(back.sources, row.sources);
                assert_int_equal(transfer_print(&back, again), len);
                assert_memory_equal(line, again, len);
        }
}

static void test_file(void **state)
{
        struct err err;
        int taken;
        (void)state;
        assert_int_equal(read_text(file.text, file.len, &taken, &err), 0);
        assert_int_equal(taken, 3);
}

static void test_torn_at_every_byte(void **state)
{
        (void)state;
        for (size_t len = 0; len < file.len; len++) {
                struct err err = {0};
                int taken;
                if (read_text(file.text, len, &taken, &err) >= 0 || !err.text[0])
                        fail_msg("torn after %zu of %zu bytes: taken for whole (%d)", len, file.len, taken);
        }
}

static void test_changed_at_every_byte(void **state)
{
        (void)state;
        const char *newline = memchr(file.text, '\n', file.len);
        size_t at_time = (size_t)(newline - file.text) - 1;
        for (size_t at = 0; at < file.len; at++) {
                struct err err = {0};
                int taken;
                AUTO(mem_free) char *text = mem_string_n(file.text, file.len);
                text[at] ^= 1;
                if (read_text(text, file.len, &taken, &err) >= 0)
                        fail_msg("changed at %zu (the time ends at %zu): taken for whole", at, at_time);
        }
}

static void test_refused(void **state)
{
        static const char head[] = "halflife-histories\t1\tcpu 0.01 memory 1e7 ratio 21/20 buckets 176\tnow\n";
        const struct {
                const char *before, *text;
                int code;
                const char *why;
        } row[] = {
                {"", "", ERR_INVALID, "not an export of halflife"},
                {"", "{\"kind\":\"List\"}\n", ERR_INVALID, "not an export of halflife"},
                {"", "halflife-histories\t1\n", ERR_INVALID, "not an export of halflife"},
                {"", "halflife-histories\t2\tmore\tnow\n", ERR_INVALID,
                 "version is '2', but this halflife reads version 1: use one as new"},
                {"", "halflife-histories\t1\tratio 11/10\tnow\n", ERR_INVALID,
                 "its buckets are 'ratio 11/10', but this halflife has"},
                {head, "", ERR_DAMAGED, "ends after 0 histories without an end line"},
                {head, "end\t0\tabc\n", ERR_DAMAGED, "its checksum is wrong: it was changed on the way"},
                {head, "end\t0\tabc", ERR_DAMAGED, "ends within line 2"},
                {head, "hello\n", ERR_INVALID, "line 2: it is not a line of an export"},
                {head, "00000000\ta\tb\tc\td\te\tf\tg\n", ERR_DAMAGED, "line 2: its checksum is wrong"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct err err = {0};
                int taken;
                AUTO(mem_free) char *text = mem_printf("%s%s", row[i].before, row[i].text);
                int rc = read_text(text, strlen(text), &taken, &err);
                if (rc != row[i].code || !strstr(err.text, row[i].why))
                        fail_msg("row %zu: %d '%s', not '%s'", i, rc, err.text, row[i].why);
        }
        AUTO(mem_free) char *more = mem_printf("%.*sx\n", (int)file.len, file.text);
        struct err err;
        int taken;
        assert_int_equal(read_text(more, strlen(more), &taken, &err), ERR_DAMAGED);
        assert_non_null(strstr(err.text, "more lines after its end"));
        AUTO(mem_free) char *endless = mem_new(2 * TRANSFER_LINE_MAX);
        memset(endless, 'x', 2 * TRANSFER_LINE_MAX - 1);
        assert_int_equal(read_text(endless, 2 * TRANSFER_LINE_MAX - 1, &taken, &err), ERR_INVALID);
}

static int refuse(void *arg, const struct transfer_row *row, struct err *err)
{
        (void)arg, (void)row;
        return err_set(err, ERR_CONFLICT, "not this one");
}

static void test_ended_by_caller(void **state)
{
        const struct transfer_reader reader = {refuse, NULL};
        struct err err;
        int64_t rows;
        FILE *from = fmemopen(file.text, file.len, "r");
        (void)state;
        assert_int_equal(transfer_read(from, &reader, &rows, &err), ERR_CONFLICT);
        assert_string_equal(err.text, "not this one");
        fclose(from);
}

static ssize_t no_room(void *cookie, const char *bytes, size_t len)
{
        (void)cookie;
        (void)bytes;
        (void)len;
        errno = ENOSPC;
        return 0;
}

static FILE *full_disk(void)
{
        return fopencookie(NULL, "w", (cookie_io_functions_t){.write = no_room});
}

/* Every write may be the one that the disk has no room for. */
static void test_full_disk(void **state)
{
        struct transfer_writer w;
        struct err err = {0};
        struct roomy r;
        struct transfer_row row = row_of(&r, "web");
        FILE *to = full_disk();
        (void)state;
        setvbuf(to, NULL, _IONBF, 0);
        assert_int_equal(transfer_begin(&w, to, (struct wall){AT}, &err), ERR_NOSPACE);
        assert_int_equal(transfer_put(&w, &row, &err), ERR_NOSPACE);
        assert_int_equal(transfer_end(&w, &err), ERR_NOSPACE);
        fclose(to);
        to = full_disk(); /* with a buffer it is known at the end */
        assert_int_equal(transfer_begin(&w, to, (struct wall){AT}, &err), 0);
        assert_int_equal(transfer_end(&w, &err), ERR_NOSPACE);
        assert_non_null(strstr(err.text, "No space left"));
        fclose(to);
}

static void test_sources(void **state)
{
        struct roomy r;
        struct transfer_row row = row_of(&r, "web"), other = row;
        (void)state;
        uint64_t source = transfer_source(&row.key, &row.usage);
        add_memory(&r, AT + DAY, 5e7);
        row.usage = r.u;
        assert_true(transfer_source(&row.key, &row.usage) == source); /* it goes on */
        other.usage.first_ms++;
        assert_true(transfer_source(&other.key, &other.usage) != source);
        other = row;
        other.key.container = TEXT("side");
        assert_true(transfer_source(&other.key, &other.usage) != source);
        assert_true(transfer_source_named("vpa/1") != transfer_source_named("vpa/2"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_line),
                cmocka_unit_test(test_file),
                cmocka_unit_test(test_torn_at_every_byte),
                cmocka_unit_test(test_changed_at_every_byte),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_ended_by_caller),
                cmocka_unit_test(test_full_disk),
                cmocka_unit_test(test_sources),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
