/*
 * store: whatever lies where the database should be, opening it gives a store or an error that says why, and nothing
 * but rows that check out; what is then written can be read again.
 *
 * An input that begins with 'P' is a list of patches to a good database: four bytes of place (little-endian, modulo
 * the file's length), one of length, the bytes to put there; a length of 0 cuts the file off at that place. Any other
 * input is the file itself.
 */
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "base/file_read.h"
#include "base/mem.h"
#include "fuzz.h"
#include "store/store.h"

enum { HISTORIES = 30, FILE_MOST = 1 << 20, PLACE = 4 };

static const struct store_key fresh = {TEXT("fuzz"), TEXT("apps"), TEXT("Deployment"), TEXT("fresh"), TEXT("app")};
static char folder[4096], *path;
static char *good; /* the file the patches are for */
static size_t good_len;

/* --- files --- */

static void remove_files(void)
{
        char *pattern AUTO(mem_free) = mem_printf("%s/*", folder);
        glob_t found;
        if (glob(pattern, 0, NULL, &found) == 0)
                for (size_t n = 0; n < found.gl_pathc; n++)
                        unlink(found.gl_pathv[n]);
        globfree(&found);
}

static void remove_folder(void)
{
        remove_files();
        rmdir(folder);
        mem_free(path);
        mem_free(good);
}

static void put_file(const void *bytes, size_t len)
{
        remove_files();
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        MUST(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
        close(fd);
}

/* --- a store --- */

static void told(void *arg, const struct store_result *r)
{
        (void)arg;
        MUST(r->err.code == 0 || r->err.text[0]);
}

static void add_usage(struct store_batch *b, const struct store_key *key, int n)
{
        static const struct resource_policy policy[RESOURCES] = {{.half_life_ms = DAY_MS}, {.half_life_ms = DAY_MS}};
        double w[RESOURCES][HISTOGRAM_BUCKETS];
        struct usage u;
        int cap;
        usage_init(&u, policy);
        for (int r = 0; r < RESOURCES; r++) {
                histogram_lend(&u.of[r], w[r], HISTOGRAM_BUCKETS);
                for (int i = 0; i < 20; i++)
                        histogram_add(&u.of[r], r == CPU ? 0.01 * i * (n + 1) : 3e7 * i, 1 + n, (struct wall){DAY_MS},
                                      &cap);
        }
        struct store_watermark watermark = {{(uint8_t)n}, DAY_MS};
        store_batch_usage(b, key, &u, &watermark, 1);
}

static struct store *open_it(struct err *err)
{
        struct store_options o = {.path = path, .told = told};
        struct store *s = NULL;
        char note[512];
        int rc = store_open(&o, &s, note, err);
        MUST(rc == 0 ? s != NULL : s == NULL && err->code == rc && err->text[0]);
        return s;
}

static const char is_fresh[] = "the fresh target", is_other[] = "another";

static void *on_target(void *arg, const struct store_key *key)
{
        (void)arg;
        const char *name = text_equal(key->name, fresh.name) && text_equal(key->ns, fresh.ns) ? is_fresh : is_other;
        return (void *)(uintptr_t)name;
}

static void on_record(void *arg, void *target, struct text record, struct wall gone)
{
        (void)arg, (void)gone;
        MUST(target && record.len <= STORE_RECORD_MAX);
}

static void on_usage(void *arg, void *target, struct text container, const struct usage *u,
                     const struct store_watermark *watermark, size_t watermarks)
{
        (void)container;
        uint8_t packed[USAGE_PACK_MAX];
        struct usage_memory memory;
        struct usage again;
        MUST(usage_unpack(packed, usage_pack(u, packed), &again, &memory) == 0);
        MUST(watermarks == 0 || watermark);
        *(bool *)arg |= target == is_fresh;
}

static void on_kill(void *arg, void *target, struct text container, const struct store_kill *kill)
{
        (void)arg, (void)container, (void)kill;
        MUST(target);
}

static void on_note(void *arg, struct text name, struct text value)
{
        (void)arg, (void)name, (void)value;
}

static void on_refused(void *arg, void *target, struct text container, const struct err *why)
{
        (void)arg, (void)target, (void)container;
        MUST(why->code < 0 && why->text[0]);
}

/* Whether the fresh history was there. */
static bool load(struct store *s)
{
        bool seen = false;
        struct store_reader r = {on_target, on_record, on_usage, on_kill, on_note, on_refused, &seen};
        struct err err = {0};
        if (store_load(s, &r, &err) < 0)
                MUST(err.text[0]);
        return seen;
}

static void write_fresh(struct store *s)
{
        struct store_batch *b = store_batch_new();
        struct err err = {0};
        add_usage(b, &fresh, 7);
        store_submit(s, b);
        MUST(store_close(s, &err) == 0);
}

static void make_good(void)
{
        struct err err;
        char name[32];
        const char *given = getenv("TMPDIR"), *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(folder, sizeof folder, "%s/halflife-fuzz-XXXXXX", given ? given : memory);
        MUST(mkdtemp(folder));
        path = mem_printf("%s/checkpoint.db", folder);
        atexit(remove_folder);
        for (int round = 0; round < 2; round++) { /* two generations */
                struct store *s = open_it(&err);
                struct store_batch *b = store_batch_new();
                MUST(s);
                load(s);
                for (int n = 0; n < HISTORIES; n++) {
                        snprintf(name, sizeof name, "target-%d", n);
                        struct store_key key = {TEXT("ns"), TEXT(""), TEXT("Pod"), text_of(name), TEXT("app")};
                        struct store_kill kill = {.restarts = n, .at = {DAY_MS}, .bytes = 1e8};
                        add_usage(b, &key, n + round);
                        store_batch_target(b, &key, TEXT("{}"), (struct wall){0});
                        store_batch_kill(b, &key, &kill);
                }
                store_batch_note(b, "budget", TEXT("[]"));
                store_submit(s, b);
                MUST(store_close(s, &err) == 0);
        }
        good = file_read(path, FILE_MOST, &good_len, &err);
        MUST(good);
}

static void put_patched(const uint8_t *data, size_t size)
{
        uint8_t *bad AUTO(mem_free) = memcpy(mem_new(good_len), good, good_len);
        size_t len = good_len;
        while (size > PLACE) {
                size_t place =
                        (data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16 | (size_t)data[3] << 24) % good_len;
                size_t run = data[PLACE];
                data += PLACE + 1;
                size -= PLACE + 1;
                run = run < size ? run : size;
                if (run == 0)
                        len = place;
                else
                        memcpy(bad + place, data, run < good_len - place ? run : good_len - place);
                data += run;
                size -= run;
        }
        put_file(bad, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct err err;
        if (!good)
                make_good();
        if (size > FILE_MOST)
                return 0;
        if (size > 0 && data[0] == 'P')
                put_patched(data + 1, size - 1);
        else
                put_file(data, size);
        struct store *s = open_it(&err);
        if (!s)
                return 0;
        load(s);
        write_fresh(s);
        s = open_it(&err);
        MUST(s && load(s));
        MUST(store_close(s, &err) == 0);
        return 0;
}
